"""Blocks of free bodies, which have six velocities: rows of six numbers as vectors of the processor.

The compiler unrolls loops over six numbers and computes one number after the other. Said as operations on vectors
(six_code.py), the same takes a third of the time.
"""

from __future__ import annotations

import math

from merganser.framework.native.extending import tell_module
from merganser.multibody.contact.layout import Array

__all__ = [
    "add_contact_product_of_six",
    "add_three_rows_of_six",
    "divide_six_columns",
    "factor_six",
    "subtract_product_of_six",
    "subtract_six_times",
    "subtract_times_six",
    "three_rows_times_six",
]


def add_contact_product_of_six(G: Array, left: Array, right: Array, start: int, width: int, panels: Array) -> None:
    """Adds left^T G right to a block of a panel.

    Args:
        G: Hessian of a contact, 11, 12, 22, 1n, 2n, nn.
        left: block of J by rows, shape [18].
        right: another one.
        start: where the block starts in `panels`.
        width: numbers from one row of the block to the next.
        panels: what to add to.
    """
    for i in range(6):
        j_1, j_2, j_n = left[i], left[6 + i], left[12 + i]
        g_1 = G[0] * j_1 + G[1] * j_2 + G[3] * j_n
        g_2 = G[1] * j_1 + G[2] * j_2 + G[4] * j_n
        g_n = G[3] * j_1 + G[4] * j_2 + G[5] * j_n
        for j in range(6):
            panels[start + i * width + j] += g_1 * right[j] + g_2 * right[6 + j] + g_n * right[12 + j]


def subtract_product_of_six(left: int, right: int, width: int, target: int, target_width: int, U: Array) -> None:
    """H_ij -= U_pi^T U_pj for blocks [6, 6] that start at `left`, `right` and `target` in U."""
    for a in range(6):
        for k in range(6):
            for j in range(6):
                U[target + a * target_width + j] -= U[left + k * width + a] * U[right + k * width + j]


def factor_six(start: int, width: int, U: Array) -> bool:
    """Turns a block H_pp into U_pp with U_pp^T U_pp = H_pp, whose diagonal is kept inverted.

    Args:
        start: where the block starts in U.
        width: numbers from one row of the block to the next.
        U: the panels. What is left of the diagonal is not read, and of no use afterwards.

    Returns:
        Whether H_pp is positive definite (and holds no NaN); if not, the block is of no use.
    """
    for i in range(6):
        row = U[start + i * width : start + i * width + 6]
        for k in range(i):
            for j in range(i, 6):
                row[j] -= U[start + k * width + i] * U[start + k * width + j]
        if not row[i] > 0.0:
            return False
        inverse = 1.0 / math.sqrt(row[i])
        for j in range(i + 1, 6):
            row[j] *= inverse
        row[i] = inverse
    return True


def divide_six_columns(start: int, width: int, column: int, U: Array) -> None:
    """Turns six columns of H_pj into U_pp^-T H_pj, where U_pp starts at `start`; `column` is counted from there."""
    for i in range(6):
        row = U[start + i * width + column : start + i * width + column + 6]
        for k in range(i):
            for j in range(6):
                row[j] -= U[start + k * width + i] * U[start + k * width + column + j]
        for j in range(6):
            row[j] *= U[start + i * width + i]


def subtract_six_times(start: int, width: int, factor: int, target: int, U: Array, x: Array) -> None:
    """x_t -= B^T x_f for a block B of U, and parts of x that start at `target` and `factor`."""
    for i in range(6):
        for j in range(6):
            x[target + j] -= U[start + i * width + j] * x[factor + i]


def subtract_times_six(start: int, width: int, factor: int, target: int, U: Array, x: Array) -> None:
    """x_t -= B x_f for a block B of U, and parts of x that start at `target` and `factor`."""
    for i in range(6):
        for j in range(6):
            x[target + i] -= U[start + i * width + j] * x[factor + j]


def three_rows_times_six(start: int, at: int, J: Array, x: Array) -> tuple[float, float, float]:
    """Products of three rows of six numbers of J with a part of x."""
    total_0, total_1, total_2 = 0.0, 0.0, 0.0
    for k in range(6):
        total_0 += J[start + k] * x[at + k]
        total_1 += J[start + 6 + k] * x[at + k]
        total_2 += J[start + 12 + k] * x[at + k]
    return total_0, total_1, total_2


def add_three_rows_of_six(start: int, at: int, y_0: float, y_1: float, y_2: float, J: Array, x: Array) -> None:
    """Adds the sum of three rows of six numbers of J, times y, to a part of x."""
    for k in range(6):
        x[at + k] += y_0 * J[start + k] + y_1 * J[start + 6 + k] + y_2 * J[start + 12 + k]


tell_module("merganser.multibody.contact.six_code")
