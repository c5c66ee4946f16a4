"""Small dense linear and quadratic programs as arrays, by DAQP (Arnstroem, Bemporad and Axehill 2022):

    minimize 0.5 x'H x + f'x   so that   lower <= [x; A x] <= upper

An optimum of a convex program is proved by prices: with the bounds that are active, it is where

    H x + f + A'z = 0,   z_i >= 0 at upper bounds, z_i <= 0 at lower ones                                        (1)

This is checked. That there is no x is proved by prices, too. All else that DAQP says is in doubt. Where there is no
cost, the shortest x is found: that is one, where others are many.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import SolutionResult

EQUATION = 5  # the sense of rows that are active for good
_LEFT = 1e-14  # the square of what rounding may leave of the gradient in (1), relative to its terms
_LEAST_DISTANCE = 1e-6  # of rows of length 1 that no x keeps, relative to their limits
_FEW = 10  # variables, of which a solution is found before a guess is made use of
SETTINGS: dict[str, Any] = {"primal_tol": 1e-9, "eta_prox": 1e-9}  # 1e-6 each, unless an option says otherwise
_R = SolutionResult
_OUTCOMES = {-1: _R.kInfeasibleConstraints, -3: _R.kUnbounded, -4: _R.kIterationLimit, -7: _R.kIterationLimit}


class Answer(NamedTuple):
    """How DAQP ended.

    Attributes:
        result: kSolutionFound or kInfeasibleConstraints, proved; kSolverSpecificError where that is in doubt.
        x: the solution, or where rows are violated least, shape [n].
        cost: at x.
        prices: z of (1), of the bounds of the variables and then of the rows.
        said: what DAQP says.
        distance: of [x; A x] from its bounds; negative outside of them.
        exitflag, info: what daqp.solve returns.
    """

    result: SolutionResult
    x: Array
    cost: float
    prices: Array
    said: SolutionResult
    distance: Array
    exitflag: int
    info: dict[str, Any]


class DenseProgram:
    """The arrays of a program; without H a linear one."""

    def __init__(
        self, H: Array | None, f: Array, A: Array, lower: Array, upper: Array, sense: Any = None
    ) -> None:  # fmt: skip
        self.size_of_f = float(f.dot(f))
        self.is_linear, self.has_cost = H is None, H is not None or self.size_of_f > 0.0
        if H is None:
            H = np.zeros((f.size, f.size)) if self.has_cost else np.eye(f.size)
        self.H, self.f, self.A, self.lower, self.upper = H, f, A, lower, upper
        self.sense = sense_of_rows(lower, upper) if sense is None else sense

    @cached_property
    def both(self) -> Array:
        """[I; A]."""
        return np.concatenate((np.eye(self.f.size), self.A))

    def solve(self, guess: Array | None = None, settings: dict[str, Any] = SETTINGS) -> Answer:
        """The solution, if it is proved."""
        import daqp

        given = self.H, self.f, self.A, self.upper, self.lower, self.sense
        if guess is None or guess.size <= _FEW or not guess.any():
            x, value, flag, info = daqp.solve(*given, **settings)
        else:
            x, value, flag, info = daqp.solve(*given, primal_start=guess, **settings)
            if flag <= 0:  # where the rows that the guess makes active depend on each other
                x, value, flag, info = daqp.solve(*given, **settings)
        z, said = info["lam"], _R.kSolutionFound if flag > 0 else _OUTCOMES.get(flag, _R.kSolverSpecificError)
        if flag <= 0:
            nearest = self._nearest_where_infeasible() if said is _R.kInfeasibleConstraints else None
            result = said if nearest is not None else _R.kSolverSpecificError
            return Answer(result, x if nearest is None else nearest, value, z, said, x, flag, info)
        n, Hx = x.size, self.H.dot(x)
        if self.is_linear and self.has_cost:
            x = self._at_bounds(x, z)
            value = self.f.dot(x)
        y = np.concatenate((x, self.A.dot(x)))
        distance = np.minimum(y - self.lower, self.upper - y)
        if not self.has_cost:
            return Answer(said, x, 0.0, np.zeros(z.size), said, distance, flag, info)
        left = Hx + self.f + z[:n] + z[n:].dot(self.A)
        is_optimal = left.dot(left) <= _LEFT * (Hx.dot(Hx) + self.size_of_f)  # (1)
        return Answer(said if is_optimal else _R.kSolverSpecificError, x, value, z, said, distance, flag, info)

    def _at_bounds(self, x: Array, z: Array) -> Array:
        """The solution of a linear program in a vertex to the last digits: DAQP approaches it by quadratic programs."""
        active = z.nonzero()[0]
        if not active.size:
            return x
        rows, bounds = self.both[active], np.where(z > 0.0, self.upper, self.lower)[active]
        try:
            correction: Array = rows.T.dot(np.linalg.solve(rows.dot(rows.T), bounds - rows.dot(x)))
        except np.linalg.LinAlgError:
            return x
        return x + correction

    def _nearest_where_infeasible(self) -> Array | None:
        """The x in its box with the least t, where rows of length 1 are violated by t at most; None if t may be 0.

        min t, G x - t <= h is a linear program with a solution, whose prices prove that there is no x with t = 0
        (Farkas).
        """
        import daqp

        n, low, high = self.f.size, self.lower, self.upper
        is_above, is_below = high[n:] < np.inf, low[n:] > -np.inf
        G = np.concatenate((self.A[is_above], -self.A[is_below]))
        sizes = np.linalg.norm(G, axis=1)
        if not sizes.all():
            return None
        rows = np.column_stack((G / sizes[:, np.newaxis], -np.ones(sizes.size)))
        limits = np.concatenate((high[n:][is_above], -low[n:][is_below])) / sizes
        lower, upper = np.full(n + 1 + sizes.size, -np.inf), np.concatenate((high[:n], [np.inf], limits))
        lower[:n] = low[:n]
        relaxed = DenseProgram(None, np.eye(n + 1)[-1], rows, lower, upper)
        x, _, flag, info = daqp.solve(relaxed.H, relaxed.f, rows, upper, lower, relaxed.sense, **SETTINGS)
        z = info["lam"]
        z[n + 1 :] = np.maximum(z[n + 1 :], 0.0)
        left, active = relaxed.f + z[: n + 1] + z[n + 1 :].dot(rows), z.nonzero()[0]
        t = -np.where(z > 0.0, upper, lower)[active].dot(z[active])
        is_proved = flag > 0 and left.dot(left) <= _LEFT
        is_far = t > _LEAST_DISTANCE * max(1.0, float(np.abs(limits).max(initial=0.0)))
        return x[:-1] if is_proved and is_far else None


def sense_of_rows(lower: Array, upper: Array) -> Any:
    """Which rows are equations, as DAQP takes it."""
    return np.multiply(lower == upper, EQUATION, dtype=np.intc)
