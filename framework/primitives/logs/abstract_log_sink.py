"""AbstractLogSink: a block that logs values of any type, and `LogOutput`, which logs any output port."""

from __future__ import annotations

from collections.abc import Iterable

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import TriggerType
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import declare_storage
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.primitives.logs._log_access import LogAccess
from merganser.framework.primitives.logs.abstract_log import AbstractLog
from merganser.framework.primitives.logs.vector_log_sink import LogVectorOutput, VectorLogSink, when_to_publish

__all__ = ["AbstractLogSink", "LogOutput"]


class AbstractLogSink(LogAccess[AbstractLog], LeafSystem):
    """Logs a copy of the value at its input `data` whenever it publishes.

    The counterpart of VectorLogSink for abstract ports, which pydrake has not. Each Context has its own log. The log
    is no state: adding to it changes nothing that the system computes.

    Args:
        model_value: a value of the type of the input.
        publish_triggers: when to log, a set of kForced, kPeriodic and kPerStep. By default on forced
            publishes and, if there is a period, periodically, otherwise per step. The period may stand here.
        publish_period: time between two samples [s]; positive if and only if the triggers include kPeriodic.

    Raises:
        TypeError: `model_value` is no AbstractValue.
        ValueError: the triggers are none or not supported, or do not go with the period.
    """

    def __init__(
        self,
        model_value: AbstractValue,
        publish_triggers: Iterable[TriggerType] | float | None = None,
        publish_period: float = 0.0,
    ) -> None:
        super().__init__()
        if not isinstance(model_value, AbstractValue):
            raise TypeError(
                f"AbstractLogSink: model_value must be a Value, got {type(model_value).__name__}; write Value(...)."
            )
        triggers, period = when_to_publish(publish_triggers, publish_period, "AbstractLogSink")
        self._u = self.DeclareAbstractInputPort("data", model_value)
        self._log_entry = declare_storage(self, "log", _new_log)
        if TriggerType.kForced in triggers:
            self.DeclareForcedPublishEvent(self._add_sample)
        if TriggerType.kPeriodic in triggers:
            self.DeclarePeriodicPublishEvent(period, 0.0, self._add_sample)
        if TriggerType.kPerStep in triggers:
            self.DeclarePerStepPublishEvent(self._add_sample)

    def _add_sample(self, context: Context) -> None:
        self.GetLog(context).AddData(context.get_time(), self._u.EvalAbstract(context))


def LogOutput(
    src: OutputPort,
    builder: DiagramBuilder,
    publish_triggers: Iterable[TriggerType] | float | None = None,
    publish_period: float = 0.0,
) -> VectorLogSink | AbstractLogSink:
    """Adds a sink to a diagram that logs an output port of any type.

    Args:
        src: an output port of a system that was added to `builder`.
        builder: of the diagram.
        publish_triggers: when to log, as for VectorLogSink; the period may stand here too.
        publish_period: time between two samples [s].

    Returns:
        A VectorLogSink for a vector port, an AbstractLogSink for any other; find the samples with
        `sink.FindLog(root_context)`.

    Raises:
        TypeError: `src` is no output port, or `builder` no DiagramBuilder.
        ValueError: the port's system has not been added to the builder, or the triggers do not go with the period.
    """
    if not isinstance(src, OutputPort) or not isinstance(builder, DiagramBuilder):
        raise TypeError(
            f"LogOutput takes an output port and a DiagramBuilder; got {type(src).__name__} and "
            f"{type(builder).__name__}."
        )
    if src._size is not None:
        return LogVectorOutput(src, builder, publish_triggers, publish_period)
    builder.require_member(src._system, src)
    sink = builder.AddSystem(AbstractLogSink(src.Allocate(), publish_triggers, publish_period))
    builder.Connect(src, sink.get_input_port())
    return sink


def _new_log() -> Value:
    return Value(AbstractLog())
