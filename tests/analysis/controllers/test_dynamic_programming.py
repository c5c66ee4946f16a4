"""Dynamic programming on problems whose solutions are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, RungeKutta2Integrator, Simulator
from merganser.analysis.controllers import (
    DynamicProgrammingOptions,
    FittedValueIteration,
    LinearProgrammingApproximateDynamicProgramming,
    PeriodicBoundaryCondition,
)
from merganser.framework.primitives import Integrator, LinearSystem


def test_shortest_time_on_a_line_is_the_distance() -> None:
    """xdot = u with |u| <= 1 and cost 1 unless at 0: J = |x|, u = -sign(x)."""
    system = Integrator(1)
    simulator = Simulator(system)
    grid = np.linspace(-1.0, 1.0, 11)

    def is_away(context: Any) -> float:
        return float(abs(context.get_continuous_state_vector().GetAtIndex(0)) > 1e-6)

    iterations = []
    options = DynamicProgrammingOptions()
    options.visualization_callback = lambda number, mesh, J, policy: iterations.append(number)
    policy, J = FittedValueIteration(simulator, is_away, [grid], [[-1.0, 0.0, 1.0]], 0.2, options)
    np.testing.assert_allclose(J, np.abs(grid), atol=1e-9)
    np.testing.assert_allclose(policy.get_output_values()[0], -np.sign(np.round(grid, 9)))
    assert iterations == list(range(1, len(iterations) + 1)) and len(iterations) >= 5
    assert simulator.get_context().get_continuous_state_vector().GetAtIndex(0) == 0.0


def test_periodic_coordinates_may_be_left_at_either_end() -> None:
    """On a circle of circumference 2 the way to 0 is never longer than 1."""
    simulator = Simulator(Integrator(1))
    grid = np.linspace(0.0, 1.8, 10)

    def is_away(context: Any) -> float:
        x = context.get_continuous_state_vector().GetAtIndex(0)
        return float(min(x, 2.0 - x) > 1e-6)

    options = DynamicProgrammingOptions()
    options.periodic_boundary_conditions = [PeriodicBoundaryCondition(0, 0.0, 2.0)]
    _, J = FittedValueIteration(simulator, is_away, [[*grid, 2.0]], [[-1.0, 0.0, 1.0]], 0.2, options)
    np.testing.assert_allclose(J[:-1], np.minimum(grid, 2.0 - grid), atol=1e-6)


def test_compiled_steps_are_those_of_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oscillator with an input and a wrapped position, by a method of low order whose errors would show."""
    simulate, batches = BatchSimulator.simulate, []
    monkeypatch.setattr(BatchSimulator, "simulate", lambda *a, **k: batches.append(simulate(*a, **k)) or batches[-1])
    options = DynamicProgrammingOptions(discount_factor=0.9)
    options.periodic_boundary_conditions = [PeriodicBoundaryCondition(0, -1.0, 1.0)]
    grids = [np.linspace(-1.0, 1.0, 9), np.linspace(-2.0, 2.0, 7)], [[-0.5, 0.0, 0.5]]
    found, num_batches = [], []
    for is_compiled in (True, False):
        system = LinearSystem([[0.0, 1.0], [-1.0, -0.1]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
        simulator = Simulator(system)
        simulator.set_use_native_plan(is_compiled, at_once=is_compiled)
        simulator.reset_integrator(RungeKutta2Integrator(system, 0.05, simulator.get_mutable_context()))

        def cost(context: Any, system: Any = system) -> float:
            x = context.get_continuous_state_vector().CopyToVector()
            return float(x @ x + system.get_input_port().Eval(context)[0] ** 2)

        policy, J = FittedValueIteration(simulator, cost, *grids, 0.1, options)
        found.append((policy.get_output_values(), J))
        num_batches.append(len(batches))
    assert num_batches == [3, 3]  # one for each input, and none more
    for mine, other in zip(*found):
        np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-13)


def test_linear_program_finds_the_quadratic_cost_of_a_regulator() -> None:
    """x[n+1] = x + h u, cost h (x^2 + u^2), all in the span: p solves the discounted Riccati equation."""
    h, gamma = 0.1, 0.9
    simulator = Simulator(Integrator(1))

    def cost(context: Any) -> float:
        x = context.get_continuous_state_vector().GetAtIndex(0)
        return x**2 + simulator.get_system().get_input_port().Eval(context)[0] ** 2

    options = DynamicProgrammingOptions()
    options.discount_factor = gamma
    S = 0.0
    for _ in range(1000):
        S = h + gamma * S - (gamma * S * h) ** 2 / (h + gamma * h * h * S)
    gain = gamma * S * h / (h + gamma * h * h * S)
    states = np.array([[1.0, -1.0]])
    inputs = np.linspace(-2.0, 2.0, 5) * gain
    (p,) = LinearProgrammingApproximateDynamicProgramming(
        simulator, cost, lambda x, p: p[0] * x[0] ** 2, 1, states, inputs[None], h, options
    )
    assert p == pytest.approx(S, rel=1e-9)


def test_bad_problems_are_refused() -> None:
    simulator = Simulator(Integrator(1))
    options = DynamicProgrammingOptions()
    solve = FittedValueIteration
    with pytest.raises(ValueError, match="2 state variables and 1 inputs; the system has 1 and 1"):
        solve(simulator, lambda c: 0.0, [[0.0, 1.0]] * 2, [[0.0]], 0.1, options)
    with pytest.raises(ValueError, match="time_step must be positive"):
        solve(simulator, lambda c: 0.0, [[0.0, 1.0]], [[0.0]], 0.0, options)
    options.discount_factor = 0.0
    with pytest.raises(ValueError, match="discount_factor"):
        solve(simulator, lambda c: 0.0, [[0.0, 1.0]], [[0.0]], 0.1, options)
    discrete = LinearSystem([[1.0]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    with pytest.raises(ValueError, match="must have continuous state"):
        solve(Simulator(discrete), lambda c: 0.0, [[0.0, 1.0]], [[0.0]], 0.1, DynamicProgrammingOptions())
    with pytest.raises(ValueError, match="not linear"):
        LinearProgrammingApproximateDynamicProgramming(
            simulator, lambda c: 0.0, lambda x, p: p[0] ** 2 * x[0], 1, [[1.0]], [[1.0]], 0.1
        )
