"""What a leaf system declares of events, of parameters, and by means of native functions."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.common.errors import Where
from merganser.framework.common.indices import AbstractParameterIndex, DependencyTicket, NumericParameterIndex
from merganser.framework.core.declarations.events import (
    Arrivals,
    DeclaredEvent,
    DiscreteUpdateEvent,
    Event,
    EventStatus,
    PublishEvent,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.native_function import (
    CONTINUOUS,
    BoundNativeFunction,
    NativeFunction,
    NativeHandler,
    next_state,
    result_of,
)
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.arguments import checked_model_value, checked_number, checked_units
from merganser.framework.core.values.values import AbstractValue, BasicVector

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


class ParameterDeclarations:
    """What a leaf system declares of parameters."""

    _sys_numeric_parameter_names: tuple[str, ...] = ()
    _sys_numeric_parameter_units: tuple[str | None, ...] = ()

    def DeclareNumericParameter(
        self: Any, model_vector: BasicVector, *, name: str | None = None, units: str | None = None
    ) -> NumericParameterIndex:
        """Declares a group of numeric parameters with default values.

        Args:
            model_vector: the default values.
            name: by which native functions, and `SetNumericParameter`, know it.
            units: of the elements, such as "rad/s", in the syntax of pint; see `SetNumericParameter`.

        Raises:
            ValueError: there is a group of this name.
            TypeError: the units are not text.
        """
        index = len(self._sys_numeric_parameter_models)
        where = Where("System '{}', DeclareNumericParameter", self)
        units = None if units is None else checked_units(units, where)
        model = self._checked_model_vector(model_vector, "DeclareNumericParameter")
        self._sys_numeric_parameter_names += (self._new_parameter_name(name, index),)
        self._sys_numeric_parameter_units += (units,)
        self._sys_numeric_parameter_models += (model,)
        self._sys_dependency_table.add_node("pn", f"numeric parameter {index}")
        return NumericParameterIndex(index)

    def DeclareAbstractParameter(self: Any, model_value: AbstractValue) -> AbstractParameterIndex:
        """Declares an abstract parameter with its default value."""
        where = Where("System '{}', DeclareAbstractParameter", self)
        self._sys_abstract_parameter_models += (checked_model_value(model_value, where),)
        index = len(self._sys_abstract_parameter_models) - 1
        self._sys_dependency_table.add_node("pa", f"abstract parameter {index}")
        return AbstractParameterIndex(index)

    def numeric_parameter_ticket(self: Any, index: int) -> DependencyTicket:
        """Depends on numeric parameter group `index`."""
        return self._group_ticket("pn", index, "numeric parameter")

    def abstract_parameter_ticket(self: Any, index: int) -> DependencyTicket:
        """Depends on abstract parameter `index`."""
        return self._group_ticket("pa", index, "abstract parameter")


_GROUP = re.compile(r"next_xd(\d+)|xd(\d+)_next|next_xc|xc_next")


class NativeDeclarations:
    """What a leaf system declares by means of native functions (see native_function.py)."""

    _sys_derivatives: BoundNativeFunction | None = None  # given to DeclareTimeDerivatives

    def DeclareTimeDerivatives(self: Any, calc: NativeFunction) -> None:
        """Computes the time derivatives of the continuous state by a native function.

        It takes the place of overriding `DoCalcTimeDerivatives`. Declare ports, state and parameters before.

        Args:
            calc: made by `native`; its last parameter receives the derivatives.

        Raises:
            TypeError: `calc` was not made by `native`.
            RuntimeError: there is no continuous state.
            ValueError: the system has nothing of a parameter's name.
        """
        self._sys_declare_derivatives(calc)

    def _sys_declare_derivatives(self: Any, calc: NativeFunction, of: type[Any] | None = None) -> None:
        """Declares derivatives; those of a class, if it is given, which derived classes may override after all.

        Their `super().DoCalcTimeDerivatives` is then this function.
        """
        where = Where("System '{}': DeclareTimeDerivatives", self)
        if not isinstance(calc, NativeFunction):
            raise TypeError(
                f"{where} takes a function decorated with @native, got {type(calc).__name__}. To use ordinary Python, "
                "override DoCalcTimeDerivatives(context, derivatives)."
            )
        if self._sys_xcdot_entry is None:
            raise RuntimeError(f"{where}: there is no continuous state; call DeclareContinuousState before.")
        entry = self._sys_cache_entries[self._sys_xcdot_entry]
        self._sys_derivatives = calc.bind(self, "time derivatives", result_of(entry.vector_size))
        if of is None or not self._overrides_derivatives(of):
            entry.use_function(self._sys_derivatives)

    def _bound(self: Any, calc: NativeFunction, what: str, model: Any) -> BoundNativeFunction:
        """The callback of a cache entry."""
        if not isinstance(model, BasicVector):
            raise TypeError(
                f"{what.capitalize()} of system '{self.GetSystemPathname()}' is abstract; a native function can only "
                "fill in vectors."
            )
        return calc.bind(self, what, result_of(model.size()))

    def _bound_update(
        self: Any, update: NativeFunction, kind: type[Event]
    ) -> tuple[NativeHandler, BoundNativeFunction]:
        """The handler of an update, and its operation."""
        where = f"{update.describe()}, {kind.kind_name} of system '{self.GetSystemPathname()}'"
        if not kind.changes_state:
            raise TypeError(f"{where}: a native function can only be the handler of updates.")
        sizes = dict(enumerate(model.size() for model in self._sys_discrete_models))
        if kind is UnrestrictedUpdateEvent and sum(self._sys_continuous_sizes):
            sizes[CONTINUOUS] = sum(self._sys_continuous_sizes)
        groups: list[int] = []
        for name in reversed(update.parameters):
            found = _GROUP.fullmatch(name)
            if not found:
                break
            groups.insert(0, int(found[1] or found[2] or CONTINUOUS))
        if not groups and len(sizes) == 1:
            groups = [*sizes]  # under any name
        if not groups or not sizes.keys() >= set(groups):
            also = " and next_xc for the continuous state" if CONTINUOUS in sizes else ""
            if CONTINUOUS in groups and not also:
                also = "; next_xc is for unrestricted updates of systems with a continuous state"
            raise ValueError(
                f"{where}: there are {len(self._sys_discrete_models)} groups of discrete state. Where there is more "
                f"than one, name the last parameters next_xd0, next_xd1, ... for the groups to update{also}."
            )
        results = (next_state(group, sizes[group]) for group in groups)
        bound = update.bind(self, kind.kind_name, *results)
        return NativeHandler(bound, groups), bound

    def _sys_amend_last_event(self: Any, **changes: Any) -> None:
        """Changes attributes of the event declared last, see DeclaredEvent.

        `native` is an operation that does what its handler does, `demand` says when a publish event is needed, and an
        unrestricted update that `joins_discrete_updates` happens with them: both see the state from before, whereas
        other unrestricted updates come first.
        """
        *earlier, last = self._sys_events
        self._sys_events = (*earlier, dataclasses.replace(last, **changes))

    def _declare_arrivals(self: Any, kind: type[Event], handler: Any, arrivals: Arrivals) -> None:
        """Declares an event that happens when something has come from outside (inside.py)."""
        self._sys_events += (DeclaredEvent(kind, TriggerType.kTimed, handler, arrivals=arrivals),)

    def _new_parameter_name(self: Any, name: str | None, index: int) -> str:
        if name is None:
            return f"p{index}"
        if name in self._sys_numeric_parameter_names:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has a numeric parameter '{name}' already; names must differ."
            )
        return name
