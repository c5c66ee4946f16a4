"""Simulations whose events come from witness functions: when, in what order, and how often they happen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bouncing_ball import accumulation_time, bounce_times, make_ball

import merganser.framework as framework
from merganser.analysis import ResetIntegratorFromFlags, Simulator, SimulatorStatus
from merganser.framework import (
    DiagramBuilder,
    DiscreteUpdateEvent,
    EventStatus,
    LeafSystem,
    PublishEvent,
    UnrestrictedUpdateEvent,
    WitnessFunction,
    WitnessFunctionDirection,
)

Direction, Reason = WitnessFunctionDirection, SimulatorStatus.ReturnReason
CROSSES, FALLS, RISES = Direction.kCrossesZero, Direction.kPositiveThenNonPositive, Direction.kNegativeThenNonNegative


class Watched(LeafSystem):
    """dx/dt = rate, with witness functions of (t, x) that write (name, time) into a log as they trigger."""

    def __init__(
        self,
        log: list[Any],
        functions: dict[str, tuple[Direction, Callable[[float, float], float]]],
        rate: Callable[[float], float] | None = lambda t: 1.0,
        event_class: Any = PublishEvent,
        name: str = "watched",
    ) -> None:
        super().__init__()
        self.set_name(name)
        self._rate = rate
        if rate is not None:
            self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        self.num_calls = 0

        def make(label: str, direction: Direction, function: Callable[[float, float], float]) -> WitnessFunction:
            def calc(context: Any) -> float:
                self.num_calls += 1
                return function(context.get_time(), context.get_continuous_state_vector()[0] if rate else 0.0)

            event = event_class(lambda context, event, *changes: log.append((label, context.get_time())))
            return self.MakeWitnessFunction(label, direction, calc, event)

        self._witnesses = [make(label, *what) for label, what in functions.items()]

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        return self._witnesses

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.get_mutable_vector().SetFromVector([self._rate(context.get_time())])  # type: ignore[misc]


def dropped(height: float, restitution: float, **kwargs: Any) -> tuple[Simulator, list[float]]:
    log: list[float] = []
    simulator = Simulator(make_ball(framework, restitution, log=log, **kwargs))
    simulator.get_mutable_context().SetContinuousState([height, 0.0])
    return simulator, log


# ---------------------------------------------------------------------- times


@pytest.mark.parametrize("direction", ["kPositiveThenNonPositive", "kCrossesZero"])
def test_a_ball_bounces_at_the_times_of_the_closed_form(direction: str) -> None:
    simulator, log = dropped(10.0, 0.8, direction=direction)
    assert simulator.AdvanceTo(10.0).succeeded()
    expected = bounce_times(10.0, 0.8, 8)
    assert expected[6] < 10.0 < expected[7] and len(log) == 7
    np.testing.assert_allclose(log, expected[:7], rtol=0.0, atol=1e-10)
    assert simulator.get_num_unrestricted_updates() == 7


@pytest.mark.parametrize("fixed_step", [None, 0.05, 0.7])
def test_times_do_not_depend_on_the_steps(fixed_step: float | None) -> None:
    """Falling is quadratic in time, so that Runge-Kutta steps of any length are exact."""
    simulator, log = dropped(10.0, 0.8)
    if fixed_step is not None:
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
        simulator.get_mutable_integrator().set_maximum_step_size(fixed_step)
    simulator.AdvanceTo(10.0)
    np.testing.assert_allclose(log, bounce_times(10.0, 0.8, 7), rtol=0.0, atol=1e-10)


def test_a_few_evaluations_find_a_time_to_thirteen_digits() -> None:
    log: list[Any] = []
    system = Watched(log, {"w": (CROSSES, lambda t, x: math.exp(x) - 1.5)})
    simulator = Simulator(system)
    simulator.AdvanceTo(0.3)
    before = system.num_calls
    simulator.AdvanceTo(0.45)
    assert log == [("w", pytest.approx(math.log(1.5), abs=1e-12))]
    assert system.num_calls - before < 35  # 14 of them look for a return to zero; bisection would need 40 more


@pytest.mark.parametrize(
    "function",
    [lambda s: s, lambda s: s**3, lambda s: s**9, lambda s: math.copysign(1.0, s), lambda s: math.atan(1e6 * s)],
)
def test_hard_functions_take_little_more_than_bisection(function: Callable[[float], float]) -> None:
    log: list[Any] = []
    system = Watched(log, {"w": (RISES, lambda t, x: function(x - 0.3217))})
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(1.0)
    simulator.AdvanceTo(1.0)
    assert log == [("w", pytest.approx(0.3217, abs=1e-12))]
    assert system.num_calls < 44 + 1 + 14 + 15  # log2(1 / 1e-13) is 44; up to 23 look for a return to zero


def test_a_witness_function_of_time_alone_needs_no_continuous_state() -> None:
    log: list[Any] = []
    simulator = Simulator(Watched(log, {"alarm": (RISES, lambda t, x: t - 0.7)}, rate=None))
    simulator.AdvanceTo(2.0)
    assert log == [("alarm", pytest.approx(0.7, abs=1e-12))]
    assert simulator.get_context().get_time() == 2.0


def test_large_times_are_resolved_as_far_as_they_can() -> None:
    log: list[Any] = []
    simulator = Simulator(Watched(log, {"w": (CROSSES, lambda t, x: x - 0.25)}))
    simulator.get_mutable_context().SetTime(1e6)
    simulator.AdvanceTo(1e6 + 1.0)
    assert log == [("w", pytest.approx(1e6 + 0.25, abs=1e-6))]


# ---------------------------------------------------------------------- how often


def test_every_passage_of_a_sine_triggers_once_in_its_direction() -> None:
    log: list[Any] = []
    functions = {name: (direction, lambda t, x: x) for name, direction in (("c", CROSSES), ("f", FALLS), ("r", RISES))}
    simulator = Simulator(Watched(log, functions, rate=math.cos))
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.AdvanceTo(20.0)
    for name, first, step in (("c", 1, 1), ("f", 1, 2), ("r", 2, 2)):
        times = [time for label, time in log if label == name]
        np.testing.assert_allclose(times, np.pi * np.arange(first, 7, step), atol=1e-6)


def test_a_function_that_jumps_over_zero_triggers_at_every_jump() -> None:
    log: list[Any] = []
    functions = {
        "c": (CROSSES, lambda t, x: 1.0 if math.sin(t) > 0.0 else -1.0),
        "r": (RISES, lambda t, x: math.sin(t) > 0.0 or -0.5),
    }
    Simulator(Watched(log, functions)).AdvanceTo(20.0)
    for name, first, step in (("c", 1, 1), ("r", 2, 2)):
        times = [time for label, time in log if label == name]
        np.testing.assert_allclose(times[-len(range(first, 7, step)) :], np.pi * np.arange(first, 7, step), atol=1e-10)


@pytest.mark.parametrize("at_boundary", [False, True])
def test_a_passage_where_a_step_ends_triggers_once(at_boundary: bool) -> None:
    log: list[Any] = []
    simulator = Simulator(Watched(log, {"w": (CROSSES, lambda t, x: t - 0.5)}, rate=None))
    if at_boundary:
        simulator.AdvanceTo(0.5)
    simulator.AdvanceTo(1.0)
    simulator.AdvanceTo(2.0)
    assert log == [("w", pytest.approx(0.5, abs=1e-12))]


def test_zero_at_the_start_does_not_trigger_but_a_return_to_it_does() -> None:
    """A ball thrown up from the floor returns within the first step of the integrator."""
    simulator, log = dropped(0.0, 0.5)
    simulator.get_mutable_context().SetContinuousState([0.0, 0.1])
    simulator.get_mutable_integrator().request_initial_step_size_target(0.1)
    simulator.AdvanceTo(0.025)
    assert log == [pytest.approx(2 * 0.1 / 9.81, abs=1e-12)]


def test_a_function_that_stays_at_zero_never_triggers() -> None:
    log: list[Any] = []
    Simulator(Watched(log, {"w": (CROSSES, lambda t, x: max(0.0, 0.55 - t) - max(0.0, t - 1.45))})).AdvanceTo(1.4)
    assert [label for label, _ in log] == ["w"]  # where it came to zero


def test_direction_none_never_triggers() -> None:
    log: list[Any] = []
    Simulator(Watched(log, {"w": (Direction.kNone, lambda t, x: x - 0.5)})).AdvanceTo(1.0)
    assert log == []


# ---------------------------------------------------------------------- several at once


def test_the_earliest_of_several_in_one_step_comes_first_whatever_their_order() -> None:
    times = [0.91, 0.13, 0.5, 0.131, 0.77]
    functions = {
        str(time): (CROSSES, lambda t, x, time=time, n=n: (x - time) ** (2 * (n % 3) + 1))
        for n, time in enumerate(times)
    }
    log: list[Any] = []
    simulator = Simulator(Watched(log, functions))
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(1.0)
    simulator.AdvanceTo(1.0)
    assert [float(label) for label, _ in log] == sorted(times)
    np.testing.assert_allclose([time for _, time in log], sorted(times), atol=1e-11)
    assert simulator.get_num_steps_taken() == len(times) + 1


def test_a_double_crossing_is_found_when_another_function_ends_the_step() -> None:
    log: list[Any] = []
    functions = {
        "dips": (FALLS, lambda t, x: (x - 0.3) * (x - 0.7)),
        "falls": (FALLS, lambda t, x: 0.5 - x),
    }
    simulator = Simulator(Watched(log, functions))
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(1.0)
    simulator.AdvanceTo(1.0)
    assert log == [("dips", pytest.approx(0.3)), ("falls", pytest.approx(0.5))]


def test_simultaneous_witness_functions_trigger_in_the_order_of_their_systems() -> None:
    log: list[Any] = []
    builder = DiagramBuilder()
    for name in "ab":
        functions = {name + "1": (CROSSES, lambda t, x: x - 0.55), name + "2": (CROSSES, lambda t, x: 1.1 - 2.0 * x)}
        builder.AddSystem(Watched(log, functions, event_class=DiscreteUpdateEvent, name=name))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    assert [label for label, _ in log] == ["a1", "a2", "b1", "b2"]
    assert len({time for _, time in log}) == 1
    assert simulator.get_num_discrete_updates() == 1


def test_simultaneous_events_come_per_step_then_periodic_then_witnessed() -> None:
    log: list[Any] = []

    class All(Watched):
        def __init__(self) -> None:
            super().__init__(log, {"witness": (CROSSES, lambda t, x: t - 0.5)}, rate=None)
            self.DeclarePeriodicPublishEvent(0.5, 0.5, lambda context: log.append(("periodic", context.get_time())))
            self.DeclarePerStepPublishEvent(lambda context: log.append(("step", context.get_time())))

    simulator = Simulator(All())
    simulator.AdvanceTo(0.6)
    assert [label for label, time in log if 0.4 < time < 0.55] == ["step", "periodic", "witness"]


# ---------------------------------------------------------------------- what events do


def test_publish_events_see_the_state_before_the_updates_at_the_same_time() -> None:
    seen: list[tuple[str, float]] = []

    class Both(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(1)

            def reset(context: Any, event: Any, state: Any) -> None:
                state.get_mutable_continuous_state().get_mutable_vector().SetFromVector([-5.0])
                seen.append(("update", context.get_continuous_state_vector()[0]))

            events = (
                UnrestrictedUpdateEvent(reset),
                PublishEvent(lambda context, event: seen.append(("see", context.get_continuous_state_vector()[0]))),
            )
            self._witnesses = [
                self.MakeWitnessFunction("w", RISES, lambda c: c.get_continuous_state_vector()[0] - 0.5, event)
                for event in events
            ]

        def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
            return self._witnesses

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            derivatives.get_mutable_vector().SetFromVector([1.0])

    simulator = Simulator(Both())
    simulator.AdvanceTo(1.0)
    assert seen == [("see", pytest.approx(0.5)), ("update", pytest.approx(0.5))]
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(-4.5)


def test_without_an_event_the_step_ends_where_the_function_triggers() -> None:
    class Stopping(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self._witness = self.MakeWitnessFunction("w", CROSSES, lambda context: context.get_time() - 0.25)

        def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
            return [self._witness]

    times: list[float] = []
    simulator = Simulator(Stopping())
    simulator.get_mutable_integrator().set_maximum_step_size(2.0)
    simulator.set_monitor(lambda context: times.append(context.get_time()))
    simulator.AdvanceTo(1.0)
    assert times == [0.0, pytest.approx(0.25, abs=1e-12), 1.0]


def test_an_event_may_end_the_simulation() -> None:
    class Ending(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            event = PublishEvent(lambda context, event: EventStatus.ReachedTermination(self, "there"))
            self._witness = self.MakeWitnessFunction("w", CROSSES, lambda context: context.get_time() - 0.25, event)

        def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
            return [self._witness]

    status = Simulator(Ending()).AdvanceTo(1.0)
    assert status.reason() is Reason.kReachedTerminationCondition
    assert status.return_time() == pytest.approx(0.25, abs=1e-12) and status.message() == "there"


def test_witness_functions_come_into_effect_with_the_mode() -> None:
    """At rest the ball is not watched any more."""
    simulator, log = dropped(1.0, 0.5, rest_speed=0.1)
    assert simulator.AdvanceTo(10.0).succeeded()
    assert len(log) == 6  # sqrt(2 g) 0.5^6 is the first speed below 0.1 m/s
    height, velocity = simulator.get_context().get_continuous_state_vector().value()
    assert velocity == 0.0 and height == pytest.approx(0.0, abs=1e-10)


def test_many_advances_give_the_events_of_one() -> None:
    _, whole = pair = dropped(10.0, 0.8)
    pair[0].AdvanceTo(10.0)
    simulator, parts = dropped(10.0, 0.8)
    for end in np.linspace(0.0, 10.0, 41):
        simulator.AdvanceTo(end)
    np.testing.assert_allclose(parts, whole, rtol=0.0, atol=1e-11)


def test_an_event_at_the_boundary_waits_and_then_happens_once() -> None:
    simulator, log = dropped(1.0, 0.8)
    simulator.set_monitor(
        lambda context: EventStatus.ReachedTermination(None, "") if context.get_time() > 0.45 else None
    )
    simulator.AdvanceTo(1.0)  # ends at the first bounce, before its update
    assert simulator.get_context().get_continuous_state_vector()[1] < 0.0 and log == []
    for _ in range(3):
        simulator.AdvancePendingEvents()
        assert len(log) == 1
    assert simulator.get_context().get_continuous_state_vector()[1] > 0.0


def test_dense_output_follows_the_shortened_steps() -> None:
    simulator, _ = dropped(10.0, 0.8)
    simulator.Initialize()
    simulator.get_mutable_integrator().StartDenseIntegration()
    simulator.AdvanceTo(4.0)
    trajectory = simulator.get_mutable_integrator().StopDenseIntegration()
    first, second = bounce_times(10.0, 0.8, 2)
    peak_time, peak = 0.5 * (first + second), 10.0 * 0.8**2
    assert trajectory.value(1.0)[0] == pytest.approx(10.0 - 0.5 * 9.81)
    assert trajectory.value(peak_time)[0] == pytest.approx(peak)
    assert trajectory.end_time() == 4.0


@pytest.mark.parametrize(
    ("scheme", "tolerance"),
    [
        ("bogacki_shampine3", 1e-10),
        ("runge_kutta2", 1e-10),
        ("runge_kutta5", 1e-10),
        ("radau3", 1e-8),  # it solves its equations as closely as its accuracy of 1e-3 needs
    ],
)
def test_other_integrators_of_sufficient_order_find_the_same_times(scheme: str, tolerance: float) -> None:
    simulator, log = dropped(10.0, 0.8)
    ResetIntegratorFromFlags(simulator, scheme, 0.1)
    simulator.AdvanceTo(10.0)
    np.testing.assert_allclose(log, bounce_times(10.0, 0.8, 7), rtol=0.0, atol=tolerance)


# ---------------------------------------------------------------------- accumulation


@pytest.mark.parametrize("restitution", [0.1, 0.5, 0.8, 0.9])
def test_a_ball_that_bounces_without_end_stops_where_its_bounces_accumulate(restitution: float) -> None:
    simulator, log = dropped(1.0, restitution)
    status = simulator.AdvanceTo(100.0)
    assert status.reason() is Reason.kZenoBehavior and not status.succeeded()
    end = accumulation_time(1.0, restitution)
    assert status.return_time() == simulator.get_context().get_time() == pytest.approx(end, abs=1e-6)
    height, velocity = simulator.get_context().get_continuous_state_vector().value()
    assert abs(height) < 1e-9 and abs(velocity) < 1e-6
    assert status.system() is simulator.get_system()
    assert "witness function 'floor' of system '::ball'" in status.message()
    assert "ever closer together in system '::ball'" in status.FormatMessage()
    np.testing.assert_allclose(log[:10], bounce_times(1.0, restitution, min(10, len(log))), atol=1e-10)


class Relay(LeafSystem):
    """dx/dt = -1, switched to +1 where x falls to -width / 2 and back where it rises to width / 2."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self.set_name("relay")
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState([-1.0])
        self._witnesses = [
            self.MakeWitnessFunction(
                f"to {rate}",
                direction,
                lambda context, rate=rate: context.get_continuous_state_vector()[0] + 0.5 * rate * width,
                DiscreteUpdateEvent(lambda c, e, values, rate=rate: values.set_value(0, [rate])),
            )
            for rate, direction in ((1.0, FALLS), (-1.0, RISES))
        ]

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        return self._witnesses

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.get_mutable_vector().SetFromVector([context.get_discrete_state_vector()[0]])


def test_a_relay_switches_at_the_ends_of_its_hysteresis() -> None:
    simulator = Simulator(Relay(0.25))
    simulator.get_mutable_context().SetContinuousState([1.0])
    assert simulator.AdvanceTo(3.0).succeeded()
    assert simulator.get_num_discrete_updates() == 8  # at 1.125 + 0.25 k
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(0.0, abs=1e-10)


def test_a_relay_that_chatters_is_stopped() -> None:
    simulator = Simulator(Relay(1e-11))
    simulator.get_mutable_context().SetContinuousState([1.0])
    status = simulator.AdvanceTo(5.0)
    assert status.reason() is Reason.kZenoBehavior and status.return_time() == pytest.approx(1.0, abs=1e-6)
    assert abs(simulator.get_context().get_continuous_state_vector()[0]) < 1e-9


def test_zero_after_an_event_counts_for_no_side_whichever_function_watches_it() -> None:
    """Switched to +1 where x comes to zero from above, x leaves zero upwards; it does not arrive from below."""
    simulator = Simulator(Relay(0.0))
    simulator.get_mutable_context().SetContinuousState([1.0])
    assert simulator.AdvanceTo(5.0).succeeded()
    assert simulator.get_num_discrete_updates() == 1
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(4.0)


def test_frequent_events_that_do_not_accumulate_go_on() -> None:
    log: list[Any] = []
    simulator = Simulator(Watched(log, {"w": (CROSSES, lambda t, x: math.sin(1e5 * t))}, rate=None))
    simulator.Initialize()
    for end in np.arange(1, 201) * 2e-5:
        assert simulator.AdvanceTo(end).succeeded()
    assert len(log) == math.floor(200 * 2e-5 * 1e5 / math.pi)


# ---------------------------------------------------------------------- failure


def test_a_witness_function_that_fails_leaves_the_context_at_the_start_of_the_step() -> None:
    times: list[float] = []
    simulator = Simulator(Watched([], {"w": (CROSSES, lambda t, x: math.nan if t > 0.33 else -1.0)}))
    simulator.set_monitor(lambda context: times.append(context.get_time()))
    with pytest.raises(RuntimeError, match=r"witness function 'w' of system '::watched' is nan"):
        simulator.AdvanceTo(1.0)
    context = simulator.get_context()
    assert context.get_time() == times[-1] == pytest.approx(context.get_continuous_state_vector()[0])
