"""Systems, contexts, ports and diagrams: the names of pydrake.systems.framework."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.compilation import NativeCompilation as _NativeCompilation
from merganser.framework.core.bus_value import BusValue
from merganser.framework.core.cache import CacheEntry, CacheEntryValue, ValueProducer
from merganser.framework.core.compilation import hand_in as _hand_in
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
from merganser.framework.core.graphviz_plot import plot_graphviz, plot_system_graphviz
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
from merganser.framework.core.parallelism import Parallelism
from merganser.framework.core.pickling import PickleSystem
from merganser.framework.core.ports import InputPort, LeafOutputPort, OutputPort
from merganser.framework.core.random_values import CalcProbabilityDensity, RandomDistribution, RandomGenerator
from merganser.framework.core.scalar_conversion import SystemScalarConverter
from merganser.framework.core.scalar_templates import (
    BasicVector_,
    Context_,
    ContinuousState_,
    Diagram_,
    DiagramBuilder_,
    DiscreteUpdateEvent_,
    DiscreteValues_,
    Event_,
    InputPort_,
    LeafContext_,
    LeafOutputPort_,
    LeafSystem_,
    OutputPort_,
    Parameters_,
    PublishEvent_,
    State_,
    Subvector_,
    Supervector_,
    System_,
    SystemOutput_,
    SystemVisitor_,
    UnrestrictedUpdateEvent_,
    VectorBase_,
    VectorSystem_,
    WitnessFunction_,
)
from merganser.framework.core.state import AbstractValues, ContinuousState, DiscreteValues, Parameters, State
from merganser.framework.core.store import FixedInputPortValue
from merganser.framework.core.system import System
from merganser.framework.core.system_base import SystemBase
from merganser.framework.core.template_system import TemplateSystem
from merganser.framework.core.values import AbstractValue, BasicVector, Value, VectorBase
from merganser.framework.core.vector_system import VectorSystem
from merganser.framework.core.vector_views import Subvector, Supervector
from merganser.framework.core.visitor import SystemVisitor
from merganser.framework.core.witness import WitnessFunction, WitnessFunctionDirection

_hand_in(_NativeCompilation())  # core does not know the room that compiles

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

if not _TYPE_CHECKING:
    from merganser.framework.core.lazy_packages import lazy_packages as _lazy_packages

    __getattr__ = _lazy_packages(
        __name__,
        "autodiff",
        "lcm",
        "math",
        "native",
        "optimization",
        "primitives",
        "schema",
        "symbolic",
        "trajectories",
        "yaml",
    )
