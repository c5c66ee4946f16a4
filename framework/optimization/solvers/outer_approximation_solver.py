"""Convex programs with integer variables, by linear programs with integers that become tighter (Duran, Grossmann 1986).

In conic form (conic_form.py) a program is linear up to s in cones and a quadratic cost. For s in a cone K and z in its
dual cone

    z's >= 0,                                                                                                     (1)

and for the quadratic cost f(x) = 0.5 x'P x, with any y,

    f(x) >= f(y) + (P y)'(x - y).                                                                                 (2)

With such rows in place of cones and cost there is a linear program with integers, whose least cost is a lower bound.
With the integers of its solution fixed, the convex program gives an upper bound, or the proof that there is no such
solution, and prices z, with which (1) and (2) make the next linear program exact for these integers. So none comes
again, and the search ends, when the bounds meet. Lengths in Lorentz cones get the row of their tangent besides.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.conic_form import ConicForm
from merganser.framework.optimization.forms.scales import unit_of_cost
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import (
    CONVEX,
    OUTCOMES,
    ClarabelSolver,
    cones_of,
    convexity_objection,
    solved,
)
from merganser.framework.optimization.solvers.daqp_solver import DaqpSolver
from merganser.framework.optimization.solvers.judgement import box_of, is_solution
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface, interruptible
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_FEASIBLE = 1e-7  # by how much a length may exceed its bound
_GAP = 1e-6  # relative difference of the bounds
_MOST_NODES = 2000  # of a search by branches, before linear programs are tried


@dataclass(eq=False)
class OuterApproximationSolverDetails:
    """Numbers of the search: linear programs or nodes that were solved, rows that were added, and the lower bound."""

    iterations: int
    num_cuts: int
    lower_bound: float


class OuterApproximationSolver(SolverInterface):
    """Convex programs with integer variables. Options: max_iter (1000), time_limit [s] of a linear program.

    Without options, a quadratic cost with binary variables is first searched by branches, see branch_and_bound.py.
    """

    NAME = "OuterApproximation"
    PRIORITY = 70
    TAKES = CONVEX | {ProgramAttribute.kBinaryVariable}
    REMEDY = "Install Clarabel: pip install clarabel."

    def available(self) -> bool:
        """Whether clarabel is installed."""
        return ClarabelSolver().available()

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        given = options.of(self.NAME)
        if is_solution(prog, guess):
            return Outcome(SolutionResult.kSolutionFound, guess, OuterApproximationSolverDetails(0, 0, 0.0))
        limit = given.get("time_limit")
        if limit is None and "max_iter" not in given and (branched := _by_branches(prog)) is not None:
            return branched
        search = _Search(prog, None if limit is None else float(limit))
        result = search.run(int(given.get("max_iter", 1000)))
        details = OuterApproximationSolverDetails(search.iterations, len(search.rows), search.lower_bound())
        return Outcome(result, search.point(), details)


def _by_branches(prog: MathematicalProgram) -> Outcome | None:
    """The outcome of a search by branches, if it ends soon.

    Linear programs follow a quadratic cost slowly, one tangent for each choice of the binary variables; relaxations
    with the cost as it is have bounds that are near.
    """
    from merganser.framework.optimization.solvers.branch_and_bound import MixedIntegerBranchAndBound

    if prog._are("INTEGER").any() or not prog.quadratic_costs():
        return None
    options, small = MixedIntegerBranchAndBound.Options(_MOST_NODES), DaqpSolver()
    is_small = prog.required_capabilities() <= small.TAKES | {ProgramAttribute.kBinaryVariable} and small.suits(prog)
    kind = DaqpSolver if is_small and small.available() else ClarabelSolver
    search = MixedIntegerBranchAndBound(prog, kind.id(), options)
    result = search.Solve()
    if result not in (SolutionResult.kSolutionFound, SolutionResult.kInfeasibleConstraints):
        return None
    is_found = result is SolutionResult.kSolutionFound
    x = search.GetSolution(prog.decision_variables()) if is_found else np.full(prog.num_vars(), np.nan)
    x = np.where(prog._are("BINARY"), np.round(x), x)
    bound = search.GetOptimalCost() if is_found else np.inf
    return Outcome(result, x, OuterApproximationSolverDetails(search.num_explored_nodes, 0, bound))


class _Search:
    """The linear program, what has been found, and its bounds."""

    def __init__(self, prog: MathematicalProgram, time_limit: float | None) -> None:
        self._prog, self._form = prog, copy.copy(ConicForm.of(prog))
        form = self._form
        self._cost_scale = unit_of_cost(np.concatenate((form.q, form.P.data)))
        form.q, form.P = self._cost_scale * form.q, self._cost_scale * form.P
        self._time_limit = time_limit
        self._num_vars, n = prog.num_vars(), form.num_columns
        upper_triangle = form.P.toarray()
        self._P = upper_triangle + np.triu(upper_triangle, 1).T
        self._has_square = bool(self._P.any())
        self._num_linear = form.linear.num_equations + form.linear.num_inequalities
        is_integer = np.append(prog._are("BINARY", "INTEGER"), np.zeros(n - prog.num_vars(), dtype=bool))
        self._integers, self._others = np.flatnonzero(is_integer), np.flatnonzero(~is_integer)
        low, high = box_of(prog)
        free = np.full(n - prog.num_vars() + 1, np.inf)
        self._box = np.concatenate((low, -free)), np.concatenate((high, free))
        if not self._has_square:  # the last column is the quadratic cost
            self._box[0][-1] = self._box[1][-1] = 0.0
        self.rows: list[Array] = []
        self._most: list[float] = []
        self.iterations = 0
        self.lower, self.best = -np.inf, np.inf
        self._x: Array | None = None

    def point(self) -> Array:
        """The best values of the variables of the program; NaN without any."""
        if self._x is None:
            return np.full(self._num_vars, np.nan)
        x = self._form.point(self._x)
        whole = self._integers[self._integers < self._num_vars]
        x[whole] = np.round(x[whole])
        return x

    def lower_bound(self) -> float:
        """The lower bound, with the constants of the costs."""
        prog = self._prog
        constants = [binding.evaluator().b() for binding in prog.linear_costs()]
        constants += [binding.evaluator().c() for binding in prog.quadratic_costs()]
        return self.lower / self._cost_scale + sum(constants)

    def run(self, most_iterations: int) -> SolutionResult:
        """Searches until the bounds meet."""
        kinds = SolutionResult
        result = self._convex(None)
        if result is not kinds.kSolutionFound:
            return kinds.kInfeasibleOrUnbounded if result is kinds.kDualInfeasible else result
        seen: set[tuple[int, ...]] = set()
        while self.iterations < most_iterations:
            self.iterations += 1
            found = self._linear()
            if found.status == 2:
                break
            if found.x is None or found.status not in (0, 1):
                return kinds.kSolverSpecificError
            self.lower = float(found.fun)
            if self._x is not None and self.best - self.lower <= _GAP * max(1.0, abs(self.best)):
                break
            values = tuple(round(value) for value in found.x[self._integers])
            self._add_tangents(found.x[:-1])
            if values in seen:  # of these all is known; rounding let them come again
                self._exclude(values)
                continue
            seen.add(values)
            if found.status == 1:
                return kinds.kIterationLimit
            self._convex(np.array(values, dtype=np.float64))
        else:
            return kinds.kIterationLimit
        return kinds.kSolutionFound if self._x is not None else kinds.kInfeasibleConstraints

    def _linear(self) -> Any:
        """The linear program with the rows that there are."""
        from scipy.optimize import LinearConstraint, milp
        from scipy.sparse import csr_matrix, hstack, vstack

        form, first = self._form, self._form.linear.num_equations
        linear = hstack((form.A[: self._num_linear], csr_matrix((self._num_linear, 1))), format="csr")
        A = vstack((linear, csr_matrix(np.array(self.rows).reshape(-1, form.num_columns + 1))), format="csr")
        high = np.concatenate((form.b[: self._num_linear], self._most))
        low = np.full(high.size, -np.inf)
        low[:first] = high[:first]
        integrality = np.zeros(form.num_columns + 1)
        integrality[self._integers] = 1
        options = {} if self._time_limit is None else {"time_limit": self._time_limit}
        return interruptible(lambda: milp(
            np.append(form.q, 1.0), constraints=LinearConstraint(A, low, high), bounds=self._box,
            integrality=integrality, options=options,
        ))  # fmt: skip

    def _convex(self, values: Array | None) -> SolutionResult:
        """Solves the convex program with integers fixed, or real; keeps the best, and adds rows (1) and (2)."""
        import clarabel
        from scipy.sparse import csc_matrix, vstack

        form = self._form
        x = np.zeros(form.num_columns)
        free = np.arange(x.size)
        A, b, cones = form.A, form.b, cones_of(clarabel, form)
        if values is None:  # the bounds of integers are rows
            eye = np.eye(x.size)[self._integers]
            A = vstack((A, eye, -eye), format="csc")
            b = np.concatenate((b, self._box[1][self._integers], -self._box[0][self._integers]))
            finite = np.isfinite(b)
            A, b = A[finite], b[finite]
            cones.append(clarabel.NonnegativeConeT(b.size - form.b.size))
        else:
            x[self._integers], free = values, self._others
            b = b - A @ x
            A = A.tocsc()[:, free]
        P, q = csc_matrix(np.triu(self._P[np.ix_(free, free)])), (form.q + self._P @ x)[free]
        solution = solved(clarabel, P, q, csc_matrix(A), b, cones)
        result = OUTCOMES.get(str(solution.status), SolutionResult.kSolverSpecificError)
        z = np.array(solution.z)
        for _, A, b, part in self._blocks() if np.isfinite(z).all() else ():  # (1) for each cone: z'A x <= z'b
            if np.abs(z[part]).max(initial=0.0) > 1e-9:
                self._add(z[part] @ A, float(z[part] @ b))
        if result is SolutionResult.kSolutionFound:
            x[free] = solution.x
            self._add_tangents(x)
            cost = float(form.q @ x + 0.5 * x @ self._P @ x)
            if (values is not None or not self._integers.size) and cost < self.best:
                self.best, self._x = cost, x
        return result

    def _add(self, row: Array, most: float, of_cost: float = 0.0) -> None:
        scale = max(float(np.abs(row).max(initial=0.0)), abs(of_cost), 1e-300)
        self.rows.append(np.append(row, of_cost) / scale)
        self._most.append(most / scale)

    def _blocks(self) -> list[tuple[str, Array, Array, slice]]:
        """Kind, matrix, constants and rows of each cone, s = b - A x."""
        blocks, start = [], self._num_linear
        for cone in self._form.cones:
            part = slice(start, start + cone.num_rows())
            blocks.append((cone.kind, self._form.A[part].toarray(), self._form.b[part], part))
            start = part.stop
        return blocks

    def _add_tangents(self, x: Array) -> None:
        """(2), and u's1 <= s0 with the direction u of s1 for each Lorentz cone that x is outside of, or on the rim."""
        for kind, A, b, _ in self._blocks():
            if kind != "lorentz":
                continue
            s = b - A @ x
            length = float(np.linalg.norm(s[1:]))
            if length > 0.0 and length - s[0] > -_FEASIBLE * max(1.0, length):
                u = np.concatenate(([1.0], -s[1:] / length))
                self._add(u @ A, float(u @ b))
        if self._has_square:
            slope = self._P @ x
            self._add(slope, 0.5 * float(x @ slope), -1.0)

    def _exclude(self, values: tuple[int, ...]) -> None:
        """Leaves out integers that are all at a bound; sum |x - values| >= 1."""
        row, chosen = np.zeros(self._form.num_columns), np.array(values, dtype=np.float64)
        low = self._box[0][self._integers]
        row[self._integers] = np.where(chosen <= low, -1.0, 1.0)
        self._add(row, float(row[self._integers] @ chosen) - 1.0)
