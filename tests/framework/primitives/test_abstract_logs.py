"""Logs of values of any type: what they keep, when, and for whom."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import BusValue, DiagramBuilder, LeafSystem, LoadContext, TriggerType, Value
from merganser.framework.primitives import (
    AbstractLog,
    AbstractLogSink,
    ConstantVectorSource,
    LogOutput,
    VectorLogSink,
)


class Diary(LeafSystem):
    """An abstract output that gives the same list at all times, longer each time."""

    def __init__(self) -> None:
        super().__init__()
        self.set_name("diary")
        self._pages: list[float] = []
        self.DeclareAbstractOutputPort("pages", lambda: Value([]), self._calc, {self.time_ticket()})

    def _calc(self, context: Any, output: Any) -> None:
        self._pages.append(context.get_time())
        output.set_value(self._pages)


def logged(**kwargs: Any) -> tuple[Any, AbstractLogSink]:
    builder = DiagramBuilder()
    diary = builder.AddSystem(Diary())
    sink = LogOutput(diary.get_output_port(), builder, **kwargs)
    assert isinstance(sink, AbstractLogSink)
    return builder.Build(), sink


def test_samples_are_copies_taken_at_the_period() -> None:
    diagram, sink = logged(publish_period=0.25)
    simulator = Simulator(diagram)
    simulator.AdvanceTo(1.0)
    log = sink.FindLog(simulator.get_context())
    np.testing.assert_array_equal(log.sample_times(), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert [len(pages) for pages in log.data()] == [1, 2, 3, 4, 5]
    assert log.num_samples() == 5
    sink.FindMutableLog(simulator.get_context()).Clear()
    assert log.num_samples() == 0 and log.data() == []


def test_any_port_can_be_logged_with_one_function() -> None:
    builder = DiagramBuilder()
    vector = LogOutput(builder.AddSystem(ConstantVectorSource([1.0, 2.0])).get_output_port(), builder, 0.5)
    abstract = LogOutput(builder.AddSystem(Diary()).get_output_port(), builder, {TriggerType.kForced})
    assert isinstance(vector, VectorLogSink) and isinstance(abstract, AbstractLogSink)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.ForcedPublish(context)
    assert vector.FindLog(context).data().tolist() == [[1.0], [2.0]]
    assert abstract.FindLog(context).data() == [[0.0]]


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        ({}, [0.0, 1.0]),  # per step and forced
        ({"publish_period": 0.5}, [0.0, 0.5, 1.0]),
        ({"publish_triggers": 0.5}, [0.0, 0.5, 1.0]),
        ({"publish_triggers": {TriggerType.kForced}}, []),
        ({"publish_triggers": {TriggerType.kPerStep}}, [0.0, 1.0]),
    ],
)
def test_triggers_are_those_of_vector_logs(arguments: dict[str, Any], times: list[float]) -> None:
    diagram, sink = logged(**arguments)
    simulator = Simulator(diagram)
    simulator.AdvanceTo(1.0)
    assert sink.FindLog(simulator.get_context()).sample_times().tolist() == times


def test_each_context_has_its_log_and_copies_take_it_along(tmp_path: Any) -> None:
    diagram, sink = logged(publish_period=0.5)
    first, second = Simulator(diagram), Simulator(diagram)
    first.AdvanceTo(1.0)
    context = first.get_context()
    assert sink.FindLog(second.get_context()).num_samples() == 0
    clone = context.Clone()
    sink.FindLog(clone).data()[0].append("mine")
    sink.FindLog(clone).Clear()
    assert sink.FindLog(context).data()[0] == [0.0]
    context.Save(tmp_path / "context.npz")
    loaded = LoadContext(diagram, tmp_path / "context.npz")
    assert sink.FindLog(loaded).data() == sink.FindLog(context).data()
    copied_diagram, copied = pickle.loads(pickle.dumps((AbstractLogSink(Value("")), 1)))
    assert copied == 1 and copied_diagram.num_input_ports() == 1
    log = AbstractLog()
    log.AddData(1.0, Value({"a": 1}))
    assert copy.deepcopy(log).data() == [{"a": 1}]


def test_a_log_of_objects_is_saved_by_pickling_only(tmp_path: Any) -> None:
    builder = DiagramBuilder()
    model = BusValue()
    model.Set("speed", Value(1.5))

    class Bus(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareAbstractOutputPort("y", lambda: Value(BusValue()), lambda c, out: out.set_value(model))

    sink = LogOutput(builder.AddSystem(Bus()).get_output_port(), builder, 0.5)
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(0.5)
    with pytest.raises(TypeError):
        simulator.get_context().Save(tmp_path / "bus.npz")
    simulator.get_context().Save(tmp_path / "bus.npz", allow_pickle=True)
    assert sink.FindLog(simulator.get_context()).data()[1].Find("speed") == 1.5


def test_logging_is_no_change_of_state() -> None:
    diagram, sink = logged(publish_period=0.5)
    context = diagram.CreateDefaultContext()
    assert context.is_stateless() and not sink.HasAnyDirectFeedthrough()


def test_wrong_arguments_are_refused_and_leave_no_sink_behind() -> None:
    builder = DiagramBuilder()
    diary = builder.AddSystem(Diary())
    stranger = Diary()
    stranger.set_name("stranger")
    for call, error, message in (
        (lambda: LogOutput(None, builder), TypeError, "got NoneType"),
        (lambda: LogOutput(diary.get_output_port(), None), TypeError, "a DiagramBuilder"),
        (lambda: LogOutput(stranger.get_output_port(), builder), ValueError, "'::stranger'.*AddSystem"),
        (lambda: LogOutput(diary.get_output_port(), builder, -1.0), ValueError, "AbstractLogSink: publish_period"),
        (lambda: LogOutput(diary.get_output_port(), builder, "often"), TypeError, "set of TriggerType"),
        (lambda: LogOutput(diary.get_output_port(), builder, {TriggerType.kPeriodic}), ValueError, "kPeriodic"),
        (lambda: AbstractLogSink("text"), TypeError, r"write Value\(\.\.\.\)"),
        (lambda: AbstractLog().AddData(0.0, "text"), TypeError, r"write Value\(\.\.\.\)"),
    ):
        with pytest.raises(error, match=message):
            call()  # type: ignore[no-untyped-call]
    assert builder.GetSystems() == [diary]


def test_a_log_is_asked_for_in_the_context_of_its_sink_or_of_the_whole() -> None:
    diagram, sink = logged()
    context = diagram.CreateDefaultContext()
    with pytest.raises(ValueError, match="was given the context of system '::Diagram'"):
        sink.GetLog(context)
    with pytest.raises(ValueError, match="is not part of system"):
        sink.FindLog(logged()[0].CreateDefaultContext())
