"""How a leaf system declares its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.core.declarations.events import (
    DeclaredEvent,
    DiscreteUpdateEvent,
    Event,
    EventStatus,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.native_function import NativeFunction
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.arguments import checked_number

PublishHandler = Callable[[Any], EventStatus | None]
UpdateHandler = Callable[[Any, Any], EventStatus | None]


class EventDeclarations(SystemBase):
    """The events that a leaf system can declare: when they happen, and what is called then."""

    def DeclarePeriodicPublishEvent(self, period_sec: float, offset_sec: float, publish: PublishHandler) -> None:
        """Calls publish(context) at offset + k period [s]."""
        self._declare_periodic(PublishEvent, period_sec, offset_sec, publish)

    def DeclarePeriodicDiscreteUpdateEvent(self, period_sec: float, offset_sec: float, update: UpdateHandler) -> None:
        """Calls update(context, discrete_values) at offset + k period [s]."""
        self._declare_periodic(DiscreteUpdateEvent, period_sec, offset_sec, update)

    def DeclarePeriodicUnrestrictedUpdateEvent(
        self, period_sec: float, offset_sec: float, update: UpdateHandler
    ) -> None:
        """Calls update(context, state) at offset + k period [s]."""
        self._declare_periodic(UnrestrictedUpdateEvent, period_sec, offset_sec, update)

    def DeclarePeriodicEvent(self, period_sec: float, offset_sec: float, event: Event) -> None:
        """Declares an Event object that happens at offset + k period [s]."""
        handler = self._handler_of(event, TriggerType.kPeriodic)
        self._declare_periodic(event.kind, period_sec, offset_sec, handler)

    def DeclarePerStepPublishEvent(self, publish: PublishHandler) -> None:
        """Calls publish(context) at initialization and after every simulator step."""
        self._declare_event(PublishEvent, TriggerType.kPerStep, publish)

    def DeclarePerStepDiscreteUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, discrete_values) at the start of every simulator step."""
        self._declare_event(DiscreteUpdateEvent, TriggerType.kPerStep, update)

    def DeclarePerStepUnrestrictedUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, state) at the start of every simulator step."""
        self._declare_event(UnrestrictedUpdateEvent, TriggerType.kPerStep, update)

    def DeclarePerStepEvent(self, event: Event) -> None:
        """Declares an Event object that happens in every simulator step."""
        self._declare_event_object(event, TriggerType.kPerStep)

    def DeclareInitializationPublishEvent(self, publish: PublishHandler) -> None:
        """Calls publish(context) when a simulation is initialized."""
        self._declare_event(PublishEvent, TriggerType.kInitialization, publish)

    def DeclareInitializationDiscreteUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, discrete_values) when a simulation is initialized."""
        self._declare_event(DiscreteUpdateEvent, TriggerType.kInitialization, update)

    def DeclareInitializationUnrestrictedUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, state) when a simulation is initialized."""
        self._declare_event(UnrestrictedUpdateEvent, TriggerType.kInitialization, update)

    def DeclareInitializationEvent(self, event: Event) -> None:
        """Declares an Event object that happens when a simulation is initialized."""
        self._declare_event_object(event, TriggerType.kInitialization)

    def DeclareForcedPublishEvent(self, publish: PublishHandler) -> None:
        """Calls publish(context) on `ForcedPublish`."""
        self._declare_event(PublishEvent, TriggerType.kForced, publish)

    def DeclareForcedDiscreteUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, discrete_values) on `CalcForcedDiscreteVariableUpdate` and `ExecuteForcedEvents`."""
        self._declare_event(DiscreteUpdateEvent, TriggerType.kForced, update)

    def DeclareForcedUnrestrictedUpdateEvent(self, update: UpdateHandler) -> None:
        """Calls update(context, state) on `CalcForcedUnrestrictedUpdate` and `ExecuteForcedEvents`."""
        self._declare_event(UnrestrictedUpdateEvent, TriggerType.kForced, update)

    def _declare_periodic(self, kind: type[Event], period: float, offset: float, handler: Any) -> None:
        where = f"System '{self.GetSystemPathname()}', periodic {kind.kind_name} event"
        period, offset = checked_number(period, f"{where}: period [s]"), checked_number(offset, f"{where}: offset [s]")
        if not (0.0 < period < np.inf) or not (0.0 <= offset < np.inf):
            raise ValueError(
                f"System '{self.GetSystemPathname()}': a periodic event needs a period > 0 and an offset >= 0, both "
                f"finite; got period {period} s, offset {offset} s."
            )
        self._declare_event(kind, TriggerType.kPeriodic, handler, period, offset)

    def _declare_event_object(self, event: Event, trigger: TriggerType) -> None:
        handler = self._handler_of(event, trigger)
        self._declare_event(event.kind, trigger, handler)

    def _handler_of(self: Any, event: Event, trigger: TriggerType) -> Callable[..., Any]:
        if not isinstance(event, Event) or not hasattr(event, "kind"):
            raise TypeError(
                f"System '{self.GetSystemPathname()}': expected a PublishEvent, DiscreteUpdateEvent or "
                f"UnrestrictedUpdateEvent, got {type(event).__name__}."
            )
        is_native = isinstance(event._callback, NativeFunction) and event._system_callback is None
        handler: Callable[..., Any] | None = event._callback if is_native else event._handler(self, trigger)
        assert handler is not None
        return handler

    def _declare_event(
        self: Any, kind: type[Event], trigger: TriggerType, handler: Any, period: float = 0.0, offset: float = 0.0
    ) -> None:
        self._sys_events += (self._made_event(kind, trigger, handler, period, offset),)

    def _made_event(
        self: Any, kind: type[Event], trigger: TriggerType, handler: Any, period: float = 0.0, offset: float = 0.0
    ) -> DeclaredEvent:
        if not callable(handler):
            raise TypeError(
                f"System '{self.GetSystemPathname()}': the handler of a {kind.kind_name} event must be callable, got "
                f"{type(handler).__name__}."
            )
        native = None
        if isinstance(handler, NativeFunction):
            handler, native = self._bound_update(handler, kind)
        return DeclaredEvent(kind, trigger, handler, period, offset, native)
