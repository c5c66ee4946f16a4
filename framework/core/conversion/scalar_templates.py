"""The templates `Foo_` of the classes of this package: pydrake's names."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.leaf_context import LeafContext
from merganser.framework.core.declarations.events import (
    DiscreteUpdateEvent,
    Event,
    PublishEvent,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.ports import InputPort, LeafOutputPort, OutputPort
from merganser.framework.core.declarations.witness import WitnessFunction
from merganser.framework.core.diagram.diagram import Diagram
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.outputs import SystemOutput
from merganser.framework.core.system.system import System
from merganser.framework.core.system.vector_system import VectorSystem
from merganser.framework.core.system.visitor import SystemVisitor
from merganser.framework.core.values.state import ContinuousState, DiscreteValues, Parameters, State
from merganser.framework.core.values.values import BasicVector, VectorBase
from merganser.framework.core.values.vector_views import Subvector, Supervector


def _of_vector(vector: VectorBase) -> type[Any]:
    return scalar_of_array(vector._get())


def _of_groups(groups: DiscreteValues) -> type[Any] | None:
    return _of_vector(groups._items[0]) if groups._items else None


def _of_output(output: SystemOutput) -> type[Any] | None:
    vectors = (box.get_value() for box in output._values)
    return next((_of_vector(vector) for vector in vectors if isinstance(vector, BasicVector)), None)


def _of_state(state: State) -> type[Any] | None:
    continuous = state._continuous._vector
    return _of_vector(continuous) if continuous.size() else _of_groups(state._discrete)


def _of_its_system(thing: Any) -> type[Any]:
    return thing._system._scalar


def _context_scalar(context: Context) -> type[Any]:
    return context._scalar()


def _as_vector_of(vector: BasicVector, T: type[Any]) -> BasicVector:
    return vector._cast(T)


def _as_state_of(state: ContinuousState, T: type[Any]) -> ContinuousState:
    return ContinuousState._of(state._vector._cast(T), state._structure)


def _as_groups_of(groups: DiscreteValues, T: type[Any]) -> DiscreteValues:
    return DiscreteValues([group._cast(T) for group in groups._items])


def _as_parameters_of(parameters: Parameters, T: type[Any]) -> Parameters:
    return Parameters(_as_groups_of(parameters._numeric, T)._items, parameters._abstract._items)


System_ = SystemTemplate(System)  # type: ignore[type-abstract]
LeafSystem_ = SystemTemplate(LeafSystem)
VectorSystem_ = SystemTemplate(VectorSystem)
Diagram_ = SystemTemplate(Diagram)
DiagramBuilder_ = SystemTemplate(DiagramBuilder)

VectorBase_ = ValueTemplate(VectorBase, _of_vector)
Subvector_ = ValueTemplate(Subvector, _of_vector)
Supervector_ = ValueTemplate(Supervector, _of_vector)
BasicVector_ = ValueTemplate(BasicVector, _of_vector, _as_vector_of)
ContinuousState_ = ValueTemplate(ContinuousState, lambda state: _of_vector(state._vector), _as_state_of)
DiscreteValues_ = ValueTemplate(DiscreteValues, _of_groups, _as_groups_of)
State_ = ValueTemplate(State, _of_state)
Parameters_ = ValueTemplate(Parameters, lambda parameters: _of_groups(parameters._numeric), _as_parameters_of)
SystemOutput_ = ValueTemplate(SystemOutput, _of_output)
Context_ = ValueTemplate(Context, _context_scalar)
LeafContext_ = ValueTemplate(LeafContext, _context_scalar)
InputPort_ = ValueTemplate(InputPort, _of_its_system)
OutputPort_ = ValueTemplate(OutputPort, _of_its_system)
LeafOutputPort_ = ValueTemplate(LeafOutputPort, _of_its_system)
WitnessFunction_ = ValueTemplate(WitnessFunction, _of_its_system)

# These hold no scalars of their own.
Event_ = ValueTemplate(Event)
PublishEvent_ = ValueTemplate(PublishEvent)
DiscreteUpdateEvent_ = ValueTemplate(DiscreteUpdateEvent)
UnrestrictedUpdateEvent_ = ValueTemplate(UnrestrictedUpdateEvent)
SystemVisitor_ = ValueTemplate(SystemVisitor)
