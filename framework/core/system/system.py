"""System: the abstract base of everything that has ports and dynamics.

What it is made of is in system_base.py. What it can do is put together from classes by what it is about; here are
its inputs and outputs, its time derivatives and its events.
"""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Any, Self

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import PUBLISH_PHASE, TriggerType
from merganser.framework.core.declarations.execution import execute, in_phases, raise_if_failed
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.scalars.copying import copy_system
from merganser.framework.core.scalars.scalars import filled
from merganser.framework.core.scalars.templates import Template, generic_class, instantiate
from merganser.framework.core.system.constraints import ConstraintMethods
from merganser.framework.core.system.dynamics import DifferenceEquationMethods, DynamicsMethods, compute_update
from merganser.framework.core.system.random_values import RandomContextMethods
from merganser.framework.core.system.scalar_conversion import ScalarConversionMethods
from merganser.framework.core.values.state import ContinuousState, DiscreteValues, State, _window
from merganser.framework.core.values.values import AbstractValue, BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.declarations.witness import ActiveWitness, WitnessFunction
    from merganser.framework.core.diagram.diagram import Diagram


class SystemOutput:
    """Room for the values of all output ports; made by `System.AllocateOutput`.

    Args:
        values: one box for each output port; that of a vector port holds a BasicVector.
    """

    __slots__ = ("_values",)

    def __init__(self, values: list[AbstractValue]) -> None:
        self._values = values

    def num_ports(self) -> int:
        """Number of output ports."""
        return len(self._values)

    def get_data(self, index: int) -> AbstractValue:
        """Returns the value of output port `index` in a box; that of a vector port holds a BasicVector."""
        self._check(index)
        return self._values[index]

    def get_vector_data(self, index: int) -> BasicVector:
        """Returns the value of vector output port `index`.

        Raises:
            TypeError: the port carries an abstract value.
        """
        self._check(index)
        value = self._values[index].get_value()
        if not isinstance(value, BasicVector):
            raise TypeError(f"Output port {index} carries an abstract value, not a vector; use get_data({index}).")
        return value

    def GetMutableData(self, index: int) -> AbstractValue:
        """Returns the value of output port `index`, for changing it."""
        return self.get_data(index)

    def GetMutableVectorData(self, index: int) -> BasicVector:
        """Returns the value of vector output port `index`, for changing it."""
        return self.get_vector_data(index)

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self._values):
            raise IndexError(f"There is no output port {index}: there are {len(self._values)}.")

    def _scalar_type(self) -> Any:
        vectors = (box.get_value() for box in self._values)
        return next((vector._scalar_type() for vector in vectors if isinstance(vector, BasicVector)), None)


class System(
    DynamicsMethods,
    DifferenceEquationMethods,
    ConstraintMethods,
    RandomContextMethods,
    ScalarConversionMethods,
):
    """Something with input ports, output ports, state and parameters, whose values live in a Context.

    A System does not change once it is built; one System serves any number of Contexts. Abstract: the concrete ones
    are subclasses of `LeafSystem`, and `Diagram`.
    """

    # ------------------------------------------------------------------ inputs

    def EvalVectorInput(self, context: Context, port_index: int) -> BasicVector | None:
        """Returns the current value of a vector input port, or None if it is neither connected nor fixed."""
        try:
            is_mine = context.system is self
        except AttributeError:  # no Context at all
            is_mine = False
        if not is_mine:
            self.ValidateContext(context)
        port = self.get_input_port(port_index)
        if port._size is None:
            raise TypeError(f"{port.GetFullDescription()} carries an abstract value.")
        return context.read_input(port._index)  # type: ignore[return-value]

    def EvalAbstractInput(self, context: Context, port_index: int) -> AbstractValue | None:
        """Returns the current value of an input port in a box, or None if it is neither connected nor fixed."""
        port = self.get_input_port(port_index)
        self.ValidateContext(context)
        return port.EvalAbstract(context) if context.has_input(port_index) else None

    def FixInputPortsFrom(self, other_system: System, other_context: Context, target_context: Context) -> None:
        """Fixes each input port to the value that the same port of another system has in another context."""
        if not isinstance(other_system, System):
            raise TypeError(
                f"System '{self.GetSystemPathname()}', FixInputPortsFrom: expected a System, got "
                f"{type(other_system).__name__}."
            )
        self.ValidateContext(target_context)
        other_system.ValidateContext(other_context)
        mine, theirs = ([port._size for port in system._sys_input_ports] for system in (self, other_system))
        if theirs != mine:
            raise ValueError(
                f"FixInputPortsFrom: systems '{self.GetSystemPathname()}' and '{other_system.GetSystemPathname()}' "
                f"differ in their input ports, whose sizes are {mine} and {theirs}."
            )
        for port, other in zip(self._sys_input_ports, other_system._sys_input_ports):
            if other.HasValue(other_context):
                port.FixValue(target_context, other.Eval(other_context))

    def AllocateInputVector(self, input_port: InputPort) -> BasicVector:
        """Returns a vector that fits the port."""
        self._require_my_input(input_port)
        if input_port._size is None:
            raise TypeError(f"{input_port.GetFullDescription()} carries an abstract value; use AllocateInputAbstract.")
        if input_port._model is None:
            return _window(filled(input_port.size(), self._scalar, math.nan))
        return input_port._model._cast(self._scalar)

    def AllocateInputAbstract(self, input_port: InputPort) -> AbstractValue:
        """Returns a box with a value of the port's type."""
        self._require_my_input(input_port)
        return input_port.Allocate()

    def _require_my_input(self, port: InputPort) -> None:
        if not isinstance(port, InputPort):
            raise TypeError(
                f"System '{self.GetSystemPathname()}': expected one of its input ports, got {type(port).__name__}."
            )
        if port._system is not self:
            raise ValueError(f"{port.GetFullDescription()} is not a port of system '{self.GetSystemPathname()}'.")

    # ------------------------------------------------------------------ outputs

    def AllocateOutput(self) -> SystemOutput:
        """Returns room for the values of all output ports."""
        return SystemOutput([port.Allocate() for port in self._sys_output_ports])

    def CalcOutput(self, context: Context, outputs: SystemOutput) -> None:
        """Copies the current values of all output ports into `outputs`, computing those that are out of date.

        Raises:
            ValueError: `outputs` was made by a system with another number of output ports.
        """
        self.ValidateContext(context)
        if not isinstance(outputs, SystemOutput):
            raise TypeError(
                f"CalcOutput: system '{self.GetSystemPathname()}' needs a SystemOutput, made by AllocateOutput(); got "
                f"{type(outputs).__name__}."
            )
        if outputs.num_ports() != len(self._sys_output_ports):
            raise ValueError(
                f"CalcOutput: system '{self.GetSystemPathname()}' has {len(self._sys_output_ports)} output ports, but "
                f"`outputs` has room for {outputs.num_ports()}; make it with AllocateOutput of the same system."
            )
        for port, box in zip(self._sys_output_ports, outputs._values):
            value = port._read(context)
            if isinstance(value, BasicVector):
                box.get_value().SetFrom(value)
            else:
                box.SetFrom(value)

    # ------------------------------------------------------------------ dynamics

    def EvalTimeDerivatives(self, context: Context) -> ContinuousState:
        """Returns the time derivatives of the continuous state, computed if they are out of date."""
        self.ValidateContext(context)
        return context._read_derivatives()

    def CalcTimeDerivatives(self, context: Context, derivatives: ContinuousState) -> None:
        """Computes the time derivatives of the continuous state into `derivatives`."""
        self.ValidateContext(context)
        self._require_room(derivatives, ContinuousState, "CalcTimeDerivatives", context.num_continuous_states())
        derivatives.SetFrom(self.EvalTimeDerivatives(context))

    def _require_room(self, room: Any, kind: type, function: str, size: int) -> None:
        """Raises an error if the argument of a `Calc` function is of another kind or size."""
        if not isinstance(room, kind):
            raise TypeError(
                f"System '{self.GetSystemPathname()}', {function}: expected {kind.__name__} for the result, got "
                f"{type(room).__name__}."
            )
        found = room.num_groups() if isinstance(room, DiscreteValues) else room.size()  # type: ignore[attr-defined]
        if found != size:
            raise ValueError(
                f"System '{self.GetSystemPathname()}', {function}: the {kind.__name__} for the result has size "
                f"{found}, expected {size}."
            )

    def AllocateTimeDerivatives(self) -> ContinuousState:
        """Returns room for time derivatives."""
        layout = self._get_layout()
        vector = _window(filled(layout.num_xc, self._scalar))
        return ContinuousState._of(vector, layout.top)

    def AllocateDiscreteVariables(self) -> DiscreteValues:
        """Returns room for discrete state."""
        return self.AllocateContext()._discrete.Clone()

    # ------------------------------------------------------------------ events

    def ForcedPublish(self, context: Context) -> None:
        """Calls all forced publish events."""
        self.ValidateContext(context)
        raise_if_failed(execute(in_phases(self._events_with(context, TriggerType.kForced))[PUBLISH_PHASE]), context)

    def CalcForcedDiscreteVariableUpdate(self, context: Context, discrete_state: DiscreteValues) -> None:
        """Computes what all forced discrete updates would make of the discrete state, into `discrete_state`."""
        self.ValidateContext(context)
        num_groups = context.num_discrete_state_groups()
        self._require_room(discrete_state, DiscreteValues, "CalcForcedDiscreteVariableUpdate", num_groups)
        compute_update(context, TriggerType.kForced, discrete_state)

    def CalcForcedUnrestrictedUpdate(self, context: Context, state: State) -> None:
        """Computes what all forced unrestricted updates would make of the state, into `state`."""
        self.ValidateContext(context)
        if not isinstance(state, State):
            raise TypeError(
                f"System '{self.GetSystemPathname()}', CalcForcedUnrestrictedUpdate: expected a State for the result, "
                f"got {type(state).__name__}."
            )
        compute_update(context, TriggerType.kForced, state)

    def ExecuteForcedEvents(self, context: Context, publish: bool = True) -> None:
        """Carries out all forced events: unrestricted updates, then discrete updates, then publishes.

        Raises:
            RuntimeError: a handler reported failure.
        """
        self.ValidateContext(context)
        self._execute_all(context, TriggerType.kForced, publish)

    def ExecuteInitializationEvents(self, context: Context) -> None:
        """Carries out all initialization events: unrestricted updates, discrete updates, then publishes.

        Raises:
            RuntimeError: a handler reported failure.
        """
        self.ValidateContext(context)
        self._execute_all(context, TriggerType.kInitialization, publish=True)

    def _execute_all(self, context: Context, trigger: TriggerType, publish: bool) -> None:
        phases = in_phases(self._events_with(context, trigger))
        for events in phases if publish else phases[:PUBLISH_PHASE]:
            raise_if_failed(execute(events), context)

    # ------------------------------------------------------------------ witness functions

    def GetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        """Returns the witness functions, of this system and those inside, that count in the present state."""
        self.ValidateContext(context)
        return [witness for _, witness in self._sys_active_witnesses(context)]

    @abc.abstractmethod
    def _sys_active_witnesses(self, context: Context) -> list[ActiveWitness]:
        """The witness functions that count in the present state, each with the context of its leaf system."""

    @abc.abstractmethod
    def _sys_may_have_witnesses(self) -> bool:
        """Whether any system here has witness functions in any state."""

    # ------------------------------------------------------------------ copies

    def Clone(self) -> Self:
        """Returns an independent copy of the system and all inside it, outside of any Diagram."""
        return copy_system(self)

    def __copy__(self) -> Any:
        return copy_system(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy_system(self, memo)

    def __getstate__(self) -> dict[str, Any]:
        # The layout follows from the rest, and knows systems by their addresses. A copy is in no builder.
        return {**self.__dict__, "_sys_layout_cache": None, "_sys_names_around": None}

    def __reduce__(self) -> tuple[Any, ...]:
        return new_system, (origin_of(self), self._scalar), self.__getstate__()

    # ------------------------------------------------------------------ visitors

    def Accept(self, v: SystemVisitor) -> None:
        """Calls the visitor's method for this kind of system."""
        v.VisitSystem(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} '{self.GetSystemPathname()}'>"


def origin_of(system: System) -> type[Any] | Template:
    """What `new_system` makes a system of the same class from."""
    cls = type(system)
    return cls.__dict__.get("_template", generic_class(cls))


def new_system(origin: type[Any] | Template, T: type[Any]) -> Any:
    """A system without content, for `pickle`: of a template, or of the class for scalars of type T that belongs to one
    for floats."""
    cls: Any = origin[T] if isinstance(origin, Template) else instantiate(origin, T)
    return object.__new__(cls)


class SystemVisitor:
    """Override both methods and pass the visitor to `system.Accept`.

    A Diagram calls only `VisitDiagram`; to go on, that calls `Accept` of the subsystems it wants to visit.
    """

    def VisitSystem(self, system: System) -> None:
        """Called for a leaf system."""

    def VisitDiagram(self, diagram: Diagram) -> None:
        """Called for a Diagram."""
