"""BsplineTrajectory: a sum of control points times the functions of a B-spline basis.

With the order k, knots t_i and control points p_i (L. Piegl and W. Tiller, 1997, "The NURBS Book", chapters 3 and 5),

    r(t) = sum_i p_i B_i(t),                                                                        (1)
    r'(t) has the order k - 1, the inner knots and (k - 1) / (t_(i+k) - t_(i+1)) (p_(i+1) - p_i),   (2)
    a new knot t of t_j <= t < t_(j+1) gives a_i p_i + (1 - a_i) p_(i-1),                           (3)

a_i being 1 for i <= j - k + 1, 0 for i > j and (t - t_i) / (t_(i+k-1) - t_i) in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.framework.math import BsplineBasis
from merganser.framework.trajectories._scalars import (
    Array,
    cast_entries,
    clamped,
    derivative_order_of,
    matrices_of,
    plain,
    scalar_of_array,
)
from merganser.framework.trajectories.trajectory import Trajectory


class BsplineTrajectory(Trajectory):
    """A B-spline curve; before its start and beyond its end, value and derivatives are those there.

    Args:
        basis: the functions B_i.
        control_points: p_i, a list of matrices of the same shape, as many as functions; or a matrix (a list of its
            rows) whose columns are the control points.

    Without arguments, the curve is empty.

    Raises:
        ValueError: there are more or fewer control points than functions.
    """

    def __init__(self, basis: BsplineBasis | None = None, control_points: Any = ()) -> None:
        self._basis = BsplineBasis() if basis is None else BsplineBasis(basis)
        self._set_points(matrices_of(control_points, "BsplineTrajectory: control_points"))
        if len(self._points) != self._basis.num_basis_functions():
            raise ValueError(
                f"BsplineTrajectory: there must be as many control points as functions of the basis, "
                f"{self._basis.num_basis_functions()}; got {len(self._points)}."
            )

    @classmethod
    def _of(cls, basis: BsplineBasis, points: Array) -> BsplineTrajectory:
        result = cls.__new__(cls)
        result._basis = basis
        result._set_points(points)
        return result

    def _set_points(self, points: Array) -> None:
        self._points = points
        self._derived: dict[int, tuple[BsplineBasis, Array]] = {}

    def basis(self) -> BsplineBasis:
        """Returns the basis."""
        return self._basis

    def num_control_points(self) -> int:
        """Returns the number of control points."""
        return len(self._points)

    def control_points(self) -> list[Array]:
        """Returns copies of the control points, each of shape [rows, cols]."""
        return [point.copy() for point in self._points]

    def InitialValue(self) -> Array:
        """Returns the value at the start, shape [rows, cols]."""
        return self.value(self.start_time())

    def FinalValue(self) -> Array:
        """Returns the value at the end, shape [rows, cols]."""
        return self.value(self.end_time())

    def EvaluateLinearInControlPoints(self, parameter_value: Any, derivative_order: int = 0) -> Array:
        """Returns the vector M for which a derivative is the sum of p_i M_i, shape [number of control points].

        Raises:
            ValueError: the order is negative.
        """
        order = derivative_order_of(derivative_order, "BsplineTrajectory.EvaluateLinearInControlPoints()")
        count = self.num_control_points()
        return _evaluated(*_derivative(self._basis, np.eye(count)[:, :, np.newaxis], order), parameter_value).reshape(
            -1
        )

    def AsLinearInControlPoints(self, derivative_order: int = 1) -> Any:
        """Returns the matrix M by which the control points, as columns, become those of a derivative.

        Returns:
            A scipy.sparse.csc_matrix of shape [number of control points, number of those of the derivative].

        Raises:
            ValueError: the order is negative.
        """
        from scipy import sparse  # most programs need no sparse matrices

        order = derivative_order_of(derivative_order, "BsplineTrajectory.AsLinearInControlPoints()")
        _, points = _derivative(self._basis, np.eye(self.num_control_points())[:, :, np.newaxis], order)
        return sparse.csc_matrix(points[:, :, 0].T)

    def InsertKnots(self, additional_knots: Sequence[float]) -> None:
        """Adds knots without a change of the curve, by (3).

        Raises:
            ValueError: a knot is before the start or beyond the end; then none is added.
        """
        start, end = self.start_time(), self.end_time()
        for knot in additional_knots:
            if not start <= knot <= end:
                raise ValueError(f"BsplineTrajectory.InsertKnots(): knots go from {start} to {end}, got {knot}.")
        basis, points = self._basis, self._points
        for knot in additional_knots:
            # Basis and control points with one more knot, by (3)
            t = float(knot)
            k, knots = basis.order(), basis.knots()
            j = basis.FindContainingInterval(t)
            new = np.concatenate([points[:1], points])
            for i in range(1, len(new)):
                if i <= j - k + 1:
                    new[i] = points[i]
                elif i <= j:
                    share = (t - knots[i]) / (knots[i + k - 1] - knots[i])
                    new[i] = share * points[i] + (1.0 - share) * points[i - 1]
            basis, points = BsplineBasis(k, sorted([*knots, t])), new
        self._basis = basis
        self._set_points(points)

    def CopyBlock(self, start_row: int, start_col: int, block_rows: int, block_cols: int) -> BsplineTrajectory:
        """Returns the trajectory of a block of the value.

        Raises:
            IndexError: the block does not fit in.
        """
        rows, cols = self._points.shape[1:]
        if min(start_row, start_col, block_rows, block_cols) < 0 or (
            start_row + block_rows > rows or start_col + block_cols > cols
        ):
            raise IndexError(
                f"BsplineTrajectory: values have shape ({rows}, {cols}); there is no block of shape "
                f"({block_rows}, {block_cols}) at ({start_row}, {start_col})."
            )
        block = self._points[:, start_row : start_row + block_rows, start_col : start_col + block_cols]
        return self._of(self._basis, block.copy())

    def CopyHead(self, n: int) -> BsplineTrajectory:
        """Returns the trajectory of the first n elements of the value, which has a single column.

        Raises:
            ValueError: it has several columns.
            IndexError: it has fewer elements.
        """
        if self.cols() != 1:
            raise ValueError(f"BsplineTrajectory.CopyHead() is for one column; values have {self.cols()}.")
        return self.CopyBlock(0, 0, n, 1)

    def do_rows(self) -> int:
        return self._points.shape[1]

    def do_cols(self) -> int:
        return self._points.shape[2]

    def do_start_time(self) -> Any:
        return self._checked_basis().initial_parameter_value()

    def do_end_time(self) -> Any:
        return self._checked_basis().final_parameter_value()

    def do_value(self, t: Any) -> Array:
        return _evaluated(self._checked_basis(), self._points, t)

    def do_has_derivative(self) -> bool:
        return True

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        return _evaluated(*self._derived_curve(derivative_order), t)

    def DoMakeDerivative(self, derivative_order: int) -> BsplineTrajectory:
        return self._of(*self._derived_curve(derivative_order))

    def _derived_curve(self, order: int) -> tuple[BsplineBasis, Array]:
        """Basis and control points of a derivative, kept for the next time."""
        if order == 0:
            return self._checked_basis(), self._points
        if order not in self._derived:
            self._derived[order] = _derivative(*self._derived_curve(order - 1), 1)
        return self._derived[order]

    def _breaks_to_look_at(self) -> list[float]:
        basis = self._basis
        start, end = plain(basis.initial_parameter_value()), plain(basis.final_parameter_value())
        return [time for time in map(plain, basis.knots()) if start <= time <= end] if len(self._points) else []

    def _checked_basis(self) -> BsplineBasis:
        if not len(self._points):
            raise RuntimeError("BsplineTrajectory: this one is empty; make it with a basis and control points.")
        return self._basis

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._points)

    def _cast(self, T: Any) -> BsplineTrajectory:
        return self._of(self._basis, cast_entries(self._points, T))


def _evaluated(basis: BsplineBasis, points: Array, t: Any) -> Array:
    """(1), at the nearest end if t is beyond, shape [rows, cols]."""
    t = clamped(t, basis.initial_parameter_value(), basis.final_parameter_value(), "BsplineTrajectory")
    interval = basis.FindContainingInterval(plain(t))
    active = points[interval - basis.order() + 1 : interval + 1]
    weights = np.array(basis.active_values(interval, t)).reshape(-1, 1, 1)
    total: Array = np.add.accumulate(weights * active, axis=0)[-1]  # from left to right, as compiled code does it
    return total


def _derivative(basis: BsplineBasis, points: Array, order: int) -> tuple[BsplineBasis, Array]:
    """Basis and control points of a derivative, by (2); a single zero if its order reaches that of the basis."""
    if order >= basis.order() > 0:
        ends = [basis.initial_parameter_value(), basis.final_parameter_value()]
        return BsplineBasis(1, ends), 0.0 * points[:1]
    for _ in range(order):
        k, knots = basis.order(), basis.knots()
        spans = [end - start for start, end in zip(knots[1 : len(points)], knots[k:])]
        factors = np.array([(k - 1.0) / span if plain(span) > 0.0 else 0.0 for span in spans])
        points = np.diff(points, axis=0) * factors.reshape(-1, 1, 1)
        basis = BsplineBasis(k - 1, knots[1:-1])
    return basis, points
