"""Matrices of AutoDiffXd from values and gradients, and back; derivatives of functions by them (pydrake.forwarddiff).

As in Drake, a sequence of n numbers counts as a column, shape [n, 1], and derivatives of matrices count entries
column by column.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.autodiff.blocks import make_block, pack, values_and_gradient, values_of
from merganser.framework.autodiff.scalar import AutoDiffXd


def _matrix(values: npt.ArrayLike, where: str) -> npt.NDArray[Any]:
    """`values` as an array of shape [m, n]; a vector becomes a column."""
    array = np.asarray(values)
    if array.ndim not in (1, 2):
        raise TypeError(f"{where}: expected a vector or a matrix, got an array of shape {array.shape}.")
    return array.reshape(-1, 1) if array.ndim == 1 else array


def InitializeAutoDiff(
    value: npt.ArrayLike,
    num_derivatives: Any = None,
    deriv_num_start: int | None = None,
    gradient: npt.ArrayLike | None = None,
) -> npt.NDArray[Any]:
    """A matrix of AutoDiffXd with the given values.

    Without a gradient, entry k (column by column) is variable number deriv_num_start + k: its derivative by that
    variable is 1, others are 0.

    Args:
        value: values, shape [m, n] or [m].
        num_derivatives: number of derivatives of every entry; by default deriv_num_start plus the number of
            entries. A matrix here is taken for `gradient`.
        deriv_num_start: number of the first entry's variable; 0 by default.
        gradient: instead of the last two, derivatives of each entry in a row, shape [m n, number of derivatives].

    Returns:
        Array of objects, shape [m, n], or [m, 1] for a vector.

    Raises:
        TypeError: value is neither vector nor matrix, or there is a gradient and a number of derivatives.
        ValueError: there are too few derivatives for the entries, or rows of the gradient.
    """
    values = _matrix(value, "InitializeAutoDiff").astype(np.float64)
    if num_derivatives is not None and np.ndim(num_derivatives) > 0 and gradient is None:
        gradient, num_derivatives = num_derivatives, None
    if gradient is None:
        start = 0 if deriv_num_start is None else int(deriv_num_start)
        count = start + values.size if num_derivatives is None else int(num_derivatives)
        if start < 0 or start + values.size > count:
            raise ValueError(
                f"InitializeAutoDiff: {values.size} values from derivative {start} on do not fit into "
                f"{count} derivatives. Give num_derivatives >= {max(start, 0) + values.size}."
            )
        rows = np.eye(values.size, count, start)
    elif num_derivatives is not None or deriv_num_start is not None:
        raise TypeError("InitializeAutoDiff: give either a gradient, or num_derivatives and deriv_num_start.")
    else:
        rows = _matrix(gradient, "InitializeAutoDiff").astype(np.float64, order="C")
        if len(rows) != values.size:
            raise ValueError(
                f"InitializeAutoDiff: expected a gradient with a row for each of {values.size} values, got shape "
                f"{rows.shape}."
            )
    return _columns(make_block(values.ravel(order="F"), rows), values.shape)


def _columns(scalars: list[AutoDiffXd], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A matrix of scalars that are given column by column."""
    return pack(scalars, (len(scalars),)).reshape(shape, order="F")


def InitializeAutoDiffTuple(*args: npt.ArrayLike) -> tuple[npt.NDArray[Any], ...]:
    """Several matrices of AutoDiffXd, differentiated by all their entries together, in the order given."""
    matrices = [_matrix(value, "InitializeAutoDiffTuple").astype(np.float64) for value in args]
    if not matrices:
        return ()
    values = np.concatenate([matrix.ravel(order="F") for matrix in matrices])
    scalars = make_block(values, np.eye(len(values)))
    ends = itertools.accumulate(matrix.size for matrix in matrices)
    return tuple(_columns(scalars[end - matrix.size : end], matrix.shape) for matrix, end in zip(matrices, ends))


def ExtractValue(auto_diff_matrix: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Values, shape [m, n]; [m, 1] for a vector. Plain numbers among the entries count as constants."""
    return values_of(_matrix(auto_diff_matrix, "ExtractValue"))


def ExtractGradient(auto_diff_matrix: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Derivatives of entries, taken column by column, one in a row.

    Returns:
        Shape [number of entries, number of derivatives]. Entries without derivatives have rows of zeros.

    Raises:
        ValueError: entries have different numbers of derivatives, other than none.
    """
    entries = _matrix(auto_diff_matrix, "ExtractGradient")
    _, gradient = values_and_gradient(entries.ravel(order="F").tolist())
    return np.zeros((entries.size, 0)) if gradient is None else gradient.copy()


def autodiff_equal_to(a: npt.ArrayLike, b: npt.ArrayLike, *, semantic: bool = False) -> Any:
    """Compares AutoDiffXd element by element, values and derivatives.

    Args:
        a, b: scalars, or arrays whose shapes fit together.
        semantic: whether no derivatives are the same as derivatives that are all zero. Different numbers of
            derivatives are never the same otherwise.

    Returns:
        Array of bool in the common shape.

    Raises:
        TypeError: an element is no AutoDiffXd.
    """

    def equal(x: Any, y: Any) -> bool:
        for scalar in (x, y):
            if not isinstance(scalar, AutoDiffXd):
                raise TypeError(f"autodiff_equal_to: expected AutoDiffXd, got {type(scalar).__name__} {scalar!r}.")
        dx, dy = x.derivatives(), y.derivatives()
        if semantic and 0 in (dx.size, dy.size):
            same = not dx.any() and not dy.any()
        else:
            same = np.array_equal(dx, dy)
        return x.value() == y.value() and same

    left, right = np.broadcast_arrays(np.asarray(a, dtype=object), np.asarray(b, dtype=object))
    pairs = zip(left.ravel().tolist(), right.ravel().tolist())
    return np.array([equal(x, y) for x, y in pairs], dtype=bool).reshape(left.shape)


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
