"""Cholesky factorization of an island's Hessian H = U^T U, in panels: one dense row of blocks for each tree.

For the panels in the order of the pattern, with the diagonal block first and then the blocks of row p,

    U_pp^T U_pp = H_pp,   U_pj = U_pp^-T H_pj                                             (1)
    H_ij -= U_pi^T U_pj   for all pairs i <= j of blocks in row p                          (2)

so that all inner loops run along rows of panels. Trees of six velocities are taken by vector instructions (six.py),
whichever they are: free bodies, pairs of nodes of a deformable body, arms of six joints. Where such trees follow each
other with the same blocks (a run), each block H_ij takes (2) of all of them at once; sums keep their order. In a heap
of 3,000 spheres, whose factor does not fit into the processor's cache, runs and the six sums of
`subtract_product_of_six` take 0.6 to 0.85 of the time.

The diagonal of U is kept inverted. Diagonal blocks of six are upper triangles, as U is; others are lower triangles
along the paths of a tree, paths.py, which changes nothing else.

Source: T. Davis, Direct Methods for Sparse Linear Systems (2006), chapter 4 (supernodal, right-looking).
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.linear.ordering import Pattern
from merganser.multibody.linear.paths import factor_along_paths, solve_lower_along_paths, solve_upper_along_paths
from merganser.multibody.linear.records import Trees
from merganser.multibody.linear.six import (
    divide_six_columns,
    factor_six,
    subtract_product_of_six,
    subtract_six_times,
    subtract_times_six,
)


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
def factor(trees: Trees, pattern: Pattern, num_panels: int, U: Floats) -> bool:
    """Factors H in place.

    Returns:
        Whether H is positive definite (and holds no NaN).
    """
    first = 0
    while first < num_panels:
        last = _end_of_run(trees, pattern, first, num_panels)
        for p in range(first, last + 1):
            if not _factor_panel(trees, pattern, p, U):
                return False
            start = pattern.block_start[p]
            for b in range(start, start + last - p):
                update_panel(trees, pattern, p, p, b, b, 0, 0, U)
        for b in range(pattern.block_start[last], pattern.block_start[last + 1]):
            update_panel(trees, pattern, first, last, b, b, 0, 0, U)
        first = last + 1
    return True


@device
def _end_of_run(trees: Trees, pattern: Pattern, first: int, num_panels: int) -> int:
    """The last panel of a run: panels of six whose blocks are the next panel's, and the next one itself."""
    p = first
    while p + 1 < num_panels and trees[pattern.tree[p]]["num_v"] == 6 and trees[pattern.tree[p + 1]]["num_v"] == 6:
        start, middle, end = pattern.block_start[p], pattern.block_start[p + 1], pattern.block_start[p + 2]
        if middle - start != 1 + end - middle or pattern.block_position[start] != p + 1:
            break
        p += 1
    return p


@device
def _factor_panel(trees: Trees, pattern: Pattern, p: int, U: Floats) -> bool:
    """Equation (1); returns whether the diagonal block is positive definite."""
    n, start, width = trees[pattern.tree[p]]["num_v"], pattern.panel_start[p], pattern.panel_width[p]
    if n != 6:
        own = trees[pattern.tree[p]]["v_start"]
        return factor_along_paths(n, start, width, pattern.path[own : own + n], pattern.run[own : own + n], U)
    if not factor_six(start, width, U):
        return False
    column = 6
    while column + 6 <= width:
        divide_six_columns(start, width, column, U)
        column += 6
    if column < width:
        _divide_columns(6, start, width, column, U)
    return True


@inlined
def _divide_columns(n: int, start: int, width: int, first: int, U: Floats) -> None:
    """U_pj of equation (1), for all columns from the first on."""
    for i in range(n):
        row = U[start + i * width + first : start + (i + 1) * width]
        for k in range(i):
            above = U[start + k * width + first : start + (k + 1) * width]
            scale = U[start + k * width + i]
            if any_of(scale != 0.0):
                for j in range(width - first):
                    row[j] -= scale * above[j]
        inverse = U[start + i * width + i]
        for j in range(width - first):
            row[j] *= inverse


@device
def update_panel(
    trees: Trees,
    pattern: Pattern,
    p: int,  # the first panel of a run; others of trees of another size stand alone
    last: int,  # and the last one
    block: int,  # of the last panel
    first: int,  # the first block j
    left_from: int,  # where the panels with U_pi start
    right_from: int,  # and those with U_pj, which are those of H_ij, too
    U: Floats,
) -> None:
    """Equation (2) by the panels of a run, for one block i of the last one and all j from the first on."""
    width, num_p, num_panels = pattern.panel_width[p], trees[pattern.tree[p]]["num_v"], 1 + last - p
    start = pattern.panel_start[p] + num_p * (last - p)
    i = pattern.block_position[block]
    num_i, left = trees[pattern.tree[i]]["num_v"], left_from + start + pattern.block_column[block]
    search = pattern.block_start[i]
    for other in range(first, pattern.block_start[last + 1]):
        j = pattern.block_position[other]
        target = right_from + pattern.panel_start[i]
        if j != i:
            while pattern.block_position[search] != j:
                search += 1
            target += pattern.block_column[search]
        right, num_j = right_from + start + pattern.block_column[other], trees[pattern.tree[j]]["num_v"]
        if num_p == 6 and num_i == 6 and num_j == 6:
            subtract_product_of_six(left, right, width, num_panels, target, pattern.panel_width[i], U)
        else:
            for k in range(num_panels):
                shift, columns = num_p * k * (width - 1) - num_p * num_p * (k * (k - 1) // 2), width - num_p * k
                _subtract_product(
                    num_p, num_i, num_j, left + shift, right + shift, columns, target, pattern.panel_width[i], U
                )


@device
def _subtract_product(
    num_p: int, num_i: int, num_j: int, left: int, right: int, width: int, target: int, target_width: int, U: Floats
) -> None:
    """H_ij -= U_pi^T U_pj."""
    for a in range(num_i):
        row = U[target + a * target_width : target + a * target_width + num_j]
        for k in range(num_p):
            scale = U[left + k * width + a]
            if any_of(scale != 0.0):
                source = U[right + k * width : right + k * width + num_j]
                for j in range(num_j):
                    row[j] -= scale * source[j]


@device
def solve(trees: Trees, pattern: Pattern, num_panels: int, U: Floats, x: Floats) -> None:
    """Solves U^T U x = b in place, on generalized velocities in their own order, shape [num_v]."""
    for p in range(num_panels):
        start, width, tree = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
        n, own = tree["num_v"], tree["v_start"]
        if n == 6:
            _solve_lower(6, start, width, U, x[own : own + 6])
        else:
            paths = pattern.path[own : own + n], pattern.run[own : own + n]
            solve_upper_along_paths(n, start, width, *paths, U, x[own : own + n])
        subtract_from_others(trees, pattern, p, 0, U, x)
    for q in range(num_panels):
        p = num_panels - 1 - q
        start, width, tree = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
        n, own = tree["num_v"], tree["v_start"]
        subtract_from_own(trees, pattern, p, U, x)
        if n == 6:
            _solve_upper(6, start, width, U, x[own : own + 6])
        else:
            paths = pattern.path[own : own + n], pattern.run[own : own + n]
            solve_lower_along_paths(n, start, width, *paths, U, x[own : own + n])


@device
def subtract_from_others(trees: Trees, pattern: Pattern, p: int, panels_from: int, panels: Floats, x: Floats) -> None:
    """x_j -= B^T x_p for the blocks B of panel p, of the panels that start where it is said."""
    start, width, tree = panels_from + pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
    n, own = tree["num_v"], tree["v_start"]
    for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
        other = trees[pattern.tree[pattern.block_position[b]]]
        m, target, block = other["num_v"], other["v_start"], start + pattern.block_column[b]
        if n == 6 and m == 6:
            subtract_six_times(block, width, own, target, panels, x)
            continue
        part = x[target : target + m]
        for i in range(n):
            row, scale = panels[block + i * width : block + i * width + m], x[own + i]
            for j in range(m):
                part[j] -= row[j] * scale


@device
def subtract_from_own(trees: Trees, pattern: Pattern, p: int, panels: Floats, x: Floats) -> None:
    """x_p -= B x_j for the blocks B of panel p."""
    start, width, tree = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
    n, own = tree["num_v"], tree["v_start"]
    for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
        other = trees[pattern.tree[pattern.block_position[b]]]
        m, source, block = other["num_v"], other["v_start"], start + pattern.block_column[b]
        if n == 6 and m == 6:
            subtract_times_six(block, width, source, own, panels, x)
            continue
        part = x[source : source + m]
        for i in range(n):
            row, total = panels[block + i * width : block + i * width + m], x[own + i]
            for j in range(m):
                total -= row[j] * part[j]
            x[own + i] = total


@inlined
def _solve_lower(n: int, start: int, width: int, U: Floats, x: Floats) -> None:
    """x = U_pp^-T x for a diagonal block."""
    for i in range(n):
        row, rest = U[start + i * width + i : start + i * width + n], x[i:n]
        value = rest[0] * row[0]
        for j in range(n - i):
            rest[j] -= row[j] * value
        rest[0] = value


@inlined
def _solve_upper(n: int, start: int, width: int, U: Floats, x: Floats) -> None:
    """x = U_pp^-1 x for a diagonal block."""
    for k in range(n):
        i = n - 1 - k
        row, rest = U[start + i * width + i : start + i * width + n], x[i:n]
        total = rest[0]
        for j in range(1, n - i):
            total -= row[j] * rest[j]
        rest[0] = total * row[0]
