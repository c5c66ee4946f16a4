"""Boxes around points and shapes.

Of all boxes around points, one of least volume has at least two neighboring faces flush with edges of the convex hull
(O'Rourke 1985, Finding minimal enclosing boxes). Looking for it takes cubic time. So here a box is chosen among those
with a face flush with a face of the hull and a side flush with one of its edges, that along the axes, and that along
the principal axes of the points; then it is turned about its axes as long as that makes it smaller. What comes out is
a small box, not always the smallest one.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.meshes import PolygonSurfaceMesh, TriangleSurfaceMesh, VolumeMesh, convex_hull
from merganser.geometry.shapes.bounding_boxes import Aabb, Obb
from merganser.geometry.shapes.measures import hull_of
from merganser.geometry.shapes.shape import Shape

Array = NDArray[np.float64]

_MAX_FACES = 100  # of the hull, the largest ones, with which a box may be flush
_PADDING = 2e-14  # so that no point is outside by rounding, as a share of the size [m/m]
_BETTER = 1.0 - 1e-9  # a candidate must be smaller by this to be preferred to those before it
_SMALLEST_TURN = 1e-4  # [rad]


def CalcObb(shape: Shape) -> Obb | None:
    """Returns a box around a shape, in the frame G of the shape; None for a half space.

    Raises:
        TypeError: `shape` is not a Shape.
        RuntimeError: its mesh file cannot be read, or all vertices lie on a line.
    """
    if not isinstance(shape, Shape):
        raise TypeError(f"CalcObb() takes a Shape; given {shape!r}.")
    if shape.kind.core is None:
        obb: Obb = shape._remember("obb", lambda: _fit_hull(hull_of(shape)))
        return obb
    core = shape.kind.core(shape)
    if core.kind == "half space":
        return None
    return Obb(RigidTransform(np.array(core.center)), np.array(core.half) + core.radius)


def ComputeAabbForTriangleMesh(mesh_M: TriangleSurfaceMesh, vertices: Iterable[int]) -> Aabb:
    """Returns the box along the axes of M around some vertices of a mesh.

    Raises:
        RuntimeError: there are no vertices, or one is not in the mesh.
    """
    points = _chosen("ComputeAabbForTriangleMesh", mesh_M, vertices)
    lower, upper = points.min(axis=0), points.max(axis=0)
    return Aabb((lower + upper) / 2.0, (upper - lower) / 2.0)


def ComputeAabbForVolumeMesh(mesh_M: VolumeMesh, vertices: Iterable[int]) -> Aabb:
    """Returns the box along the axes of M around some vertices of a mesh; raises as for triangle meshes."""
    return ComputeAabbForTriangleMesh(mesh_M, vertices)  # type: ignore[arg-type]


def ComputeObbForTriangleMesh(mesh_M: TriangleSurfaceMesh, vertices: Iterable[int]) -> Obb:
    """Returns a small box, of any orientation in M, around some vertices of a mesh.

    Raises:
        RuntimeError: there are no vertices, or one is not in the mesh.
    """
    points = _chosen("ComputeObbForTriangleMesh", mesh_M, vertices)
    try:
        hull = convex_hull(points, "the vertices")
    except RuntimeError:  # they lie on a line: no faces to be flush with
        return _fit(points, [])
    return _fit_hull(hull)


def ComputeObbForVolumeMesh(mesh_M: VolumeMesh, vertices: Iterable[int]) -> Obb:
    """Returns a small box, of any orientation in M, around some vertices of a mesh; raises as for triangle meshes."""
    return ComputeObbForTriangleMesh(mesh_M, vertices)  # type: ignore[arg-type]


def _chosen(caller: str, mesh: TriangleSurfaceMesh | VolumeMesh, vertices: Iterable[int]) -> Array:
    if not isinstance(mesh, (TriangleSurfaceMesh, VolumeMesh)):
        raise TypeError(f"{caller}() takes a mesh; given {mesh!r}.")
    chosen = np.unique(np.fromiter(vertices, np.int64))
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= mesh.num_vertices():
        raise RuntimeError(
            f"{caller}() takes one or more of the {mesh.num_vertices()} vertices of the mesh, counted from 0; given "
            f"{chosen.tolist()}."
        )
    return np.asarray(mesh.vertex_array()[chosen])


def _fit_hull(hull: PolygonSurfaceMesh) -> Obb:
    vertices = hull.vertex_array()
    faces = sorted(range(hull.num_faces()), key=hull.area, reverse=True)[:_MAX_FACES]
    flush = []
    for face in faces:
        if hull.area(face) == 0.0:
            continue
        z, polygon = hull.face_normal(face), hull.element(face)
        corners = vertices[[polygon.vertex(i) for i in range(polygon.num_vertices())]]
        for edge in np.roll(corners, -1, axis=0) - corners:
            edge = edge - (edge @ z) * z
            length = float(np.linalg.norm(edge))
            if length > 0.0:
                x = edge / length
                flush.append(np.stack([x, np.cross(z, x), z], axis=1))
    return _fit(vertices, flush)


def _fit(points: Array, flush: list[Array]) -> Obb:
    """The smallest of the boxes whose axes are the columns of the given rotations and some more, then turned."""
    center = points.mean(axis=0)
    principal = np.linalg.svd(points - center, full_matrices=len(points) < 3)[2].T
    principal[:, 2] = np.cross(principal[:, 0], principal[:, 1])
    R_best, best = np.eye(3), np.inf
    for R in (np.eye(3), principal, *flush):
        size = _size(points, R)
        if size < best * _BETTER:
            R_best, best = R, size
    R_best = _turn(points, R_best, best)
    lower, upper = (points @ R_best).min(axis=0), (points @ R_best).max(axis=0)
    padding = _PADDING * max(1.0, float(np.abs(points).max()))
    p_HoBo = R_best @ ((lower + upper) / 2.0)
    return Obb(RigidTransform(RotationMatrix(R_best), p_HoBo), (upper - lower) / 2.0 + padding)


def _turn(points: Array, R: Array, size: float) -> Array:
    """Turns a box about its own axes, by ever smaller angles, as long as it gets smaller."""
    angle = 0.1
    while angle > _SMALLEST_TURN:
        turns = [_about(axis, sign * angle) for axis in range(3) for sign in (1.0, -1.0)]
        sizes = [_size(points, R @ turn) for turn in turns]
        smallest = int(np.argmin(sizes))
        if sizes[smallest] < size * _BETTER:
            R, size = R @ turns[smallest], sizes[smallest]
        else:
            angle /= 2.0
    U, _, Vt = np.linalg.svd(R)  # the products have collected rounding errors
    return np.asarray(U @ Vt)


def _about(axis: int, angle: float) -> Array:
    turn = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[[i, i, j, j], [i, j, i, j]] = [np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)]
    return turn


def _size(points: Array, R: Array) -> float:
    """The volume of the box along the columns of R; of flat points its area, of points on a line its length."""
    along = points @ R
    extents = along.max(axis=0) - along.min(axis=0)
    thick = extents + 1e-9 * extents.max()
    return float(thick.prod())
