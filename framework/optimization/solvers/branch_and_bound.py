"""Convex programs with binary variables, by branching on these and bounding by relaxations (Land and Doig 1960)."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.evaluators.linear_constraints import BoundingBoxConstraint
from merganser.framework.optimization.forms.quadratic_form import QuadraticCosts
from merganser.framework.optimization.kinds import SolutionResult, SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.choose import MakeSolver

_INTEGRAL = 1e-5  # by how much a binary variable of a solution may differ from 0 or 1

_GAP = 1e-6  # by how much a solution must be cheaper than one that is known, relative to this and to coefficients


@dataclass
class _Options:
    """How many nodes are explored at most; negative: all that it takes."""

    max_explored_nodes: int = -1


class _Node(NamedTuple):
    """A relaxation: its cost, its number, bounds of the binary variables, and its solution; in the order of costs."""

    cost: float
    number: int
    lower: Array
    upper: Array
    result: MathematicalProgramResult


class MixedIntegerBranchAndBound:
    """Solves a program with binary variables by programs where these are real numbers between bounds.

    A node branches on the variable that is farthest from 0 and 1. The search goes down to the cheaper child as long as
    it can, so that it soon has a solution to compare with, and then goes on with the cheapest node that was left.
    """

    Options = _Options

    def __init__(self, prog: MathematicalProgram, solver_id: SolverId, options: _Options | None = None) -> None:
        """Prepares the search.

        Args:
            prog: the program; it stays as it is.
            solver_id: what solves the relaxations.
            options: when to stop.

        Raises:
            ValueError: there is no binary variable, or an integer one that is not binary.
        """
        self._binary = np.flatnonzero(prog._are("BINARY"))
        if prog._are("INTEGER").any() or not self._binary.size:
            raise ValueError("MixedIntegerBranchAndBound: expected binary variables, and no other integer ones.")
        self._prog = prog
        self._solver = MakeSolver(solver_id)
        self._options = options or _Options()
        self._found: list[tuple[float, Array]] = []
        self.num_explored_nodes = 0
        self._relaxed, self._box = self._relaxation()

    def _relaxation(self) -> tuple[MathematicalProgram, BoundingBoxConstraint]:
        """The program with real variables in place of the binary ones, and the box of these."""
        relaxed = self._prog.Clone()
        real = relaxed._new((self._binary.size,), "relaxed", "CONTINUOUS")
        replaced = {relaxed._variables[place].get_id(): variable for place, variable in zip(self._binary, real)}
        relaxed._variables = [replaced.get(each.get_id(), each) for each in relaxed._variables]
        relaxed._num_integers = 0
        relaxed._places = {variable.get_id(): i for i, variable in enumerate(relaxed._variables)}
        for kept in relaxed._bindings.values():
            kept[:] = [type(b)(b._evaluator, [replaced.get(v.get_id(), v) for v in b._variables]) for b in kept]
        box = relaxed.AddBoundingBoxConstraint(0.0, 1.0, real)
        return relaxed, box.evaluator()

    def _solved(self, lower: Array, upper: Array) -> MathematicalProgramResult:
        self._box.set_bounds(lower, upper)
        return self._solver.Solve(self._relaxed)

    def Solve(self) -> SolutionResult:
        """Searches for the least cost."""
        kinds = SolutionResult
        count = self._binary.size
        number = itertools.count()
        root = self._solved(np.zeros(count), np.ones(count))
        if not root.is_success():
            return root.get_solution_result()
        self._found, is_sure = [], True
        self.num_explored_nodes = 0
        cheaper: _Node | None = None
        left: list[_Node] = []
        if self._keep_integral(root):
            self.num_explored_nodes = 1
        else:
            left.append(_Node(root.get_optimal_cost(), next(number), np.zeros(count), np.ones(count), root))
        while cheaper or left:
            node, cheaper = cheaper or heapq.heappop(left), None
            if self._found and node.cost >= self._found[0][0] - self._gap(self._found[0][0]):
                continue
            if self.num_explored_nodes == self._options.max_explored_nodes:
                return kinds.kIterationLimit
            self.num_explored_nodes += 1
            branch = int(self._distance(node.result).argmax())
            children = []
            for value in (1.0, 0.0):
                low, high = node.lower.copy(), node.upper.copy()
                low[branch] = high[branch] = value
                result = self._solved(low, high)
                if result.is_success():
                    if not self._keep_integral(result):
                        children.append(_Node(result.get_optimal_cost(), next(number), low, high, result))
                elif result.get_solution_result() is not kinds.kInfeasibleConstraints:
                    is_sure = False  # what is below this node is not known
            tied = node.cost + self._gap(node.cost)
            children.sort(key=lambda child: max(child.cost, tied))  # of equal ones 1 first, which decides more than 0
            cheaper = children.pop(0) if children else None
            for child in children:
                heapq.heappush(left, child)
        if not is_sure:
            return kinds.kSolverSpecificError
        return kinds.kSolutionFound if self._found else kinds.kInfeasibleConstraints

    def _gap(self, cost: float) -> float:
        costs = QuadraticCosts.of(self._relaxed)
        return _GAP * max(abs(cost), float(np.abs(costs.f).max()), float(np.abs(costs.hessian()).max()))

    def _distance(self, result: MathematicalProgramResult) -> Array:
        """Of the binary variables to 0 or 1, whichever is nearer."""
        values = result.get_x_val()[self._binary]
        return np.abs(values - np.round(values))

    def _keep_integral(self, result: MathematicalProgramResult) -> bool:
        """Whether a solution is integral; keeps that with exactly these integers, if there is one."""
        if self._distance(result).max() > _INTEGRAL:
            return False
        values = np.round(result.get_x_val()[self._binary])
        exact = self._solved(values, values)
        if exact.is_success():
            self._found.append((exact.get_optimal_cost(), exact.get_x_val()))
            self._found.sort(key=lambda pair: pair[0])
        return True

    def GetOptimalCost(self) -> float:
        """The least cost."""
        return self._nth(0)[0]

    def GetSubOptimalCost(self, nth_suboptimal_cost: int) -> float:
        """The cost of the solution after the n-th: 0 is the second best of those that the search passed."""
        return self._nth(nth_suboptimal_cost + 1)[0]

    def _nth(self, n: int) -> tuple[float, Array]:
        if n >= len(self._found):
            raise RuntimeError(f"MixedIntegerBranchAndBound: there are {len(self._found)} solutions; asked for {n}.")
        return self._found[n]

    def GetSolution(self, mip_var: Any = None, nth_best_solution: int = 0, *, mip_vars: Any = None) -> Any:
        """Values of a variable, or of an array of them, in the n-th best solution."""
        x = self._nth(nth_best_solution)[1]
        asked = mip_var if mip_vars is None else mip_vars
        if isinstance(asked, (list, tuple, np.ndarray)):
            return self._prog._valued(np.asarray(asked, dtype=object), x)
        return float(x[self._prog.FindDecisionVariableIndex(asked)])
