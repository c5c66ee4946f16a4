"""Systems, contexts, ports and diagrams: the names of pydrake.systems.framework."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.errors import AlgebraicLoopError, UnconnectedInputError
from merganser.framework.common.indices import (
    AbstractParameterIndex,
    AbstractStateIndex,
    CacheIndex,
    ContinuousStateIndex,
    DependencyTicket,
    DiscreteStateIndex,
    InputPortIndex,
    InputPortSelection,
    NumericParameterIndex,
    OutputPortIndex,
    OutputPortSelection,
    PortDataType,
    SubsystemIndex,
    SystemConstraintIndex,
    UseDefaultName,
    kAbstractValued,
    kUseDefaultName,
    kVectorValued,
)
from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.framework.common.parallelism import Parallelism
from merganser.framework.compilation import NativeCompilation as _NativeCompilation
from merganser.framework.core.context.compiler_hook import hand_in as _hand_in
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.context_values import LoadContext
from merganser.framework.core.context.leaf_context import DiagramContext, LeafContext
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.declarations.cache import CacheEntry, CacheEntryValue, ValueProducer
from merganser.framework.core.declarations.events import (
    DiscreteUpdateEvent,
    Event,
    EventStatus,
    PeriodicEventData,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.ports import InputPort, LeafOutputPort, OutputPort
from merganser.framework.core.declarations.witness import WitnessFunction, WitnessFunctionDirection
from merganser.framework.core.diagram.diagram import Diagram
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.drawing import diagram_graph, plot_diagram, plot_graphviz, plot_system_graphviz
from merganser.framework.core.scalars.copying import PickleSystem
from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
from merganser.framework.core.system.constraints import SystemConstraint, SystemConstraintBounds
from merganser.framework.core.system.converting import TemplateSystem
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import CalcProbabilityDensity, RandomDistribution, RandomGenerator
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.system.system import System, SystemOutput, SystemVisitor
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.system.vector_system import VectorSystem
from merganser.framework.core.values.bus_value import BusValue
from merganser.framework.core.values.state import AbstractValues, ContinuousState, DiscreteValues, Parameters, State
from merganser.framework.core.values.values import AbstractValue, BasicVector, Subvector, Supervector, Value, VectorBase

BasicVector_ = _ValueTemplate(BasicVector)
Context_ = _ValueTemplate(Context)
ContinuousState_ = _ValueTemplate(ContinuousState)
Diagram_ = _SystemTemplate(Diagram)
DiagramBuilder_ = _SystemTemplate(DiagramBuilder)
DiscreteUpdateEvent_ = _ValueTemplate(DiscreteUpdateEvent)
DiscreteValues_ = _ValueTemplate(DiscreteValues)
Event_ = _ValueTemplate(Event)
InputPort_ = _ValueTemplate(InputPort)
LeafContext_ = _ValueTemplate(LeafContext)
LeafOutputPort_ = _ValueTemplate(LeafOutputPort)
LeafSystem_ = _SystemTemplate(LeafSystem)
OutputPort_ = _ValueTemplate(OutputPort)
Parameters_ = _ValueTemplate(Parameters)
PublishEvent_ = _ValueTemplate(PublishEvent)
State_ = _ValueTemplate(State)
Subvector_ = _ValueTemplate(Subvector)
Supervector_ = _ValueTemplate(Supervector)
System_ = _SystemTemplate(System)  # type: ignore[type-abstract]
SystemOutput_ = _ValueTemplate(SystemOutput)
SystemVisitor_ = _ValueTemplate(SystemVisitor)
UnrestrictedUpdateEvent_ = _ValueTemplate(UnrestrictedUpdateEvent)
VectorBase_ = _ValueTemplate(VectorBase)
VectorSystem_ = _SystemTemplate(VectorSystem)
WitnessFunction_ = _ValueTemplate(WitnessFunction)


_hand_in(_NativeCompilation())  # core does not know the package that compiles

# pydrake's names for what does not depend on the scalar type; here it is one class.
ContextBase = Context

__all__ = [
    "AbstractParameterIndex",
    "AbstractStateIndex",
    "AbstractValue",
    "AbstractValues",
    "AlgebraicLoopError",
    "BasicVector",
    "BasicVector_",
    "BusValue",
    "CacheEntry",
    "CacheEntryValue",
    "CacheIndex",
    "CalcProbabilityDensity",
    "Context",
    "ContextBase",
    "Context_",
    "ContinuousState",
    "ContinuousStateIndex",
    "ContinuousState_",
    "DependencyTicket",
    "Diagram",
    "DiagramBuilder",
    "DiagramBuilder_",
    "DiagramContext",
    "Diagram_",
    "DiscreteStateIndex",
    "DiscreteUpdateEvent",
    "DiscreteUpdateEvent_",
    "DiscreteValues",
    "DiscreteValues_",
    "Event",
    "EventStatus",
    "Event_",
    "FixedInputPortValue",
    "InputPort",
    "InputPortIndex",
    "InputPortSelection",
    "InputPort_",
    "LeafContext",
    "LeafContext_",
    "LeafOutputPort",
    "LeafOutputPort_",
    "LeafSystem",
    "LeafSystem_",
    "LoadContext",
    "NumericParameterIndex",
    "OutputPort",
    "OutputPortIndex",
    "OutputPortSelection",
    "OutputPort_",
    "Parallelism",
    "Parameters",
    "Parameters_",
    "PeriodicEventData",
    "PickleSystem",
    "PortDataType",
    "PublishEvent",
    "PublishEvent_",
    "RandomDistribution",
    "RandomGenerator",
    "State",
    "State_",
    "SubsystemIndex",
    "Subvector",
    "Subvector_",
    "Supervector",
    "Supervector_",
    "System",
    "SystemBase",
    "SystemConstraint",
    "SystemConstraintBounds",
    "SystemConstraintIndex",
    "SystemOutput",
    "SystemOutput_",
    "SystemScalarConverter",
    "SystemVisitor",
    "SystemVisitor_",
    "System_",
    "TemplateSystem",
    "TriggerType",
    "UnconnectedInputError",
    "UnrestrictedUpdateEvent",
    "UnrestrictedUpdateEvent_",
    "UseDefaultName",
    "Value",
    "ValueProducer",
    "VectorBase",
    "VectorBase_",
    "VectorSystem",
    "VectorSystem_",
    "WitnessFunction",
    "WitnessFunctionDirection",
    "WitnessFunction_",
    "diagram_graph",
    "kAbstractValued",
    "kUseDefaultName",
    "kVectorValued",
    "plot_diagram",
    "plot_graphviz",
    "plot_system_graphviz",
]

if not _TYPE_CHECKING:  # type checkers would take it for a promise that every name is there
    __getattr__, __dir__ = _lazy_names(
        __name__, "autodiff", "lcm", "math", "native", "optimization", "primitives", "schema", "symbolic",
        "trajectories", "yaml",
    )  # fmt: skip
