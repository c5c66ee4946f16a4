"""Least squares with linear inequalities, exactly: min |A x - b|^2 subject to G x >= h.

With A = Q R of full column rank and z = R x - Q^T b, this is the problem of the shortest vector,

    min |z|^2   subject to   G~ z >= h~,   G~ = G R^-1,   h~ = h - G~ Q^T b                               (1)

whose dual is a least-squares problem of numbers that are not negative:

    u = argmin |E u - f|^2,   u >= 0,   E = [G~^T; h~^T],   f = [0, ..., 0, 1]^T                          (2)
    r = E u - f,   z_j = -r_j / r_last,   |r|^2 = 1 / (1 + |z|^2)                                         (3)

There is no z if r is zero. Where u is positive, inequalities hold as equalities; with these alone the solution is
computed once more, to the last digits. DAQP solves (1) ten times as fast, where it is installed; (2) and (3) decide
where it finds nothing.

Source: C. Lawson, R. Hanson, Solving Least Squares Problems (1974), chapter 23.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization.forms.dense_programs import sense_of_rows
from merganser.framework.optimization.solvers.daqp_solver import DaqpSolver

Array = NDArray[Any]

_FEASIBLE = 1e-7  # of |r| in equation (3): solutions that are 10^7 long are none
_SLACK = 1e-9  # by which inequalities of unit rows may be missed
_EXACT = 1e-12  # the same for DAQP, whose optima are exact but for rounding


def least_squares_within(A: Array, b: Array, G: Array, h: Array) -> Array | None:
    """Returns x with the least |A x - b| among those with G x >= h, or None if infeasible.

    Args:
        A: of full column rank, shape [m, n].
        b: shape [m].
        G: shape [k, n].
        h: shape [k]; not infinite.

    Raises:
        ValueError: numbers are not finite, or A has not full column rank.
    """
    if not all(np.isfinite(array).all() for array in (A, b, G, h)):
        raise ValueError("least_squares_within: numbers must be finite.")
    Q, R = np.linalg.qr(A)
    if A.shape[0] < A.shape[1] or np.abs(np.diag(R)).min(initial=np.inf) <= 1e-12 * np.abs(R).max(initial=0.0):
        raise ValueError("least_squares_within: the columns of A are not independent.")
    y = Q.T @ b
    R_inverse = np.linalg.inv(R)  # small, and ten times faster than threads that solve with a triangle
    G_z = G @ R_inverse
    scale = np.linalg.norm(G_z, axis=1)
    is_row = scale > 1e-12  # others are 0 >= h
    if (h[~is_row] > _SLACK).any():
        return None
    G_z, h_z = G_z[is_row] / scale[is_row, np.newaxis], (h[is_row] - G_z[is_row] @ y) / scale[is_row]
    z = _shortest(G_z, h_z)  # (1)
    return None if z is None else np.asarray(R_inverse @ (z + y))


@functools.cache
def _identity(size: int) -> Array:
    return np.eye(size)


class Polyhedron:
    """The points x with lower <= [x; A x] <= upper.

    Args:
        A: shape [m, n].
        lower, upper: shape [n + m]; may be infinite.
    """

    def __init__(self, A: Array, lower: Array, upper: Array) -> None:
        self._A, self._lower, self._upper = A, lower, upper
        self._identity, self._solve = _identity(A.shape[1]), None
        if DaqpSolver().available() and not np.count_nonzero(lower > upper):
            import daqp

            self._solve, self._sense = daqp.solve, sense_of_rows(lower, upper)

    def nearest(self, x_0: Array) -> Array | None:
        """Returns x with the least |x - x_0|, or None if there are no points."""
        if self._solve is not None:
            x, _, flag, _ = self._solve(
                self._identity, -x_0, self._A, self._upper, self._lower, self._sense, primal_tol=_EXACT
            )
            if flag > 0:
                return np.asarray(x)
        rows = rows_of_bounds(np.vstack((self._identity, self._A)), self._lower, self._upper)
        return least_squares_within(self._identity, x_0, *rows)


def _shortest(G: Array, h: Array) -> Array | None:
    """The shortest z with G z >= h, by equations (2) and (3); rows of G are of unit length."""
    n = G.shape[1]
    if (h <= 0.0).all():
        return np.zeros(n)
    if DaqpSolver().available():
        import daqp

        rows = np.zeros(len(h), np.intc)
        z, _, flag, _ = daqp.solve(np.eye(n), np.zeros(n), G, np.full(len(h), np.inf), h, rows, primal_tol=_EXACT)
        if flag > 0:
            return np.asarray(z)
    from scipy.optimize import nnls  # most programs do without

    f = np.eye(n + 1)[n]
    u, residual = nnls(np.vstack([G.T, h]), f, maxiter=max(100, 10 * len(h)))
    if residual < _FEASIBLE:
        return None
    r = np.vstack([G.T, h]) @ u - f
    z = -r[:n] / r[n]
    active = u > 0.0
    exact = np.linalg.lstsq(G[active], h[active], rcond=None)[0]
    if (G @ exact >= h - _SLACK * (1.0 + np.abs(h))).all() and np.linalg.norm(exact) <= np.linalg.norm(z) + _SLACK:
        return np.asarray(exact)
    return np.asarray(z)


def rows_of_bounds(M: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Inequalities G x >= h for low <= M x <= high; infinite bounds are none.

    Returns:
        G, shape [k, n], and h, shape [k].
    """
    below, above = np.isfinite(low), np.isfinite(high)
    return np.vstack([M[below], -M[above]]), np.concatenate([low[below], -high[above]])
