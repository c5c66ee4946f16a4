"""Gradients by finite differences.

For functions that take AutoDiffXd, `framework.autodiff.jacobian` is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.math._scalars import Array


class NumericalGradientMethod(Enumeration):
    """Which difference quotient to take, for a step h > 0."""

    kForward = 0  # (f(x + h) - f(x)) / h
    kBackward = 1  # (f(x) - f(x - h)) / h
    kCentral = 2  # (f(x + h) - f(x - h)) / 2h


class NumericalGradientOption:
    """Method and step size.

    The step that balances the error of the quotient, of order h (h^2 if central), against that of the function,
    divided by h, is sqrt(function_accuracy), or its cube root if central (Gill, Murray and Wright, 1981, "Practical
    Optimization", section 8.6). It is relative to the size of x_i where that is more than 1.

    Args:
        method: the difference quotient.
        function_accuracy: error of the function's values of magnitude 1.
    """

    def __init__(self, method: NumericalGradientMethod, function_accuracy: float = 1e-15) -> None:
        if not isinstance(method, NumericalGradientMethod):
            raise TypeError(f"NumericalGradientOption: expected a NumericalGradientMethod, got {method!r}.")
        if not function_accuracy > 0.0:
            raise ValueError(f"NumericalGradientOption: function_accuracy must be positive, got {function_accuracy}.")
        self._method = method
        exponent = 1.0 / 3.0 if method is NumericalGradientMethod.kCentral else 0.5
        self._perturbation_size = float(function_accuracy) ** exponent

    def NumericalGradientMethod(self) -> NumericalGradientMethod:
        """The difference quotient."""
        return self._method

    def perturbation_size(self) -> float:
        """The step for |x_i| up to 1."""
        return self._perturbation_size

    def __repr__(self) -> str:
        return f"NumericalGradientOption({self._method}, perturbation_size={self._perturbation_size})"


_FORWARD = NumericalGradientOption(NumericalGradientMethod.kForward)


def ComputeNumericalGradient(
    calc_func: Callable[[Array], npt.ArrayLike], x: npt.ArrayLike, option: NumericalGradientOption = _FORWARD
) -> Array:
    """The derivatives df_i/dx_j of a function of a vector.

    Args:
        calc_func: takes a vector of shape [n], returns one of shape [m].
        x: where, shape [n].
        option: method and step size.

    Returns:
        Shape [m, n].
    """
    point = np.asarray(x, dtype=np.float64).reshape(-1)
    method = option.NumericalGradientMethod()
    is_central = method is NumericalGradientMethod.kCentral
    center = None if is_central and point.size else np.array(calc_func(point.copy()), dtype=np.float64).reshape(-1)
    steps = option.perturbation_size() * np.maximum(1.0, np.abs(point))
    if method is NumericalGradientMethod.kBackward:
        steps = -steps
    columns = []
    for j, step in enumerate(steps):
        # What was really added to x_j, after rounding.
        ahead, behind = point.copy(), point.copy()
        ahead[j] += step
        if is_central:
            behind[j] -= step
        end = np.array(calc_func(ahead.copy()), dtype=np.float64).reshape(-1)
        start = np.array(calc_func(behind.copy()), dtype=np.float64).reshape(-1) if center is None else center
        columns.append((end - start) / (ahead[j] - behind[j]))
    return np.column_stack(columns) if columns else np.zeros((len(center) if center is not None else 0, 0))
