"""A volume made of tetrahedra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes.arrays import (
    Array,
    as_scalars,
    checked_elements,
    checked_vertices,
    element_at,
    lengths,
    scalar,
)
from merganser.geometry.meshes.triangle_surface_mesh import TriangleSurfaceMesh

_FLAT = 1e-12  # tetrahedra with less than this share of the cube of their longest edge are flat

# Face f of a tetrahedron lies opposite its vertex f; its corners are counter-clockwise seen from outside if the
# volume det(p1 - p0, p2 - p0, p3 - p0) / 6 is positive.
FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


class VolumeElement:
    """A tetrahedron: four vertices of a mesh, by index.

    Raises:
        RuntimeError: an index is negative.
    """

    __slots__ = ("_vertices",)

    def __init__(self, v0: int, v1: int, v2: int, v3: int) -> None:
        self._vertices = (int(v0), int(v1), int(v2), int(v3))
        if min(self._vertices) < 0:
            raise RuntimeError(f"The vertices of a VolumeElement must not be negative; given {self._vertices}.")

    def num_vertices(self) -> int:
        """Four."""
        return 4

    def vertex(self, i: int) -> int:
        """The index in the mesh of the tetrahedron's vertex i = 0, 1, 2, 3."""
        return element_at(self._vertices, i, "vertex", "this VolumeElement")

    def __repr__(self) -> str:
        return f"VolumeElement{self._vertices}"


class VolumeMesh:
    """A mesh of tetrahedra, which never changes.

    Args:
        elements: VolumeElements, or indices of vertices of shape [m, 4]; at least one. The volume
            det(p1 - p0, p2 - p0, p3 - p0) / 6 should be positive.
        vertices: positions in the mesh's frame M [m], of floats or AutoDiffXd, shape [n, 3].

    Raises:
        RuntimeError: there is no tetrahedron, or one has a vertex that is not there.
        ValueError: the vertices have another shape.
    """

    __slots__ = ("_tetrahedra", "_vertices")

    def __init__(self, elements: Sequence[VolumeElement] | NDArray[np.int64], vertices: ArrayLike) -> None:
        self._vertices = checked_vertices(vertices)
        self._tetrahedra = checked_elements("VolumeMesh", "tetrahedron", elements, 4, len(self._vertices))

    def num_elements(self) -> int:
        """The number of tetrahedra."""
        return len(self._tetrahedra)

    def num_vertices(self) -> int:
        """The number of vertices."""
        return len(self._vertices)

    def element(self, e: int) -> VolumeElement:
        """Tetrahedron e."""
        return VolumeElement(*self._corners(e))

    def tetrahedra(self) -> list[VolumeElement]:
        """All tetrahedra."""
        return [VolumeElement(*corners) for corners in self._tetrahedra.tolist()]

    def tetrahedron_array(self) -> NDArray[np.int64]:
        """The vertices of all tetrahedra by index, to be read only, shape [num_elements, 4]."""
        return self._tetrahedra

    def vertex(self, v: int) -> Array:
        """The position of vertex v in M [m], shape [3]."""
        return np.array(element_at(self._vertices, v, "vertex", "this VolumeMesh"))

    def vertices(self) -> list[Array]:
        """The positions of all vertices in M [m], each of shape [3]."""
        return list(self._vertices.copy())

    def vertex_array(self) -> Array:
        """The positions of all vertices in M [m], to be read only, shape [num_vertices, 3]."""
        return self._vertices

    def CalcTetrahedronVolume(self, e: int) -> Any:
        """The volume of tetrahedron e [m³]; negative if it is inside out."""
        return scalar(_triple_product(*self._edges(self._corners(e))) / 6.0)

    def CalcVolume(self) -> Any:
        """The volume of all tetrahedra [m³]."""
        return scalar(_triple_product(*self._edges(self._tetrahedra)).sum() / 6.0)

    def CalcBarycentric(self, p_MQ: ArrayLike, e: int) -> Array:
        """Returns the barycentric coordinates of point Q in tetrahedron e; some are negative if it lies outside.

        Args:
            p_MQ: position of Q in M [m], shape [3].
            e: the tetrahedron.

        Returns:
            Coordinates, which sum to 1, shape [4].
        """
        corners = self._corners(e)
        u, v, w = self._edges(corners)
        q = as_scalars(p_MQ).reshape(3) - self._vertices[corners[0]]
        b = np.array([_triple_product(q, v, w), _triple_product(u, q, w), _triple_product(u, v, q)])
        b = b / _triple_product(u, v, w)
        return np.array([1.0 - b.sum(), *b])

    def inward_normal(self, e: int, f: int) -> Array:
        """The unit normal into tetrahedron e of its face f, which lies opposite its vertex f; in M, shape [3]."""
        p = self._vertices[self._corners(e)]
        a, b, c = p[element_at(FACES, f, "face", "a tetrahedron")]
        normal = np.cross(c - a, b - a)[np.newaxis]
        return np.asarray((normal / lengths(normal)[:, np.newaxis])[0])

    def edge_vector(self, e: int, a: int, b: int) -> Array:
        """p_AB_M, from vertex a to vertex b of tetrahedron e, both 0 to 3 [m], shape [3]."""
        corners = self._corners(e)
        ends = [element_at(corners, i, "vertex", "a tetrahedron") for i in (a, b)]
        return np.asarray(self._vertices[ends[1]] - self._vertices[ends[0]])

    def Equal(self, mesh: VolumeMesh, vertex_tolerance: float = 0.0) -> bool:
        """Whether both have the same tetrahedra, and each vertex lies within `vertex_tolerance` [m] of the other's."""
        if self._vertices.shape != mesh._vertices.shape or not np.array_equal(self._tetrahedra, mesh._tetrahedra):
            return False
        return bool((np.linalg.norm(self._vertices - mesh._vertices, axis=1) <= vertex_tolerance).all())

    def _edges(self, corners: NDArray[np.int64]) -> tuple[Array, Array, Array]:
        """From the first corner of tetrahedra to the others, in M [m], each of shape [..., 3]."""
        p = self._vertices[corners]
        origin = p[..., 0, :]
        return p[..., 1, :] - origin, p[..., 2, :] - origin, p[..., 3, :] - origin

    def _corners(self, e: int) -> NDArray[np.int64]:
        corners: NDArray[np.int64] = element_at(self._tetrahedra, e, "tetrahedron", "this VolumeMesh")
        return corners

    def __repr__(self) -> str:
        return f"<VolumeMesh of {self.num_elements()} tetrahedra, {self.num_vertices()} vertices>"


def _triple_product(u: Array, v: Array, w: Array) -> Any:
    """u . (v x w), of vectors of shape [..., 3]."""
    return (u * np.cross(v, w)).sum(axis=-1)


def ConvertVolumeToSurfaceMesh(volume: VolumeMesh) -> TriangleSurfaceMesh:
    """Returns the surface of a volume mesh, in the same frame: the triangles that belong to one tetrahedron only.

    Tetrahedra that touch must share their vertices.

    Args:
        volume: a mesh whose tetrahedra have positive volumes.

    Raises:
        TypeError: `volume` is not a VolumeMesh.
    """
    if not isinstance(volume, VolumeMesh):
        raise TypeError(f"ConvertVolumeToSurfaceMesh() takes a VolumeMesh; given {volume!r}.")
    used, triangles = np.unique(boundary_triangles(volume), return_inverse=True)
    return TriangleSurfaceMesh(triangles.reshape(-1, 3), volume.vertex_array()[used])


def boundary_triangles(volume: VolumeMesh) -> NDArray[np.int64]:
    """The triangles that belong to one tetrahedron only, counter-clockwise seen from outside, shape [n, 3]."""
    faces = volume.tetrahedron_array()[:, FACES].reshape(-1, 3)
    low, middle, high = np.sort(faces, axis=1).T
    n = volume.num_vertices()
    # One number for each set of three vertices is sorted ten times faster than three of them.
    _, which, counts = np.unique((low * n + middle) * n + high, return_inverse=True, return_counts=True)
    return np.asarray(faces[counts[which.ravel()] == 1])


def tetrahedron_volumes(vertices: Array, tetrahedra: NDArray[np.int64]) -> Array:
    """Returns the volumes of tetrahedra [m³], negative of those that are inside out, shape [num_elements]."""
    return np.asarray(np.linalg.det(vertices[tetrahedra[:, 1:]] - vertices[tetrahedra[:, :1]]) / 6.0)


def first_flaw(volume: VolumeMesh) -> str:
    """Returns what is wrong with the first tetrahedron that is flat or inside out, as a sentence; "" if none is."""
    corners, p = volume.tetrahedron_array(), volume.vertex_array()
    edges = p[corners[:, 1:]] - p[corners[:, :1]]
    volumes, longest = tetrahedron_volumes(p, corners), np.linalg.norm(edges, axis=2).max(axis=1)
    flat = np.flatnonzero(~(volumes > _FLAT * longest**3))
    if not len(flat):
        return ""
    t = int(flat[0])
    what = "is flat" if abs(volumes[t]) <= _FLAT * longest[t] ** 3 else "is inside out"
    return (
        f"tetrahedron {t}, of the vertices {corners[t].tolist()}, {what}: its volume is {volumes[t]:.3g} m³, which "
        "must be positive. Remove it, or exchange two of its vertices"
    )
