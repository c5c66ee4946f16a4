"""LeafSystem: a System whose behaviour is written out in callbacks; the base of every block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import names_of
from merganser.framework.common.errors import Where, call_to_write, refuse_result
from merganser.framework.common.indices import (
    AbstractStateIndex,
    ContinuousStateIndex,
    DependencyTicket,
    DiscreteStateIndex,
    PortDataType,
    UseDefaultName,
)
from merganser.framework.core.context.dependencies import DependencyTable, bits
from merganser.framework.core.context.leaf_context import LeafContext
from merganser.framework.core.context.native_code import CONTINUOUS_STATE, OUTPUT, DiscreteStateOf, NativeCode
from merganser.framework.core.declarations.cache import CacheEntry, ValueProducer
from merganser.framework.core.declarations.events import DeclaredEvent, Event
from merganser.framework.core.declarations.native_function import NativeFunction
from merganser.framework.core.declarations.ports import InputPort, LeafOutputPort
from merganser.framework.core.declarations.witness import (
    ActiveWitness,
    ElementOf,
    WitnessFunction,
    WitnessFunctionDirection,
)
from merganser.framework.core.system.constraints import LeafConstraintMethods, SystemConstraint
from merganser.framework.core.system.dynamics import LeafDynamics, declare_energy_entries
from merganser.framework.core.system.leaf_declarations import (
    EventDeclarations,
    NativeDeclarations,
    ParameterDeclarations,
)
from merganser.framework.core.system.random_values import LeafRandomMethods, RandomDistribution
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.core.system.system import System
from merganser.framework.core.values.arguments import (
    as_model_vector,
    checked_index,
    checked_model_value,
    checked_size,
    continuous_arguments,
    one_of,
    refuse_unknown,
)
from merganser.framework.core.values.state import ContinuousState
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

_ALL_SOURCES = frozenset({System.all_sources_ticket()})
_SIZE = "System '{}': DeclareVector{}Port: size of port {!r}"


class LeafSystem(
    NativeDeclarations,
    ParameterDeclarations,
    EventDeclarations,
    LeafDynamics,
    LeafConstraintMethods,
    LeafRandomMethods,
    System,
):
    """A System without subsystems.

    A subclass declares its ports, state, parameters and events in `__init__` and does not change afterwards: values
    live in the Context that every callback receives. It computes derivatives of its continuous state by overriding
    `DoCalcTimeDerivatives(context, derivatives)`.

    Where `prerequisites_of_calc` is left open, the framework watches which parts of the context the callback reads
    and recomputes the result when one of these changes. An output that does not read an input at the same instant
    therefore has no direct feedthrough, without having to say so.
    """

    # Most systems have only some of these; what is empty is the same for all.
    _sys_xcdot_entry: int | None = None
    _sys_continuous_sizes = (0, 0, 0)
    _sys_continuous_model: BasicVector = BasicVector([])
    _sys_discrete_models: tuple[BasicVector, ...] = ()
    _sys_abstract_state_models: tuple[AbstractValue, ...] = ()
    _sys_numeric_parameter_models: tuple[BasicVector, ...] = ()
    _sys_abstract_parameter_models: tuple[AbstractValue, ...] = ()
    _sys_unit_quaternions: Sequence[int] = ()  # where in the continuous state; integrators keep their length 1
    _sys_events: tuple[DeclaredEvent, ...] = ()
    _sys_without_abstract_state = ""  # how to do without abstract state, for messages
    _sys_is_piecewise = False  # whether it has regions, as a PiecewiseBlock of framework/primitives has
    _sys_decides = False  # whether it changes its state between steps, as a DecidingBlock there does
    _sys_breaks: Callable[[], Sequence[float]] | None = None  # see inside.py
    _sys_white_noise: tuple[int, int, NDArray[Any]] | None = None
    _sys_constraints: tuple[SystemConstraint, ...] = ()

    def _sys_start(self) -> None:
        super()._sys_start()
        self._sys_dependency_table = DependencyTable()
        self._sys_cache_entries: list[CacheEntry] = []
        self._sys_energy_entries = declare_energy_entries(self)

    def __init__(self, converter: SystemScalarConverter | None = None) -> None:
        """Makes a system without ports, state, parameters and events.

        Args:
            converter: how to make the same system for other scalars. By default it is a copy, whose callbacks must
                then take scalars of any type; an empty converter says that there is no way.
        """
        self._sys_converter = converter

    def _sys_subsystems(self) -> None:
        return None

    def _declaration_count(self) -> int:
        return len(self._sys_dependency_table.names) + len(self._sys_output_ports) + sum(self._sys_continuous_sizes)

    def _sys_declarations(self) -> tuple[Any, ...]:
        """How much of each kind has been declared."""
        declared: list[Any] = [
            self._sys_input_ports, self._sys_output_ports, self._sys_cache_entries, self._sys_discrete_models,
            self._sys_abstract_state_models, self._sys_numeric_parameter_models, self._sys_abstract_parameter_models,
            self._sys_events, self._sys_constraints,
        ]  # fmt: skip
        return self._sys_continuous_sizes, *map(len, declared)

    # ------------------------------------------------------------------ input ports

    def DeclareVectorInputPort(
        self,
        name: str | UseDefaultName,
        size: int | BasicVector | None = None,
        random_type: Any = None,
        *,
        model_vector: BasicVector | None = None,
        units: str | None = None,
    ) -> InputPort[NDArray[Any]]:
        """Declares an input port that takes a vector.

        Args:
            name: unique among the input ports, or kUseDefaultName.
            size: number of elements, or a model vector (also as `model_vector=`).
            random_type: distribution of random values for the port, if any.
            units: of the elements, such as "rad/s"; see `set_units` of ports.
        """
        where = Where("System '{}': DeclareVectorInputPort", self)
        model = one_of(size, model_vector, where, "size or model_vector")
        if random_type is not None and not isinstance(random_type, RandomDistribution):
            raise TypeError(f"{where}: random_type must be None, {names_of(RandomDistribution)}, got {random_type!r}.")
        if isinstance(model, BasicVector):
            return self._declare_input(name, model.Clone(), model.size(), random_type, units)
        size = checked_size(model, Where(_SIZE, self, "Input", name))
        return self._declare_input(name, None, size, random_type, units)

    def DeclareInputPort(
        self, name: str | UseDefaultName, type: PortDataType, size: int, random_type: Any = None
    ) -> InputPort:
        """Declares an input port for a vector of `size` elements, or for abstract values of any type.

        Raises:
            TypeError: `type` is no PortDataType.
            ValueError: there is an input port of that name, or the size is negative.
        """
        if type is PortDataType.kVectorValued:
            return self.DeclareVectorInputPort(name, size, random_type)
        if type is not PortDataType.kAbstractValued:
            path = self.GetSystemPathname()
            raise TypeError(f"System '{path}', DeclareInputPort of {name!r}: expected a PortDataType, got {type!r}.")
        return self.DeclareAbstractInputPort(name, Value())

    def DeclareAbstractInputPort(self, name: str | UseDefaultName, model_value: AbstractValue) -> InputPort[Any]:
        """Declares an input port that takes values of the type of the value in `model_value`."""
        where = Where("Input port {1!r} of system '{0}'", self, name)
        return self._declare_input(name, checked_model_value(model_value, where), None, None)

    def _declare_input(
        self, name: Any, model: Any, size: int | None, random_type: Any, units: str | None = None
    ) -> InputPort:
        name = self._sys_new_port_name(name, self._sys_input_ports, "u", "input")
        ticket, node = self._sys_dependency_table.add_node("u", f"input port '{name}'")
        port: InputPort[Any] = InputPort(self, len(self._sys_input_ports), name, model, size, ticket, node, random_type)
        if units is not None:
            port.set_units(units)
        self._add_port(port, self._sys_input_ports, "input")
        return port

    # ------------------------------------------------------------------ output ports

    def DeclareVectorOutputPort(
        self,
        name: str | UseDefaultName,
        size: int | BasicVector | None = None,
        calc: Callable[[Any, BasicVector], None] | None = None,
        prerequisites_of_calc: Iterable[DependencyTicket] = _ALL_SOURCES,
        *,
        model_value: BasicVector | None = None,
        units: str | None = None,
    ) -> LeafOutputPort[NDArray[Any]]:
        """Declares an output port that gives a vector.

        Args:
            name: unique among the output ports, or kUseDefaultName.
            size: number of elements, or a model vector (also as `model_value=`).
            calc: called as calc(context, output); fills in `output`, a BasicVector. Or a native function.
            prerequisites_of_calc: tickets of what calc reads; by default that is found out by watching.
            units: of the elements, such as "rad/s"; see `set_units` of ports.
        """
        where = Where("System '{}': DeclareVectorOutputPort", self)
        model = one_of(size, model_value, where, "size or model_value")
        if isinstance(model, BasicVector):
            vector = model.Clone()
        else:
            vector = BasicVector(np.zeros(checked_size(model, Where(_SIZE, self, "Output", name))))
        return self._declare_output(name, vector, vector.size(), calc, prerequisites_of_calc, units)

    def DeclareAbstractOutputPort(
        self,
        name: str | UseDefaultName,
        alloc: Callable[[], Any],
        calc: Callable[[Any, AbstractValue], None],
        prerequisites_of_calc: Iterable[DependencyTicket] = _ALL_SOURCES,
    ) -> LeafOutputPort[Any]:
        """Declares an output port that gives a value of any type.

        Args:
            name: unique among the output ports, or kUseDefaultName.
            alloc: called without arguments; returns a Value of the port's type.
            calc: called as calc(context, output); fills in `output`, an AbstractValue.
            prerequisites_of_calc: tickets of what calc reads; by default that is found out by watching.
        """
        return self._declare_output(name, alloc, None, calc, prerequisites_of_calc)

    def DeclareStateOutputPort(self, name: str | UseDefaultName, state_index: Any) -> LeafOutputPort[Any]:
        """Declares an output port that gives the continuous state, a discrete group or an abstract state variable."""
        table = self._sys_dependency_table
        where = Where("System '{}'", self)
        if isinstance(state_index, ContinuousStateIndex):
            checked_index(state_index, int(self._sys_xcdot_entry is not None), where, "continuous state")
            port = self._declare_output(
                name, self._sys_continuous_model.Clone(), self._sys_continuous_model.size(),
                _copy_continuous_state, {self.xc_ticket()},
            )  # fmt: skip
            code = NativeCode("copy", (self._sys_continuous_model.size(), CONTINUOUS_STATE, OUTPUT))
            port.cache_entry().use_native(code)
            return port
        if isinstance(state_index, DiscreteStateIndex):
            index = checked_index(state_index, len(self._sys_discrete_models), where, "discrete state group")
            model = self._sys_discrete_models[index]
            ticket = table.add_ticket(1 << table.group_nodes["xd"][index])
            port = self._declare_output(
                name, model.Clone(), model.size(),
                functools.partial(_copy_state, "get_discrete_state", index), {ticket},
            )  # fmt: skip
            port.cache_entry().use_native(NativeCode("copy", (model.size(), DiscreteStateOf(index), OUTPUT)))
            return port
        if isinstance(state_index, AbstractStateIndex):
            index = checked_index(state_index, len(self._sys_abstract_state_models), where, "abstract state")
            value = self._sys_abstract_state_models[index]
            ticket = table.add_ticket(1 << table.group_nodes["xa"][index])
            return self._declare_output(
                name, value.Clone, None,
                functools.partial(_copy_state, "get_abstract_state", index), {ticket},
            )  # fmt: skip
        raise TypeError(
            f"{where}: DeclareStateOutputPort takes what DeclareContinuousState, DeclareDiscreteState or "
            f"DeclareAbstractState returned; got {type(state_index).__name__}."
        )

    def _declare_output(
        self, name: Any, model: Any, size: int | None, calc: Any, tickets: Iterable[DependencyTicket],
        units: str | None = None,
    ) -> LeafOutputPort:  # fmt: skip
        name = self._sys_new_port_name(name, self._sys_output_ports, "y", "output")
        if not callable(calc):
            raise TypeError(
                f"Output port '{name}' of system '{self.GetSystemPathname()}': calc must be callable, got "
                f"{type(calc).__name__}."
            )
        if size is None and not callable(model):
            raise TypeError(
                f"Output port '{name}' of system '{self.GetSystemPathname()}': alloc must be a function that returns a "
                f"Value, such as lambda: Value(...); got {type(model).__name__}."
            )
        entry = self._sys_declare_entry(f"output port '{name}'", model, calc, tickets)
        port: LeafOutputPort[Any] = LeafOutputPort(self, len(self._sys_output_ports), name, size, entry._index)
        if units is not None:
            port.set_units(units)
        self._add_port(port, self._sys_output_ports, "output")
        return port

    # ------------------------------------------------------------------ cache entries

    def DeclareCacheEntry(
        self,
        description: str,
        value_producer: ValueProducer,
        prerequisites_of_calc: Iterable[DependencyTicket] = _ALL_SOURCES,
    ) -> CacheEntry:
        """Declares a computation whose result is kept while nothing it depends on changes."""
        if not isinstance(value_producer, ValueProducer):
            raise TypeError(
                f"Cache entry '{description}' of system '{self.GetSystemPathname()}' needs a ValueProducer, got "
                f"{type(value_producer).__name__}."
            )
        return self._sys_declare_entry(
            f"cache entry '{description}'",
            value_producer.allocate,
            value_producer.calc,
            prerequisites_of_calc,
        )

    def _sys_declare_storage(self, description: str, allocate: Callable[[], Any]) -> CacheEntry:
        """Declares a value that each Context keeps and copies, such as a log.

        It is no state: nothing that the system computes may depend on it, and publish events may change it.
        """
        entry = self._sys_declare_entry(description, allocate, ValueProducer.NoopCalc, {self.nothing_ticket()})
        entry.is_storage = True
        return entry

    def get_cache_entry(self, index: int) -> CacheEntry:
        """Returns a cache entry by its index."""
        return self._sys_cache_entries[self._entry_index(index)]

    def _entry_index(self, index: int) -> int:
        return checked_index(index, len(self._sys_cache_entries), Where("System '{}'", self), "cache entry")

    def _sys_declare_entry(
        self,
        description: str,
        model: Any,
        calc: Any,
        tickets: Iterable[DependencyTicket],
        is_xcdot: bool = False,
    ) -> CacheEntry:
        """Declares a computation, whose result is among the numbers of the Context if `model` is a vector.

        Args:
            description: what is computed, for messages.
            model: says how many elements there are; a function that makes another value.
            calc: called as calc(context, output); or a native function.
            tickets: what it reads.
            is_xcdot: whether it computes the time derivatives.
        """
        where = Where("{1} of system '{0}'", self, description)
        if not isinstance(tickets, Iterable):
            raise TypeError(f"{where}: prerequisites_of_calc is a set of tickets, got {tickets!r}.")
        native = self._bound(calc, description, model) if isinstance(calc, NativeFunction) else None
        wanted = set(tickets)
        learns = self.all_sources_ticket() in wanted
        if not learns:
            self._sys_dependency_table.mask(wanted, where)  # checks the tickets
        entry = CacheEntry(self, description, model, native or calc, None if learns else frozenset(wanted), is_xcdot)
        if native is not None:
            entry.use_function(native)
        self._sys_cache_entries.append(entry)
        return entry

    # ------------------------------------------------------------------ state

    def DeclareContinuousState(self, *args: Any, **kwargs: Any) -> ContinuousStateIndex:
        """Declares the continuous state.

        `DeclareContinuousState(n)` for n variables without second-order structure, `(num_q, num_v, num_z)` for
        positions, velocities and others, `(model_vector)` or `(model_vector, num_q, num_v, num_z)` for given default
        values. A later declaration replaces an earlier one.
        """
        try:
            model, sizes = continuous_arguments(*args, **kwargs)
            ContinuousState(model, *sizes)  # checks the numbers
        except (TypeError, ValueError) as error:
            raise type(error)(f"System '{self.GetSystemPathname()}', DeclareContinuousState: {error}") from None
        self._sys_continuous_model = model
        self._sys_continuous_sizes = sizes
        if self._sys_xcdot_entry is None:
            entry = self._sys_declare_entry("time derivatives", model, self._calc_xcdot, _ALL_SOURCES, is_xcdot=True)
            self._sys_xcdot_entry = entry._index
            self._sys_dependency_table.groups["xcdot"] = 1 << entry.node
        else:
            self._sys_cache_entries[self._sys_xcdot_entry].model = model
            self._sys_cache_entries[self._sys_xcdot_entry].vector_size = model.size()
        return ContinuousStateIndex(0)

    def DeclareDiscreteState(
        self, num_state_variables: int | BasicVector | ArrayLike = 0, **kwargs: Any
    ) -> DiscreteStateIndex:
        """Declares a discrete state group: by its size (zeros), by default values or by a model vector."""
        model = kwargs.pop("model_vector", kwargs.pop("vector", num_state_variables))
        refuse_unknown(kwargs, "DeclareDiscreteState")
        self._sys_discrete_models += (self._checked_model_vector(model, "DeclareDiscreteState"),)
        index = len(self._sys_discrete_models) - 1
        self._sys_dependency_table.add_node("xd", f"discrete state group {index}")
        return DiscreteStateIndex(index)

    def DeclareAbstractState(self, model_value: AbstractValue) -> AbstractStateIndex:
        """Declares an abstract state variable with its default value."""
        where = Where("System '{}', DeclareAbstractState", self)
        self._sys_abstract_state_models += (checked_model_value(model_value, where),)
        index = len(self._sys_abstract_state_models) - 1
        self._sys_dependency_table.add_node("xa", f"abstract state {index}")
        return AbstractStateIndex(index)

    def discrete_state_ticket(self, index: int) -> DependencyTicket:
        """Depends on discrete state group `index`."""
        return self._group_ticket("xd", index, "discrete state group")

    def abstract_state_ticket(self, index: int) -> DependencyTicket:
        """Depends on abstract state variable `index`."""
        return self._group_ticket("xa", index, "abstract state")

    # ------------------------------------------------------------------ parameters

    def input_port_ticket(self, index: int) -> DependencyTicket:
        """Depends on input port `index`."""
        return self.get_input_port(index).ticket()

    def output_port_ticket(self, index: int) -> DependencyTicket:
        """Depends on output port `index`."""
        port: Any = self.get_output_port(index)
        return port.ticket()

    def cache_entry_ticket(self, index: int) -> DependencyTicket:
        """Depends on cache entry `index`."""
        return self._sys_cache_entries[self._entry_index(index)].ticket()

    def _group_ticket(self, group: str, index: int, what: str) -> DependencyTicket:
        nodes = self._sys_dependency_table.group_nodes[group]
        checked_index(index, len(nodes), Where("System '{}'", self), what)
        return self._sys_dependency_table.add_ticket(1 << nodes[index])

    def _checked_model_vector(self, model: Any, function: str) -> BasicVector:
        try:
            return as_model_vector(model)
        except (TypeError, ValueError) as error:
            raise type(error)(f"System '{self.GetSystemPathname()}', {function}: {error}") from None

    def _declared_events(self, context: Any) -> list[tuple[LeafContext, DeclaredEvent]]:
        return [(context, event) for event in self._sys_events]

    # ------------------------------------------------------------------ witness functions

    def MakeWitnessFunction(
        self,
        description: str,
        direction_type: WitnessFunctionDirection,
        calc: Callable[[Any], float | None] | NativeFunction,
        e: Event | None = None,
    ) -> WitnessFunction:
        """Makes a witness function; it comes into effect when `DoGetWitnessFunctions` returns it.

        Args:
            description: what it is about, for messages.
            direction_type: which passages through zero trigger it.
            calc: called as calc(context), a continuous function of time and continuous state that changes nothing; or
                a native function that writes the value into the only element of its last parameter.
            e: what happens when it triggers; without it, the simulator only ends a step there. The callback of an
                update may be a native function.
        """
        where = f"System '{self.GetSystemPathname()}', witness function '{description}'"
        if not isinstance(direction_type, WitnessFunctionDirection):
            raise TypeError(f"{where}: direction_type must be a WitnessFunctionDirection, got {direction_type!r}.")
        if not callable(calc):
            raise TypeError(f"{where}: calc must be callable, got {type(calc).__name__}.")
        if e is not None and not (isinstance(e, Event) and hasattr(e, "kind")):
            raise TypeError(
                f"{where}: e must be a PublishEvent, DiscreteUpdateEvent or UnrestrictedUpdateEvent, got "
                f"{type(e).__name__}."
            )
        if isinstance(calc, NativeFunction):
            what = f"witness function '{description}'"
            calc = ElementOf(self._sys_declare_entry(what, BasicVector(1), calc, _ALL_SOURCES), 0)
        return WitnessFunction(self, description, direction_type, calc, e)

    def DoGetWitnessFunctions(self, context: Context, /) -> list[WitnessFunction]:
        """Override: returns those witness functions, made once in `__init__`, that count in the present state.

        A simulator asks at initialization, when an advance begins, and after discrete and unrestricted updates.
        """
        return []

    def _sys_active_witnesses(self, context: Any) -> list[ActiveWitness]:
        witnesses = self.DoGetWitnessFunctions(context)
        for witness in witnesses:
            if not isinstance(witness, WitnessFunction) or witness._system is not self:
                raise TypeError(
                    f"System '{self.GetSystemPathname()}': DoGetWitnessFunctions must return witness functions made by "
                    f"this system's MakeWitnessFunction; got {witness!r}."
                )
        return [(context, witness) for witness in witnesses]

    def _sys_may_have_witnesses(self) -> bool:
        return type(self).DoGetWitnessFunctions is not LeafSystem.DoGetWitnessFunctions

    # ------------------------------------------------------------------ dynamics and defaults

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState, /) -> None:
        """Override: computes the time derivatives of the continuous state into `derivatives`."""
        if self._sys_derivatives is not None:
            self._sys_derivatives(context, derivatives.get_mutable_vector())
            return
        raise RuntimeError(
            f"System '{self.GetSystemPathname()}' ({type(self).__name__}) has continuous state but does not say how "
            "it changes: override DoCalcTimeDerivatives(context, derivatives)."
        )

    def SetDefaultState(self, context: Context, state: Any) -> None:
        """Override: sets default values of the state beyond those that were declared."""

    def SetDefaultParameters(self, context: Context, parameters: Any) -> None:
        """Override: sets default values of the parameters beyond those that were declared."""

    def _overrides_derivatives(self, of: type[LeafSystem]) -> bool:
        """Whether a class that is derived from the given one says how the state changes."""
        return type(self).DoCalcTimeDerivatives is not of.DoCalcTimeDerivatives

    def _calc_xcdot(self, context: LeafContext, derivatives: BasicVector) -> None:
        compute: Callable[..., Any] = self.DoCalcTimeDerivatives
        result = compute(context, context._xcdot)
        if result is not None:
            refuse_result(f"Time derivatives of system '{self.GetSystemPathname()}'", compute, result, context._xcdot)

    def _set_defaults(self, context: Any) -> None:
        parameters = context.get_mutable_parameters()
        for group, vector in zip(parameters._numeric._items, self._sys_numeric_parameter_models):
            group._values[:] = vector._values
        for value, model in zip(parameters._abstract._items, self._sys_abstract_parameter_models):
            value.SetFrom(model)
        where = Where("Default values of system '{}'", self)
        if type(self).SetDefaultParameters is not LeafSystem.SetDefaultParameters:
            call_to_write(where, self.SetDefaultParameters, context, parameters)
        down = context.layout.down
        context.store.change(down["xc"] | down["xd"] | down["xa"], context)
        if sum(self._sys_continuous_sizes):
            context._xc._vector._values[:] = self._sys_continuous_model._values
        for group, vector in zip(context._discrete._items, self._sys_discrete_models):
            group._values[:] = vector._values
        for value, model in zip(context._abstract_state._items, self._sys_abstract_state_models):
            value.SetFrom(model)
        if type(self).SetDefaultState is not LeafSystem.SetDefaultState:
            call_to_write(where, self.SetDefaultState, context, context.get_mutable_state())

    # ------------------------------------------------------------------ direct feedthrough

    def _feedthrough_inputs(self, output_port: int) -> set[int]:
        port: Any = self.get_output_port(output_port)
        return self._sys_inputs_among(self._sys_expanded(self._sys_cache_entries[port._entry_number]))

    def _sys_inputs_among(self, nodes: int) -> set[int]:
        """The numbers of the input ports among some nodes."""
        places, inputs = self._sys_dependency_table.places, self._sys_dependency_table.groups["u"]
        return {places[node][1] for node in bits(nodes & inputs)}

    def _sys_expanded(self, entry: CacheEntry, guess: bool = False, seen: frozenset[int] = frozenset()) -> int:
        """All nodes that a cache entry depends on, through other entries too.

        Args:
            guess: what to do about an entry that has not been watched yet: assume that it reads everything, or,
                by default, compute it once with default values and see.
        """
        if entry.is_learning and not entry.was_observed:
            if guess:
                return self._sys_dependency_table.sources()
            self._sys_observe(entry)
        mask = entry.dependencies()
        for node in bits(mask & self._sys_dependency_table.groups["cache"]):
            inner = self._sys_cache_entries[self._sys_dependency_table.places[node][1]]
            if node not in seen:
                mask |= self._sys_expanded(inner, guess, seen | {node})
        return mask

    def _sys_observe(self, entry: CacheEntry) -> None:
        """Watches one computation in a context of this system alone, with default values at all inputs.

        A computation that cannot cope with default values is taken to read all inputs.
        """
        context: Any = self.CreateDefaultContext()
        for port in self._sys_input_ports:
            context.fix_input(port._index, port._default_value())
        try:
            context.read_entry(entry._index)
        except Exception:  # the values are made up; the caller's own evaluation will report real errors
            entry.learn(self._sys_dependency_table.sources())


def _copy_continuous_state(context: LeafContext, output: BasicVector) -> None:
    output.SetFrom(context.get_continuous_state_vector())


def _copy_state(get: str, index: int, context: LeafContext, output: Any) -> None:
    output.SetFrom(getattr(context, get)(index))
