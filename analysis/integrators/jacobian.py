"""Jacobians of the derivatives, and the linear systems that Newton's method solves with them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FullLinearization",
    "JacobianComputationScheme",
    "Linearization",
    "VelocityLinearization",
    "difference_jacobian",
]

Array = NDArray[Any]

EPSILON = float(np.finfo(float).eps)
# A variable smaller than this is changed as if it were this large.
SMALL = 1e-5
SMALL_CENTRAL = 1e-2


class JacobianComputationScheme(enum.Enum):
    """How Jacobians are computed."""

    kForwardDifference = 1
    kCentralDifference = 2


def difference_jacobian(
    derivatives: Callable[[Array], Array], x: Array, xdot: Array, scheme: JacobianComputationScheme
) -> Array:
    """The matrix of the partials of the derivatives by differences.

    Args:
        derivatives: computes them; its argument and its result may be overwritten by the next call.
        x: where to differentiate, shape [n].
        xdot: the derivatives there, shape [n].
        scheme: forward differences take n evaluations, central ones 2 n.

    Returns:
        J[i, j] = d xdot_i / d x_j, real, shape [n, n].
    """
    x, start = x.copy(), x.real
    J = np.empty((len(x), len(x)))
    is_central = scheme is JacobianComputationScheme.kCentralDifference
    if is_central:
        steps = EPSILON ** (1 / 3) * np.maximum(np.abs(start), SMALL_CENTRAL)
    else:
        steps = np.sqrt(EPSILON * np.maximum(np.abs(start), SMALL))  # Hairer and Wanner 1996, IV.8
    for j, step in enumerate(steps):
        value = x[j]
        x[j] = value + step
        step_up = (x[j] - value).real  # what the sum has kept of it
        up = derivatives(x).real.copy()
        if is_central:
            x[j] = value - step
            down, step_down = derivatives(x).real, (value - x[j]).real
            J[:, j] = (up - down) / (step_up + step_down)
        else:
            J[:, j] = (up - xdot.real) / step_up
        x[j] = value
    return J


class Linearization(Protocol):
    """Jacobian of the derivatives, in the form that an integrator wants to solve with."""

    def factor(self, mu: complex) -> Callable[[Array], Array]:
        """Factors mu I - J; the function returned solves (mu I - J) d = r for d."""


class FullLinearization:
    """The whole Jacobian.

    Args:
        J: shape [n, n].
    """

    def __init__(self, J: Array) -> None:
        self._J = J

    def factor(self, mu: complex) -> Callable[[Array], Array]:
        """Factors mu I - J."""
        return _factor(mu * np.eye(len(self._J)) - self._J)


class VelocityLinearization:
    """The Jacobian of a mechanical system, reduced to its velocities.

    With positions q, all other variables y (velocities first among them), and d qdot / dq neglected,

        [ mu I    -N          ] [ dq ]   [ r_q ]
        [ -J_yq   mu I - J_yy ] [ dy ] = [ r_y ],      N = d qdot / dy          (1)

    so that only a matrix of the size of y is factored:

        (mu I - J_yy - J_yq N / mu) dy = r_y + J_yq r_q / mu,   dq = (r_q + N dy) / mu    (2)

    Args:
        J: the whole Jacobian, shape [n, n].
        q: where the positions stand among the n variables.
        y: where the others stand.
    """

    def __init__(self, J: Array, q: Array, y: Array) -> None:
        self._q, self._y = q, y
        self._N = J[np.ix_(q, y)]
        self._J_yq = J[np.ix_(y, q)]
        self._J_yy = J[np.ix_(y, y)]

    def factor(self, mu: complex) -> Callable[[Array], Array]:
        """Factors the matrix of (2)."""
        q, y, N, J_yq = self._q, self._y, self._N, self._J_yq
        solve_y = _factor(mu * np.eye(len(y)) - self._J_yy - J_yq @ N / mu)

        def solve(r: Array) -> Array:
            d = np.empty_like(r)
            dy = solve_y(r[y] + J_yq @ r[q] / mu)  # (2)
            d[y] = dy
            d[q] = (r[q] + N @ dy) / mu
            return d

        return solve


def _factor(matrix: Array) -> Callable[[Array], Array]:
    from scipy.linalg import lapack  # here, since few simulations need it

    is_complex = np.iscomplexobj(matrix)
    factor, solve = (lapack.zgetrf, lapack.zgetrs) if is_complex else (lapack.dgetrf, lapack.dgetrs)
    lu, pivots, _ = factor(matrix)  # a singular matrix gives solutions that are not finite

    def solve_with(r: Array) -> Array:
        if np.iscomplexobj(r) and not is_complex:
            return solve(lu, pivots, r.real)[0] + 1j * solve(lu, pivots, r.imag)[0]
        return solve(lu, pivots, r)[0]

    return solve_with
