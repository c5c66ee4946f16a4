"""The tangent matrix of a step as some nodes feel it, and how the others follow these.

With the unknowns p of nodes that take part in contacts, and n of the others, forces f on p change the velocities v* of
free motion by A (v - v*) = E f, where E has the columns of the identity that belong to p. So

    S = (E^T A^-1 E)^-1 = A_pp - A_pn A_nn^-1 A_np                                        (1)
    v = v* + A^-1 E S (v_p - v*_p)                                                        (2)

A is the tangent matrix at the end of free motion, factored as U^T U (linear/factorization.py), and (1) is the inverse
of W^T W with U^T W = E. Column k of W has zeros before its own place on the way of elimination. So columns are taken in
the order of these places, and each row of W has numbers in its first columns only.

Source: X. Han, J. Masterjohn, A. Castro (2023), section IV.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.views import as_matrix
from merganser.multibody.fem.layout import CONVERGED, SINGULAR_MATRIX, BodyArrays, StepWork
from merganser.multibody.fem.newton import factor_tangent
from merganser.multibody.linear.factorization import solve


@kernel
def couple_nodes(
    # Model:
    time_step: float,  # h [s]
    body: BodyArrays,
    is_factored: int,  # whether the panels have the factor of A at the end of free motion already
    # In:
    q_next_in: Floats,  # positions after free motion [m]
    nodes_in: Integers,  # those of p, none of them held, shape [n]
    # Work:
    work: StepWork,  # as free_motion() has left it; the panels get the factor of A
    columns_work: Integers,  # shape [num_unknowns + 3 n]
    W_work: Floats,  # shape [num_unknowns 3 n]
    S_work: Floats,  # shape [9 n^2]
    # Out:
    matrix_out: Floats,  # h S of equation (1) by rows [kg], shape [9 n^2]
) -> int:
    """Computes how nodes give way; returns CONVERGED, or SINGULAR_MATRIX."""
    if is_factored == 0 and factor_tangent(body, time_step, 0, 0, q_next_in, work) < 0:
        return SINGULAR_MATRIX
    n = 3 * nodes_in.shape[0]
    num_unknowns = columns_work.shape[0] - n
    column_of, order = columns_work[:num_unknowns], columns_work[num_unknowns:]
    for i in range(num_unknowns):
        column_of[i] = -1
    for k in range(nodes_in.shape[0]):
        for r in range(3):
            column_of[body.unknown[nodes_in[k]] + r] = 3 * k + r
    S, out = as_matrix(S_work, n, n), as_matrix(matrix_out, n, n)
    _square(body, work.panels, column_of, as_matrix(W_work, num_unknowns, n), order, S)
    if not _invert(S):
        return SINGULAR_MATRIX
    for i in range(n):
        for j in range(n):
            out[order[i], order[j]] = time_step * S[i, j]
    return CONVERGED


@device
def _square(
    body: BodyArrays, panels: Floats, column_of: Integers, W: FloatTable, order: Integers, S_out: FloatTable
) -> None:
    """W^T W in S_out, and in `order` which column of E is each of W."""
    trees, pattern, size = body.trees, body.pattern, 0
    for a in range(S_out.shape[0]):
        for b in range(S_out.shape[0]):
            S_out[a, b] = 0.0
    for i in range(W.shape[0]):
        for k in range(W.shape[1]):
            W[i, k] = 0.0
    for p in range(trees.shape[0]):
        own, start, width = trees[pattern.tree[p]]["v_start"], pattern.panel_start[p], pattern.panel_width[p]
        for i in range(own, own + 6):
            if column_of[i] >= 0:
                order[size] = column_of[i]
                W[i, size] = 1.0
                size += 1
        rows = W[own : own + 6]
        if not _has_numbers(rows, size):
            continue
        _solve_diagonal(rows, size, start, width, panels)
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            at = start + pattern.block_column[b]
            target = trees[pattern.tree[pattern.block_position[b]]]["v_start"]
            for j in range(6):
                column = (
                    -panels[at + j], -panels[at + width + j], -panels[at + 2 * width + j], -panels[at + 3 * width + j],
                    -panels[at + 4 * width + j], -panels[at + 5 * width + j],
                )  # fmt: skip
                _add_rows(column, rows, size, W[target + j])
        for a in range(size):
            column = rows[0, a], rows[1, a], rows[2, a], rows[3, a], rows[4, a], rows[5, a]
            _add_rows(column, rows, a + 1, S_out[a])
    for a in range(S_out.shape[0]):
        for b in range(a):
            S_out[b, a] = S_out[a, b]


@inlined
def _add_rows(
    scales: tuple[float, float, float, float, float, float], rows: FloatTable, size: int, out: Floats
) -> None:
    """Adds multiples of six rows to another one, in its first columns."""
    a, b, c, d, e, f = scales
    if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0 and e == 0.0 and f == 0.0:
        return
    row_0, row_1, row_2, row_3, row_4, row_5 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    for k in range(size):
        out[k] += a * row_0[k] + b * row_1[k] + c * row_2[k] + d * row_3[k] + e * row_4[k] + f * row_5[k]


@device
def _has_numbers(rows: FloatTable, size: int) -> bool:
    """Whether any number in the first columns of six rows is not zero."""
    total = 0.0
    for i in range(6):
        row = rows[i]
        for k in range(size):
            total = max(total, abs(row[k]))
    return total > 0.0


@device
def _solve_diagonal(rows: FloatTable, size: int, start: int, width: int, panels: Floats) -> None:
    """U_pp^-T times six rows."""
    for i in range(6):
        row, inverse = rows[i], panels[start + i * width + i]
        for k in range(size):
            row[k] *= inverse
        for j in range(i + 1, 6):
            scale, target = panels[start + i * width + j], rows[j]
            for k in range(size):
                target[k] -= scale * row[k]


@device
def _invert(S: FloatTable) -> bool:
    """Replaces a symmetric positive definite matrix, of three rows for each node, by its inverse (Gauss and Jordan).

    Six pivots at a time: couple_nodes() takes 17 ms for 120 nodes, and 30 ms with one after the other.
    """
    n, k = S.shape[0], 0
    while k < n:
        size = min(6, n - k)
        pivots = S[k : k + size]
        for r in range(size):
            if not pivots[r, k + r] > 0.0:
                return False
            _eliminate(pivots, r, k + r)
        for i in range(n):
            if i < k or i >= k + size:
                _subtract_pivots(pivots, k, S[i])
        k += size
    for i in range(n):
        for j in range(i):
            S[i, j] = S[j, i] = 0.5 * (S[i, j] + S[j, i])
    return True


@device
def _eliminate(rows: FloatTable, r: int, column: int) -> None:
    """Takes row r with its pivot in a column from the other rows."""
    pivot, inverse = rows[r], 1.0 / rows[r, column]
    pivot[column] = 1.0
    for j in range(pivot.shape[0]):
        pivot[j] *= inverse
    for i in range(rows.shape[0]):
        if i != r:
            scale, row = rows[i, column], rows[i]
            row[column] = 0.0
            for j in range(row.shape[0]):
                row[j] -= scale * pivot[j]


@device
def _subtract_pivots(pivots: FloatTable, first: int, row: Floats) -> None:
    """Takes six pivots, or three, whose columns follow each other from a first one on, from another row."""
    a, b, c = row[first], row[first + 1], row[first + 2]
    if pivots.shape[0] == 6:
        scales = -a, -b, -c, -row[first + 3], -row[first + 4], -row[first + 5]
        for r in range(6):
            row[first + r] = 0.0
        _add_rows(scales, pivots, row.shape[0], row)
        return
    for r in range(3):
        row[first + r] = 0.0
    for j in range(row.shape[0]):
        row[j] -= a * pivots[0, j] + b * pivots[1, j] + c * pivots[2, j]


@kernel
def follow_nodes(
    # Model:
    time_step: float,  # h [s]
    body: BodyArrays,
    # In:
    nodes_in: Integers,  # as couple_nodes() has got them, shape [n]
    matrix_in: Floats,  # and what it has computed
    v_star_in: Floats,  # velocities of these nodes after free motion [m/s], shape [3 n]
    v_in: Floats,  # and after the step
    v_free_in: Floats,  # of all nodes after free motion, shape [3 num_nodes]
    # Work:
    work: StepWork,  # as couple_nodes() has left it
    # Out:
    v_next_out: Floats,  # of all nodes after the step
) -> None:
    """Equation (2)."""
    n, change = v_in.shape[0], work.direction
    for i in range(change.shape[0]):
        change[i] = 0.0
    for i in range(n):
        total, row = 0.0, matrix_in[i * n : (i + 1) * n]
        for j in range(n):
            total += row[j] * (v_in[j] - v_star_in[j])
        change[body.unknown[nodes_in[i // 3]] + i % 3] = total / time_step
    solve(body.trees, body.pattern, body.trees.shape[0], work.panels, change)
    for node in range(body.unknown.shape[0]):
        for r in range(3):
            at = 3 * node + r
            v_next_out[at] = v_free_in[at]
            if body.unknown[node] >= 0:
                v_next_out[at] += change[body.unknown[node] + r]
    for i in range(n):
        v_next_out[3 * nodes_in[i // 3] + i % 3] = v_in[i]
