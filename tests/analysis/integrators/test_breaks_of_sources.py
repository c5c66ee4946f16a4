"""Integrators end a step where a source jumps: nothing is stepped over, and both sides are those of the trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import (
    BogackiShampine3Integrator,
    ImplicitEulerIntegrator,
    Radau3Integrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    Simulator,
)
from merganser.analysis.integrators import base
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import BsplineBasis
from merganser.framework.primitives import (
    ConstantVectorSource,
    Integrator,
    LogVectorOutput,
    TrajectoryLinearSystem,
    TrajectorySource,
)
from merganser.framework.trajectories import (
    BsplineTrajectory,
    CompositeTrajectory,
    PathParameterizedTrajectory,
    PiecewisePolynomial,
    StackedTrajectory,
)
from merganser.framework.trajectories._breaks import break_times

PULSE = PiecewisePolynomial.ZeroOrderHold([0.0, 5.0, 5.02, 10.0], [[0.0, 1.0, 0.0, 0.0]])
RAMP = PiecewisePolynomial.FirstOrderHold([0.0, 5.0, 5.01, 5.02, 10.0], [[0.0, 0.0, 1.0, 0.0, 0.0]])
BUMP = PiecewisePolynomial.CubicShapePreserving([0.0, 5.0, 5.01, 5.02, 10.0], [[0.0, 0.0, 1.0, 0.0, 0.0]])


def simulator_of(trajectory: Any, method: Any = None, plan: bool = False, step: float = 0.1) -> Any:
    """A simulator of the integral of a trajectory."""
    builder = DiagramBuilder()
    source = builder.AddSystem(TrajectorySource(trajectory))
    integrator = builder.AddSystem(Integrator(trajectory.rows()))
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(plan, at_once=plan)
    if method is not None:
        simulator.reset_integrator(method(simulator.get_system(), simulator.get_context()))
        simulator.get_mutable_integrator().set_maximum_step_size(step)
    return simulator


def simulate(trajectory: Any, end: float = 10.0, method: Any = None, plan: bool = False, step: float = 0.1) -> Any:
    """The same at its end."""
    simulator = simulator_of(trajectory, method, plan, step)
    simulator.AdvanceTo(end)
    return simulator


def result(simulator: Any) -> Any:
    return simulator.get_context().get_continuous_state_vector().CopyToVector()


METHODS = [
    RungeKutta3Integrator, BogackiShampine3Integrator, RungeKutta5Integrator, ImplicitEulerIntegrator, Radau3Integrator,
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("plan", [False, True])
def test_a_short_pulse_is_integrated_to_the_last_digits(method: Any, plan: bool) -> None:
    simulator = simulate(PULSE, method=method, plan=plan)
    np.testing.assert_allclose(result(simulator), 0.02, rtol=1e-12)
    assert simulator.get_num_steps_taken() < 250


@pytest.mark.parametrize(("trajectory", "integral"), [(RAMP, 0.01), (BUMP, None)])
def test_short_pulses_of_continuous_trajectories_are_not_stepped_over(trajectory: Any, integral: float | None) -> None:
    exact = trajectory.derivative(0)
    expected = integral if integral is not None else 2.0 * 0.01 * 0.5  # by symmetry: it rises as it falls
    np.testing.assert_allclose(result(simulate(trajectory)), expected, rtol=1e-6)
    assert exact.value(5.01)[0, 0] == 1.0


def test_compiled_and_python_steps_are_the_same_to_the_last_bit() -> None:
    trajectory = PiecewisePolynomial.ZeroOrderHold(np.linspace(0.0, 10.0, 34), np.sin(np.arange(34.0))[np.newaxis])
    python, compiled = (simulate(trajectory, plan=plan) for plan in (False, True))
    assert result(python)[0] == result(compiled)[0]
    assert python.get_num_steps_taken() == compiled.get_num_steps_taken()
    np.testing.assert_allclose(result(python)[0], np.sin(np.arange(33.0)).sum() * 10.0 / 33.0, rtol=1e-12)


def test_fixed_steps_end_at_breaks_too() -> None:
    simulator = simulate(PULSE, method=lambda system, context: RungeKutta2Integrator(system, 0.1, context))
    np.testing.assert_allclose(result(simulator), 0.02, rtol=1e-12)


def test_dense_output_goes_through_breaks() -> None:
    simulator = simulate(PULSE, end=0.0)
    integrator = simulator.get_mutable_integrator()
    integrator.StartDenseIntegration()
    simulator.AdvanceTo(10.0)
    recorded = integrator.StopDenseIntegration()
    times = np.array([4.0, 5.0, 5.005, 5.01, 5.02, 6.0])
    found = [recorded.value(time)[0, 0] for time in times]
    np.testing.assert_allclose(found, [0.0, 0.0, 0.005, 0.01, 0.02, 0.02], atol=1e-12)


def test_steps_alone_end_at_breaks() -> None:
    simulator = simulate(PULSE, end=0.0)
    simulator.get_mutable_integrator().IntegrateWithMultipleStepsToTime(10.0)
    np.testing.assert_allclose(result(simulator), 0.02, rtol=1e-12)
    assert simulator.get_context().get_time() == 10.0


class Watcher(LeafSystem):
    """Its witness function passes zero in the middle of the pulse."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.DeclareVectorInputPort("u", 1)
        from merganser.framework import PublishEvent, WitnessFunctionDirection

        self._witness = self.MakeWitnessFunction(
            "half", WitnessFunctionDirection.kCrossesZero, self._calc, PublishEvent(self._publish)
        )

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness]

    def _calc(self, context: Any) -> float:
        return float(self.get_input_port().Eval(context)[0]) - 0.01

    def _publish(self, context: Any, event: Any) -> None:
        self.times.append(context.get_time())


@pytest.mark.parametrize("plan", [False, True])
def test_witness_functions_trigger_within_pulses(plan: bool) -> None:
    builder = DiagramBuilder()
    source, integrator = builder.AddSystem(TrajectorySource(PULSE)), builder.AddSystem(Integrator(1))
    watcher = builder.AddSystem(Watcher())
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    builder.Connect(integrator.get_output_port(), watcher.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(plan, at_once=plan)
    simulator.AdvanceTo(10.0)
    assert watcher.times == [pytest.approx(5.01, abs=1e-10)]


def test_a_trajectory_that_is_replaced_brings_its_own_breaks() -> None:
    builder = DiagramBuilder()
    source, integrator = builder.AddSystem(TrajectorySource(PULSE)), builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    source.UpdateTrajectory(PiecewisePolynomial.ZeroOrderHold([0.0, 7.0, 7.03, 10.0], [[0.0, 1.0, 0.0, 0.0]]))
    simulator.AdvanceTo(10.0)
    np.testing.assert_allclose(result(simulator), 0.03, rtol=1e-12)


@pytest.mark.parametrize("plan", [False, True])
def test_an_interrupt_while_breaks_are_noted_loses_none(monkeypatch: pytest.MonkeyPatch, plan: bool) -> None:
    rounding_at = base.rounding_at

    def interrupt(time: float) -> float:
        monkeypatch.setattr(base, "rounding_at", rounding_at)
        raise KeyboardInterrupt

    simulator = simulator_of(PULSE, plan=plan)
    monkeypatch.setattr(base, "rounding_at", interrupt)
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(10.0)
    simulator.AdvanceTo(10.0)
    np.testing.assert_allclose(result(simulator), 0.02, rtol=1e-12)


def test_coefficients_of_linear_systems_jump() -> None:
    zero, one = (PiecewisePolynomial(np.full((1, 1), value)) for value in (0.0, 1.0))
    builder = DiagramBuilder()
    system = builder.AddSystem(TrajectoryLinearSystem(zero, PULSE, one, zero))
    source = builder.AddSystem(ConstantVectorSource([2.0]))
    builder.Connect(source.get_output_port(), system.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(10.0)
    np.testing.assert_allclose(result(simulator), 0.04, rtol=1e-12)


def test_breaks_that_are_smooth_cost_no_steps() -> None:
    times = np.linspace(0.0, 10.0, 101)
    spline = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(times, np.sin(times)[np.newaxis], False)
    assert break_times(spline) in ((0.0, 10.0), (0.0,), (10.0,))
    assert not set(break_times(spline)) - {0.0, 10.0}
    quiet = PiecewisePolynomial.ZeroOrderHold(times, np.ones((1, 101)))
    assert break_times(quiet) == ()
    assert simulate(quiet).get_num_steps_taken() <= 105


def test_where_trajectories_jump() -> None:
    shifted = PathParameterizedTrajectory(PULSE, PiecewisePolynomial.FirstOrderHold([1.0, 6.0], [[0.0, 10.0]]))
    np.testing.assert_allclose(break_times(shifted), [3.5, 3.51], atol=1e-12)
    composite = CompositeTrajectory([
        PiecewisePolynomial.FirstOrderHold([0.0, 1.0, 2.0], [[0.0, 1.0, 0.0]]),
        PiecewisePolynomial.FirstOrderHold([2.0, 3.0], [[1.0, 1.0]]),
    ])
    assert break_times(composite) == (0.0, 1.0, 2.0)
    stacked = StackedTrajectory()
    stacked.Append(PULSE)
    stacked.Append(RAMP)
    assert break_times(stacked) == (5.0, 5.01, 5.02)
    degree_one = BsplineTrajectory(BsplineBasis(2, [0.0, 0.0, 1.0, 2.0, 2.0]), [[[0.0]], [[1.0]], [[0.0]]])
    assert break_times(degree_one) == (0.0, 1.0, 2.0)
    cubic = BsplineTrajectory(BsplineBasis(4, 8), [[[float(k % 2)]] for k in range(8)])
    assert set(break_times(cubic)) <= {0.0, 1.0}


def test_a_break_next_to_an_event_costs_no_step_of_its_own() -> None:
    """Breaks at products k * 0.1, and events at the tenths themselves, are the same but for rounding."""
    trajectory = PiecewisePolynomial.ZeroOrderHold(np.arange(101) * 0.1, np.sin(np.arange(101.0))[np.newaxis])
    builder = DiagramBuilder()
    source, integrator = builder.AddSystem(TrajectorySource(trajectory)), builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    LogVectorOutput(integrator.get_output_port(), builder, 0.1)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_maximum_step_size(1.0)
    simulator.AdvanceTo(0.05)
    simulator.get_mutable_integrator().ResetStatistics()
    simulator.AdvanceTo(9.95)
    assert simulator.get_integrator().get_num_steps_taken() <= 101
    np.testing.assert_allclose(result(simulator), np.sin(np.arange(99.0)).sum() * 0.1 + 0.05 * np.sin(99.0), rtol=1e-9)


def test_a_recording_may_begin_before_the_simulation_does() -> None:
    """Also if time and state are set afterwards: it starts where the first step does."""
    simulator = Simulator(Integrator(1))
    context = simulator.get_mutable_context()
    simulator.get_system().get_input_port().FixValue(context, [2.0])
    integrator = simulator.get_mutable_integrator()
    integrator.StartDenseIntegration()
    context.SetTime(1.0)
    context.SetContinuousState([5.0])
    simulator.AdvanceTo(3.0)
    recorded = integrator.StopDenseIntegration()
    assert (recorded.start_time(), recorded.end_time()) == (1.0, 3.0)
    assert recorded.value(2.0)[0, 0] == pytest.approx(7.0)
    assert recorded.value(1.0)[0, 0] == pytest.approx(5.0)
