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
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.linear.factorization import subtract_from_others, subtract_from_own, update_panel
from merganser.multibody.linear.hessian import add_product, add_rows, find_block, find_trees, is_zero, set_matrix
from merganser.multibody.linear.ordering import Pattern
from merganser.multibody.linear.products import Block
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem, Trees

# ---------------------------------------------------------------------- assembly


@device
def assemble_panels(
    problem: Problem,
    num_panels: int,
    constraints: Integers,  # of the island
    pattern: Pattern,
    hessian: Floats,  # G, of contacts [G_11 G_12 G_1n; G_12 G_22 G_2n; 0 0 G_nn]; shape [HESSIAN_SIZE num_rows]
    panels_out: Floats,
) -> None:
    """Computes the panels of K."""
    half = pattern.panel_start[num_panels]
    set_matrix(problem, num_panels, pattern, 2 * half, panels_out)
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        p, left, q, right = find_trees(problem, pattern, c)
        if c["kind"] == CONTACT:
            G = hessian[HESSIAN_SIZE * c["row_start"] : HESSIAN_SIZE * (c["row_start"] + 3)]
            if is_zero(G):
                continue
            _add_block(pattern, G, False, p, left, p, left, 0, panels_out)
            if q >= 0:
                _add_block(pattern, G, False, p, left, q, right, 0, panels_out)
                _add_block(pattern, G, True, p, left, q, right, half, panels_out)
                _add_block(pattern, G, False, q, right, q, right, 0, panels_out)
            continue
        add_rows(pattern, c, hessian, p, left, q, right, half, panels_out)


@device
def _add_block(
    pattern: Pattern,
    G: Floats,  # of a contact
    is_transposed: bool,  # whether G^T is meant
    p: int,  # positions p <= q of the trees
    J_p: Block,
    q: int,
    J_q: Block,
    panels_from: int,  # where the panels start
    panels: Floats,
) -> None:
    """J_p^T G J_q, or J_p^T G^T J_q, to the block of positions p and q."""
    width, start = pattern.panel_width[p], panels_from + find_block(pattern, p, q)
    none, normal = (0.0, 0.0), (G[3], G[4])
    if is_transposed:
        add_product(G, none, normal, J_p, J_q, False, start, width, panels)
    else:
        add_product(G, normal, none, J_p, J_q, False, start, width, panels)


# ---------------------------------------------------------------------- elimination


@device
def factor_panels(trees: Trees, pattern: Pattern, num_panels: int, panels: Floats, pivots_out: Floats) -> bool:
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
        if not factor_block(n, start, width, panels, pivots):
            return False
        _divide_column(n, start, half + start, width, panels, pivots)
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            update_panel(trees, pattern, p, p, b, b, half, 0, panels)
            update_panel(trees, pattern, p, p, b, b + 1, 0, half, panels)  # the counterparts below the diagonal
    return True


@device
def factor_block(n: int, start: int, width: int, K: Floats, pivots: Floats) -> bool:
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
            if scale != 0.0:
                _subtract_row(scale, start + k * width, start + i * width, k + 1, n, K)
    return True


@device
def _divide_column(n: int, start: int, column: int, width: int, K: Floats, pivots: Floats) -> None:
    """L_jp^T = K_pp^-T K_jp^T = P^T L_p^-T R_p^-T K_jp^T of (1), for all j; `column` is where that panel starts."""
    for i in range(n):
        for k in range(i):
            _subtract_row(K[start + k * width + i], column + k * width, column + i * width, n, width, K)
        inverse = 1.0 / K[start + i * width + i]
        row = K[column + i * width + n : column + (i + 1) * width]
        for j in range(width - n):
            row[j] *= inverse
    for r in range(n):
        i = n - 1 - r
        for k in range(i + 1, n):
            _subtract_row(K[start + k * width + i], column + k * width, column + i * width, n, width, K)
    for r in range(n):
        i = n - 1 - r
        if int(pivots[i]) != i:
            _exchange(column + i * width, column + int(pivots[i]) * width, width, K)


@inlined
def _subtract_row(scale: float, source: int, target: int, first: int, end: int, K: Floats) -> None:
    """Rows of a panel, of which those columns count that are from the first on, and before the end."""
    given, row = K[source + first : source + end], K[target + first : target + end]
    for j in range(end - first):
        row[j] -= scale * given[j]


@inlined
def _exchange(first: int, second: int, size: int, K: Floats) -> None:
    for j in range(size):
        K[first + j], K[second + j] = K[second + j], K[first + j]


# ---------------------------------------------------------------------- solution


@device
def solve_panels(trees: Trees, pattern: Pattern, num_panels: int, panels: Floats, pivots: Floats, x: Floats) -> None:
    """Solves K x = b in place, on generalized velocities in their own order, shape [num_v]."""
    half = pattern.panel_start[num_panels]
    for p in range(num_panels):
        subtract_from_others(trees, pattern, p, half, panels, x)
    for q in range(num_panels):
        p = num_panels - 1 - q
        start, width, tree = pattern.panel_start[p], pattern.panel_width[p], trees[pattern.tree[p]]
        n, own = tree["num_v"], tree["v_start"]
        subtract_from_own(trees, pattern, p, panels, x)
        solve_block(n, start, width, panels, pivots[own : own + n], x[own : own + n])


@device
def solve_block(n: int, start: int, width: int, K: Floats, pivots: Floats, x: Floats) -> None:
    """x = K_pp^-1 x."""
    for k in range(n):
        best = int(pivots[k])
        x[k], x[best] = x[best], x[k]
    for k in range(n):
        for i in range(k + 1, n):
            x[i] -= K[start + i * width + k] * x[k]
    for r in range(n):
        k = n - 1 - r
        row, rest = K[start + k * width + k : start + k * width + n], x[k:n]
        total = rest[0]
        for j in range(1, n - k):
            total -= row[j] * rest[j]
        rest[0] = total / row[0]


@device
def solve_columns(n: int, K: Floats, pivots: Floats, X: FloatTable) -> None:
    """X = K^-1 X, of a block alone, with operations on rows: X has many columns."""
    for k in range(n):
        given, row = X[int(pivots[k])], X[k]
        if int(pivots[k]) != k:
            for j in range(X.shape[1]):
                row[j], given[j] = given[j], row[j]
    for k in range(n):
        for i in range(k + 1, n):
            _subtract(K[i * n + k], X[k], X[i])
    for r in range(n):
        k = n - 1 - r
        row, inverse = X[k], 1.0 / K[k * n + k]
        for i in range(k + 1, n):
            _subtract(K[k * n + i], X[i], row)
        for j in range(X.shape[1]):
            row[j] *= inverse


@inlined
def _subtract(scale: float, given: Floats, row: Floats) -> None:
    if scale != 0.0:
        for j in range(row.shape[0]):
            row[j] -= scale * given[j]
