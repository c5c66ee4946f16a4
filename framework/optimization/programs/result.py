"""The result of a solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, number_of, vector
from merganser.framework.optimization.kinds import SolutionResult, SolverId
from merganser.framework.optimization.programs.binding import Binding

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram


_NOTHING, _NO_SOLVER = np.zeros(0), SolverId("")


class MathematicalProgramResult:
    """Values of the variables, the cost, prices of constraints, and how the solution ended."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        self._places: dict[int, int] = {}
        self._x: Array = _NOTHING
        self._cost = np.nan
        self._outcome = SolutionResult.kSolutionResultNotSet
        self._solver = _NO_SOLVER
        self._details: Any = None
        self._duals: dict[Binding, Array] | Callable[[], dict[Binding, Array]] = {}  # or how to get them
        self._suboptimal: list[tuple[float, Array]] = []

    def is_success(self) -> bool:
        """Whether a solution was found."""
        return self._outcome is SolutionResult.kSolutionFound

    def get_solution_result(self) -> SolutionResult:
        """How the solution ended."""
        return self._outcome

    def set_solution_result(self, arg0: SolutionResult) -> None:
        """Sets how the solution ended."""
        self._outcome = SolutionResult(arg0)

    def get_optimal_cost(self) -> float:
        """The cost; infinite where nothing satisfies the constraints, minus infinity where there is no least."""
        return self._cost

    def get_solver_id(self) -> SolverId:
        """The solver that really ran."""
        return self._solver

    def get_solver_details(self) -> Any:
        """The details that the solver reports."""
        return self._details

    def get_x_val(self) -> Array:
        """Values of all variables, shape [num_vars]."""
        return self._x.copy()

    def set_x_val(self, x_val: Any) -> None:
        """Sets the values of all variables."""
        self._x = vector(x_val, "MathematicalProgramResult", "x_val", len(self._variables))

    def has_variable(self, variable: Any) -> bool:
        """Whether there is a value of a variable."""
        return number_of(variable) in self._places

    def add_values(self, variables: Objects, values: Any) -> None:
        """Adds values of variables that follow from the solution, and are not of the program that was solved.

        Args:
            variables: shape [n].
            values: shape [n]; NaN for variables that have none.

        Raises:
            ValueError: there are not n values, or one of the variables is there already.
        """
        added = np.array(values, dtype=np.float64).ravel()
        if added.size != variables.size or any(map(self.has_variable, variables.tolist())):
            raise ValueError(f"add_values: expected values of {variables.size} new variables, got {added.size}.")
        self._places.update({each.get_id(): i for i, each in enumerate(variables.tolist(), len(self._variables))})
        self._variables += variables.tolist()
        self._x = np.concatenate((self._x, added))

    def _place(self, variable: Any) -> int:
        place = self._places.get(number_of(variable))
        if place is None:
            raise ValueError(f"GetSolution: {variable} is not a decision variable of the program that was solved.")
        return place

    def SetSolution(self, var: Any, value: float) -> None:
        """Sets the value of one variable."""
        self._x[self._place(var)] = float(value)

    def GetSolution(self, arg0: Any = None) -> Any:
        """Values of all variables, of one, or of an array; what an expression or a polynomial becomes with them.

        Raises:
            ValueError: a variable is not of the program that was solved.
        """
        return self.get_x_val() if arg0 is None else self._valued(arg0, self._x)

    def _valued(self, asked: Any, x: Array) -> Any:
        if isinstance(asked, (list, tuple, np.ndarray)):
            array = np.asarray(asked, dtype=object)
            if array.ndim == 1 and array.size and not hasattr(array[0], "get_type"):
                array = array[:, np.newaxis]  # expressions, of which pydrake makes a matrix
            values = [self._valued(each, x) for each in array.flat]
            is_numeric = all(isinstance(each, float) for each in values)
            result = np.empty(array.shape, dtype=np.float64 if is_numeric else object)
            result.ravel()[:] = values
            return result
        if hasattr(asked, "get_type"):
            return float(x[self._place(asked)])
        if hasattr(asked, "decision_variables"):  # a polynomial
            return asked.EvaluatePartial(self._known(asked.decision_variables(), x))
        if hasattr(asked, "EvaluatePartial"):
            return asked.EvaluatePartial(self._known(asked.GetVariables(), x))
        raise TypeError(f"GetSolution: expected variables, expressions or polynomials, got {type(asked).__name__}.")

    def _known(self, variables: Any, x: Array) -> dict[Any, float]:
        return {v: float(x[self._places[v.get_id()]]) for v in variables if v.get_id() in self._places}

    def num_suboptimal_solution(self) -> int:
        """How many solutions the solver kept, the best first."""
        return len(self._suboptimal)

    def get_suboptimal_objective(self, solution_number: int) -> float:
        """The cost of one of the solutions that were kept."""
        return self._suboptimal[solution_number][0]

    def GetSuboptimalSolution(self, arg0: Any, arg1: int) -> Any:
        """Values of a variable, or of an array, in one of the solutions that were kept."""
        return self._valued(arg0, self._suboptimal[arg1][1])

    def EvalBinding(self, arg0: Binding) -> Any:
        """A cost or constraint at the solution."""
        return arg0.evaluator().Eval(self._of(arg0))

    def _of(self, binding: Binding) -> Array:
        return self._x[[self._place(variable) for variable in binding.variables()]]

    def GetDualSolution(self, arg0: Binding) -> Array:
        """Prices of a constraint: how the cost grows with its active bound; of a cone, the point of the dual one.

        Raises:
            ValueError: the constraint is not of the program that was solved, or its class has no prices here.
        """
        duals = self._prices()
        if arg0 not in duals:
            raise ValueError(
                f"GetDualSolution: {arg0} is not of the program that was solved, or the solver {self._solver} gives no "
                "dual of it."
            )
        return duals[arg0].copy()

    def _prices(self) -> dict[Binding, Array]:
        if callable(self._duals):
            self._duals = self._duals()
        return self._duals

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_duals": self._prices()}

    def GetInfeasibleConstraints(self, prog: MathematicalProgram, tol: float | None = None) -> list[Binding]:
        """Constraints that do not hold at the values of the variables, within tol (1e-4)."""
        margin = 1e-4 if tol is None else tol
        return [
            binding
            for binding in prog.GetAllConstraints()
            if not binding.evaluator().CheckSatisfied(self._of(binding), margin)
        ]

    def GetInfeasibleConstraintNames(self, prog: MathematicalProgram, tol: float | None = None) -> list[str]:
        """Lower bound, value and upper bound of each row that does not hold, with the name of its constraint."""
        margin = 1e-4 if tol is None else tol
        names = []
        for binding in self.GetInfeasibleConstraints(prog, margin):
            constraint = binding.evaluator()
            name = constraint.get_description() or f"drake::solvers::{type(constraint).__name__}"
            rows = zip(constraint.lower_bound(), self.EvalBinding(binding), constraint.upper_bound())
            for i, (low, y, high) in enumerate(rows):
                if not low - margin <= y <= high + margin:
                    names.append(f"{name}[{i}]: {low:.6f} <= {y:.6f} <= {high:.6f}")
        return names
