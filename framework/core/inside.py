"""What the packages around core may use of it beside its public classes; no part of the API of users.

What is read as it stands is a plain attribute, documented with its class: of a Context `system`, `layout`, `store`,
`parent`, `sources`, `slots` and `derivative_slots`, and all of `Store`, `CacheSlot`, `CacheEntry`, `SystemLayout` and
`RootLayout`; of a System what begins with `_sys_`, so that no derived class of a user overwrites it by accident:

    _sys_cache_entries                            of a leaf system: outputs, derivatives, and entries declared as such
    _sys_linearized_dynamics(context, port)       the time derivatives in closed form, with slopes; or None
    _sys_may_have_witnesses()                     whether there are witness functions in any state
    _sys_active_witnesses(context)                those of the present state, with the contexts of their leaves
    _sys_new_port_name(name, ports, letter, kind) the name of the next port
    _sys_input_ports                              the input ports, in order
    _sys_parent                                   the Diagram of which a system is a direct part; None if it is in none
    _sys_suggest_name(name)                       names a system that has no other name
    _sys_declare_entry(...), _sys_declare_storage(...), _sys_declare_derivatives(...), _sys_amend_last_event(...)
                                                  of a leaf system: what it computes, keeps, and does
    _sys_breaks                                   of a leaf system: a function of the times [s], in any order, where
                                                  its outputs or their derivatives jump; integrators end a step there;
                                                  it returns the same object as long as they are the same
    _sys_white_noise                              of a leaf system that gives white noise: the numbers of the groups of
                                                  parameters with its seed and its values, which integrators set, and
                                                  what Brownian motion is multiplied by, shape [n]; None of others

The functions below do more than read an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.framework.common.indices import DependencyTicket, DiscreteStateIndex
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.context.native_code import ContextualCode, NativeCode
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.cache import CacheEntry
    from merganser.framework.core.declarations.events import Arrivals, DeclaredEvent, Event, TriggerType
    from merganser.framework.core.declarations.native_function import NativeFunction
    from merganser.framework.core.declarations.ports import OutputPort
    from merganser.framework.core.system.leaf_system import LeafSystem
    from merganser.framework.core.system.system import System
    from merganser.framework.core.values.values import BasicVector

# ---------------------------------------------------------------------- what a system is made of


def scalar_of(system: Any) -> type[Any]:
    """The type of the scalars in the contexts of a system, or of the systems that a DiagramBuilder takes."""
    scalar: type[Any] = system._scalar
    return scalar


def in_scalar_of(builder: Any, system: Any) -> Any:
    """A system of the scalar type of a DiagramBuilder: the system itself, or what it converts to."""
    scalar = scalar_of(builder)
    return system if scalar_of(system) is scalar else system.ToScalarType[scalar]()


def derivatives_entry(system: LeafSystem) -> CacheEntry | None:
    """The computation of the time derivatives; None if there is no continuous state."""
    number = system._sys_xcdot_entry
    return None if number is None else system._sys_cache_entries[number]


def state_node(system: LeafSystem, group: int) -> int:
    """The number of the node that stands for a group of the discrete state, see dependencies.py."""
    return system._sys_dependency_table.group_nodes["xd"][group]


def system_behind(port: OutputPort) -> LeafSystem:
    """The leaf system that computes the value of an output port, of a Diagram or its own."""
    system: LeafSystem = port._leaf_port.get_system()
    return system


def declared_events(
    system: System, context: Context, trigger: TriggerType | None = None
) -> list[tuple[LeafContext, DeclaredEvent]]:
    """The events of a system and of those inside, each with the context of its leaf.

    Args:
        system: any system.
        context: its own.
        trigger: only events with this one; None for all.
    """
    return system._declared_events(context) if trigger is None else system._events_with(context, trigger)


def piecewise_leaves(context: Context) -> list[tuple[LeafContext, Any]]:
    """The blocks with regions (`StepBlock`) at or below a context, each with its own."""
    blocks = [leaf.system for leaf in context.layout.leaves() if leaf.system._sys_is_piecewise]
    return [(context.part_of(block), block) for block in blocks]


# ---------------------------------------------------------------------- contexts


def new_context(system: System, dtype: Any, scalar: type[Any] | None = None) -> Any:
    """A context whose numbers are of another type, such as complex ones; state and parameters are not yet set.

    Args:
        system: any system.
        dtype: of the flat array.
        scalar: of the objects in it, if that is not the system's own.
    """
    return system._make_context(dtype, scalar)


def copy_into(context: Context, flat: Any) -> Any:
    """A copy of a root context, see `Clone`, whose numbers are in an array of zeros that is given."""
    return context._clone(flat)


def slot_of(port: OutputPort, context: Context) -> CacheSlot:
    """Where a context of the port's system keeps the value of an output port; of a Diagram, that of the leaf behind."""
    leaf_port = port._leaf_port
    layout = context.layout.root.of_system[id(leaf_port.get_system())]
    return context.store.slots[layout.first_bit + leaf_port._entry_number]  # type: ignore[attr-defined]


def operation_slot(context: LeafContext, name: str) -> CacheSlot | None:
    """Where a context of a leaf system keeps the result of an operation that it declares by this name; None without."""
    return next((slot for slot in context.slots if slot.entry.operation == name), None)


# ---------------------------------------------------------------------- declarations of blocks


def bind_in_place(system: LeafSystem, what: str, function: NativeFunction, group: DiscreteStateIndex) -> Any:
    """A native function whose last parameter is a group of the discrete state of a system, which it changes in place.

    Args:
        system: with its ports, state and parameters declared.
        what: what it computes, for messages.
        function: the function.
        group: the index of the group.
    """
    from merganser.framework.core.declarations.native_function import result_of

    return function.bind(system, what, result_of(system._sys_discrete_models[group].size()))


def declare_operation(
    system: LeafSystem,
    name: str,
    result: BasicVector,
    arguments: BasicVector,
    calc: Callable[[Any, BasicVector], None],
    code: ContextualCode | None,
    tickets: Iterable[DependencyTicket],
) -> None:
    """Declares what integrators ask a system for by name (`operation_slot`), beside its time derivatives.

    Args as of `_sys_declare_entry`, and:
        arguments: says how many there are: numbers in the Context, in the entry `arguments` of the result's entry.
            Integrators set them, and have the result computed again (`compute` of analysis/integrators/problem.py).
        code: computes the same; None without.
    """
    from merganser.framework.core.declarations.cache import ValueProducer

    keep, nothing = ValueProducer.NoopCalc, {system.nothing_ticket()}
    kept = system._sys_declare_entry(f"arguments of {name}", arguments, keep, nothing)
    entry = system._sys_declare_entry(name, result, calc, [*tickets, kept.ticket()])
    entry.operation, entry.arguments, entry.native = name, kept, code


def use_native_derivatives(system: LeafSystem, code: NativeCode | ContextualCode, of: type[LeafSystem]) -> None:
    """Says that an operation computes the time derivatives as `DoCalcTimeDerivatives` of a class does.

    Where a class that is derived from it overrides that, there is no operation.

    Raises:
        RuntimeError: there is no continuous state.
    """
    entry = derivatives_entry(system)
    if entry is None:
        raise RuntimeError(f"System '{system.GetSystemPathname()}' has no continuous state.")
    if not system._overrides_derivatives(of):
        entry.use_native(code)


def declare_arrivals(system: LeafSystem, kind: type[Event], handler: Callable[..., Any], arrivals: Arrivals) -> None:
    """Declares an event that happens between two steps of a simulation when something has come from outside.

    It comes after the updates that are due then, at the same time; what it updates is there when time goes on.

    Args:
        system: to which things come.
        kind: of the event.
        handler: see DeclaredEvent.
        arrivals: says when it happens.
    """
    system._declare_arrivals(kind, handler, arrivals)
