"""Points of a region at which something does not hold that should, found by nonlinear programs.

    min |W (q - c)|^2   so that   A q <= b  and a condition holds at q                                     (1)

The condition is that two geometries touch, or that a bound of a constraint is exceeded; c is the center of an ellipsoid
|W (q - c)| <= 1. Searches begin at random points of the region and end in local optima, so they can miss a
counterexample, with a probability that falls with every search that finds none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import (
    Constraint,
    LinearConstraint,
    MathematicalProgram,
    SlsqpSolver,
    SolverInterface,
    SolverOptions,
)
from merganser.framework.optimization.evaluators.function_evaluators import PyFunctionConstraint
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.geometry.optimization.iris import GrowingRegion

Array = NDArray[np.float64]

_BEYOND = 1e-4  # by how much a bound is exceeded in a counterexample; solvers satisfy constraints to 1e-6


class Condition(NamedTuple):
    """The condition of a counterexample.

    Attributes:
        name: what it is, for errors.
        constraint: of some of the positions.
        places: which ones.
    """

    name: str
    constraint: Constraint
    places: NDArray[np.intp]


def nearest_counterexample(
    condition: Condition,
    region: GrowingRegion,
    ellipsoid: Hyperellipsoid,
    guess: Array,
    options: SolverOptions | None = None,
    solver: SolverInterface | None = None,
) -> Array | None:
    """A local solution of (1), shape [n]; None if none is found from this guess, shape [n]."""
    prog = MathematicalProgram()
    q = prog.NewContinuousVariables(guess.size, "q")
    W = ellipsoid.A()
    W = W / max(float(np.linalg.norm(W @ (guess - ellipsoid.center()))), 1e-9)  # the cost begins at 1
    prog.Add2NormSquaredCost(W, W @ ellipsoid.center(), q)
    prog.AddLinearConstraint(region.A, np.full(region.b.size, -np.inf), region.b, q)
    prog.AddConstraint(condition.constraint, q[condition.places])
    chosen = SolverOptions() if options is None else SolverOptions(options={**options.options})
    if solver is None:
        solver = SlsqpSolver()
        # other starts are left to the next guess
        chosen.options[solver.NAME] = {"num_starts": 1, "maxiter": 50, "ftol": 1e-6, **chosen.of(solver.NAME)}
    result = solver.Solve(prog, guess, chosen)
    found = np.asarray(result.GetSolution(q))
    if result.is_success():
        return found
    # Also a point where the solver did not converge may be a counterexample, if not the nearest.
    is_one = region.contains(found, 1e-6) and condition.constraint.CheckSatisfied(found[condition.places], 1e-6)
    return found if is_one else None


def _row_of(constraint: Constraint, row: int) -> Callable[[Any], Any]:
    return lambda x: constraint.Eval(x)[row : row + 1]


class AdditionalConstraints:
    """The constraints of a program whose variables are q: rows for those that are linear, conditions for others.

    Args:
        prog: the program; its costs do not matter.
        size: how many variables it has to have.
        where: for errors.

    Attributes:
        A: rows A q <= b, shape [m, n].
        b: shape [m].
        violations: a Condition for each bound of each constraint that is not linear: that it does not hold.

    Raises:
        RuntimeError: the program has other variables, or constraints that are neither linear, quadratic nor given by
            functions.
    """

    def __init__(self, prog: MathematicalProgram | None, size: int, where: str) -> None:
        self.A, self.b = np.zeros((0, size)), np.zeros(0)
        self.violations: list[Condition] = []
        self._prog, self._where = prog, where
        if prog is None:
            return
        if prog.num_vars() != size:
            raise RuntimeError(
                f"{where}: expected options.prog_with_additional_constraints to have {size} variables, one for each "
                f"position; it has {prog.num_vars()}."
            )
        taken = (*prog.generic_constraints(), *prog.quadratic_constraints())
        for binding in prog.GetAllConstraints():
            constraint = binding.evaluator()
            places = np.array(prog.FindDecisionVariableIndices(binding.variables()), dtype=np.intp)
            if isinstance(constraint, LinearConstraint):
                self._add_rows(constraint, places, size)
            elif binding in taken:
                self._add_violations(constraint, places)
            else:
                raise RuntimeError(
                    f"{where}: options.prog_with_additional_constraints has a {type(constraint).__name__}; expected "
                    "constraints that are linear, quadratic or given by functions. Write it as a function with bounds."
                )

    def _add_rows(self, constraint: LinearConstraint, places: NDArray[np.intp], size: int) -> None:
        A = constraint.GetDenseA() @ np.eye(size)[places]
        for sign, bound in ((1.0, constraint.upper_bound()), (-1.0, -constraint.lower_bound())):
            finite = np.isfinite(bound)
            self.A, self.b = np.vstack((self.A, sign * A[finite])), np.append(self.b, bound[finite])

    def _add_violations(self, constraint: Constraint, places: NDArray[np.intp]) -> None:
        lower, upper = constraint.lower_bound(), constraint.upper_bound()
        name = constraint.get_description() or type(constraint).__name__
        for row in range(constraint.num_constraints()):
            for low, high in ((upper[row] + _BEYOND, np.inf), (-np.inf, lower[row] - _BEYOND)):
                if np.isfinite(low) or np.isfinite(high):
                    exceeded = PyFunctionConstraint(places.size, _row_of(constraint, row), [low], [high], name)
                    self.violations.append(Condition(f"constraint '{name}', row {row}", exceeded, places))

    def hold_at(self, q: Array, tol: float = 1e-6) -> bool:
        """Whether all of them hold at q, shape [n]."""
        if self._prog is None:
            return True
        return all(self._prog.CheckSatisfied(binding, q, tol) for binding in self._prog.GetAllConstraints())

    def within(self, domain: HPolyhedron) -> HPolyhedron:
        """A domain with the rows of the linear ones."""
        return domain.Intersection(HPolyhedron(self.A, self.b)) if self.b.size else domain
