"""Block elimination of the unsymmetric matrix of TAMSI, K = A + sum_c J_c^T G_c J_c, in panels as of a Cholesky factor.

An unsymmetric G fills the same blocks as a symmetric one, on both sides of the diagonal. There are two panels for each
tree, laid out alike: that of the row, with the blocks K_pp and K_pj of j > p, and behind all of these that of the
column, transposed, with K_jp^T in place of K_pj. In the order of the pattern,

    P_p K_pp = L_p R_p,   L_jp = K_jp K_pp^-1                                             (1)
    K_ij -= L_ip K_pj   for all pairs i, j of blocks in row p                             (2)

with pivots P_p sought within the block of a tree, which contains its positive definite part of A. Inner loops run along
rows of panels, also those of (1), which for L_jp^T = K_pp^-T K_jp^T are operations on rows.

Source: T. Davis, Direct Methods for Sparse Linear Systems (2006), chapter 6.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.multibody.contact.factorization import find_column, subtract_product
from merganser.multibody.contact.layout import CONTACT, Array, Problem
from merganser.multibody.contact.ordering import Pattern
from merganser.multibody.contact.six import subtract_product_of_six, subtract_six_times, subtract_times_six
from merganser.multibody.contact.workspace import HESSIAN_SIZE

__all__ = ["assemble_panels", "factor_panels", "solve_panels"]


# ---------------------------------------------------------------------- assembly


@device
def assemble_panels(
    problem: Problem,
    num_panels: int,
    constraints: Array,  # of the island
    pattern: Pattern,
    hessian: Array,  # G, of contacts [G_11 G_12 G_1n; G_12 G_22 G_2n; 0 0 G_nn]; shape [HESSIAN_SIZE num_rows]
    panels_out: Array,
) -> None:
    """Computes the panels of K."""
    half = pattern.panel_start[num_panels]
    for k in range(2 * half):
        panels_out[k] = 0.0
    for p in range(num_panels):
        tree = problem.trees[pattern.tree[p]]
        start, width, n = pattern.panel_start[p], pattern.panel_width[p], tree["num_v"]
        for i in range(n):
            for j in range(n):
                panels_out[start + i * width + j] = problem.matrix[tree["matrix_start"] + i * n + j]
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        p, q, left, right = pattern.position[c["tree_0"]], -1, c["jacobian_0"], c["jacobian_1"]
        if c["tree_1"] >= 0:
            q = pattern.position[c["tree_1"]]
            if q < p:
                p, q, left, right = q, p, right, left
        _add_block(problem, c, pattern, hessian, p, left, p, left, False, 0, panels_out)
        if q >= 0:
            _add_block(problem, c, pattern, hessian, p, left, q, right, False, 0, panels_out)
            _add_block(problem, c, pattern, hessian, p, left, q, right, True, half, panels_out)
            _add_block(problem, c, pattern, hessian, q, right, q, right, False, 0, panels_out)


@device
def _add_block(
    problem: Problem,
    constraint: Array,
    pattern: Pattern,
    hessian: Array,
    p: int,  # positions p <= q of the trees
    jacobian_p: int,  # where J_p and J_q start
    q: int,
    jacobian_q: int,
    is_transposed: bool,  # whether G^T is meant
    half: int,  # where the panels start
    panels: Array,
) -> None:
    """J_p^T G J_q, or J_p^T G^T J_q, to the block of positions p and q."""
    n, m = problem.trees[pattern.tree[p]]["num_v"], problem.trees[pattern.tree[q]]["num_v"]
    width, row = pattern.panel_width[p], constraint["row_start"]
    start = half + pattern.panel_start[p] + (0 if p == q else find_column(pattern, p, q))
    rows = constraint["num_rows"]
    left, right = problem.jacobian[jacobian_p : jacobian_p + rows * n], problem.jacobian[jacobian_q :]
    if constraint["kind"] == CONTACT:
        G = hessian[HESSIAN_SIZE * row : HESSIAN_SIZE * (row + 3)]
        right = right[: 3 * m]
        for i in range(n):
            j_1, j_2, j_n = left[i], left[n + i], left[2 * n + i]
            g_1, g_2, g_n = G[0] * j_1 + G[1] * j_2, G[1] * j_1 + G[2] * j_2, G[5] * j_n
            if is_transposed:
                g_1, g_2 = g_1 + G[3] * j_n, g_2 + G[4] * j_n
            else:
                g_n += G[3] * j_1 + G[4] * j_2
            target = panels[start + i * width : start + i * width + m]
            for j in range(m):
                target[j] += g_1 * right[j] + g_2 * right[m + j] + g_n * right[2 * m + j]
        return
    for r in range(rows):
        gain = hessian[HESSIAN_SIZE * (row + r)]
        for i in range(n):
            scale = gain * left[r * n + i]
            if scale != 0.0:
                target = panels[start + i * width : start + i * width + m]
                for j in range(m):
                    target[j] += scale * right[r * m + j]


# ---------------------------------------------------------------------- elimination


@device
def factor_panels(trees: Array, pattern: Pattern, num_panels: int, panels: Array, pivots_out: Array) -> bool:
    """Factors K in place.

    Args:
        trees: of the problem.
        pattern: of the island.
        num_panels: its trees.
        panels: of K.
        pivots_out: with which row each row of a block was exchanged, by generalized velocity, shape [num_v].

    Returns:
        Whether no block on the diagonal was singular.
    """
    half = pattern.panel_start[num_panels]
    for p in range(num_panels):
        tree = trees[pattern.tree[p]]
        n, start, width = tree["num_v"], pattern.panel_start[p], pattern.panel_width[p]
        pivots = pivots_out[tree["v_start"] : tree["v_start"] + n]
        if not _factor_diagonal(n, start, width, panels, pivots):
            return False
        _divide_column(n, start, half + start, width, panels, pivots)
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            _update_panels(trees, pattern, half, p, b, panels)
    return True


@device
def _factor_diagonal(n: int, start: int, width: int, K: Array, pivots: Array) -> bool:
    """L_p and R_p of (1), in place of K_pp; L has ones on its diagonal."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(K[start + i * width + k]) > abs(K[start + best * width + k]):
                best = i
        pivots[k] = best
        if not abs(K[start + best * width + k]) > 0.0:
            return False
        if best != k:
            _exchange(start + k * width, start + best * width, n, K)
        inverse = 1.0 / K[start + k * width + k]
        for i in range(k + 1, n):
            scale = K[start + i * width + k] * inverse
            K[start + i * width + k] = scale
            for j in range(k + 1, n):
                K[start + i * width + j] -= scale * K[start + k * width + j]
    return True


@device
def _divide_column(n: int, start: int, column: int, width: int, K: Array, pivots: Array) -> None:
    """L_jp^T = K_pp^-T K_jp^T = P^T L_p^-T R_p^-T K_jp^T of (1), for all j; `column` is where that panel starts."""
    for i in range(n):
        for k in range(i):
            _subtract_row(K[start + k * width + i], column + k * width, column + i * width, n, width, K)
        inverse = 1.0 / K[start + i * width + i]
        for j in range(column + i * width + n, column + (i + 1) * width):
            K[j] *= inverse
    for r in range(n):
        i = n - 1 - r
        for k in range(i + 1, n):
            _subtract_row(K[start + k * width + i], column + k * width, column + i * width, n, width, K)
    for r in range(n):
        i = n - 1 - r
        if int(pivots[i]) != i:
            _exchange(column + i * width, column + int(pivots[i]) * width, width, K)


@inlined
def _subtract_row(scale: float, source: int, target: int, first: int, width: int, K: Array) -> None:
    """Rows of a panel, from the first column of its blocks on."""
    given, row = K[source + first : source + width], K[target + first : target + width]
    for j in range(width - first):
        row[j] -= scale * given[j]


@inlined
def _exchange(first: int, second: int, size: int, K: Array) -> None:
    for j in range(size):
        K[first + j], K[second + j] = K[second + j], K[first + j]


@device
def _update_panels(trees: Array, pattern: Pattern, half: int, p: int, block: int, K: Array) -> None:
    """Equation (2) for one block i of panel p and all j from i on, and for their counterparts below the diagonal."""
    start, width, num_p = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]["num_v"]
    i = pattern.block_position[block]
    num_i, left = trees[pattern.tree[i]]["num_v"], start + pattern.block_column[block]
    target_width = pattern.panel_width[i]
    search = pattern.block_start[i]
    for other in range(block, pattern.block_start[p + 1]):
        j = pattern.block_position[other]
        target = pattern.panel_start[i]
        if j != i:
            while pattern.block_position[search] != j:
                search += 1
            target += pattern.block_column[search]
        right, num_j = start + pattern.block_column[other], trees[pattern.tree[j]]["num_v"]
        _subtract(num_p, num_i, num_j, half + left, right, width, target, target_width, K)
        if j != i:
            _subtract(num_p, num_i, num_j, left, half + right, width, half + target, target_width, K)


@inlined
def _subtract(
    num_p: int, num_i: int, num_j: int, left: int, right: int, width: int, target: int, target_width: int, K: Array
) -> None:
    """The block at `target` loses the transposed block at `left` times the one at `right`."""
    if num_p == 6 and num_i == 6 and num_j == 6:
        subtract_product_of_six(left, right, width, target, target_width, K)
    else:
        subtract_product(num_p, num_i, num_j, left, right, width, target, target_width, K)


# ---------------------------------------------------------------------- solution


@device
def solve_panels(trees: Array, pattern: Pattern, num_panels: int, panels: Array, pivots: Array, x: Array) -> None:
    """Solves K x = b in place, on generalized velocities in their own order, shape [num_v]."""
    half = pattern.panel_start[num_panels]
    for p in range(num_panels):
        start, width, tree = half + pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
        n, own = tree["num_v"], tree["v_start"]
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            other = trees[pattern.tree[pattern.block_position[b]]]
            m, target, block = other["num_v"], other["v_start"], start + pattern.block_column[b]
            if n == 6 and m == 6:
                subtract_six_times(block, width, own, target, panels, x)
                continue
            for i in range(n):
                for j in range(m):
                    x[target + j] -= panels[block + i * width + j] * x[own + i]
    for q in range(num_panels):
        p = num_panels - 1 - q
        start, width, tree = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
        n, own = tree["num_v"], tree["v_start"]
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            other = trees[pattern.tree[pattern.block_position[b]]]
            m, source, block = other["num_v"], other["v_start"], start + pattern.block_column[b]
            if n == 6 and m == 6:
                subtract_times_six(block, width, source, own, panels, x)
                continue
            for i in range(n):
                for j in range(m):
                    x[own + i] -= panels[block + i * width + j] * x[source + j]
        _solve_diagonal(n, start, width, panels, pivots[own : own + n], x[own : own + n])


@device
def _solve_diagonal(n: int, start: int, width: int, K: Array, pivots: Array, x: Array) -> None:
    """x = K_pp^-1 x."""
    for k in range(n):
        best = int(pivots[k])
        x[k], x[best] = x[best], x[k]
    for k in range(n):
        for i in range(k + 1, n):
            x[i] -= K[start + i * width + k] * x[k]
    for r in range(n):
        k = n - 1 - r
        for j in range(k + 1, n):
            x[k] -= K[start + k * width + j] * x[j]
        x[k] /= K[start + k * width + k]
