"""Linear complementarity problems by Lemke's pivots.

Source: Cottle, Pang and Stone, The Linear Complementarity Problem, 1992, section 4.4.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions


def lemke(M: Array, q: Array) -> Array | None:
    """z >= 0 with w = M z + q >= 0 and z'w = 0, or None if the pivots end in a ray.

    Ties are broken lexicographically, so that the pivots do not cycle.
    """
    n = q.size
    if (q >= 0.0).all():
        return np.zeros(n)
    # w - M z - d z0 = q with d = 1; columns: w, z, z0, and the right side
    tableau = np.hstack((np.eye(n), -M, -np.ones((n, 1)), q[:, np.newaxis]))
    basis = list(range(n))
    row, entering = int(np.argmin(q)), 2 * n
    while True:
        leaving = basis[row]
        tableau[row] /= tableau[row, entering]
        for i in range(n):
            if i != row and tableau[i, entering] != 0.0:
                tableau[i] -= tableau[i, entering] * tableau[row]
        basis[row] = entering
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = tableau[:, -1]
            return np.maximum(z[n : 2 * n], 0.0)
        entering = leaving + n if leaving < n else leaving - n
        column = tableau[:, entering]
        candidates = np.flatnonzero(column > 1e-12 * max(1.0, float(np.abs(tableau).max())))
        if candidates.size == 0:
            return None
        ratios = np.column_stack((tableau[candidates, -1], tableau[candidates, :n])) / column[candidates, np.newaxis]
        is_artificial = np.array([basis[i] != 2 * n for i in candidates])
        order = np.lexsort((*ratios[:, ::-1].T[:-1], is_artificial, np.round(ratios[:, 0], 14)))
        row = int(candidates[order[0]])


class UnrevisedLemkeSolver(SolverInterface):
    """Linear complementarity problems."""

    NAME = "Unrevised Lemke"
    TAKES = frozenset({ProgramAttribute.kLinearComplementarityConstraint})

    def _objection(self, prog: MathematicalProgram) -> str:
        covered = [p for b in prog.linear_complementarity_constraints() for p in prog._places_of(b._variables)]
        if sorted(covered) != list(range(prog.num_vars())):
            return "each variable must be in exactly one linear complementarity constraint"
        return ""

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        x = guess.copy()
        result = SolutionResult.kSolutionFound
        for binding in prog.linear_complementarity_constraints():
            z = lemke(binding.evaluator().M(), binding.evaluator().q())
            if z is None:
                result = SolutionResult.kInfeasibleConstraints
                continue
            x[prog._places_of(binding._variables)] = z
        return Outcome(result, x)


class MobyLcpSolver(UnrevisedLemkeSolver):
    """Linear complementarity problems, by the same pivots."""

    NAME = "Moby LCP"
    PRIORITY = 50
