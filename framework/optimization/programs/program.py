"""Mathematical programs: minimize a sum of costs so that constraints hold."""

from __future__ import annotations

from typing import Any

from merganser.framework.optimization.kinds import SolverId, SolverType
from merganser.framework.optimization.programs.program_polynomials import NonnegativePolynomial, ProgramPolynomials
from merganser.framework.optimization.programs.texts import program_latex, words
from merganser.framework.optimization.solvers.solver_options import SolverOptions


class MathematicalProgram(ProgramPolynomials):
    """Decision variables, costs whose sum is to be minimized, and constraints.

    Solve(prog) chooses a solver by what the program has: a cost or constraint that is added as linear, quadratic or a
    cone makes a convex program of known structure, which is solved for sure; a function of a user's makes a nonlinear
    one, which is solved from the initial guess to a local optimum.
    """

    NonnegativePolynomial = NonnegativePolynomial

    def __init__(self) -> None:
        super().__init__()
        self._options = SolverOptions()

    def Clone(self) -> MathematicalProgram:
        """A program with the same variables, evaluators, guess and options, to which others can be added."""
        clone = MathematicalProgram()
        clone._variables, clone._places = list(self._variables), dict(self._places)
        clone._guess, clone._scaling = list(self._guess), dict(self._scaling)
        clone._num_integers, clone._time_steps = self._num_integers, list(self._time_steps)
        clone._indeterminates = list(self._indeterminates)
        clone._indeterminate_places = dict(self._indeterminate_places)
        clone._bindings = {name: list(kept) for name, kept in self._bindings.items()}
        clone._options = SolverOptions(options=self._options.options)
        return clone

    __copy__ = Clone

    def __deepcopy__(self, memo: Any) -> MathematicalProgram:
        return self.Clone()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_derived": {}}  # solvers among them

    # -- options ----------------------------------------------------------------------------------------------------

    def SetSolverOption(self, solver_id: SolverId | SolverType, solver_option: str, option_value: Any) -> None:
        """Sets an option of one solver, by its own name."""
        self._options.SetOption(solver_id, solver_option, option_value)

    def SetSolverOptions(self, arg0: SolverOptions) -> None:
        """Sets all options, in place of those that were set."""
        self._options.options = SolverOptions(options=arg0.options).options

    def solver_options(self) -> SolverOptions:
        """The options; changes of them are changes of the program's."""
        return self._options

    # -- texts ------------------------------------------------------------------------------------------------------

    def ToLatex(self, precision: int = 3) -> str:
        """The program as LaTeX."""
        return program_latex(self.GetAllCosts(), self.GetAllConstraints(), self._variables, precision)

    def __str__(self) -> str:
        parts = [f"Decision variables: {words(self._variables)}\n"]
        if self._indeterminates:
            parts.append(f"Indeterminates: {words(self._indeterminates)}\n")
        parts += [str(binding).removesuffix("\n") for binding in (*self.GetAllCosts(), *self.GetAllConstraints())]
        return "\n".join(parts) + "\n"
