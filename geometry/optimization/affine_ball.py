"""Ellipsoids as images of the unit ball, flat ones among them."""

from __future__ import annotations

__all__ = ["AffineBall", "radii_of", "volume_of_unit_ball"]

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_hull import Flat, complement_of, span_of
from merganser.geometry.optimization.arguments import Array, Form, choose, finite_vector, size_of
from merganser.geometry.optimization.circumscribed import circumscribed_ellipsoid
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.nearest_in_ellipsoid import nearest_in_ellipsoid
from merganser.geometry.optimization.placement import Placement

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram

_FORMS = {
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
        form, given = choose("AffineBall", args, kwargs, _FORMS)
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
            ValueError: points are not finite, or there are none.
            RuntimeError: the solver comes to no end.
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
