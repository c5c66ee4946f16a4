"""The linear systems of the method, and what is added to make them have a solution that descends.

    [ W + Sigma + delta_w I   J^T        ] [ dz ]     [ r_z ]
    [ J                      -delta_c I  ] [ dy ]  =  [ r_c ]                                (1)

dz descends if the matrix has as many negative eigenvalues as there are constraints: delta_w grows until it has. Where
constraints depend on each other, and there may be no solution, a small delta_c makes one.

Source: A. Waechter, L. Biegler, Math. Program. 106 (2006), section 3.1.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.interior_point.form import StandardForm
from merganser.framework.optimization.interior_point.ldl import PIVOT_FLOOR, SparseLdl
from merganser.framework.optimization.interior_point.problem import Array
from merganser.framework.optimization.interior_point.quasi_newton import LimitedMemory
from merganser.framework.optimization.interior_point.restoration import RestorationForm

Form = StandardForm | RestorationForm

_FIRST_SHIFT, _LEAST_SHIFT, _MOST_SHIFT = 1e-4, 1e-20, 1e40
_MOST_FLOOR = 1e20  # damping that leaves nothing of a step but rounding
_EXACT, _ENOUGH = 1e-12, 1e-10  # relative residuals: when refinement stops, and what is accepted
_MAX_REFINEMENTS = 10
_SMALL_PART, _LARGE_PART = 0.1, 0.5  # of steps


class KktSystem:
    """Systems (1) of a form; W is given by entries, or by a quasi-Newton approximation.

    Attributes:
        solution: for the probe of the last factorization.
        is_regularized: whether the system that is solved has delta_c, because without it there is no solution.
    """

    def __init__(self, form: Form) -> None:
        n, m = form.num_variables, form.num_constraints
        self._n, self._m = n, m
        diagonal = np.arange(n)
        rows, columns = (form.hessian_rows, form.hessian_columns) if form.has_hessian else (diagonal[:0], diagonal[:0])
        self._ldl = SparseLdl(
            n, m, np.concatenate([rows, diagonal, n + form.rows]), np.concatenate([columns, diagonal, form.columns])
        )
        self._low_rank: tuple[Array, Array] | None = None
        self._last_shift = self._shift_in_use = self._floor = 0.0  # delta_w: the last that was needed, in use, at least
        self._shift = np.concatenate([np.zeros(n), np.full(m, -PIVOT_FLOOR)])
        self.is_regularized = False

    def factor(self, W: Array | LimitedMemory, sigma: Array, jacobian: Array, probe: Array) -> bool:
        """Factors (1) with a delta_w for which steps descend, and for which the probe (r_z, r_c) has a solution.

        Returns:
            Whether there is one; `solution` is the probe's then. False, once, where `adapt` has made steps vanish and
            none of them was any good.
        """
        if self._floor > _MOST_FLOOR:
            self._floor = 0.0
            return False
        delta_w, first = self._floor, self._last_shift == 0.0
        while not self._try(W, sigma + delta_w, jacobian, probe):
            if delta_w == self._floor:
                delta_w = max(8.0 * delta_w, _FIRST_SHIFT if first else max(_LEAST_SHIFT, self._last_shift / 3.0))
            else:
                delta_w *= 100.0 if first else 8.0
            if delta_w > _MOST_SHIFT:
                return False
        if delta_w > 0.0:
            self._last_shift = delta_w
        self._shift_in_use = delta_w
        return True

    def adapt(self, part: float) -> None:
        """Makes the next steps shorter where only a small part of the last one was any good, and longer where most was.

        With curvatures that barely are positive, steps are far longer than what (1) is a model for.
        """
        if part < _SMALL_PART:
            self._floor = max(8.0 * self._shift_in_use, _FIRST_SHIFT)
        elif part > _LARGE_PART:
            self._floor = self._floor / 8.0 if self._floor > _FIRST_SHIFT else 0.0

    def _try(self, W: Array | LimitedMemory, diagonal: Array, jacobian: Array, probe: Array) -> bool:
        if isinstance(W, LimitedMemory):
            diagonal = diagonal.copy()
            diagonal[: len(W.U)] += W.sigma
            entries = np.zeros(0)
        else:
            entries = W
        values = np.concatenate([entries, diagonal, jacobian])
        for self.is_regularized in (False, True):
            if self._ldl.factor(values, self._shift if self.is_regularized else np.zeros(self._n + self._m)) != self._m:
                return False
            self._low_rank = None
            if isinstance(W, LimitedMemory) and len(W.M):
                U = np.zeros((self._n + self._m, len(W.M)))
                U[: len(W.U)] = W.U
                self._set_low_rank(U, W.M)
            self.solution, is_good = self._refine(probe)
            if is_good:
                return True
        return False

    def _set_low_rank(self, U: Array, M: Array) -> None:
        """(K - U M^-1 U^T)^-1 = K^-1 + K^-1 U (M - U^T K^-1 U)^-1 U^T K^-1."""
        self._U, self._M = U, M
        self._inverse_U = self._ldl.solve(U)
        middle = M - U.T @ self._inverse_U
        try:  # takes a seventh of the time of pinv; what rounding makes of it, refinement mends
            inverse = np.linalg.inv(middle)
        except np.linalg.LinAlgError:
            inverse = np.linalg.pinv(middle)
        self._low_rank = self._inverse_U, inverse

    def unsolved(self) -> float:
        """The sum of what the solution leaves of r_c, |J dz - r_c|."""
        return PIVOT_FLOOR * float(np.abs(self.solution[self._n :]).sum()) if self.is_regularized else 0.0

    def solve(self, right: Array) -> Array:
        """The solution for the matrix that was factored last, shape [n + m]."""
        return self._refine(right)[0]

    def _apply_inverse(self, right: Array) -> Array:
        x = self._ldl.solve(right)
        if self._low_rank is not None:
            inverse_U, middle = self._low_rank
            x += inverse_U @ (middle @ (self._U.T @ x))
        return x

    def _multiply(self, x: Array) -> Array:
        product = self._ldl.multiply(x)
        if self.is_regularized:
            product += self._shift * x
        if self._low_rank is not None:
            product -= self._U @ np.linalg.solve(self._M, self._U.T @ x)
        return product

    def _refine(self, right: Array) -> tuple[Array, bool]:
        """The best solution of some refinements, and whether its residual is small."""
        size = float(np.abs(right).max(initial=0.0))
        best = x = self._apply_inverse(right)
        least = np.inf
        for _ in range(_MAX_REFINEMENTS):
            residual = right - self._multiply(x)
            norm = float(np.abs(residual).max(initial=0.0))
            scale = size + min(float(np.abs(x).max(initial=0.0)), 1e6 * size)
            ratio = norm / scale if scale > 0.0 else 0.0
            if not ratio < 0.9 * least:
                break
            best, least = x, ratio
            if ratio <= _EXACT:
                break
            x = x + self._apply_inverse(residual)
        return best, least <= _ENOUGH
