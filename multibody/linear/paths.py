"""The block of a tree in an island's Hessian, factored along the paths of its velocities to the root.

Velocities of a tree are eliminated from the last one to the first,

    H = L^T L,   L lower triangular                                                       (1)

Row k of L then has entries only on the path of k: path[k] < k is where the first one may be, path[path[k]] the next,
and so on to -1. Of A = M + h D that is the path from a joint to the base, as M has an entry for two velocities only if
one is inboard of the other. A contact of one body with the world fills nothing, as its columns of J are on one path.
Where a constraint acts on two branches, their paths become one: each goes on with the greater of both next velocities.

Paths are found from the numbers of A and J that are not zero, in lanes in any of them, in each step. Numbers that stay
zero on them change no sum, as all sums go down the path. Of numbers on a path that follow each other, run[k] is the
lowest, so that inner loops go along rows. A humanoid of 62 velocities takes half the time of a full block, an arm the
same time.

Sources: R. Featherstone, Rigid Body Dynamics Algorithms (2008), section 6.5 (L^T L along the paths of a tree); J. Liu,
The Role of Elimination Trees in Sparse Factorization, SIAM J. Matrix Anal. Appl. (1990), section 4 (paths that join).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.linear.products import Block, block_of, has_column, num_ends, tree_of
from merganser.multibody.linear.records import Problem

_THREE = 3  # rows that are taken together

# ---------------------------------------------------------------------- finding paths


@device
def find_paths(
    # In:
    problem: Problem,
    island_trees: Integers,
    island_constraints: Integers,
    # Out: by generalized velocity, numbers within its tree, shape [num_v]
    path: Integers,
    run: Integers,
) -> None:
    """Finds the paths of an island's velocities, but for trees of six: their blocks are full."""
    for i in range(island_trees.shape[0]):
        tree = problem.trees[island_trees[i]]
        n, first = tree["num_v"], tree["v_start"]
        if n != 6:
            block = problem.matrix[tree["matrix_start"] : tree["matrix_start"] + n * n]
            _find_paths_of_matrix(n, block, path[first : first + n])
    for i in range(island_constraints.shape[0]):
        c = problem.constraints[island_constraints[i]]
        for end in range(num_ends(c)):
            tree = problem.trees[tree_of(c, end)]
            block = block_of(problem.trees, problem.jacobian, c, end)
            if tree["num_v"] != 6 and block.num_v > 1:
                _join_columns(block, path[tree["v_start"] : tree["v_start"] + tree["num_v"]])
    for i in range(island_trees.shape[0]):
        tree = problem.trees[island_trees[i]]
        if tree["num_v"] != 6:
            for k in range(tree["num_v"]):
                at = tree["v_start"] + k
                run[at] = run[at - 1] if k > 0 and path[at] == k - 1 else k


@device
def _find_paths_of_matrix(n: int, block: Floats, path: Integers) -> None:
    for k in range(n):
        path[k] = -1
        row, last = block[k * n : (k + 1) * n], k
        for r in range(k):
            l = k - 1 - r
            if any_of(row[l] != 0.0):
                join_paths(last, l, path)
                last = l


@device
def _join_columns(block: Block, path: Integers) -> None:
    """Puts all columns of a block of J on one path."""
    last = -1
    for r in range(block.num_v):
        k = block.num_v - 1 - r
        if has_column(block, k):
            if last >= 0:
                join_paths(block.column + last, block.column + k, path)
            last = k


@device
def join_paths(a: int, b: int, path: Integers) -> None:
    """Puts b < a, and all on its path, on the path of a."""
    while a != b and b >= 0:
        onward = path[a]
        if onward < b:
            path[a] = b
            a, b = b, onward
        else:
            a = onward


# ---------------------------------------------------------------------- factor and solution


@device
def factor_along_paths(n: int, start: int, width: int, path: Integers, run: Integers, U: Floats) -> bool:
    """Turns a panel into its rows of the factor.

    Args:
        n: velocities of its tree.
        start: where the panel starts in U.
        width: its columns: those of the diagonal block H, and of blocks of other trees, which become L^-T H_pj.
        path: of the tree's velocities.
        run: of the tree's velocities.
        U: the panels. Of the diagonal block, what is right of the diagonal is not read, and of no use afterwards; the
            diagonal of L is kept inverted.

    Returns:
        Whether H is positive definite (and holds no NaN).
    """
    k = n - 1
    while k >= 0:
        last = k - _THREE + 1 if run[k] <= k - _THREE + 1 else k  # rows that follow each other go together
        for p in range(k, last - 1, -1):
            at = start + p * width
            if not U[at + p] > 0.0:
                return False
            inverse = 1.0 / math.sqrt(U[at + p])
            _multiply_along(p, inverse, U[at : at + n], path, run)
            _multiply(inverse, U[at + n : at + width])
            U[at + p] = inverse
            i = path[p]
            while i >= 0 and (i >= last or last == k):
                scale, target = U[at + i], start + i * width
                if any_of(scale != 0.0):
                    _subtract_along(i, scale, U[at : at + n], U[target : target + n], path, run)
                    _subtract(scale, U[at + n : at + width], U[target + n : target + width])
                i = path[i]
        if last < k:
            _subtract_three_rows(n, start, width, k, path, run, U)
        k = last - 1
    return True


@device
def _subtract_three_rows(n: int, start: int, width: int, k: int, path: Integers, run: Integers, U: Floats) -> None:
    """Takes rows k, k - 1 and k - 2 from those on their path, in one pass over each.

    That does what one after the other would, to the last bit, in half of the time.
    """
    at = start + k * width
    row_0, row_1, row_2 = U[at : at + width], U[at - width : at], U[at - 2 * width : at - width]
    i = path[k - _THREE + 1]
    while i >= 0:
        row, a = U[start + i * width : start + (i + 1) * width], i
        s_0, s_1, s_2 = row_0[i], row_1[i], row_2[i]
        low, high = n, width  # the columns of other trees, then what is on the path of i
        while True:
            for j in range(low, high):
                row[j] = row[j] - s_0 * row_0[j] - s_1 * row_1[j] - s_2 * row_2[j]
            if a < 0:
                break
            low, high = run[a], a + 1
            a = path[low]
        i = path[i]


@device
def solve_upper_along_paths(
    n: int, start: int, width: int, path: Integers, run: Integers, U: Floats, x: Floats
) -> None:
    """x = L^-T x for the diagonal block of a panel."""
    for r in range(n):
        k = n - 1 - r
        row = U[start + k * width : start + k * width + n]
        x[k] *= row[k]
        if path[k] >= 0:
            _subtract_along(path[k], x[k], row, x, path, run)


@device
def solve_lower_along_paths(
    n: int, start: int, width: int, path: Integers, run: Integers, U: Floats, x: Floats
) -> None:
    """x = L^-1 x for the diagonal block of a panel."""
    for k in range(n):
        row = U[start + k * width : start + k * width + n]
        total, a = x[k], path[k]
        while a >= 0:
            first = run[a]
            part, given = row[first : a + 1], x[first : a + 1]
            for j in range(a - first, -1, -1):
                total -= part[j] * given[j]
            a = path[first]
        x[k] = total * row[k]


@inlined
def _multiply_along(a: int, scale: float, row: Floats, path: Integers, run: Integers) -> None:
    """row *= scale, on the path of a."""
    while a >= 0:
        first = run[a]
        _multiply(scale, row[first : a + 1])
        a = path[first]


@inlined
def _subtract_along(a: int, scale: float, given: Floats, row: Floats, path: Integers, run: Integers) -> None:
    """row -= scale given, on the path of a."""
    while a >= 0:
        first = run[a]
        _subtract(scale, given[first : a + 1], row[first : a + 1])
        a = path[first]


@inlined
def _multiply(scale: float, row: Floats) -> None:
    for j in range(row.shape[0]):
        row[j] *= scale


@inlined
def _subtract(scale: float, given: Floats, row: Floats) -> None:
    for j in range(row.shape[0]):
        row[j] -= scale * given[j]
