"""Derivatives of dynamics with contact, limits, constraints and controllers, against differences of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import FirstOrderTaylorApproximation
from merganser.geometry import (
    AddContactMaterial,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
    ExternallyAppliedSpatialForce,
    MultibodyPlant,
)
from merganser.multibody.plant.scalars import lanes as derivative_lanes
from merganser.multibody.tree import (
    JointIndex,
    ModelInstanceIndex,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    SpatialInertia,
)

H = 2e-3
APPROXIMATIONS = ["kSap", "kSimilar", "kLagged", "kTamsi"]
EXACT = 1e-7  # relative to the greatest derivative; differences are good to about 1e-8

Array = np.ndarray


class Scene(NamedTuple):
    """A diagram of a plant and a SceneGraph.

    Attributes:
        diagram: around both.
        plant: of floats.
    """

    diagram: Any
    plant: MultibodyPlant


def material(friction: float = 0.5, stiffness: float = 1e4) -> ProximityProperties:
    properties = ProximityProperties()
    AddContactMaterial(
        dissipation=1.0,
        point_stiffness=stiffness,
        friction=CoulombFriction(friction, friction),
        properties=properties,
    )
    return properties


def make_scene(
    fill: Callable[[MultibodyPlant], None], approximation: str = "kSap", time_step: float = H, sampled: bool = True
) -> Scene:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    plant.set_name("plant")
    plant.set_contact_model(ContactModel.kPoint)
    if time_step > 0.0:
        plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
        plant.SetUseSampledOutputPorts(sampled)
    fill(plant)
    plant.Finalize()
    if time_step > 0.0:
        # Of default accuracy is 1e-6, which differences would show; rounding is 1e-13 and more.
        plant._settings.of_solver()["relative_tolerance"] = 5e-13
    if plant.num_actuated_dofs():
        builder.ExportInput(plant.get_actuation_input_port(), "u")
    for instance in range(plant.num_model_instances()):
        port = plant.get_desired_state_input_port(ModelInstanceIndex(instance))
        if port.size() and any(plant.get_joint_actuator(i).has_controller() for i in plant.GetJointActuatorIndices()):
            builder.ExportInput(port, "x_d")
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return Scene(builder.Build(), plant)


def add_ground(plant: MultibodyPlant, shape: Any = None) -> None:
    X_WG = RigidTransform() if shape is None else RigidTransform([0.0, 0.0, -0.5])
    plant.RegisterCollisionGeometry(plant.world_body(), X_WG, shape or HalfSpace(), "ground", material())


def add_body(plant: MultibodyPlant, shape: Any, name: str = "body", mass: float = 1.3) -> Any:
    body = plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(mass, 0.4, 0.3, 0.2))
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, material())
    return body


def state_of(rpy: list[float], p: list[float], velocities: list[float]) -> Array:
    return np.concatenate([RollPitchYaw(*rpy).ToQuaternion().wxyz(), p, velocities])


# ---------------------------------------------------------------------- steps of floats and of AutoDiffXd


Prepare = Callable[[Any, Any, Any, Array], None]  # a diagram, its plant, its context, and the numbers that vary


def set_state(diagram: Any, plant: Any, context: Any, z: Array) -> None:
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), z)


def advance(diagram: Any, plant: Any, context: Any, prepare: Prepare, z: Array, num_steps: int = 1) -> Array:
    """The state after some steps, or the derivatives of a continuous plant."""
    prepare(diagram, plant, context, z)
    if plant.time_step() == 0.0:
        derivatives = diagram.EvalTimeDerivatives(context).CopyToVector()
        return np.asarray(derivatives)
    for _ in range(num_steps):
        diagram.ExecuteForcedEvents(context)
    return np.asarray(plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context)))


def by_differences(f: Callable[[Array], Array], z: Array, step: float = 1e-6) -> Array:
    """Central differences of fourth order."""
    near, far = (
        np.array([(f(z + h * e) - f(z - h * e)) / (2.0 * h) for e in np.eye(len(z))]).T for h in (step, 2.0 * step)
    )
    return (4.0 * near - far) / 3.0


def check_derivatives(
    scene: Scene, z: Array, prepare: Prepare = set_state, num_steps: int = 1, rtol: float = EXACT, step: float = 1e-6
) -> Array:
    """Compares values and derivatives of steps by all of z; returns the derivatives."""
    context = scene.diagram.CreateDefaultContext()

    def f(numbers: Array) -> Array:
        return advance(scene.diagram, scene.plant, context, prepare, numbers, num_steps)

    expected, differences = f(z), by_differences(f, z, step)
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    if plant.time_step() > 0.0:
        plant._settings.of_solver()["relative_tolerance"] = 1e-13
    variables = InitializeAutoDiff(z).ravel()
    found = advance(diagram, plant, diagram.CreateDefaultContext(), prepare, variables, num_steps)
    np.testing.assert_allclose(ExtractValue(found).ravel(), expected, atol=1e-9 * max(1.0, np.abs(expected).max()))
    gradient: Array = ExtractGradient(found)
    np.testing.assert_allclose(gradient, differences, atol=rtol * max(1.0, np.abs(differences).max()))
    return gradient


SHAPES = {
    "sphere": (Sphere(0.1), [0.1, -0.2, 0.3], 0.0985),
    "box on a face": (Box(0.4, 0.3, 0.2), [0.012, -0.007, 0.3], 0.0985),
    "box on a corner": (Box(0.4, 0.3, 0.2), [0.5, 0.6, 0.3], 0.2427),
    "capsule": (Capsule(0.1, 0.3), [np.pi / 2.0 + 0.004, 0.003, 0.2], 0.0985),
    "cylinder on its side": (Cylinder(0.1, 0.3), [np.pi / 2.0 + 0.004, 0.003, 0.2], 0.0985),
    "cylinder on its rim": (Cylinder(0.1, 0.3), [0.5, 0.2, 0.2], 0.18),
    "ellipsoid": (Ellipsoid(0.1, 0.15, 0.2), [0.5, 0.3, 0.2], 0.1725),
}


@pytest.mark.parametrize("ground", [None, Box(4.0, 4.0, 1.0)], ids=["half space", "box"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_step_has_derivatives_by_the_state_for_all_shapes(name: str, ground: Any) -> None:
    shape, rpy, height = SHAPES[name]

    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant, ground)
        add_body(plant, shape)

    x = state_of(rpy, [0.1, 0.2, height], [0.1, 0.2, 0.3, 1.0, 0.5, -0.1])
    gradient = check_derivatives(make_scene(fill), x)
    assert np.abs(gradient[-1, 6]) > 1.0  # it does touch: the deeper, the faster up


@pytest.mark.parametrize("slip", [1.0, 1e-4], ids=["slides", "sticks"])
@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_all_approximations_have_derivatives(approximation: str, slip: float) -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        box = add_body(plant, Box(0.4, 0.3, 0.2), "box")
        ball = add_body(plant, Sphere(0.1), "ball", mass=0.7)
        assert box.index() != ball.index()

    scene = make_scene(fill, approximation)
    q_box = state_of([0.012, -0.007, 0.3], [0.1, 0.2, 0.0985], [])
    q_ball = state_of([0.1, 0.2, 0.3], [0.12, 0.21, 0.296], [])  # on the box
    v = slip * np.array([0.1, 0.2, 0.3, 1.0, 0.5, -0.1, 0.3, 0.2, -0.1, -0.4, 0.3, -0.2])
    check_derivatives(scene, np.concatenate([q_box, q_ball, v]))


def test_bodies_that_just_fly_have_derivatives_without_contact() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, Sphere(0.1))

    check_derivatives(make_scene(fill), state_of([0.1, 0.2, 0.3], [0.0, 0.0, 1.0], [0.1, 0.2, 0.3, 1.0, 0.5, -0.1]))


@pytest.mark.parametrize("shape", [Sphere(0.1), Box(0.4, 0.3, 0.2)], ids=["sphere", "box"])
def test_forces_of_contact_in_continuous_time_have_derivatives(shape: Any) -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, shape)

    x = state_of([0.012, -0.007, 0.02], [0.1, 0.2, 0.0985], [0.1, 0.2, 0.3, 1.0, 0.5, -0.1])
    gradient = check_derivatives(make_scene(fill, time_step=0.0), x)
    assert np.abs(gradient).max() > 1e3


# ---------------------------------------------------------------------- parameters and inputs


def add_pusher(plant: MultibodyPlant) -> None:
    """A box on the ground, which an actuated slider pushes."""
    add_ground(plant)
    add_body(plant, Box(0.4, 0.3, 0.2), "box")
    pusher = add_body(plant, Sphere(0.05), "pusher", mass=0.5)
    X_WJ = RigidTransform([-0.3, 0.02, 0.12])
    joint = PrismaticJoint("slide", plant.AddFrame(fixed_frame(plant, X_WJ)), pusher.body_frame(), [1.0, 0.0, 0.0])
    plant.AddJointActuator("motor", plant.AddJoint(joint))


def fixed_frame(plant: MultibodyPlant, X_WF: RigidTransform) -> Any:
    from merganser.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame("rail", plant.world_frame(), X_WF)


PUSHED = np.concatenate(
    [[0.0512], state_of([0.0003, -0.0002, 0.01], [0.0, 0.0, 0.0993], []), [0.6], [0.0, 0.0, 0.1, 0.3, 0.0, 0.0]]
)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_derivatives_by_inputs_masses_and_forces_go_through_contact(approximation: str) -> None:
    def prepare(diagram: Any, plant: Any, context: Any, z: Array) -> None:
        mine = plant.GetMyMutableContextFromRoot(context)
        plant.SetPositionsAndVelocities(mine, 0.0 * z[0] + PUSHED)
        diagram.get_input_port(0).FixValue(context, z[:1])
        plant.GetBodyByName("box").SetMass(mine, z[1])
        plant.GetBodyByName("pusher").SetMass(mine, z[2])
        force = ExternallyAppliedSpatialForce() if isinstance(z[0], float) else external_force_of(z)
        force.body_index = plant.GetBodyByName("box").index()
        force.p_BoBq_B = np.array([0.1, 0.05, 0.1])
        force.F_Bq_W = (SpatialForce if isinstance(z[0], float) else type(force.F_Bq_W))(0.0 * z[3:], z[3:])
        port = plant.get_applied_spatial_force_input_port()
        port.FixValue(mine, [force])

    gradient = check_derivatives(
        make_scene(add_pusher, approximation), np.array([20.0, 1.3, 0.5, 1.0, 2.0, -3.0]), prepare
    )
    assert np.abs(gradient[8:]).max(axis=0).min() > 1e-5  # all of them count


def external_force_of(z: Array) -> Any:
    from merganser.multibody.math import SpatialForce_
    from merganser.multibody.plant import ExternallyAppliedSpatialForce_

    force = ExternallyAppliedSpatialForce_[AutoDiffXd]()
    force.F_Bq_W = SpatialForce_[AutoDiffXd](0.0 * z[3:], z[3:])
    return force


# ---------------------------------------------------------------------- limits, constraints, controllers


def add_arm(plant: MultibodyPlant, with_limits: bool = True) -> list[Any]:
    limits = (-0.5, 0.5) if with_limits else (-np.inf, np.inf)
    joints, parent = [], plant.world_body()
    for k in range(3):
        link = plant.AddRigidBody(f"link{k}", SpatialInertia.SolidBoxWithMass(1.0 + k, 0.1, 0.1, 0.5))
        X_PJ = RigidTransform([0.0, 0.0, 0.0 if k == 0 else -0.4])
        axis = [0.0, 1.0, 0.0] if k % 2 == 0 else [1.0, 0.0, 0.0]
        joint = (
            plant.AddJoint(RevoluteJoint(f"j{k}", parent.body_frame(), link.body_frame(), axis, *limits))
            if k == 0
            else plant.AddJoint(
                RevoluteJoint(
                    f"j{k}", plant.AddFrame(offset_frame(f"f{k}", parent, X_PJ)), link.body_frame(), axis, *limits
                )
            )
        )
        joints.append(joint)
        parent = link
    return joints


def offset_frame(name: str, body: Any, X_BF: RigidTransform) -> Any:
    from merganser.multibody.tree import FixedOffsetFrame

    return FixedOffsetFrame(name, body.body_frame(), X_BF)


AT_LIMITS = np.array([0.501, -0.4996, 0.1, 0.4, -0.8, 0.3])


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_joint_limits_have_derivatives_in_a_step(approximation: str) -> None:
    check_derivatives(make_scene(lambda plant: void(add_arm(plant)), approximation), AT_LIMITS)


def test_joint_limits_have_derivatives_in_continuous_time() -> None:
    check_derivatives(make_scene(lambda plant: void(add_arm(plant)), time_step=0.0), AT_LIMITS)


def void(_: Any) -> None:
    """For functions that return something."""


CONSTRAINTS: dict[str, Callable[[MultibodyPlant, list[Any]], Any]] = {
    "coupler": lambda plant, joints: plant.AddCouplerConstraint(joints[0], joints[2], 1.3, 0.05),
    "distance": lambda plant, joints: plant.AddDistanceConstraint(
        joints[2].child_body(), [0.1, 0.0, -0.3], plant.world_body(), [0.3, 0.2, -1.0], 0.5
    ),
    "soft distance": lambda plant, joints: plant.AddDistanceConstraint(
        joints[2].child_body(), [0.1, 0.0, -0.3], plant.world_body(), [0.3, 0.2, -1.0], 0.5, 500.0, 20.0
    ),
    "ball": lambda plant, joints: plant.AddBallConstraint(
        joints[2].child_body(), [0.1, 0.0, -0.3], plant.world_body(), [0.12, 0.02, -1.1]
    ),
    "weld": lambda plant, joints: plant.AddWeldConstraint(
        joints[1].child_body(),
        RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.1, 0.0, -0.3]),
        plant.world_body(),
        RigidTransform(RollPitchYaw(0.15, 0.22, 0.31), [0.12, 0.02, -0.7]),
    ),
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_constraints_have_derivatives(kind: str) -> None:
    scene = make_scene(lambda plant: void(CONSTRAINTS[kind](plant, add_arm(plant, with_limits=False))))
    check_derivatives(scene, np.array([0.1, -0.2, 0.15, 0.3, -0.2, 0.4]), step=1e-4)


@pytest.mark.parametrize("limit", [1e3, 5.0], ids=["free", "at the effort limit"])
def test_controllers_in_the_solver_have_derivatives(limit: float) -> None:
    def fill(plant: MultibodyPlant) -> None:
        for joint in add_arm(plant):
            plant.AddJointActuator(f"motor of {joint.name()}", joint, limit).set_controller_gains(
                PdControllerGains(p=300.0, d=20.0)
            )

    def prepare(diagram: Any, plant: Any, context: Any, z: Array) -> None:
        set_state(diagram, plant, context, z[:6])
        diagram.GetInputPort("x_d").FixValue(context, z[6:12])
        diagram.GetInputPort("u").FixValue(context, z[12:])

    z = np.concatenate([AT_LIMITS, [0.2, 0.1, -0.1, 0.0, 0.1, 0.2], [1.0, -2.0, 0.5]])
    gradient = check_derivatives(make_scene(fill), z, prepare)
    assert np.abs(gradient[3:, 6:9]).max() > 0.0 or limit < 10.0


def test_locked_joints_keep_still_in_contact() -> None:
    def prepare(diagram: Any, plant: Any, context: Any, z: Array) -> None:
        set_state(diagram, plant, context, z)
        plant.get_joint(JointIndex(1)).Lock(plant.GetMyMutableContextFromRoot(context))

    def fill(plant: MultibodyPlant) -> None:
        joints = add_arm(plant, with_limits=False)
        plant.RegisterCollisionGeometry(
            joints[2].child_body(), RigidTransform([0.0, 0.0, -0.3]), Sphere(0.1), "foot", material()
        )
        plant.RegisterCollisionGeometry(
            plant.world_body(), RigidTransform([0.0, 0.0, -1.17]), HalfSpace(), "ground", material()
        )

    x = np.array([0.1, 0.05, 0.1, 0.3, 0.0, 0.2])
    gradient = check_derivatives(make_scene(fill), x, prepare)
    np.testing.assert_array_equal(gradient[4], 0.0)


# ---------------------------------------------------------------------- many steps


def test_a_pushed_box_has_a_gradient_through_a_hundred_steps() -> None:
    def prepare(diagram: Any, plant: Any, context: Any, z: Array) -> None:
        mine = plant.GetMyMutableContextFromRoot(context)
        plant.SetPositionsAndVelocities(mine, 0.0 * z[0] + PUSHED)
        plant.SetVelocities(mine, np.concatenate([z[3:4], 0.0 * z[:3], z[2:3], 0.0 * z[:2]]))
        diagram.get_input_port(0).FixValue(context, z[:1])
        plant.GetBodyByName("box").SetMass(mine, z[1])

    gradient = check_derivatives(
        make_scene(add_pusher), np.array([15.0, 1.3, 0.3, 0.6]), prepare, num_steps=100, step=1e-5
    )
    assert gradient[5, 0] > 1e-4  # a stronger push brings it farther


def test_a_rolling_ball_has_a_gradient_through_a_hundred_steps() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, Sphere(0.1))

    x = state_of([0.1, 0.2, 0.3], [0.0, 0.0, 0.0985], [0.1, 2.0, 0.3, 1.5, 0.5, 0.0])
    check_derivatives(make_scene(fill, "kSimilar"), x, num_steps=100)


def add_gripper(plant: MultibodyPlant) -> None:
    """A box that stands on the ground between two actuated fingers."""
    add_ground(plant)
    add_body(plant, Box(0.06, 0.08, 0.1), "box", mass=0.3)
    for side in (-1.0, 1.0):
        finger = plant.AddRigidBody(f"finger{side}", SpatialInertia.SolidCubeWithMass(0.2, 0.05))
        tip = RigidTransform([0.0, 0.0, 0.0])
        plant.RegisterCollisionGeometry(finger, tip, Sphere(0.02), f"tip{side}", material())
        frame = plant.AddFrame(offset_frame(f"rail{side}", plant.world_body(), RigidTransform([0.0, 0.0, 0.055])))
        joint = plant.AddJoint(PrismaticJoint(f"slide{side}", frame, finger.body_frame(), [-side, 0.0, 0.0]))
        plant.AddJointActuator(f"motor{side}", joint)


def test_a_squeeze_has_a_gradient_through_a_hundred_steps() -> None:
    def prepare(diagram: Any, plant: Any, context: Any, z: Array) -> None:
        q = np.concatenate([[-0.0495, -0.0495], state_of([0.0, 0.0, 0.02], [0.0005, 0.001, 0.0495], [])])
        mine = plant.GetMyMutableContextFromRoot(context)
        plant.SetPositionsAndVelocities(mine, 0.0 * z[0] + np.concatenate([q, np.zeros(8)]))
        diagram.get_input_port(0).FixValue(context, z[:2])
        plant.GetBodyByName("box").SetMass(mine, z[2])

    check_derivatives(make_scene(add_gripper), np.array([4.0, 4.5, 0.3]), prepare, num_steps=100, step=1e-5)


# ---------------------------------------------------------------------- diagrams and ports


@pytest.mark.parametrize("time_step", [0.0, H])
def test_a_diagram_in_contact_has_a_linear_approximation(time_step: float) -> None:
    scene = make_scene(add_pusher, time_step=time_step, sampled=False)
    context = scene.diagram.CreateDefaultContext()
    set_state(scene.diagram, scene.plant, context, PUSHED)
    scene.diagram.get_input_port(0).FixValue(context, [20.0])
    found = FirstOrderTaylorApproximation(scene.diagram, context)

    def f(z: Array) -> Array:
        def prepare(diagram: Any, plant: Any, other: Any, numbers: Array) -> None:
            set_state(diagram, plant, other, numbers[:-1])
            diagram.get_input_port(0).FixValue(other, numbers[-1:])

        return advance(scene.diagram, scene.plant, scene.diagram.CreateDefaultContext(), prepare, z)

    expected = by_differences(f, np.concatenate([PUSHED, [20.0]]))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.A(), expected[:, :-1], atol=EXACT * scale)
    np.testing.assert_allclose(found.B(), expected[:, -1:], atol=EXACT * scale)


def outputs_of(plant: Any, context: Any) -> dict[str, Array]:
    """Numbers of what a plant shows about its forces."""
    mine = plant.GetMyContextFromRoot(context)
    results = plant.get_contact_results_output_port().Eval(mine)
    infos = [results.point_pair_contact_info(i) for i in range(results.num_point_pair_contacts())]
    reactions = plant.get_reaction_forces_output_port().Eval(mine)
    return {
        "contact": np.concatenate(
            [[*i.contact_force(), *i.contact_point(), i.slip_speed(), i.separation_speed()] for i in infos]
        ),
        "generalized": np.asarray(plant.get_generalized_contact_forces_output_port(ModelInstanceIndex(1)).Eval(mine)),
        "vdot": np.asarray(plant.get_generalized_acceleration_output_port().Eval(mine)),
        "reaction": np.concatenate([np.concatenate([F.rotational(), F.translational()]) for F in reactions]),
        "acceleration": np.asarray(
            plant.EvalBodySpatialAccelerationInWorld(mine, plant.GetBodyByName("box")).translational()
        ),
    }


@pytest.mark.parametrize("time_step", [0.0, H])
def test_results_of_contact_have_derivatives(time_step: float) -> None:
    scene = make_scene(add_pusher, time_step=time_step, sampled=False)
    context = scene.diagram.CreateDefaultContext()
    scene.diagram.get_input_port(0).FixValue(context, [20.0])
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    theirs = diagram.CreateDefaultContext()
    diagram.get_input_port(0).FixValue(theirs, [20.0])
    set_state(diagram, plant, theirs, InitializeAutoDiff(PUSHED).ravel())
    found = outputs_of(plant, theirs)
    for name, numbers in found.items():

        def f(x: Array, name: str = name) -> Array:
            set_state(scene.diagram, scene.plant, context, x)
            return outputs_of(scene.plant, context)[name]

        expected = by_differences(f, PUSHED)
        gradient = ExtractGradient(numbers)
        np.testing.assert_allclose(ExtractValue(numbers).ravel(), f(PUSHED), atol=1e-9 * 1e3, err_msg=name)
        np.testing.assert_allclose(gradient, expected, atol=EXACT * np.abs(expected).max(), err_msg=name)


def test_contact_data_of_a_step_become_numbers_when_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, Sphere(0.1))

    made: list[int] = []
    merge = derivative_lanes.merge_numbers
    monkeypatch.setattr(derivative_lanes, "merge_numbers", lambda x, dx: made.append(x.size) or merge(x, dx))
    diagram = make_scene(fill).diagram.ToAutoDiffXd()
    plant, context = diagram.GetSubsystemByName("plant"), diagram.CreateDefaultContext()
    x = InitializeAutoDiff(state_of([0.1, -0.2, 0.3], [0.1, 0.2, 0.0985], [0.0] * 6)).ravel()
    advance(diagram, plant, context, set_state, x)
    of_step = sum(made)  # next states and mean velocities of the passes
    results = plant.get_contact_results_output_port().Eval(plant.GetMyContextFromRoot(context))
    force = results.point_pair_contact_info(0).contact_force()
    assert sum(made) > of_step
    assert abs(ExtractGradient(force)[2, 6]) > 1.0  # the deeper, the more


def test_a_sample_of_derivatives_becomes_one_of_floats() -> None:
    scene = make_scene(add_pusher)
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    theirs = diagram.CreateDefaultContext()
    diagram.get_input_port(0).FixValue(theirs, [20.0])
    set_state(diagram, plant, theirs, InitializeAutoDiff(PUSHED).ravel())
    diagram.ExecuteForcedEvents(theirs)
    context = scene.diagram.CreateDefaultContext()
    context.SetTimeStateAndParametersFrom(theirs)
    for name, numbers in outputs_of(plant, theirs).items():
        if name != "acceleration":  # which is that of the moment
            mine = outputs_of(scene.plant, fixed(scene, context))[name]
            assert mine.dtype == np.float64
            np.testing.assert_allclose(mine, ExtractValue(numbers).ravel(), rtol=1e-12, err_msg=name)


def fixed(scene: Scene, context: Any) -> Any:
    scene.diagram.get_input_port(0).FixValue(context, [20.0])
    return context


def test_numbers_without_derivatives_give_those_of_floats() -> None:
    scene = make_scene(add_pusher)
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    plant._settings.of_solver()["relative_tolerance"] = 1e-13
    states = []
    for d, p in (scene.diagram, scene.plant), (diagram, plant):
        context = d.CreateDefaultContext()
        d.get_input_port(0).FixValue(context, [20.0])
        set_state(d, p, context, PUSHED)
        for _ in range(3):
            d.ExecuteForcedEvents(context)
        states.append(ExtractValue(p.GetPositionsAndVelocities(p.GetMyContextFromRoot(context))).ravel())
    np.testing.assert_allclose(states[1], states[0], atol=1e-12)


# ---------------------------------------------------------------------- without derivatives


def test_an_error_about_a_normal_that_jumps_names_the_geometries() -> None:
    def fill(plant: MultibodyPlant) -> None:
        add_body(plant, Sphere(0.1), "red")
        add_body(plant, Sphere(0.1), "green")

    diagram = make_scene(fill).diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    context = diagram.CreateDefaultContext()
    x = np.concatenate([state_of([0.0] * 3, [0.0] * 3, []), state_of([0.0] * 3, [0.0] * 3, []), np.zeros(12)])
    set_state(diagram, plant, context, InitializeAutoDiff(x).ravel())
    with pytest.raises(RuntimeError, match=r"no derivatives.*normal of geometries 'red' and 'green' jump"):
        diagram.ExecuteForcedEvents(context)


def test_derivatives_at_a_change_of_contact_are_those_of_one_side() -> None:
    """A ball that just touches: the derivative by its height is that above the ground, or that below it."""

    def fill(plant: MultibodyPlant) -> None:
        add_ground(plant)
        add_body(plant, Sphere(0.125))

    scene = make_scene(fill, "kSimilar")
    x = state_of([0.0] * 3, [0.0, 0.0, 0.125], [0.0, 0.0, 0.0, 0.0, 0.0, 9.81 * H])  # v* = 0

    context = scene.diagram.CreateDefaultContext()

    def f(z: float) -> float:
        return float(advance(scene.diagram, scene.plant, context, set_state, x + z * np.eye(13)[6])[-1])

    sides = [(f(s * 1e-7) - f(0.0)) / (s * 1e-7) for s in (-1.0, 1.0)]
    diagram = scene.diagram.ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    found = advance(diagram, plant, diagram.CreateDefaultContext(), set_state, InitializeAutoDiff(x).ravel())
    assert abs(sides[0] - sides[1]) > 1.0
    assert min(abs(ExtractGradient(found)[-1, 6] - side) for side in sides) < 1e-3
