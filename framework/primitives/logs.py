"""Access to the log of sinks that keep one.

AbstractLog: samples of values of any type over time.

VectorLog: samples of a vector over time.

VectorLogSink: a block that logs its input, and the function that attaches one to an output port.

AbstractLogSink: a block that logs values of any type, and `LogOutput`, which logs any output port.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import LOG, InputOf, NativeCode
from merganser.framework.core.declarations.events import TriggerType
from merganser.framework.core.declarations.ports import OutputPort
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import in_scalar_of
from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.plain_values import Unplain
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.primitives._arguments import checked_period, checked_size

Log = TypeVar("Log")


class LogAccess(Generic[Log]):
    """The base, beside LeafSystem, of a sink that keeps a log in its cache entry `_log_entry`."""

    def GetLog(self: Any, context: Context) -> Log:
        """Returns the log in this system's own context.

        Raises:
            ValueError: the context is another system's.
        """
        self.ValidateContext(context)
        log: Log = self._log_entry.Eval(context)
        return log

    def GetMutableLog(self, context: Context) -> Log:
        """Returns the log in this system's own context, for changing it."""
        return self.GetLog(context)

    def FindLog(self: Any, context: Context) -> Log:
        """Returns the log in the context of the whole diagram.

        Raises:
            ValueError: the context is not a root context, or that of a diagram without this system.
        """
        log: Log = self.GetLog(self.GetMyContextFromRoot(context))
        return log

    def FindMutableLog(self, context: Context) -> Log:
        """Returns the log in the context of the whole diagram, for changing it."""
        return self.FindLog(context)


class AbstractLog:
    """A growing list of values with their times; each value is a copy of its own."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._values: list[Any] = []

    def num_samples(self) -> int:
        """Number of samples added since the log was made or cleared."""
        return len(self._times)

    def sample_times(self) -> NDArray[np.float64]:
        """Returns the times of the samples [s], shape [num_samples]."""
        return np.array(self._times, dtype=np.float64)

    def data(self) -> list[Any]:
        """Returns the values, in a new list; they are those that the log keeps, not copies of them."""
        return list(self._values)

    def AddData(self, time: float, sample: AbstractValue) -> None:
        """Adds a copy of a value at the end.

        Args:
            time: its time [s]; times need not increase.
            sample: the value in its box.

        Raises:
            TypeError: `sample` is no AbstractValue.
        """
        if not isinstance(sample, AbstractValue):
            raise TypeError(f"AbstractLog: a sample must be a Value, got {type(sample).__name__}; write Value(...).")
        value = sample.Clone().get_value()
        self._times.append(float(time))
        self._values.append(value)

    def Clear(self) -> None:
        """Forgets all samples."""
        self.keep_first(0)

    def keep_first(self, number: int) -> None:
        """Forgets all samples but the first ones."""
        del self._times[number:]
        del self._values[number:]

    def _plain_state(self) -> list[Any]:
        for value in self._values:
            if hasattr(value, "_plain_state"):  # could not be made again without an object to put it into
                raise Unplain(f"a log of objects of type {type(value).__name__}")
        return [list(self._times), list(self._values)]

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        times, values = state
        if not (isinstance(times, list) and isinstance(values, list) and len(times) == len(values)):
            raise ValueError("a log has a list of times, and one of as many samples")
        if not all(isinstance(time, float) for time in times):
            raise ValueError("the times of a log are floats")
        self._times, self._values = times, values


Array = NDArray[Any]


class VectorLog:
    """A growing table of samples, one column each, with their times.

    Room for samples doubles whenever it is used up, so that adding n samples takes time proportional to n.

    Args:
        input_size: number of elements of a sample.
    """

    kDefaultCapacity = 1000
    # Counts what happens to any log outside compiled code, which looks here whether it knows all logs as they are.
    num_edits = 0

    def __init__(self, input_size: int) -> None:
        size = checked_size(input_size, "VectorLog: input_size")
        self._count = np.zeros(1)  # an array, so that compiled code can count too
        self._times: Array = np.empty(self.kDefaultCapacity)
        self._data: Array = np.empty((size, self.kDefaultCapacity), order="F")

    def num_samples(self) -> int:
        """Number of samples added since the log was made or cleared."""
        return int(self._count.item(0))

    def get_input_size(self) -> int:
        """Number of elements of a sample."""
        return len(self._data)

    def sample_times(self) -> Array:
        """Returns the times of the samples [s], shape [num_samples]; a view, valid until the next sample."""
        return self._times[: self.num_samples()]

    def data(self) -> Array:
        """Returns the samples, shape [input_size, num_samples]; a view, valid until the next sample."""
        return self._data[:, : self.num_samples()]

    def AddData(self, time: float, sample: ArrayLike) -> None:
        """Adds a sample at the end.

        Args:
            time: its time [s]; times need not increase.
            sample: shape [input_size].

        Raises:
            ValueError: `sample` has the wrong size.
        """
        values = np.asarray(sample)
        if values.size != len(self._data):
            raise ValueError(f"VectorLog: samples have {len(self._data)} elements, got shape {values.shape}.")
        if values.dtype.kind not in "biufcO":
            raise TypeError(f"VectorLog: samples are numbers, got elements of type {values.dtype}.")
        number = self.num_samples()
        VectorLog.num_edits += 1
        dtype = np.result_type(values.dtype, self._data.dtype)
        if dtype.kind in "cO" and dtype != self._data.dtype:
            self._take_arrays(len(self._times), dtype)
        if number == len(self._times):
            self._take_arrays(2 * number, self._data.dtype)
        self._times[number] = time
        self._data[:, number] = values.reshape(-1)
        self._count[0] = number + 1  # last, so that an interrupt before leaves no sample

    def _plain_state(self) -> list[Array]:
        return [self.sample_times(), self.data()]

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        times, data = state  # compiled code will write to them
        if not all(isinstance(array, np.ndarray) and array.dtype in (float, loading.scalar) for array in state):
            raise ValueError(f"times and samples of a log are arrays of {loading.scalar}")
        if times.dtype != data.dtype or times.ndim != 1 or data.shape != (len(self._data), len(times)):
            raise ValueError(
                f"a log of {len(self._data)} elements has as many rows and a column for each time; got "
                f"{data.dtype}{data.shape} for times {times.dtype}{times.shape}"
            )
        self._set_samples(times, data)

    def _set_samples(self, times: Array, data: Array) -> None:
        """Replaces all samples, and the type of their scalars."""
        self.Reserve(len(times))
        self._times, self._data = self._times.astype(times.dtype), self._data.astype(data.dtype, order="F")
        self._times[: len(times)] = times
        self._data[:, : len(times)] = data
        self._count[0] = len(times)
        VectorLog.num_edits += 1

    def Reserve(self, capacity: int) -> None:
        """Allocates memory for at least `capacity` samples in all."""
        if capacity <= len(self._times):
            return
        VectorLog.num_edits += 1
        self._take_arrays(capacity, self._data.dtype)

    def _take_arrays(self, capacity: int, dtype: Any) -> None:
        """Moves the samples to larger arrays, or to those of another type of numbers."""
        times = np.empty(capacity, dtype)
        data = np.empty((len(self._data), capacity), dtype, order="F")
        times[: self.num_samples()] = self.sample_times()
        data[:, : self.num_samples()] = self.data()
        self._times, self._data = times, data

    def Clear(self) -> None:
        """Forgets all samples."""
        self.keep_first(0)

    def keep_first(self, number: int) -> None:
        """Forgets all samples but the first ones."""
        self._count[0] = number
        VectorLog.num_edits += 1

    def native_arrays(self) -> tuple[Array, Array, Array] | None:
        """Times, data and number of samples, for compiled code to write to; None if they are no floats."""
        if not self._times.dtype == self._data.dtype == np.float64:
            return None
        return self._times, self._data, self._count

    def _scalar_type(self) -> Any:
        return scalar_of_array(self.data())

    def _cast(self, T: Any) -> VectorLog:
        self._set_samples(cast_array(self.sample_times(), T), cast_array(self.data(), T))
        return self


_SUPPORTED = {TriggerType.kForced, TriggerType.kPeriodic, TriggerType.kPerStep}


class VectorLogSink(LogAccess[VectorLog], LeafSystem):
    """Logs the vector at its input `data` whenever it publishes.

    Each Context has its own log. The log is not a state: adding to it changes nothing that the system computes.

    Args:
        input_size: number of elements of the input.
        publish_triggers: when to log, a set of kForced, kPeriodic and kPerStep. By default on forced
            publishes and, if there is a period, periodically, otherwise per step. The period may be given here.
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
        self._log_entry = self._sys_declare_storage("log", functools.partial(_new_vector_log, size))
        code = NativeCode("append_sample", (size, InputOf(0), LOG))
        if TriggerType.kForced in triggers:
            self.DeclareForcedPublishEvent(self._add_sample)
        if TriggerType.kPeriodic in triggers:
            self.DeclarePeriodicPublishEvent(period, 0.0, self._add_sample)
            self._sys_amend_last_event(native=code)
        if TriggerType.kPerStep in triggers:
            self.DeclarePerStepPublishEvent(self._add_sample)
            self._sys_amend_last_event(native=code)

    def _add_sample(self, context: Context) -> None:
        self.GetLog(context).AddData(context.get_time(), self._u.EvalBasicVector(context).value())


def LogVectorOutput(
    src: OutputPort[Any],
    builder: DiagramBuilder,
    publish_triggers: Iterable[TriggerType] | float | None = None,
    publish_period: float = 0.0,
) -> VectorLogSink:
    """Adds a VectorLogSink to a diagram and connects it to an output port.

    Args:
        src: a vector output port of a system that was added to `builder`.
        builder: of the diagram.
        publish_triggers: when to log, as for VectorLogSink; the period may be given here too.
        publish_period: time between two samples [s].

    Returns:
        The sink; find the samples with `sink.FindLog(root_context)`.

    Raises:
        TypeError: `src` is not a vector output port; `LogOutput` logs any port.
        ValueError: its system has not been added to `builder`, or the triggers do not go with the period.
    """
    if not isinstance(src, OutputPort) or src._size is None:
        raise TypeError(f"LogVectorOutput takes a vector output port, got {src!r}; LogOutput logs any output port.")
    if not isinstance(builder, DiagramBuilder):
        raise TypeError(f"LogVectorOutput takes a DiagramBuilder, got {type(builder).__name__}.")
    builder.require_member(src._system, src)
    sink = builder.AddSystem(in_scalar_of(builder, VectorLogSink(src.size(), publish_triggers, publish_period)))
    builder.Connect(src, sink.get_input_port())
    return sink


def _new_vector_log(size: int) -> Value:
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


class AbstractLogSink(LogAccess[AbstractLog], LeafSystem):
    """Logs a copy of the value at its input `data` whenever it publishes.

    The counterpart of VectorLogSink for abstract ports, which pydrake has not. Each Context has its own log. The log
    is not a state: adding to it changes nothing that the system computes.

    Args:
        model_value: a value of the type of the input.
        publish_triggers: when to log, a set of kForced, kPeriodic and kPerStep. By default on forced
            publishes and, if there is a period, periodically, otherwise per step. The period may be given here.
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
        self._log_entry = self._sys_declare_storage("log", _new_abstract_log)
        if TriggerType.kForced in triggers:
            self.DeclareForcedPublishEvent(self._add_sample)
        if TriggerType.kPeriodic in triggers:
            self.DeclarePeriodicPublishEvent(period, 0.0, self._add_sample)
        if TriggerType.kPerStep in triggers:
            self.DeclarePerStepPublishEvent(self._add_sample)

    def _add_sample(self, context: Context) -> None:
        self.GetLog(context).AddData(context.get_time(), self._u.EvalAbstract(context))


def LogOutput(
    src: OutputPort[Any],
    builder: DiagramBuilder,
    publish_triggers: Iterable[TriggerType] | float | None = None,
    publish_period: float = 0.0,
) -> VectorLogSink | AbstractLogSink:
    """Adds a sink to a diagram that logs an output port of any type.

    Args:
        src: an output port of a system that was added to `builder`.
        builder: of the diagram.
        publish_triggers: when to log, as for VectorLogSink; the period may be given here too.
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
    sink = builder.AddSystem(in_scalar_of(builder, AbstractLogSink(src.Allocate(), publish_triggers, publish_period)))
    builder.Connect(src, sink.get_input_port())
    return sink


def _new_abstract_log() -> Value:
    return Value(AbstractLog())
