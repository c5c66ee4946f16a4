"""The tangent matrix of a step as some nodes feel it, and how the others follow these.

With the unknowns p of nodes that take part in contacts, and n of the others, forces f on p change the velocities v* of
free motion by A (v - v*) = E f, where E has the columns of the identity that belong to p. So

    S = (E^T A^-1 E)^-1 = A_pp - A_pn A_nn^-1 A_np                                        (1)
    v = v* + A^-1 E S (v_p - v*_p)                                                        (2)

A is the tangent matrix at the end of free motion, factored as U^T U (contact/factorization.py), and (1) is the inverse
of W^T W with U^T W = E. Column k of W has zeros before its own place on the way of elimination. So columns are taken in
the order of these places, and each row of W has numbers in its first columns only.

Source: X. Han, J. Masterjohn, A. Castro (2023), section IV.
"""

from __future__ import annotations

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.hinted_types import Floats, Integers
from merganser.framework.native.views import as_matrix
from merganser.multibody.contact.factorization import solve
from merganser.multibody.fem.layout import CONVERGED, SINGULAR_MATRIX, Array, BodyArrays, StepWork
from merganser.multibody.fem.newton import factor_tangent

__all__ = ["couple_nodes", "follow_nodes"]


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
def _square(body: BodyArrays, panels: Array, column_of: Array, W: Array, order: Array, S_out: Array) -> None:
    """W^T W in S_out, and in `order` which column of E is each of W."""
    trees, pattern, size = body.trees, body.pattern, 0
    for a in range(S_out.shape[0]):
        for b in range(S_out.shape[0]):
            S_out[a, b] = 0.0
    for i in range(W.shape[0]):
        for k in range(W.shape[1]):
            W[i, k] = 0.0
    for p in range(trees.shape[0]):
        tree, start, width = trees[pattern.tree[p]], pattern.panel_start[p], pattern.panel_width[p]
        n, own = tree["num_v"], tree["v_start"]
        for i in range(own, own + n):
            if column_of[i] >= 0:
                order[size] = column_of[i]
                W[i, size] = 1.0
                size += 1
        if not _has_numbers(W, own, n, size):
            continue
        _solve_diagonal(own, n, size, start, width, panels, W)
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            other = trees[pattern.tree[pattern.block_position[b]]]
            block, first = start + pattern.block_column[b], other["v_start"]
            for j in range(other["num_v"]):
                target = W[first + j]
                for i in range(0, n, 3):
                    at = block + i * width + j
                    scales = panels[at], panels[at + width], panels[at + 2 * width]
                    _subtract_three(scales, W[own + i], W[own + i + 1], W[own + i + 2], size, target)
        for a in range(size):
            for i in range(own, own + n, 3):
                scales = -W[i, a], -W[i + 1, a], -W[i + 2, a]
                _subtract_three(scales, W[i], W[i + 1], W[i + 2], a + 1, S_out[a])
    for a in range(S_out.shape[0]):
        for b in range(a):
            S_out[b, a] = S_out[a, b]


@inlined
def _subtract_three(
    scales: tuple[float, float, float], first: Array, second: Array, third: Array, size: int, out: Array
) -> None:
    """Takes multiples of three rows, as many as a node has, from the first columns of another one."""
    a, b, c = scales
    if a == 0.0 and b == 0.0 and c == 0.0:
        return
    for k in range(size):
        out[k] -= a * first[k] + b * second[k] + c * third[k]


@device
def _has_numbers(W: Array, own: int, n: int, size: int) -> bool:
    """Whether any number of some rows is not zero."""
    total = 0.0
    for i in range(own, own + n):
        row = W[i]
        for k in range(size):
            total = max(total, abs(row[k]))
    return total > 0.0


@device
def _solve_diagonal(own: int, n: int, size: int, start: int, width: int, panels: Array, W: Array) -> None:
    """The rows of one panel: blocks of six are factored from the first to the last row, others the other way round."""
    for r in range(n):
        i = r if n == 6 else n - 1 - r
        row, inverse = W[own + i], panels[start + i * width + i]
        for k in range(size):
            row[k] *= inverse
        for s in range(r + 1, n):
            j = s if n == 6 else n - 1 - s
            scale, target = panels[start + i * width + j], W[own + j]
            for k in range(size):
                target[k] -= scale * row[k]


@device
def _invert(S: Array) -> bool:
    """Replaces a symmetric positive definite matrix by its inverse, row by row (Gauss and Jordan)."""
    n = S.shape[0]
    for k in range(n):
        if not S[k, k] > 0.0:
            return False
        inverse, pivot = 1.0 / S[k, k], S[k]
        pivot[k] = 1.0
        for j in range(n):
            pivot[j] *= inverse
        for i in range(n):
            scale, row = S[i, k], S[i]
            if i != k and scale != 0.0:
                row[k] = 0.0
                for j in range(n):
                    row[j] -= scale * pivot[j]
    for i in range(n):
        for j in range(i):
            S[i, j] = S[j, i] = 0.5 * (S[i, j] + S[j, i])
    return True


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
