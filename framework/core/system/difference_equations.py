"""Questions about what governs the state: a differential equation, or a difference equation with one period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.framework.core.declarations.events import (
    DiscreteUpdateEvent,
    PeriodicEventData,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.execution import compute_updates, raise_if_failed
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.state import DiscreteValues, State

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context


class DifferenceEquationMethods(SystemBase):
    """What every System can say about its periodic discrete updates."""

    def GetUniquePeriodicDiscreteUpdateAttribute(self) -> PeriodicEventData | None:
        """Returns period and offset of the periodic discrete updates if all have the same; else None."""
        timings = self._periodic_discrete_timings()
        return PeriodicEventData(*timings.pop()) if len(timings) == 1 else None

    def EvalUniquePeriodicDiscreteUpdate(self, context: Context) -> DiscreteValues:
        """Returns what the periodic discrete updates would make of the discrete state, and changes nothing.

        The handlers are called again each time; what is returned belongs to the caller.

        Raises:
            RuntimeError: there is no periodic discrete update, or some have different timings; or a handler
                reported failure.
        """
        self.ValidateContext(context)
        timings = self._periodic_discrete_timings()
        if len(timings) != 1:
            found = ", ".join(f"period {p} s, offset {o} s" for p, o in sorted(timings)) or "none"
            raise RuntimeError(
                f"EvalUniquePeriodicDiscreteUpdate: system '{self.GetSystemPathname()}' must have periodic discrete "
                f"updates of exactly one timing; found: {found}."
            )
        result = context._discrete.Clone()
        compute_update(context, TriggerType.kPeriodic, result)
        return result

    def IsDifferenceEquationSystem(self) -> tuple[bool, float]:
        """Whether the state is one discrete group, changed by periodic updates of one timing with offset 0.

        Updates of other kinds are not considered, nor is the number of input ports.

        Returns:
            The answer, and the period [s] if it is yes, 0 otherwise.
        """
        timing = self.GetUniquePeriodicDiscreteUpdateAttribute()
        others = self.num_continuous_states() + self.num_abstract_states()
        if others or self.num_discrete_state_groups() != 1 or timing is None or timing.offset_sec() != 0.0:
            return False, 0.0
        return True, timing.period_sec()

    def IsDifferentialEquationSystem(self) -> bool:
        """Whether there is neither discrete nor abstract state and all input ports carry vectors."""
        if self.num_discrete_state_groups() or self.num_abstract_states():
            return False
        return all(port._size is not None for port in self._sys_input_ports)

    def _periodic_discrete_timings(self) -> set[tuple[float, float]]:
        """All (period, offset) [s] of periodic discrete updates."""
        return {
            (event.period, event.offset)
            for leaf in self._get_layout().leaf_list
            for event in leaf.system._sys_events
            if event.kind is DiscreteUpdateEvent and event.trigger is TriggerType.kPeriodic
        }


def compute_update(context: Context, trigger: TriggerType, target: DiscreteValues | State) -> None:
    """Makes `target` what updates would make of the discrete state, or of the whole one, and changes nothing.

    Args:
        context: of any system.
        trigger: of the updates: discrete ones, or unrestricted ones for the whole state.
        target: room like that of `context`.
    """
    kind = DiscreteUpdateEvent if isinstance(target, DiscreteValues) else UnrestrictedUpdateEvent
    events = [item for item in context.system._events_with(context, trigger) if item[1].kind is kind]
    status, updates = compute_updates(events, is_question=True)
    raise_if_failed(status, context)
    if isinstance(target, DiscreteValues):
        target.SetFrom(context._discrete)
        _put_groups(updates, context, target)
        return
    target.SetFrom(context.get_state())
    _put_groups([(leaf, values._discrete) for leaf, values in updates], context, target._discrete)
    place = {id(value): index for index, value in enumerate(context._abstract_state._items)}
    x = target._continuous.get_mutable_vector()
    for leaf, values in updates:
        for value, new in zip(leaf._abstract_state._items, values._abstract._items):
            target._abstract.get_mutable_value(place[id(value)]).SetFrom(new)
        first = leaf.layout.xc_range[0] - context.layout.xc_range[0]
        for k, number in enumerate(values._continuous.CopyToVector().tolist()):
            x.SetAtIndex(first + k, number)


def _put_groups(updates: list[tuple[Any, DiscreteValues]], context: Context, target: DiscreteValues) -> None:
    place = {id(group): index for index, group in enumerate(context._discrete._items)}
    for leaf, values in updates:
        for group, new in zip(leaf._discrete._items, values._items):
            target.get_mutable_vector(place[id(group)]).SetFrom(new)
