"""Nonlinear programs by steps along the gradient and projections on what satisfies the constraints (Bertsekas 1976).

    x <- P(x - alpha grad f(x)),   P(y) the point nearest to y that satisfies the constraints                     (1)

The length alpha of a step is halved until the cost falls enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, vector
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.choose import Solve
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions, option_name


class ProjectedGradientDescentSolver(SolverInterface, is_known=False):
    """Programs with costs that have gradients, over a set on which points are projected easily.

    Options: ConvergenceTol (1e-12), by how much x moves in the last step; MaxIterations (1000); and of the search along
    the gradient BacktrackingAlpha0 (0.1), the first length; BacktrackingTau (0.5), by which it is shortened;
    BacktrackingC (0.5), which part of the fall that the gradient promises is enough.
    """

    NAME = "PGD"
    TAKES = frozenset(ProgramAttribute) - {ProgramAttribute.kBinaryVariable}

    kDefaultConvergenceTol = 1e-12
    kDefaultMaxIterations = 1000
    kDefaultBacktrackingAlpha0 = 0.1
    kDefaultBacktrackingTau = 0.5
    kDefaultBacktrackingC = 0.5
    kDefaultMaxLineSearchSteps = 100

    def __init__(self) -> None:
        self._gradient: Callable[[Array], Any] | None = None
        self._project: Callable[[Array], tuple[bool, Any]] | None = None
        self._solver: SolverInterface | None = None

    def SolverName(self) -> str:
        """Its short name."""
        return self.NAME

    ConvergenceTolOptionName = option_name("ConvergenceTol", "the step at which the search ends")
    MaxIterationsOptionName = option_name("MaxIterations", "the number of iterations")
    BacktrackingAlpha0OptionName = option_name("BacktrackingAlpha0", "the first length of a step")
    BacktrackingTauOptionName = option_name("BacktrackingTau", "the factor by which steps are shortened")
    BacktrackingCOptionName = option_name("BacktrackingC", "the part of the promised fall that is enough")

    def SetCustomGradientFunction(self, custom_gradient_function: Callable[[Array], Any]) -> None:
        """Takes a function of x, shape [num_vars], for the gradient of the cost, in place of its derivatives."""
        self._gradient = custom_gradient_function

    def SetCustomProjectionFunction(self, custom_projection_function: Callable[[Array], tuple[bool, Any]]) -> None:
        """Takes a function of y that returns whether there is a nearest point, and that point."""
        self._project = custom_projection_function

    def SetProjectionSolverInterface(self, projection_solver_interface: SolverInterface) -> None:
        """Takes a solver for the nearest points, in place of the one that suits that program best."""
        self._solver = projection_solver_interface

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        given = options.of(self.NAME)
        tolerance = float(given.get("ConvergenceTol", self.kDefaultConvergenceTol))
        form = NonlinearForm(prog)
        project = self._project or self._projection(prog)

        def nearest(y: Array) -> tuple[bool, Array]:
            is_found, point = project(y)
            return is_found, vector(point, type(self).__name__, "the projection", y.size) if is_found else y

        is_found, x = nearest(guess)
        if not is_found:
            return Outcome(SolutionResult.kInfeasibleConstraints, guess)
        for _ in range(int(given.get("MaxIterations", self.kDefaultMaxIterations))):
            following = self._step(form, x, nearest, given)
            if following is None:
                return Outcome(SolutionResult.kInfeasibleConstraints, x)
            moved, x = float(np.linalg.norm(following - x)), following
            if moved <= tolerance:
                return Outcome(SolutionResult.kSolutionFound, x)
        return Outcome(SolutionResult.kIterationLimit, x)

    def _step(
        self, form: NonlinearForm, x: Array, nearest: Callable[[Array], tuple[bool, Array]], given: dict[str, Any]
    ) -> Array | None:
        """The next x, (1); None if a point has no projection."""
        value, slope = form.cost(x / form.scale)
        gradient = slope / form.scale
        if self._gradient is not None:
            gradient = vector(self._gradient(x.copy()), type(self).__name__, "the gradient", x.size)
        alpha = float(given.get("BacktrackingAlpha0", self.kDefaultBacktrackingAlpha0))
        tau = float(given.get("BacktrackingTau", self.kDefaultBacktrackingTau))
        part = float(given.get("BacktrackingC", self.kDefaultBacktrackingC))
        for _ in range(self.kDefaultMaxLineSearchSteps):
            is_found, following = nearest(x - alpha * gradient)
            if not is_found:
                return None
            if form.cost(following / form.scale)[0] <= value + part * gradient @ (following - x):
                return following
            alpha *= tau
        return x

    def _projection(self, prog: MathematicalProgram) -> Callable[[Array], tuple[bool, Array]]:
        """The nearest point, by a program with the constraints."""
        constraints = prog.Clone()
        for cost in prog.GetAllCosts():
            constraints.RemoveCost(cost)
        if not constraints.GetAllConstraints():
            return lambda y: (True, y)
        size = prog.num_vars()
        distance = constraints.AddQuadraticCost(
            np.eye(size), np.zeros(size), 0.0, constraints.decision_variables(), True
        ).evaluator()

        def project(y: Array) -> tuple[bool, Array]:
            distance.UpdateCoefficients(np.eye(size), -y, 0.0, True)
            result = Solve(constraints, y) if self._solver is None else self._solver.Solve(constraints, y)
            return result.is_success(), result.get_x_val()

        return project
