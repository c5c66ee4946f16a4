"""Ellipsoids as what a quadratic form allows."""

from __future__ import annotations

__all__ = ["Hyperellipsoid"]

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_ball import AffineBall, radii_of, volume_of_unit_ball
from merganser.geometry.optimization.affine_hull import Flat
from merganser.geometry.optimization.arguments import Array, Form, choose, finite_vector, same_dimension
from merganser.geometry.optimization.circumscribed import circumscribed_ellipsoid
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.nearest_in_ellipsoid import nearest_in_ellipsoid
from merganser.geometry.optimization.placement import Placement
from merganser.geometry.optimization.scene_shapes import OF_SCENE, is_query_object, shape_in_frame

if TYPE_CHECKING:
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.shapes import Shape

_FORMS = {
    "empty": Form(),
    "ball": Form(("ellipsoid",), lambda first: isinstance(first, AffineBall)),
    "scene": Form(OF_SCENE, is_query_object, num_optional=1),
    "A": Form(("A", "center")),
}


class Hyperellipsoid(ConvexSet):
    """The vectors x with |A (x - center)| <= 1. Where A has no full rank, it has no end.

    Hyperellipsoid(): that of dimension 0. Hyperellipsoid(A, center): shapes [m, n] and [n]. Hyperellipsoid(ellipsoid):
    of an AffineBall that has a volume. Hyperellipsoid(query_object, geometry_id, reference_frame=None): a Sphere or
    Ellipsoid of the SceneGraph, in the reference frame; by default in the world.

    Raises:
        ValueError: sizes do not fit, or values are not finite.
        RuntimeError: the ball is flat, or the geometry is another shape.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("Hyperellipsoid", args, kwargs, _FORMS)
        A, center = given.get("A", np.zeros((0, 0))), given.get("center", ())
        if form == "ball":
            A, center = _of_ball(given["ellipsoid"])
        elif form == "scene":
            A, center = _of_geometry(given)
        self._center = finite_vector(center, "Hyperellipsoid", "center")
        self._A = matrix(A, "Hyperellipsoid", "A", None, self._center.size)
        super().__init__(self._center.size)

    @staticmethod
    def MakeAxisAligned(radius: Any, center: Any) -> Hyperellipsoid:
        """The ellipsoid of radii along the axes, shape [n], above 0, around a center.

        Raises:
            ValueError: sizes differ, or a radius is not above 0.
        """
        radii, middle = radii_of(radius, center, "Hyperellipsoid.MakeAxisAligned")
        if (radii == 0.0).any():
            raise ValueError(f"Hyperellipsoid.MakeAxisAligned: expected radii above 0, got {radii}.")
        return Hyperellipsoid(np.diag(1.0 / radii), middle)

    @staticmethod
    def MakeHypersphere(radius: float, center: Any) -> Hyperellipsoid:
        """The ball of a radius above 0 around a center, shape [n]."""
        return Hyperellipsoid.MakeAxisAligned(np.full(np.size(center), radius), center)

    @staticmethod
    def MakeUnitBall(dim: int) -> Hyperellipsoid:
        """The ball of radius 1 around 0."""
        return Hyperellipsoid(AffineBall.MakeUnitBall(dim))

    @staticmethod
    def MinimumVolumeCircumscribedEllipsoid(points: Any, rank_tol: float = 1e-6) -> Hyperellipsoid:
        """The ellipsoid of the least volume around points, the outer one of Loewner and John.

        Args:
            points: in columns, shape [n, m].
            rank_tol: singular values of the points up to rank_tol times the greatest count as 0.

        Raises:
            ValueError: points are not finite.
            RuntimeError: the points are in a flat; AffineBall has such ellipsoids. Or the solver comes to no end.
        """
        where = "Hyperellipsoid.MinimumVolumeCircumscribedEllipsoid"
        U, radii, center = circumscribed_ellipsoid(points, rank_tol, where)
        if U.shape[1] < U.shape[0]:
            raise RuntimeError(
                f"{where}: the points span {U.shape[1]} dimensions, expected {U.shape[0]}. Take a smaller rank_tol, or "
                "AffineBall.MinimumVolumeCircumscribedEllipsoid."
            )
        return Hyperellipsoid(U @ np.linalg.inv(radii) @ U.T, center)

    def A(self) -> Array:
        """A of |A (x - center)| <= 1, shape [m, n]."""
        return self._A.copy()

    def center(self) -> Array:
        """The center, shape [n]."""
        return self._center.copy()

    def Scale(self, scale: float) -> Hyperellipsoid:
        """This ellipsoid with its volume multiplied by a number above 0, around the same center."""
        if not 0.0 < scale < np.inf:
            raise ValueError(f"{self._where('Scale')}: expected scale above 0, got {scale}.")
        return Hyperellipsoid(self._A * scale ** (-1.0 / max(self._dimension, 1)), self._center)

    def MinimumUniformScalingToTouch(self, other: ConvexSet) -> tuple[float, Array]:
        """By how much this ellipsoid has to be scaled around its center to just touch another set, and where.

        Returns:
            The least |A (x - center)| of x in the other set, and that x, shape [n].

        Raises:
            RuntimeError: the other set is empty, dimensions differ or are 0, or the solver comes to no end.
        """
        where = self._where("MinimumUniformScalingToTouch")
        self._require_space(where)
        same_dimension(where, self._dimension, other)
        x = other._nearest_by(self._A, self._center, where)
        if x is None:
            raise RuntimeError(f"{where}: expected a set that is not empty.")
        return float(np.linalg.norm(self._A @ (x - self._center))), x

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # |A y - A center s| <= s
        return np.empty(0, object), place.add_length_at_most_scale(prog, self._A, -self._A @ self._center)

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return int(np.linalg.matrix_rank(self._A)) == self._dimension if self._A.size else False

    def _feasible_point(self) -> Array | None:
        return self.center()

    def _contains(self, x: Array, tol: float) -> bool:
        y = self._A @ (x - self._center)
        return bool(y @ y <= 1.0 + tol)

    def _nearest(self, x: Array) -> Array | None:
        _, sizes, axes = np.linalg.svd(self._A, full_matrices=True)
        radii = np.full(self._dimension, np.inf)
        long = sizes > sizes.max(initial=0.0) * self._dimension * np.finfo(float).eps
        radii[: sizes.size][long] = 1.0 / sizes[long]
        return self._center + nearest_in_ellipsoid(axes.T, radii, x - self._center)

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: that of the unit ball, divided by |det A|."""
        return True

    def _exact_volume(self) -> float:
        if not self._is_bounded():
            return float(np.inf)
        return volume_of_unit_ball(self._dimension) / float(np.prod(np.linalg.svd(self._A, compute_uv=False)))

    def _affine_hull(self, tol: float | None) -> Flat:
        return Flat(np.eye(self._dimension), self.center())

    def _shape_with_pose(self) -> tuple[Shape, RigidTransform]:
        from merganser.framework.math.rotations.rigid_transform import RigidTransform
        from merganser.framework.math.rotations.rotation_matrix import RotationMatrix
        from merganser.geometry.shapes import Ellipsoid

        if not self._is_bounded():
            raise RuntimeError(f"{self._where('ToShapeWithPose')}: expected an A of full rank; this set has no end.")
        squares, axes = np.linalg.eigh(self._A.T @ self._A)
        R_WG = axes * np.array([1.0, 1.0, np.sign(np.linalg.det(axes))])
        a, b, c = (float(each) for each in 1.0 / np.sqrt(squares))
        return Ellipsoid(a, b, c), RigidTransform(RotationMatrix(R_WG), self._center)


def _of_ball(ball: AffineBall) -> tuple[Array, Array]:
    B = ball.B()
    rank = int(np.linalg.matrix_rank(B)) if B.size else 0
    if rank < B.shape[0]:
        raise RuntimeError(f"Hyperellipsoid: expected an AffineBall with B of rank {B.shape[0]}; this has rank {rank}.")
    return np.asarray(np.linalg.inv(B)), ball.center()


def _of_geometry(given: dict[str, Any]) -> tuple[Array, Array]:
    shape, X_EG = shape_in_frame("Hyperellipsoid", given, "Sphere", "Ellipsoid")
    is_sphere = type(shape).__name__ == "Sphere"
    radii = np.array([shape.radius()] * 3 if is_sphere else [shape.a(), shape.b(), shape.c()])
    if not radii.all():
        raise RuntimeError("Hyperellipsoid: expected a sphere of a radius above 0. Use Point for one of radius 0.")
    # |diag(1 / radii) R_GE (p_E - p_EG)| <= 1
    return X_EG.rotation().matrix().T / radii[:, np.newaxis], X_EG.translation()
