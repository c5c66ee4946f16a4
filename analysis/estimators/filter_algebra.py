"""Small matrices for compiled Kalman filters; they stand by rows in an array of floats r, from an offset on."""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device

__all__ = ["add_product", "factor", "solve"]


@device
def factor(r: Any, m: int, a: int) -> None:
    """A = L D L' in place: below the diagonal L, on it D (Golub and Van Loan 2013, section 4.1)."""
    for j in range(m):
        for k in range(j):
            r[a + m * j + j] -= r[a + m * j + k] * r[a + m * j + k] * r[a + m * k + k]
        pivot = r[a + m * j + j]
        for i in range(j + 1, m):
            for k in range(j):
                r[a + m * i + j] -= r[a + m * i + k] * r[a + m * j + k] * r[a + m * k + k]
            r[a + m * i + j] = r[a + m * i + j] / pivot if pivot != 0.0 else math.nan


@device
def solve(r: Any, m: int, a: int, x: int) -> None:
    """Solves with the factors at `a`; the right side at `x` becomes the solution."""
    for i in range(m):
        for k in range(i):
            r[x + i] -= r[a + m * i + k] * r[x + k]
    for i in range(m):
        r[x + i] = r[x + i] / r[a + m * i + i] if r[a + m * i + i] != 0.0 else math.nan
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            r[x + i] -= r[a + m * k + i] * r[x + k]


@device
def add_product(r: Any, a: int, b: int, sizes: Any, is_transposed: bool, target: int) -> None:
    """Adds A B, or A B', to the matrix at `target`; sizes: rows of A, rows of B (or B'), columns of the product."""
    rows, inner, columns = sizes
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += r[a + inner * i + k] * (r[b + inner * j + k] if is_transposed else r[b + columns * k + j])
            r[target + columns * i + j] += total
