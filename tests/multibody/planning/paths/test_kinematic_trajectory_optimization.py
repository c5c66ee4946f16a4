"""Trajectories that are the solutions of mathematical programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merganser.framework.math import BsplineBasis
from merganser.framework.optimization import Binding, LinearConstraint, PyFunctionConstraint, QuadraticCost, Solve
from merganser.framework.trajectories import BsplineTrajectory
from merganser.multibody.parsing import Parser
from merganser.multibody.planning import KinematicTrajectoryOptimization
from merganser.multibody.planning.paths.splines import EffortConstraint
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces

MODELS = Path(__file__).resolve().parents[4] / "examples" / "models"
ONE = np.ones(7)
GOAL = np.array([0.8, -0.6, 0.7, -1.2, 0.4, 0.9, -0.5])


@pytest.fixture(scope="module")
def arm() -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
    plant.Finalize()
    return plant


def from_rest_to_rest(start: np.ndarray, goal: np.ndarray, count: int = 8) -> KinematicTrajectoryOptimization:
    """A program with both ends, and a straight guess."""
    program = KinematicTrajectoryOptimization(len(start), count)
    for place, s in ((start, 0.0), (goal, 1.0)):
        program.AddPathPositionConstraint(place, place, s)
        program.AddPathVelocityConstraint(0.0 * place, 0.0 * place, s)
    straight = start[:, np.newaxis] + np.outer(goal - start, np.linspace(0.0, 1.0, count))
    program.SetInitialGuess(BsplineTrajectory(program.basis(), straight))
    return program


def along(trajectory: BsplineTrajectory, order: int) -> np.ndarray:
    times = np.linspace(trajectory.start_time(), trajectory.end_time(), 300)
    return np.hstack([trajectory.EvalDerivative(t, order) for t in times])


# Solutions.


def test_least_duration_within_velocities_is_a_linear_program():
    program = KinematicTrajectoryOptimization(1, 6)
    program.AddPathPositionConstraint([0.0], [0.0], 0.0)
    program.AddPathPositionConstraint([3.0], [3.0], 1.0)
    program.AddVelocityBounds([-2.0], [2.0])
    program.AddDurationCost()
    result = Solve(program.prog())
    assert result.is_success() and result.GetSolution(program.duration()) == pytest.approx(1.5, rel=1e-6)


@pytest.mark.parametrize("use_conic_constraint", [False, True])
def test_the_shortest_path_is_straight(use_conic_constraint):
    start, goal = np.array([0.0, 1.0]), np.array([3.0, 5.0])
    program = from_rest_to_rest(start, goal)
    assert len(program.AddPathLengthCost(2.0, use_conic_constraint)) == 7
    result = Solve(program.prog())
    assert result.is_success() and result.get_optimal_cost() == pytest.approx(2.0 * 5.0, rel=1e-6)


def test_an_arm_reaches_its_goal_within_all_limits(arm):
    program = from_rest_to_rest(np.zeros(7), GOAL)
    velocity, effort = arm.GetVelocityUpperLimits(), 0.6 * arm.GetEffortUpperLimits()
    program.AddPositionBounds(arm.GetPositionLowerLimits(), arm.GetPositionUpperLimits())
    program.AddVelocityBounds(-velocity, velocity)
    program.AddAccelerationBounds(-5.0 * ONE, 5.0 * ONE)
    program.AddJerkBounds(-60.0 * ONE, 60.0 * ONE)
    places = np.linspace(0.0, 1.0, 5)
    program.AddEffortBoundsAtNormalizedTimes(arm, places, -effort, effort)
    program.AddDurationCost()
    program.AddPathLengthCost(0.1)
    result = Solve(program.prog())
    assert result.is_success()
    q = program.ReconstructTrajectory(result)
    assert q.end_time() == pytest.approx(result.GetSolution(program.duration()))
    assert q.InitialValue().ravel() == pytest.approx(np.zeros(7), abs=1e-7)
    assert q.FinalValue().ravel() == pytest.approx(GOAL, abs=1e-7)
    assert (np.abs(along(q, 1)).max(axis=1) <= velocity + 1e-6).all()
    assert 4.9 < np.abs(along(q, 2)).max() <= 5.0 + 1e-5
    assert np.abs(along(q, 3)).max() <= 60.0 + 1e-4
    context = arm.CreateDefaultContext()
    for t in places * q.end_time():
        state = [q.EvalDerivative(t, order).ravel() for order in range(3)]
        arm.SetPositionsAndVelocities(context, np.concatenate(state[:2]))
        forces = MultibodyForces(arm)
        arm.CalcForceElementsContribution(context, forces)
        assert (np.abs(arm.CalcInverseDynamics(context, state[2], forces)) <= effort + 1e-4).all()


@pytest.mark.parametrize("seed", range(3))
def test_lengths_of_paths_from_rest_to_rest_have_an_optimum_that_is_found(seed):
    rng = np.random.default_rng(seed)
    program = from_rest_to_rest(rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 3))
    program.AddPathLengthCost()
    program.AddDurationCost()
    program.AddAccelerationBounds(-5.0 * np.ones(3), 5.0 * np.ones(3))
    assert Solve(program.prog()).is_success()


def test_bounds_of_jerks_are_kept_after_few_iterations():
    rng = np.random.default_rng(4)
    program = from_rest_to_rest(rng.uniform(-1.5, 1.5, 7), rng.uniform(-1.5, 1.5, 7), 10)
    program.AddPathLengthCost()
    program.AddDurationCost()
    program.AddJerkBounds(-20.0 * ONE, 20.0 * ONE)
    result = Solve(program.prog())
    assert result.is_success() and result.get_solver_details().iterations < 40
    assert np.abs(along(program.ReconstructTrajectory(result), 3)).max() <= 20.0 + 1e-5


# What is added.


def test_bounds_are_kept_by_the_trajectory_of_any_values_that_satisfy_them():
    rng = np.random.default_rng(1)
    program = KinematicTrajectoryOptimization(2, 7)
    x = np.append(rng.uniform(-1.0, 1.0, 14), 2.5)
    trajectory = trajectory_of(program, x)
    for order, add in enumerate((program.AddVelocityBounds, program.AddAccelerationBounds, program.AddJerkBounds), 1):
        peak = np.abs(along(trajectory, order)).max()
        tight, loose = add([-0.9 * peak] * 2, [0.9 * peak] * 2), add([-20.0 * peak] * 2, [20.0 * peak] * 2)
        assert not all(program.prog().CheckSatisfied(each, x) for each in tight)
        assert all(program.prog().CheckSatisfied(each, x) for each in loose)


def trajectory_of(program: KinematicTrajectoryOptimization, x: np.ndarray) -> BsplineTrajectory:
    """The trajectory of given values of the variables."""
    fixed = KinematicTrajectoryOptimization(program.num_positions(), program.num_control_points())
    fixed.prog().AddBoundingBoxConstraint(x, x, fixed.prog().decision_variables())
    return fixed.ReconstructTrajectory(Solve(fixed.prog()))


def test_constraints_at_a_place_see_the_trajectory_and_have_derivatives(arm):
    rng = np.random.default_rng(2)
    program = KinematicTrajectoryOptimization(7, 6)
    x = np.append(rng.uniform(-1.0, 1.0, 42), 1.7)
    seen = PyFunctionConstraint(14, lambda x: [x @ x, x[3] * x[9]], [0.0, 0.0], [9.0, 9.0])
    bindings = [
        program.AddVelocityConstraintAtNormalizedTime(seen, 0.4),
        program.AddPathPositionConstraint(PyFunctionConstraint(7, lambda x: [x @ x], [0.0], [9.0]), 0.4),
        *program.AddEffortBoundsAtNormalizedTimes(arm, [0.4]),
        *program.AddJerkBounds(-ONE, ONE)[:1],
    ]
    at_x = [x[program.prog().FindDecisionVariableIndices(b.variables())] for b in bindings]
    for binding, point in zip(bindings, at_x):
        function = binding.evaluator()
        value, jacobian = function._value_and_jacobian(point)
        steps = 1e-6 * np.eye(point.size)
        numeric = np.array([(function.Eval(point + d) - function.Eval(point - d)) / 2e-6 for d in steps]).T
        assert value == pytest.approx(function.Eval(point)) and np.allclose(
            jacobian, numeric, rtol=1e-6, atol=1e-6 * np.abs(jacobian).max()
        )
    q = trajectory_of(program, x)
    state = [q.EvalDerivative(0.4 * q.end_time(), order).ravel() for order in range(3)]
    assert bindings[0].evaluator().Eval(at_x[0]) == pytest.approx(seen.Eval(np.concatenate(state[:2])))
    efforts = EffortConstraint(arm, arm.CreateDefaultContext(), -ONE, ONE).Eval(np.concatenate(state))
    assert bindings[2].evaluator().Eval(at_x[2]) == pytest.approx(efforts)


def test_a_linear_constraint_of_velocities_is_linear_in_points_and_duration():
    program = KinematicTrajectoryOptimization(2, 6)
    qdot = program.qdot()
    x = np.append(np.random.default_rng(3).uniform(-1.0, 1.0, 12), 2.0)
    q = trajectory_of(program, x)
    value = np.array([[1.0, 2.0]]) @ q.EvalDerivative(0.3 * 2.0, 1)[::-1]
    for low, is_satisfied in ((value - 0.1, True), (value + 0.1, False)):
        constraint = LinearConstraint([[1.0, 2.0]], low[0], [np.inf])
        (added,) = program.AddVelocityConstraintAtNormalizedTime(Binding(constraint, qdot[::-1]), 0.3)
        assert type(added.evaluator()) is LinearConstraint and added.evaluator().num_constraints() == 1
        assert program.prog().CheckSatisfied(added, x) is is_satisfied
    with pytest.raises(ValueError, match="must have variables of qdot"):
        program.AddVelocityConstraintAtNormalizedTime(Binding(constraint, program.q()), 0.3)


def test_costs_are_of_their_classes():
    program = KinematicTrajectoryOptimization(2, 4)
    program.AddDurationCost(2.0)
    assert all(type(each.evaluator()) is QuadraticCost for each in program.AddPathEnergyCost(3.0))
    x = np.append(np.arange(8.0) ** 2, 5.0)
    points = x[:8].reshape(4, 2).T
    costs = [float(program.prog().EvalBinding(each, x)[0]) for each in program.prog().GetAllCosts()]
    assert sum(costs) == pytest.approx(10.0 + 3.0 * (np.diff(points, axis=1) ** 2).sum())


def test_bounds_can_change_one_by_one():
    program = KinematicTrajectoryOptimization(2, 5)
    points = program.AddPositionBounds([-1.0, -2.0], [1.0, 2.0])
    speeds = program.AddVelocityBounds([-3.0, -3.0], [3.0, 3.0])
    lower, slopes = points[1].evaluator().lower_bound(), speeds[1].evaluator().GetDenseA()
    points[0].evaluator().set_bounds([-5.0, -5.0], [5.0, 5.0])
    speeds[0].evaluator().UpdateCoefficients(7.0 * slopes, np.zeros(4), np.ones(4))
    np.testing.assert_array_equal(points[1].evaluator().lower_bound(), lower)
    np.testing.assert_array_equal(speeds[1].evaluator().GetDenseA(), slopes)
    assert [each.evaluator().get_description() for each in speeds] == [
        f"velocity {side} bound for position {i}" for i in range(2) for side in ("lower", "upper")
    ]


# Guesses.


def test_a_guess_is_the_trajectory_or_meets_it():
    basis = BsplineBasis(4, [2.0 + 3.0 * knot for knot in BsplineBasis(4, 6).knots()])
    points = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 6))
    trajectory = BsplineTrajectory(basis, points)
    program = KinematicTrajectoryOptimization(trajectory)
    guess = program.prog().GetInitialGuess
    assert guess(program.duration()) == pytest.approx(3.0) and np.allclose(guess(program.control_points()), points)
    assert np.allclose(program.basis().knots(), BsplineBasis(4, 6).knots())
    trajectory.InsertKnots([3.1])
    other = KinematicTrajectoryOptimization(2, 12, duration=0.5)
    assert other.prog().GetInitialGuess(other.duration()) == 0.5
    other.SetInitialGuess(trajectory)
    met = BsplineTrajectory(other.basis(), other.prog().GetInitialGuess(other.control_points()))
    assert max(np.abs(met.value(s) - trajectory.value(2.0 + 3.0 * s)).max() for s in np.linspace(0, 1, 50)) < 0.1


# Wrong data.


def test_wrong_data_are_refused(arm):
    program = KinematicTrajectoryOptimization(7, 6)
    thin = BsplineTrajectory(program.basis(), np.ones((2, 6)))
    for call, message in (
        (lambda: program.AddPositionBounds(ONE, -ONE), "AddPositionBounds: lb must not be above ub; element 0 is 1"),
        (lambda: program.AddVelocityBounds(ONE[1:], ONE), "AddVelocityBounds: expected 7 values in lb, got 6"),
        (lambda: program.AddJerkBounds(np.nan * ONE, ONE), "AddJerkBounds: lb has NaN at index 0"),
        (lambda: program.AddPathPositionConstraint(ONE, ONE, 1.5), "s must be from 0 to 1, got 1.5"),
        (lambda: program.AddPathVelocityConstraint(ONE, ONE, np.nan), "s must be from 0 to 1, got nan"),
        (lambda: program.AddDurationConstraint(2.0, 1.0), "AddDurationConstraint: lb must not be above ub"),
        (lambda: program.AddPathLengthCost(-1.0), "AddPathLengthCost: weight: expected a finite number, at least 0"),
        (lambda: program.AddPathPositionConstraint(LinearConstraint(np.eye(2), [0, 0], [1, 1]), 0.5), "takes 2"),
        (lambda: program.AddEffortBoundsAtNormalizedTimes(arm, [0.5], lb=ONE[1:]), "expected 7 values in lb, got 6"),
        (lambda: KinematicTrajectoryOptimization(7, 3), "order"),
        (lambda: KinematicTrajectoryOptimization(7, 6, duration=0.0), "duration: expected a finite number above 0"),
        (lambda: KinematicTrajectoryOptimization(0, 6), "num_positions: expected at least 1, got 0"),
        (
            lambda: program.SetInitialGuess(thin),
            "has 2 rows, expected 7",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    small = KinematicTrajectoryOptimization(2, 6)
    with pytest.raises(ValueError, match="has 7 positions, expected 2"):
        small.AddEffortBoundsAtNormalizedTimes(arm, [0.5])
    with pytest.raises(TypeError, match="expected a MultibodyPlant"):
        program.AddEffortBoundsAtNormalizedTimes(None, [0.5])  # type: ignore[arg-type]


def test_infinite_bounds_have_no_rows():
    program = KinematicTrajectoryOptimization(2, 6)
    assert len(program.AddVelocityBounds([-np.inf, -1.0], [1.0, np.inf])) == 2
    accelerations = program.AddAccelerationBounds([-np.inf, -1.0], [1.0, np.inf])
    assert [each.evaluator().num_constraints() for each in accelerations] == [4, 4]
