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

import numpy as np

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


def schur_complement(body: BodyArrays, panels: Array, unknowns: Array) -> Array:
    """Returns S of equation (1), shape [n, n].

    Args:
        body: at rest.
        panels: with the factor of A.
        unknowns: those of p, shape [n].
    """
    W = np.zeros((int(body.trees["num_v"].sum()), len(unknowns)))
    W[unknowns, np.arange(len(unknowns))] = 1.0
    _solve_transposed(body, panels, np.zeros(len(body.trees), np.int64), W)
    inverse = np.linalg.inv(np.linalg.cholesky(W.T @ W))  # of the factor: S = L^-T L^-1
    return np.asarray(inverse.T @ inverse)


@kernel
def _solve_transposed(body: BodyArrays, panels_in: Array, is_used_work: Array, W_io: Array) -> None:
    """W = U^-T W, by rows that have numbers."""
    trees, pattern = body.trees, body.pattern
    for t in range(trees.shape[0]):
        tree = trees[t]
        is_used_work[t] = 0
        for i in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            for k in range(W_io.shape[1]):
                if W_io[i, k] != 0.0:
                    is_used_work[t] = 1
    for p in range(trees.shape[0]):
        t = pattern.tree[p]
        if is_used_work[t] == 0:
            continue
        n, own, start, width = trees[t]["num_v"], trees[t]["v_start"], pattern.panel_start[p], pattern.panel_width[p]
        _solve_diagonal(n, start, width, panels_in, W_io[own : own + n])
        for b in range(pattern.block_start[p], pattern.block_start[p + 1]):
            other = pattern.tree[pattern.block_position[b]]
            is_used_work[other] = 1
            first, block = trees[other]["v_start"], start + pattern.block_column[b]
            for i in range(n):
                given = W_io[own + i]
                for j in range(trees[other]["num_v"]):
                    scale = panels_in[block + i * width + j]
                    if scale != 0.0:
                        row = W_io[first + j]
                        for k in range(row.shape[0]):
                            row[k] -= scale * given[k]


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
