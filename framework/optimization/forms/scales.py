"""Scales of programs with matrices, so that tolerances of solvers mean the same for all rows, variables and costs.

With x = D x', rows multiplied by R and the cost by k, the entries of R A D have the size of 1 in each row and column
(Ruiz, A Scaling Algorithm to Equilibrate Both Rows and Columns Norms in Matrices, 2001). Factors are powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array

_SMALL, _SMALL_COST, _LARGE = 1e-4, 1e-2, 1e5  # sizes between which solvers take programs as they are
_ROUNDS = 12


def is_balanced(matrices: Sequence[Any], right: Array, costs: Array) -> bool:
    """Whether a solver may take rows A x, of csc_matrices A, right sides and costs as they are."""
    for values, least in ((costs, _SMALL_COST), (right, _SMALL)):
        largest = float(np.abs(values).max(initial=0.0))
        if largest and not least <= largest <= _LARGE:
            return False
    return all(has_rows_and_columns_of_one(A) for A in matrices)


def has_rows_and_columns_of_one(A: Any) -> bool:
    """Whether the largest number of each row and column of an array, or a csc_matrix, is between these sizes, or 0."""
    sizes = np.abs(A.ravel() if isinstance(A, np.ndarray) else A.data)
    if not sizes.size or (sizes.min() >= _SMALL and sizes.max() <= _LARGE):
        return True
    if isinstance(A, np.ndarray):
        of_rows, of_columns = np.abs(A).max(axis=1), np.abs(A).max(axis=0)
    else:
        of_rows, of_columns = np.zeros(A.shape[0]), np.zeros(A.shape[1])
        np.maximum.at(of_rows, A.indices, sizes)
        np.maximum.at(of_columns, np.repeat(np.arange(A.shape[1]), np.diff(A.indptr)), sizes)
    largest_of_each = np.concatenate((of_rows, of_columns))
    largest_of_each = largest_of_each[largest_of_each > 0.0]
    return bool(largest_of_each.min(initial=1.0) >= _SMALL and largest_of_each.max(initial=1.0) <= _LARGE)


def balance(
    A: Any, P: Any = None, groups: npt.NDArray[np.intp] | None = None, kept: npt.NDArray[np.bool_] | None = None
) -> tuple[Array, Array]:
    """The diagonals of R and D.

    Args:
        A: rows, a sparse matrix of shape [m, n].
        P: the upper triangle of a quadratic cost, whose columns count as well, shape [n, n].
        groups: the number of the group of each row; rows of a group, such as those of a cone, get one factor.
        kept: columns that stay as they are.
    """
    m, n = A.shape
    coo = A.tocoo()
    rows, columns, values = coo.row, coo.col, np.abs(coo.data)
    group = np.arange(m) if groups is None else groups
    R, D = np.ones(m), np.ones(n)
    square = None if P is None or not P.nnz else P.tocoo()
    for _ in range(_ROUNDS):
        scaled = values * R[rows] * D[columns]
        of_groups = np.zeros(m)
        np.maximum.at(of_groups, group[rows], scaled)
        R /= np.sqrt(_nonzero(of_groups))[group]
        of_columns = np.zeros(n)
        np.maximum.at(of_columns, columns, scaled)
        if square is not None:
            curved = np.abs(square.data) * D[square.row] * D[square.col]
            curved /= curved.max()
            np.maximum.at(of_columns, square.row, curved)
            np.maximum.at(of_columns, square.col, curved)
        of_columns = _nonzero(of_columns)
        if kept is not None:
            of_columns[kept] = 1.0
        D /= np.sqrt(of_columns)
    return power_of_two(R), power_of_two(D)


def power_of_two(values: Array) -> Array:
    """The nearest powers of two of positive numbers, by which a product has no rounding."""
    return np.asarray(np.exp2(np.round(np.log2(values))))


def unit_of_cost(numbers: Array) -> float:
    """The power of two by which the largest number of a cost becomes about 1."""
    largest = float(np.abs(numbers).max(initial=0.0))
    return float(power_of_two(np.array(1.0 / largest))) if largest else 1.0


def _nonzero(values: Array) -> Array:
    return np.where(values > 0.0, values, 1.0)
