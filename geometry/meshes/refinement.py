"""Divides tetrahedra so that none of them, none of their inner triangles and none of their inner edges has all its
vertices on the surface.

A field that is zero on the surface and linear in each tetrahedron vanishes wherever all vertices lie there, so that
such tetrahedra would be without pressure. A new vertex in the middle of each such edge, then triangle, then
tetrahedron takes care of that.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes.files import read_volume_mesh
from merganser.geometry.meshes.mesh_source import MeshSource
from merganser.geometry.meshes.volume_mesh import FACES, VolumeMesh

Tetrahedron = tuple[int, ...]
Simplex = tuple[int, ...]


def RefineVolumeMesh(mesh: VolumeMesh) -> VolumeMesh:
    """Returns a mesh of the same volume without tetrahedra, inner triangles or inner edges between surface vertices.

    Raises:
        TypeError: `mesh` is not a VolumeMesh.
    """
    if not isinstance(mesh, VolumeMesh):
        raise TypeError(f"RefineVolumeMesh() takes a VolumeMesh; given {mesh!r}.")
    vertices = mesh.vertices()
    tetrahedra: list[Tetrahedron] = [tuple(t) for t in mesh.tetrahedron_array().tolist()]
    boundary = _boundary(mesh.tetrahedron_array())
    for size in (2, 3, 4):
        tetrahedra = _divide(tetrahedra, vertices, boundary, size)
    return VolumeMesh(np.array(tetrahedra, dtype=np.int64), np.array(vertices))


def RefineVolumeMeshIntoVtkFileContents(mesh_source: MeshSource) -> str:
    """Returns the text of a VTK file with the refined mesh of another one; see `RefineVolumeMesh`.

    Raises:
        TypeError: `mesh_source` is not a MeshSource.
        RuntimeError: it cannot be read, or has no tetrahedra.
    """
    if not isinstance(mesh_source, MeshSource):
        raise TypeError(f"RefineVolumeMeshIntoVtkFileContents() takes a MeshSource; given {mesh_source!r}.")
    mesh = RefineVolumeMesh(read_volume_mesh(mesh_source))
    points = "\n".join(" ".join(f"{x:.17g}" for x in p) for p in mesh.vertex_array().tolist())
    cells = "\n".join("4 " + " ".join(map(str, corners)) for corners in mesh.tetrahedron_array().tolist())
    n = mesh.num_elements()
    return (
        "# vtk DataFile Version 3.0\nrefined tetrahedral mesh\nASCII\nDATASET UNSTRUCTURED_GRID\n"
        f"POINTS {mesh.num_vertices()} double\n{points}\n\nCELLS {n} {5 * n}\n{cells}\n\n"
        f"CELL_TYPES {n}\n" + "10\n" * n
    )


def _boundary(tetrahedra: NDArray[np.int64]) -> set[Simplex]:
    """The vertices, edges and triangles on the surface, each with ascending vertices."""
    faces = np.sort(tetrahedra[:, FACES].reshape(-1, 3), axis=1)
    triangles, counts = np.unique(faces, axis=0, return_counts=True)
    surface = [tuple(t) for t in triangles[counts == 1].tolist()]
    return {part for t in surface for size in (1, 2, 3) for part in itertools.combinations(t, size)}


def _divide(
    tetrahedra: list[Tetrahedron], vertices: list[NDArray[np.float64]], boundary: set[Simplex], size: int
) -> list[Tetrahedron]:
    """Gives a vertex in its middle to each inner simplex of `size` vertices that all lie on the surface.

    New vertices are appended to `vertices`; a tetrahedron is divided for every such simplex in it, one after the other.
    """
    middles: dict[Simplex, int] = {}
    done: list[Tetrahedron] = []
    waiting = list(reversed(tetrahedra))
    while waiting:
        corners = waiting.pop()
        on_surface = sorted(v for v in corners if (v,) in boundary)
        bad = (part for part in itertools.combinations(on_surface, size) if part not in boundary)
        part = next(bad, None)
        if part is None:
            done.append(corners)
            continue
        if part not in middles:
            middles[part] = len(vertices)
            vertices.append(np.mean([vertices[v] for v in part], axis=0))
        waiting.extend(tuple(middles[part] if v == gone else v for v in corners) for gone in part)
    return done
