"""Variables of a program: decision variables, indeterminates, guesses and scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array, Objects, number_of, numbers_of, objects, vector
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.symbolic.variable import Variable

_CONTINUOUS = Variable.Type.CONTINUOUS
_ALLOWED = (_CONTINUOUS, Variable.Type.INTEGER, Variable.Type.BINARY)


class ProgramVariables:
    """The part of MathematicalProgram that knows the variables."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        self._places: dict[int, int] = {}  # by number of the variable
        self._guess: list[float] = []
        self._num_integers = 0  # binary ones among them
        self._scaling: dict[int, float] = {}
        self._time_steps: list[int] = []  # variables that are those of a motion, which longer ones may better
        self._derived: dict[Any, Any] = {}  # what follows from the variables and what is bound to them, by what it is
        self._indeterminates: list[Any] = []
        self._indeterminate_places: dict[int, int] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_derived": {}}  # which has functions that cannot be pickled

    # -- new variables ----------------------------------------------------------------------------------------------

    def _new(self, shape: tuple[int, ...], name: str, kind: str) -> Objects:
        type, rows = Variable.Type[kind], range(shape[0])
        places = rows if len(shape) == 1 else [f"{i},{j}" for i in rows for j in range(shape[1])]
        made = [Variable(f"{name}({place})", type) for place in places]
        return np.fromiter(made, object, len(made)).reshape(shape)

    def _new_decision(self, rows: int, cols: int | str | None, name: str, kind: str) -> Objects:
        if isinstance(cols, str):
            name, cols = cols, None
        for size in (rows, 0 if cols is None else cols):
            if size < 0:
                raise ValueError(f"MathematicalProgram: expected sizes of variables that are not negative, got {size}.")
        result = self._new((rows,) if cols is None else (rows, cols), name, kind)
        self._append(result.ravel("F").tolist())
        return result

    def NewContinuousVariables(self, rows: int, cols: int | str | None = None, name: str = "x") -> Objects:
        """New real variables: (rows, name), shape [rows], or (rows, cols, name), shape [rows, cols]."""
        return self._new_decision(rows, cols, name, "CONTINUOUS")

    def NewBinaryVariables(self, rows: int, cols: int | str | None = None, name: str = "b") -> Objects:
        """New variables that are 0 or 1: (rows, name), shape [rows], or (rows, cols, name), shape [rows, cols]."""
        return self._new_decision(rows, cols, name, "BINARY")

    def NewSymmetricContinuousVariables(self, rows: int, name: str = "Symmetric") -> Objects:
        """A symmetric matrix of new real variables, shape [rows, rows]."""
        result = np.empty((rows, rows), dtype=object)
        for i, j in zip(*np.tril_indices(rows)):
            result[i, j] = result[j, i] = Variable(f"{name}({i},{j})")
        column_by_column = [result[i, j] for j in range(rows) for i in range(j, rows)]
        self.AddDecisionVariables(column_by_column)
        return result

    def NewIndeterminates(self, rows: int, cols: int | str | None = None, name: str | None = None) -> Objects:
        """New indeterminates of polynomials: (rows, name="x") or (rows, cols, name="X")."""
        if isinstance(cols, str):
            name, cols = cols, None
        shape = (rows,) if cols is None else (rows, cols)
        result = self._new(shape, name if name is not None else "x" if cols is None else "X", "CONTINUOUS")
        self.AddIndeterminates(result)
        return result

    def AddDecisionVariables(self, decision_variables: Any) -> None:
        """Adds variables that were made elsewhere; those that are there already stay where they are.

        Raises:
            ValueError: one is an indeterminate of this program, or is neither continuous, integer nor binary.
        """
        added = objects(decision_variables).tolist()
        for variable in added:
            self._check_kind(variable, "AddDecisionVariables")
            if variable.get_id() in self._indeterminate_places:
                raise ValueError(f"AddDecisionVariables: {variable} is an indeterminate of this program.")
        self._append([each for each in dict.fromkeys(added) if each.get_id() not in self._places])

    def _append(self, new: list[Variable]) -> None:
        self._derived.clear()
        start = len(self._variables)
        self._places.update(zip([each.get_id() for each in new], range(start, start + len(new))))
        self._variables += new
        self._num_integers += len(new) - [each.get_type() for each in new].count(_CONTINUOUS)
        self._guess += [math.nan] * len(new)

    def AddIndeterminate(self, new_indeterminate: Any) -> int:
        """Adds one indeterminate and returns its index."""
        self.AddIndeterminates([new_indeterminate])
        return self.FindIndeterminateIndex(new_indeterminate)

    def AddIndeterminates(self, new_indeterminates: Any) -> None:
        """Adds indeterminates: an array of variables, or Variables.

        Raises:
            ValueError: one is a decision variable of this program.
        """
        added = objects(list(new_indeterminates) if np.ndim(new_indeterminates) < 2 else new_indeterminates).tolist()
        for variable in added:
            self._check_kind(variable, "AddIndeterminates")
            if variable.get_id() in self._places:
                raise ValueError(f"AddIndeterminates: {variable} is a decision variable of this program.")
        for variable in added:
            if variable.get_id() not in self._indeterminate_places:
                self._indeterminate_places[variable.get_id()] = len(self._indeterminates)
                self._indeterminates.append(variable)

    def _check_kind(self, variable: Any, where: str) -> None:
        if not isinstance(variable, Variable):
            raise TypeError(f"{where}: expected variables, got {type(variable).__name__}.")
        if variable.get_type() not in _ALLOWED:
            raise ValueError(
                f"{where}: {variable} is of the type {variable.get_type().name}; expected one of "
                f"{', '.join(each.name for each in _ALLOWED)}."
            )

    # -- where variables are ----------------------------------------------------------------------------------------

    def num_vars(self) -> int:
        """The number of decision variables."""
        return len(self._variables)

    def decision_variables(self) -> Objects:
        """All decision variables, shape [num_vars]."""
        return objects(self._variables)

    def decision_variable(self, i: int) -> Any:
        """Decision variable number i."""
        return self._variables[i]

    def decision_variable_index(self) -> dict[int, int]:
        """Indices of the decision variables by their numbers, {variable.get_id(): index}."""
        return dict(self._places)

    def num_indeterminates(self) -> int:
        """The number of indeterminates."""
        return len(self._indeterminates)

    def indeterminates(self) -> Objects:
        """All indeterminates, shape [num_indeterminates]."""
        return objects(self._indeterminates)

    def indeterminate(self, i: int) -> Any:
        """Indeterminate number i."""
        return self._indeterminates[i]

    def indeterminates_index(self) -> dict[int, int]:
        """Indices of the indeterminates by their numbers, {variable.get_id(): index}."""
        return dict(self._indeterminate_places)

    def FindDecisionVariableIndex(self, var: Any) -> int:
        """Index of a decision variable.

        Raises:
            ValueError: it is not of this program.
        """
        place = self._places.get(number_of(_variable(var)))
        if place is None:
            raise ValueError(
                f"MathematicalProgram: {var} is not a decision variable of this program. "
                "Make it by New...Variables, or add it by AddDecisionVariables."
            )
        return place

    def FindDecisionVariableIndices(self, vars: Any) -> list[int]:
        """Indices of decision variables."""
        variables = objects(vars)
        places: list[Any] = list(map(self._places.get, numbers_of(variables)))
        return list(map(self.FindDecisionVariableIndex, variables)) if None in places else places

    def FindIndeterminateIndex(self, var: Any) -> int:
        """Index of an indeterminate.

        Raises:
            ValueError: it is not of this program.
        """
        place = self._indeterminate_places.get(number_of(var))
        if place is None:
            raise ValueError(f"MathematicalProgram: {var} is not an indeterminate of this program.")
        return place

    def _places_of(self, variables: Objects) -> npt.NDArray[np.intp]:
        """Indices of variables that are known to be of this program."""
        return np.array(list(map(self._places.__getitem__, numbers_of(variables))), dtype=np.intp)

    def _are(self, *kinds: str) -> npt.NDArray[np.bool_]:
        """Which decision variables are of these types, shape [num_vars]."""
        return np.array([variable.get_type().name in kinds for variable in self._variables], dtype=bool)

    # -- guesses and scales -----------------------------------------------------------------------------------------

    def initial_guess(self) -> Array:
        """The guess of all variables; NaN where none was set."""
        return np.array(self._guess, dtype=np.float64)

    def _guess_to_begin_with(self) -> Array:
        """The guess that solvers take where none is given to them; a program of postures looks for one."""
        return self.initial_guess()

    def GetInitialGuess(self, arg0: Any) -> Any:
        """The guess of a variable, or of an array of them; NaN where none was set."""
        if np.ndim(arg0) == 0 and not isinstance(arg0, np.ndarray):
            return self._guess[self.FindDecisionVariableIndex(arg0)]
        array = np.asarray(arg0, dtype=object)
        return self._valued(array, self.initial_guess())

    def _valued(self, variables: Objects, values: Array) -> Array:
        result = np.empty(variables.shape)
        for index, variable in np.ndenumerate(variables):
            result[index] = values[self.FindDecisionVariableIndex(variable)]
        return result

    def SetInitialGuess(self, arg0: Any, arg1: Any) -> None:
        """Sets the guess of a variable, or of an array of them with values of the same shape.

        Raises:
            ValueError: a variable is not of this program, or shapes differ.
        """
        places, values = self._pairs(arg0, arg1, "SetInitialGuess")
        for place, value in zip(places, values):
            self._guess[place] = value

    def _pairs(self, variables: Any, values: Any, where: str) -> tuple[list[int], list[float]]:
        names, numbers = objects(variables), np.ravel(np.asarray(values, dtype=np.float64), order="F")
        if numbers.size != names.size:
            raise ValueError(f"{where}: {names.size} variables and {numbers.size} values.")
        return self.FindDecisionVariableIndices(names), numbers.tolist()

    def SetInitialGuessForAllVariables(self, arg0: Any) -> None:
        """Sets the guess of all variables, shape [num_vars]; NaN for no guess."""
        values = np.ravel(np.asarray(arg0, dtype=np.float64))
        if values.size != len(self._variables):
            raise ValueError(
                f"SetInitialGuessForAllVariables: expected {len(self._variables)} values, got {values.size}."
            )
        self._guess = values.tolist()

    def SetDecisionVariableValueInVector(
        self,
        decision_variable: Any = None,
        decision_variable_new_value: Any = None,
        values: Any = None,
        *,
        decision_variables: Any = None,
        decision_variables_new_values: Any = None,
    ) -> None:
        """Writes the values of some variables into `values` of all variables, shape [num_vars]."""
        given = decision_variable if decision_variables is None else decision_variables
        new = decision_variable_new_value if decision_variables_new_values is None else decision_variables_new_values
        if np.shape(values) != (len(self._variables),):
            raise ValueError(
                f"SetDecisionVariableValueInVector: expected {len(self._variables)} values, got the shape "
                f"{np.shape(values)}."
            )
        places, numbers = self._pairs(given, new, "SetDecisionVariableValueInVector")
        values[places] = numbers

    def SetVariableScaling(self, var: Any, s: float) -> None:
        """Sets by how much a variable is greater than what nonlinear solvers see: var = s z, s > 0."""
        if not s > 0.0:
            raise ValueError(f"SetVariableScaling: expected a scale above 0 of {var}, got {s}.")
        self._scaling[self.FindDecisionVariableIndex(var)] = float(s)
        self._derived.clear()

    def GetVariableScaling(self) -> dict[int, float]:
        """The scales that were set, by index of the variable."""
        return dict(self._scaling)

    def ClearVariableScaling(self) -> None:
        """Sets all scales to 1."""
        self._scaling.clear()
        self._derived.clear()

    # -- values -----------------------------------------------------------------------------------------------------

    def GetBindingVariableValues(self, binding: Binding, prog_var_vals: Any) -> Array:
        """Values of the variables of a binding, from those of all variables, shape [num_vars]."""
        return self._all_values(prog_var_vals)[self.FindDecisionVariableIndices(binding.variables())]

    def _all_values(self, prog_var_vals: Any) -> npt.NDArray[Any]:
        values = np.asarray(prog_var_vals)
        if values.ndim != 1 or values.shape[0] != len(self._variables):
            raise ValueError(
                f"MathematicalProgram: expected values of {len(self._variables)} variables, got shape {values.shape}."
            )
        return values

    def EvalBinding(self, binding: Binding, prog_var_vals: Any) -> Any:
        """A cost or constraint at values of all variables, shape [num_vars]."""
        return binding.evaluator().Eval(self.GetBindingVariableValues(binding, prog_var_vals))

    def EvalBindings(self, bindings: list[Binding], prog_var_vals: Any) -> Any:
        """Several costs and constraints at values of all variables, one after the other in one vector."""
        parts = [self.EvalBinding(binding, prog_var_vals) for binding in bindings]
        return np.concatenate(parts) if parts else np.zeros(0)

    def EvalBindingVectorized(self, binding: Binding, prog_var_vals: Any) -> Array:
        """A cost or constraint at each column of values, shape [num_vars, n]; result of shape [num_outputs, n]."""
        return np.array([self.EvalBinding(binding, column) for column in np.asarray(prog_var_vals).T]).T

    def EvalBindingAtInitialGuess(self, binding: Binding) -> Any:
        """A cost or constraint at the guess.

        Raises:
            ValueError: a variable of it has no guess.
        """
        return self.EvalBinding(binding, vector_without_gaps(self.initial_guess(), self._variables))

    def CheckSatisfied(
        self, binding: Any = None, prog_var_vals: Any = None, tol: float = 1e-6, *, bindings: Any = None
    ) -> bool:
        """Whether a constraint, or all of a list, hold at values of all variables within tol."""
        given = binding if bindings is None else bindings
        listed = [given] if isinstance(given, Binding) else given
        return all(
            each.evaluator().CheckSatisfied(self.GetBindingVariableValues(each, prog_var_vals), tol) for each in listed
        )

    def CheckSatisfiedAtInitialGuess(self, binding: Any = None, tol: float = 1e-6, *, bindings: Any = None) -> bool:
        """Whether a constraint, or all of a list, hold at the guess within tol."""
        given = binding if bindings is None else bindings
        return self.CheckSatisfied(given, self.initial_guess(), tol)


def _variable(var: Any) -> Any:
    """A variable, of one or of an expression that is just one."""
    if hasattr(var, "GetVariables") and len(var.GetVariables()) == 1:
        only = next(iter(var.GetVariables()))
        return only if var.EqualTo(only) else var
    return var


def vector_without_gaps(values: Array, variables: list[Any]) -> Array:
    """The values, if none is NaN."""
    gaps = np.flatnonzero(np.isnan(values))
    if gaps.size:
        raise ValueError(
            f"MathematicalProgram: there is no initial guess of {variables[gaps[0]]}. Use SetInitialGuess."
        )
    return vector(values, "MathematicalProgram", "the initial guess")


def set_time_steps(prog: ProgramVariables, variables: Objects) -> None:
    """Says which variables are time steps of a motion: further searches for it begin with longer ones."""
    prog._time_steps += prog.FindDecisionVariableIndices(variables)
