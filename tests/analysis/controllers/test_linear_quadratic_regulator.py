"""Regulators against the equations that define them, and the problems that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from merganser.analysis import Simulator
from merganser.analysis.controllers import DiscreteTimeLinearQuadraticRegulator, LinearQuadraticRegulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import AffineSystem, LinearSystem

A = np.array([[0.0, 1.0], [0.0, 0.0]])
B = np.array([[0.0], [1.0]])
Q, R = np.eye(2), np.eye(1)


def random_problem(seed: int) -> tuple[np.ndarray, ...]:
    """A, B, Q, R, N with [Q N; N' R] positive definite."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((6, 6))
    cost = root @ root.T + 0.1 * np.eye(6)
    return rng.standard_normal((4, 4)), rng.standard_normal((4, 2)), cost[:4, :4], cost[4:, 4:], cost[:4, 4:]


def test_the_double_integrator_has_the_known_solution() -> None:
    K, S = LinearQuadraticRegulator(A, B, Q, R)
    np.testing.assert_allclose(K, [[1.0, np.sqrt(3.0)]], atol=1e-13)
    np.testing.assert_allclose(S, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_the_solution_fulfils_the_riccati_equation_and_is_stable(seed: int) -> None:
    a, b, q, r, n = random_problem(seed)
    K, S = LinearQuadraticRegulator(A=a, B=b, Q=q, R=r, N=n)
    residual = a.T @ S + S @ a - (S @ b + n) @ np.linalg.solve(r, b.T @ S + n.T) + q
    np.testing.assert_allclose(residual, 0.0, atol=1e-10 * np.abs(S).max())
    np.testing.assert_allclose(r @ K, b.T @ S + n.T, atol=1e-10 * np.abs(S).max())
    np.testing.assert_allclose(S, S.T)
    assert np.linalg.eigvalsh(S).min() > 0.0
    assert np.linalg.eigvals(a - b @ K).real.max() < 0.0


@pytest.mark.parametrize("seed", range(4))
def test_the_discrete_solution_fulfils_the_riccati_equation_and_is_stable(seed: int) -> None:
    a, b, q, r, n = random_problem(seed)
    K, S = DiscreteTimeLinearQuadraticRegulator(A=a, B=b, Q=q, R=r, N=n)
    M = a.T @ S @ b + n
    residual = a.T @ S @ a - S - M @ np.linalg.solve(r + b.T @ S @ b, M.T) + q
    np.testing.assert_allclose(residual, 0.0, atol=1e-9 * np.abs(S).max())
    assert np.abs(np.linalg.eigvals(a - b @ K)).max() < 1.0


def test_s_is_the_cost_of_the_regulated_motion_and_no_other_gain_is_cheaper() -> None:
    a, b, q, r, n = random_problem(9)
    K, S = LinearQuadraticRegulator(a, b, q, r, n)
    x0 = np.array([1.0, -2.0, 0.5, 1.0])

    def cost(gain: np.ndarray) -> float:
        running = q + gain.T @ r @ gain - n @ gain - gain.T @ n.T
        return float(x0 @ scipy.linalg.solve_continuous_lyapunov((a - b @ gain).T, -running) @ x0)

    assert cost(K) == pytest.approx(x0 @ S @ x0, rel=1e-9)
    rng = np.random.default_rng(1)
    assert all(cost(K + 0.01 * rng.standard_normal(K.shape)) > cost(K) for _ in range(10))


def test_the_discrete_cost_is_the_sum_over_the_steps() -> None:
    a, b, q, r, n = random_problem(9)
    K, S = DiscreteTimeLinearQuadraticRegulator(a, b, q, r, n)
    x = x0 = np.array([1.0, -2.0, 0.5, 1.0])
    total = 0.0
    for _ in range(400):
        u = -K @ x
        total += x @ q @ x + u @ r @ u + 2.0 * x @ n @ u
        x = a @ x + b @ u
    assert total == pytest.approx(x0 @ S @ x0, rel=1e-9)


def test_vectors_and_numbers_are_taken_as_matrices() -> None:
    """b as a vector, Q and R as numbers."""
    K, S = LinearQuadraticRegulator(1.0, 1.0, 3.0, 1.0)
    np.testing.assert_allclose([K[0, 0], S[0, 0]], [3.0, 3.0])
    np.testing.assert_allclose(LinearQuadraticRegulator(A, [0.0, 1.0], Q, [1.0])[0], [[1.0, np.sqrt(3.0)]])


def test_constrained_states_are_left_out() -> None:
    """x1 = x2 under F: both integrate the same input, which only the constrained problem can stabilize."""
    a, b = np.diag([1.0, 1.0]), np.array([[1.0], [1.0]])
    with pytest.raises(RuntimeError, match="no input can move: 1"):
        LinearQuadraticRegulator(a, b, Q, R)
    K, S = LinearQuadraticRegulator(a, b, Q, R, F=[[1.0, -1.0]])
    # With x1 = x2 = z: z' = z + u, cost 2 z^2 + u^2, so S = 1 + sqrt(3) and u = -(1 + sqrt(3)) z.
    z = np.ones(2)
    np.testing.assert_allclose([(K @ z)[0], z @ S @ z], 1 + np.sqrt(3))
    np.testing.assert_allclose(K @ [1.0, -1.0], 0.0, atol=1e-15)
    with pytest.raises(ValueError, match="F has shape"):
        LinearQuadraticRegulator(a, b, Q, R, F=np.eye(3))
    with pytest.raises(ValueError, match="no state but zero"):
        LinearQuadraticRegulator(a, b, Q, R, F=np.eye(2))


# ---------------------------------------------------------------------- systems


class Pendulum(LeafSystem):
    """theta'' = sin(theta) + u: upright at zero; a second input that does nothing comes first."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("unused", 1)
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareStateOutputPort("state", self.DeclareContinuousState(1, 1, 0))

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        theta, omega = context.get_continuous_state_vector().CopyToVector()
        torque = self.GetInputPort("torque").Eval(context)[0]
        derivatives.SetFromVector([omega, np.sin(theta) + torque])


def test_a_linear_system_gets_a_linear_regulator() -> None:
    system = LinearSystem(A, B, np.eye(2), np.zeros((2, 1)))
    regulator = LinearQuadraticRegulator(system=system, Q=Q, R=R)
    assert isinstance(regulator, LinearSystem)
    np.testing.assert_allclose(regulator.D(), [[-1.0, -np.sqrt(3.0)]], atol=1e-13)
    assert regulator.num_states() == 0 and regulator.time_period() == 0.0


def test_a_nonlinear_system_is_held_at_its_operating_point() -> None:
    plant = Pendulum()
    context = plant.CreateDefaultContext()
    x0, u0 = np.array([0.5, 0.0]), -np.sin(0.5)
    context.SetContinuousState(x0)
    plant.GetInputPort("unused").FixValue(context, 0.0)
    plant.GetInputPort("torque").FixValue(context, u0)
    regulator = LinearQuadraticRegulator(plant, context, Q, R, input_port_index=1)
    assert type(regulator) is AffineSystem
    K, _ = LinearQuadraticRegulator([[0.0, 1.0], [np.cos(0.5), 0.0]], B, Q, R)
    np.testing.assert_allclose(regulator.D(), -K, atol=1e-12)
    np.testing.assert_allclose(regulator.y0(), u0 + K @ x0, atol=1e-12)

    builder = DiagramBuilder()
    plant, regulator = builder.AddSystem(plant), builder.AddSystem(regulator)
    builder.Connect(plant.get_output_port(), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), plant.GetInputPort("torque"))
    simulator = Simulator(builder.Build())
    simulator.get_mutable_context().SetContinuousState([0.9, -0.3])
    simulator.AdvanceTo(15.0)
    final = simulator.get_context().get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(final, x0, atol=1e-3)


def test_a_system_with_a_period_gets_the_discrete_regulator() -> None:
    a, b, q, r, n = random_problem(3)
    K, _ = DiscreteTimeLinearQuadraticRegulator(a, b, q, r, n)
    system = LinearSystem(a, b, np.eye(4), np.zeros((4, 2)), time_period=0.1)
    regulator = LinearQuadraticRegulator(system, q, r, n)
    np.testing.assert_allclose(regulator.D(), -K, atol=1e-10)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0, 0.0])
    affine = LinearQuadraticRegulator(system, context, q, r, n)
    np.testing.assert_allclose(affine.D(), -K, atol=1e-10)
    assert regulator.time_period() == affine.time_period() == 0.1


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize("regulate", [LinearQuadraticRegulator, DiscreteTimeLinearQuadraticRegulator])
def test_matrices_that_do_not_fit_are_named(regulate: Any) -> None:
    good = {"A": A, "B": B, "Q": Q, "R": R, "N": np.zeros((2, 1))}
    for name, wrong in {"A": np.eye(3), "B": np.ones((3, 1)), "Q": np.eye(3), "R": np.eye(2), "N": np.eye(2)}.items():
        with pytest.raises(ValueError, match=r"LQR: \w has shape .* must be"):
            regulate(**{**good, name: wrong})
        with pytest.raises(ValueError, match=f"LQR: {name} has elements that are not finite"):
            regulate(**{**good, name: good[name] * np.nan})


@pytest.mark.parametrize("regulate", [LinearQuadraticRegulator, DiscreteTimeLinearQuadraticRegulator])
def test_costs_that_are_not_definite_are_named_with_their_eigenvalue(regulate: Any) -> None:
    with pytest.raises(RuntimeError, match=r"Q must be positive semidefinite; its smallest eigenvalue is -1"):
        regulate(A, B, np.diag([1.0, -1.0]), R)
    with pytest.raises(RuntimeError, match="R must be positive definite; its smallest eigenvalue is 0"):
        regulate(A, B, Q, np.zeros((1, 1)))
    with pytest.raises(RuntimeError, match="Q must be symmetric"):
        regulate(A, B, [[1.0, 0.5], [0.0, 1.0]], R)
    regulate(A, B, np.diag([1.0, 0.0]), R)  # semidefinite is enough


def test_a_joint_cost_that_is_not_definite_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"\[Q N; N' R\] must be positive semidefinite"):
        DiscreteTimeLinearQuadraticRegulator(A, B, Q, R, [[5.0], [0.0]])
    with pytest.raises(RuntimeError, match="Check Q and N"):
        LinearQuadraticRegulator(A, B, Q, R, [[5.0], [0.0]])


def test_an_unstable_mode_that_no_input_reaches_is_named() -> None:
    a, b = np.diag([-3.0, 2.5, 1.0]), np.array([[0.0], [0.0], [1.0]])
    with pytest.raises(RuntimeError, match=r"no input can move: 2\.5\.") as caught:
        LinearQuadraticRegulator(a, b, np.eye(3), R)
    assert "-3" not in str(caught.value)
    with pytest.raises(RuntimeError, match=r"no input can move: -3, 2\.5\."):
        DiscreteTimeLinearQuadraticRegulator(a, b, np.eye(3), R)


def test_a_stable_mode_that_no_input_reaches_does_not_matter() -> None:
    K, _ = LinearQuadraticRegulator(np.diag([-3.0, 1.0]), B, Q, R)
    assert abs(K[0, 0]) < 1e-15


def test_a_mode_that_costs_nothing_is_pointed_out() -> None:
    with pytest.raises(RuntimeError, match="Check Q"):
        LinearQuadraticRegulator(A, B, np.zeros((2, 2)), R)


def test_a_nonlinear_system_needs_a_context_at_an_equilibrium() -> None:
    plant = Pendulum()
    with pytest.raises(TypeError, match=r"'::Pendulum' \(Pendulum\) give the equilibrium too"):
        LinearQuadraticRegulator(plant, Q, R)
    context = plant.CreateDefaultContext()
    context.SetContinuousState([0.5, 0.0])
    for port in ("unused", "torque"):
        plant.GetInputPort(port).FixValue(context, 0.0)
    with pytest.raises(RuntimeError, match="not an equilibrium"):
        LinearQuadraticRegulator(plant, context, Q, R, input_port_index=1)
