"""Ellipsoids as what a quadratic form allows.

The smallest ellipsoid around points, by a semidefinite program.

The point of an ellipsoid that is nearest to another one, by one equation.

Ellipsoids as images of the unit ball, flat ones among them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.sets.arguments import (
    OF_SCENE,
    Array,
    Form,
    choose,
    finite_vector,
    is_query_object,
    points_of,
    same_dimension,
    shape_in_frame,
    size_of,
)
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, complement_of, failure, solved, span_of

if TYPE_CHECKING:
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.shapes import Shape


def circumscribed_ellipsoid(points: Any, rank_tol: float, where: str) -> tuple[Array, Array, Array]:
    """The ellipsoid U B u + center, |u| <= 1, of the least volume around points in their affine hull.

    In coordinates x_i of the hull, of a length of about 1, it is |P x + q| <= 1 with

        max log det P  so that  |P x_i + q| <= 1

    and so B = P^-1, center = -P^-1 q. Source: Boyd and Vandenberghe, Convex Optimization, 2004, section 8.4.1.

    Args:
        points: in columns, shape [n, m].
        rank_tol: singular values of the points around their mean up to rank_tol times the greatest count as 0.
        where: for errors.

    Returns:
        U: an orthonormal basis of the directions of the hull, shape [n, r].
        B: shape [r, r], symmetric.
        center: shape [n].

    Raises:
        ValueError: points are not finite, or missing.
        RuntimeError: the solver did not converge.
    """
    given = points_of(points, where, "points")
    if not given.size:
        raise ValueError(f"{where}: expected at least one point of at least one coordinate, got {given.shape}.")
    mean = given.mean(axis=1)
    U = span_of(given - mean[:, np.newaxis], rank_tol)
    if U.shape[1] == 0:
        return U, np.zeros((0, 0)), mean
    local = U.T @ (given - mean[:, np.newaxis])
    scale = float(np.abs(local).max())
    P, q = _solved(local / scale, where)
    B: Array = np.asarray(np.linalg.inv(P))
    return U, np.asarray(scale * B), mean - U @ (scale * (B @ q))


def _solved(x: Array, where: str) -> tuple[Array, Array]:
    r = x.shape[0]
    prog = MathematicalProgram()
    P = prog.NewSymmetricContinuousVariables(r, "P")
    q = prog.NewContinuousVariables(r, "q")
    lower = np.tril_indices(r)
    variables = np.concatenate((P[lower], q))
    for point in x.T:
        slopes = np.zeros((1 + r, variables.size))  # (1, P x + q)
        slopes[1:, -r:] = np.eye(r)
        for k, (i, j) in enumerate(zip(*lower)):
            slopes[1 + i, k] += point[j]
            if i != j:
                slopes[1 + j, k] += point[i]
        prog.AddLorentzConeConstraint(slopes, np.concatenate(([1.0], np.zeros(r))), variables)
    prog.AddMaximizeLogDeterminantCost(P)
    result = solved(prog)
    if not result.is_success():
        raise failure(where, result)
    return np.asarray(result.GetSolution(P)), np.asarray(result.GetSolution(q))


def nearest_in_ellipsoid(axes: Array, radii: Array, offset: Array) -> Array:
    """The p with sum((axes'p / radii)^2) <= 1 of the least |p - offset|, around the center; shape [n].

    Along the axes, with w = axes'offset, the conditions of a least square are

        p_i = r_i^2 w_i / (r_i^2 + l),    |u(l)| = 1 for u_i = r_i w_i / (r_i^2 + l)     (1)

    with one l > 0, unless the offset is inside. 1/|u(l)| is nearly a line, and Newton's method on it goes up to the
    solution from l = 0 (Conn, Gould, Toint, Trust-region methods, 2000, section 7.3).

    Args:
        axes: orthonormal columns, shape [n, n].
        radii: shape [n], 0 and infinity among them.
        offset: shape [n].
    """
    w = axes.T @ offset
    p = np.where(np.isinf(radii), w, 0.0)
    real = np.isfinite(radii) & (radii > 0.0)
    r, w = radii[real], w[real]
    p[real] = w
    u = w / r
    length = float(np.linalg.norm(u))
    if length > 1.0:
        multiplier = 0.0
        for _ in range(100):
            slope = float(u @ (u / (r * r + multiplier)))  # -|u| d|u|/dl
            step = (length - 1.0) * length * length / slope
            multiplier += step
            u = r * w / (r * r + multiplier)
            length = float(np.linalg.norm(u))
            if step <= 1e-16 * multiplier or length <= 1.0:
                break
        p[real] = r * u / max(length, 1e-300)  # to the boundary, against rounding
    return np.asarray(axes @ p)


_TOUCH_MARGIN = 1e-9  # of squares of distances that are 1 where an ellipsoid touches a set
_FORMS_OF_BALLS = {
    "empty": Form(),
    "ellipsoid": Form(("ellipsoid",), lambda first: hasattr(first, "MinimumUniformScalingToTouch")),
    "B": Form(("B", "center")),
}


def volume_of_unit_ball(n: int) -> float:
    """pi^(n/2) / Gamma(n/2 + 1)."""
    return math.pi ** (n / 2) / math.gamma(n / 2 + 1)


def radii_of(radius: Any, center: Any, where: str) -> tuple[Array, Array]:
    """Radii of at least 0 and a center, shapes [n].

    Raises:
        ValueError: sizes differ, values are not finite, or a radius is below 0.
    """
    middle = finite_vector(center, where, "center")
    radii = finite_vector(radius, where, "radius", middle.size)
    if (radii < 0.0).any():
        raise ValueError(f"{where}: expected radii of at least 0, got {radii}.")
    return radii, middle


class AffineBall(ConvexSet):
    """The vectors B u + center with |u| <= 1.

    AffineBall(): that of dimension 0. AffineBall(B, center): shapes [n, n] and [n]. AffineBall(ellipsoid): of a
    Hyperellipsoid that is bounded.

    Raises:
        ValueError: sizes do not fit, or values are not finite.
        RuntimeError: the ellipsoid is unbounded.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("AffineBall", args, kwargs, _FORMS_OF_BALLS)
        B, center = given.get("B", np.zeros((0, 0))), given.get("center", ())
        if form == "ellipsoid":
            B, center = _of_ellipsoid(given["ellipsoid"])
        self._center = finite_vector(center, "AffineBall", "center")
        self._B = matrix(B, "AffineBall", "B", self._center.size, self._center.size) if np.size(B) else np.zeros((0, 0))
        if self._B.shape[0] != self._center.size:
            raise ValueError(f"AffineBall: expected B of shape ({self._center.size}, {self._center.size}), got (0, 0).")
        super().__init__(self._center.size)

    @staticmethod
    def MakeAxisAligned(radius: Any, center: Any) -> AffineBall:
        """The ellipsoid of radii along the axes, shape [n], at least 0, around a center.

        Raises:
            ValueError: sizes differ, or a radius is below 0.
        """
        radii, middle = radii_of(radius, center, "AffineBall.MakeAxisAligned")
        return AffineBall(np.diag(radii), middle)

    @staticmethod
    def MakeHypersphere(radius: float, center: Any) -> AffineBall:
        """The ball of a radius of at least 0 around a center, shape [n]."""
        return AffineBall.MakeAxisAligned(np.full(np.size(center), radius), center)

    @staticmethod
    def MakeUnitBall(dim: int) -> AffineBall:
        """The ball of radius 1 around 0."""
        n = size_of(dim, "AffineBall.MakeUnitBall", "dim")
        return AffineBall(np.eye(n), np.zeros(n))

    @staticmethod
    def MakeAffineBallFromLineSegment(x_1: Any, x_2: Any, epsilon: float = 1e-3) -> AffineBall:
        """The ellipsoid whose longest axis is a segment, with radii of epsilon across it.

        Args:
            x_1, x_2: the ends, shape [n], at least 1e-9 apart.
            epsilon: at least 0.

        Raises:
            ValueError: sizes differ, or epsilon is below 0.
            RuntimeError: the ends are too close.
        """
        where = "AffineBall.MakeAffineBallFromLineSegment"
        first = finite_vector(x_1, where, "x_1")
        half = 0.5 * (finite_vector(x_2, where, "x_2", first.size) - first)
        if not 0.0 <= epsilon < np.inf:
            raise ValueError(f"{where}: expected epsilon of at least 0, got {epsilon}.")
        if 2.0 * np.linalg.norm(half) < 1e-9:
            raise RuntimeError(f"{where}: expected x_1 and x_2 at least 1e-9 apart.")
        return AffineBall(np.column_stack((half, epsilon * complement_of(half[:, np.newaxis]))), first + half)

    @staticmethod
    def MinimumVolumeCircumscribedEllipsoid(points: Any, rank_tol: float = 1e-6) -> AffineBall:
        """The ellipsoid of the least volume around points, the outer one of Loewner and John, in their affine hull.

        Args:
            points: in columns, shape [n, m], m > 0.
            rank_tol: singular values of the points up to rank_tol times the greatest count as 0.

        Raises:
            ValueError: points are not finite, or missing.
            RuntimeError: the solver did not converge.
        """
        where = "AffineBall.MinimumVolumeCircumscribedEllipsoid"
        U, radii, center = circumscribed_ellipsoid(points, rank_tol, where)
        return AffineBall(U @ radii @ U.T, center)

    def B(self) -> Array:
        """B of B u + center, shape [n, n]."""
        return self._B.copy()

    def center(self) -> Array:
        """The center, shape [n]."""
        return self._center.copy()

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = B u + center s, |u| <= s
        n = self._dimension
        u = prog.NewContinuousVariables(n, "u")
        equations = place.add_zero_with(prog, np.eye(n), -self._center, u, -self._B)
        return u, [equations, *place.of_new(u).add_length_at_most_scale(prog, np.eye(n), np.zeros(n))]

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return True

    def _only_point(self) -> Array | None:
        return None if self._B.any() else self.center()

    def _feasible_point(self) -> Array | None:
        return self.center()

    def _contains(self, x: Array, tol: float) -> bool:
        u = np.linalg.lstsq(self._B, x - self._center, rcond=None)[0]
        off = np.abs(self._B @ u - (x - self._center)).max()
        rounding = 1e-14 * max(1.0, float(np.abs(x).max()), float(np.abs(self._center).max()))
        return bool(off <= max(tol, rounding) and u @ u <= 1.0 + tol)

    def _nearest(self, x: Array) -> Array | None:
        axes, radii, _ = np.linalg.svd(self._B)
        return self._center + nearest_in_ellipsoid(axes, radii, x - self._center)

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: that of the unit ball times |det B|."""
        return True

    def _exact_volume(self) -> float:
        return volume_of_unit_ball(self._dimension) * abs(float(np.linalg.det(self._B)))

    def _affine_hull(self, tol: float | None) -> Flat:
        return Flat(span_of(self._B, tol), self.center())


def _of_ellipsoid(ellipsoid: Any) -> tuple[Array, Array]:
    if not ellipsoid.IsBounded():
        raise RuntimeError("AffineBall: expected a Hyperellipsoid that is bounded; this one is not.")
    A = ellipsoid.A()
    if A.shape[0] != A.shape[1]:
        A = np.linalg.qr(A, mode="r")
    return np.linalg.inv(A), ellipsoid.center()


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
            RuntimeError: the points are in a flat; AffineBall has such ellipsoids. Or the solver did not converge.
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
            RuntimeError: the other set is empty, dimensions differ or are 0, or the solver did not converge.
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

    def _meets(self, other: ConvexSet, where: str) -> bool | None:
        if type(other)._nearest_by is ConvexSet._nearest_by:
            return None
        x = other._nearest_by(self._A, self._center, where)
        return x is not None and self._contains(x, _TOUCH_MARGIN)

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
