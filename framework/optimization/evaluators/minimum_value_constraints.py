"""Smooth bounds on the least of several values: penalties of small ones, and a smooth maximum of these.

A value v counts below an influence value v_i; its penalty is 0 there and 1 at the bound b,

    p(v) = phi((v - v_i) / (v_i - b)) / phi(-1),   phi(x) = 0 for x >= 0, x^2 / 2 down to -1, -1/2 - x below     (1)

and the greatest of penalties is replaced by a smooth function of them that is never below it, or never above:

    over:  log(sum exp(a p)) / a,        under:  sum p exp(a p) / sum exp(a p)                                   (2)

(as pydrake documents its minimum-value constraints).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.autodiff.matrices import InitializeAutoDiff
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.framework.optimization.arrays import Array, Objects
from merganser.framework.optimization.evaluators.evaluators import Constraint

Penalty = Callable[[float, bool], Any]

_SHARPNESS = 100.0  # a of (2)


def smoothed_hinge(x: float, compute_grad: bool) -> tuple[float, float]:
    """phi of (1), and its derivative."""
    if x >= 0.0:
        return 0.0, 0.0
    return (0.5 * x * x, x) if x > -1.0 else (-0.5 - x, -1.0)


def maximum_from_above(penalties: Array) -> tuple[float, Array]:
    """The function over the greatest penalty (2), and its derivatives by the penalties, shape [n], n > 0."""
    highest = float(penalties.max())
    weights = np.exp(_SHARPNESS * (penalties - highest))
    return highest + float(np.log(weights.sum())) / _SHARPNESS, weights / weights.sum()


def maximum_from_below(penalties: Array) -> tuple[float, Array]:
    """The function under the greatest penalty (2), and its derivatives by the penalties, shape [n], n > 0."""
    weights = np.exp(_SHARPNESS * (penalties - penalties.max()))
    weights /= weights.sum()
    mean = float(weights @ penalties)
    return mean, weights * (1.0 + _SHARPNESS * (penalties - mean))


class _MinimumValueConstraint(Constraint):
    """A smooth maximum (2) of penalties (1) of values v_i = f_i(x)."""

    _maximum: Callable[[Array], tuple[float, Array]]  # a smooth maximum and its derivatives by the penalties

    def __init__(
        self, num_vars: int, bound: float, offset: float, max_num_values: int, lower: float, upper: float,
        value_function: Callable[..., Any], value_function_double: Callable[..., Any] | None,
    ) -> None:  # fmt: skip
        if not 0.0 < offset < np.inf:
            raise RuntimeError(f"{type(self).__name__}: expected an influence_value_offset above 0, got {offset}.")
        super().__init__(num_vars, [lower], [upper])
        self._bound, self._influence, self._max_num_values = float(bound), float(bound + offset), int(max_num_values)
        self._function, self._function_of_floats = value_function, value_function_double or value_function
        self._penalty: Penalty = smoothed_hinge

    def influence_value(self) -> float:
        """Values above this count nothing."""
        return self._influence

    def set_penalty_function(self, new_penalty_function: Penalty) -> None:
        """Sets p: a function (x, want_derivative) that returns p(x), 0 for x >= 0, and its derivative."""
        self._penalty = new_penalty_function

    def _penalties(self, values: Objects) -> tuple[Array, Array]:
        """Penalties and their derivatives by the values; 0 of values that were left out."""
        if values.size > self._max_num_values:
            raise ValueError(
                f"{self._where()}: expected at most {self._max_num_values} values of the function, got {values.size}."
            )
        scale, unit = 1.0 / (self._influence - self._bound), self._penalty(-1.0, False)[0]
        pairs = np.zeros((max(self._max_num_values, 1), 2))
        for i, value in enumerate(values):
            pairs[i] = self._penalty((float(value) - self._influence) * scale, True)
        return pairs[:, 0] / unit, pairs[: values.size, 1] * (scale / unit)

    def _eval(self, x: Objects) -> Any:
        if x.dtype != object:
            values = np.ravel(np.asarray(self._function_of_floats(x, self._influence), dtype=object))
            values = np.array([v.value() if isinstance(v, AutoDiffXd) else v for v in values], dtype=np.float64)
            return self._maximum(self._penalties(values)[0])[0]
        values = np.ravel(np.asarray(self._function(x, self._influence), dtype=object))
        floats = np.array([v.value() if isinstance(v, AutoDiffXd) else float(v) for v in values])
        penalties, slopes = self._penalties(floats)
        maximum, weights = self._maximum(penalties)
        total = AutoDiffXd(maximum)
        for weight, slope, value in zip(weights, slopes, values):
            if isinstance(value, AutoDiffXd) and value.derivatives().size:
                total = total + AutoDiffXd(0.0, weight * slope * value.derivatives())
        return total

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        y = self._eval(InitializeAutoDiff(x).ravel())
        slopes = y.derivatives() if y.derivatives().size else np.zeros(x.size)
        return np.array([y.value()]), slopes[np.newaxis]

    def is_thread_safe(self) -> bool:
        return False


class MinimumValueLowerBoundConstraint(_MinimumValueConstraint):
    """All values f_i(x) are at least a bound: a smooth maximum of penalties, never too small, is at most 1."""

    def __init__(
        self, num_vars: int, minimum_value_lower: float, influence_value_offset: float, max_num_values: int,
        value_function: Callable[..., Any], value_function_double: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """Makes the constraint.

        Args:
            num_vars: the size of x.
            minimum_value_lower: the bound.
            influence_value_offset: how far above the bound values begin to count.
            max_num_values: how many values there are at most.
            value_function: f(x, influence_value) of AutoDiffXd; values above the influence value may be left out.
            value_function_double: the same of floats.

        Raises:
            RuntimeError: the offset is not between 0 and infinity.
        """
        super().__init__(
            num_vars, minimum_value_lower, influence_value_offset, max_num_values, -np.inf, 1.0,
            value_function, value_function_double,
        )  # fmt: skip

    def minimum_value_lower(self) -> float:
        """The bound."""
        return self._bound

    _maximum = staticmethod(maximum_from_above)


class MinimumValueUpperBoundConstraint(_MinimumValueConstraint):
    """The least of values f_i(x) is at most a bound: a smooth maximum of penalties, never too great, is at least 1."""

    def __init__(
        self, num_vars: int, minimum_value_upper: float, influence_value_offset: float, max_num_values: int,
        value_function: Callable[..., Any], value_function_double: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """Makes the constraint, with arguments as those of MinimumValueLowerBoundConstraint."""
        super().__init__(
            num_vars, minimum_value_upper, influence_value_offset, max_num_values, 1.0, np.inf,
            value_function, value_function_double,
        )  # fmt: skip

    def minimum_value_upper(self) -> float:
        """The bound."""
        return self._bound

    _maximum = staticmethod(maximum_from_below)
