"""Trajectories that obey the dynamics and cost least: closed forms, results simulated again, errors with names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.trajectory_optimization import (
    AddDirectCollocationConstraint,
    DirectCollocation,
    DirectCollocationConstraint,
    DirectTranscription,
)
from merganser.examples.pendulums import PendulumPlant
from merganser.framework import DiagramBuilder, InputPortSelection
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.optimization import (
    BoundingBoxConstraint,
    InteriorPointSolver,
    MathematicalProgram,
    Solve,
    SolverOptions,
)
from merganser.framework.optimization.evaluators.evaluators import curvature_by_differences
from merganser.framework.primitives import ConstantVectorSource, LinearSystem, TrajectorySource
from merganser.framework.trajectories import PiecewisePolynomial
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"
NOTHING = PiecewisePolynomial()


def double_integrator() -> Any:
    return LinearSystem([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))


def from_rest_to_rest(trajopt: Any, start: Any, end: Any) -> None:
    trajopt.prog().AddBoundingBoxConstraint(start, start, trajopt.initial_state())
    trajopt.prog().AddBoundingBoxConstraint(end, end, trajopt.final_state())


def straight(duration: float, start: Any, end: Any) -> PiecewisePolynomial:
    return PiecewisePolynomial.FirstOrderHold([0.0, duration], np.transpose([start, end]))


def test_least_effort_between_two_places_is_a_cubic() -> None:
    """x = d (3 s^2 - 2 s^3), u = 6 d (1 - 2 s) / T^2 with s = t / T costs 12 d^2 / T^3."""
    system = double_integrator()
    trajopt = DirectCollocation(system, system.CreateDefaultContext(), 31, 0.01, 0.2)
    from_rest_to_rest(trajopt, [0.0, 0.0], [1.0, 0.0])
    trajopt.AddEqualTimeIntervalsConstraints()
    trajopt.AddDurationBounds(2.0, 2.0)
    trajopt.AddRunningCost(trajopt.input()[0] ** 2)
    trajopt.SetInitialTrajectory(NOTHING, straight(2.0, [0, 0], [1, 0]))
    result = Solve(trajopt.prog())
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(12.0 / 8.0, rel=3e-3)  # the trapezoidal rule is 1 / N^2 off
    s = np.linspace(0.0, 1.0, 50)
    x, u = trajopt.ReconstructStateTrajectory(result), trajopt.ReconstructInputTrajectory(result)
    np.testing.assert_allclose(x.vector_values(2.0 * s)[0], 3 * s**2 - 2 * s**3, atol=3e-4)
    np.testing.assert_allclose(u.vector_values(2.0 * s)[0], 1.5 * (1 - 2 * s), atol=0.04)
    np.testing.assert_allclose(trajopt.GetSampleTimes(result), np.linspace(0.0, 2.0, 31), atol=1e-8)


def test_least_time_with_bounded_force_is_bang_bang() -> None:
    """T = 2 sqrt(d / u)."""
    system = double_integrator()
    trajopt = DirectCollocation(system, system.CreateDefaultContext(), 21, 0.01, 0.5)
    from_rest_to_rest(trajopt, [0.0, 0.0], [1.0, 0.0])
    trajopt.AddConstraintToAllKnotPoints(trajopt.input()[0] <= 1.0)
    trajopt.AddConstraintToAllKnotPoints(trajopt.input()[0] >= -1.0)
    trajopt.AddEqualTimeIntervalsConstraints()
    trajopt.AddFinalCost(matrix=trajopt.time())
    trajopt.SetInitialTrajectory(NOTHING, straight(3.0, [0, 0], [1, 0]))
    result = Solve(trajopt.prog())
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(2.0, rel=0.03)  # the input must turn within one segment
    assert trajopt.GetSampleTimes(result)[-1] == pytest.approx(result.get_optimal_cost())


def test_a_pendulum_swings_up_when_the_result_is_simulated() -> None:
    pendulum = PendulumPlant()
    trajopt = DirectCollocation(pendulum, pendulum.CreateDefaultContext(), 41, 0.025, 0.15)
    from_rest_to_rest(trajopt, [0.0, 0.0], [np.pi, 0.0])
    trajopt.AddEqualTimeIntervalsConstraints()
    trajopt.AddConstraintToAllKnotPoints(constraint=BoundingBoxConstraint([-4.0], [4.0]), vars=trajopt.input())
    trajopt.AddRunningCost(np.array([[trajopt.input()[0] ** 2]]))
    trajopt.SetInitialTrajectory(NOTHING, straight(4.0, [0, 0], [np.pi, 0]))
    result = Solve(trajopt.prog())
    assert result.is_success()
    builder = DiagramBuilder()
    plant = builder.AddSystem(PendulumPlant())
    source = builder.AddSystem(TrajectorySource(trajopt.ReconstructInputTrajectory(result)))
    builder.Connect(source.get_output_port(), plant.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(trajopt.GetSampleTimes(result)[-1])
    state = simulator.get_context().get_continuous_state_vector().CopyToVector()
    np.testing.assert_allclose(state, [np.pi, 0.0], atol=0.05)
    assert np.abs(trajopt.GetInputSamples(result)).max() <= 4.0 + 1e-6


def effortful_swing_up(prog: MathematicalProgram | None = None) -> DirectCollocation:
    pendulum = PendulumPlant()
    trajopt = DirectCollocation(pendulum, pendulum.CreateDefaultContext(), 21, 0.05, 0.3, prog=prog)
    trajopt.AddEqualTimeIntervalsConstraints()
    from_rest_to_rest(trajopt, [0.0, 0.0], [np.pi, 0.0])
    trajopt.AddConstraintToAllKnotPoints(constraint=BoundingBoxConstraint([-3.0], [3.0]), vars=trajopt.input())
    trajopt.AddRunningCost(10.0 * trajopt.input()[0] ** 2)
    trajopt.SetInitialTrajectory(NOTHING, straight(3.0, [0, 0], [np.pi, 0]))
    return trajopt


def test_further_searches_with_longer_time_steps_find_a_motion_that_costs_less() -> None:
    trajopt = effortful_swing_up()
    results = [
        InteriorPointSolver().Solve(trajopt.prog(), None, SolverOptions(options={"InteriorPoint": {"num_starts": n}}))
        for n in (1, 2, 5)
    ]
    costs = [result.get_optimal_cost() for result in results]
    assert costs[0] > costs[1] >= costs[2]
    assert costs[2] < 0.73 * costs[0]  # from the guess alone, with other weights of the barrier, 0.786
    assert trajopt.GetSampleTimes(results[2])[-1] > 1.3 * trajopt.GetSampleTimes(results[0])[-1]


def test_a_slow_search_from_the_guess_is_left_for_faster_ones() -> None:
    """That search takes 860 iterations, 576 of cost; least-effort swing-ups end at 350 or less."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    port = plant.get_actuation_input_port().get_index()
    trajopt = DirectCollocation(plant, plant.CreateDefaultContext(), 61, 1.0 / 60.0, 1.0 / 6.0, port)
    trajopt.AddEqualTimeIntervalsConstraints()
    from_rest_to_rest(trajopt, np.zeros(4), [0.0, np.pi, 0.0, 0.0])
    trajopt.AddRunningCost(10.0 * trajopt.input()[0] ** 2)
    trajopt.SetInitialTrajectory(NOTHING, straight(4.0, np.zeros(4), [0.0, np.pi, 0.0, 0.0]))
    points: list[Any] = []
    trajopt.prog().AddVisualizationCallback(points.append, trajopt.time_step(0))
    result = Solve(trajopt.prog())
    assert result.is_success() and result.get_optimal_cost() < 360.0
    assert len(points) < 400


def test_a_copy_of_the_program_of_a_motion_ends_at_the_same_motion() -> None:
    prog = MathematicalProgram()
    spare = prog.NewContinuousVariables(1)[0]  # moves the others when it goes
    effortful_swing_up(prog)
    copied = prog.Clone()
    copied.RemoveDecisionVariable(spare)
    assert Solve(copied).get_optimal_cost() == pytest.approx(Solve(prog).get_optimal_cost(), rel=1e-6)


def riccati(A: float, B: float, h: float, steps: int) -> float:
    """Least sum of h (x^2 + u^2) from x = 1, by dynamic programming."""
    S = 0.0
    for _ in range(steps):
        S = h + A * S * A - (A * S * B) ** 2 / (h + B * S * B)
    return S


def test_a_linear_system_in_discrete_time_costs_what_dynamic_programming_finds() -> None:
    system = LinearSystem([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    trajopt = DirectTranscription(system, system.CreateDefaultContext(), 6)
    trajopt.prog().AddBoundingBoxConstraint(1.0, 1.0, trajopt.initial_state())
    trajopt.AddRunningCost(trajopt.input()[0] ** 2 + trajopt.state()[0] ** 2)
    result = Solve(trajopt.prog())
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(riccati(0.5, 1.0, 0.1, 5), abs=1e-8)
    assert trajopt.fixed_time_step() == 0.1
    assert not trajopt.prog().generic_constraints()  # a quadratic program
    states, times = trajopt.GetStateSamples(result), trajopt.GetSampleTimes(result)
    assert trajopt.ReconstructStateTrajectory(result).value(0.05).item() == states[0, 0]
    assert trajopt.ReconstructInputTrajectory(result).value(times[1]).item() == trajopt.GetInputSamples(result)[0, 1]


def test_steps_of_euler_transcribe_continuous_systems() -> None:
    pendulum = PendulumPlant()
    trajopt = DirectTranscription(pendulum, pendulum.CreateDefaultContext(), 11, DirectTranscription.TimeStep(0.05))
    trajopt.prog().AddBoundingBoxConstraint([0.3, 0.0], [0.3, 0.0], trajopt.initial_state())
    trajopt.AddRunningCost(trajopt.input()[0] ** 2)
    trajopt.SetInitialTrajectory()
    result = Solve(trajopt.prog())
    assert result.is_success()
    context, states = pendulum.CreateDefaultContext(), trajopt.GetStateSamples(result).T
    for x, u, x_next in zip(states[:-1], trajopt.GetInputSamples(result).T, states[1:]):
        context.SetContinuousState(x)
        pendulum.get_input_port().FixValue(context, u)
        np.testing.assert_allclose(x_next, x + 0.05 * pendulum.EvalTimeDerivatives(context).CopyToVector(), atol=1e-6)


def segment(time_step: float = 0.0) -> tuple[Any, Any, np.ndarray]:
    """The constraint of a segment of a cart-pole, its plant, and some variables."""
    plant = MultibodyPlant(time_step)
    Parser(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    port = plant.get_actuation_input_port().get_index()
    constraint = DirectCollocationConstraint(plant, plant.CreateDefaultContext(), port)
    return constraint, plant, np.concatenate([[0.2], np.random.default_rng(0).uniform(-1.0, 1.0, 10)])


def test_derivatives_of_a_segment_are_those_of_differences() -> None:
    constraint, _, x = segment()
    found = constraint.Eval(InitializeAutoDiff(x).ravel())
    np.testing.assert_array_equal(ExtractValue(found).ravel(), constraint.Eval(x))
    h, steps = 1e-6, np.eye(len(x))
    columns = [(constraint.Eval(x + h * e) - constraint.Eval(x - h * e)) / (2.0 * h) for e in steps]
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(columns), rtol=1e-6, atol=1e-6)


def test_second_derivatives_of_many_segments_are_those_of_the_first_ones() -> None:
    constraint, _, _ = segment()
    rng = np.random.default_rng(4)
    x = rng.normal(size=(6, constraint.num_vars()))
    x[:, 0] = rng.uniform(0.1, 0.5, 6)
    weights = rng.normal(size=(6, constraint.num_constraints()))
    expected = curvature_by_differences(lambda points: constraint._stacked(points)[1], x, weights)
    np.testing.assert_allclose(constraint._curvature(x, weights), expected, rtol=1e-5, atol=1e-4)


def test_a_motion_is_found_in_few_iterations_also_without_a_cost() -> None:
    plant = PendulumPlant()
    counts = []
    for weight in (0.0, 1.0):
        trajopt = DirectCollocation(plant, plant.CreateDefaultContext(), 21, 0.05, 0.2)
        trajopt.AddEqualTimeIntervalsConstraints()
        from_rest_to_rest(trajopt, [0.0, 0.0], [np.pi, 0.0])
        trajopt.AddConstraintToAllKnotPoints(trajopt.input()[0] ** 2 <= 9.0)
        if weight:
            trajopt.AddRunningCost(weight * trajopt.input()[0] ** 2)
        trajopt.SetInitialTrajectory(NOTHING, straight(3.0, [0.0, 0.0], [np.pi, 0.0]))
        result = InteriorPointSolver().Solve(trajopt.prog())
        assert result.is_success()
        assert not result.GetInfeasibleConstraints(trajopt.prog(), 1e-5)
        counts.append(result.get_solver_details().iterations)
    assert max(counts) <= 60


def test_a_true_motion_satisfies_the_constraint_to_its_order() -> None:
    """The defect of a segment goes down by h^4, as the rate of a cubic midway does."""
    constraint, plant, x = segment()
    defects = []
    for h in (0.02, 0.01):
        simulator = Simulator(plant)
        simulator.get_mutable_integrator().set_target_accuracy(1e-12)
        plant.get_actuation_input_port().FixValue(simulator.get_mutable_context(), [0.5])
        plant.SetPositionsAndVelocities(simulator.get_mutable_context(), x[1:5])
        simulator.AdvanceTo(h)
        after = plant.GetPositionsAndVelocities(simulator.get_context())
        defects.append(np.abs(constraint.Eval(np.concatenate([[h], x[1:5], after, [0.5, 0.5]]))).max())
    assert np.log2(defects[0] / defects[1]) > 2.8


def test_several_trajectories_share_a_program_and_its_variables() -> None:
    system, prog = double_integrator(), MathematicalProgram()
    first, second = (
        DirectCollocation(system, system.CreateDefaultContext(), 5, 0.1, 0.5, prog=prog) for _ in range(2)
    )
    from_rest_to_rest(first, [0.0, 0.0], [1.0, 0.0])
    prog.AddLinearConstraint(second.initial_state()[0] == first.final_state()[0])
    prog.AddBoundingBoxConstraint(2.0, 2.0, second.final_state()[0])
    assert first.prog() is second.prog()
    result = Solve(prog, np.full(prog.num_vars(), 0.2))
    assert result.is_success()
    assert second.GetStateSamples(result)[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_formulas_at_all_break_points_are_a_constraint_each() -> None:
    system = double_integrator()
    trajopt = DirectCollocation(system, system.CreateDefaultContext(), 5, 0.1, 0.1)
    prog, (q, v) = trajopt.prog(), trajopt.state()
    before = len(prog.linear_equality_constraints())
    added = trajopt.AddConstraintToAllKnotPoints(np.array([q - v == 2.0, q + v == 1.0]))
    assert len(added) == len(prog.linear_equality_constraints()) - before == 10
    assert {variable.get_id() for binding in added[:5] for variable in binding.variables()} == {
        variable.get_id() for k in range(5) for variable in trajopt.state(k)
    }
    added[0].evaluator().UpdateCoefficients(added[0].evaluator().GetDenseA(), [3.0])
    assert [binding.evaluator().lower_bound()[0] for binding in added] == [3.0] + [2.0] * 4 + [1.0] * 5
    one = BoundingBoxConstraint([-1.0], [1.0])
    assert all(each.evaluator() is one for each in trajopt.AddConstraintToAllKnotPoints(one, [v]))
    timed = trajopt.AddConstraintToAllKnotPoints(np.array([q >= trajopt.time()[0], v >= 0.0]))
    assert len(timed) == 10


def test_sequential_variables_exist_at_all_break_points_and_in_callbacks() -> None:
    system = double_integrator()
    trajopt = DirectCollocation(system, system.CreateDefaultContext(), 4, 0.5, 0.5)
    slack = trajopt.NewSequentialVariable(1, "slack")
    trajopt.AddConstraintToAllKnotPoints(np.array([slack[0] >= trajopt.state()[0], slack[0] >= -trajopt.state()[0]]))
    trajopt.AddRunningCost(slack[0])
    trajopt.prog().AddBoundingBoxConstraint([1.0, 0.0], [1.0, 0.0], trajopt.initial_state())
    trajopt.AddConstraintToAllKnotPoints(BoundingBoxConstraint([-1.0], [1.0]), trajopt.input())
    seen: dict[str, list[Any]] = {"x": [], "u": [], "all": []}
    trajopt.AddStateTrajectoryCallback(lambda times, x: seen["x"].append((times, x)))
    trajopt.AddInputTrajectoryCallback(lambda times, u: seen["u"].append((times, u)))
    trajopt.AddCompleteTrajectoryCallback(lambda times, x, u, values: seen["all"].append((x, u, values)), ["slack"])
    result = Solve(trajopt.prog(), np.full(trajopt.prog().num_vars(), 0.5))
    assert result.is_success()
    np.testing.assert_allclose(
        trajopt.GetSequentialVariableSamples(result, "slack"), np.abs(trajopt.GetStateSamples(result)[:1]), atol=1e-5
    )
    times, x = seen["x"][-1]
    assert times.shape == (4,)
    assert x.shape == (2, 4)
    assert seen["u"][-1][1].shape == (1, 4)
    assert seen["all"][-1][2][0].shape == (1, 4)
    np.testing.assert_array_equal(trajopt.GetSequentialVariableAtIndex("slack", 2).shape, (1,))


def test_other_inputs_keep_the_values_of_the_context() -> None:
    constraint, plant, x = segment()
    context = plant.CreateDefaultContext()
    plant.get_applied_generalized_force_input_port().FixValue(context, [3.0, 0.0])
    pushed = DirectCollocationConstraint(plant, context, plant.get_actuation_input_port().get_index())
    assert np.abs(pushed.Eval(x) - constraint.Eval(x)).max() > 1.0


def test_systems_without_inputs_have_trajectories_too() -> None:
    system = LinearSystem(A=-np.eye(1), B=np.zeros((1, 0)), C=np.eye(1), D=np.zeros((1, 0)))
    trajopt = DirectCollocation(system, system.CreateDefaultContext(), 11, 0.1, 0.1, InputPortSelection.kNoInput)
    trajopt.prog().AddBoundingBoxConstraint(1.0, 1.0, trajopt.initial_state())
    trajopt.SetInitialTrajectory(traj_init_x=straight(1.0, [1.0], [0.5]))
    result = Solve(trajopt.prog())
    assert trajopt.GetStateSamples(result)[0, -1] == pytest.approx(np.exp(-1.0), abs=1e-6)
    with pytest.raises(RuntimeError, match="the system has no input"):
        trajopt.ReconstructInputTrajectory(result)


def test_what_cannot_be_is_refused_by_name() -> None:
    integrator, source = double_integrator(), ConstantVectorSource([1.0])
    discrete = LinearSystem([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1)
    context = integrator.CreateDefaultContext()
    for of in (source, discrete):
        with pytest.raises(RuntimeError, match="has no continuous state"):
            DirectCollocation(of, of.CreateDefaultContext(), 3, 0.1, 0.2)
    with pytest.raises(ValueError, match="num_time_samples must be 2 or more, not 1"):
        DirectCollocation(integrator, context, 1, 0.1, 0.2)
    with pytest.raises(ValueError, match=r"given are 0.3 s and 0.2 s"):
        DirectCollocation(integrator, context, 3, 0.3, 0.2)
    with pytest.raises(RuntimeError, match=r"is continuous: pass DirectTranscription.TimeStep\(h\)"):
        DirectTranscription(integrator, context, 3)
    with pytest.raises(ValueError, match=r"is discrete with period 0.1 s: it takes no time step"):
        DirectTranscription(discrete, discrete.CreateDefaultContext(), 3, DirectTranscription.TimeStep(0.1))
    with pytest.raises(RuntimeError, match="continuous states, 0 groups of discrete"):
        DirectTranscription(source, source.CreateDefaultContext(), 3)
    trajopt = DirectTranscription(integrator, context, 3, DirectTranscription.TimeStep(0.1))
    for call in (
        lambda: trajopt.time_step(0), trajopt.AddEqualTimeIntervalsConstraints,
        lambda: trajopt.AddDurationBounds(0, 1), lambda: trajopt.AddTimeIntervalBounds(0, 1),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=r"the time steps are no variables, all are 0.1 s"):
            call()
    free = DirectCollocation(integrator, context, 3, 0.1, 0.2)
    with pytest.raises(RuntimeError, match="the time steps are variables"):
        free.fixed_time_step()
    with pytest.raises(ValueError, match="start at 0 and end together"):
        free.SetInitialTrajectory(NOTHING, NOTHING)
    with pytest.raises(ValueError, match="expected a trajectory of 2 rows, got 1"):
        free.SetInitialTrajectory(NOTHING, straight(1.0, [0.0], [1.0]))
    with pytest.raises(IndexError, match=r"state\(3\): there are 3 break points"):
        free.state(3)
    with pytest.raises(ValueError, match="no sequential variable 'a'; there are: none"):
        free.GetSequentialVariableAtIndex("a", 0)
    with pytest.raises(ValueError, match="input must have 1 variables, not 2"):
        constraint = DirectCollocationConstraint(integrator, context)
        AddDirectCollocationConstraint(
            constraint, free.time_step(0), free.state(0), free.state(1), free.state(0), free.input(1), free.prog()
        )


def test_dynamics_that_are_not_finite_end_the_solve_and_the_program_is_as_before() -> None:
    constraint, _, x = segment()
    x[1] = np.nan
    with pytest.raises(RuntimeError, match=r"The dynamics of system '.*' are not finite at the state"):
        constraint.Eval(x)
