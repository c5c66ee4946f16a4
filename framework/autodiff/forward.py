"""Derivatives of functions, by calling them with AutoDiffXd (pydrake.forwarddiff)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.autodiff.matrices import ExtractGradient, InitializeAutoDiff
from merganser.framework.autodiff.scalar import AutoDiffXd


class ShapeError(ValueError, AssertionError):
    """An argument or a result has another shape than that of a vector or a scalar; pydrake asserts it."""


def derivative(function: Callable[[AutoDiffXd], AutoDiffXd], x: float) -> float:
    """Derivative at x of a function of one scalar with a scalar result; 0 if it returns a constant."""
    result = np.asarray(function(AutoDiffXd(x, 1, 0)))
    if result.size != 1:
        raise ShapeError(f"derivative: the function must return a scalar, got shape {result.shape}.")
    return float(_rows(result, 1)[0, 0])


def gradient(function: Callable[[npt.NDArray[Any]], Any], x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Gradient at x, shape [n], of a function of a vector that returns a scalar or a vector of size 1.

    Raises:
        ValueError: x is not a vector, or the function returns something of another size.
    """
    variables = _variables(x, "gradient")
    result = np.asarray(function(variables))
    if result.size != 1 or result.ndim > 1:
        raise ShapeError(
            f"gradient: the function must return a scalar or a vector of size 1, got shape {result.shape}. "
            "Use jacobian for others."
        )
    return _rows(result, variables.size)[0]


def jacobian(function: Callable[[npt.NDArray[Any]], Any], x: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Jacobian at x, shape [*shape of the result, n], of a function of a vector that returns an array.

    Raises:
        ValueError: x is not a vector.
    """
    variables = _variables(x, "jacobian")
    result = np.asarray(function(variables))
    return _rows(result, variables.size).reshape(*result.shape, variables.size)


def _variables(x: npt.ArrayLike, where: str) -> npt.NDArray[Any]:
    """The entries of x as variables, shape [n]."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim != 1:
        raise ShapeError(f"{where}: x must be a vector, got an array of shape {values.shape}.")
    return InitializeAutoDiff(values).ravel()


def _rows(result: npt.NDArray[Any], num_variables: int) -> npt.NDArray[np.float64]:
    """Derivatives of the entries of a result, one entry a row; constants have none."""
    rows = ExtractGradient(result.ravel())
    return rows if rows.shape[1] else np.zeros((result.size, num_variables))
