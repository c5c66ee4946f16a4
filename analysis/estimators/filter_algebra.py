"""Small matrices for compiled Kalman filters."""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device


@device
def factor(A_inout: Any) -> None:
    """A = L D L' in place: below the diagonal L, on it D (Golub and Van Loan 2013, section 4.1)."""
    m = A_inout.shape[0]
    for j in range(m):
        for k in range(j):
            A_inout[j, j] -= A_inout[j, k] * A_inout[j, k] * A_inout[k, k]
        pivot = A_inout[j, j]
        for i in range(j + 1, m):
            for k in range(j):
                A_inout[i, j] -= A_inout[i, k] * A_inout[j, k] * A_inout[k, k]
            A_inout[i, j] = A_inout[i, j] / pivot if pivot != 0.0 else math.nan


@device
def solve(factors: Any, x_inout: Any) -> None:
    """Solves with the factors; the right side becomes the solution."""
    m = factors.shape[0]
    for i in range(m):
        for k in range(i):
            x_inout[i] -= factors[i, k] * x_inout[k]
    for i in range(m):
        x_inout[i] = x_inout[i] / factors[i, i] if factors[i, i] != 0.0 else math.nan
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            x_inout[i] -= factors[k, i] * x_inout[k]


@device
def add_product(A: Any, B: Any, is_transposed: bool, C_inout: Any) -> None:
    """Adds A B, or A B', to C."""
    for i in range(C_inout.shape[0]):
        for j in range(C_inout.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * (B[j, k] if is_transposed else B[k, j])
            C_inout[i, j] += total


@device
def copy_matrix(A: Any, B_out: Any) -> None:
    """B = A."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B_out[i, j] = A[i, j]


@device
def symmetric(A: Any, i: int, j: int) -> Any:
    """Element (i, j) of the symmetric part of A."""
    return 0.5 * (A[i, j] + A[j, i])
