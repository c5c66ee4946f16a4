"""LU factors of small matrices, for compiled steps: real or complex, one source.

Matrices are stored by columns: a[j, i] is the element in row i and column j. Then the innermost loops run over
neighbours, without sums that would have to be taken in order, and use the processor's vectors. From some 30 rows on
LAPACK's blocked algorithms are faster.

P A = L U with partial pivoting (Golub and Van Loan 2013, algorithm 3.4.1, by columns). A singular matrix gives
solutions that are not finite.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device


@device
def factor_shifted(
    # In:
    mu: Any,  # real or complex
    J_in: Any,  # real matrix, by columns, shape [n, n]
    # Out:
    lu_out: Any,  # factors of mu I - J, with the inverse pivots on the diagonal, by columns, shape [n, n]
    pivots_out: Any,  # row that row k was exchanged with, shape [n]
) -> None:
    """Factors mu I - J."""
    n = len(J_in)
    for j in range(n):
        for i in range(n):
            lu_out[j, i] = -J_in[j, i]
        lu_out[j, j] += mu
    for k in range(n):
        pivot, largest = k, -1.0
        for i in range(k, n):
            value = lu_out[k, i]
            size = abs(value.real) + abs(value.imag)  # good enough to choose pivots
            if size > largest:
                pivot, largest = i, size
        pivots_out[k] = pivot
        if pivot != k:
            for j in range(n):
                lu_out[j, k], lu_out[j, pivot] = lu_out[j, pivot], lu_out[j, k]
        # No exception, nor a wrong answer: what follows from nan is nan.
        lu_out[k, k] = 1.0 / lu_out[k, k] if largest > 0.0 else math.nan * lu_out[k, k]
        inverse = lu_out[k, k]
        for i in range(k + 1, n):
            lu_out[k, i] *= inverse
        for j in range(k + 1, n):
            factor = lu_out[j, k]
            for i in range(k + 1, n):
                lu_out[j, i] -= lu_out[k, i] * factor


@device
def solve_factored(
    # In:
    lu_in: Any,  # by columns, shape [n, n]
    pivots_in: Any,  # shape [n]
    # In and out:
    x_out: Any,  # right-hand side, overwritten by the solution, shape [n]
) -> None:
    """Solves with the factors of `factor_shifted`."""
    n = len(lu_in)
    for k in range(n):
        pivot = pivots_in[k]
        if pivot != k:
            x_out[k], x_out[pivot] = x_out[pivot], x_out[k]
    for k in range(n):
        x_k = x_out[k]
        for i in range(k + 1, n):
            x_out[i] -= lu_in[k, i] * x_k
    for k in range(n - 1, -1, -1):
        x_out[k] *= lu_in[k, k]
        x_k = x_out[k]
        for i in range(k):
            x_out[i] -= lu_in[k, i] * x_k
