"""The order of events, boundaries, statuses, settings and statistics of a simulation."""

from __future__ import annotations

import time as wall_clock
from typing import Any

import numpy as np
import pytest
from event_recorder import (
    DISCRETE,
    FORCED,
    INITIALIZATION,
    KINDS,
    PER_STEP,
    PERIODIC,
    PUBLISH,
    UNRESTRICTED,
    Declared,
    make_recorder,
)

import merganser.framework as framework
from merganser.analysis import InitializeParams, RungeKutta3Integrator, Simulator, SimulatorStatus
from merganser.framework import DiagramBuilder, EventStatus, LeafSystem
from merganser.framework.common.errors import DrakeDeprecationWarning
from merganser.framework.primitives import ConstantVectorSource, Gain, Integrator, ZeroOrderHold

Reason = SimulatorStatus.ReturnReason


def recorded(*events: Declared, continuous: bool = False) -> tuple[Simulator, list[Any]]:
    log: list[Any] = []
    return Simulator(make_recorder(framework, log, "a", list(events), continuous)), log


def kinds_and_times(log: list[Any]) -> list[tuple[str, float]]:
    return [(entry[1], entry[5]) for entry in log]


# ---------------------------------------------------------------------- order of events


def test_initialization_updates_come_before_publish_events_that_see_their_result() -> None:
    simulator, log = recorded(*(Declared(kind, INITIALIZATION) for kind in KINDS))
    simulator.Initialize()
    assert [(entry[1], entry[6]) for entry in log] == [
        (UNRESTRICTED, 0.0),
        (DISCRETE, 100.0),
        (PUBLISH, 101.0),
    ]


def test_at_the_start_publish_events_precede_updates_of_the_first_step() -> None:
    simulator, log = recorded(*(Declared(kind, PERIODIC, 1.0) for kind in KINDS))
    simulator.Initialize()
    assert kinds_and_times(log) == [(PUBLISH, 0.0)]
    simulator.AdvanceTo(0.5)
    assert kinds_and_times(log)[1:] == [(UNRESTRICTED, 0.0), (DISCRETE, 0.0)]


def test_publish_sees_the_state_before_an_update_at_the_same_time() -> None:
    simulator, log = recorded(Declared(DISCRETE, PERIODIC, 1.0), Declared(PUBLISH, PERIODIC, 1.0))
    simulator.AdvanceTo(2.0)
    assert [(time, count) for _, kind, *_, time, count in log if kind == PUBLISH] == [(0, 0), (1, 1), (2, 2)]


def test_simultaneous_discrete_updates_all_see_the_state_before() -> None:
    """Two systems that swap their values do so, whichever comes first."""

    class Swapping(LeafSystem):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.DeclareVectorInputPort("other", 1)
            self.DeclareStateOutputPort("mine", self.DeclareDiscreteState([value]))
            self.DeclarePeriodicDiscreteUpdateEvent(1.0, 0.0, self._update)

        def _update(self, context: Any, discrete_state: Any) -> None:
            discrete_state.set_value(0, self.get_input_port().Eval(context))

    builder = DiagramBuilder()
    one, two = builder.AddSystem(Swapping(1.0)), builder.AddSystem(Swapping(2.0))
    builder.Connect(one.get_output_port(), two.get_input_port())
    builder.Connect(two.get_output_port(), one.get_input_port())
    simulator = Simulator(builder.Build())
    values = []
    for end in (0.5, 1.5, 2.5):
        simulator.AdvanceTo(end)
        values.append([group[0] for group in simulator.get_context().get_discrete_state()._items])
    assert values == [[2, 1], [1, 2], [2, 1]]


def test_updates_at_the_boundary_wait_for_the_next_advance() -> None:
    simulator, log = recorded(Declared(DISCRETE, PERIODIC, 1.0, 1.0))
    simulator.AdvanceTo(1.0)
    assert log == []
    simulator.AdvanceTo(1.0)
    assert kinds_and_times(log) == [(DISCRETE, 1.0)]
    simulator.AdvanceTo(1.0)
    assert len(log) == 1


def test_pending_events_can_be_carried_out_without_letting_time_pass() -> None:
    simulator, log = recorded(Declared(DISCRETE, PERIODIC, 1.0, 1.0), continuous=True)
    simulator.AdvanceTo(1.0)
    simulator.AdvancePendingEvents()
    assert kinds_and_times(log) == [(DISCRETE, 1.0)]
    assert simulator.get_context().get_time() == 1.0
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(1.0)


@pytest.mark.parametrize("continuous", [False, True])
def test_many_advances_give_the_events_of_one(continuous: bool) -> None:
    events = [Declared(kind, PERIODIC, period) for kind, period in zip(KINDS, (0.07, 0.11, 0.13), strict=True)]
    simulator, whole = recorded(*events, continuous=continuous)
    simulator.AdvanceTo(2.0)
    simulator, parts = recorded(*events, continuous=continuous)
    for end in np.linspace(0.0, 2.0, 37):
        simulator.AdvanceTo(end)
    assert parts == whole


def test_periodic_events_come_at_exact_multiples_of_their_period() -> None:
    simulator, log = recorded(Declared(PUBLISH, PERIODIC, 0.1, 0.03))
    simulator.AdvanceTo(50.0)
    assert [entry[5] for entry in log] == [(3 + 10 * k) / 100 for k in range(500)]


def test_per_step_events_come_in_every_step_of_the_integrator() -> None:
    simulator, log = recorded(Declared(PUBLISH, PER_STEP), continuous=True)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(0.25)
    simulator.AdvanceTo(1.0)
    assert [entry[5] for entry in log] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_time_goes_straight_to_the_next_event_where_nothing_is_continuous() -> None:
    simulator, _ = recorded(Declared(DISCRETE, PERIODIC, 5.0))
    simulator.AdvanceTo(12.0)
    assert simulator.get_num_steps_taken() == 3


# ---------------------------------------------------------------------- where a simulation starts


def test_a_simulation_can_start_at_any_time() -> None:
    simulator, log = recorded(Declared(PUBLISH, PERIODIC, 0.25), Declared(DISCRETE, PERIODIC, 0.25))
    simulator.get_mutable_context().SetTime(10.25)
    simulator.Initialize()
    simulator.AdvanceTo(10.6)
    expected = [(PUBLISH, 10.25), (DISCRETE, 10.25), (PUBLISH, 10.5), (DISCRETE, 10.5)]
    assert kinds_and_times(log) == expected


def test_changing_the_time_asks_for_initialization() -> None:
    simulator, log = recorded(Declared(DISCRETE, PERIODIC, 1.0))
    simulator.AdvanceTo(1.5)
    simulator.get_mutable_context().SetTime(0.0)
    with pytest.raises(RuntimeError, match=r"changed from 1.5 s to 0.0 s: call simulator.Initialize\(\)"):
        simulator.AdvanceTo(3.0)
    simulator.Initialize()
    simulator.AdvanceTo(0.5)
    assert kinds_and_times(log)[-1] == (DISCRETE, 0.0)


def test_initialization_events_can_be_left_out() -> None:
    simulator, log = recorded(*(Declared(kind, INITIALIZATION) for kind in KINDS), Declared(PUBLISH, PER_STEP))
    simulator.Initialize(InitializeParams(suppress_initialization_events=True))
    assert [entry[1:3] for entry in log] == [(PUBLISH, PER_STEP)]


def test_the_context_given_is_the_one_advanced() -> None:
    system = Integrator(1)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 2.0)
    simulator = Simulator(system, context)
    simulator.AdvanceTo(1.0)
    assert simulator.get_context() is simulator.get_mutable_context() is context and simulator.has_context()
    assert simulator.get_system() is system
    assert context.get_continuous_state_vector()[0] == pytest.approx(2.0)


def test_reset_context_keeps_the_settings_of_the_integrator() -> None:
    system = Integrator(1)
    simulator = Simulator(system)
    integrator = simulator.get_mutable_integrator()
    integrator.set_target_accuracy(1e-7)
    integrator.set_fixed_step_mode(True)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 3.0)
    simulator.reset_context(context)
    assert simulator.get_integrator() is integrator and integrator.get_context() is context
    assert integrator.get_fixed_step_mode() and integrator.get_target_accuracy() == 1e-7
    simulator.AdvanceTo(1.0)
    assert context.get_continuous_state_vector()[0] == pytest.approx(3.0)


def test_two_simulators_of_one_system_are_independent() -> None:
    system = Integrator(1)
    simulators = [Simulator(system), Simulator(system)]
    for slope, simulator in zip((1.0, 2.0), simulators, strict=True):
        system.get_input_port().FixValue(simulator.get_mutable_context(), slope)
    simulators[0].AdvanceTo(1.0)
    simulators[1].AdvanceTo(0.5)
    simulators[0].AdvanceTo(2.0)
    values = [s.get_context().get_continuous_state_vector()[0] for s in simulators]
    assert values == pytest.approx([2.0, 1.0])


# ---------------------------------------------------------------------- ends


def terminate_at(time: float, status: str = "ReachedTermination") -> Any:
    def outcome(module: Any, context: Any) -> Any:
        return getattr(EventStatus, status)(None, "enough") if context.get_time() >= time else None

    return outcome


def test_termination_by_a_publish_event_stops_after_the_step() -> None:
    simulator, _ = recorded(Declared(PUBLISH, PERIODIC, 0.5, 0.0, terminate_at(1.0)))
    status = simulator.AdvanceTo(3.0)
    assert status.reason() is Reason.kReachedTerminationCondition and not status.succeeded()
    assert (status.boundary_time(), status.return_time(), status.message()) == (3.0, 1.0, "enough")
    assert status.system() is simulator.get_system()
    assert simulator.get_context().get_time() == 1.0
    assert "returned at time 1.0 s" in status.FormatMessage() and "'::a'" in status.FormatMessage()


def test_termination_by_an_update_stops_before_time_passes() -> None:
    simulator, log = recorded(
        Declared(DISCRETE, PERIODIC, 0.5, 0.0, terminate_at(1.0)), Declared(PUBLISH, PERIODIC, 0.5)
    )
    status = simulator.AdvanceTo(3.0)
    assert status.return_time() == simulator.get_context().get_time() == 1.0
    assert kinds_and_times(log)[-1] == (DISCRETE, 1.0)


def test_a_status_compares_by_its_parts() -> None:
    simulator, _ = recorded(Declared(PUBLISH, PERIODIC, 0.5))
    first, second, third = (simulator.AdvanceTo(t) for t in (1.0, 1.0, 2.0))
    assert first.IsIdenticalStatus(second) and not first.IsIdenticalStatus(third)
    assert first.succeeded() and "reached the boundary time (1.0 s)" in first.FormatMessage()


def test_a_handler_that_reports_failure_raises_with_system_time_and_message() -> None:
    simulator, _ = recorded(Declared(DISCRETE, PERIODIC, 0.5, 0.0, terminate_at(1.0, "Failed")))
    with pytest.raises(RuntimeError, match=r"at time 1.0 s.*event handler failed in system '::a'.*enough"):
        simulator.AdvanceTo(3.0)
    assert simulator.get_context().get_time() == 1.0


def test_a_monitor_sees_the_start_and_every_step_and_can_end_the_advance() -> None:
    simulator, _ = recorded(Declared(PUBLISH, PERIODIC, 0.25))
    times = []

    def monitor(context: Any) -> EventStatus | None:
        times.append(context.get_time())
        return EventStatus.ReachedTermination(None, "far enough") if len(times) == 4 else None

    simulator.set_monitor(monitor)
    assert simulator.get_monitor() is monitor
    status = simulator.AdvanceTo(2.0)
    assert times == [0.0, 0.25, 0.5, 0.75] and status.message() == "far enough" and status.system() is None
    simulator.clear_monitor()
    assert simulator.get_monitor() is None and simulator.AdvanceTo(2.0).succeeded()
    assert len(times) == 4


def test_a_monitor_that_ends_the_simulation_at_its_start() -> None:
    simulator, log = recorded(Declared(DISCRETE, PERIODIC, 0.25))
    simulator.set_monitor(lambda context: EventStatus.ReachedTermination(None, "no"))
    assert simulator.AdvanceTo(1.0).return_time() == 0.0
    assert log == []


# ---------------------------------------------------------------------- settings and statistics


def test_forced_publish_at_initialization_and_in_every_step() -> None:
    simulator, log = recorded(Declared(PUBLISH, FORCED), continuous=True)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    with pytest.warns(DrakeDeprecationWarning, match=r"Simulator.set_publish_at_initialization\(\) is deprecated"):
        simulator.set_publish_at_initialization(True)
    with pytest.warns(DrakeDeprecationWarning, match="Declare per-step or initialization publish events"):
        simulator.set_publish_every_time_step(True)
    assert simulator.get_publish_every_time_step()
    simulator.AdvanceTo(0.3)
    np.testing.assert_allclose([entry[5] for entry in log], [0.0, 0.1, 0.2, 0.3])
    assert simulator.get_num_publishes() == 4


def test_statistics_count_what_had_an_effect() -> None:
    did_nothing = Declared(PUBLISH, PERIODIC, 0.5, 0.0, lambda module, context: EventStatus.DidNothing())
    simulator, _ = recorded(Declared(DISCRETE, PERIODIC, 0.5), Declared(UNRESTRICTED, PERIODIC, 1.0), did_nothing)
    simulator.AdvanceTo(2.0)
    counts = simulator.get_num_discrete_updates(), simulator.get_num_unrestricted_updates()
    assert counts == (4, 2) and simulator.get_num_publishes() == 0 and simulator.get_num_steps_taken() == 4
    simulator.ResetStatistics()
    assert simulator.get_num_discrete_updates() == simulator.get_num_steps_taken() == 0


def test_the_target_rate_slows_the_simulation_down() -> None:
    simulator, _ = recorded(Declared(PUBLISH, PERIODIC, 0.01))
    simulator.set_target_realtime_rate(2.0)
    assert simulator.get_target_realtime_rate() == 2.0
    simulator.Initialize()
    start = wall_clock.perf_counter()
    simulator.AdvanceTo(0.2)
    assert wall_clock.perf_counter() - start > 0.08
    assert 0.0 < simulator.get_actual_realtime_rate() < 2.5
    simulator.set_target_realtime_rate(-1.0)
    assert simulator.get_target_realtime_rate() == 0.0
    with pytest.raises(ValueError, match="got nan"):
        simulator.set_target_realtime_rate(np.nan)


def test_a_change_of_the_context_between_advances_takes_effect() -> None:
    system = Integrator(1)
    simulator = Simulator(system)
    context = simulator.get_mutable_context()
    for slope, end in ((1.0, 1.0), (-3.0, 2.0)):
        system.get_input_port().FixValue(context, slope)
        simulator.AdvanceTo(end)
    assert context.get_continuous_state_vector()[0] == pytest.approx(-2.0)


def test_another_integrator_must_belong_to_the_context() -> None:
    system = Integrator(1)
    simulator = Simulator(system)
    with pytest.raises(ValueError, match="another context"):
        simulator.reset_integrator(RungeKutta3Integrator(system, system.CreateDefaultContext()))
    integrator = RungeKutta3Integrator(system, simulator.get_mutable_context())
    integrator.set_maximum_step_size(0.5)
    assert simulator.reset_integrator(integrator) is simulator.get_integrator() is integrator
    system.get_input_port().FixValue(simulator.get_mutable_context(), 1.0)
    simulator.AdvanceTo(2.0)
    assert integrator.get_num_steps_taken() > 0


# ---------------------------------------------------------------------- continuous and discrete together


def test_a_sampled_integrator_gives_the_riemann_sum() -> None:
    """x' = held t^2 with samples each 0.1 s: x(1) is a sum, exactly."""

    class SquareOfTime(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorOutputPort(
                "y", 1, lambda context, output: output.SetFromVector([context.get_time() ** 2])
            )

    builder = DiagramBuilder()
    source = builder.AddSystem(SquareOfTime())
    hold = builder.AddSystem(ZeroOrderHold(0.1, 1))
    integrator = builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), hold.get_input_port())
    builder.Connect(hold.get_output_port(), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    expected = 0.1 * sum((0.1 * k) ** 2 for k in range(10))
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(expected, abs=1e-12)


def test_a_chain_of_blocks_without_state_advances_time_only() -> None:
    builder = DiagramBuilder()
    source, gain = builder.AddSystem(ConstantVectorSource([2.0])), builder.AddSystem(Gain(3.0, 1))
    builder.Connect(source.get_output_port(), gain.get_input_port())
    builder.ExportOutput(gain.get_output_port(), "y")
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.AdvanceTo(7.0)
    assert simulator.get_context().get_time() == 7.0 and simulator.get_num_steps_taken() == 1
    assert diagram.GetOutputPort("y").Eval(simulator.get_context()) == pytest.approx([6.0])
