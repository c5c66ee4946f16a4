"""Comparisons, choices, products and inverses for scalars of any type; comparisons of expressions are formulas."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import elementwise
from merganser.framework.math._scalars import Array


def _comparison(name: str, sign: str) -> Callable[[Any, Any], Array]:
    compare = getattr(operator, name)

    def function(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
        left, right = np.broadcast_arrays(np.asarray(a), np.asarray(b))
        if left.dtype.kind != "O" and right.dtype.kind != "O":
            return np.asarray(compare(left, right))
        results = [compare(x, y) for x, y in zip(left.ravel().tolist(), right.ravel().tolist())]
        dtype = bool if all(isinstance(result, (bool, np.bool_)) for result in results) else object
        array = np.empty(len(results), dtype=dtype)
        array[:] = results
        return array.reshape(left.shape)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"a {sign} b element by element, in the common shape: bool, or Formula where expressions are compared."
    )
    return function


eq = _comparison("eq", "==")
ne = _comparison("ne", "!=")
lt = _comparison("lt", "<")
le = _comparison("le", "<=")
gt = _comparison("gt", ">")
ge = _comparison("ge", ">=")


def matmul(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The product of two matrices of any scalar types; a vector on the right counts as a column.

    Args:
        a: shape [m, n].
        b: shape [n, p] or [n].

    Returns:
        Shape [m, p].

    Raises:
        ValueError: the shapes do not fit together.
    """
    left, right = np.asarray(a), np.asarray(b)
    if right.ndim == 1:
        right = right.reshape(-1, 1)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
        raise ValueError(f"matmul: cannot multiply matrices of shapes {np.shape(a)} and {np.shape(b)}.")
    return left @ right


def inv(matrix: npt.ArrayLike) -> Array:
    """The inverse of a square matrix of any scalar type, shape [n, n].

    Numbers are inverted by LAPACK. With X = inv(value of A), X (2 I - A X) has the right derivatives for AutoDiffXd,
    because X is the inverse of the values. Expressions are inverted without a branch on their values, by the algorithm
    of Faddeev and LeVerrier (Gantmacher, 1959, "The Theory of Matrices", chapter IV): exactly, but for a few rows only.

    Raises:
        ValueError: the matrix is not square.
        numpy.linalg.LinAlgError: it is singular.
    """
    A = np.asarray(matrix)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"inv: expected a square matrix, got an array of shape {A.shape}.")
    if A.dtype.kind != "O":
        return np.linalg.inv(A)
    if all(hasattr(entry, "derivatives") or isinstance(entry, (int, float)) for entry in A.flat):
        values = [entry.value() if hasattr(entry, "derivatives") else entry for entry in A.flat]
        X = np.linalg.inv(np.array(values, dtype=np.float64).reshape(A.shape))
        return X @ (2.0 * np.eye(len(A)) - A @ X)
    # With M_1 = I, c_k = -trace(A M_k) / k and M_(k+1) = A M_k + c_k I, the inverse is -M_n / c_n
    n = len(A)
    identity = np.eye(n)
    M: Array = identity
    for k in range(1, n):
        product = A @ M
        M = product - np.trace(product) / k * identity
    return M * (n / np.trace(A @ M)) if n else A


def has_symbols(array: Array) -> bool:
    """Whether entries are expressions, on whose values nothing may branch."""
    return array.dtype.kind == "O" and any(hasattr(entry, "EvaluatePartial") for entry in array.ravel().tolist())


def all_hold(conditions: Iterable[Any]) -> Any:
    """Whether all conditions hold: a truth value, or a formula if one of them is a formula."""
    formulas = []
    for condition in conditions:
        if not isinstance(condition, (bool, np.bool_)):
            formulas.append(condition)
        elif not condition:
            return False
    return formulas[0].logical_and(*formulas[1:]) if formulas else True


def choice(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b; if it is a formula, an expression."""
    if isinstance(condition, (bool, np.bool_)):
        return a if condition else b
    return condition.if_then_else(a, b)


def all_equal(A: Array, B: Array) -> Any:
    """Whether all entries of two arrays of one shape are equal."""
    if A.dtype.kind != "O" and B.dtype.kind != "O":
        return np.array_equal(A, B)
    return all_hold(a == b for a, b in zip(A.ravel().tolist(), B.ravel().tolist()))


def largest_difference(A: Array, B: Array) -> Any:
    """The largest |a - b| of two arrays of one shape; a number, or a scalar of their type."""
    if A.dtype.kind != "O" and B.dtype.kind != "O":
        return float(np.abs(A - B).max())
    return functools.reduce(elementwise.max, (elementwise.abs(a - b) for a, b in zip(A.ravel(), B.ravel())))
