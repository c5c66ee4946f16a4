"""ContactSurface: the patch on which two geometries press on each other, and its pressure."""

from __future__ import annotations

import functools
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import values_of
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, GRAD_N, NORMAL, PRESSURE
from merganser.geometry.hydroelastic.surface_files import save_surface
from merganser.geometry.meshes import (
    PolygonSurfaceMesh,
    PolygonSurfaceMeshFieldLinear,
    TriangleSurfaceMesh,
    TriangleSurfaceMeshFieldLinear,
)
from merganser.geometry.meshes.arrays import element_at, scalar
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.materials import HydroelasticContactRepresentation

Array = NDArray[np.float64]

_REPEATED = 1e-14  # corners closer than this are one [m]


class ContactSurface:
    """The surface on which geometries M and N have the same pressure, or on which a rigid one cuts a compliant one.

    Faces are polygons, or the triangles between the edges of these and their centroids. Normals point out of N into M;
    the traction on M in each point is the pressure along the normal.

    QueryObject makes them; see `QueryObject.ComputeContactSurfaces`. In a plant or SceneGraph of AutoDiffXd its numbers
    have derivatives.

    Args:
        ids: of M and N, the smaller one first.
        representation: what faces are.
        faces: of the polygons positions of the corners in W and pressures, shape [n, .., 4]; numbers, see
            face_columns.py; and owners, whose second column is the number of corners, shape [n, 4]. Not copied.
        is_compliant: whether M is, and N.
    """

    def __init__(
        self,
        ids: tuple[GeometryId, GeometryId],
        representation: HydroelasticContactRepresentation,
        faces: tuple[Array, Array, NDArray[np.int64]],
        is_compliant: tuple[bool, bool],
    ) -> None:
        self._ids = ids
        self._representation = representation
        self._given = faces
        self._is_compliant = is_compliant

    # ------------------------------------------------------------------ the whole

    def id_M(self) -> GeometryId:
        """The id of geometry M, smaller than that of N."""
        return self._ids[0]

    def id_N(self) -> GeometryId:
        """The id of geometry N."""
        return self._ids[1]

    def representation(self) -> HydroelasticContactRepresentation:
        """What faces are."""
        return self._representation

    def is_triangle(self) -> bool:
        """Whether faces are triangles."""
        return self._representation == HydroelasticContactRepresentation.kTriangle

    def num_faces(self) -> int:
        """The number of faces."""
        return int(self._num_corners.sum()) if self.is_triangle() else len(self._numbers)

    def num_vertices(self) -> int:
        """The number of vertices; faces do not share those of polygons."""
        count = int(self._num_corners.sum())
        return count + len(self._numbers) if self.is_triangle() else count

    def total_area(self) -> Any:
        """The area of all faces [m²]."""
        return scalar(self._given[1][:, AREA].sum())

    @overload
    def centroid(self) -> Array: ...
    @overload
    def centroid(self, face_index: int) -> Array: ...
    def centroid(self, face_index: int | None = None) -> Array:
        """The centroid of a face, or of the surface if none is given, in W [m], shape [3].

        Raises:
            IndexError: there is no such face.
        """
        if face_index is not None:
            if self.is_triangle():
                return self.tri_mesh_W().element_centroid(face_index)
            return np.array(self._face(face_index)[CENTROID : CENTROID + 3])
        numbers = self._given[1]
        areas, centroids = numbers[:, AREA], numbers[:, CENTROID : CENTROID + 3]
        area = areas.sum()
        return np.asarray(areas @ centroids / area) if area > 0.0 else np.array(centroids[0])  # it may be a line

    # ------------------------------------------------------------------ faces

    def area(self, face_index: int) -> Any:
        """The area of a face [m²].

        Raises:
            IndexError: there is no such face.
        """
        if self.is_triangle():
            return self.tri_mesh_W().area(face_index)
        return scalar(self._face(face_index)[AREA])

    def face_normal(self, face_index: int) -> Array:
        """The unit normal of a face, out of N into M, in W, shape [3].

        Raises:
            IndexError: there is no such face.
        """
        return np.array(self._face(self._polygon_of(face_index))[NORMAL : NORMAL + 3])

    def HasGradE_M(self) -> bool:
        """Whether M is compliant, so that its pressure has a gradient."""
        return self._is_compliant[0]

    def HasGradE_N(self) -> bool:
        """Whether N is compliant, so that its pressure has a gradient."""
        return self._is_compliant[1]

    def EvaluateGradE_M_W(self, index: int) -> Array:
        """The gradient of M's pressure at a face, in W [Pa/m], shape [3].

        Raises:
            RuntimeError: M is rigid.
            IndexError: there is no such face.
        """
        return self._gradient(index, "M", self._is_compliant[0], GRAD_M)

    def EvaluateGradE_N_W(self, index: int) -> Array:
        """The gradient of N's pressure at a face, in W [Pa/m], shape [3].

        Raises:
            RuntimeError: N is rigid.
            IndexError: there is no such face.
        """
        return self._gradient(index, "N", self._is_compliant[1], GRAD_N)

    # ------------------------------------------------------------------ meshes

    def tri_mesh_W(self) -> TriangleSurfaceMesh:
        """The triangles, in W.

        Raises:
            RuntimeError: faces are polygons.
        """
        self._require("tri_mesh_W", HydroelasticContactRepresentation.kTriangle)
        return self._triangles[0]

    def tri_e_MN(self) -> TriangleSurfaceMeshFieldLinear:
        """The pressure on the triangles [Pa].

        Raises:
            RuntimeError: faces are polygons.
        """
        self._require("tri_e_MN", HydroelasticContactRepresentation.kTriangle)
        return self._triangles[1]

    def poly_mesh_W(self) -> PolygonSurfaceMesh:
        """The polygons, in W.

        Raises:
            RuntimeError: faces are triangles.
        """
        self._require("poly_mesh_W", HydroelasticContactRepresentation.kPolygon)
        return self._polygons[0]

    def poly_e_MN(self) -> PolygonSurfaceMeshFieldLinear:
        """The pressure on the polygons [Pa], with the gradient of M's pressure, or of N's where M is rigid.

        Raises:
            RuntimeError: faces are triangles.
        """
        self._require("poly_e_MN", HydroelasticContactRepresentation.kPolygon)
        return self._polygons[1]

    def as_triangles(self) -> tuple[Array, NDArray[np.int64], Array]:
        """Returns the surface as triangles, to be drawn; polygons become fans of them.

        Returns:
            Positions of the vertices in W [m], shape [n, 3]; the vertices of triangles, shape [m, 3]; pressures at the
            vertices [Pa], shape [n].
        """
        vertices, triangles = self._around_centroids if self.is_triangle() else (self._vertices, self._around_corners())
        return vertices[:, :3].copy(), triangles.copy(), vertices[:, 3].copy()

    def Equal(self, surface: ContactSurface) -> bool:
        """Whether both have the same kind of faces, exactly the same vertices and exactly the same pressures there."""
        return (
            self._representation == surface._representation
            and np.array_equal(self._num_corners, surface._num_corners)
            and np.array_equal(self._vertices, surface._vertices)
        )

    def Save(self, path: Any) -> None:
        """Writes the faces and the pressures at their corners to a .vtk or .ply file; pydrake has no such function.

        Errors as of surface_files.py.
        """
        save_surface(self, path)

    # ------------------------------------------------------------------ helpers

    @functools.cached_property
    def _faces(self) -> tuple[Array, Array, NDArray[np.int64]]:
        """Corners, numbers and how many corners, of faces that are more than points or lines, to rounding."""
        corners, numbers, owners = self._given
        corners, counts = _without_repeated_corners(corners, owners[:, 1])
        is_face = counts >= 3
        return (corners, numbers, counts) if is_face.all() else (corners[is_face], numbers[is_face], counts[is_face])

    @property
    def _corners(self) -> Array:
        return self._faces[0]

    @property
    def _numbers(self) -> Array:
        return self._faces[1]

    @property
    def _num_corners(self) -> NDArray[np.int64]:
        return self._faces[2]

    @functools.cached_property
    def _vertices(self) -> Array:
        """The corners of all polygons, one after the other, and their pressures, shape [.., 4]."""
        is_corner = np.arange(self._corners.shape[1]) < self._num_corners[:, None]
        return np.asarray(self._corners[is_corner])

    @functools.cached_property
    def _owners(self) -> NDArray[np.int64]:
        """The polygon of each vertex, which is that of the triangle that begins there."""
        return np.repeat(np.arange(len(self._num_corners)), self._num_corners)

    @functools.cached_property
    def _polygons(self) -> tuple[PolygonSurfaceMesh, PolygonSurfaceMeshFieldLinear]:
        ends = np.cumsum(self._num_corners).tolist()
        face_data: list[int] = []
        for start, end in zip([0, *ends], ends):
            face_data += (end - start, *range(start, end))
        mesh = PolygonSurfaceMesh(face_data, self._vertices[:, :3])
        first = GRAD_M if self._is_compliant[0] else GRAD_N
        gradients = self._numbers[:, first : first + 3]
        return mesh, PolygonSurfaceMeshFieldLinear(self._vertices[:, 3], mesh, gradients)

    def _around_corners(self) -> NDArray[np.int64]:
        """Triangles that make up the polygons, all with its first corner, shape [.., 3]."""
        first = (np.cumsum(self._num_corners) - self._num_corners)[self._owners]
        second = np.arange(len(self._vertices))
        begins_one = (second > first) & (second < first + self._num_corners[self._owners] - 1)
        return np.stack([first, second, second + 1], axis=1)[begins_one]

    @functools.cached_property
    def _around_centroids(self) -> tuple[Array, NDArray[np.int64]]:
        """Vertices with pressures, those of centroids last, shape [.., 4], and the triangles around these."""
        count = len(self._vertices)
        ends = np.cumsum(self._num_corners)
        following = np.arange(1, count + 1)
        following[ends - 1] = ends - self._num_corners
        triangles = np.stack([np.arange(count), following, count + self._owners], axis=1)
        centers = np.column_stack([self._numbers[:, CENTROID : CENTROID + 3], self._numbers[:, PRESSURE]])
        return np.vstack([self._vertices, centers]), triangles

    @functools.cached_property
    def _triangles(self) -> tuple[TriangleSurfaceMesh, TriangleSurfaceMeshFieldLinear]:
        vertices, triangles = self._around_centroids
        mesh = TriangleSurfaceMesh(triangles, vertices[:, :3])
        return mesh, TriangleSurfaceMeshFieldLinear(vertices[:, 3], mesh)

    def _polygon_of(self, face: int) -> int:
        """The polygon that a face is, or that it is a part of."""
        if not self.is_triangle():
            return face
        return int(element_at(self._owners, face, "face", "this ContactSurface"))

    def _face(self, polygon: int) -> Any:
        return element_at(self._numbers, polygon, "face", "this ContactSurface")

    def _gradient(self, index: int, name: str, is_compliant: bool, column: int) -> Array:
        if not is_compliant:
            raise RuntimeError(
                f"ContactSurface.EvaluateGradE_{name}_W(): geometry {name}, {self._ids[name == 'N']!r}, is rigid, so "
                f"that its pressure has no gradient. HasGradE_{name}() says whether there is one."
            )
        return np.array(self._face(self._polygon_of(index))[column : column + 3])

    def _require(self, function: str, representation: HydroelasticContactRepresentation) -> None:
        if self._representation != representation:
            raise RuntimeError(
                f"ContactSurface.{function}(): the faces of this surface are {self._representation.name}, not "
                f"{representation.name}. Ask for surfaces with HydroelasticContactRepresentation.{representation.name}."
            )

    def __repr__(self) -> str:
        area = self.total_area()
        return (
            f"<ContactSurface of {self._ids[0]!r} and {self._ids[1]!r}: {self.num_faces()} faces, "
            f"{float(getattr(area, 'value', lambda: area)()):.6g} m²>"
        )


def _without_repeated_corners(corners: Array, counts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Leaves one of neighbors at the same place, which rounding makes where planes meet in a line.

    Kernels keep them all: each carries another derivative, and only together they have that of the area.

    Args:
        corners: positions and pressures, shape [num_faces, .., 4].
        counts: of the corners of each face, shape [num_faces].

    Returns:
        Such arrays; those that were given if there is nothing to do.
    """
    places = corners[..., :3]
    if places.dtype == object:
        places = values_of(places)
    steps = np.empty(places.shape)  # from the corner before
    steps[:, 0] = places[:, 0] - places[np.arange(len(counts)), counts - 1]
    np.subtract(places[:, 1:], places[:, :-1], out=steps[:, 1:])
    is_used = np.arange(places.shape[1]) < counts[:, np.newaxis]
    is_kept = is_used & (np.einsum("ijk,ijk->ij", steps, steps) > _REPEATED**2)
    if (is_kept == is_used).all():
        return corners, counts
    order = np.argsort(~is_kept, axis=1, kind="stable")
    return np.take_along_axis(corners, order[..., np.newaxis], axis=1), is_kept.sum(axis=1)
