"""Quadratic constraints, and linear complementarity."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Array, Objects, finite, matrix, scalar, vector
from merganser.framework.optimization.evaluators.costs import is_positive_semidefinite
from merganser.framework.optimization.evaluators.evaluators import AdjustableConstraint, Constraint, QuadraticFunction


class QuadraticConstraint(QuadraticFunction, AdjustableConstraint):
    """lb <= 0.5 x'Qx + b'x <= ub, where Q is made symmetric."""

    class HessianType(Enumeration):
        """Definiteness of Q."""

        kPositiveSemidefinite = 0
        kNegativeSemidefinite = 1
        kIndefinite = 2
        kZero = 3

    def __init__(self, Q0: Any, b: Any, lb: float, ub: float, hessian_type: HessianType | None = None) -> None:
        """Makes the constraint: Q0 of shape [n, n], b of shape [n]; None: the kind of Q is found out when asked for."""
        self._description = ""
        self._set_form(Q0, b, None)
        self._hessian_type = hessian_type
        low, high = scalar(lb, self._where(), "lb"), scalar(ub, self._where(), "ub")
        AdjustableConstraint.__init__(self, self._b.size, [low], [high])

    def _numbers(self) -> tuple[Any, ...]:
        return self._Q, self._b, self._lower, self._upper

    def hessian_type(self) -> HessianType:
        """Whether Q is zero, positive or negative semidefinite, or none of these."""
        if self._hessian_type is None:
            kinds = self.HessianType
            is_negative = is_positive_semidefinite(-self._Q)
            other = kinds.kNegativeSemidefinite if is_negative else kinds.kIndefinite
            self._hessian_type = kinds.kPositiveSemidefinite if is_positive_semidefinite(self._Q) else other
            if not self._Q.any():
                self._hessian_type = kinds.kZero
        return self._hessian_type

    def is_convex(self) -> bool:
        """Whether the x that satisfy this are a convex set."""
        kind, kinds = self.hessian_type(), self.HessianType
        if not self._Q.any():
            return True
        if kind is kinds.kPositiveSemidefinite:
            return bool(np.isneginf(self._lower[0]))
        return kind is kinds.kNegativeSemidefinite and bool(np.isposinf(self._upper[0]))

    def UpdateCoefficients(self, new_Q: Any, new_b: Any, hessian_type: HessianType | None = None) -> None:
        """Sets Q and b, of the same sizes."""
        self._set_form(new_Q, new_b, self._num_vars)
        self._hessian_type = hessian_type

    def _has_curvature(self) -> bool:
        return True

    def _curvature(self, x: Array, weights: Array) -> Array:
        return weights[..., np.newaxis] * self._Q


class LinearComplementarityConstraint(Constraint):
    """x >= 0, Mx + q >= 0, and x'(Mx + q) = 0."""

    def __init__(self, M: Any, q: Any) -> None:
        """Makes the constraint: M of shape [n, n], q of shape [n]."""
        self._description = ""
        self._q = finite(vector(q, self._where(), "q"), self._where(), "q")
        size = self._q.size
        self._M = matrix(M, self._where(), "M", size, size)
        super().__init__(size, np.zeros(2 * size + 1), np.concatenate((np.full(2 * size, np.inf), [0.0])))

    def M(self) -> Array:
        """The matrix, shape [n, n]."""
        return self._M.copy()

    def q(self) -> Array:
        """The constants, shape [n]."""
        return self._q.copy()

    def _eval(self, x: Objects) -> Any:
        w = self._M @ x + self._q
        return np.concatenate((x, w, [x @ w]))
