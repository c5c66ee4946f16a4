"""Publish events that compiled simulations skip while they are not wanted."""

from __future__ import annotations

from typing import Any

import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, EventStatus, LeafSystem
from merganser.framework.core.declarations.events import Demand
from merganser.framework.primitives import Integrator, LogVectorOutput, Sine


class Viewer(LeafSystem):
    """Notes the time, and the value at its input, when it publishes."""

    def __init__(self, period: float = 0.25, meets: bool = True) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.demand = Demand()
        self.seen: list[tuple[float, float]] = []
        self.status: Any = None
        self._meets = meets
        self.DeclarePeriodicPublishEvent(period, 0.0, self._publish)
        self._sys_amend_last_event(demand=self.demand)

    def _publish(self, context: Any) -> EventStatus | None:
        self.seen.append((context.get_time(), self.get_input_port().Eval(context)[0]))
        if self._meets:
            self.demand.note_met()
        return self.status


class Wanting(LeafSystem):
    """Wants what a viewer shows, or fails, at some times."""

    def __init__(self, demand: Demand, times: set[float], fails_at: float = -1.0) -> None:
        super().__init__()
        self._demand, self._times, self._fails_at = demand, times, fails_at
        self.DeclarePeriodicPublishEvent(0.125, 0.0, self._publish)

    def _publish(self, context: Any) -> None:
        if context.get_time() in self._times:
            self._demand.want()
        if context.get_time() == self._fails_at:
            raise ValueError("as expected")


def simulate(mode: str, viewer: Viewer, *others: LeafSystem) -> Simulator:
    """A simulation of a sine that is integrated, logged and shown."""
    builder = DiagramBuilder()
    sine, integrator = builder.AddSystem(Sine(1.0, 2.0, 0.0, 1)), builder.AddSystem(Integrator(1))
    builder.AddSystem(viewer)
    for other in others:
        builder.AddSystem(other)
    builder.Connect(sine.get_output_port(0), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), viewer.get_input_port())
    LogVectorOutput(integrator.get_output_port(), builder, publish_period=0.25)
    simulator = Simulator(builder.Build())
    simulator._when_to_plan = mode
    simulator.Initialize()
    viewer.seen.clear()
    viewer.demand.note_met()
    return simulator


def times(viewer: Viewer) -> list[float]:
    return [time for time, _ in viewer.seen]


def test_in_python_every_event_happens() -> None:
    simulator = simulate("never", viewer := Viewer())
    simulator.AdvanceTo(1.1)
    assert times(viewer) == [0.25, 0.5, 0.75, 1.0]


def test_unwanted_publishes_happen_once_when_the_advance_ends() -> None:
    simulator = simulate("always", viewer := Viewer())
    simulator.AdvanceTo(1.1)
    x = simulator.get_context().get_continuous_state_vector()[0]
    assert viewer.seen == [(1.1, x)]
    simulator.AdvanceTo(1.2)  # none was due
    simulator.AdvanceTo(1.25)
    assert times(viewer) == [1.1, 1.25]


def test_what_is_wanted_happens_at_its_time_with_the_values_there() -> None:
    viewer = Viewer()
    simulator = simulate("always", viewer, Wanting(viewer.demand, {0.375, 1.0}))
    simulator.AdvanceTo(2.0)
    assert times(viewer) == [0.5, 1.25, 2.0]
    everything = Viewer()
    simulate("never", everything, Wanting(everything.demand, set())).AdvanceTo(2.0)
    assert set(viewer.seen) <= set(everything.seen)


def test_all_happen_while_they_are_always_wanted() -> None:
    simulator = simulate("always", viewer := Viewer())
    viewer.demand.want_always(True)
    simulator.AdvanceTo(1.0)
    viewer.demand.want_always(False)
    simulator.AdvanceTo(1.6)
    assert times(viewer) == [0.25, 0.5, 0.75, 1.0, 1.6]


@pytest.mark.parametrize("demanded", [False, True])
def test_states_logs_and_counts_are_those_of_python(demanded: bool) -> None:
    found = []
    for mode in ("never", "always"):
        viewer = Viewer()
        simulator = simulate(mode, viewer)
        viewer.demand.want_always(demanded)
        simulator.AdvanceTo(1.1)
        simulator.AdvanceTo(3.0)
        context = simulator.get_context()
        found.append(
            (
                context.get_continuous_state_vector()[0],
                simulator.get_num_steps_taken(),
                simulator.get_num_publishes(),
                simulator.get_num_discrete_updates(),
            )
        )
    assert found[0] == found[1]


def test_what_was_left_out_happens_where_another_handler_fails() -> None:
    viewer = Viewer()
    simulator = simulate("always", viewer, Wanting(viewer.demand, set(), fails_at=0.875))
    with pytest.raises(ValueError, match="as expected"):
        simulator.AdvanceTo(2.0)
    assert times(viewer) == [0.875]
    simulator.AdvanceTo(1.0)
    assert times(viewer) == [0.875, 1.0]


def test_a_viewer_may_end_the_simulation_and_its_failure_is_reported() -> None:
    simulator = simulate("always", viewer := Viewer())
    viewer.status = EventStatus.ReachedTermination(viewer, "seen enough")
    status = simulator.AdvanceTo(1.0)
    assert "seen enough" in status.FormatMessage() and status.return_time() == 1.0
    viewer.status = EventStatus.Failed(viewer, "cannot draw")
    with pytest.raises(RuntimeError, match="cannot draw"):
        simulator.AdvanceTo(2.0)


def test_a_demand_that_is_not_met_stays() -> None:
    viewer = Viewer(meets=False)
    simulator = simulate("always", viewer, Wanting(viewer.demand, {0.375}))
    simulator.AdvanceTo(1.0)
    assert times(viewer) == [0.5, 0.75, 1.0]


def test_copies_of_a_diagram_share_the_demand() -> None:
    viewer = Viewer()
    simulator = simulate("always", viewer)
    copied = simulator.get_system().Clone()
    (other,) = (system for system in copied.GetSystems() if isinstance(system, Viewer))
    assert other.demand is viewer.demand


def test_several_simulations_of_one_diagram_each_show_their_end() -> None:
    simulator = simulate("always", viewer := Viewer())
    second = Simulator(simulator.get_system())
    second._when_to_plan = "always"
    second.Initialize()
    viewer.seen.clear()
    simulator.AdvanceTo(1.0)
    second.AdvanceTo(0.5)
    assert times(viewer) == [1.0, 0.5]
