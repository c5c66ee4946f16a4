"""B-splines as functions of a parameter.

C. de Boor, 1978, "A Practical Guide to Splines"; L. Piegl and W. Tiller, 1997, "The NURBS Book", chapter 2.
"""

from __future__ import annotations

__all__ = ["BsplineBasis", "KnotVectorType"]

import bisect
import enum
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.core.arguments import bind_overload
from merganser.framework.math._scalars import Array


class KnotVectorType(enum.Enum):
    """How the knots of a basis are spaced."""

    kUniform = 0  # all at equal distances
    kClampedUniform = 1  # the first and the last as often as the order of the spline, others at equal distances


class BsplineBasis:
    """Piecewise polynomials B_0 ... B_(n-1) of degree order - 1, joined at knots t_0 <= ... <= t_(n + order - 1).

    A curve sum_i p_i B_i(t) is defined for t from t_(order-1) to t_n. At most `order` of the functions are not zero at
    any t, none is negative, and their sum is one. At a knot that occurs k times, derivatives up to number
    order - 1 - k are continuous.

    Called as `BsplineBasis(order, knots)`, or as `BsplineBasis(order, num_basis_functions, type=kClampedUniform,
    initial_parameter_value=0.0, final_parameter_value=1.0)`, or with another basis, to copy it. Without arguments, the
    basis has no functions.

    Raises:
        ValueError: there are too few knots or functions for the order, or knots do not ascend.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._order = 0
        self._knots: tuple[float, ...] = ()
        if not args and not kwargs:
            return
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, BsplineBasis):
            bind_overload("BsplineBasis", ("other",), {}, args, kwargs)
            self._order, self._knots = other._order, other._knots
            return
        self._order, self._knots = _order_and_knots(args, kwargs)

    def order(self) -> int:
        """Degree of the polynomials, plus one."""
        return self._order

    def degree(self) -> int:
        """Degree of the polynomials."""
        return self._order - 1

    def num_basis_functions(self) -> int:
        """Number n of functions."""
        return len(self._knots) - self._order

    def knots(self) -> list[float]:
        """The knots in ascending order."""
        return list(self._knots)

    def initial_parameter_value(self) -> float:
        """The least t where curves are defined."""
        return self._knots[self._order - 1]

    def final_parameter_value(self) -> float:
        """The greatest t where curves are defined."""
        return self._knots[self.num_basis_functions()]

    def FindContainingInterval(self, parameter_value: float) -> int:
        """The greatest i with t_i <= t and t_i < the final parameter value.

        Raises:
            ValueError: curves are not defined at t.
        """
        self._check(parameter_value, "FindContainingInterval")
        end = bisect.bisect_left(self._knots, self.final_parameter_value())
        return bisect.bisect_right(self._knots, parameter_value, 0, end) - 1

    def ComputeActiveBasisFunctionIndices(self, parameter_value: float | Sequence[float]) -> list[int]:
        """The numbers of the functions that can be other than zero at t, or somewhere in an interval (t, t')."""
        ends: Any = (parameter_value, parameter_value) if np.ndim(parameter_value) == 0 else parameter_value
        first, last = ends
        if first > last:
            raise ValueError(
                f"ComputeActiveBasisFunctionIndices: the interval {first} ... {last} must not be negative."
            )
        start = self.FindContainingInterval(first) - self._order + 1
        return list(range(start, self.FindContainingInterval(last) + 1))

    def EvaluateBasisFunctionI(self, i: int, parameter_value: float) -> float:
        """The value of B_i(t).

        Raises:
            IndexError: there is no such function.
            ValueError: curves are not defined at t.
        """
        if not 0 <= i < self.num_basis_functions():
            raise IndexError(f"BsplineBasis: there is no function {i}: there are {self.num_basis_functions()}.")
        return self.EvaluateLinearInControlPoints(parameter_value)[i]

    def EvaluateLinearInControlPoints(self, parameter_value: float) -> Array:
        """The values of all functions at t, shape [n]; curves with control points P, shape [m, n], pass P M there."""
        interval = self.FindContainingInterval(parameter_value)
        M = np.zeros(self.num_basis_functions())
        M[interval - self._order + 1 : interval + 1] = self._active_values(interval, parameter_value)
        return M

    def EvaluateCurve(self, control_points: Sequence[npt.ArrayLike], parameter_value: float) -> Array:
        """The point at t of the curve with n control points, each an array of the same shape.

        Raises:
            ValueError: there are more or fewer control points than functions, or the curve is not defined at t.
        """
        if len(control_points) != self.num_basis_functions():
            raise ValueError(
                f"BsplineBasis.EvaluateCurve: expected {self.num_basis_functions()} control points, got "
                f"{len(control_points)}."
            )
        interval = self.FindContainingInterval(parameter_value)
        points = control_points[interval - self._order + 1 : interval + 1]
        return sum(
            weight * np.asarray(point) for weight, point in zip(self._active_values(interval, parameter_value), points)
        )  # type: ignore[return-value]

    def _active_values(self, interval: int, t: float) -> list[float]:
        """The functions that can be other than zero between t_interval and the next knot (algorithm A2.2)."""
        knots = self._knots
        values = [1.0]
        for degree in range(1, self._order):
            left = [t - knots[interval - j] for j in range(degree)]
            right = [knots[interval + 1 + j] - t for j in range(degree)]
            grown = [0.0] * (degree + 1)
            for r, value in enumerate(values):
                share = value / (right[r] + left[degree - 1 - r])
                grown[r] += right[r] * share
                grown[r + 1] += left[degree - 1 - r] * share
            values = grown
        return values

    def _check(self, t: float, function: str) -> None:
        if self._order == 0 or not self.initial_parameter_value() <= t <= self.final_parameter_value():
            limits = f"{self.initial_parameter_value()} to {self.final_parameter_value()}" if self._order else "nowhere"
            raise ValueError(f"BsplineBasis.{function}: curves are defined from {limits}, not at {t}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BsplineBasis):
            return NotImplemented
        return self._order == other._order and self._knots == other._knots

    def __hash__(self) -> int:
        return hash((self._order, self._knots))

    def __repr__(self) -> str:
        return f"BsplineBasis(order={self._order}, knots={list(self._knots)})"


def _order_and_knots(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, tuple[float, ...]]:
    if "knots" in kwargs or (len(args) == 2 and np.ndim(args[1]) == 1):
        given = bind_overload("BsplineBasis", ("order", "knots"), {}, args, kwargs)
        order, knots = int(given["order"]), tuple(float(t) for t in given["knots"])
    else:
        defaults = {
            "type": KnotVectorType.kClampedUniform,
            "initial_parameter_value": 0.0,
            "final_parameter_value": 1.0,
        }
        given = bind_overload("BsplineBasis", ("order", "num_basis_functions", *defaults), defaults, args, kwargs)
        order, count = int(given["order"]), int(given["num_basis_functions"])
        if count < order:
            raise ValueError(
                f"BsplineBasis: there must be at least as many functions as the order {order}; got {count}."
            )
        knots = _spaced_knots(order, count, *(given[name] for name in defaults))
    if order < 1 or len(knots) < 2 * order:
        raise ValueError(
            f"BsplineBasis: the order must be positive, and there must be at least twice as many knots; got order "
            f"{order} and {len(knots)} knots."
        )
    if any(a > b for a, b in itertools.pairwise(knots)):
        raise ValueError(f"BsplineBasis: knots must ascend; got {list(knots)}.")
    return order, knots


def _spaced_knots(order: int, count: int, type: KnotVectorType, initial: float, final: float) -> tuple[float, ...]:
    if not initial <= final:
        raise ValueError(f"BsplineBasis: parameters must ascend; got {initial} to {final}.")
    spacing = (final - initial) / (count - order + 1)
    knots = [initial + spacing * (i - order + 1) for i in range(count + order)]
    if type is KnotVectorType.kClampedUniform:
        knots[:order], knots[count:] = [initial] * order, [final] * order
    return tuple(float(t) for t in knots)
