"""Surfaces and volumes of the shapes that come from files: Mesh and Convex."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.source_location import warn_of_file
from merganser.framework.native.compiler.extending import import_whole
from merganser.geometry.meshes import (
    ConvertVolumeToSurfaceMesh,
    PolygonSurfaceMesh,
    RefineVolumeMesh,
    TriangleSurfaceMesh,
    VolumeMesh,
    convex_hull,
    read_surface_mesh,
    read_volume_mesh,
)
from merganser.geometry.meshes.arrays import merged
from merganser.geometry.meshes.volume_mesh import boundary_triangles, first_flaw
from merganser.geometry.shapes import Mesh, Shape
from merganser.geometry.shapes.measures import hull_of, name_of, triangles_of

Array = NDArray[np.float64]

_logger = logging.getLogger("merganser.geometry")
_FLAT = 1e-12  # hulls with less than this share of the cube of their size are flat


def shape_surface(shape: Shape) -> TriangleSurfaceMesh:
    """Returns the surface of a shape, scaled, in G.

    Raises:
        RuntimeError: the file cannot be read, or it is a volume with a flat tetrahedron.
    """
    if not isinstance(shape, Mesh):
        vertices, triangles = triangles_of(shape)
        return TriangleSurfaceMesh(triangles, vertices)
    if shape.extension() == ".vtk":
        return ConvertVolumeToSurfaceMesh(checked_volume(shape))
    return _read_surface(shape)


def convex_volume(shape: Shape, margin: float) -> VolumeMesh:
    """Returns the convex hull, inflated, as tetrahedra around its center of volume, which is the last vertex.

    Raises:
        RuntimeError: the file cannot be read, its surface is not closed, or the hull has no volume.
    """
    if isinstance(shape, Mesh) and not is_closed(_read_surface(shape)):
        raise RuntimeError(
            f"the surface in '{shape.source().description()}' is not closed: some edge does not have one triangle on "
            "each side. Close it, or make the shape a Convex, which stands for the convex hull"
        )
    surface = _hull_surface(hull_of(shape))
    name = name_of(shape)
    if not _center_of_volume(surface)[0] > _FLAT * np.ptp(surface.vertex_array(), axis=0).max() ** 3:
        raise RuntimeError(
            f"the convex hull of '{name}' has no volume: all vertices lie in a plane. Make it rigid, or give it a "
            "thickness"
        )
    if margin > 0.0:
        center = _center_of_volume(surface)[1]
        surface = _hull_surface(convex_hull(_moved_planes(surface, center, margin), name))
    vertices, triangles = surface.vertex_array(), surface.triangle_array()
    # The tip comes first, so that with triangles counter-clockwise seen from outside volumes are positive.
    tip = np.full((len(triangles), 1), len(vertices))
    return VolumeMesh(np.hstack([tip, triangles]), np.vstack([vertices, _center_of_volume(surface)[1]]))


def _center_of_volume(surface: TriangleSurfaceMesh) -> tuple[float, Array]:
    """The volume within a closed surface and its center."""
    middle = surface.vertex_array().mean(axis=0)
    corners = surface.vertex_array()[surface.triangle_array()] - middle
    volumes = np.linalg.det(corners) / 6.0
    total = float(volumes.sum())
    return total, middle + volumes @ corners.sum(axis=1) / (4.0 * total) if total > 0.0 else middle


def _moved_planes(surface: TriangleSurfaceMesh, center: Array, margin: float) -> Array:
    """The corners of a convex surface whose planes are moved outwards; shape [n, 3]."""
    spatial = import_whole("scipy.spatial")  # takes 0.4 s
    first = surface.vertex_array()[surface.triangle_array()[:, 0]]
    normals = np.array([surface.face_normal(t) for t in range(surface.num_triangles())])
    offsets = -np.einsum("ti,ti->t", normals, first) - margin
    return np.asarray(spatial.HalfspaceIntersection(np.column_stack([normals, offsets]), center).intersections)


def file_volume(shape: Mesh) -> VolumeMesh:
    """Returns the tetrahedra in a VTK file, scaled; refined if some of them have all vertices on the surface.

    Raises:
        RuntimeError: the file cannot be read, or has a flat tetrahedron or one that is inside out.
    """
    volume = checked_volume(shape)
    on_surface = surface_vertices(volume)
    lost = int(on_surface[volume.tetrahedron_array()].all(axis=1).sum())
    if not lost:
        return volume
    refined = RefineVolumeMesh(volume)
    warn_of_file(
        _logger,
        f"Mesh '{shape.source().description()}': {lost} of {volume.num_elements()} tetrahedra have all vertices on the "
        f"surface, where the pressure is zero. The mesh is refined to {refined.num_elements()} tetrahedra; "
        "RefineVolumeMeshIntoVtkFileContents() gives a file of them.",
    )
    return refined


def surface_vertices(volume: VolumeMesh) -> NDArray[np.bool_]:
    """Returns whether each vertex is one of a triangle that belongs to one tetrahedron only, shape [num_vertices]."""
    on_surface = np.zeros(volume.num_vertices(), np.bool_)
    on_surface[boundary_triangles(volume)] = True
    return on_surface


def is_closed(mesh: TriangleSurfaceMesh) -> bool:
    """Whether each edge has as many triangles on one side as on the other; vertices at the same place are one."""
    corners = merged(mesh.vertex_array())[mesh.triangle_array()]
    edges = corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges = edges[edges[:, 0] != edges[:, 1]]
    low, high = np.sort(edges, axis=1).T
    _, which = np.unique(low * (corners.max() + 1) + high, return_inverse=True)
    return not np.bincount(which.ravel(), weights=np.where(edges[:, 0] == low, 1.0, -1.0)).any()


def inflated(vertices: Array, triangles: NDArray[np.int64], margin: float) -> Array:
    """Returns the vertices of a surface, moved as little as possible so that all triangles around them are farther out.

    The least move u with n . u >= margin for the normals n around a vertex is a least distance problem (Lawson and
    Hanson 1974, Solving Least Squares Problems, chapter 23).

    Args:
        vertices: positions [m], shape [n, 3]; those of no triangle stay.
        triangles: vertices by index, counter-clockwise seen from outside.
        margin: by how much the triangles are to move [m].
    """
    if margin == 0.0:
        return vertices
    optimize = import_whole("scipy.optimize")  # takes 0.1 s
    p0, p1, p2 = (vertices[triangles[:, i]] for i in range(3))
    normals = np.cross(p1 - p0, p2 - p0)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    around: dict[int, list[int]] = {}
    for t, corners in enumerate(triangles.tolist()):
        for v in corners:
            around.setdefault(v, []).append(t)
    moved = vertices.copy()
    for v, faces in around.items():
        n = np.unique(normals[faces].round(12), axis=0)
        matrix, target = np.vstack([n.T, np.ones(len(n))]), np.array([0.0, 0.0, 0.0, 1.0])
        residual = matrix @ optimize.nnls(matrix, target)[0] - target
        moved[v] -= margin * residual[:3] / residual[3]
    return moved


def _hull_surface(hull: PolygonSurfaceMesh) -> TriangleSurfaceMesh:
    return TriangleSurfaceMesh(hull.triangle_array(), hull.vertex_array())


def _read_surface(shape: Mesh) -> TriangleSurfaceMesh:
    mesh = read_surface_mesh(shape.source())
    triangles = mesh.triangle_array()
    if np.prod(shape.scale3()) < 0.0:  # mirrored: inside out
        triangles = triangles[:, ::-1]
    return TriangleSurfaceMesh(triangles, mesh.vertex_array() * shape.scale3())


def checked_volume(shape: Mesh) -> VolumeMesh:
    """Returns the tetrahedra in a VTK file, scaled.

    Raises:
        RuntimeError: the file cannot be read, or has a flat tetrahedron or one that is inside out.
    """
    volume = read_volume_mesh(shape.source())
    vertices, tetrahedra = volume.vertex_array() * shape.scale3(), volume.tetrahedron_array()
    if np.prod(shape.scale3()) < 0.0:
        tetrahedra = tetrahedra[:, [0, 2, 1, 3]]
    scaled = VolumeMesh(tetrahedra, vertices)
    flaw = first_flaw(scaled)
    if flaw:
        raise RuntimeError(f"in '{shape.source().description()}' {flaw}")
    return scaled
