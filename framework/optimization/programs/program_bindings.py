"""Costs, constraints and callbacks of a program, each in the list of its class."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array, Objects, number_of, numbers_of, objects
from merganser.framework.optimization.evaluators.cone_constraints import (
    ExponentialConeConstraint,
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
    PositiveSemidefiniteConstraint,
    RotatedLorentzConeConstraint,
)
from merganser.framework.optimization.evaluators.costs import L2NormCost, LinearCost, QuadraticCost
from merganser.framework.optimization.evaluators.evaluators import Constraint, Cost, VisualizationCallback
from merganser.framework.optimization.evaluators.linear_constraints import (
    BoundingBoxConstraint,
    LinearConstraint,
    LinearEqualityConstraint,
)
from merganser.framework.optimization.evaluators.quadratic_constraints import (
    LinearComplementarityConstraint,
    QuadraticConstraint,
)
from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program_variables import ProgramVariables

_A = ProgramAttribute
# Where bindings of each class of evaluators are kept, and what a solver must take for them. The order is that of
# GetAllCosts and GetAllConstraints. Other costs and constraints are generic.
_KEPT: dict[type, tuple[str, ProgramAttribute]] = {
    Cost: ("generic_costs", _A.kGenericCost),
    LinearCost: ("linear_costs", _A.kLinearCost),
    QuadraticCost: ("quadratic_costs", _A.kQuadraticCost),
    L2NormCost: ("l2norm_costs", _A.kL2NormCost),
    Constraint: ("generic_constraints", _A.kGenericConstraint),
    QuadraticConstraint: ("quadratic_constraints", _A.kQuadraticConstraint),
    LinearConstraint: ("linear_constraints", _A.kLinearConstraint),
    LinearEqualityConstraint: ("linear_equality_constraints", _A.kLinearEqualityConstraint),
    BoundingBoxConstraint: ("bounding_box_constraints", _A.kLinearConstraint),
    LorentzConeConstraint: ("lorentz_cone_constraints", _A.kLorentzConeConstraint),
    RotatedLorentzConeConstraint: ("rotated_lorentz_cone_constraints", _A.kRotatedLorentzConeConstraint),
    LinearMatrixInequalityConstraint: ("linear_matrix_inequality_constraints", _A.kPositiveSemidefiniteConstraint),
    PositiveSemidefiniteConstraint: ("positive_semidefinite_constraints", _A.kPositiveSemidefiniteConstraint),
    LinearComplementarityConstraint: ("linear_complementarity_constraints", _A.kLinearComplementarityConstraint),
    ExponentialConeConstraint: ("exponential_cone_constraints", _A.kExponentialConeConstraint),
    VisualizationCallback: ("visualization_callbacks", _A.kCallback),
}
COSTS = [name for kind, (name, _) in _KEPT.items() if issubclass(kind, Cost)]
CONSTRAINTS = [name for kind, (name, _) in _KEPT.items() if issubclass(kind, Constraint)]


def _list(name: str, doc: str) -> Callable[[Any], list[Binding]]:
    """A function of a program that returns the list of a name."""

    def get(program: Any) -> list[Binding]:
        return list(program._bindings[name])

    get.__name__, get.__qualname__, get.__doc__ = name, f"ProgramBindings.{name}", doc
    return get


class ProgramBindings(ProgramVariables):
    """The part of MathematicalProgram that keeps what is bound to its variables."""

    def __init__(self) -> None:
        super().__init__()
        self._bindings: dict[str, list[Binding]] = {name: [] for name, _ in _KEPT.values()}

    def _add(self, binding: Binding) -> Binding:
        """Keeps a binding where its class belongs.

        Raises:
            ValueError: a variable is not of this program.
        """
        self._check_variables(binding._evaluator, binding._variables)
        self._bindings[_place(binding)].append(binding)
        self._derived.clear()
        return binding

    def _check_variables(self, evaluator: Any, variables: Objects) -> None:
        if not self._places.keys() >= set(numbers_of(variables)):
            variable = next(each for each in variables.flat if number_of(each) not in self._places)
            raise ValueError(
                f"MathematicalProgram: {evaluator._where()} has {variable}, which is not a decision variable of this "
                "program. Make it by New...Variables, or add it by AddDecisionVariables."
            )

    def _placed(self, *names: str) -> list[tuple[Binding, Any, npt.NDArray[np.intp]]]:
        """The bindings of some lists, each with its evaluator and the indices of its variables."""
        kept: list[tuple[Binding, Any, npt.NDArray[np.intp]]] | None = self._derived.get(names)
        if kept is None:
            if len(names) == 1:
                kept = [(each, each._evaluator, self._places_of(each._variables)) for each in self._bindings[names[0]]]
            else:
                kept = [each for name in names if self._bindings[name] for each in self._placed(name)]
            self._derived[names] = kept
        return kept

    def _remembered(self, what: Any, numbers: list[Any], make: Callable[[], Any]) -> Any:
        """What `make` returns, made again where the program or the numbers have changed.

        Evaluators do not change their arrays, but replace them: so numbers are the same if they are the same objects.
        """
        known = self._derived.get(what)
        if known is None or len(known[0]) != len(numbers) or not all(map(operator.is_, known[0], numbers)):
            known = self._derived[what] = numbers, make()
        return known[1]

    def _numbers(self, *names: str) -> list[Any]:
        """Arrays and numbers of the evaluators of some lists."""
        return [number for _, evaluator, _ in self._placed(*names) for number in evaluator._numbers()]

    def _all_bindings(self) -> list[Binding]:
        return [binding for kept in self._bindings.values() for binding in kept]

    def _remove(self, binding: Binding) -> int:
        kept = self._bindings[_place(binding)]
        left = [each for each in kept if each != binding]
        count = len(kept) - len(left)
        kept[:] = left
        self._derived.clear()
        return count

    def RemoveCost(self, cost: Binding) -> int:
        """Removes a cost, and returns how many times it was there."""
        return self._remove(cost)

    def RemoveConstraint(self, constraint: Binding) -> int:
        """Removes a constraint, and returns how many times it was there."""
        return self._remove(constraint)

    def AddVisualizationCallback(self, arg0: Callable[[Array], None], arg1: Any) -> Binding:
        """Calls a function with the values of some variables as a nonlinear solver goes."""
        variables = objects(arg1)
        return self._add(Binding(VisualizationCallback(variables.size, arg0), variables))

    def RemoveVisualizationCallback(self, callback: Binding) -> int:
        """Removes a callback, and returns how many times it was there."""
        return self._remove(callback)

    linear_costs = _list("linear_costs", "Costs a'x + b.")
    quadratic_costs = _list("quadratic_costs", "Costs 0.5 x'Qx + b'x + c.")
    l2norm_costs = _list("l2norm_costs", "Costs |Ax + b|.")
    generic_costs = _list("generic_costs", "All other costs.")
    linear_constraints = _list("linear_constraints", "Constraints lb <= Ax <= ub, without equations and boxes.")
    linear_equality_constraints = _list("linear_equality_constraints", "Constraints Ax = b.")
    bounding_box_constraints = _list("bounding_box_constraints", "Constraints lb <= x <= ub.")
    quadratic_constraints = _list("quadratic_constraints", "Constraints lb <= 0.5 x'Qx + b'x <= ub.")
    lorentz_cone_constraints = _list("lorentz_cone_constraints", "Lorentz cones.")
    rotated_lorentz_cone_constraints = _list("rotated_lorentz_cone_constraints", "Rotated Lorentz cones.")
    positive_semidefinite_constraints = _list(
        "positive_semidefinite_constraints", "Positive semidefinite matrices of variables."
    )
    linear_matrix_inequality_constraints = _list("linear_matrix_inequality_constraints", "Linear matrix inequalities.")
    exponential_cone_constraints = _list("exponential_cone_constraints", "Exponential cones.")
    linear_complementarity_constraints = _list(
        "linear_complementarity_constraints", "Linear complementarity constraints."
    )
    generic_constraints = _list("generic_constraints", "All other constraints.")
    visualization_callbacks = _list("visualization_callbacks", "Callbacks.")

    def GetAllCosts(self) -> list[Binding]:
        """All costs."""
        return [binding for name in COSTS for binding in self._bindings[name]]

    def GetLinearConstraints(self) -> list[Binding]:
        """Linear constraints and equations, without boxes."""
        return self.linear_constraints() + self.linear_equality_constraints()

    def GetAllConstraints(self) -> list[Binding]:
        """All constraints."""
        return [binding for name in CONSTRAINTS for binding in self._bindings[name]]

    def RemoveDecisionVariable(self, var: Any) -> int:
        """Removes a variable that no cost and no constraint has, and returns the index that it had.

        Raises:
            ValueError: it is not of this program, or something is bound to it.
        """
        index = self.FindDecisionVariableIndex(var)
        for binding in self._all_bindings():
            if any(each.EqualTo(var) for each in binding.variables()):
                used = binding.brief()
                raise ValueError(f"RemoveDecisionVariable: {var} is still used by {used}. Remove that first.")
        del self._variables[index], self._guess[index]
        self._derived.clear()
        self._num_integers -= var.get_type().name != "CONTINUOUS"
        self._places = {variable.get_id(): i for i, variable in enumerate(self._variables)}
        self._scaling = {i - (i > index): scale for i, scale in self._scaling.items() if i != index}
        self._time_steps = [i - (i > index) for i in self._time_steps if i != index]
        return index

    def required_capabilities(self) -> set[ProgramAttribute]:
        """The kinds that a solver must take for this program."""
        result = {attribute for name, attribute in _KEPT.values() if self._bindings[name]}
        if self._num_integers:
            result.add(ProgramAttribute.kBinaryVariable)
        return result

    def IsThreadSafe(self) -> bool:
        """Whether several threads may evaluate this program at once: not if it calls functions of a user's."""
        return all(binding.evaluator().is_thread_safe() for binding in self._all_bindings())


def add_alike(prog: ProgramBindings, evaluators: Sequence[Any], variables: Objects) -> list[Binding]:
    """Adds evaluators of one class, each of a row of variables, shape [len(evaluators), num_vars]."""
    if not evaluators:
        return []
    prog._check_variables(evaluators[0], variables)
    added = list(map(Binding._of, evaluators, variables))
    prog._bindings[_place(added[0])] += added
    prog._derived.clear()
    return added


def _place(binding: Binding) -> str:
    """The list that keeps a binding."""
    evaluator = binding._evaluator
    kept = _KEPT.get(type(evaluator))
    if kept is not None:
        return kept[0]
    if isinstance(evaluator, Cost):
        return "generic_costs"
    if isinstance(evaluator, Constraint):
        return "generic_constraints"
    raise TypeError(f"MathematicalProgram: {type(evaluator).__name__} is neither a cost nor a constraint.")
