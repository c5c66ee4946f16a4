"""Steps with regions, margins and native witness functions are compiled, with the same bits as in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import ImplicitEulerIntegrator, Simulator
from merganser.analysis.simulation.witness_watch import WitnessWatch
from merganser.framework import (
    DiagramBuilder,
    DiscreteUpdateEvent,
    LeafSystem,
    PublishEvent,
    UnrestrictedUpdateEvent,
    WitnessFunctionDirection,
)
from merganser.framework.native import native
from merganser.framework.primitives import (
    Backlash,
    DeadZone,
    DetectCrossing,
    Gain,
    Integrator,
    LogVectorOutput,
    LookupTable1D,
    Quantizer,
    RateLimiter,
    Relay,
    Sine,
    TransferFunction,
    TransportDelay,
    ZeroOrderHold,
)

GRAVITY, RESTITUTION = 9.81, 0.8


@native
def fall(xc: Any, xcdot: Any) -> None:
    xcdot[0], xcdot[1] = xc[1], -9.81


@native
def height(xc: Any, w: Any) -> None:
    w[0] = xc[0]


@native
def root(xc: Any, w: Any) -> None:
    w[0] = math.sqrt(xc[0] - 0.75) + 1.0


class Ball(LeafSystem):
    """Bounces; all but the bounce is native. `calc` is what it watches beside the height, if anything."""

    def __init__(self, calc: Any = None) -> None:
        super().__init__()
        self.DeclareStateOutputPort("height", self.DeclareContinuousState(1, 1, 0))
        self.DeclareTimeDerivatives(fall)
        falls = WitnessFunctionDirection.kPositiveThenNonPositive
        event = UnrestrictedUpdateEvent(system_callback=Ball._bounce)
        self._watched = [self.MakeWitnessFunction("floor", falls, height, event)]
        if calc is not None:
            self._watched.append(self.MakeWitnessFunction("other", falls, calc))

    def _bounce(self, context: Any, event: Any, state: Any) -> None:
        x = state.get_mutable_continuous_state().get_mutable_vector()
        x.SetAtIndex(1, -RESTITUTION * x.GetAtIndex(1))

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return self._watched


@native
def bounce(xc: Any, xd: Any, next_xc: Any, next_xd0: Any) -> None:
    next_xc[0], next_xc[1] = xc[0], -0.8 * xc[1]
    next_xd0[0] = xd[0] + 1.0


class NativeBall(LeafSystem):
    """A ball of which the bounce is native, too; it counts its bounces. `event` is what happens at the floor."""

    def __init__(self, event: Any = None) -> None:
        super().__init__()
        self.DeclareStateOutputPort("height", self.DeclareContinuousState(1, 1, 0))
        self.DeclareDiscreteState(1)
        self.DeclareTimeDerivatives(fall)
        falls = WitnessFunctionDirection.kPositiveThenNonPositive
        event = UnrestrictedUpdateEvent(bounce) if event is None else event
        self._watched = [self.MakeWitnessFunction("floor", falls, height, event)]

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return self._watched


class Particular(Ball):
    """Watches the other function as long as the ball is high."""

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return self._watched[: 2 if context.get_continuous_state_vector()[1] < 1.0 else 1]


def loop(*parts: Any, start: float = 0.05) -> tuple[Simulator, list[Any]]:
    """An integrator whose derivative is what a chain of blocks makes of its negative."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(Integrator([start]))
    chain = [plant, *(builder.AddSystem(part) for part in (Gain(-1.0, 1), *parts))]
    for system, following in zip(chain, [*chain[1:], plant]):
        builder.Connect(system.get_output_port(), following.get_input_port())
    counter = builder.AddSystem(DetectCrossing("rising", 0.01))
    builder.Connect(plant.get_output_port(), counter.get_input_port())
    logs = [LogVectorOutput(block.get_output_port(), builder) for block in (plant, chain[-1], counter)]
    return Simulator(builder.Build()), logs


def ball(kind: Any = Ball, *arguments: Any) -> tuple[Simulator, list[Any]]:
    builder = DiagramBuilder()
    one = builder.AddSystem(kind(*arguments))
    log = LogVectorOutput(one.get_output_port(), builder)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    return simulator, [log]


SCENES = {
    "relay": lambda: loop(Relay(0.1, -0.1, 1.0, -1.0), TransferFunction([1.0], [0.2, 1.0])),
    "backlash and delay": lambda: loop(Backlash(0.02), TransportDelay(0.03), Relay(0.04, -0.04, 2.0, -2.0)),
    "rate limiter": lambda: loop(Gain(20.0, 1), RateLimiter(1.0, 2.0), DeadZone(-0.02, 0.02)),
    "table and quantizer": lambda: loop(LookupTable1D([-1.0, 0.0, 1.0], [-3.0, 0.0, 1.0]), Quantizer(0.01)),
    "sampled, with a delay": lambda: loop(ZeroOrderHold(0.05, 1), Gain(9.0, 1), TransportDelay(0.12)),
    "ball": ball,
    "ball, all native": lambda: ball(NativeBall),
    "ball, with a function that is not watched always": lambda: ball(Particular, height),
}


def run(scene: Any, use_plan: bool, end: float = 1.3, change: Any = None) -> tuple[list[Any], Simulator]:
    simulator, logs = scene()
    integrator = simulator.get_mutable_integrator()
    if change is not None:
        change(simulator, integrator)
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    for time in (0.4 * end, 0.4 * end, end):
        simulator.AdvanceTo(time)
    context = simulator.get_context()
    found = [log.FindLog(context) for log in logs]
    groups = range(context.num_discrete_state_groups())
    return [
        context.get_time(),
        context.get_continuous_state_vector().value().tolist(),
        [context.get_discrete_state(n).value().tolist() for n in groups],
        [(log.sample_times().tolist(), log.data().tolist()) for log in found],
        simulator.get_num_steps_taken(),
        integrator.get_num_steps_taken(),
        simulator.get_integrator().get_num_derivative_evaluations(),
    ], simulator


def fixed_steps(simulator: Simulator, integrator: Any) -> None:
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.03)


def implicit(simulator: Simulator, integrator: Any) -> None:
    simulator.reset_integrator(ImplicitEulerIntegrator(simulator.get_system(), simulator.get_mutable_context()))
    simulator.get_mutable_integrator().set_maximum_step_size(0.02)


@pytest.mark.parametrize("change", [None, fixed_steps, implicit])
@pytest.mark.parametrize("scene", SCENES)
def test_compiled_steps_equal_those_in_python_to_the_bit(scene: str, change: Any) -> None:
    interpreted, _ = run(SCENES[scene], False, change=change)
    compiled, _ = run(SCENES[scene], True, change=change)
    assert compiled == interpreted and interpreted[4] > 10


@pytest.mark.parametrize("scene", list(SCENES)[:-1])
def test_no_step_is_watched_in_python(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(WitnessWatch, "step_towards", refuse)
    assert run(SCENES[scene], True)[0][4] > 10


def test_a_native_ball_bounces_at_the_times_in_closed_form() -> None:
    simulator, (log,) = ball()
    simulator.set_use_native_plan(True, at_once=True)
    simulator.AdvanceTo(2.0)
    found = log.FindLog(simulator.get_context())
    times = found.sample_times()[np.abs(found.data()[0]) < 1e-9]
    first = math.sqrt(2.0 / GRAVITY)
    flights = 2.0 * first * np.cumsum([0.0, RESTITUTION, RESTITUTION**2])
    assert times == pytest.approx(first + flights, abs=1e-11)


def test_native_updates_are_those_in_python() -> None:
    simulators = [ball(kind)[0] for kind in (Ball, NativeBall)]
    for simulator in simulators:
        simulator.set_use_native_plan(True, at_once=True)
        simulator.AdvanceTo(2.0)
    states = [simulator.get_context().get_continuous_state_vector().CopyToVector() for simulator in simulators]
    assert (states[0] == states[1]).all()
    assert simulators[1].get_context().get_discrete_state_vector()[0] == 3.0


@pytest.mark.parametrize(
    ("event", "error", "message"),
    [
        (lambda: PublishEvent(bounce), TypeError, "a native function can only be the handler of updates"),
        (lambda: DiscreteUpdateEvent(bounce), ValueError, "next_xc"),
        (lambda: UnrestrictedUpdateEvent(fall), ValueError, "next_xd0, next_xd1, .* and next_xc for the continuous"),
    ],
)
def test_native_updates_say_what_they_update(event: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        NativeBall(event())


def test_what_operations_cannot_compute_is_reported_as_in_python() -> None:
    messages = []
    for use_plan in (False, True):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            run(lambda: ball(Ball, root), use_plan)
        messages.append([str(caught.value), getattr(caught.value, "__notes__", [])])
    assert messages[0] == messages[1] and "witness function 'other'" in str(messages[0])


def test_a_delay_without_capacity_leaves_the_context_at_the_start_of_the_step() -> None:
    seen = []
    for use_plan in (False, True):
        simulator, _ = loop(TransportDelay(0.5, capacity=8))
        fixed_steps(simulator, simulator.get_mutable_integrator())
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        with pytest.raises(RuntimeError, match="Make it with a larger `capacity`") as caught:
            simulator.AdvanceTo(2.0)
        context = simulator.get_context()
        seen.append([str(caught.value), context.get_time(), context.get_continuous_state_vector()[0]])
        seen[-1] += [context.get_discrete_state(n).value().tolist() for n in range(2)]
    assert seen[0] == seen[1] and seen[0][1] > 0.1


def test_recording_in_between_gives_the_same_trajectory() -> None:
    found = []
    for use_plan in (False, True):
        simulator, _ = SCENES["relay"]()
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        simulator.AdvanceTo(0.3)
        simulator.get_mutable_integrator().StartDenseIntegration()
        simulator.AdvanceTo(1.0)
        recorded = simulator.get_mutable_integrator().StopDenseIntegration()
        simulator.AdvanceTo(1.5)
        found.append([recorded.value(t).ravel().tolist() for t in np.linspace(0.3, 1.0, 23)])
        found[-1].append(simulator.get_context().get_continuous_state_vector().value().tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(("direction", "expected"), [("rising", 1), ("falling", 2), ("either", 3)])
def test_crossings_are_counted_in_their_direction(direction: str, expected: int) -> None:
    """cos(t) passes 0.5 at pi/3, 5 pi/3 and 7 pi/3."""
    builder = DiagramBuilder()
    position, velocity = builder.AddSystem(Integrator([1.0])), builder.AddSystem(Integrator([0.0]))
    back, counter = builder.AddSystem(Gain(-1.0, 1)), builder.AddSystem(DetectCrossing(direction, 0.5))
    builder.Connect(velocity.get_output_port(), position.get_input_port())
    builder.Connect(position.get_output_port(), back.get_input_port())
    builder.Connect(back.get_output_port(), velocity.get_input_port())
    builder.Connect(position.get_output_port(), counter.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(8.0)
    assert simulator.get_context().get_discrete_state_vector()[0] == expected


@pytest.mark.parametrize("use_plan", [False, True])
def test_all_passages_are_seen_without_continuous_state(use_plan: bool) -> None:
    """sin(3 t) rises through 0.1 ten times in 20 s, at steps of 0.1 s that no integrator takes."""
    builder = DiagramBuilder()
    wave, counter = builder.AddSystem(Sine(1.0, 3.0, 0.0, 1)), builder.AddSystem(DetectCrossing("rising", 0.1))
    builder.Connect(wave.get_output_port(0), counter.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    simulator.AdvanceTo(20.0)
    assert simulator.get_context().get_discrete_state_vector()[0] == 10.0
    assert simulator.get_num_steps_taken() == 202  # of 0.1 s, or to a passage


def test_detectors_refuse_unknown_directions_and_several_levels() -> None:
    with pytest.raises(ValueError, match="direction must be one of"):
        DetectCrossing("up")
    with pytest.raises(ValueError, match="level must be one number"):
        DetectCrossing(level=[1.0, 2.0])  # type: ignore[arg-type]
