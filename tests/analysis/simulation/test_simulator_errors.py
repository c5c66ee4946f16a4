"""Errors of a simulation: what it refuses, the system that it names, and the context afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from merganser.analysis import (
    ApplySimulatorConfig,
    ExtractSimulatorConfig,
    ResetIntegratorFromFlags,
    RungeKutta3Integrator,
    Simulator,
)
from merganser.framework import Diagram, DiagramBuilder, LeafSystem
from merganser.framework.primitives import ConstantVectorSource, Gain, Integrator, ZeroOrderHold

WRONG = (TypeError, ValueError)


class Source(LeafSystem):
    """y = function(time)."""

    def __init__(self, function: Callable[[float], float]) -> None:
        super().__init__()
        self.set_name("source")
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self._function = function

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([self._function(context.get_time())])


def chain(function: Callable[[float], float]) -> Diagram:
    """source -> gain -> integrator, the first two in a diagram 'front' of their own."""
    front = DiagramBuilder()
    source, gain = front.AddSystem(Source(function)), front.AddNamedSystem("gain", Gain(2.0, 1))
    front.Connect(source.get_output_port(), gain.get_input_port())
    front.ExportOutput(gain.get_output_port(), "y")
    builder = DiagramBuilder()
    first = builder.AddNamedSystem("front", front.Build())
    last = builder.AddNamedSystem("sum", Integrator(1))
    builder.Connect(first.get_output_port(), last.get_input_port())
    diagram = builder.Build()
    diagram.set_name("robot")
    return diagram


def test_the_context_of_another_system_is_refused() -> None:
    mine, other = Integrator(1), Integrator(1)
    mine.set_name("mine")
    other.set_name("other")
    with pytest.raises(ValueError, match=r"::mine.*::other"):
        Simulator(mine, other.CreateDefaultContext())
    simulator = Simulator(Integrator(1))
    with pytest.raises(ValueError, match="context of system"):
        simulator.reset_context(Integrator(1).CreateDefaultContext())


def test_the_context_of_a_subsystem_is_refused() -> None:
    diagram = chain(lambda t: t)
    part = diagram.GetSubsystemByName("sum")
    with pytest.raises(RuntimeError, match="context of the whole diagram"):
        Simulator(part, diagram.GetSubsystemContext(part, diagram.CreateDefaultContext()))


@pytest.mark.parametrize("boundary", [0.5, -math.inf, math.nan])
def test_a_boundary_in_the_past_is_refused(boundary: float) -> None:
    simulator = Simulator(chain(lambda t: t))
    simulator.AdvanceTo(1.0)
    with pytest.raises(ValueError, match=rf"to time {boundary} s: the context is at time 1.0 s"):
        simulator.AdvanceTo(boundary)
    assert simulator.get_context().get_time() == 1.0


def step_log(simulator: Simulator) -> list[tuple[float, float]]:
    """(time, x) after every step so far and to come."""
    log: list[tuple[float, float]] = []
    simulator.set_monitor(
        lambda context: log.append((context.get_time(), float(context.get_continuous_state_vector()[0])))
    )
    return log


def now(simulator: Simulator) -> tuple[float, float]:
    context = simulator.get_context()
    return context.get_time(), float(context.get_continuous_state_vector()[0])


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_value_that_is_not_finite_is_traced_to_its_port(bad: float, fixed: bool) -> None:
    simulator = Simulator(chain(lambda t: bad if t > 0.42 else 1.0))
    simulator.get_mutable_integrator().set_fixed_step_mode(fixed)
    log = step_log(simulator)
    with pytest.raises(RuntimeError) as caught:
        simulator.AdvanceTo(1.0)
    message = str(caught.value)
    assert "time derivatives of system '::robot::sum' are not finite" in message
    assert "output port 'y' of system '::robot::front::source'" in message
    assert "at time 0.4" in message
    assert now(simulator) == log[-1]
    assert 0.3 < log[-1][0] <= 0.4200001


def test_a_system_with_derivatives_that_are_not_finite_is_named_though_others_follow() -> None:
    """The middle one of three integrators in a row fails; the first and last get no blame."""

    class Root(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.set_name("root")
            self.DeclareVectorInputPort("u", 1)
            self.DeclareStateOutputPort("y", self.DeclareContinuousState(1))

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            u = self.get_input_port().Eval(context)[0]
            derivatives.SetFromVector([math.sqrt(u) if u >= 0.0 else math.nan])

    builder = DiagramBuilder()
    last = builder.AddNamedSystem("last", Integrator(1))
    root = builder.AddSystem(Root())
    first = builder.AddNamedSystem("first", Integrator(1))
    builder.Connect(first.get_output_port(), root.get_input_port())
    builder.Connect(root.get_output_port(), last.get_input_port())
    builder.ExportInput(first.get_input_port(), "u")
    simulator = Simulator(builder.Build())
    context = simulator.get_mutable_context()
    simulator.get_system().get_input_port().FixValue(context, -1.0)
    context.SetContinuousState([0.0, 0.0, 1.0])
    with pytest.raises(RuntimeError, match=r"system '::Diagram::root' are not finite \(\[nan\]\) at time 1\.0"):
        simulator.AdvanceTo(2.0)
    assert now(simulator)[0] <= 1.0


class ChargeError(Exception):
    """An error of the user's own."""


@pytest.mark.parametrize("error", [ChargeError("flat battery"), KeyboardInterrupt()])
def test_an_exception_in_a_derivative_leaves_the_start_of_the_step(error: BaseException) -> None:
    failing = True

    def value(time: float) -> float:
        if failing and time > 0.42:
            raise error
        return 1.0

    simulator = Simulator(chain(value))
    log = step_log(simulator)
    with pytest.raises(type(error)) as caught:
        simulator.AdvanceTo(1.0)
    assert caught.value is error
    assert now(simulator) == log[-1]
    if isinstance(error, ChargeError):
        notes = "\n".join(error.__notes__)
        assert "output port 'y' of system '::robot::front::source' at time 0.4" in notes
        assert "time derivatives of system '::robot::sum'" in notes
    # The cause removed, the simulation goes on as if nothing had happened.
    failing = False
    assert simulator.AdvanceTo(1.0).succeeded()
    assert now(simulator) == (1.0, pytest.approx(2.0))


@pytest.mark.parametrize("error", [ChargeError("flat battery"), KeyboardInterrupt()])
def test_an_exception_in_an_update_leaves_the_state_before_it_and_the_update_pending(
    error: BaseException,
) -> None:
    failing = True

    class Counter(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.set_name("counter")
            self.DeclareDiscreteState(1)
            self.DeclarePeriodicDiscreteUpdateEvent(0.5, 0.0, self._update)

        def _update(self, context: Any, discrete_state: Any) -> None:
            discrete_state.set_value(0, context.get_discrete_state_vector().value() + 1.0)
            if failing and context.get_time() >= 1.0:
                raise error

    simulator = Simulator(Counter())
    with pytest.raises(type(error)):
        simulator.AdvanceTo(3.0)
    context = simulator.get_context()
    assert context.get_time() == 1.0 and context.get_discrete_state_vector()[0] == 2.0
    if isinstance(error, ChargeError):
        assert "discrete update event of system '::counter' at time 1.0 s" in error.__notes__[0]
    failing = False
    simulator.AdvanceTo(1.7)
    assert context.get_discrete_state_vector()[0] == 4.0


def test_an_exception_in_a_publish_event_or_monitor_does_not_undo_the_step() -> None:
    simulator = Simulator(chain(lambda t: 1.0))

    def monitor(context: Any) -> None:
        if context.get_time() >= 0.25:
            raise ChargeError

    simulator.set_monitor(monitor)
    with pytest.raises(ChargeError):
        simulator.AdvanceTo(1.0)
    time, x = now(simulator)
    assert time >= 0.25 and x == pytest.approx(2.0 * time)
    simulator.clear_monitor()
    simulator.AdvanceTo(1.0)
    assert now(simulator) == (1.0, pytest.approx(2.0))


def test_an_unconnected_input_names_port_and_system_and_can_be_mended() -> None:
    system = Integrator(1)
    system.set_name("tank")
    simulator = Simulator(system)
    with pytest.raises(RuntimeError, match="'::tank' is not connected"):
        simulator.AdvanceTo(1.0)
    system.get_input_port().FixValue(simulator.get_mutable_context(), 1.0)
    simulator.AdvanceTo(1.0)
    assert now(simulator) == (1.0, pytest.approx(1.0))


def test_a_failed_initialization_is_repeated() -> None:
    attempts = []

    class Fragile(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareInitializationPublishEvent(self._start_up)

        def _start_up(self, context: Any) -> None:
            attempts.append(context.get_time())
            if len(attempts) == 1:
                raise ChargeError

    simulator = Simulator(Fragile())
    with pytest.raises(ChargeError):
        simulator.Initialize()
    simulator.AdvanceTo(1.0)
    assert attempts == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: Simulator(None), TypeError, "takes a System, got NoneType"),
        (lambda s: Simulator(Integrator), TypeError, "got the class itself"),
        (lambda s: s.AdvanceTo(None), TypeError, "boundary time.*got None"),
        (lambda s: s.AdvanceTo("later"), TypeError, "got 'later'"),
        (lambda s: s.Initialize(3), TypeError, "InitializeParams, got int"),
        (lambda s: s.set_target_realtime_rate("fast"), TypeError, "got 'fast'"),
        (lambda s: s.set_target_realtime_rate(math.nan), ValueError, "got nan"),
        (lambda s: s.set_monitor(3), TypeError, "got int"),
        (lambda s: s.reset_context(None), TypeError, "'::robot' needs a Context; got NoneType"),
        (lambda s: s.reset_integrator(None), TypeError, "takes an integrator, got NoneType"),
        (lambda s: s.reset_integrator(RungeKutta3Integrator), TypeError, "takes an integrator"),
        (lambda s: s.reset_integrator(RungeKutta3Integrator(s.get_system())), RuntimeError, "has no context"),
        (lambda s: RungeKutta3Integrator(None), TypeError, "takes a System, got NoneType"),
        *(
            (lambda s, name=name, value=value: getattr(s.get_mutable_integrator(), name)(value), WRONG, str(value))
            for name in ("set_maximum_step_size", "set_target_accuracy", "request_initial_step_size_target")
            for value in (0.0, -1.0, math.nan, "x", None)
        ),
        (lambda s: s.get_mutable_integrator().set_requested_minimum_step_size("x"), TypeError, "got 'x'"),
        *(
            (lambda s, t=t: s.get_mutable_integrator().IntegrateWithMultipleStepsToTime(t), WRONG, str(t))
            for t in (-1.0, math.nan, None)
        ),
        *(
            (lambda s, t=t: s.get_mutable_integrator().IntegrateNoFurtherThanTime(*t), WRONG, str(t[n]))
            for n, t in enumerate([(math.nan, 1.0, 1.0), (1.0, None, 1.0), (1.0, 1.0, -1.0)])
        ),
        (lambda s: ResetIntegratorFromFlags(None, "runge_kutta3", 0.1), TypeError, "Simulator, got NoneType"),
        (lambda s: ResetIntegratorFromFlags(s, "runge_kutta9", 0.1), ValueError, "'runge_kutta9'. Known are"),
        (lambda s: ApplySimulatorConfig(None, s), TypeError, "SimulatorConfig, got NoneType"),
        (lambda s: ExtractSimulatorConfig(None), TypeError, "Simulator, got NoneType"),
    ],
)
def test_a_bad_call_is_refused_and_the_simulation_goes_on(call: Any, error: Any, message: str) -> None:
    simulator = Simulator(chain(lambda t: 1.0))
    with pytest.raises(error, match=message):
        call(simulator)
    assert simulator.AdvanceTo(1.0).succeeded()
    assert now(simulator) == (1.0, pytest.approx(2.0))


def test_a_monitor_that_fails_or_returns_nonsense_is_named() -> None:
    simulator = Simulator(chain(lambda t: 1.0))
    simulator.set_monitor(lambda context: 1 // 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError) as caught:
        simulator.Initialize()
    assert caught.value.__notes__ == ["while calling the simulator's monitor at time 0.0 s"]
    simulator.set_monitor(lambda context: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="monitor must return an EventStatus or None; got int"):
        simulator.Initialize()


def test_simulations_of_one_system_run_in_threads_without_disturbing_each_other() -> None:
    diagram = chain(math.cos)

    def end_state(duration: float) -> tuple[float, float]:
        simulator = Simulator(diagram)
        simulator.AdvanceTo(duration)
        return now(simulator)

    durations = [1.0 + 0.1 * n for n in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(end_state, durations)) == [end_state(duration) for duration in durations]


def test_numbers_just_below_overflow_are_no_failure() -> None:
    system = Integrator(2)
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    system.get_input_port().FixValue(simulator.get_mutable_context(), [1e200, 1e308])
    simulator.AdvanceTo(0.5)
    x = simulator.get_context().get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(x, [5e199, 5e307])


# ---------------------------------------------------------------------- what time can resolve


class Ticking(LeafSystem):
    """Counts, and has a state if asked to."""

    def __init__(self, period: float, has_state: bool = False) -> None:
        super().__init__()
        self.set_name("clock")
        self.DeclareDiscreteState(1)
        if period:
            self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, self._count)
        if has_state:
            self.DeclareContinuousState(1)

    def _count(self, context: Any, values: Any) -> None:
        values.set_value(0, values.value(0) + 1.0)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([1.0])


@pytest.mark.parametrize("use_plan", [True, False])
@pytest.mark.parametrize(("period", "time"), [(1.0, 1e17), (10.0, 1e17), (1e-9, 1e8), (1e-320, 1.0), (1e-320, 0.0)])
def test_a_period_that_time_cannot_resolve_is_an_error_at_once(period: float, time: float, use_plan: bool) -> None:
    builder = DiagramBuilder()
    builder.AddSystem(Ticking(period))
    hold, source = builder.AddSystem(ZeroOrderHold(2.0 * period, 1)), builder.AddSystem(ConstantVectorSource([1.0]))
    builder.Connect(source.get_output_port(), hold.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=True)
    simulator.get_mutable_context().SetTime(time)
    message = r"discrete update event of system '::Diagram::clock' with the period .* s happens more often than time"
    with pytest.raises(RuntimeError, match=message):
        simulator.Initialize()
    assert simulator.get_context().get_time() == time


@pytest.mark.parametrize("use_plan", [True, False])
@pytest.mark.parametrize("is_fixed", [True, False])
@pytest.mark.parametrize(("step", "time"), [(0.1, 1e17), (1e-320, 1.0), (1e-320, 0.0), (1e-9, 1e8)])
def test_a_step_that_time_cannot_resolve_is_an_error_at_once(
    step: float, time: float, is_fixed: bool, use_plan: bool
) -> None:
    diagram = chain(lambda _: 1.0)
    simulator = Simulator(diagram)
    simulator.set_use_native_plan(use_plan, at_once=True)
    integrator = simulator.get_mutable_integrator()
    integrator.set_maximum_step_size(step)
    integrator.request_initial_step_size_target(step)
    integrator.set_fixed_step_mode(is_fixed)
    simulator.get_mutable_context().SetTime(time)
    simulator.Initialize()
    message = r"RungeKutta3Integrator of system '::robot': at time .* s steps of .* are shorter than what time can"
    with pytest.raises(RuntimeError, match=message):
        simulator.AdvanceTo(time + max(1.0, 1e-6 * time))
    assert simulator.get_context().get_time() == time


def test_a_first_step_that_time_cannot_resolve_is_one_that_it_can() -> None:
    simulator = Simulator(chain(lambda _: 1.0))
    simulator.get_mutable_integrator().request_initial_step_size_target(1e-320)
    simulator.get_mutable_context().SetTime(1e6)
    simulator.Initialize()
    simulator.AdvanceTo(1e6 + 1.0)
    assert simulator.get_num_steps_taken() < 60


@pytest.mark.parametrize("time", [math.inf, -math.inf])
@pytest.mark.parametrize("system", [lambda: Ticking(0.1), lambda: Ticking(0.0, True)])
def test_a_simulation_begins_at_a_finite_time(system: Callable[[], LeafSystem], time: float) -> None:
    simulator = Simulator(system())
    simulator.get_mutable_context().SetTime(time)
    with pytest.raises(RuntimeError, match=r"the time in the context is .* s; set a finite one"):
        simulator.Initialize()
    simulator.get_mutable_context().SetTime(1.0)
    simulator.AdvanceTo(1.2)
    assert simulator.get_context().get_time() == 1.2


def test_times_and_steps_of_any_size_that_time_resolves_are_fine() -> None:
    for scale in (1e-15, 1e12):
        simulator = Simulator(Ticking(0.1 * scale, True))
        integrator = simulator.get_mutable_integrator()
        integrator.set_maximum_step_size(0.03 * scale)
        integrator.set_fixed_step_mode(True)
        simulator.AdvanceTo(1.05 * scale)
        assert simulator.get_context().get_discrete_state_vector()[0] == 11.0
