"""Regulators over a finite time against closed forms, long horizons and the cost that they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.controllers import (
    DiscreteTimeLinearQuadraticRegulator,
    FiniteHorizonLinearQuadraticRegulator,
    FiniteHorizonLinearQuadraticRegulatorOptions,
    LinearQuadraticRegulator,
    MakeFiniteHorizonLinearQuadraticRegulator,
)
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import LinearSystem, SymbolicVectorSystem
from merganser.framework.symbolic import MakeVectorVariable
from merganser.framework.trajectories import PiecewisePolynomial

Q, R = np.eye(2), np.eye(1)


def double_integrator(period: float = 0.0) -> tuple[LinearSystem, Any]:
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    if period:
        A, B = np.eye(2) + period * A, period * B
    system = LinearSystem(A, B, np.eye(2), np.zeros((2, 1)), period)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    return system, context


def options(**values: Any) -> FiniteHorizonLinearQuadraticRegulatorOptions:
    result = FiniteHorizonLinearQuadraticRegulatorOptions(**values)
    result.simulator_config.integration_scheme = "runge_kutta5"
    result.simulator_config.accuracy = 1e-10
    return result


@pytest.mark.parametrize("uses_root", [False, True])
def test_scalar_problem_has_the_known_cost(uses_root: bool) -> None:
    """xdot = u with cost u^2 and final cost x^2: S(t) = 1 / (1 + tf - t)."""
    system = LinearSystem([[0.0]], [[1.0]], [[1.0]], [[0.0]])
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    result = FiniteHorizonLinearQuadraticRegulator(
        system, context, 1.0, 3.0, [[0.0]], [[1.0]], options(Qf=np.eye(1), use_square_root_method=uses_root)
    )
    for t in (1.0, 1.7, 3.0):
        assert result.S.value(t)[0, 0] == pytest.approx(1.0 / (4.0 - t), abs=1e-6)
    assert result.S.value(1.0)[0, 0] == pytest.approx(1.0 / 3.0, abs=1e-10)
    assert result.K.value(3.0)[0, 0] == pytest.approx(1.0, abs=1e-12)


def test_long_horizons_give_the_regulators_of_infinite_time() -> None:
    system, context = double_integrator()
    K, S = LinearQuadraticRegulator(system.A(), system.B(), Q, R)
    result = FiniteHorizonLinearQuadraticRegulator(system, context, 0.0, 25.0, Q, R, options())
    np.testing.assert_allclose(result.K.value(0.0), K, atol=1e-8)
    np.testing.assert_allclose(result.S.value(0.0), S, atol=1e-8)
    system, context = double_integrator(0.1)
    K, S = DiscreteTimeLinearQuadraticRegulator(system.A(), system.B(), Q, R)
    result = FiniteHorizonLinearQuadraticRegulator(system, context, 0.0, 40.0, Q, R)
    np.testing.assert_allclose(result.K.value(0.0), K, atol=1e-9)
    np.testing.assert_allclose(result.S.value(0.0), S, atol=1e-9)


def test_discrete_cost_to_go_is_the_cost_of_the_regulated_motion() -> None:
    """About a nominal trajectory that is no solution, towards another one, with all terms of the cost."""
    system, context = double_integrator(0.1)
    rng = np.random.default_rng(3)
    times = [0.0, 0.5, 1.0]
    paths = {
        name: PiecewisePolynomial.FirstOrderHold(times, rng.normal(size=(rows, 3)))
        for name, rows in (("x0", 2), ("u0", 1), ("xd", 2), ("ud", 1))
    }
    N, Qf = np.array([[0.1], [-0.2]]), np.diag([3.0, 2.0])
    result = FiniteHorizonLinearQuadraticRegulator(system, context, 0.0, 1.0, Q, R, options(Qf=Qf, N=N, **paths))

    def at(name: str, t: float) -> np.ndarray:
        return np.asarray(paths[name].value(t), float)[:, 0]

    x = np.array([0.7, -0.4])
    e = x - at("x0", 0.0)
    promised = e @ result.S.value(0.0) @ e + 2.0 * e @ result.sx.value(0.0)[:, 0] + result.s0.value(0.0)[0, 0]
    cost = 0.0
    for t in result.K.get_times():
        u = at("u0", t) - result.K.value(t) @ (x - at("x0", t)) - result.k0.value(t)[:, 0]
        d, h = x - at("xd", t), u - at("ud", t)
        cost += d @ Q @ d + h @ R @ h + 2.0 * d @ N @ h
        x = system.A() @ x + system.B() @ u
    d = x - at("xd", 1.0)
    assert cost + d @ Qf @ d == pytest.approx(promised, rel=1e-12)


class Pendulum(LeafSystem):
    """theta'' = -sin(theta) + u."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(1, 1, 0))

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        theta, omega = context.get_continuous_state_vector().value()
        derivatives.SetFromVector([omega, self.get_input_port().Eval(context)[0] - np.sin(theta)])


def test_the_regulator_keeps_a_pendulum_on_a_trajectory() -> None:
    """x0 = (sin t, cos t) with the torque that it takes; from 0.3 rad off the trajectory is reached."""
    times = np.linspace(0.0, 8.0, 161).tolist()
    theta = np.sin(times)
    x0 = PiecewisePolynomial.CubicHermite(times, np.array([theta, np.cos(times)]), np.array([np.cos(times), -theta]))
    u0 = PiecewisePolynomial.CubicShapePreserving(times, np.array([-theta + np.sin(theta)]))
    pendulum = Pendulum()
    context = pendulum.CreateDefaultContext()
    pendulum.get_input_port().FixValue(context, [0.0])
    problem = FiniteHorizonLinearQuadraticRegulatorOptions(Qf=np.eye(2), x0=x0, u0=u0)
    regulator = MakeFiniteHorizonLinearQuadraticRegulator(pendulum, context, 0.0, 8.0, 10.0 * Q, R, problem)
    assert [regulator.get_input_port().get_name(), regulator.get_output_port().get_name()] == ["plant_state", "command"]
    builder = DiagramBuilder()
    builder.AddSystem(pendulum)
    builder.AddSystem(regulator)
    builder.Cascade(pendulum, regulator)
    builder.Cascade(regulator, pendulum)
    simulator = Simulator(builder.Build())
    simulator.get_mutable_context().SetContinuousState([0.3, 1.0])
    simulator.AdvanceTo(7.9)
    state = simulator.get_context().get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(state, [np.sin(7.9), np.cos(7.9)], atol=1e-3)
    assert context.get_time() == 0.0  # what was given stays as it was


def test_the_nominal_input_need_not_be_in_the_context() -> None:
    system, context = double_integrator()
    u0 = PiecewisePolynomial(np.array([[0.5]]))
    expected = FiniteHorizonLinearQuadraticRegulator(system, context, 0.0, 1.0, Q, R, options(u0=u0))
    x, u = MakeVectorVariable(2, "x"), MakeVectorVariable(1, "u")
    bare = SymbolicVectorSystem(state=x, input=u, dynamics=[x[1], u[0]])
    found = FiniteHorizonLinearQuadraticRegulator(bare, bare.CreateDefaultContext(), 0.0, 1.0, Q, R, options(u0=u0))
    for t in (0.0, 0.6):
        np.testing.assert_allclose(found.K.value(t), expected.K.value(t), rtol=1e-8)
        np.testing.assert_allclose(found.k0.value(t), expected.k0.value(t), rtol=1e-8)
    with pytest.raises(RuntimeError, match="not connected"):
        FiniteHorizonLinearQuadraticRegulator(bare, bare.CreateDefaultContext(), 0.0, 1.0, Q, R, options())


def test_problems_that_make_no_sense_are_refused() -> None:
    system, context = double_integrator()
    sampled, sampled_context = double_integrator(0.1)
    solve = FiniteHorizonLinearQuadraticRegulator
    with pytest.raises(ValueError, match="tf must be later"):
        solve(system, context, 1.0, 1.0, Q, R)
    with pytest.raises(ValueError, match=r"tf = 1\.03 s is not a sample time of system '::LinearSystem'"):
        solve(sampled, sampled_context, 0.0, 1.03, Q, R)
    with pytest.raises(RuntimeError, match="Qf must be positive definite"):
        solve(system, context, 0.0, 1.0, Q, R, options(use_square_root_method=True))
    with pytest.raises(RuntimeError, match="R must be positive definite"):
        solve(system, context, 0.0, 1.0, Q, -R)
    with pytest.raises(ValueError, match=r"options.x0 must have shape \(2, 1\)"):
        solve(system, context, 0.0, 1.0, Q, R, options(x0=PiecewisePolynomial(np.zeros((3, 1)))))
    x0 = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"defined from 0\.0 s to 2\.0 s"):
        solve(system, context, 0.0, 2.0, Q, R, options(x0=x0))
