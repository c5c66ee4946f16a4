"""Observers and Kalman filters: errors that decay as designed, covariances that are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

from merganser.analysis import ResetIntegratorFromFlags, Simulator
from merganser.analysis.estimators import (
    DiscreteTimeSteadyStateKalmanFilter,
    ExtendedKalmanFilter,
    LuenbergerObserver,
    LuenbergerObserver_,
    SteadyStateKalmanFilter,
    UnscentedKalmanFilter,
)
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from merganser.framework.primitives import ConstantVectorSource, LinearSystem

W, V = np.diag([0.1, 0.2, 0.3]), np.diag([0.5, 0.4])


def random_system(period: float) -> LinearSystem:
    rng = np.random.default_rng(6)
    A = rng.normal(size=(3, 3))
    if period:
        A /= 1.1 * np.abs(np.linalg.eigvals(A)).max()
    return LinearSystem(A, rng.normal(size=(3, 1)), rng.normal(size=(2, 3)), rng.normal(size=(2, 1)), period)


def observed(plant: Any, observer: Any) -> tuple[Any, Any]:
    """A diagram of both, with a constant input; returns it and a context with the plant's state at ones."""
    builder = DiagramBuilder()
    builder.AddSystem(plant)
    builder.AddSystem(observer)
    source = builder.AddSystem(ConstantVectorSource([0.3]))
    builder.Connect(source.get_output_port(), plant.get_input_port())
    builder.Connect(source.get_output_port(), observer.get_observed_system_input_input_port())
    builder.Connect(plant.get_output_port(), observer.get_observed_system_output_input_port())
    diagram = builder.Build()
    return diagram, diagram.CreateDefaultContext()


def test_error_of_the_observer_decays_by_its_design() -> None:
    """d/dt (x - xhat) = (A - L C)(x - xhat), whatever the input does."""
    plant = random_system(0.0)
    model = plant.Clone()
    observer = SteadyStateKalmanFilter(model, W, V)
    diagram, context = observed(plant, observer)
    mine = plant.GetMyMutableContextFromRoot(context)
    mine.SetContinuousState(np.ones(3))
    rate = diagram.EvalTimeDerivatives(context).CopyToVector()
    np.testing.assert_allclose(rate[:3] - rate[3:], (plant.A() - observer.L() @ plant.C()) @ np.ones(3), atol=1e-12)
    assert np.linalg.eigvals(plant.A() - observer.L() @ plant.C()).real.max() < 0.0
    assert observer.GetDirectFeedthroughs() == []


def test_an_observer_of_a_converted_system_has_the_derivatives_of_its_equations() -> None:
    """d(xhat rate)/d(y, u, xhat) = [L, B - L D, A - L C]; Kalman filters stay with floats."""
    plant = random_system(0.0)
    converted = plant.ToAutoDiffXd()
    L = np.arange(6.0).reshape(3, 2)
    observer = LuenbergerObserver_[AutoDiffXd](converted, converted.CreateDefaultContext(), L)
    context, x = observer.CreateDefaultContext(), InitializeAutoDiff(np.linspace(0.0, 1.0, 6)).ravel()
    observer.get_input_port(0).FixValue(context, x[:2])
    observer.get_input_port(1).FixValue(context, x[2:3])
    context.SetContinuousState(x[3:])
    slopes = ExtractGradient(observer.EvalTimeDerivatives(context).CopyToVector())
    np.testing.assert_allclose(slopes, np.hstack([L, plant.B() - L @ plant.D(), plant.A() - L @ plant.C()]), atol=1e-13)
    with pytest.raises(RuntimeError, match="Kalman filters compute with floats only"):
        ExtendedKalmanFilter(plant, plant.CreateDefaultContext(), W, V).ToAutoDiffXd()


def test_gain_of_the_discrete_filter_fulfils_the_riccati_equation() -> None:
    system = random_system(0.1)
    A, C = system.A(), system.C()
    P = scipy.linalg.solve_discrete_are(A.T, C.T, W, V)
    L = A @ P @ C.T @ np.linalg.inv(C @ P @ C.T + V)
    np.testing.assert_allclose(DiscreteTimeSteadyStateKalmanFilter(A=A, C=C, W=W, V=V), L, atol=1e-12)
    np.testing.assert_allclose(SteadyStateKalmanFilter(system, W=W, V=V).observer_gain(), L, atol=1e-12)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, 0.0)
    np.testing.assert_allclose(SteadyStateKalmanFilter(system, context, W, V).L(), L, atol=1e-12)


@pytest.mark.parametrize("kind", [ExtendedKalmanFilter, UnscentedKalmanFilter])
def test_filters_of_a_linear_system_are_the_kalman_filter(kind: Any) -> None:
    """Step by step as in the textbook, and in the end with the steady gain."""
    plant = random_system(0.1)
    A, B, C, D = plant.A(), plant.B(), plant.C(), plant.D()
    x, P = np.array([0.2, -0.1, 0.4]), 2.0 * np.eye(3)
    observer = kind(plant, plant.CreateDefaultContext(), W, V, x, P)
    diagram, context = observed(plant, observer)
    plant.GetMyMutableContextFromRoot(context).SetDiscreteState(np.ones(3))
    simulator = Simulator(diagram, context)
    truth, u = np.ones(3), np.array([0.3])
    for number in range(1, 6):
        K = P @ C.T @ np.linalg.inv(C @ P @ C.T + V)
        x = A @ (x + K @ (C @ truth + D @ u - C @ x - D @ u)) + B @ u
        P = A @ (P - K @ C @ P) @ A.T + W
        truth = A @ truth + B @ u
        simulator.AdvanceTo(0.1 * number - 0.05)
        mine = observer.GetMyContextFromRoot(context)
        np.testing.assert_allclose(observer.get_estimated_state_output_port().Eval(mine), x, atol=1e-12)
        np.testing.assert_allclose(observer.get_covariance_output_port().Eval(mine), P.reshape(-1), atol=1e-12)
    simulator.AdvanceTo(10.0)
    steady = scipy.linalg.solve_discrete_are(A.T, C.T, W, V)
    mine = observer.GetMyContextFromRoot(context)
    np.testing.assert_allclose(observer.get_covariance_output_port().Eval(mine), steady.reshape(-1), atol=1e-9)


def test_continuous_filter_converges_to_the_steady_state() -> None:
    plant = random_system(0.0)
    observer = ExtendedKalmanFilter(plant, plant.CreateDefaultContext(), W, V)
    diagram, context = observed(plant, observer)
    simulator = Simulator(diagram, context)
    simulator.AdvanceTo(8.0)
    steady = scipy.linalg.solve_continuous_are(plant.A().T, plant.C().T, W, V)
    P = observer.get_covariance_output_port().Eval(observer.GetMyContextFromRoot(context))
    np.testing.assert_allclose(P, steady.reshape(-1), atol=2e-3)


@pytest.mark.parametrize("kind", [ExtendedKalmanFilter, UnscentedKalmanFilter])
def test_continuous_filters_of_a_linear_system_are_the_kalman_bucy_filter(kind: Any) -> None:
    """P(t) = Y X^-1 with d/dt [X; Y] = [[-A', C' V^-1 C], [W, A]] [X; Y]; the error follows A - P C' V^-1 C."""
    plant = random_system(0.0)
    A, C = plant.A(), plant.C()
    x_0, P_0 = np.array([0.2, -0.1, 0.4]), 2.0 * np.eye(3)
    observer = kind(plant, plant.CreateDefaultContext(), W, V, x_0, P_0)
    diagram, context = observed(plant, observer)
    plant.GetMyMutableContextFromRoot(context).SetContinuousState(np.ones(3))
    simulator = Simulator(diagram, context)
    ResetIntegratorFromFlags(simulator, "runge_kutta5", 0.05)
    simulator.get_mutable_integrator().set_target_accuracy(1e-6)
    simulator.AdvanceTo(0.5)
    precision = C.T @ np.linalg.solve(V, C)
    hamiltonian = np.block([[-A.T, precision], [W, A]])

    def covariance(t: float) -> Any:
        X, Y = np.split(scipy.linalg.expm(t * hamiltonian) @ np.vstack([np.eye(3), P_0]), 2)
        return Y @ np.linalg.inv(X)

    mine = observer.GetMyContextFromRoot(context)
    np.testing.assert_allclose(
        observer.get_covariance_output_port().Eval(mine).reshape(3, 3), covariance(0.5), atol=1e-5
    )
    error = scipy.integrate.solve_ivp(
        lambda t, e: (A - covariance(t) @ precision) @ e, (0.0, 0.5), x_0 - np.ones(3), rtol=1e-6, atol=1e-7
    ).y[:, -1]
    x = plant.GetMyContextFromRoot(context).get_continuous_state_vector().CopyToVector()
    estimate = observer.get_estimated_state_output_port().Eval(mine)
    np.testing.assert_allclose(estimate - x, error, atol=1e-5)


class Pendulum(LeafSystem):
    """A damped pendulum; measures its angle's sine."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareContinuousState(1, 1, 0)
        self.DeclareVectorOutputPort("sine", 1, self.measure)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        theta, omega = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector([omega, self.get_input_port().Eval(context)[0] - 9.81 * np.sin(theta) - 0.1 * omega])

    def measure(self, context: Any, output: Any) -> None:
        output.SetFromVector(np.sin(context.get_continuous_state_vector().CopyToVector()[:1]))


@pytest.mark.parametrize("kind", [ExtendedKalmanFilter, UnscentedKalmanFilter])
def test_continuous_filters_find_the_state_of_a_pendulum(kind: Any) -> None:
    plant, model = Pendulum(), Pendulum()
    observer = kind(model, model.CreateDefaultContext(), 1e-3 * np.eye(2), [[1e-4]], [0.7, 0.3], 0.1 * np.eye(2))
    diagram, context = observed(plant, observer)
    plant.GetMyMutableContextFromRoot(context).SetContinuousState([1.0, 0.0])
    Simulator(diagram, context).AdvanceTo(3.0)
    x = plant.GetMyContextFromRoot(context).get_continuous_state_vector().CopyToVector()
    estimate = observer.get_estimated_state_output_port().Eval(observer.GetMyContextFromRoot(context))
    np.testing.assert_allclose(estimate, x, atol=0.01)


class NoisyPendulum(LeafSystem):
    """A pendulum in steps of 0.05 s; measures its angle's sine, with seeded noise if asked for."""

    def __init__(self, noise: float) -> None:
        super().__init__()
        self.noise = noise
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareDiscreteState([1.0, 0.0])
        self.DeclarePeriodicDiscreteUpdateEvent(0.05, 0.0, self.step)
        self.DeclareVectorOutputPort("sine", 1, self.measure)

    def step(self, context: Any, state: Any) -> None:
        theta, omega = context.get_discrete_state_vector().value()
        omega = omega + 0.05 * (self.get_input_port().Eval(context)[0] - 9.81 * np.sin(theta))
        state.set_value(0, [theta + 0.05 * omega, omega])

    def measure(self, context: Any, output: Any) -> None:
        theta = context.get_discrete_state_vector().value()[0]
        noise = np.random.default_rng(round(context.get_time() / 0.05)).normal() if self.noise else 0.0
        output.SetFromVector([np.sin(theta) + self.noise * noise])


@pytest.mark.parametrize("kind", [ExtendedKalmanFilter, UnscentedKalmanFilter])
def test_filters_follow_a_pendulum_better_than_its_measurements(kind: Any) -> None:
    """Errors are those that the covariance says: their squares, measured by it, are about 2 on average."""
    plant, model = NoisyPendulum(0.1), NoisyPendulum(0.0)
    observer = kind(model, model.CreateDefaultContext(), 1e-8 * np.eye(2), [[0.01]], [0.7, 0.3], np.diag([0.1, 0.1]))
    diagram, context = observed(plant, observer)
    simulator = Simulator(diagram, context)
    for number in range(1, 101):
        simulator.AdvanceTo(0.05 * number + 0.02)
    x = plant.GetMyContextFromRoot(context).get_discrete_state_vector().CopyToVector()
    mine = observer.GetMyContextFromRoot(context)
    error = observer.get_estimated_state_output_port().Eval(mine) - x
    P = observer.get_covariance_output_port().Eval(mine).reshape(2, 2)
    assert np.abs(error).max() < 0.1
    assert np.linalg.eigvalsh(P).min() > 0.0
    assert error @ np.linalg.solve(P, error) < 9.2  # 99 % of errors


def test_what_cannot_be_observed_is_refused_with_the_reason() -> None:
    A, C = np.diag([1.0, -1.0]), np.array([[0.0, 1.0]])
    with pytest.raises(RuntimeError, match="no output shows: 1"):
        SteadyStateKalmanFilter(A, C, np.eye(2), np.eye(1))
    with pytest.raises(RuntimeError, match="V must be positive definite"):
        SteadyStateKalmanFilter(A, np.eye(2), np.eye(2), -np.eye(2))
    with pytest.raises(RuntimeError, match="W must be positive semidefinite"):
        DiscreteTimeSteadyStateKalmanFilter(A, np.eye(2), -np.eye(2), np.eye(2))
    system = random_system(0.0)
    context = system.CreateDefaultContext()
    with pytest.raises(ValueError, match=r"shape \(3, 2\) for system '::LinearSystem'"):
        LuenbergerObserver(system, context, np.eye(3))
    with pytest.raises(ValueError, match="alpha and n \\+ kappa must be positive"):
        UnscentedKalmanFilter(system, context, W, V, alpha=0.0)
    with pytest.raises(ValueError, match="initial_state_estimate must be 3"):
        ExtendedKalmanFilter(system, context, W, V, [1.0])
    silent = LinearSystem(A)
    with pytest.raises(ValueError, match="exactly one output port; it has 0 and 0"):
        LuenbergerObserver(silent, silent.CreateDefaultContext(), np.eye(2))
