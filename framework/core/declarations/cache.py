"""Cache entries: computations of a leaf system whose results are kept while nothing they depend on changes."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from merganser.framework.common.errors import describe_function, note_place
from merganser.framework.common.indices import CacheIndex, DependencyTicket
from merganser.framework.core.context.dependencies import LEARNING, TicketMethods
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    ContextualCode,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    ParameterOf,
)
from merganser.framework.core.scalars.copying import PartOfSystem
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.store import CacheSlot
    from merganser.framework.core.declarations.native_function import BoundNativeFunction
    from merganser.framework.core.system.leaf_system import LeafSystem


class ValueProducer:
    """How to make room for a value and how to compute it.

    Args:
        allocate: called without arguments; returns the object (or AbstractValue) that holds the result.
        calc: called as calc(context, value) with the AbstractValue to fill in.
    """

    def __init__(self, allocate: Callable[[], Any], calc: Callable[[Any, AbstractValue], None]) -> None:
        for what, function in (("allocate", allocate), ("calc", calc)):
            if not callable(function):
                raise TypeError(f"ValueProducer: {what} must be callable, got {type(function).__name__}.")
        self.allocate = allocate
        self.calc = calc

    @staticmethod
    def NoopCalc(context: Any, value: Any) -> None:
        """A computation that leaves the value as it is."""


class CacheEntryValue:
    """The place where one Context keeps the value of a cache entry."""

    __slots__ = ("_slot",)

    def __init__(self, slot: CacheSlot) -> None:
        self._slot = slot

    def GetValueOrThrow(self) -> Any:
        """Returns the content of the value.

        Raises:
            RuntimeError: the value is out of date.
        """
        slot = self._slot
        if slot.store.invalid & slot.bit:
            raise RuntimeError(f"The value of {slot.entry.describe()} is out of date; call cache_entry.Eval(context).")
        return slot.value if isinstance(slot.value, BasicVector) else slot.value.get_value()

    def GetMutableValueOrThrow(self) -> Any:
        """Returns the content of the value for changing it, whether it is up to date or not.

        Raises:
            RuntimeError: the cache is frozen.
        """
        slot = self._slot
        if slot.context.is_cache_frozen():
            raise RuntimeError(f"The value of {slot.entry.describe()} cannot be changed: the cache is frozen.")
        return slot.value if isinstance(slot.value, BasicVector) else slot.value.get_mutable_value()


class CacheEntry(PartOfSystem):
    """One computation of a leaf system: an output port, the time derivatives, or one that the user declared.

    Attributes:
        is_learning: whether prerequisites were left open, to be found by watching what the computation reads.
        is_disabled: whether new contexts compute it whenever it is asked for.
        is_storage: whether the value is no result but something that is kept with the Context and copied with it.
        was_observed: whether it has been watched at least once.
        was_disturbed: whether it was said that a computation changes what this depends on.
        makes_room_late: whether room for an abstract value is made when it is first asked for, not with the Context;
            for values that are large and seldom asked for, and can be made without fail.
        known: nodes that a computation has been seen to read, in any Context (bit mask).
        operation, arguments: by which name integrators ask for it, and the entry of its arguments; see
            inside.declare_operation.
    """

    operation = ""
    arguments: Any = None

    def __init__(
        self,
        system: LeafSystem,
        description: str,
        model: BasicVector | Callable[[], AbstractValue],
        calc: Callable[[Any, Any], None],
        prerequisites: frozenset[DependencyTicket] | None,
        is_xcdot: bool = False,
    ) -> None:
        self.system = system
        self._description = description
        self.model = model
        self.vector_size = model.size() if isinstance(model, BasicVector) else None
        self.calc = calc
        self.is_xcdot = is_xcdot
        self.native: NativeCode | ContextualCode | None = None
        self.is_storage = False
        self.makes_room_late = False
        self.is_disabled = False
        self.is_learning = prerequisites is None
        self.was_observed = False
        self.was_disturbed = False
        self.known = 0
        self._declared = prerequisites
        number = len(system._sys_cache_entries)
        self._index = CacheIndex(number)
        self._ticket, self.node = system._sys_dependency_table.add_node("cache", description)

    def dependencies(self) -> int:
        """The nodes it depends on, as declared or as far as they are known by now."""
        if self._declared is None:
            return self.known
        # Looked up again, because "all input ports" includes those that were declared later.
        return self.system._sys_dependency_table.mask(self._declared, self)

    def use_function(self, function: BoundNativeFunction) -> None:
        """Says that a native function computes it; what it depends on follows, if that was left open."""
        self.calc = self.native = function
        if self.is_learning:
            self._declared, self.is_learning = frozenset(function.tickets(self.system)), False

    def use_native(self, code: NativeCode | ContextualCode) -> None:
        """Says that an operation computes the same; what it depends on follows from its arguments if it has any."""
        self.native = code
        if not self.is_learning or not isinstance(code, NativeCode):
            return
        system = self.system
        tickets = set()
        for argument in code.arguments:
            if isinstance(argument, InputOf):
                tickets.add(system.input_port_ticket(argument.port_index))
            elif isinstance(argument, ParameterOf):
                tickets.add(system.numeric_parameter_ticket(argument.index))
            elif isinstance(argument, DiscreteStateOf):
                tickets.add(system.discrete_state_ticket(argument.index))
            elif argument is CONTINUOUS_STATE:
                tickets.add(system.xc_ticket())
            elif argument is CURRENT_TIME:
                tickets.add(system.time_ticket())
        self._declared = frozenset(tickets)
        self.is_learning = False

    def learn(self, reads: int) -> None:
        """Notes that the computation reads these nodes."""
        self.was_observed = True
        if reads & ~self.known:
            with LEARNING:
                self.known |= reads

    def take_over(self, other: CacheEntry) -> None:
        """Takes over what was said and learnt of the entry at the same place in a like system since its declaration."""
        self.is_disabled, self.was_disturbed = other.is_disabled, other.was_disturbed
        self.was_observed, self.known = other.was_observed, other.known

    def _owner(self) -> LeafSystem:
        return self.system

    def _counterpart_in(self, system: Any) -> CacheEntry:
        entry: CacheEntry = system._sys_cache_entries[self._index]
        return entry

    def describe(self) -> str:
        """Names the computation and its system, for messages."""
        return f"{self._description} of system '{self.system.GetSystemPathname()}'"

    __str__ = describe

    def __getstate__(self) -> dict[str, Any]:
        if isinstance(self.model, FunctionType) and "<" in self.model.__qualname__:
            # A lambda that makes room for a value cannot be pickled, but the value can.
            return {**self.__dict__, "model": self.allocate_value().Clone}
        return self.__dict__

    def allocate_value(self) -> AbstractValue:
        """Makes room for an abstract value."""
        assert not isinstance(self.model, BasicVector)
        try:
            value = self.model()
        except Exception as error:
            note_place(error, f"while making room for the value of {self.describe()}")
            raise
        if not isinstance(value, AbstractValue):
            raise RuntimeError(
                f"To make room for the value of {self.describe()}, {describe_function(self.model)} must return a "
                f"Value, such as Value({'[]' if value is None else '...'}); it returned {value!r}."
            )
        return value

    # ------------------------------------------------------------------ pydrake's names

    def description(self) -> str:
        """What is computed, in words."""
        return self._description

    def prerequisites(self) -> set[DependencyTicket]:
        """The tickets that were declared; where none were, that of all sources."""
        return {TicketMethods.all_sources_ticket()} if self._declared is None else set(self._declared)

    def has_default_prerequisites(self) -> bool:
        """Whether prerequisites were left open, to be found by watching what the computation reads."""
        return self.is_learning

    def get_cache_entry_value(self, context: Context) -> CacheEntryValue:
        """Returns the place where the context keeps the value."""
        return CacheEntryValue(self._slot(context))

    get_mutable_cache_entry_value = get_cache_entry_value

    def disable_caching(self, context: Context) -> None:
        """From now on computes the value each time that it is asked for, in this context."""
        slot = self._slot(context)
        slot.clearing = -1
        slot.store.routing += 1
        slot.store.change(slot.bit, context)

    def enable_caching(self, context: Context) -> None:
        """Keeps the value again, in this context."""
        slot = self._slot(context)
        slot.clearing = ~slot.bit
        slot.store.routing += 1

    def is_cache_entry_disabled(self, context: Context) -> bool:
        """Whether the value is computed each time that it is asked for, in this context."""
        return self._slot(context).clearing == -1

    def disable_caching_by_default(self) -> None:
        """Disables caching of the value in the contexts that are made from now on."""
        self.is_disabled = True

    def is_disabled_by_default(self) -> bool:
        """Whether caching is disabled in new contexts."""
        return self.is_disabled

    def _slot(self, context: Context) -> CacheSlot:
        return self.system._my_context(context, self.describe()).slots[self._index]

    def cache_index(self) -> CacheIndex:
        """Position of the entry within its system."""
        return self._index

    def ticket(self) -> DependencyTicket:
        """Ticket for computations that depend on this one."""
        return self._ticket

    def EvalAbstract(self, context: Context) -> AbstractValue:
        """Returns the value in a box, computing it if it is out of date; that of a vector port holds a BasicVector."""
        value = self.system._my_context(context, self._description).read_entry(self._index)
        return Value(value) if isinstance(value, BasicVector) else value

    def Eval(self, context: Context) -> Any:
        """Returns the content of the value, computing it if it is out of date."""
        return self.EvalAbstract(context).get_value()

    def is_out_of_date(self, context: Context) -> bool:
        """Whether the next evaluation will compute the value."""
        slot = self._slot(context)
        return bool(slot.store.invalid & slot.bit)
