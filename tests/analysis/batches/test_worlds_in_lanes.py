"""Worlds whose steps are taken side by side have the bits that each has alone, whatever the others do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joint_mechanisms import library
from random_plants import RandomPlant

from merganser.analysis import (
    ApplySimulatorConfig,
    BatchEvalTimeDerivatives,
    BatchEvalUniquePeriodicDiscreteUpdate,
    BatchSimulator,
    Simulator,
    SimulatorConfig,
)
from merganser.analysis.batches import batch, batch_simulation, rows_in_lanes
from merganser.analysis.batches.rows_in_lanes import LanesOfModel
from merganser.framework import Context, DiagramBuilder, InputPortSelection
from merganser.geometry import Box, Capsule, Cylinder, Ellipsoid, HalfSpace
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, MultibodyPlant
from merganser.multibody.tree import JointActuatorIndex, PdControllerGains, RevoluteJoint, SpatialInertia

pytest_plugins = ["compile_policy", "steps_side_by_side"]
pytestmark = pytest.mark.usefixtures("compile_at_once", "compiled_loop")

STEP, END, NUM = 0.002, 0.04, 11  # no multiple of a number of lanes
NUM_TIMES = 8
SCHEMES = "explicit_euler", "semi_explicit_euler", "runge_kutta2", "runge_kutta3", "bogacki_shampine3", "runge_kutta5"
OURS = library("ours")


def arm(
    effort: float = np.inf, limit: float = np.inf, is_explicit: bool = False, is_sampled: bool = True,
    step: float = STEP,
) -> Any:  # fmt: skip
    """Three joints in a row, about x and y in turn, with PD controllers."""
    plant = MultibodyPlant(step)
    plant.SetUseSampledOutputPorts(is_sampled and step > 0.0)
    plant.SetUseExplicitVelocityProducts(is_explicit)
    last: Any = plant.world_body()
    for n in range(3):
        link = plant.AddRigidBody(f"link{n}", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.3))
        frame = OURS.FixedOffsetFrame(f"base{n}", last.body_frame(), OURS.RigidTransform(np.array([0.0, 0.0, 0.3])))
        axis = np.eye(3)[n % 2]
        joint = RevoluteJoint(f"joint{n}", plant.AddFrame(frame), link.body_frame(), axis, -limit, limit, 0.1)
        plant.AddJointActuator(f"motor{n}", plant.AddJoint(joint), effort)
        last = link
    for n in range(3):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=60.0, d=2.0))
    plant.Finalize()
    return plant


def set_up(plant: Any, context: Context, index: int, speed: float = 1.0) -> None:
    """States, masses and inputs of a world."""
    rng = np.random.default_rng(index)
    num_q, num_v = plant.num_positions(), plant.num_velocities()
    plant.SetPositions(context, plant.GetDefaultPositions() + 0.3 * rng.normal(size=num_q))
    plant.SetVelocities(context, speed * rng.normal(size=num_v))
    body = plant.get_body(OURS.BodyIndex(plant.num_bodies() - 1))
    body.SetMass(context, rng.uniform(0.5, 2.0))
    plant.get_applied_generalized_force_input_port().FixValue(context, rng.normal(size=num_v))
    for n in range(plant.num_model_instances()):
        port = plant.get_desired_state_input_port(OURS.ModelInstanceIndex(n))
        port.FixValue(context, rng.normal(size=port.size()))


def fixed_steps(length: float, scheme: str = "runge_kutta3") -> SimulatorConfig:
    """Settings of steps of this length [s], without error control."""
    return SimulatorConfig(integration_scheme=scheme, max_step_size=length, use_error_control=False)


def simulator_of(system: Any, context: Context, config: SimulatorConfig | None) -> Simulator:
    """A Simulator with the settings of a batch."""
    start, simulator = context.get_time(), Simulator(system, context)
    if config is not None:
        ApplySimulatorConfig(config, simulator)
        context.SetTime(start)
    return simulator


def assert_as_alone(plant: Any, begin: Any, num: int = NUM, end: float = END, **options: Any) -> None:
    """Compares worlds of a batch with a Simulator for each, bit by bit."""
    batch = BatchSimulator(plant, **options)
    worlds = batch.make_worlds(num, begin)
    batch.advance(worlds, 0.5 * end)  # worlds go on from where they are
    batch.advance(worlds, end)
    for n in range(num):
        context = plant.CreateDefaultContext()
        begin(context, n)
        simulator = simulator_of(plant, context, options.get("config"))
        simulator.AdvanceTo(0.5 * end)
        before = simulator.get_num_steps_taken()
        simulator.AdvanceTo(end)
        mine = worlds.make_context(n)
        np.testing.assert_array_equal(plant.GetPositionsAndVelocities(mine), plant.GetPositionsAndVelocities(context))
        assert (mine.get_time(), worlds.num_steps[n]) == (end, simulator.get_num_steps_taken() - before)


@pytest.mark.parametrize("seed", range(8))
def test_worlds_of_random_trees_are_those_of_simulators(seed: int, ahead: list[Any]) -> None:
    plant = RandomPlant(OURS, seed, STEP, num_joints=6, has_springs=seed % 2 == 1).build()
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n), parallelize=1 + seed % 2)
    assert seed % 2 or max(steps.max() for steps in ahead) > 5  # worlds with springs may part at once


@pytest.mark.parametrize("is_explicit", [False, True])
def test_worlds_with_controllers_are_those_of_simulators(is_explicit: bool, ahead: list[Any]) -> None:
    plant = arm(is_explicit=is_explicit)
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n))
    assert {int(num_steps) for steps in ahead for num_steps in steps} == {10}  # to the end


@pytest.mark.parametrize("first", [0, 1])
def test_worlds_whose_locked_joints_differ_are_those_of_simulators(first: int) -> None:
    """A controller of a locked joint does not act, so that worlds differ in more than what steps read."""
    plant = arm(is_sampled=False)

    def begin(context: Context, n: int) -> None:
        set_up(plant, context, n)
        if n % 2 == first:
            plant.GetJointByName("joint1").Lock(context)

    assert_as_alone(plant, begin, num=4)
    worlds = BatchSimulator(plant).make_worlds(4, begin)
    port = plant.get_generalized_acceleration_output_port()
    alone = [port.Eval(worlds.make_context(n)) for n in range(4)]
    np.testing.assert_array_equal(worlds.eval_output(port), np.transpose(alone))


def test_worlds_without_frames_and_springs_go_side_by_side(ahead: list[Any]) -> None:
    """Some groups of their parameters have no numbers."""
    plant = MultibodyPlant(STEP)
    link = plant.AddRigidBody("link", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.3))
    plant.AddJoint(RevoluteJoint("joint", plant.world_frame(), link.body_frame(), [0.0, 1.0, 0.0]))
    plant.Finalize()
    assert_as_alone(plant, lambda context, n: plant.SetVelocities(context, [0.1 * n]))
    assert max(steps.min() for steps in ahead) > 5


@pytest.mark.parametrize("effort", [4.0, 8.0, 20.0])
@pytest.mark.parametrize("is_explicit", [False, True])
def test_worlds_whose_motors_saturate_stay_side_by_side(effort: float, is_explicit: bool, ahead: list[Any]) -> None:
    plant = arm(effort=effort, is_explicit=is_explicit)
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n, 3.0), end=0.3)
    assert min(steps.min() for steps in ahead) > 70  # of 75 until the middle, and 75 to the end


def arm_with_shapes(seed: int, step: float = STEP) -> Any:
    """Four links with random shapes above a floor, with PD controllers, in a diagram with a SceneGraph; its plant."""
    rng, builder = np.random.default_rng(seed), DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, step)
    plant.SetUseSampledOutputPorts(False)
    last: Any = plant.world_body()
    friction = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(last, OURS.RigidTransform(), HalfSpace(), "floor", friction)
    for n in range(4):
        link = plant.AddRigidBody(f"link{n}", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.3))
        offset = np.array([0.0, 0.0, 0.4 if n == 0 else 0.3])
        frame = plant.AddFrame(OURS.FixedOffsetFrame(f"base{n}", last.body_frame(), OURS.RigidTransform(offset)))
        plant.AddJointActuator(
            f"motor{n}", plant.AddJoint(RevoluteJoint(f"joint{n}", frame, link.body_frame(), np.eye(3)[n % 2])), 30.0
        )
        x, y, z = rng.uniform(0.03, 0.12, 3)
        shape = (Box(x, y, 0.2), Capsule(x, 0.15), Cylinder(x, 0.2), Ellipsoid(x, y, z))[rng.integers(4)]
        X_BG = OURS.RigidTransform(rng.uniform(-0.05, 0.05, 3) + [0.0, 0.0, 0.15])
        plant.RegisterCollisionGeometry(link, X_BG, shape, f"shape{n}", friction)
        last = link
    for n in range(4):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=60.0, d=2.0))
    plant.Finalize()
    return builder.Build(), plant


@pytest.mark.parametrize(("seed", "step"), [(0, STEP), (1, STEP), (2, STEP), (3, STEP), (0, 0.0), (1, 0.0)])
def test_worlds_whose_shapes_do_not_touch_go_side_by_side(seed: int, step: float, ahead: list[Any]) -> None:
    diagram, plant = arm_with_shapes(seed, step)
    config = None if step else fixed_steps(1e-4)
    batch, end, touches = BatchSimulator(diagram, config=config), 0.3, []

    def begin(context: Context, n: int) -> None:
        set_up(plant, plant.GetMyContextFromRoot(context), n)
        if n == 9:  # falls onto the floor
            plant.SetPositions(plant.GetMyContextFromRoot(context), [1.5, 1.0, 0.5, 0.3])

    worlds = batch.make_worlds(NUM, begin)
    batch.advance(worlds, end)
    for n in range(NUM):
        context = diagram.CreateDefaultContext()
        begin(context, n)
        simulator_of(diagram, context, config).AdvanceTo(end)
        mine, alone = (plant.GetMyContextFromRoot(each) for each in (worlds.make_context(n), context))
        np.testing.assert_array_equal(plant.GetPositionsAndVelocities(mine), plant.GetPositionsAndVelocities(alone))
        touches.append(plant.get_contact_results_output_port().Eval(alone).num_point_pair_contacts())
    assert 0 < sum(touches) < NUM
    num_steps = end / (step or config.max_step_size)
    assert max(steps.min() for steps in ahead) > 0.67 * num_steps
    assert min(steps.min() for steps in ahead) < 0.8 * num_steps


@pytest.mark.parametrize("scheme", SCHEMES)
def test_fixed_steps_of_worlds_are_those_of_simulators(scheme: str, ahead: list[Any]) -> None:
    plant = arm(effort=8.0, limit=0.7, step=0.0)  # limits and efforts in some worlds and not in others
    config = fixed_steps(1e-3, scheme)
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n, 3.0), end=0.0405, config=config)
    assert min(steps.min() for steps in ahead) >= 20


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(2, 6))
def test_fixed_steps_of_random_trees_are_those_of_simulators(seed: int, scheme: str, ahead: list[Any]) -> None:
    plant = RandomPlant(OURS, seed, num_joints=6, has_springs=seed % 2 == 1).build()
    config = fixed_steps(1e-4, scheme)
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n), end=0.003, config=config)
    assert seed % 2 or max(steps.max() for steps in ahead) > 10  # worlds with springs or on paths may part


def test_worlds_under_error_control_go_alone(ahead: list[Any]) -> None:
    plant = arm(step=0.0)
    batch = BatchSimulator(plant, config=SimulatorConfig(max_step_size=0.01))
    batch.advance(batch.make_worlds(NUM, lambda context, n: set_up(plant, context, n)), END)
    assert not any(steps.any() for steps in ahead)


def test_worlds_that_part_at_limits_meet_again(ahead: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plant, parts = arm(limit=1.0), []
    run_rows = batch_simulation._run_rows

    def noted(*arguments: Any) -> Any:
        parts.append(len(arguments[2]))
        return run_rows(*arguments)

    monkeypatch.setattr(batch_simulation, "_run_rows", noted)
    assert_as_alone(plant, lambda context, n: set_up(plant, context, n, 3.0), end=0.3)
    assert len(parts) > len(ahead)


@pytest.mark.parametrize("step", [STEP, 0.0])
def test_a_world_that_is_not_finite_leaves_the_bits_of_the_others(step: float, ahead: list[Any]) -> None:
    plant, failures = arm(step=step), {}

    def begin(context: Context, n: int, is_wrong: bool = True) -> None:
        set_up(plant, context, n)
        if n == 2 and is_wrong:
            (context.SetDiscreteState if step else context.SetContinuousState)(np.full(6, np.nan))

    batch = BatchSimulator(plant, config=None if step else fixed_steps(1e-3))
    worlds, right = batch.make_worlds(NUM, begin), batch.make_worlds(NUM, lambda c, n: begin(c, n, False))
    batch.advance(worlds, END, failures=failures)
    batch.advance(right, END)
    assert list(failures) == [2]
    others = np.delete(np.arange(NUM), 2)
    np.testing.assert_array_equal(worlds.states[:, others], right.states[:, others])


def test_worlds_begin_and_end_at_times_of_their_own(ahead: list[Any]) -> None:
    plant = arm()
    context = plant.CreateDefaultContext()
    set_up(plant, context, 0)
    rng = np.random.default_rng(0)
    states, times = rng.normal(size=(6, NUM)), STEP * np.repeat([0.0, 3.0, 4.5], [5, 4, 2])
    together = BatchSimulator(plant, context).simulate(states, END, times=times)
    for n in range(NUM):
        alone = BatchSimulator(plant, context).simulate(states[:, n : n + 1], END, times=times[n : n + 1])
        np.testing.assert_array_equal(together.states[:, n], alone.states[:, 0])
        assert together.num_steps[n] == alone.num_steps[0]
    assert max(steps.max() for steps in ahead) > 5


def test_samples_of_contexts_are_those_of_the_last_step(ahead: list[Any]) -> None:
    plant = arm()
    contexts = [plant.CreateDefaultContext() for _ in range(4)]
    for n, context in enumerate(contexts):
        set_up(plant, context, n)
    alone = [context.Clone() for context in contexts]
    BatchSimulator(plant).advance(contexts, END)
    assert set(ahead[-1].tolist()) == {19}  # of 20, as the last one leaves the sample
    port = plant.get_net_actuation_output_port()
    for one, other in zip(contexts, alone):
        Simulator(plant, other).AdvanceTo(END)
        np.testing.assert_array_equal(port.Eval(one), port.Eval(other))


def test_worlds_follow_gains_that_change_between_batches(ahead: list[Any]) -> None:
    plant = arm()
    context = plant.CreateDefaultContext()
    set_up(plant, context, 0)
    batch, states = BatchSimulator(plant, context), np.random.default_rng(0).normal(size=(6, NUM))
    before = batch.simulate(states, END).states
    plant.get_joint_actuator(JointActuatorIndex(1)).set_controller_gains(PdControllerGains(p=5.0, d=1.0))
    after = batch.simulate(states, END).states
    assert ahead[-1].min() > 5
    assert (after != before).any()
    alone = BatchSimulator(plant, context).simulate(states[:, :1], END).states
    np.testing.assert_array_equal(after[:, :1], alone)


# ---------------------------------------------------------------------- updates from many states


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of a batch of updates have been left to be computed alone, for each batch that went in lanes."""
    found: list[int] = []
    run = LanesOfModel.run
    monkeypatch.setattr(rows_in_lanes, "may_use_compiled", lambda *_arguments: True)
    monkeypatch.setattr(batch, "_ROWS_IF_LOADED", (("sys", 0),))

    def noted(*arguments: Any) -> Any:
        rows = run(*arguments)
        found.append(len(rows))
        return rows

    monkeypatch.setattr(LanesOfModel, "run", noted)
    return found


def updates(plant: Any, context: Context, states: Any, targets: Any, num_steps: int, *, in_lanes: bool) -> Any:
    """States after some steps."""
    port, times = plant.get_desired_state_input_port(OURS.ModelInstanceIndex(1)), np.zeros(states.shape[1])
    with pytest.MonkeyPatch.context() as patch:
        if not in_lanes:
            patch.setattr(batch, "_ROWS_WORTH_LANES", 10**9)
        given = plant, context, times, states, targets, num_steps, port.get_index()
        return BatchEvalUniquePeriodicDiscreteUpdate(*given, parallelize=1)


def evaluate(plant: Any, index: int, states: Any, targets: Any, num_steps: int, *, in_lanes: bool) -> Any:
    """The same in a Context of its own, so many times that compiled code has been looked for more than once."""
    context = plant.CreateDefaultContext()
    set_up(plant, context, index)
    for _ in range(NUM_TIMES):
        found = updates(plant, context, states, targets, num_steps, in_lanes=in_lanes)
    return found


@pytest.mark.parametrize("num_steps", [1, 7])
@pytest.mark.parametrize("is_explicit", [False, True])
def test_updates_side_by_side_are_those_of_each_state(is_explicit: bool, num_steps: int, left: list[int]) -> None:
    plant, rng = arm(is_explicit=is_explicit, is_sampled=False), np.random.default_rng(0)
    states, targets = rng.normal(size=(2, 6, 101))  # no multiple of a number of lanes
    found = evaluate(plant, 0, states, targets, num_steps, in_lanes=True)
    assert 0 < left[-1] < 8  # what fills no block
    np.testing.assert_array_equal(found, evaluate(plant, 0, states, targets, num_steps, in_lanes=False))


def test_updates_that_part_are_made_one_by_one(left: list[int]) -> None:
    """At a limit that some joints are near, most blocks have both; so lanes are given up for a while."""
    plant, rng = arm(limit=1.5, is_sampled=False), np.random.default_rng(0)
    states, targets = rng.normal(size=(2, 6, 101))
    found = evaluate(plant, 0, states, targets, 3, in_lanes=True)
    assert len(left) < NUM_TIMES
    assert min(left) > 50
    np.testing.assert_array_equal(found, evaluate(plant, 0, states, targets, 3, in_lanes=False))


def test_updates_follow_masses_and_gains_that_change(left: list[int]) -> None:
    plant, rng = arm(is_sampled=False), np.random.default_rng(0)
    states, targets = rng.normal(size=(2, 6, 96))
    context, results = plant.CreateDefaultContext(), []
    set_up(plant, context, 0)

    def change_mass() -> None:
        plant.get_body(OURS.BodyIndex(2)).SetMass(context, 7.0)

    def change_gains() -> None:
        plant.get_joint_actuator(JointActuatorIndex(1)).set_controller_gains(PdControllerGains(p=5.0, d=1.0))

    for change in (lambda: None, change_mass, change_gains):
        change()
        for _ in range(NUM_TIMES):
            found = updates(plant, context, states, targets, 1, in_lanes=True)
        np.testing.assert_array_equal(found, updates(plant, context.Clone(), states, targets, 1, in_lanes=False))
        results.append(found)
    assert left[-1] == 0
    assert all((results[k] != results[k + 1]).any() for k in range(2))


def test_an_update_that_fails_says_what_it_says_alone(left: list[int]) -> None:
    plant, rng = arm(is_sampled=False), np.random.default_rng(0)
    states, targets = rng.normal(size=(2, 6, 96))
    expected = evaluate(plant, 0, states, targets, 1, in_lanes=True)
    context = plant.CreateDefaultContext()
    set_up(plant, context, 0)
    for _ in range(NUM_TIMES):
        updates(plant, context, states, targets, 1, in_lanes=True)
    assert left[-1] == 0
    wrong = states.copy()
    wrong[0, 40] = np.nan
    with pytest.raises(RuntimeError, match="finite"):
        updates(plant, context, wrong, targets, 1, in_lanes=True)
    np.testing.assert_array_equal(updates(plant, context, states, targets, 1, in_lanes=True), expected)


# ---------------------------------------------------------------------- time derivatives at many states


def derivatives(plant: Any, context: Context, states: Any, forces: Any, *, in_lanes: bool) -> Any:
    """Time derivatives, so many times that compiled code has been looked for more than once."""
    port = plant.get_applied_generalized_force_input_port().get_index()
    with pytest.MonkeyPatch.context() as patch:
        if not in_lanes:
            patch.setattr(batch, "_ROWS_WORTH_LANES", 10**9)
        given = plant, context, np.zeros(states.shape[1]), states, forces, port
        for _ in range(NUM_TIMES):
            found = BatchEvalTimeDerivatives(*given, parallelize=1)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_side_by_side_are_those_of_each_state(seed: int, left: list[int]) -> None:
    plant, rng = RandomPlant(OURS, seed, num_joints=6, has_springs=seed % 2 == 1).build(), np.random.default_rng(seed)
    num_v = plant.num_velocities()
    positions = plant.GetDefaultPositions()[:, np.newaxis] + 0.3 * rng.normal(size=(plant.num_positions(), 101))
    states, forces = np.vstack([positions, rng.normal(size=(num_v, 101))]), rng.normal(size=(num_v, 101))
    found = derivatives(plant, plant.CreateDefaultContext(), states, forces, in_lanes=True)
    assert seed % 2 or 0 < left[-1] < 50  # what fills no block; springs and paths may part
    expected = derivatives(plant, plant.CreateDefaultContext(), states, forces, in_lanes=False)
    np.testing.assert_array_equal(found, expected)
    context = plant.CreateDefaultContext()
    plant.get_applied_generalized_force_input_port().FixValue(context, forces[:, 7])
    context.SetContinuousState(states[:, 7])
    np.testing.assert_array_equal(found[:, 7], plant.EvalTimeDerivatives(context).CopyToVector())


def test_states_beyond_limits_and_with_saturated_motors_go_side_by_side(left: list[int]) -> None:
    plant, rng = arm(effort=8.0, limit=0.5, step=0.0), np.random.default_rng(0)
    states, forces = rng.normal(size=(6, 96)), rng.normal(size=(3, 96))
    context = plant.CreateDefaultContext()
    desired = plant.get_desired_state_input_port(OURS.ModelInstanceIndex(1))
    desired.FixValue(context, rng.normal(size=6))
    assert 10 < (np.abs(states[:3]) > 0.5).all(axis=0).sum() < 86
    found = derivatives(plant, context, states, forces, in_lanes=True)
    assert left[-1] == 0
    np.testing.assert_array_equal(found, derivatives(plant, context.Clone(), states, forces, in_lanes=False))


def test_derivatives_where_some_shapes_touch_are_those_of_each_state(left: list[int]) -> None:
    (diagram, plant), rng = arm_with_shapes(0, 0.0), np.random.default_rng(0)
    context, states = diagram.CreateDefaultContext(), rng.normal(size=(8, 96))
    states[:4, :16] = np.array([1.5, 1.0, 0.5, 0.3])[:, np.newaxis]  # on the floor
    set_up(plant, plant.GetMyContextFromRoot(context), 0)
    for _ in range(NUM_TIMES):
        given = np.zeros(96), states, np.zeros((0, 96)), InputPortSelection.kNoInput
        found = BatchEvalTimeDerivatives(diagram, context, *given, parallelize=1)
    assert 16 <= left[0] < 96
    for n in range(96):
        context.SetContinuousState(states[:, n])
        np.testing.assert_array_equal(found[:, n], diagram.EvalTimeDerivatives(context).CopyToVector())
