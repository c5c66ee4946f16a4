"""MultibodyPlant.DifferentiateStep against AutoDiffXd, which finds the same numbers by other means, and differences."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from contact_scenes import steps_in_lanes

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.native.compiler.when_to_compile import compiled_at_once
from merganser.geometry import AddContactMaterial, Box, HalfSpace, HeightField, ProximityProperties, Sphere
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.plant.step.sample import UnreadSample
from merganser.multibody.tree import (
    FixedOffsetFrame,
    LinearSpringDamper,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteSpring,
    SpatialInertia,
)

H = 2e-3
APPROXIMATIONS = ["kSap", "kSimilar", "kLagged", "kTamsi"]
EXACT = 1e-9  # relative to the greatest derivative; both texts are exact but for rounding
MOVING = [0.1, 0.2, 0.3, 1.0, 0.5, -0.1]  # w and v of a box that slides

Array = np.ndarray
Fill = Callable[[MultibodyPlant], None]


class Scene(NamedTuple):
    """A diagram of a plant and a SceneGraph; u drives all actuators, and PD controllers hold zero."""

    diagram: Any
    plant: MultibodyPlant


class Slopes(NamedTuple):
    """x+, its derivatives by [x; u], forces of contacts, and their derivatives."""

    x_next: Array
    by_state: Array
    forces: Array
    of_forces: Array


def make_scene(fill: Fill, approximation: str = "kLagged", *, explicit: bool = False) -> Scene:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    plant.set_name("plant")
    plant.set_contact_model(ContactModel.kPoint)
    plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    plant.SetUseExplicitVelocityProducts(explicit)
    fill(plant)
    plant.Finalize()
    # Of default accuracy is 1e-6, which differences would show.
    plant._settings.of_solver()["relative_tolerance"] = 5e-13
    if plant.num_actuators():
        builder.ExportInput(plant.get_actuation_input_port(), "u")
    port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("DefaultModelInstance"))
    if port.size() and any(plant.get_joint_actuator(i).has_controller() for i in plant.GetJointActuatorIndices()):
        builder.ExportInput(port, "x_d")
    return Scene(builder.Build(), plant)


def material() -> ProximityProperties:
    properties = ProximityProperties()
    friction = CoulombFriction(0.5, 0.5)
    AddContactMaterial(dissipation=1.0, point_stiffness=1e4, friction=friction, properties=properties)
    return properties


def add_ground(plant: MultibodyPlant) -> None:
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", material())


def add_body(plant: MultibodyPlant, shape: Any, name: str, mass: float = 1.3) -> Any:
    body = plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(mass, 0.4, 0.3, 0.2))
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, material())
    return body


def pose(rpy: list[float], p: list[float]) -> Array:
    return np.concatenate([RollPitchYaw(*rpy).ToQuaternion().wxyz(), p])


RESTING = pose([0.012, -0.007, 0.3], [0.1, 0.2, 0.0985])  # a box 20 cm high, with a corner in the ground


def context_of(scene: Scene, x: Array, u: Array) -> tuple[Any, Any]:
    """A Context of the diagram, and that of the plant; numbers of any scalar."""
    root = scene.diagram.CreateDefaultContext()
    context = scene.plant.GetMyMutableContextFromRoot(root)
    scene.plant.SetPositionsAndVelocities(context, x)
    for k in range(scene.diagram.num_input_ports()):
        port = scene.diagram.get_input_port(k)
        port.FixValue(root, u if port.get_name() == "u" else np.zeros(port.size()))
    return root, context


def by_call(scene: Scene, x: Array, u: Array) -> Slopes:
    """What the compiled call finds, which the same text in Python finds, too."""
    root, context = context_of(scene, x, u)
    in_python = scene.plant.DifferentiateStep(context)
    with compiled_at_once():
        found = scene.plant.DifferentiateStep(context)
    for mine, other in zip(found, in_python):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-11 * max(1.0, np.abs(other).max(initial=0.0)))
    assert (scene.plant.GetPositionsAndVelocities(context) == x).all()  # nothing has changed
    del root
    return Slopes(found.x_next, np.hstack([found.A, found.B]), found.contact_forces, found.D_contact_forces)


def by_autodiff(scene: Scene, x: Array, u: Array, *, on_values: bool = False) -> Slopes:
    """What a plant of AutoDiffXd finds over lanes, or on values with the compiled call."""
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    plant._settings.of_solver()["relative_tolerance"] = 1e-13
    z = InitializeAutoDiff(np.concatenate([x, u])).ravel()
    root, context = context_of(Scene(diagram, plant), z[: len(x)], z[len(x) :])
    if on_values:
        with compiled_at_once():
            diagram.ExecuteForcedEvents(root)
        assert is_unread(context)
    else:
        with steps_in_lanes():
            diagram.ExecuteForcedEvents(root)
    results = plant.get_contact_results_output_port().Eval(context)
    infos = [results.point_pair_contact_info(i) for i in range(results.num_point_pair_contacts())]
    # The force is that on B, as in pydrake.
    forces = [-np.asarray(info.contact_force()) for info in infos]
    after = plant.GetPositionsAndVelocities(context)
    values = np.array([ExtractValue(f).ravel() for f in forces]).reshape(-1, 3)
    slopes = np.array([ExtractGradient(f) for f in forces]).reshape(-1, 3, len(z))
    return Slopes(ExtractValue(after).ravel(), ExtractGradient(after), values, slopes)


def is_unread(context: Any) -> bool:
    """Whether the last step of a plant of AutoDiffXd was taken on values, and its sample has not been read."""
    return type(context.get_abstract_state(0)._value) is UnreadSample


def check(scene: Scene, x: Array, u: Any = (), num_contacts: int | None = None) -> Slopes:
    """Compares all ways; returns the result of DifferentiateStep."""
    u = np.asarray(u, dtype=float)
    found, expected = by_call(scene, x, u), by_autodiff(scene, x, u)
    for mine, other in zip(by_autodiff(scene, x, u, on_values=True), expected):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-10 * max(1.0, np.abs(other).max(initial=0.0)))
    np.testing.assert_allclose(found.x_next, expected.x_next, atol=1e-11)
    scale = np.abs(expected.by_state).max()
    np.testing.assert_allclose(found.by_state, expected.by_state, atol=EXACT * scale)
    if num_contacts is not None:
        assert len(found.forces) == num_contacts
    if len(found.forces):
        np.testing.assert_allclose(found.forces, expected.forces, atol=1e-9 * max(1.0, np.abs(expected.forces).max()))
        np.testing.assert_allclose(found.of_forces, expected.of_forces, atol=EXACT * np.abs(expected.of_forces).max())
    return found


def check_differences(scene: Scene, x: Array, u: Any = ()) -> None:
    """Central differences of the step come nearer to the derivatives as the square of their step, down to rounding."""
    u = np.asarray(u, dtype=float)
    z, found = np.concatenate([x, u]), by_call(scene, x, u).by_state
    root, context = context_of(scene, x, u)

    def step(numbers: Array) -> Array:
        scene.plant.SetPositionsAndVelocities(context, numbers[: len(x)])
        if len(u):
            scene.diagram.get_input_port(0).FixValue(root, numbers[len(x) :])
        return np.asarray(scene.plant.DifferentiateStep(context).x_next)

    errors = []
    for h in (4e-5, 2e-5, 1e-5):
        slopes = np.array([(step(z + h * e) - step(z - h * e)) / (2.0 * h) for e in np.eye(len(z))]).T
        errors.append(np.abs(slopes - found).max() / np.abs(found).max())
    assert errors[2] < 1e-6
    assert errors[2] < 0.3 * errors[1] < 0.1 * errors[0] or errors[0] < 1e-8


# ---------------------------------------------------------------------- contact


def test_balls_on_a_slope_of_a_height_field_and_beside_each_other() -> None:
    def fill(plant: MultibodyPlant) -> None:
        slope = HeightField(np.tile(np.linspace(-0.2, 0.2, 5), (5, 1)), 2.0, 2.0)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), slope, "slope", material())
        for k in range(2):
            add_body(plant, Sphere(0.1), f"ball{k}")

    scene = make_scene(fill)
    heights = [0.2 * x + 0.0995 * np.hypot(1.0, 0.2) for x in (0.03, 0.2)]
    poses = pose([0.1, 0.2, 0.3], [0.03, 0.02, heights[0]]), pose([0.0, 0.3, 0.1], [0.2, 0.11, heights[1]])
    x = np.concatenate([*poses, MOVING, -np.array(MOVING)])
    found, expected = by_call(scene, x, np.zeros(0)), by_autodiff(scene, x, np.zeros(0))
    assert len(found.forces) == 3
    # Contacts with terrain are followed by differences.
    np.testing.assert_allclose(found.by_state, expected.by_state, atol=1e-6 * np.abs(expected.by_state).max())
    np.testing.assert_allclose(found.of_forces, expected.of_forces, atol=1e-6 * np.abs(expected.of_forces).max())


def two_bodies(plant: MultibodyPlant) -> None:
    add_ground(plant)
    add_body(plant, Box(0.4, 0.3, 0.2), "box")
    add_body(plant, Sphere(0.1), "ball", mass=0.7)


ON_EACH_OTHER = np.concatenate([RESTING, pose([0.1, 0.2, 0.3], [0.12, 0.21, 0.296])])
APART = np.array([*MOVING, 0.3, 0.2, -0.1, -0.4, 0.3, -0.2])


@pytest.mark.parametrize("slip", [1.0, 1e-4], ids=["slides", "sticks"])
@pytest.mark.parametrize("explicit", [False, True], ids=["mean products", "explicit products"])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_all_approximations_have_the_derivatives_of_autodiff(approximation: str, explicit: bool, slip: float) -> None:
    scene = make_scene(two_bodies, approximation, explicit=explicit)
    found = check(scene, np.concatenate([ON_EACH_OTHER, slip * APART]))
    assert len(found.forces) >= 3


@pytest.mark.parametrize("approximation", ["kSap", "kLagged"])
def test_differences_come_nearer_as_their_step_shrinks(approximation: str) -> None:
    check_differences(make_scene(two_bodies, approximation), np.concatenate([ON_EACH_OTHER, APART]))


def one_box(plant: MultibodyPlant) -> None:
    add_ground(plant)
    add_body(plant, Box(0.4, 0.3, 0.2), "box")


def test_a_body_that_flies_and_turns_has_derivatives_without_contact() -> None:
    x = np.concatenate([pose([0.1, 0.2, 0.3], [0.0, 0.0, 2.0]), 5.0 * np.array(MOVING)])
    check(make_scene(one_box), x, num_contacts=0)


def test_a_box_that_rests_on_all_corners_of_a_face_has_derivatives() -> None:
    x = np.concatenate([pose([0.0, 0.0, 0.0], [0.0, 0.0, 0.0995]), np.zeros(6)])
    check(make_scene(one_box), x, num_contacts=4)


def test_a_box_that_leaves_the_ground_has_derivatives() -> None:
    """Dissipation takes away the force of what separates faster than 1/d."""
    found = check(make_scene(one_box), np.concatenate([RESTING, [0.0, 0.0, 0.0, 0.1, 0.0, 3.0]]))
    assert (found.forces == 0.0).all()


def test_a_box_far_from_the_origin_has_the_derivatives_of_one_there() -> None:
    scene, far = make_scene(one_box), np.zeros(13)
    far[4:6] = 1e6
    x = np.concatenate([RESTING, MOVING])
    here, there = (by_call(scene, where, np.zeros(0)).by_state for where in (x, x + far))
    np.testing.assert_allclose(there, here, atol=1e-5 * np.abs(here).max())


def test_a_squeeze_by_two_equal_fingers_has_derivatives() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_body(plant, Box(0.2, 0.2, 0.2), "box", mass=0.3)
        for side in (-1.0, 1.0):
            finger = add_body(plant, Sphere(0.05), f"finger{side}", mass=0.2)
            rail = plant.AddFrame(FixedOffsetFrame(f"rail{side}", plant.world_frame(), RigidTransform()))
            joint = plant.AddJoint(PrismaticJoint(f"slide{side}", rail, finger.body_frame(), [1.0, 0.0, 0.0]))
            plant.AddJointActuator(f"motor{side}", joint)

    x = np.concatenate([[-0.1495, 0.1495], pose([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]), np.zeros(8)])
    check(make_scene(fill), x, [20.0, -20.0], num_contacts=2)


# ---------------------------------------------------------------------- arms


def arm(effort_limit: float = np.inf, friction: float = 0.05) -> Fill:
    """Four joints with dry friction, three of them PD-controlled; its last two links may touch the ground and a box."""

    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        parent = plant.world_body()
        for i, axis in enumerate(([0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0])):
            link = plant.AddRigidBody(f"link{i}", SpatialInertia.SolidBoxWithMass(1.0, 0.06, 0.05, 0.28))
            if i > 1:
                shape = Box(0.06, 0.05, 0.28)
                plant.RegisterCollisionGeometry(link, RigidTransform(), shape, f"link{i}", material())
            height = (0.3, 0.0, -0.15, -0.15)[i]
            inboard = FixedOffsetFrame(f"inboard{i}", parent.body_frame(), RigidTransform([0.0, 0.0, height]))
            outboard = FixedOffsetFrame(f"outboard{i}", link.body_frame(), RigidTransform([0.0, 0.0, 0.15]))
            frames = plant.AddFrame(inboard), plant.AddFrame(outboard)
            joint = plant.AddJoint(RevoluteJoint(f"joint{i}", *frames, axis, -2.0, 2.0, 0.1))
            if i == 1:
                joint.set_default_friction(friction)
            actuator = plant.AddJointActuator(f"motor{i}", joint, effort_limit)
            if i != 3:
                actuator.set_controller_gains(PdControllerGains(p=50.0, d=2.0))
            parent = link
        add_body(plant, Box(0.2, 0.2, 0.1), "box")

    return fill


BESIDE = pose([0.01, -0.007, 0.3], [0.5, 0.2, 0.0495])
ANY = np.linspace(-0.5, 0.5, 10)
POSTURES = {
    "swings": ([0.1, 0.2, 0.5, 0.1], ANY, np.inf),
    "at a limit": ([0.1, 0.2, 1.9999, 0.1], np.array([0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.inf),
    "saturated": ([0.4, 0.2, 0.5, 0.1], ANY, 1.5),
    "in the ground": ([0.1, 0.5, 0.9, 0.1], ANY, np.inf),
}


@pytest.mark.parametrize("posture", POSTURES)
@pytest.mark.parametrize("approximation", ["kSap", "kTamsi"])
def test_limits_friction_and_controllers_have_derivatives(approximation: str, posture: str) -> None:
    q, v, effort_limit = POSTURES[posture]
    x = np.concatenate([q, BESIDE, v])
    found = check(make_scene(arm(effort_limit), approximation), x, [0.1, 0.2, -0.1, 0.3])
    if posture == "saturated":
        assert (found.by_state[:, len(x)] == 0.0).all()  # more feedforward makes no more effort


# ---------------------------------------------------------------------- constraints and springs


def two_boxes(join: Callable[[MultibodyPlant, Any, Any], Any]) -> Fill:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        join(plant, add_body(plant, Box(0.4, 0.3, 0.2), "first"), add_body(plant, Box(0.3, 0.2, 0.2), "second"))

    return fill


JOINED = {
    "distance": lambda plant, A, B: plant.AddDistanceConstraint(A, [0.2, 0.0, 0.0], B, [-0.15, 0.0, 0.0], 0.3),
    "ball": lambda plant, A, B: plant.AddBallConstraint(A, [0.3, 0.0, 0.05], B, [-0.2, 0.0, -0.1]),
    "weld": lambda plant, A, B: plant.AddWeldConstraint(A, RigidTransform([0.5, 0.05, 0.15]), B, RigidTransform()),
}


@pytest.mark.parametrize("kind", JOINED)
def test_constraints_between_bodies_have_derivatives(kind: str) -> None:
    x = np.concatenate([RESTING, pose([0.1, 0.05, 0.2], [0.6, 0.25, 0.25]), APART])
    check(make_scene(two_boxes(JOINED[kind])), x)


def cart(plant: MultibodyPlant) -> list[Any]:
    """A box on the ground with two pendulums on it."""
    add_ground(plant)
    box, joints = add_body(plant, Box(0.4, 0.3, 0.2), "box"), []
    for i in range(2):
        bob = plant.AddRigidBody(f"bob{i}", SpatialInertia.SolidBoxWithMass(0.5, 0.1, 0.1, 0.1))
        place = FixedOffsetFrame(f"place{i}", box.body_frame(), RigidTransform([0.1 * i, 0.0, 0.2]))
        joint = RevoluteJoint(f"joint{i}", plant.AddFrame(place), bob.body_frame(), [0.0, 1.0, 0.0], 0.1)
        joints.append(plant.AddJoint(joint))
        plant.AddJointActuator(f"motor{i}", joint)
    return joints


def test_coupled_joints_have_derivatives() -> None:
    x = np.concatenate([RESTING, [0.3, 0.1], MOVING, [0.4, 0.2]])
    check(make_scene(lambda plant: plant.AddCouplerConstraint(*cart(plant), 1.5, 0.1)), x, [0.1, 0.2])


def test_springs_have_derivatives() -> None:
    def fill(plant: MultibodyPlant) -> None:
        joint, _ = cart(plant)
        bob, world = plant.GetBodyByName("bob0"), plant.world_body()
        plant.AddForceElement(RevoluteSpring(joint, 0.1, 5.0))
        plant.AddForceElement(LinearSpringDamper(world, [0.0, 0.0, 1.0], bob, [0.1, 0.0, 0.1], 0.5, 20.0, 1.0))

    x = np.concatenate([RESTING, [0.3, 0.1], MOVING, [0.4, 0.2]])
    check(make_scene(fill), x, [0.1, 0.2])


# ---------------------------------------------------------------------- along a motion, and refusals


def test_products_of_steps_are_the_derivatives_of_a_slide() -> None:
    """A box slides for fifty steps; how far it comes follows its first velocity as differences say."""
    scene = make_scene(one_box)
    start = np.concatenate([pose([0.0, 0.0, 0.0], [0.0, 0.0, 0.0995]), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])

    def slide(v_x: float) -> tuple[float, Array]:
        x, product = start.copy(), np.eye(len(start))
        x[10] = v_x
        for _ in range(50):
            found = by_call(scene, x, np.zeros(0))
            x, product = found.x_next, found.by_state @ product
        return x[4], product

    _, product = slide(1.0)
    expected = (slide(1.0 + 1e-5)[0] - slide(1.0 - 1e-5)[0]) / 2e-5
    np.testing.assert_allclose(product[4, 10], expected, rtol=1e-5)


def test_continuous_plants_and_plants_of_autodiff_are_refused() -> None:
    for plant in (MultibodyPlant(0.0), MultibodyPlant(H)):
        plant.Finalize()
        if plant.is_discrete():
            plant = plant.ToAutoDiffXd()
        with pytest.raises(RuntimeError, match="must be a discrete plant of floats"):
            plant.DifferentiateStep(plant.CreateDefaultContext())


def test_what_has_no_derivatives_is_refused_by_name() -> None:
    scene = make_scene(arm())
    root, context = context_of(scene, np.concatenate([np.zeros(4), BESIDE, np.zeros(10)]), np.zeros(4))
    scene.plant.GetJointByName("joint3").Lock(context)
    with pytest.raises(RuntimeError, match="plant' has locked joints, of which DifferentiateStep"):
        scene.plant.DifferentiateStep(context)
    scene.plant.GetJointByName("joint3").Unlock(context)
    assert scene.plant.DifferentiateStep(context).A.shape == (21, 21)
    del root


def test_an_input_that_is_no_number_is_refused_as_in_a_step() -> None:
    scene = make_scene(arm())
    _root, context = context_of(
        scene, np.concatenate([np.zeros(4), BESIDE, np.zeros(10)]), np.array([np.nan, 0.0, 0.0, 0.0])
    )
    with pytest.raises(RuntimeError, match="finite"):
        scene.plant.DifferentiateStep(context)


# ---------------------------------------------------------------------- many states, and without a compiler


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_from_many_states_have_the_bits_of_single_ones(threads: int) -> None:
    scene, random = make_scene(arm(), "kSap"), np.random.default_rng(1)
    q, v, _ = POSTURES["in the ground"]
    x = np.concatenate([q, BESIDE, v])[:, np.newaxis] + 1e-3 * random.standard_normal((21, 70))
    x[4:8] /= np.linalg.norm(x[4:8], axis=0)
    u = random.uniform(-1.0, 1.0, (4, 70))
    _root, context = context_of(scene, np.zeros(21) + np.eye(21)[4], np.zeros(4))
    before = scene.plant.GetPositionsAndVelocities(context)
    found = scene.plant.DifferentiateSteps(context, x, u, parallelize=threads)
    assert (scene.plant.GetPositionsAndVelocities(context) == before).all()
    for n in (0, 1, 69):
        one = by_call(scene, x[:, n], u[:, n])
        np.testing.assert_allclose(found.x_next[:, n], one.x_next, rtol=0.0, atol=1e-11)
        slopes = np.hstack([found.A[n], found.B[n]])
        np.testing.assert_allclose(slopes, one.by_state, rtol=0.0, atol=1e-11 * np.abs(one.by_state).max())


def test_states_of_another_shape_are_refused() -> None:
    scene = make_scene(arm())
    _root, context = context_of(scene, np.eye(21)[4], np.zeros(4))
    with pytest.raises(ValueError, match=r"states of shape \(21, N\) and inputs of shape \(4, N\); got \(20, 3\)"):
        scene.plant.DifferentiateSteps(context, np.zeros((20, 3)))
    with pytest.raises(ValueError, match=r"got \(21, 3\) and \(4, 2\)"):
        scene.plant.DifferentiateSteps(context, np.zeros((21, 3)), np.zeros((4, 2)))
    assert scene.plant.DifferentiateSteps(context, np.zeros((21, 0))).A.shape == (0, 21, 21)


PROGRAM = """
import numpy as np
from merganser.framework import DiagramBuilder
from merganser.geometry import Box, HalfSpace, ProximityProperties
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel
from merganser.multibody.tree import SpatialInertia

builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, 2e-3)
plant.set_contact_model(ContactModel.kPoint)
plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", ProximityProperties())
box = plant.AddRigidBody("box", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
plant.RegisterCollisionGeometry(box, RigidTransform(), Box(0.1, 0.1, 0.1), "box", ProximityProperties())
plant.Finalize()
diagram = builder.Build()
x = np.array([1.0, 0.01, 0.02, 0.0, 0.0, 0.0, 0.0499, 0.1, 0.2, 0.3, 0.5, 0.0, -0.1])
context = plant.GetMyContextFromRoot(root := diagram.CreateDefaultContext())
plant.SetPositionsAndVelocities(context, x)
print(*plant.DifferentiateStep(context).A.ravel())
diagram = diagram.ToAutoDiffXd()
plant = diagram.GetSubsystemByName("plant")
context = plant.GetMyMutableContextFromRoot(root := diagram.CreateDefaultContext())
plant.SetPositionsAndVelocities(context, InitializeAutoDiff(x).ravel())
diagram.ExecuteForcedEvents(root)
print(*ExtractGradient(plant.GetPositionsAndVelocities(context)).ravel())
"""


def test_derivatives_without_a_compiler_are_those_of_compiled_code() -> None:
    def run(disabled: str) -> Array:
        command, environment = [sys.executable, "-c", PROGRAM], {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return np.array(done.stdout.split(), dtype=float)

    interpreted = run("1")
    assert interpreted.size == 2 * 13 * 13
    np.testing.assert_allclose(interpreted, run("0"), rtol=0.0, atol=1e-6)
