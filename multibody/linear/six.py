"""Blocks of six columns, as free bodies have them: rows of six numbers as vectors of the processor.

The compiler unrolls loops over six numbers and computes one number after the other. Said as operations on rows of six
numbers (framework/native/memory/simd.py), the same takes a third of the time.
"""

from __future__ import annotations

from merganser.framework.native import inlined
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.simd import (
    Lanes,
    element,
    fused,
    set_six,
    six_at,
    square_root,
    total_of_six,
    where,
    with_element,
)


@inlined
def add_contact_product_of_six(G: Floats, left: Floats, right: Floats, start: int, width: int, panels: Floats) -> None:
    """Adds left^T G right to a block of a panel.

    Args:
        G: Hessian of a contact, 11, 12, 22, 1n, 2n, nn.
        left: block of J by rows, shape [18].
        right: another one.
        start: where the block starts in `panels`.
        width: numbers from one row of the block to the next.
        panels: what to add to.
    """
    left_1, left_2, left_n = six_at(left, 0), six_at(left, 6), six_at(left, 12)
    right_1, right_2, right_n = six_at(right, 0), six_at(right, 6), six_at(right, 12)
    product_1 = fused(G[3], left_n, fused(G[1], left_2, G[0] * left_1))
    product_2 = fused(G[4], left_n, fused(G[2], left_2, G[1] * left_1))
    product_n = fused(G[5], left_n, fused(G[4], left_2, G[3] * left_1))
    for i in range(6):
        at = start + i * width
        row = fused(element(product_1, i), right_1, six_at(panels, at))
        row = fused(element(product_2, i), right_2, row)
        set_six(panels, at, fused(element(product_n, i), right_n, row))


@inlined
def subtract_product_of_six(
    left: int, right: int, width: int, num_panels: int, target: int, target_width: int, U: Floats
) -> None:
    """H_ij -= U_pi^T U_pj for panels p of six rows that follow each other, with blocks i and j each.

    The rows of H_ij are six sums that do not wait for each other: one row after the other takes half as long again.

    Args:
        left: where U_pi [6, 6] starts in U, of the first panel; the next one has six columns less before it.
        right: where U_pj starts.
        width: numbers from one row to the next, in the first panel.
        num_panels: how many there are.
        target: where H_ij starts.
        target_width: numbers from one of its rows to the next.
        U: the panels.
    """
    row_1, row_2, row_3 = target + target_width, target + 2 * target_width, target + 3 * target_width
    row_4, row_5 = target + 4 * target_width, target + 5 * target_width
    for _ in range(num_panels):
        rows = (
            six_at(U, target), six_at(U, row_1), six_at(U, row_2), six_at(U, row_3), six_at(U, row_4), six_at(U, row_5)
        )  # fmt: skip
        rows = _subtract_outer(six_at(U, left), six_at(U, right), *rows)
        rows = _subtract_outer(six_at(U, left + width), six_at(U, right + width), *rows)
        rows = _subtract_outer(six_at(U, left + 2 * width), six_at(U, right + 2 * width), *rows)
        rows = _subtract_outer(six_at(U, left + 3 * width), six_at(U, right + 3 * width), *rows)
        rows = _subtract_outer(six_at(U, left + 4 * width), six_at(U, right + 4 * width), *rows)
        rows = _subtract_outer(six_at(U, left + 5 * width), six_at(U, right + 5 * width), *rows)
        set_six(U, target, rows[0])
        set_six(U, row_1, rows[1])
        set_six(U, row_2, rows[2])
        set_six(U, row_3, rows[3])
        set_six(U, row_4, rows[4])
        set_six(U, row_5, rows[5])
        left, right, width = left + 6 * (width - 1), right + 6 * (width - 1), width - 6


@inlined
def _subtract_outer(
    left: Lanes, right: Lanes, row_0: Lanes, row_1: Lanes, row_2: Lanes, row_3: Lanes, row_4: Lanes, row_5: Lanes
) -> tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]:
    """Rows of a block less left^T right."""
    right = -right
    return (
        fused(element(left, 0), right, row_0),
        fused(element(left, 1), right, row_1),
        fused(element(left, 2), right, row_2),
        fused(element(left, 3), right, row_3),
        fused(element(left, 4), right, row_4),
        fused(element(left, 5), right, row_5),
    )


@inlined
def factor_six(start: int, width: int, U: Floats) -> bool:
    """Turns a block H_pp into U_pp with U_pp^T U_pp = H_pp, whose diagonal is kept inverted.

    Args:
        start: where the block starts in U.
        width: numbers from one row of the block to the next.
        U: the panels. What is left of the diagonal is not read, and of no use afterwards.

    Returns:
        Whether H_pp is positive definite (and holds no NaN); if not, the block is of no use.
    """
    is_positive = True
    for i in range(6):
        at = start + i * width
        row = six_at(U, at)
        for k in range(i):
            above = six_at(U, start + k * width)
            row = fused(-element(above, i), above, row)
        pivot = element(row, i)
        is_positive = is_positive and pivot > 0.0  # nothing waits for it: a branch here costs 20 % of the factor
        inverse = 1.0 / square_root(where(pivot > 0.0, pivot, 1.0))
        set_six(U, at, with_element(inverse * row, i, inverse))
    return is_positive


@inlined
def divide_six_columns(start: int, width: int, column: int, U: Floats) -> None:
    """Turns six columns of H_pj into U_pp^-T H_pj, where U_pp starts at `start`; `column` is counted from there."""
    for i in range(6):
        at = start + i * width
        row = six_at(U, at + column)
        for k in range(i):
            above = start + k * width
            row = fused(-U[above + i], six_at(U, above + column), row)
        set_six(U, at + column, U[at + i] * row)


@inlined
def subtract_six_times(start: int, width: int, factor: int, target: int, U: Floats, x: Floats) -> None:
    """x_t -= B^T x_f for a block B of U, and parts of x that start at `target` and `factor`."""
    given, total = six_at(x, factor), six_at(x, target)
    for i in range(6):
        total = fused(-element(given, i), six_at(U, start + i * width), total)
    set_six(x, target, total)


@inlined
def subtract_times_six(start: int, width: int, factor: int, target: int, U: Floats, x: Floats) -> None:
    """x_t -= B x_f for a block B of U, and parts of x that start at `target` and `factor`."""
    given = six_at(x, factor)
    for i in range(6):
        x[target + i] -= total_of_six(six_at(U, start + i * width) * given)


@inlined
def three_rows_times_six(start: int, at: int, J: Floats, x: Floats) -> tuple[float, float, float]:
    """Products of three rows of six numbers of J with a part of x."""
    given = six_at(x, at)
    return (
        total_of_six(six_at(J, start) * given),
        total_of_six(six_at(J, start + 6) * given),
        total_of_six(six_at(J, start + 12) * given),
    )


@inlined
def add_three_rows_of_six(start: int, at: int, y_0: float, y_1: float, y_2: float, J: Floats, x: Floats) -> None:
    """Adds the sum of three rows of six numbers of J, times y, to a part of x."""
    total = fused(y_0, six_at(J, start), six_at(x, at))
    total = fused(y_1, six_at(J, start + 6), total)
    set_six(x, at, fused(y_2, six_at(J, start + 12), total))
