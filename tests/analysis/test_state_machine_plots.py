"""Pictures of state machines: what is in them, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator, plot_state_machine, plot_state_trace
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import Gain, Guard, LogVectorOutput, StateMachine


def blinker() -> StateMachine:
    """A lamp that blinks while its parent is active, beside a counter, until it is broken."""
    machine = StateMachine("blinker", variables={"n": 0.0}, outputs={"light": 1})
    machine.AddState("works", initial=True, parallel=True)
    machine.AddState("lamp", parent="works")
    machine.AddState("dark", parent="lamp", initial=True, outputs={"light": 0.0})
    machine.AddState("bright", parent="lamp", outputs={"light": 1.0}, entry={"n": lambda n: n + 1.0})
    machine.AddState("other", parent="works")
    machine.AddState("broken")
    machine.AddTransition("dark", "bright", when=Guard.after(0.25))
    machine.AddTransition("bright", "dark", when=Guard.after(0.5), action={"n": "n"}, priority=2)
    machine.AddTransition("bright", "bright", when=lambda n: n > 50.0, priority=1)
    machine.AddTransition("works", "broken", when=Guard.after(2.0))
    machine.AddTransition("broken", "works", when=Guard.after(9.0), history="deep")
    machine.Finalize()
    return machine


def texts_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def test_a_chart_has_all_states_guards_and_actions(tmp_path: Any) -> None:
    figure = plot_state_machine(blinker(), path=tmp_path / "chart.png", title="a lamp")
    texts = texts_of(figure)
    assert {"a lamp", "works", "lamp", "dark", "bright", "other", "broken", "light = 1"} <= set(texts)
    assert {"after 0.25 s", "2: after 0.5 s\n/ n = n", "after 9 s (H*)", "entry n = f(n)"} <= set(texts)
    assert (tmp_path / "chart.png").stat().st_size > 5000


def test_states_are_inside_of_their_parents_and_beside_each_other() -> None:
    figure = plot_state_machine(blinker())
    boxes = [patch.get_bbox().frozen() for patch in figure.axes[0].patches if hasattr(patch, "get_boxstyle")]
    assert len(boxes) == 6
    works, lamp, dark, bright, other, broken = boxes

    def contains(outer: Any, inner: Any) -> bool:
        return outer.x0 < inner.x0 < inner.x1 < outer.x1 and outer.y0 < inner.y0 < inner.y1 < outer.y1

    assert contains(works, lamp) and contains(works, other) and contains(lamp, dark) and contains(lamp, bright)
    for one, another in ((lamp, other), (dark, bright), (works, broken)):
        assert not one.overlaps(another)


def test_active_states_are_filled() -> None:
    machine = blinker()
    plain, marked = (plot_state_machine(machine, context) for context in (None, machine.CreateDefaultContext()))
    faces = [
        [patch.get_facecolor() for patch in figure.axes[0].patches if hasattr(patch, "get_boxstyle")]
        for figure in (plain, marked)
    ]
    assert [a != b for a, b in zip(*faces)] == [True, True, True, False, True, False]


def test_a_trace_shows_when_states_were_active() -> None:
    builder = DiagramBuilder()
    machine = builder.AddSystem(blinker())
    gain = builder.AddSystem(Gain(1.0, 1))
    builder.Connect(machine.GetOutputPort("light"), gain.get_input_port())
    active = LogVectorOutput(machine.GetOutputPort("active"), builder)
    light = LogVectorOutput(gain.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.1)
    axes = plot_state_trace(active, simulator.get_context(), machine)
    assert [label.get_text() for label in axes.get_yticklabels()] == machine.GetStateNames()
    rows = [np.array([path.get_extents().intervalx for path in each.get_paths()]) for each in axes.collections]
    assert np.allclose(rows[2], [[0.0, 0.25], [0.75, 1.0]]) and np.allclose(rows[3], [[0.25, 0.75], [1.0, 1.1]])
    assert np.allclose(rows[0], [[0.0, 1.1]]) and len(rows[5]) == 0
    with pytest.raises(ValueError, match=r"must log the output port 'active' of .*blinker', with 6 numbers; it logs 1"):
        plot_state_trace(light, simulator.get_context(), machine)
    with pytest.raises(TypeError, match="takes a StateMachine, got a Gain"):
        plot_state_machine(gain)  # type: ignore[arg-type]
