"""Plots and tables of logs carry the names of what was logged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator, log_labels, log_to_pandas, plot_log
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import LogVectorOutput, VectorLogSink


class Arm(LeafSystem):
    """Two clocks, with names as a plant has them."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorOutputPort("state", 2, self.calc)
        self.DeclareVectorOutputPort("clock", 2, self.calc)

    def GetStateNames(self) -> list[str]:
        return ["elbow_q", "elbow_w"]

    def calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([context.get_time(), -context.get_time()])


@pytest.fixture
def logged() -> Any:
    builder = DiagramBuilder()
    arm = builder.AddNamedSystem("arm", Arm())
    sinks = [LogVectorOutput(arm.get_output_port(i), builder, publish_period=0.5) for i in range(2)]
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    return sinks, simulator.get_context()


def test_lines_are_labelled_with_states_or_ports(logged: Any, tmp_path: Any) -> None:
    (state, clock), context = logged
    axes = plot_log(state, context)
    assert [line.get_label() for line in axes.get_lines()] == ["elbow_q", "elbow_w"]
    np.testing.assert_array_equal(axes.get_lines()[1].get_ydata(), [0.0, -0.5, -1.0])
    assert axes.get_title() == "arm: state" and axes.get_xlabel() == "time [s]"
    assert plot_log(clock, context, axes, names=["a", "b"]) is axes and len(axes.get_lines()) == 4
    assert log_labels(clock) == ["clock[0]", "clock[1]"]
    assert log_labels(VectorLogSink(1)) == ["data"]
    axes.figure.savefig(tmp_path / "log.png")
    with pytest.raises(ValueError, match="logs 2 elements, but there are 1 names"):
        plot_log(clock, context, names=["a"])


def test_tables_have_a_column_for_each_element(logged: Any) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    (state, _), context = logged
    table = log_to_pandas(state, context)
    assert list(table.columns) == ["elbow_q", "elbow_w"] and table.index.name == "time"
    assert table["elbow_w"][0.5] == -0.5
