"""Cholesky factorization of an island's Hessian H = U^T U, in panels: one dense row of blocks for each tree.

For the panels in the order of the pattern, with the diagonal block first and then the blocks of row p,

    U_pp^T U_pp = H_pp,   U_pj = U_pp^-T H_pj                                             (1)
    H_ij -= U_pi^T U_pj   for all pairs i <= j of blocks in row p                          (2)

so that all inner loops run along rows of panels. The diagonal of U is kept inverted.

Source: T. Davis, Direct Methods for Sparse Linear Systems (2006), chapter 4 (supernodal, right-looking).
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.ordering import Pattern

__all__ = ["factor", "find_column", "solve"]


@device
def find_column(pattern: Pattern, p: int, q: int) -> int:
    """Where in panel p the columns of the tree at position q > p start; the block must exist."""
    low, high = pattern.block_start[p], pattern.block_start[p + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if pattern.block_position[middle] < q:
            low = middle + 1
        else:
            high = middle
    return pattern.block_column[low]


@device
def factor(trees: Array, pattern: Pattern, num_panels: int, row_work: Array, U: Array) -> bool:
    """Factors H in place; row_work holds as many numbers as there are velocities.

    Returns:
        Whether H is positive definite (and holds no NaN).
    """
    for p in range(num_panels):
        if not _factor_panel(trees[pattern.tree[p]]["num_v"], pattern.panel_start[p], pattern.panel_width[p], U):
            return False
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            _update_panel(trees, pattern, p, b, row_work, U)
    return True


@device
def _factor_panel(n: int, start: int, width: int, U: Array) -> bool:
    """Equation (1) for one panel."""
    for i in range(n):
        row = U[start + i * width : start + (i + 1) * width]
        for k in range(i):
            above = U[start + k * width : start + (k + 1) * width]
            scale = above[i]
            for j in range(i, width):
                row[j] -= scale * above[j]
        if not row[i] > 0.0:
            return False
        inverse = 1.0 / math.sqrt(row[i])
        row[i] = inverse
        for j in range(i + 1, width):
            row[j] *= inverse
    return True


@device
def _update_panel(trees: Array, pattern: Pattern, p: int, block: int, row_work: Array, U: Array) -> None:
    """Equation (2) for one block i of panel p and all j behind it."""
    source, width = pattern.panel_start[p], pattern.panel_width[p]
    column, num_p = pattern.block_column[block], trees[pattern.tree[p]]["num_v"]
    target = pattern.block_position[block]
    target_start, target_width = pattern.panel_start[target], pattern.panel_width[target]
    num_target = trees[pattern.tree[target]]["num_v"]
    for a in range(num_target):
        first = column + a
        length = width - first
        _combine_rows(U[source : source + num_p * width], num_p, width, first, row_work[:length])
        row = U[target_start + a * target_width : target_start + (a + 1) * target_width]
        for j in range(num_target - a):
            row[a + j] -= row_work[j]
        done = num_target - a
        search = pattern.block_start[target]
        for b in range(block + 1, pattern.block_start[p + 1]):
            while pattern.block_position[search] != pattern.block_position[b]:
                search += 1
            count = trees[pattern.tree[pattern.block_position[b]]]["num_v"]
            into, part = row[pattern.block_column[search] :], row_work[done:]
            for j in range(count):
                into[j] -= part[j]
            done += count


@device
def _combine_rows(panel: Array, num_rows: int, width: int, first: int, out: Array) -> None:
    """out_j = sum_k panel[k, first] panel[k, first + j]; three rows at a time, for fewer passes over `out`."""
    length = out.shape[0]
    for j in range(length):
        out[j] = 0.0
    k = 0
    while k + 3 <= num_rows:
        x = panel[k * width + first : (k + 1) * width]
        y = panel[(k + 1) * width + first : (k + 2) * width]
        z = panel[(k + 2) * width + first : (k + 3) * width]
        x_0, y_0, z_0 = x[0], y[0], z[0]
        for j in range(length):
            out[j] += x_0 * x[j] + y_0 * y[j] + z_0 * z[j]
        k += 3
    while k < num_rows:
        x = panel[k * width + first : (k + 1) * width]
        x_0 = x[0]
        for j in range(length):
            out[j] += x_0 * x[j]
        k += 1


@device
def solve(trees: Array, pattern: Pattern, num_panels: int, U: Array, x: Array) -> None:
    """Solves U^T U x = b in place, on generalized velocities in their own order, shape [num_v]."""
    for p in range(num_panels):
        start, width = pattern.panel_start[p], pattern.panel_width[p]
        tree = trees[pattern.tree[p]]
        own = x[tree["v_start"] : tree["v_start"] + tree["num_v"]]
        for i in range(tree["num_v"]):
            row = U[start + i * width : start + (i + 1) * width]
            own[i] *= row[i]
            for j in range(i + 1, tree["num_v"]):
                own[j] -= row[j] * own[i]
            for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
                other = trees[pattern.tree[pattern.block_position[b]]]
                part, target = row[pattern.block_column[b] :], x[other["v_start"] : other["v_start"] + other["num_v"]]
                for j in range(other["num_v"]):
                    target[j] -= part[j] * own[i]
    for q in range(num_panels):
        p = num_panels - 1 - q
        start, width = pattern.panel_start[p], pattern.panel_width[p]
        tree = trees[pattern.tree[p]]
        own = x[tree["v_start"] : tree["v_start"] + tree["num_v"]]
        for k in range(tree["num_v"]):
            i = tree["num_v"] - 1 - k
            row = U[start + i * width : start + (i + 1) * width]
            total = own[i]
            for j in range(i + 1, tree["num_v"]):
                total -= row[j] * own[j]
            for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
                other = trees[pattern.tree[pattern.block_position[b]]]
                part, value = row[pattern.block_column[b] :], x[other["v_start"] : other["v_start"] + other["num_v"]]
                for j in range(other["num_v"]):
                    total -= part[j] * value[j]
            own[i] = total * row[i]
