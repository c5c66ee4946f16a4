"""Velocities v that make a wanted V, and those that make nothing: J v = alpha V has the solutions alpha J^+ V + P^T w.

By a complete orthogonal decomposition. With Householder's reflections and pivots of columns,

    J^T Pi = Q [R; 0],   R of shape [rank, m], upper trapezoidal                                            (1)

so that the last columns of Q are P^T, a basis of the null space, and J^+ V = Q_1 y with the y of least squares,

    |R^T y - Pi^T V| -> min                                                                                 (2)

by forward substitution where the rank is m, and otherwise by the normal equations R R^T y = R Pi^T V.

Source: G. Golub, C. Van Loan, Matrix Computations (2013), sections 5.4 and 5.5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel

Array = np.ndarray[Any, Any]


@kernel
def reachable_motions(
    # In:
    J_in: Array,          # shape [m, n]
    V_in: Array,          # shape [m]
    tolerance: float,     # of pivots, relative to the first, below which the rank ends
    # Work:
    order_work: Array,    # the columns of Pi, integers, shape [m]
    R_work: Array,        # R; below its diagonal the reflections, shape [n, m]
    scale_work: Array,    # of the reflections, shape [m]
    y_work: Array,        # y of (2) and right sides, shape [3, m]
    square_work: Array,   # R R^T, shape [m, m]
    # Out:
    columns_out: Array,   # P^T, shape [n, n - rank], and then J^+ V; of shape [n, n + 1]
    missed_out: Array,    # the square of |J J^+ V - V|, and of |V|, shape [2]
) -> int:  # fmt: skip
    """Returns the rank of J."""
    m, n = J_in.shape
    for i in range(m):
        order_work[i] = i
        for j in range(n):
            R_work[j, i] = J_in[i, j]
    rank = _decompose(R_work, order_work, scale_work, tolerance)

    # (2), with Pi^T V in y_work[1]
    for i in range(m):
        y_work[1, i] = V_in[order_work[i]]
    if rank == m:
        for i in range(m):
            y_work[0, i] = y_work[1, i]
            for k in range(i):
                y_work[0, i] -= R_work[k, i] * y_work[0, k]
            y_work[0, i] /= R_work[i, i]
    else:
        _solve_normal_equations(R_work, rank, y_work, square_work)
    missed_out[0] = missed_out[1] = 0.0
    for i in range(m):
        left = y_work[1, i]
        for k in range(min(i + 1, rank)):
            left -= R_work[k, i] * y_work[0, k]
        missed_out[0] += left * left
        missed_out[1] += V_in[i] * V_in[i]

    # The columns of Q that count, by reflections of unit vectors, and J^+ V, by those of y
    for column in range(n - rank + 1):
        for j in range(n):
            columns_out[j, column] = 0.0
        if column < n - rank:
            columns_out[rank + column, column] = 1.0
        else:
            for k in range(rank):
                columns_out[k, column] = y_work[0, k]
        for k in range(rank - 1, -1, -1):
            _reflect(R_work, k, scale_work[k], columns_out, column)
    return rank


@device
def _decompose(R: Array, order: Array, scale: Array, tolerance: float) -> int:
    """(1): with v = [1, R[k+1:, k]] reflection k is I - scale[k] v v^T."""
    n, m = R.shape
    first = 0.0
    for k in range(min(n, m)):
        pivot, largest = k, -1.0
        for i in range(k, m):
            square = 0.0
            for j in range(k, n):
                square += R[j, i] * R[j, i]
            if square > largest:
                pivot, largest = i, square
        size = math.sqrt(largest)
        if k == 0:
            first = size
        if size <= tolerance * first or size == 0.0:
            return k
        order[k], order[pivot] = order[pivot], order[k]
        for j in range(n):
            R[j, k], R[j, pivot] = R[j, pivot], R[j, k]
        head = R[k, k]
        diagonal = -size if head >= 0.0 else size
        scale[k] = (diagonal - head) / diagonal
        for j in range(k + 1, n):
            R[j, k] /= head - diagonal
        for i in range(k + 1, m):
            _reflect(R, k, scale[k], R, i)
        R[k, k] = diagonal
    return min(n, m)


@device
def _reflect(R: Array, k: int, scale: float, columns: Array, column: int) -> None:
    """Reflection k of one of some columns."""
    total = columns[k, column]
    for j in range(k + 1, R.shape[0]):
        total += R[j, k] * columns[j, column]
    total *= scale
    columns[k, column] -= total
    for j in range(k + 1, R.shape[0]):
        columns[j, column] -= R[j, k] * total


@device
def _solve_normal_equations(R: Array, rank: int, y: Array, square: Array) -> None:
    """y[0] of R R^T y[0] = R y[1], by Cholesky's factor."""
    m = R.shape[1]
    for i in range(rank):
        y[0, i] = 0.0
        for k in range(i, m):
            y[0, i] += R[i, k] * y[1, k]
        for j in range(i + 1):
            total = 0.0
            for k in range(i, m):
                total += R[i, k] * R[j, k]
            for k in range(j):
                total -= square[i, k] * square[j, k]
            square[i, j] = math.sqrt(total) if i == j else total / square[j, j]
        for j in range(i):
            y[0, i] -= square[i, j] * y[0, j]
        y[0, i] /= square[i, i]
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            y[0, i] -= square[j, i] * y[0, j]
        y[0, i] /= square[i, i]
