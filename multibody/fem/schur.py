"""The tangent matrix of a step as some nodes feel it, and how the others follow these.

With the unknowns p of nodes that take part in contacts, and n of the others, forces f on p change the velocities v* of
free motion by A (v - v*) = E f, where E has the columns of the identity that belong to p. So

    S = (E^T A^-1 E)^-1 = A_pp - A_pn A_nn^-1 A_np                                        (1)
    v = v* + A^-1 E S (v_p - v*_p)                                                        (2)

A is the tangent matrix at the end of free motion, factored as U^T U (contact/factorization.py), and (1) is the inverse
of W^T W with U^T W = E: rows of W are zero before the first node of E on the way of elimination, and are left out.

Source: X. Han, J. Masterjohn, A. Castro (2023), section IV.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.contact.factorization import solve
from merganser.multibody.fem.layout import Array, BodyArrays, StepWork
from merganser.multibody.fem.newton import factor_tangent

__all__ = ["factor_end", "follow", "schur_complement"]


@kernel
def factor_end(time_step: float, body: BodyArrays, q_next: Array, work: StepWork) -> bool:
    """Factors A of the end of free motion, in the panels; False if it is singular.

    Args:
        time_step: h [s].
        body: at rest.
        q_next: positions after free motion [m].
        work: as free_motion() has left it.
    """
    return factor_tangent(body, time_step, 0, 0, q_next, work) >= 0


@kernel
def schur_complement(body: BodyArrays, panels_in: Array, unknowns: Array, W_work: Array, S_out: Array) -> bool:
    """Computes S of equation (1); returns whether it is one.

    Args:
        body: at rest.
        panels_in: with the factor of A.
        unknowns: those of p, shape [n].
        W_work: room, shape [num_unknowns, n].
        S_out: shape [n, n].
    """
    for i in range(W_work.shape[0]):
        for k in range(W_work.shape[1]):
            W_work[i, k] = 0.0
    for k in range(unknowns.shape[0]):
        W_work[unknowns[k], k] = 1.0
    _solve_transposed(body, panels_in, W_work)
    for a in range(S_out.shape[0]):
        for b in range(S_out.shape[1]):
            S_out[a, b] = 0.0
    for i in range(W_work.shape[0]):
        row = W_work[i]
        for a in range(row.shape[0]):
            scale, out = row[a], S_out[a]
            if scale != 0.0:
                for b in range(row.shape[0]):
                    out[b] += scale * row[b]
    return _invert(S_out)


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


@device
def _solve_transposed(body: BodyArrays, panels: Array, W: Array) -> None:
    """W = U^-T W, without the rows that are zero."""
    trees, pattern = body.trees, body.pattern
    for p in range(trees.shape[0]):
        t = pattern.tree[p]
        n, own, start, width = trees[t]["num_v"], trees[t]["v_start"], pattern.panel_start[p], pattern.panel_width[p]
        if not _has_numbers(W[own : own + n]):
            continue
        _solve_diagonal(n, start, width, panels, W[own : own + n])
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            other = pattern.tree[pattern.block_position[b]]
            first, block = trees[other]["v_start"], start + pattern.block_column[b]
            for i in range(n):
                given = W[own + i]
                for j in range(trees[other]["num_v"]):
                    scale, row = panels[block + i * width + j], W[first + j]
                    if scale != 0.0:
                        for k in range(row.shape[0]):
                            row[k] -= scale * given[k]


@device
def _has_numbers(rows: Array) -> bool:
    """Whether any number is not zero."""
    total = 0.0
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            total = max(total, abs(rows[i, k]))
    return total > 0.0


@device
def _solve_diagonal(n: int, start: int, width: int, panels: Array, W: Array) -> None:
    """The rows of one panel: blocks of six are factored from the first to the last row, others the other way round."""
    for r in range(n):
        i = r if n == 6 else n - 1 - r
        row, inverse = W[i], panels[start + i * width + i]
        for k in range(row.shape[0]):
            row[k] *= inverse
        for s in range(r + 1, n):
            j = s if n == 6 else n - 1 - s
            scale, target = panels[start + i * width + j], W[j]
            for k in range(row.shape[0]):
                target[k] -= scale * row[k]


@kernel
def follow(body: BodyArrays, work: StepWork, change_io: Array) -> None:
    """Equation (2): from forces E S (v_p - v*_p) to changes of all velocities in their place; shape [num_unknowns]."""
    solve(body.trees, body.pattern, body.trees.shape[0], work.panels, change_io)
