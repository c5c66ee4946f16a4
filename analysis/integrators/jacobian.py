"""The linear systems that Newton's method solves in Python, by LAPACK."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.native.compiler.extending import import_whole

Array = NDArray[Any]


class JacobianComputationScheme(Enumeration):
    """How Jacobians are computed."""

    kForwardDifference = 1
    kCentralDifference = 2


class LinearAlgebra(Protocol):
    """Solves (mu I - J) d = r, with J by columns, as J[j, i]."""

    def factor(self, mu: complex, J: Array, lu: Array, pivots: Array) -> None:
        """Factors the matrix; the factors go to `lu` and `pivots`, of the size of J."""

    def solve(self, mu: complex, J: Array, lu: Array, pivots: Array, r: Array) -> Array:
        """The solution d, with the last factors."""


class FullMatrix:
    """The whole matrix."""

    def factor(self, mu: complex, J: Array, lu: Array, pivots: Array) -> None:
        """Factors mu I - J."""
        _factor(mu * np.eye(len(J)) - J.T, lu, pivots)

    def solve(self, mu: complex, J: Array, lu: Array, pivots: Array, r: Array) -> Array:
        """Solves (mu I - J) d = r."""
        return _solve(lu, pivots, r)


class VelocityMatrix:
    """The matrix of a mechanical system, reduced to its velocities.

    With positions q, all other variables y (velocities first among them), and d qdot / dq neglected,

        [ mu I    -N          ] [ dq ]   [ r_q ]
        [ -J_yq   mu I - J_yy ] [ dy ] = [ r_y ],      N = d qdot / dy          (1)

    so that only a matrix of the size of y is factored:

        (mu I - J_yy - J_yq N / mu) dy = r_y + J_yq r_q / mu,   dq = (r_q + N dy) / mu    (2)

    Args:
        q: indices of the positions among the n variables.
        y: indices of the others.
    """

    def __init__(self, q: Array, y: Array) -> None:
        self._q, self._y = q, y

    def factor(self, mu: complex, J: Array, lu: Array, pivots: Array) -> None:
        """Factors the matrix of (2)."""
        q, y, m = self._q, self._y, len(self._y)
        N, J_yq, J_yy = J.T[np.ix_(q, y)], J.T[np.ix_(y, q)], J.T[np.ix_(y, y)]
        _factor(mu * np.eye(m) - J_yy - J_yq @ N / mu, lu[:m, :m], pivots[:m])

    def solve(self, mu: complex, J: Array, lu: Array, pivots: Array, r: Array) -> Array:
        """Solves (1)."""
        q, y, m = self._q, self._y, len(self._y)
        N, J_yq = J.T[np.ix_(q, y)], J.T[np.ix_(y, q)]
        d = np.empty_like(r)
        d[y] = dy = _solve(lu[:m, :m], pivots[:m], r[y] + J_yq @ r[q] / mu)  # (2)
        d[q] = (r[q] + N @ dy) / mu
        return d


def _factor(matrix: Array, lu: Array, pivots: Array) -> None:
    """Factors a matrix; `lu` gets the factors by columns. A singular matrix gives solutions that are not finite."""
    lapack = import_whole("scipy.linalg.lapack")  # here, since few simulations need it

    factors, pivots[:], _ = (lapack.zgetrf if np.iscomplexobj(matrix) else lapack.dgetrf)(matrix)
    lu[:] = factors.T


def _solve(lu: Array, pivots: Array, r: Array) -> Array:
    lapack = import_whole("scipy.linalg.lapack")

    if np.iscomplexobj(lu):
        return lapack.zgetrs(lu.T, pivots, r)[0]
    if np.iscomplexobj(r):
        return lapack.dgetrs(lu.T, pivots, r.real)[0] + 1j * lapack.dgetrs(lu.T, pivots, r.imag)[0]
    return lapack.dgetrs(lu.T, pivots, r)[0]
