"""Events: what a system does at instants, and what came of it."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import itertools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from merganser.framework.common.enumeration import Enumeration

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.framework.core.context.native_code import ContextualCode, NativeCode
    from merganser.framework.core.system.system import System
    from merganser.framework.core.values.state import DiscreteValues, State


class TriggerType(Enumeration):
    """What made an event happen."""

    kUnknown = 0
    kInitialization = 1
    kForced = 2
    kTimed = 3
    kPeriodic = 4
    kPerStep = 5
    kWitness = 6


# When events happen that are simultaneous: those of one phase see the same state.
UNRESTRICTED_PHASE, DISCRETE_PHASE, PUBLISH_PHASE = range(3)


class EventStatus:
    """The outcome of an event handler; a handler that returns None has succeeded."""

    class Severity(enum.IntEnum):
        """From harmless to fatal."""

        kDidNothing = 0
        kSucceeded = 1
        kReachedTermination = 2
        kFailed = 3

        __str__ = enum.Enum.__str__

    kDidNothing = Severity.kDidNothing
    kSucceeded = Severity.kSucceeded
    kReachedTermination = Severity.kReachedTermination
    kFailed = Severity.kFailed

    __slots__ = ("_message", "_severity", "_system")

    def __init__(self, severity: EventStatus.Severity, system: System | None = None, message: str = "") -> None:
        self._severity = severity
        self._system = system
        self._message = message

    @staticmethod
    def DidNothing() -> EventStatus:
        """The handler had nothing to do."""
        return EventStatus(EventStatus.Severity.kDidNothing)

    @staticmethod
    def Succeeded() -> EventStatus:
        """The handler did its work."""
        return EventStatus(EventStatus.Severity.kSucceeded)

    @staticmethod
    def ReachedTermination(system: System | None, message: str) -> EventStatus:
        """The simulation has come to its end, in the judgement of `system`."""
        return EventStatus(EventStatus.Severity.kReachedTermination, system, message)

    @staticmethod
    def Failed(system: System | None, message: str) -> EventStatus:
        """The handler could not do its work; the simulation cannot go on."""
        return EventStatus(EventStatus.Severity.kFailed, system, message)

    def severity(self) -> EventStatus.Severity:
        """How the handler fared."""
        return self._severity

    def system(self) -> System | None:
        """The system that reported it, if it said so."""
        return self._system

    def message(self) -> str:
        """The report in words."""
        return self._message

    def failed(self) -> bool:
        """Whether the handler could not do its work."""
        return self._severity is EventStatus.Severity.kFailed

    def did_nothing(self) -> bool:
        """Whether the handler had nothing to do."""
        return self._severity is EventStatus.Severity.kDidNothing

    def succeeded(self) -> bool:
        """Whether the handler did its work."""
        return self._severity is EventStatus.Severity.kSucceeded

    def reached_termination(self) -> bool:
        """Whether the simulation should end here."""
        return self._severity is EventStatus.Severity.kReachedTermination

    def KeepMoreSevere(self, candidate: EventStatus) -> EventStatus:
        """Becomes `candidate` if that is worse; returns itself."""
        worst = most_severe((self, candidate))
        self._severity, self._system, self._message = worst._severity, worst._system, worst._message
        return self

    def __repr__(self) -> str:
        text = f", {self._message!r}" if self._message else ""
        return f"<EventStatus {self._severity.name[1:]}{text}>"


# What most events come to; these do not change.
DID_NOTHING, DID_ITS_WORK = EventStatus.DidNothing(), EventStatus.Succeeded()

# most_severe(statuses): what simultaneous events come to together, the first of the most severe ones, only to be read.
most_severe: Callable[[Iterable[EventStatus]], EventStatus] = functools.partial(
    max, key=operator.attrgetter("_severity"), default=DID_NOTHING
)


@dataclasses.dataclass(frozen=True)
class PeriodicEventData:
    """When a periodic event happens: at offset + k period [s], k = 0, 1, 2, ..."""

    _period: float
    _offset: float

    def period_sec(self) -> float:
        """Time between two events [s]."""
        return self._period

    def offset_sec(self) -> float:
        """Time of the first event [s]."""
        return self._offset


class Event:
    """An action to declare with `DeclarePeriodicEvent` and its relatives.

    The kinds of events are the classes that define `phase`, with all that is particular to a kind.

    Args:
        callback: called as `callback(context, event)`; update events get what they may change as a third argument. Or a
            native function, see NativeFunction, for updates.
        system_callback: the same with the system as first argument.
        trigger_type: the event that a callback receives has the trigger under which it was declared.

    Attributes:
        kind: the class itself; of a class that derives from a kind, that kind.
        kind_name: for messages.
        phase: when events of this kind happen among simultaneous ones.
        changes_state: whether handlers get where to put what they change, see `new_values`.
    """

    kind: ClassVar[type[Event]]
    kind_name: ClassVar[str]
    phase: ClassVar[int]
    changes_state: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "phase" in vars(cls):
            cls.kind = cls

    @staticmethod
    def new_values(context: LeafContext, is_question: bool) -> Any:
        """Where a handler puts what it changes: a copy of the present values.

        Args:
            context: of the leaf system.
            is_question: whether nothing is to be changed in the end; otherwise it is in room that is kept for it.
        """
        return None

    def __init__(
        self,
        callback: Callable[..., Any] | None = None,
        system_callback: Callable[..., Any] | None = None,
        trigger_type: TriggerType = TriggerType.kUnknown,
    ) -> None:
        for function in (callback, system_callback):
            if function is not None and not callable(function):
                raise TypeError(f"{type(self).__name__}: a callback must be callable, got {type(function).__name__}.")
        self._callback = callback
        self._system_callback = system_callback
        self._trigger_type = trigger_type

    def get_trigger_type(self) -> TriggerType:
        """What makes the event happen."""
        return self._trigger_type

    def _handler(self, system: System, trigger: TriggerType) -> Callable[..., Any]:
        """What the framework calls when the event happens in `system`; callbacks get a copy that knows its trigger."""
        event = copy.copy(self)
        event._trigger_type = trigger
        return functools.partial(event._call, system)

    def _call(self, system: System, context: Any, *changes: Any) -> Any:
        if self._system_callback is not None:
            return self._system_callback(system, context, self, *changes)
        return self._callback(context, self, *changes) if self._callback is not None else None


class PublishEvent(Event):
    """Looks at the context and changes nothing."""

    kind_name, phase = "publish", PUBLISH_PHASE


class DiscreteUpdateEvent(Event):
    """Changes the discrete state."""

    kind_name, phase, changes_state = "discrete update", DISCRETE_PHASE, True

    @staticmethod
    def new_values(context: LeafContext, is_question: bool) -> DiscreteValues:
        """See Event."""
        return context._discrete.Clone() if is_question else context._copied_discrete_values()


class UnrestrictedUpdateEvent(Event):
    """Changes any part of the state."""

    kind_name, phase, changes_state = "unrestricted update", UNRESTRICTED_PHASE, True

    @staticmethod
    def new_values(context: LeafContext, is_question: bool) -> State:
        """See Event."""
        return context.get_state().Clone() if is_question else context._copied_state()


class Demand:
    """Whether what a publish event shows is wanted each time, or only as it is in the end; for viewers.

    Compiled simulations leave the event out while it is not wanted, and let it happen once when the advance ends; it
    costs nothing then. It is wanted until it has been met, or always. May be used from any thread.

    Attributes:
        cell: 1 if it is wanted, 0 if not; read by compiled code, shape [1].
    """

    _never_changes = True  # copies of a system share it

    def __init__(self) -> None:
        self.cell = np.zeros(1, dtype=np.int64)
        self._is_lasting = False

    def want(self) -> None:
        """The next event is wanted."""
        self.cell[0] = 1

    def want_always(self, is_wanted: bool) -> None:
        """From now on each event is wanted, or only the one in the end."""
        self._is_lasting = is_wanted
        self.cell[0] = int(is_wanted)

    def note_met(self) -> None:
        """The event has happened."""
        if not self._is_lasting:
            self.cell[0] = 0


class Notification:
    """Sent when something has come in from outside of a simulation; may be used from any thread.

    Attributes:
        cell: another number each time it is sent; read by compiled code, shape [1].
    """

    _never_changes = True  # copies of a system share it

    def __init__(self) -> None:
        self.cell = np.zeros(1, dtype=np.int64)
        self._numbers = itertools.count(1)

    def send(self) -> None:
        """Lets simulations know."""
        # Two threads never write the same number, so that one who has seen the other's sees this one, too.
        self.cell[0] = next(self._numbers)


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """What may come to a system from outside of a simulation, such as messages: it is asked between two steps.

    Attributes:
        has_come: called as has_come(context): whether there is something; changes nothing.
        take_in: called as take_in(context): takes it in; whether the event is to happen now.
        notification: sent when there may be something; None if things come unannounced, and `has_come` is to be asked
            at each step.
    """

    has_come: Callable[[Any], bool]
    take_in: Callable[[Any], bool]
    notification: Notification | None


@dataclasses.dataclass(frozen=True)
class DeclaredEvent:
    """An event as a leaf system has declared it.

    `handler` is called as handler(context) for publish events, handler(context, discrete_values) for discrete
    updates and handler(context, state) for unrestricted updates. `period` and `offset` are those of periodic events.
    `native` is an operation that does the same, if there is one. `demand` says whether a publish event is wanted at
    the moment, None if it always is. `arrivals` are what an event with the trigger kTimed waits for. An unrestricted
    update that `joins_discrete_updates` happens together with discrete updates: all of them see the state from before.
    """

    kind: type[Event]
    trigger: TriggerType
    handler: Callable[..., EventStatus | None]
    period: float = 0.0
    offset: float = 0.0
    native: NativeCode | ContextualCode | None = None
    demand: Demand | None = None
    arrivals: Arrivals | None = None
    joins_discrete_updates: bool = False

    @property
    def phase(self) -> int:
        """When it happens among simultaneous events."""
        return DISCRETE_PHASE if self.joins_discrete_updates else self.kind.phase
