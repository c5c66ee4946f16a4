"""Systems, contexts, ports and diagrams: the names of pydrake.systems.framework."""

from merganser.framework.core.bus_value import BusValue
from merganser.framework.core.cache import CacheEntry, CacheEntryValue, ValueProducer
from merganser.framework.core.constraints import SystemConstraint, SystemConstraintBounds
from merganser.framework.core.context import Context
from merganser.framework.core.context_file import LoadContext
from merganser.framework.core.diagram import Diagram
from merganser.framework.core.diagram_builder import DiagramBuilder
from merganser.framework.core.diagram_context import DiagramContext
from merganser.framework.core.diagram_graph import diagram_graph
from merganser.framework.core.diagram_plot import plot_diagram
from merganser.framework.core.errors import AlgebraicLoopError, UnconnectedInputError
from merganser.framework.core.events import (
    DiscreteUpdateEvent,
    Event,
    EventStatus,
    PeriodicEventData,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.indices import (
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
from merganser.framework.core.leaf_context import LeafContext
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.outputs import SystemOutput
from merganser.framework.core.pickling import PickleSystem
from merganser.framework.core.ports import InputPort, LeafOutputPort, OutputPort
from merganser.framework.core.random_values import RandomDistribution, RandomGenerator
from merganser.framework.core.state import AbstractValues, ContinuousState, DiscreteValues, Parameters, State
from merganser.framework.core.store import FixedInputPortValue
from merganser.framework.core.system import System
from merganser.framework.core.values import AbstractValue, BasicVector, Value, VectorBase
from merganser.framework.core.vector_system import VectorSystem
from merganser.framework.core.visitor import SystemVisitor
from merganser.framework.core.witness import WitnessFunction, WitnessFunctionDirection

# pydrake's names for what does not depend on the scalar type; here it is one class.
ContextBase = Context
SystemBase = System

__all__ = [
    "AbstractParameterIndex",
    "AbstractStateIndex",
    "AbstractValue",
    "AbstractValues",
    "AlgebraicLoopError",
    "BasicVector",
    "BusValue",
    "CacheEntry",
    "CacheEntryValue",
    "CacheIndex",
    "Context",
    "ContextBase",
    "ContinuousState",
    "ContinuousStateIndex",
    "DependencyTicket",
    "Diagram",
    "DiagramBuilder",
    "DiagramContext",
    "DiscreteStateIndex",
    "DiscreteUpdateEvent",
    "DiscreteValues",
    "Event",
    "EventStatus",
    "FixedInputPortValue",
    "InputPort",
    "InputPortIndex",
    "InputPortSelection",
    "LeafContext",
    "LeafOutputPort",
    "LeafSystem",
    "LoadContext",
    "NumericParameterIndex",
    "OutputPort",
    "OutputPortIndex",
    "OutputPortSelection",
    "Parameters",
    "PeriodicEventData",
    "PickleSystem",
    "PortDataType",
    "PublishEvent",
    "RandomDistribution",
    "RandomGenerator",
    "State",
    "SubsystemIndex",
    "System",
    "SystemBase",
    "SystemConstraint",
    "SystemConstraintBounds",
    "SystemConstraintIndex",
    "SystemOutput",
    "SystemVisitor",
    "TriggerType",
    "UnconnectedInputError",
    "UnrestrictedUpdateEvent",
    "UseDefaultName",
    "Value",
    "ValueProducer",
    "VectorBase",
    "VectorSystem",
    "WitnessFunction",
    "WitnessFunctionDirection",
    "diagram_graph",
    "kAbstractValued",
    "kUseDefaultName",
    "kVectorValued",
    "plot_diagram",
]
