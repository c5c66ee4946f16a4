"""LinearModelPredictiveController against regulators, limits, references, and problems without a solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.controllers import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearModelPredictiveController,
)
from merganser.examples.pendulums import PendulumPlant
from merganser.framework import Context, DiagramBuilder, System
from merganser.framework.primitives import LinearSystem
from merganser.framework.trajectories import PiecewisePolynomial

H = 0.1
A = np.array([[1.0, H], [0.0, 1.0]])
B = np.array([[0.5 * H * H], [H]])
Q, R = np.diag([10.0, 1.0]), np.eye(1)


def double_integrator(period: float = H) -> tuple[LinearSystem, Context]:
    """x[n+1] = A x[n] + B u[n]; in continuous time, the system that this samples."""
    continuous = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    system = LinearSystem(*((A, B) if period else continuous), np.eye(2), np.zeros((2, 1)), period)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    return system, context


def control(mpc: LinearModelPredictiveController, x: Any, time: float = 0.0) -> np.ndarray:
    context = mpc.CreateDefaultContext()
    context.SetTime(time)
    mpc.get_state_port().FixValue(context, x)
    return mpc.get_control_port().Eval(context)


def simulate(plant: System, mpc: LinearModelPredictiveController, x0: Any, duration: float) -> tuple[Any, Any]:
    """The states of the plant at all updates, and the last commands."""
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    builder.AddSystem(mpc)
    builder.Connect(plant.get_output_port(), mpc.get_state_port())
    builder.Connect(mpc.get_control_port(), plant.get_input_port())
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    if context.num_continuous_states():
        context.SetContinuousState(x0)
    else:
        context.SetDiscreteState(x0)
    states, controls = [], []
    for k in range(round(duration / H)):
        simulator.AdvanceTo((k + 0.5) * H)
        states.append(plant.get_output_port().Eval(context))
        controls.append(mpc.get_control_port().Eval(mpc.GetMyContextFromRoot(simulator.get_context())))
    return np.array(states), np.array(controls)


@pytest.mark.parametrize("horizon", [H, 0.5, 3.0])
@pytest.mark.parametrize("period", [H, 0.0])
def test_with_the_cost_to_go_at_the_end_it_is_the_regulator(horizon: float, period: float) -> None:
    system, context = double_integrator(period)
    K, S = DiscreteTimeLinearQuadraticRegulator(A, B, Q, R)
    mpc = LinearModelPredictiveController(system, context, Q, R, H, horizon, Q_final=S)
    if period:
        x = [1.0, -0.3]
        np.testing.assert_allclose(control(mpc, x), -K @ x, atol=1e-7)
        return
    states, controls = simulate(system, mpc, [1.0, -0.3], 1.0)
    x = np.array([1.0, -0.3])
    for u in controls:
        np.testing.assert_allclose(u, -K @ x, atol=1e-6)
        x = A @ x + B @ u
    assert np.abs(states[-1]).max() < 1.0


def test_limits_of_inputs_and_states_are_kept() -> None:
    system, context = double_integrator()
    mpc = LinearModelPredictiveController(
        system, context, Q, R, H, 3.0, input_limits=([-1.0], [0.7]), state_limits=([-np.inf, -0.8], [np.inf, 0.8])
    )
    states, controls = simulate(system, mpc, [3.0, 0.0], 8.0)
    assert controls.min() == pytest.approx(-1.0, abs=1e-6)
    assert controls.max() <= 0.7 + 1e-6
    assert states[:, 1].min() == pytest.approx(-0.8, abs=1e-6)
    assert np.abs(states[-1]).max() < 1e-2


def test_commands_between_updates_are_held_for_continuous_plants() -> None:
    system, context = double_integrator(0.0)
    mpc = LinearModelPredictiveController(system, context, Q, R, H, 1.0)
    assert mpc.get_control_port().size() == 1
    assert not mpc.HasDirectFeedthrough(0, 0)
    _, controls = simulate(system, mpc, [1.0, 0.0], 0.3)
    assert len(set(controls.ravel())) == 3


def test_a_nonlinear_plant_is_held_at_an_operating_point_that_needs_torque() -> None:
    pendulum = PendulumPlant()
    context = pendulum.CreateDefaultContext()
    parameters = pendulum.get_parameters(context)
    angle = 2.5
    torque = parameters.mass() * parameters.gravity() * parameters.length() * np.sin(angle)
    context.SetContinuousState([angle, 0.0])
    pendulum.get_input_port().FixValue(context, [torque])
    mpc = LinearModelPredictiveController(
        pendulum, context, Q, R, H, 2.0, input_limits=([torque - 3.0], [torque + 3.0])
    )
    states, _ = simulate(pendulum, mpc, [2.2, 0.0], 5.0)
    np.testing.assert_allclose(states[-1], [angle, 0.0], atol=2e-3)


def test_a_reference_of_the_plant_itself_is_followed_without_error() -> None:
    system, context = double_integrator()
    rng = np.random.default_rng(0)
    u_ref = rng.uniform(-1.0, 1.0, 20)
    x_ref = [np.array([1.0, 0.0])]
    for u in u_ref:
        x_ref.append(A @ x_ref[-1] + B[:, 0] * u)
    times = H * np.arange(21)
    mpc = LinearModelPredictiveController(
        system, context, Q, R, H, 1.0,
        state_trajectory=PiecewisePolynomial.FirstOrderHold(times, np.array(x_ref).T),
        input_trajectory=PiecewisePolynomial.ZeroOrderHold(times, np.append(u_ref, 0.0)[np.newaxis]),
    )  # fmt: skip
    for k in (0, 3, 9):
        np.testing.assert_allclose(control(mpc, x_ref[k], times[k]), [u_ref[k]], atol=1e-6)


def test_behind_the_end_of_a_reference_its_last_point_is_kept() -> None:
    system, context = double_integrator()
    K, S = DiscreteTimeLinearQuadraticRegulator(A, B, Q, R)
    goal = np.array([2.0, 0.0])
    path = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], np.column_stack(([0.0, 0.0], goal)))
    mpc = LinearModelPredictiveController(system, context, Q, R, H, 1.0, Q_final=S, state_trajectory=path)
    x = np.array([1.5, 0.4])
    np.testing.assert_allclose(control(mpc, x, 7.0), -K @ (x - goal), atol=1e-6)


def test_an_unrecoverable_state_is_an_error_with_time_system_and_element() -> None:
    system, context = double_integrator()
    mpc = LinearModelPredictiveController(
        system, context, Q, R, H, 1.0, state_limits=([-1.0, -1.0], [1.0, 1.0]), input_limits=([-1.0], [1.0])
    )
    mpc.set_name("tracker")
    with pytest.raises(RuntimeError, match=r"'::tracker' at time 2.5 s: .* element 0 of the state is 9.995"):
        control(mpc, [10.0, 0.0], 2.5)
    with pytest.raises(RuntimeError, match="must be finite"):
        control(mpc, [np.nan, 0.0])
    np.testing.assert_array_less(np.abs(control(mpc, [0.5, 0.0])), 1.0 + 1e-6)  # it goes on working


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_period": 0.0}, "time_period must be positive"),
        ({"time_period": 0.2}, "must be that of the discrete-time model"),
        ({"time_horizon": 0.05}, "time_horizon must be"),
        ({"time_horizon": np.nan}, "time_horizon must be"),
        ({"Q": np.eye(3)}, "Q has shape"),
        ({"Q_final": np.eye(3)}, "Q_final must have the shape"),
        ({"input_limits": ([1.0], [-1.0])}, "input_limits must be lower <= upper"),
        ({"state_limits": ([1.0], [2.0])}, "state_limits must be lower <= upper, of size 2"),
        ({"input_limits": ([np.nan], [1.0])}, "input_limits"),
        ({"input_trajectory": PiecewisePolynomial(np.zeros((1, 1)))}, "needs a state_trajectory"),
        ({"state_trajectory": PiecewisePolynomial(np.zeros((2, 1)))}, "finite times"),
        ({"state_trajectory": PiecewisePolynomial.ZeroOrderHold([0.0, 1.0], np.zeros((3, 2)))}, "must have the shape"),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict[str, Any], message: str) -> None:
    system, context = double_integrator()
    given = {"Q": Q, "R": R, "time_period": H, "time_horizon": 1.0, **arguments}
    with pytest.raises(ValueError, match=message):
        LinearModelPredictiveController(system, context, **given)


def test_costs_must_be_definite() -> None:
    system, context = double_integrator()
    with pytest.raises(RuntimeError, match="R must be positive definite"):
        LinearModelPredictiveController(system, context, Q, np.zeros((1, 1)), H, 1.0)
    with pytest.raises(RuntimeError, match="Q_final must be positive semidefinite"):
        LinearModelPredictiveController(system, context, Q, R, H, 1.0, Q_final=-np.eye(2))


def test_a_pendulum_follows_a_swing_along_which_it_is_linearized() -> None:
    pendulum = PendulumPlant()
    context = pendulum.CreateDefaultContext()
    pendulum.get_input_port().FixValue(context, [0.0])
    swing = pendulum.CreateDefaultContext()
    swing.SetContinuousState([2.0, 0.0])
    pendulum.get_input_port().FixValue(swing, [0.0])
    simulator, samples, times = Simulator(pendulum, swing), [], 0.02 * np.arange(81)
    for t in times:
        simulator.AdvanceTo(t)
        samples.append(simulator.get_context().get_continuous_state_vector().CopyToVector())
    x_ref = PiecewisePolynomial.CubicShapePreserving(times, np.array(samples).T)
    mpc = LinearModelPredictiveController(pendulum, context, Q, R, 0.02, 0.4, state_trajectory=x_ref)
    states, controls = simulate(pendulum, mpc, [1.9, 0.2], 1.5)
    np.testing.assert_allclose(states[-1], x_ref.value(1.45).ravel(), atol=0.02)
    assert np.abs(controls[-1]).max() < 0.5  # the swing itself needs none
