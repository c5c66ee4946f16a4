"""Costs, constraints and callbacks of a program, each in the list of its class."""

from __future__ import annotations

__all__ = ["ProgramBindings"]

from collections.abc import Callable
from typing import Any

from merganser.framework.optimization.arrays import Array, objects
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
_COSTS = [name for kind, (name, _) in _KEPT.items() if issubclass(kind, Cost)]
_CONSTRAINTS = [name for kind, (name, _) in _KEPT.items() if issubclass(kind, Constraint)]
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
        places = self._places
        variables = binding._variables.tolist()
        if not all(map(places.__contains__, map(id, variables))):
            variable = next(each for each in variables if id(each) not in places)
            raise ValueError(
                f"MathematicalProgram: {binding.evaluator()._where()} has {variable}, which is not a decision variable "
                "of this program. Make it by New...Variables, or add it by AddDecisionVariables."
            )
        self._bindings[_place(binding)].append(binding)
        return binding

    def _all_bindings(self) -> list[Binding]:
        return [binding for kept in self._bindings.values() for binding in kept]

    def _remove(self, binding: Binding) -> int:
        kept = self._bindings[_place(binding)]
        left = [each for each in kept if each != binding]
        count = len(kept) - len(left)
        kept[:] = left
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

    def linear_costs(self) -> list[Binding]:
        """Costs a'x + b."""
        return list(self._bindings["linear_costs"])

    def quadratic_costs(self) -> list[Binding]:
        """Costs 0.5 x'Qx + b'x + c."""
        return list(self._bindings["quadratic_costs"])

    def l2norm_costs(self) -> list[Binding]:
        """Costs |Ax + b|."""
        return list(self._bindings["l2norm_costs"])

    def generic_costs(self) -> list[Binding]:
        """All other costs."""
        return list(self._bindings["generic_costs"])

    def linear_constraints(self) -> list[Binding]:
        """Constraints lb <= Ax <= ub, without equations and boxes."""
        return list(self._bindings["linear_constraints"])

    def linear_equality_constraints(self) -> list[Binding]:
        """Constraints Ax = b."""
        return list(self._bindings["linear_equality_constraints"])

    def bounding_box_constraints(self) -> list[Binding]:
        """Constraints lb <= x <= ub."""
        return list(self._bindings["bounding_box_constraints"])

    def quadratic_constraints(self) -> list[Binding]:
        """Constraints lb <= 0.5 x'Qx + b'x <= ub."""
        return list(self._bindings["quadratic_constraints"])

    def lorentz_cone_constraints(self) -> list[Binding]:
        """Lorentz cones."""
        return list(self._bindings["lorentz_cone_constraints"])

    def rotated_lorentz_cone_constraints(self) -> list[Binding]:
        """Rotated Lorentz cones."""
        return list(self._bindings["rotated_lorentz_cone_constraints"])

    def positive_semidefinite_constraints(self) -> list[Binding]:
        """Positive semidefinite matrices of variables."""
        return list(self._bindings["positive_semidefinite_constraints"])

    def linear_matrix_inequality_constraints(self) -> list[Binding]:
        """Linear matrix inequalities."""
        return list(self._bindings["linear_matrix_inequality_constraints"])

    def exponential_cone_constraints(self) -> list[Binding]:
        """Exponential cones."""
        return list(self._bindings["exponential_cone_constraints"])

    def linear_complementarity_constraints(self) -> list[Binding]:
        """Linear complementarity constraints."""
        return list(self._bindings["linear_complementarity_constraints"])

    def generic_constraints(self) -> list[Binding]:
        """All other constraints."""
        return list(self._bindings["generic_constraints"])

    def visualization_callbacks(self) -> list[Binding]:
        """Callbacks."""
        return list(self._bindings["visualization_callbacks"])

    def GetAllCosts(self) -> list[Binding]:
        """All costs."""
        return [binding for name in _COSTS for binding in self._bindings[name]]

    def GetLinearConstraints(self) -> list[Binding]:
        """Linear constraints and equations, without boxes."""
        return self.linear_constraints() + self.linear_equality_constraints()

    def GetAllConstraints(self) -> list[Binding]:
        """All constraints."""
        return [binding for name in _CONSTRAINTS for binding in self._bindings[name]]

    def RemoveDecisionVariable(self, var: Any) -> int:
        """Removes a variable that no cost and no constraint has, and returns the index that it had.

        Raises:
            ValueError: it is not of this program, or something is bound to it.
        """
        index = self.FindDecisionVariableIndex(var)
        for binding in self._all_bindings():
            if any(each is var for each in binding.variables()):
                used = binding.brief()
                raise ValueError(f"RemoveDecisionVariable: {var} is still used by {used}. Remove that first.")
        del self._variables[index], self._guess[index]
        self._num_integers -= var.get_type().name != "CONTINUOUS"
        self._places = {id(variable): i for i, variable in enumerate(self._variables)}
        self._scaling = {i - (i > index): scale for i, scale in self._scaling.items() if i != index}
        return index

    def required_capabilities(self) -> set[ProgramAttribute]:
        """What a solver must take for this program."""
        result = {attribute for name, attribute in _KEPT.values() if self._bindings[name]}
        if self._num_integers:
            result.add(ProgramAttribute.kBinaryVariable)
        return result

    def IsThreadSafe(self) -> bool:
        """Whether several threads may evaluate this program at once: not if it calls functions of a user's."""
        return all(binding.evaluator().is_thread_safe() for binding in self._all_bindings())


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
