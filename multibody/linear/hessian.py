"""The Hessian of an island, H = A + sum_c J_c^T G_c J_c, written into the panels of its factorization.

Of a pair of trees only the block in the row of the one eliminated first is kept. Of diagonal blocks that part is
complete which the factorization reads: of trees of six velocities what is right of the diagonal, of others what is left
of it.
Column i of a block of J gives row i of a block of H:

    H_pq[i, :] += (G J_p[:, i])^T J_q                                                     (1)
"""

from __future__ import annotations

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.linear.factorization import find_column
from merganser.multibody.linear.ordering import Pattern
from merganser.multibody.linear.products import Block, block_of, num_ends, tree_of
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Constraint, Problem
from merganser.multibody.linear.six import add_contact_product_of_six


@device
def assemble_hessian(
    problem: Problem,
    island_trees: Integers,
    island_constraints: Integers,
    pattern: Pattern,
    diagonal_scale: float,  # what to multiply the diagonal of H by
    hessian: Floats,  # G, shape [HESSIAN_SIZE num_rows]
    panels_out: Floats,
) -> None:
    """Computes the panels of H."""
    num_panels = island_trees.shape[0]
    set_matrix(problem, num_panels, pattern, pattern.panel_start[num_panels], panels_out)
    for i in range(island_constraints.shape[0]):
        c = problem.constraints[island_constraints[i]]
        p, J_p, q, J_q = find_trees(problem, pattern, c)
        if c["kind"] == CONTACT:
            G = hessian[HESSIAN_SIZE * c["row_start"] : HESSIAN_SIZE * (c["row_start"] + 3)]
            if not is_zero(G):
                _add_contact(pattern, G, p, J_p, q, J_q, panels_out)
            continue
        add_rows(pattern, c, hessian, p, J_p, q, J_q, -1, panels_out)
    if diagonal_scale != 1.0:
        for k in range(island_trees.shape[0]):
            for i in range(problem.trees[pattern.tree[k]]["num_v"]):
                panels_out[pattern.panel_start[k] + i * (pattern.panel_width[k] + 1)] *= diagonal_scale


@device
def find_trees(problem: Problem, pattern: Pattern, constraint: Constraint) -> tuple[int, Block, int, Block]:
    """Positions p < q of the trees of a constraint, and its blocks of J there; q = -1 if there is one tree."""
    p, J_p = pattern.position[tree_of(constraint, 0)], block_of(problem.trees, problem.jacobian, constraint, 0)
    if num_ends(constraint) == 1:
        return p, J_p, -1, J_p
    q, J_q = pattern.position[tree_of(constraint, 1)], block_of(problem.trees, problem.jacobian, constraint, 1)
    if q < p:
        return q, J_q, p, J_p
    return p, J_p, q, J_q


@inlined
def find_block(pattern: Pattern, p: int, q: int) -> int:
    """Where in the panels the block of positions p <= q starts."""
    start: int = pattern.panel_start[p]
    return start if p == q else start + find_column(pattern, p, q)


@inlined
def is_zero(G: Floats) -> bool:
    """Whether a contact has no Hessian, as none that is open has.

    The rest of G is then zero, too: G is symmetric and positive semidefinite, but for G_1n and G_2n of TAMSI, and these
    are multiples of G_nn.
    """
    return not (any_of(G[0] != 0.0) or any_of(G[2] != 0.0) or any_of(G[5] != 0.0))


@device
def set_matrix(problem: Problem, num_panels: int, pattern: Pattern, size: int, panels_out: Floats) -> None:
    """Panels of A, in an array of which the first numbers, as many as `size`, are in use."""
    for k in range(size):
        panels_out[k] = 0.0
    for p in range(num_panels):
        tree = problem.trees[pattern.tree[p]]
        start, width, n = pattern.panel_start[p], pattern.panel_width[p], tree["num_v"]
        for i in range(n):
            row = panels_out[start + i * width : start + i * width + n]
            given = problem.matrix[tree["matrix_start"] + i * n : tree["matrix_start"] + (i + 1) * n]
            for j in range(n):
                row[j] = given[j]


@inlined
def _add_contact(pattern: Pattern, G: Floats, p: int, J_p: Block, q: int, J_q: Block, panels: Floats) -> None:
    """Equation (1) for the three rows of a contact, and all blocks of positions p < q; q = -1 if there is one tree."""
    start, width = pattern.panel_start[p], pattern.panel_width[p]
    _add_diagonal_block(G, J_p, start, width, panels)
    if q >= 0:
        _add_other_block(G, J_p, J_q, start + find_column(pattern, p, q), width, panels)
        _add_diagonal_block(G, J_q, pattern.panel_start[q], pattern.panel_width[q], panels)


@device
def _add_diagonal_block(G: Floats, block: Block, start: int, width: int, panels: Floats) -> None:
    if block.num_v == 6:
        add_contact_product_of_six(G, block.J, block.J, start + block.column * (width + 1), width, panels)
    else:
        is_lower = block.num_v > 6  # smaller blocks may be those of a tree of six, which is read right of the diagonal
        add_product(G, (G[3], G[4]), (G[3], G[4]), block, block, is_lower, start, width, panels)


@device
def _add_other_block(G: Floats, left: Block, right: Block, start: int, width: int, panels: Floats) -> None:
    if left.num_v == 6 and right.num_v == 6:
        at = start + left.column * width + right.column
        add_contact_product_of_six(G, left.J, right.J, at, width, panels)
    else:
        add_product(G, (G[3], G[4]), (G[3], G[4]), left, right, False, start, width, panels)


@inlined
def add_product(
    G: Floats,  # of a contact: G_11, G_12, G_22, two numbers that do not count here, G_nn
    column_n: tuple[float, float],  # G_1n and G_2n
    row_n: tuple[float, float],  # G_n1 and G_n2
    left: Block,  # J_p
    right: Block,  # J_q
    is_lower: bool,  # whether only what is left of the diagonal is wanted, and it
    start: int,  # where the block starts
    width: int,
    panels: Floats,
) -> None:
    """J_p^T G J_q to a block."""
    G_11, G_12, G_22, G_nn = G[0], G[1], G[2], G[5]
    n, m = left.num_v, right.num_v
    for i in range(n):
        j_1, j_2, j_n = left.J[i], left.J[n + i], left.J[2 * n + i]
        g_1 = G_11 * j_1 + G_12 * j_2 + row_n[0] * j_n
        g_2 = G_12 * j_1 + G_22 * j_2 + row_n[1] * j_n
        g_n = column_n[0] * j_1 + column_n[1] * j_2 + G_nn * j_n
        if not (any_of(g_1 != 0.0) or any_of(g_2 != 0.0) or any_of(g_n != 0.0)):
            continue
        size = i + 1 if is_lower else m
        at = start + (left.column + i) * width + right.column
        row = panels[at : at + size]
        right_1, right_2, right_n = right.J[:size], right.J[m : m + size], right.J[2 * m : 2 * m + size]
        for j in range(size):
            row[j] += g_1 * right_1[j] + g_2 * right_2[j] + g_n * right_n[j]


@device
def add_rows(
    pattern: Pattern,
    constraint: Constraint,  # not a contact: its rows do not know of each other
    hessian: Floats,  # G, shape [HESSIAN_SIZE num_rows]
    p: int,
    J_p: Block,
    q: int,
    J_q: Block,
    lower_from: int,  # where the panels of what is below the diagonal start; -1 without them
    panels: Floats,
) -> None:
    """Equation (1) for the rows of a constraint, and all blocks of positions p < q; q = -1 if there is one tree."""
    for r in range(constraint["num_rows"]):
        gain = hessian[HESSIAN_SIZE * (constraint["row_start"] + r)]
        if not any_of(gain != 0.0):
            continue
        _add_row(pattern, gain, r, p, J_p, p, J_p, 0, panels)
        if q >= 0:
            _add_row(pattern, gain, r, p, J_p, q, J_q, 0, panels)
            if lower_from >= 0:
                _add_row(pattern, gain, r, p, J_p, q, J_q, lower_from, panels)
            _add_row(pattern, gain, r, q, J_q, q, J_q, 0, panels)


@device
def _add_row(
    pattern: Pattern,
    gain: float,
    r: int,
    p: int,
    J_p: Block,
    q: int,
    J_q: Block,
    panels_from: int,  # where the panels start
    panels: Floats,
) -> None:
    """Equation (1) for one row and the block of positions p <= q."""
    n, m = J_p.num_v, J_q.num_v
    width, start = pattern.panel_width[p], panels_from + find_block(pattern, p, q)
    left, right = J_p.J[r * n : (r + 1) * n], J_q.J[r * m : (r + 1) * m]
    for i in range(n):
        if not any_of(left[i] != 0.0):
            continue
        scale = gain * left[i]
        at = start + (J_p.column + i) * width + J_q.column
        row = panels[at : at + m]
        for j in range(m):
            row[j] += scale * right[j]
