"""B-splines as functions of a parameter.

C. de Boor, 1978, "A Practical Guide to Splines"; L. Piegl and W. Tiller, 1997, "The NURBS Book", chapter 2.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.keywords import also_named
from merganser.framework.core.scalars.scalars import cast, scalar_of_array
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math._scalars import Array


class KnotVectorType(Enumeration):
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
    basis has no functions. Knots may be of any scalar type; which interval a parameter is in depends on values only.

    Raises:
        ValueError: there are too few knots or functions for the order, or knots do not ascend.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._order = 0
        self._set_knots(())
        if not args and not kwargs:
            return
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, BsplineBasis):
            bind_overload("BsplineBasis", ("other",), {}, args, kwargs)
            self._order = other._order
            self._set_knots(other._knots)
            return
        self._order, knots = _order_and_knots(args, kwargs)
        self._set_knots(knots)

    def _set_knots(self, knots: tuple[Any, ...]) -> None:
        """Keeps the knots as they are, and their values to search in."""
        self._knots = knots
        self._values = knots if all(type(t) is float for t in knots) else tuple(cast(t, float) for t in knots)

    def order(self) -> int:
        """Degree of the polynomials, plus one."""
        return self._order

    def degree(self) -> int:
        """Degree of the polynomials."""
        return self._order - 1

    def num_basis_functions(self) -> int:
        """Number n of functions."""
        return len(self._knots) - self._order

    def knots(self) -> list[Any]:
        """The knots in ascending order."""
        return list(self._knots)

    def initial_parameter_value(self) -> Any:
        """The least t where curves are defined."""
        return self._knots[self._order - 1]

    def final_parameter_value(self) -> Any:
        """The greatest t where curves are defined."""
        return self._knots[self.num_basis_functions()]

    def FindContainingInterval(self, parameter_value: Any) -> int:
        """The greatest i with t_i <= t and t_i < the final parameter value.

        Raises:
            ValueError: curves are not defined at t.
            RuntimeError: t is an expression of variables.
        """
        t = parameter_value if type(parameter_value) is float else cast(parameter_value, float)
        self._check(t, "FindContainingInterval")
        knots = self._values
        end = bisect.bisect_left(knots, knots[self.num_basis_functions()])
        return bisect.bisect_right(knots, t, 0, end) - 1

    @also_named(parameter_interval="parameter_value")
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

    def EvaluateBasisFunctionI(self, i: int, parameter_value: Any) -> Any:
        """The value of B_i(t).

        Raises:
            IndexError: there is no such function.
            ValueError: curves are not defined at t.
        """
        if not 0 <= i < self.num_basis_functions():
            raise IndexError(f"BsplineBasis: there is no function {i}: there are {self.num_basis_functions()}.")
        return self.EvaluateLinearInControlPoints(parameter_value)[i]

    def EvaluateLinearInControlPoints(self, parameter_value: Any) -> Array:
        """The values of all functions at t, shape [n]; curves with control points P, shape [m, n], pass P M there."""
        interval = self.FindContainingInterval(parameter_value)
        active = np.array(self.active_values(interval, parameter_value))
        M = np.zeros(self.num_basis_functions(), dtype=active.dtype)
        if active.dtype == object:
            M[:] = [0.0 * active[0]] * M.size  # zeros of the same scalar type
        M[interval - self._order + 1 : interval + 1] = active
        return M

    def EvaluateCurve(self, control_points: Sequence[npt.ArrayLike], parameter_value: Any) -> Array:
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
            weight * np.asarray(point) for weight, point in zip(self.active_values(interval, parameter_value), points)
        )

    def active_values(self, interval: int, t: Any) -> list[Any]:
        """The functions that can be other than zero between t_interval and the next knot (algorithm A2.2)."""
        knots = self._knots
        values: list[Any] = [1.0]
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
        knots, order = self._values, self._order
        if order == 0 or not knots[order - 1] <= t <= knots[self.num_basis_functions()]:
            limits = f"{knots[order - 1]} to {knots[self.num_basis_functions()]}" if order else "nowhere"
            raise ValueError(f"BsplineBasis.{function}: curves are defined from {limits}, not at {t}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BsplineBasis):
            return NotImplemented
        return self._order == other._order and self._knots == other._knots

    def __hash__(self) -> int:
        return hash((self._order, self._knots))

    def _scalar_type(self) -> Any:
        return float if self._values is self._knots else scalar_of_array(np.array(self._knots))

    def _cast(self, T: Any) -> BsplineBasis:
        """The basis with its knots as scalars of type T."""
        result = BsplineBasis(self)
        result._set_knots(tuple(cast(t, T) for t in self._knots))
        return result

    def __repr__(self) -> str:
        return f"BsplineBasis(order={self._order}, knots={list(self._knots)})"


def _order_and_knots(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, tuple[Any, ...]]:
    if "knots" in kwargs or (len(args) == 2 and np.ndim(args[1]) == 1):
        given = bind_overload("BsplineBasis", ("order", "knots"), {}, args, kwargs)
        order, knots = int(given["order"]), tuple(_scalar(t) for t in given["knots"])
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
    if any(cast(a, float) > cast(b, float) for a, b in itertools.pairwise(knots)):
        raise ValueError(f"BsplineBasis: knots must ascend; got {list(knots)}.")
    return order, knots


def _spaced_knots(order: int, count: int, type: KnotVectorType, initial: Any, final: Any) -> tuple[Any, ...]:
    if not cast(initial, float) <= cast(final, float):
        raise ValueError(f"BsplineBasis: parameters must ascend; got {initial} to {final}.")
    spacing = (final - initial) / (count - order + 1)
    knots = [initial + spacing * (i - order + 1) for i in range(count + order)]
    if type is KnotVectorType.kClampedUniform:
        knots[:order], knots[count:] = [initial] * order, [final] * order
    return tuple(_scalar(t) for t in knots)


def _scalar(t: Any) -> Any:
    return t if hasattr(t, "lift") else float(t)
