"""VectorLogSink: a block that logs its input, and the function that attaches one to an output port."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import LOG, InputOf, NativeCode
from merganser.framework.core.declarations.events import TriggerType
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import declare_storage, use_native_event
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import Value
from merganser.framework.primitives._arguments import checked_period, checked_size
from merganser.framework.primitives.logs._log_access import LogAccess
from merganser.framework.primitives.logs.vector_log import VectorLog

__all__ = ["LogVectorOutput", "VectorLogSink", "when_to_publish"]

_SUPPORTED = {TriggerType.kForced, TriggerType.kPeriodic, TriggerType.kPerStep}


class VectorLogSink(LogAccess[VectorLog], LeafSystem):
    """Logs the vector at its input `data` whenever it publishes.

    Each Context has its own log. The log is no state: adding to it changes nothing that the system computes.

    Args:
        input_size: number of elements of the input.
        publish_triggers: when to log, a set of kForced, kPeriodic and kPerStep. By default on forced
            publishes and, if there is a period, periodically, otherwise per step. The period may stand here.
        publish_period: time between two samples [s]; positive if and only if the triggers include kPeriodic.

    Raises:
        ValueError: the triggers are none or not supported, or do not go with the period.
    """

    def __init__(
        self,
        input_size: int,
        publish_triggers: Iterable[TriggerType] | float | None = None,
        publish_period: float = 0.0,
    ) -> None:
        super().__init__()
        size = checked_size(input_size, "VectorLogSink: input_size")
        triggers, period = when_to_publish(publish_triggers, publish_period, "VectorLogSink")
        self._u = self.DeclareVectorInputPort("data", size)
        self._log_entry = declare_storage(self, "log", functools.partial(_new_log, size))
        code = NativeCode("append_sample", (size, InputOf(0), LOG))
        if TriggerType.kForced in triggers:
            self.DeclareForcedPublishEvent(self._add_sample)
        if TriggerType.kPeriodic in triggers:
            self.DeclarePeriodicPublishEvent(period, 0.0, self._add_sample)
            use_native_event(self, code)
        if TriggerType.kPerStep in triggers:
            self.DeclarePerStepPublishEvent(self._add_sample)
            use_native_event(self, code)

    def _add_sample(self, context: Context) -> None:
        self.GetLog(context).AddData(context.get_time(), self._u.EvalBasicVector(context).value())


def LogVectorOutput(
    src: OutputPort,
    builder: DiagramBuilder,
    publish_triggers: Iterable[TriggerType] | float | None = None,
    publish_period: float = 0.0,
) -> VectorLogSink:
    """Adds a VectorLogSink to a diagram and connects it to an output port.

    Args:
        src: a vector output port of a system that was added to `builder`.
        builder: of the diagram.
        publish_triggers: when to log, as for VectorLogSink; the period may stand here too.
        publish_period: time between two samples [s].

    Returns:
        The sink; find the samples with `sink.FindLog(root_context)`.

    Raises:
        TypeError: `src` is no vector output port; `LogOutput` logs any port.
        ValueError: its system has not been added to `builder`, or the triggers do not go with the period.
    """
    if not isinstance(src, OutputPort) or src._size is None:
        raise TypeError(f"LogVectorOutput takes a vector output port, got {src!r}; LogOutput logs any output port.")
    if not isinstance(builder, DiagramBuilder):
        raise TypeError(f"LogVectorOutput takes a DiagramBuilder, got {type(builder).__name__}.")
    builder.require_member(src._system, src)
    sink = builder.AddSystem(VectorLogSink(src.size(), publish_triggers, publish_period))
    builder.Connect(src, sink.get_input_port())
    return sink


def _new_log(size: int) -> Value:
    return Value(VectorLog(size))


def when_to_publish(
    publish_triggers: Iterable[TriggerType] | float | None, publish_period: float, sink: str
) -> tuple[set[TriggerType], float]:
    """Triggers and period [s] of a sink from its arguments; `sink` is the name of its class, for messages.

    Raises:
        TypeError: the triggers are no set of TriggerType.
        ValueError: the triggers are none or not supported, or do not go with the period.
    """
    if isinstance(publish_triggers, (int, float)):
        publish_period = publish_triggers
        publish_triggers = None
    period = checked_period(publish_period, f"{sink}: publish_period")
    if publish_triggers is None:
        return {TriggerType.kForced, TriggerType.kPeriodic if period > 0.0 else TriggerType.kPerStep}, period
    triggers = set(publish_triggers) if isinstance(publish_triggers, Iterable) else {None}
    if not all(isinstance(trigger, TriggerType) for trigger in triggers):
        raise TypeError(f"{sink}: publish_triggers must be a set of TriggerType; got {publish_triggers!r}.")
    if not triggers or triggers - _SUPPORTED:
        raise ValueError(
            f"{sink}: publish_triggers must be some of kForced, kPeriodic and kPerStep; got "
            f"{sorted(trigger.name for trigger in triggers)}."
        )
    if (period > 0.0) != (TriggerType.kPeriodic in triggers):
        raise ValueError(
            f"{sink}: a positive publish_period goes with the trigger kPeriodic, and only with it; got "
            f"{period} s and {sorted(trigger.name for trigger in triggers)}."
        )
    return triggers, period
