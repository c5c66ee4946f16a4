"""Boxes around things, Aabb and Obb, and whether they overlap. All lengths in meters.

A plane, and on which side of it things are.

Boxes around points and shapes.

Of all boxes around points, one of least volume has at least two neighboring faces flush with edges of the convex hull
(O'Rourke 1985, Finding minimal enclosing boxes). Looking for it takes cubic time. So here a box is chosen among those
with a face flush with a face of the hull and a side flush with one of its edges, that along the axes, and that along
the principal axes of the points; then it is turned about its axes as long as that makes it smaller. What comes out is
a small box, not always the smallest one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.meshes import PolygonSurfaceMesh, TriangleSurfaceMesh, VolumeMesh, convex_hull
from merganser.geometry.meshes.arrays import as_scalars, scalar
from merganser.geometry.shapes import HalfSpace
from merganser.geometry.shapes.measures import hull_of
from merganser.geometry.shapes.shape import Shape

_MIN_NORMAL_LENGTH = 1e-10


class Plane:
    """The plane nhat . x = d of a frame F; it never changes. What lies where the normal points is above it.

    Args:
        normal: a vector perpendicular to the plane, in F, of floats or AutoDiffXd, shape [3].
        point_on_plane: any point of it, in F [m], shape [3].
        already_normalized: whether `normal` is taken as a unit vector as it is.

    Raises:
        RuntimeError: the normal is shorter than 1e-10.
    """

    __slots__ = ("_displacement", "_normal")

    def __init__(self, normal: ArrayLike, point_on_plane: ArrayLike, already_normalized: bool = False) -> None:
        nhat = np.array(as_scalars(normal)).reshape(3)
        if not already_normalized:
            length = np.sqrt((nhat * nhat).sum())
            if not length >= _MIN_NORMAL_LENGTH:
                raise RuntimeError(
                    f"A Plane needs a normal of length {_MIN_NORMAL_LENGTH} or more; given {nhat.tolist()}."
                )
            nhat = nhat / length
        self._normal: NDArray[Any] = nhat
        self._displacement = scalar(nhat @ as_scalars(point_on_plane).reshape(3))

    def CalcHeight(self, point: ArrayLike) -> Any:
        """The height of a point above the plane [m], negative below it; `point` in F [m], shape [3]."""
        return scalar(self._normal @ as_scalars(point).reshape(3) - self._displacement)

    def unit_normal(self) -> NDArray[Any]:
        """The unit normal in F, shape [3]."""
        return self._normal.copy()

    def reference_point(self) -> NDArray[Any]:
        """A point of the plane, in F [m], shape [3]."""
        return np.asarray(self._displacement * self._normal)

    def BoxOverlaps(
        self, half_width: ArrayLike, box_center_in_plane: ArrayLike, box_orientation_in_plane: RotationMatrix
    ) -> bool:
        """Whether the plane meets a box.

        Args:
            half_width: half of the box's extents along its axes B [m], shape [3].
            box_center_in_plane: p_FBo [m], shape [3].
            box_orientation_in_plane: R_FB.
        """
        reach = np.abs(self._normal @ box_orientation_in_plane.matrix()) @ as_scalars(half_width).reshape(3)
        return bool(abs(self.CalcHeight(box_center_in_plane)) <= reach)

    def __deepcopy__(self, memo: dict[int, Any]) -> Plane:
        return self

    def __repr__(self) -> str:
        return f"Plane(normal={self._normal.tolist()}, point_on_plane={self.reference_point().tolist()})"


Array = NDArray[np.float64]

_PARALLEL = 1e-15  # added to |cosines|, so that two parallel edges separate nothing by rounding


_NAMES_OF_OVERLOADS = also_named(
    aabb_G="a_G", obb_G="a_G", bv_H="a_G", obb_H="b_H", aabb_H="b_H", hs_C="b_H", plane_P="b_H", X_CH="X_GH",
    X_PH="X_GH",
)  # fmt: skip


class _BoundingBox:
    """A box of frame B, centered on Bo, in a frame H."""

    __slots__ = ("_half_width", "_p_HoBo")
    _p_HoBo: Array
    _half_width: Array

    def _store(self, p_HoBo: ArrayLike, half_width: ArrayLike) -> None:
        name = type(self).__name__
        self._p_HoBo = np.array(p_HoBo, dtype=np.float64).reshape(3)
        self._half_width = np.array(half_width, dtype=np.float64).reshape(3)
        if not (self._half_width >= 0.0).all():
            raise RuntimeError(f"The half_width of an {name} must not be negative; given {self._half_width.tolist()}.")

    def center(self) -> Array:
        """p_HoBo_H, the position of the center in H, shape [3]."""
        return self._p_HoBo.copy()

    def half_width(self) -> Array:
        """Half of the extents along Bx, By and Bz, shape [3]."""
        return self._half_width.copy()

    def CalcVolume(self) -> float:
        """The volume [m³]."""
        return float(8.0 * self._half_width.prod())

    def pose(self) -> RigidTransform:
        """X_HB, the pose of the box in H."""
        raise NotImplementedError

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


class Aabb(_BoundingBox):
    """A box along the axes of the frame H in which it is described; it never changes.

    Args:
        p_HoBo: position of its center in H, shape [3].
        half_width: half of its extents along Hx, Hy and Hz, shape [3].

    Raises:
        RuntimeError: a half width is negative or not a number.
    """

    __slots__ = ()

    def __init__(self, p_HoBo: ArrayLike, half_width: ArrayLike) -> None:
        self._store(p_HoBo, half_width)

    def lower(self) -> Array:
        """The corner with the smallest coordinates, in H, shape [3]."""
        return np.asarray(self._p_HoBo - self._half_width)

    def upper(self) -> Array:
        """The corner with the largest coordinates, in H, shape [3]."""
        return np.asarray(self._p_HoBo + self._half_width)

    def pose(self) -> RigidTransform:
        """X_HB, the pose of the box in H: R_HB is the identity."""
        return RigidTransform(self._p_HoBo)

    def Equal(self, other: Aabb) -> bool:
        """Whether both have exactly the same numbers."""
        return np.array_equal(self._p_HoBo, other._p_HoBo) and np.array_equal(self._half_width, other._half_width)

    @staticmethod
    @_NAMES_OF_OVERLOADS
    def HasOverlap(a_G: Aabb | Obb, b_H: Aabb | Obb | HalfSpace | Plane, X_GH: RigidTransform) -> bool:
        """Whether a box in G overlaps another thing in H: `HasOverlap(aabb_G, b_H, X_GH)`; see `Obb.HasOverlap`."""
        return _has_overlap("Aabb", a_G, b_H, X_GH)

    def __repr__(self) -> str:
        return f"Aabb(p_HoBo={self._p_HoBo.tolist()}, half_width={self._half_width.tolist()})"


class Obb(_BoundingBox):
    """A box of any orientation in the frame H in which it is described; it never changes.

    Args:
        X_HB: pose of the box in H; B has its origin in the center.
        half_width: half of its extents along Bx, By and Bz, shape [3].

    Raises:
        RuntimeError: a half width is negative or not a number.
    """

    __slots__ = ("_X_HB",)

    def __init__(self, X_HB: RigidTransform, half_width: ArrayLike) -> None:
        if not isinstance(X_HB, RigidTransform):
            raise TypeError(f"The pose of an Obb must be a RigidTransform; given {X_HB!r}.")
        self._store(X_HB.translation(), half_width)
        self._X_HB = RigidTransform(X_HB)

    def pose(self) -> RigidTransform:
        """X_HB, the pose of the box in H."""
        return RigidTransform(self._X_HB)

    def Equal(self, other: Obb) -> bool:
        """Whether both have exactly the same numbers."""
        return np.array_equal(self._X_HB.GetAsMatrix34(), other._X_HB.GetAsMatrix34()) and np.array_equal(
            self._half_width, other._half_width
        )

    @staticmethod
    @_NAMES_OF_OVERLOADS
    def HasOverlap(a_G: Aabb | Obb, b_H: Aabb | Obb | HalfSpace | Plane, X_GH: RigidTransform) -> bool:
        """Whether a box overlaps another thing: `HasOverlap(a_G, b_H, X_GH)`.

        The box comes first, by name as `a_G`, `obb_G`, `aabb_G` or `bv_H`. The other thing may be an Aabb or Obb in a
        frame H (`b_H`, `obb_H`, `aabb_H`); or a HalfSpace `hs_C` or Plane `plane_P` in a frame C or P, and then the box
        is in H and the third argument is `X_CH` or `X_PH`.

        Raises:
            TypeError: other arguments.
        """
        return _has_overlap("Obb", a_G, b_H, X_GH)

    def __repr__(self) -> str:
        return f"Obb(X_HB={self._X_HB!r}, half_width={self._half_width.tolist()})"


def _has_overlap(name: str, box: Any, other: Any, X: Any) -> bool:
    if not isinstance(box, (Aabb, Obb)) or not isinstance(X, RigidTransform):
        raise TypeError(f"{name}.HasOverlap() takes a box, a box, HalfSpace or Plane, and a RigidTransform.")
    if isinstance(other, (Aabb, Obb)):
        X_AB = box.pose().inverse().multiply(X).multiply(other.pose())
        return _boxes_overlap(box._half_width, other._half_width, X_AB)
    X_CB = X.multiply(box.pose())
    R_CB, p_CB = X_CB.rotation().matrix(), X_CB.translation()
    if isinstance(other, Plane):
        return other.BoxOverlaps(box._half_width, p_CB, RotationMatrix(R_CB))
    if isinstance(other, HalfSpace):
        return bool(p_CB[2] - np.abs(R_CB[2]) @ box._half_width <= 0.0)
    raise TypeError(f"{name}.HasOverlap() does not know whether a box overlaps {other!r}.")


def _boxes_overlap(half_A: Array, half_B: Array, X_AB: RigidTransform) -> bool:
    """Looks for an axis that separates two boxes: 3 + 3 face normals, 9 products of edges (Gottschalk 1996)."""
    R, p = X_AB.rotation().matrix(), X_AB.translation()
    R_abs = np.abs(R) + _PARALLEL
    if (np.abs(p) > half_A + R_abs @ half_B).any() or (np.abs(p @ R) > half_B + half_A @ R_abs).any():
        return False
    for i in range(3):
        i1, i2 = (i + 1) % 3, (i + 2) % 3
        # Edge i of A times edge j of B, for all j at once.
        reach_A = half_A[i1] * R_abs[i2] + half_A[i2] * R_abs[i1]
        reach_B = np.array([half_B[j - 2] * R_abs[i, j - 1] + half_B[j - 1] * R_abs[i, j - 2] for j in range(3)])
        if (np.abs(p[i2] * R[i1] - p[i1] * R[i2]) > reach_A + reach_B).any():
            return False
    return True


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
