"""Trajectory optimization beside pydrake's: the same constraints, and costs that are no higher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import merganser.analysis.trajectory_optimization as ours
from merganser.examples.pendulums import AcrobotPlant, PendulumPlant
from merganser.framework.optimization import Solve
from merganser.framework.primitives import LinearSystem
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

planning: Any = pytest.importorskip("pydrake.planning")
solvers: Any = pytest.importorskip("pydrake.solvers")
drake_trajectories: Any = pytest.importorskip("pydrake.trajectories")
examples: Any = pytest.importorskip("pydrake.examples")
primitives: Any = pytest.importorskip("pydrake.systems.primitives")
multibody: Any = pytest.importorskip("pydrake.multibody.plant")
parsing: Any = pytest.importorskip("pydrake.multibody.parsing")
pytestmark = pytest.mark.reference

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"


def cart_pole(plant_class: Any, parser_class: Any) -> tuple[Any, int]:
    plant = plant_class(0.0)
    parser_class(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    return plant, plant.get_actuation_input_port().get_index()


def with_port(system: Any) -> tuple[Any, Any]:
    return system, system.get_input_port(0).get_index()


PAIRS = {
    "pendulum": lambda: [with_port(PendulumPlant()), with_port(examples.PendulumPlant())],
    "acrobot": lambda: [with_port(AcrobotPlant()), with_port(examples.AcrobotPlant())],
    "cart-pole": lambda: [
        cart_pole(MultibodyPlant, Parser),
        cart_pole(multibody.MultibodyPlant, parsing.Parser),
    ],
}


@pytest.mark.parametrize("name", PAIRS)
def test_constraints_of_segments_are_pydrakes(name: str) -> None:
    mine, theirs = (
        module.DirectCollocationConstraint(system, system.CreateDefaultContext(), port)
        for module, (system, port) in zip((ours, planning), PAIRS[name]())
    )
    rng = np.random.default_rng(1)
    for _ in range(10):
        x = np.concatenate([[rng.uniform(0.05, 0.3)], rng.uniform(-2.0, 2.0, mine.num_vars() - 1)])
        np.testing.assert_allclose(mine.Eval(x), theirs.Eval(x), rtol=1e-9, atol=1e-9)


def swing_up(module: Any, polynomials: Any, system: Any, port: int, ends: Any, bound: float, duration: float) -> Any:
    trajopt = module.DirectCollocation(system, system.CreateDefaultContext(), 21, 0.02, 0.4, port)
    prog, u = trajopt.prog(), trajopt.input()[0]
    for variables, values in zip((trajopt.initial_state(), trajopt.final_state()), ends):
        prog.AddBoundingBoxConstraint(values, values, variables)
    trajopt.AddEqualTimeIntervalsConstraints()
    trajopt.AddConstraintToAllKnotPoints(u <= bound)
    trajopt.AddConstraintToAllKnotPoints(u >= -bound)
    trajopt.AddRunningCost(u**2)
    trajopt.SetInitialTrajectory(polynomials(), polynomials.FirstOrderHold([0.0, duration], np.transpose(ends)))
    return trajopt


CASES = {  # ends, bound of the input, durations of guesses [s]
    "pendulum": ([[0.0, 0.0], [np.pi, 0.0]], 4.0, [4.0]),
    "cart-pole": ([[0.0] * 4, [0.0, np.pi, 0.0, 0.0]], 30.0, [2.5]),
    "acrobot": ([[0.0] * 4, [np.pi, 0.0, 0.0, 0.0]], 12.0, [3.0, 5.0, 6.0]),  # with many local optima
}


@pytest.mark.parametrize("name", CASES)
def test_costs_are_no_higher_than_pydrakes_from_the_same_guesses(name: str) -> None:
    (mine, port), (theirs, drake_port) = PAIRS[name]()
    ends, bound, durations = CASES[name]
    costs: list[list[float]] = [[], []]
    for duration in durations:
        trajopt = swing_up(ours, PiecewisePolynomial, mine, port, ends, bound, duration)
        polynomials = drake_trajectories.PiecewisePolynomial
        reference = swing_up(planning, polynomials, theirs, drake_port, ends, bound, duration)
        found, expected = Solve(trajopt.prog()), solvers.SnoptSolver().Solve(reference.prog())
        assert found.is_success()
        costs[0].append(found.get_optimal_cost())
        costs[1].append(expected.get_optimal_cost() if expected.is_success() else np.inf)
        values = found.GetSolution(trajopt.prog().decision_variables())
        for binding in reference.prog().GetAllConstraints():  # ours is a solution of theirs
            assert reference.prog().CheckSatisfied(binding, values, 1e-5), binding
    assert min(costs[0]) <= 1.01 * min(costs[1])


def test_transcriptions_of_linear_systems_cost_what_pydrakes_do() -> None:
    matrices = [[1.0, 0.1], [-0.2, 0.9]], [[0.0], [0.1]], np.eye(2), np.zeros((2, 1)), 0.1
    costs = []
    for module, system, solve in (
        (ours, LinearSystem(*matrices), Solve),
        (planning, primitives.LinearSystem(*matrices), solvers.Solve),
    ):
        trajopt = module.DirectTranscription(system, system.CreateDefaultContext(), 20)
        trajopt.prog().AddBoundingBoxConstraint([1.0, 0.5], [1.0, 0.5], trajopt.initial_state())
        trajopt.AddRunningCost(trajopt.state().dot(trajopt.state()) + 0.1 * trajopt.input()[0] ** 2)
        trajopt.AddFinalCost(10.0 * trajopt.state()[0] ** 2)
        costs.append(solve(trajopt.prog()).get_optimal_cost())
    assert costs[0] == pytest.approx(costs[1], rel=1e-6)
