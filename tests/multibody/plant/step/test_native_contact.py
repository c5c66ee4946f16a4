"""Steps with contact, limits, constraints and PD controllers in the native plan: as in Python, to the last bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, PrintSimulatorStatistics, Simulator, Simulator_
from merganser.framework import Context, DiagramBuilder, EventStatus, LeafSystem
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantVectorSource, LogVectorOutput, Sine
from merganser.geometry import (
    AddContactMaterial,
    Box,
    CollisionFilterDeclaration,
    CollisionFilterScope,
    GeometryInstance,
    GeometrySet,
    HalfSpace,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import (
    BodyIndex,
    FixedOffsetFrame,
    JointActuatorIndex,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
)

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

WAYS = ("never", "always")
TIME_STEP = 0.002


class Scene(NamedTuple):
    """A diagram with a plant, and the Context of the plant in a Simulator of it."""

    simulator: Simulator
    plant: MultibodyPlant
    scene_graph: SceneGraph
    context: Context
    log: Any

    def geometries(self, body: str) -> GeometrySet:
        return GeometrySet(self.plant.GetCollisionGeometriesForBody(self.plant.GetBodyByName(body)))


def add_bodies(plant: MultibodyPlant, has_single_point: bool = False) -> None:
    """Two boxes and a ball over the ground, and an arm that presses on one of them.

    Args:
        plant: gets the bodies.
        has_single_point: whether the upper box touches others at one point.
    """
    material = ProximityProperties()
    AddContactMaterial(properties=material, friction=CoulombFriction(0.7, 0.6))
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material)
    things = plant.AddModelInstance("things")
    for name in ("lower", "upper"):
        body = plant.AddRigidBody(name, things, SpatialInertia.SolidBoxWithMass(0.8, 0.2, 0.2, 0.1))
        own = ProximityProperties(material)
        own.AddProperty("material", "single_contact_point", has_single_point and name == "upper")
        plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.2, 0.2, 0.1), "box", own)
    ball = plant.AddRigidBody("ball", things, SpatialInertia.SolidSphereWithMass(0.3, 0.07))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.07), "ball", material)
    arm, free = plant.AddModelInstance("arm"), plant.AddModelInstance("free")
    inertia = SpatialInertia.SolidSphereWithMass(1.0, 0.05).Shift(np.array([0.0, 0.0, 0.5]))
    link, hand = plant.AddRigidBody("link", arm, inertia), plant.AddRigidBody("hand", arm, inertia)
    plant.RegisterCollisionGeometry(hand, RigidTransform([0.0, 0.0, -0.5]), Sphere(0.05), "hand", material)
    mount = plant.AddFrame(FixedOffsetFrame("mount", plant.world_frame(), RigidTransform([0.8, 0.0, 1.0])))
    shoulder = plant.AddJoint(
        RevoluteJoint("shoulder", mount, link.body_frame(), np.array([0.0, 1.0, 0.0]), -1.5, 1.5, 0.1)
    )
    elbow = plant.AddJoint(
        PrismaticJoint("elbow", link.body_frame(), hand.body_frame(), np.array([0.0, 0.0, 1.0]), -0.3, 0.25, 0.2)
    )
    slider = plant.AddRigidBody("slider", free, SpatialInertia.SolidSphereWithMass(0.5, 0.1))
    rail = plant.AddJoint(
        PrismaticJoint("rail", plant.world_frame(), slider.body_frame(), np.array([1.0, 0.0, 0.0]), -0.02, 0.02)
    )
    for joint, limit in ((shoulder, 6.0), (elbow, np.inf), (rail, 3.0)):
        plant.AddJointActuator(joint.name(), joint, limit)
    plant.get_joint_actuator(JointActuatorIndex(0)).set_controller_gains(PdControllerGains(p=60.0, d=4.0))
    plant.get_joint_actuator(JointActuatorIndex(1)).set_controller_gains(PdControllerGains(p=200.0, d=9.0))


class Watcher(LeafSystem):
    """Calls a function with the root context at a time, from a publish event in Python."""

    def __init__(self, time: float, act: Callable[[], None]) -> None:
        super().__init__()
        self.DeclarePeriodicPublishEvent(0.01, 0.0, self.look)
        self._time, self._act, self._is_done = time, act, False

    def look(self, context: Context) -> EventStatus:
        if context.get_time() >= self._time and not self._is_done:
            self._is_done = True
            self._act()
        return EventStatus.Succeeded()


def make_scene(
    way: str, approximation: str = "kLagged", sampled: bool = True, constraint: bool = False,
    watch: Callable[[], None] | None = None, has_single_point: bool = False, anchored: bool = False,
) -> Scene:  # fmt: skip
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.SetUseSampledOutputPorts(sampled)
    plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    add_bodies(plant, has_single_point)
    if constraint:
        plant.AddDistanceConstraint(
            plant.GetBodyByName("ball"), np.zeros(3), plant.GetBodyByName("upper"), np.array([0.1, 0.1, 0.05]), 0.3
        )
    plant.Finalize()
    if anchored:
        wall, properties = GeometryInstance(RigidTransform([5.0, 0.0, 5.0]), Sphere(0.1), "wall"), ProximityProperties()
        AddContactMaterial(properties=properties, friction=CoulombFriction(0.7, 0.6))
        wall.set_proximity_properties(properties)
        scene_graph.RegisterAnchoredGeometry(scene_graph.RegisterSource("others"), wall)
    for name, system, port in (
        ("desired", ConstantVectorSource(np.array([-0.9, 0.1, 0.0, 0.0])),
         plant.get_desired_state_input_port(plant.GetModelInstanceByName("arm"))),
        ("shake", Sine(np.array([5.0]), np.array([9.0]), np.zeros(1)),
         plant.get_actuation_input_port(plant.GetModelInstanceByName("free"))),
    ):  # fmt: skip
        builder.AddNamedSystem(name, system)
        builder.Connect(system.get_output_port(0), port)
    log = LogVectorOutput(plant.get_state_output_port(), builder, 0.01)
    if watch is not None:
        builder.AddNamedSystem("watcher", Watcher(0.1, watch))
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(way == "always", at_once=True)
    if way == "never":
        plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for name, p in (("lower", [0, 0, 0.06]), ("upper", [0.03, 0.02, 0.17]), ("ball", [0.15, 0.0, 0.09])):
        plant.SetFreeBodyPose(context, plant.GetBodyByName(name), RigidTransform(np.array(p, float)))
    plant.SetVelocities(context, np.random.default_rng(2).uniform(-0.2, 0.2, plant.num_velocities()))
    return Scene(simulator, plant, scene_graph, context, log)


def results(scene: Scene) -> list[Any]:
    plant, context = scene.plant, scene.context
    contacts = plant.get_contact_results_output_port().Eval(context)
    infos = [contacts.point_pair_contact_info(i) for i in range(contacts.num_point_pair_contacts())]
    things = plant.GetModelInstanceByName("things")
    return [
        plant.GetPositionsAndVelocities(context),
        scene.log.FindLog(scene.simulator.get_context()).data().copy(),
        np.array([[*info.contact_force(), *info.contact_point(), info.slip_speed()] for info in infos]),
        plant.get_generalized_contact_forces_output_port(things).Eval(context),
        plant.get_net_actuation_output_port().Eval(context),
        np.array([F.get_coeffs() for F in plant.get_reaction_forces_output_port().Eval(context)]),
        plant.get_generalized_acceleration_output_port().Eval(context),
    ]


def compare(run: Callable[[Scene], None], **options: Any) -> list[Scene]:
    """Runs a scene both ways; the results must be equal, and the steps compiled one way and not the other."""
    found, scenes = [], []
    for way in WAYS:
        scene = make_scene(way, **options)
        run(scene)
        calls = scene.plant._dynamics.native.num_calls
        found.append(results(scene))
        steps = round(scene.context.get_time() / TIME_STEP)
        assert (calls < 0.3 * steps) == (way == "always"), calls
        scenes.append(scene)
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)
    return scenes


def in_two_parts(scene: Scene) -> None:
    scene.simulator.AdvanceTo(0.2)
    scene.plant.get_contact_results_output_port().Eval(scene.context)
    scene.simulator.AdvanceTo(0.5)


@pytest.mark.parametrize("approximation", ["kTamsi", "kSap", "kSimilar", "kLagged"])
def test_steps_with_contact_are_the_same_in_the_plan(approximation: str) -> None:
    _, native = compare(in_two_parts, approximation=approximation)
    contacts = native.plant.get_contact_results_output_port().Eval(native.context)
    assert contacts.num_point_pair_contacts() >= 6
    rail = native.plant.GetJointByName("rail").get_translation(native.context)
    assert abs(rail) < 0.0205


def test_pairs_of_one_point_are_the_same_in_the_plan() -> None:
    _, native = compare(in_two_parts, has_single_point=True)
    upper = native.plant.GetBodyByName("upper").index()
    contacts = native.plant.get_contact_results_output_port().Eval(native.context)
    infos = [contacts.point_pair_contact_info(i) for i in range(contacts.num_point_pair_contacts())]
    others = [{info.bodyA_index(), info.bodyB_index()} - {upper} for info in infos]
    touched = [other for other in others if len(other) == 1]
    assert touched
    assert all(touched.count(other) == 1 for other in touched)
    assert len(touched) < len(infos)


def test_live_output_ports_follow_a_compiled_step() -> None:
    compare(in_two_parts, sampled=False)


def test_arrays_that_are_too_small_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merganser.multibody.plant.step.step_buffers._FIRST_CANDIDATES", 0)
    monkeypatch.setattr("merganser.multibody.plant.step.step_buffers._FIRST_CONTACTS", 0)
    _, native = compare(in_two_parts)
    assert native.plant._dynamics.native.num_calls >= 2


def test_constraints_are_kept_and_switched_off() -> None:
    def run(scene: Scene) -> None:
        plant, (id,) = scene.plant, scene.plant.GetConstraintIds()
        scene.simulator.AdvanceTo(0.2)
        upper, ball = (plant.GetBodyByName(name).EvalPoseInWorld(scene.context) for name in ("upper", "ball"))
        distances.append(np.linalg.norm(upper @ np.array([0.1, 0.1, 0.05]) - ball.translation()))
        plant.SetConstraintActiveStatus(scene.context, id, False)
        scene.simulator.AdvanceTo(0.4)

    distances: list[Any] = []
    compare(run, constraint=True)
    np.testing.assert_allclose(distances, 0.3, atol=1e-3)


def test_changes_of_model_and_context_between_advances_enter() -> None:
    def run(scene: Scene) -> None:
        plant, simulator, context = scene.plant, scene.simulator, scene.context
        simulator.AdvanceTo(0.1)
        before = results(scene)[2]
        plant.set_stiction_tolerance(0.02)
        np.testing.assert_array_equal(results(scene)[2], before)  # of the last step
        simulator.AdvanceTo(0.15)
        plant.get_joint_actuator(JointActuatorIndex(0)).set_controller_gains(PdControllerGains(p=90.0, d=2.0))
        simulator.AdvanceTo(0.2)
        plant.get_joint_actuator(JointActuatorIndex(2)).set_effort_limit(1.0)
        plant.GetBodyByName("upper").SetMass(context, 2.0)
        simulator.AdvanceTo(0.25)
        graph = scene.scene_graph.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        source = plant.get_source_id()
        (ball,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("ball"))
        scene.scene_graph.RemoveGeometry(graph, source, ball)
        simulator.AdvanceTo(0.4)

    _, native = compare(run)
    assert native.plant.EvalBodyPoseInWorld(native.context, native.plant.GetBodyByName("ball")).translation()[2] < 0.0


def test_a_filter_that_a_python_event_sets_holds_from_the_next_step_on() -> None:
    scenes: list[Scene] = []

    def watch() -> None:
        scene = scenes[-1]
        graph = scene.scene_graph.GetMyMutableContextFromRoot(scene.simulator.get_mutable_context())
        declaration = CollisionFilterDeclaration(CollisionFilterScope.kAll)
        declaration.ExcludeBetween(scene.geometries("ball"), scene.geometries("world"))
        scene.scene_graph.collision_filter_manager(graph).Apply(declaration)

    def run(scene: Scene) -> None:
        scenes.append(scene)
        scene.simulator.AdvanceTo(0.3)

    _, native = compare(run, watch=watch)
    assert native.plant.EvalBodyPoseInWorld(native.context, native.plant.GetBodyByName("ball")).translation()[2] < 0.05


def test_controllers_without_desired_state_are_disarmed_in_the_plan() -> None:
    found = []
    for way in WAYS:
        builder = DiagramBuilder()
        plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
        add_bodies(plant)
        plant.Finalize()
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(way == "always", at_once=True)
        if way == "never":
            plant._dynamics.native.resolve = lambda context: None  # type: ignore[method-assign]
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.SetVelocities(context, np.linspace(-0.2, 0.3, plant.num_velocities()))
        simulator.AdvanceTo(0.02)
        disarmed = plant.get_net_actuation_output_port().Eval(context)
        plant.get_desired_state_input_port(plant.GetModelInstanceByName("arm")).FixValue(context, [-0.9, 0.1, 0, 0])
        simulator.AdvanceTo(0.04)
        armed = plant.get_net_actuation_output_port().Eval(context)
        assert not disarmed.any() and armed.any()
        found.append([*plant.GetPositionsAndVelocities(context), *armed])
    np.testing.assert_array_equal(found[1], found[0])


def test_locked_joints_are_left_to_python_and_are_at_rest() -> None:
    found = []
    for way in WAYS:
        scene = make_scene(way)
        scene.plant.GetJointByName("shoulder").Lock(scene.context)
        scene.simulator.AdvanceTo(0.1)
        assert scene.plant.GetJointByName("shoulder").get_angular_rate(scene.context) == 0.0
        found.append(results(scene))
    for python, native in zip(*found):
        np.testing.assert_array_equal(native, python)


def test_a_force_that_is_not_a_number_raises_the_same_error_and_changes_nothing() -> None:
    messages = []
    for way in WAYS:
        scene = make_scene(way)
        scene.simulator.AdvanceTo(0.05)
        x = scene.plant.GetPositionsAndVelocities(scene.context)
        source = scene.simulator.get_system().GetSubsystemByName("desired")
        parameters = source.GetMyContextFromRoot(scene.simulator.get_mutable_context()).get_mutable_numeric_parameter(0)
        parameters[1] = np.nan
        with pytest.raises(RuntimeError) as error:
            scene.simulator.AdvanceTo(0.1)
        np.testing.assert_array_equal(scene.plant.GetPositionsAndVelocities(scene.context), x)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "desired_state" in messages[0]


def test_results_of_the_last_step_outlast_one_that_fails_in_the_same_advance() -> None:
    scenes: list[Scene] = []

    def spoil() -> None:
        simulator = scenes[-1].simulator
        source = simulator.get_system().GetSubsystemByName("desired")
        context = source.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        context.get_mutable_numeric_parameter(0)[1] = np.nan

    for way in WAYS:
        scenes.append(make_scene(way, watch=spoil))
        with pytest.raises(RuntimeError, match="desired_state"):
            scenes[-1].simulator.AdvanceTo(0.3)
    python, native = map(results, scenes)
    assert len(python[2]) >= 4
    for expected, found in zip(python, native):
        np.testing.assert_array_equal(found, expected)


def test_geometry_of_others_than_the_plant_is_left_to_python() -> None:
    scene = make_scene("always")
    assert scene.plant._dynamics.native.resolve(scene.context) is not None
    builder = DiagramBuilder()
    plant, scene_graph = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    other = scene_graph.RegisterSource("other")
    add_bodies(plant)
    material = ProximityProperties()
    AddContactMaterial(properties=material, friction=CoulombFriction(0.5, 0.5))
    wall = GeometryInstance(RigidTransform([0.0, 0.4, 0.0]), Box(1.0, 0.1, 1.0), "wall")
    wall.set_proximity_properties(material)
    scene_graph.RegisterAnchoredGeometry(other, wall)
    plant.Finalize()
    for instance in ("arm", "free"):
        index = plant.GetModelInstanceByName(instance)
        port = (
            plant.get_actuation_input_port(index) if instance == "free" else plant.get_desired_state_input_port(index)
        )
        source = builder.AddSystem(ConstantVectorSource(np.zeros(port.size())))
        builder.Connect(source.get_output_port(), port)
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(True, at_once=True)
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    assert plant._dynamics.native.resolve(context) is None
    simulator.AdvanceTo(0.01)
    assert plant._dynamics.native.num_calls >= 5


def pendulum_with_limits() -> MultibodyPlant:
    """A link upside down that falls to one of its limits; nothing of it can touch."""
    plant = MultibodyPlant(TIME_STEP)
    plant.SetUseSampledOutputPorts(False)
    link = plant.AddRigidBody("link", SpatialInertia.SolidSphereWithMass(1.0, 0.05).Shift(np.array([0.0, 0.0, 0.5])))
    axis = np.array([0.0, 1.0, 0.0])
    plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), link.body_frame(), axis, -0.5, 0.4))
    plant.Finalize()
    return plant


def test_a_simulation_is_in_python_for_the_first_step_at_a_joint_limit_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merganser.framework.native.compiler.when_to_compile.OptionalCode.is_kept", lambda _code: False)
    found, num_calls = [], []
    for way in WAYS:
        plant = pendulum_with_limits()
        simulator = Simulator(plant)
        simulator.set_use_native_plan(way == "always", at_once=True)
        plant.SetPositionsAndVelocities(simulator.get_mutable_context(), [0.3, 2.0])
        simulator.AdvanceTo(1.0)
        found.append(plant.GetPositionsAndVelocities(simulator.get_context()))
        num_calls.append(plant._dynamics.native.num_calls)
    np.testing.assert_array_equal(found[1], found[0])
    assert num_calls[0] == 500 and num_calls[1] < 8


@pytest.mark.parametrize("num_threads", [1, 2])
def test_simulations_of_a_batch_that_reach_joint_limits_stay_in_their_lane(
    num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = pendulum_with_limits()
    starts = np.array([np.linspace(-0.4, 0.3, 8), np.linspace(2.0, -1.0, 8)])
    expected = np.empty_like(starts)
    for start, end in zip(starts.T, expected.T):
        simulator = Simulator(plant)
        simulator.set_use_native_plan(False)
        plant.SetPositionsAndVelocities(simulator.get_mutable_context(), start)
        simulator.AdvanceTo(1.0)
        end[:] = plant.GetPositionsAndVelocities(simulator.get_context())
    assert np.all(np.abs(expected[0]) < 0.52)  # all have fallen to a limit

    monkeypatch.setenv("MERGANSER_PLAN", "always")
    monkeypatch.setattr("merganser.framework.native.compiler.when_to_compile.OptionalCode.is_kept", lambda _code: True)
    monkeypatch.setattr("merganser.analysis.batches.batch_simulation._WORTH_A_THREAD", 1e-9)
    alone: list[int] = []
    monkeypatch.setattr(BatchSimulator, "_simulate_alone", lambda _batch, _work, index: alone.append(index))
    batch = BatchSimulator(plant, parallelize=num_threads)
    np.testing.assert_array_equal(batch.simulate(starts, 1.0).states, expected)
    assert not alone


def test_the_operation_of_a_plant_is_made_once_for_a_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = pendulum_with_limits()
    simulator, codes = Simulator(plant), []
    resolve = plant._dynamics.native.resolve
    monkeypatch.setattr(
        plant._dynamics.native, "resolve", lambda context: codes.append(resolve(context)) or codes[-1]
    )
    simulator.set_use_native_plan(True, at_once=True)
    simulator.AdvanceTo(0.1)
    assert plant._dynamics.native.num_calls < 5
    assert len([code for code in codes if code is not None]) <= 2  # to see whether a plan pays, and for the plan


def test_statistics_say_why_python_takes_the_steps_of_a_plant(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(simulator: Any) -> str:
        PrintSimulatorStatistics(simulator)
        return next((line for line in capsys.readouterr().out.splitlines() if " in Python: " in line), "")

    scene = make_scene("always")
    scene.simulator.AdvanceTo(0.02)
    assert said(scene.simulator) == ""
    scene.simulator.set_use_native_plan(False)
    scene.simulator.AdvanceTo(0.04)
    assert re.match("::Diagram::plant: 10 steps in Python: no compiled loop has taken them", said(scene.simulator))
    with monkeypatch.context() as patch:
        patch.setattr("merganser.framework.native.compiler.when_to_compile.OptionalCode.is_kept", lambda _code: False)
        assert said(scene.simulator).endswith(": its step has not been compiled yet.")
    scene.plant.get_applied_spatial_force_input_port().FixValue(scene.context, [])
    scene.simulator.AdvanceTo(0.06)
    assert re.match("::Diagram::plant: 20 steps in Python: spatial forces or speeds", said(scene.simulator))
    gradients = Simulator_[AutoDiffXd](scene.simulator.get_system().ToAutoDiffXd())
    plant = gradients.get_system().GetSubsystemByName("plant")
    mine = plant.GetMyMutableContextFromRoot(gradients.get_mutable_context())
    plant.get_body(BodyIndex(1)).SetMass(mine, AutoDiffXd(1.0, [1.0]))  # of which the compiled step has no derivatives
    gradients.AdvanceTo(0.002)
    assert said(gradients).endswith(": compiled code takes floats only.")


def test_statistics_say_that_geometries_of_others_leave_steps_to_python(capsys: pytest.CaptureFixture[str]) -> None:
    scene = make_scene("always", anchored=True)
    scene.simulator.AdvanceTo(0.02)
    PrintSimulatorStatistics(scene.simulator)
    assert "::plant: 10 steps in Python: its SceneGraph has geometries of other systems.\n" in capsys.readouterr().out
