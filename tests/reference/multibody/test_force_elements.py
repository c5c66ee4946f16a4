"""Force elements, gravity by model instance, frames in a Context, removed elements: as in pydrake."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest
from explicit_products import as_pydrake

pydrake = pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from reference_plants import Pair  # noqa: E402

pytestmark = pytest.mark.reference
NUM_STATES = 8


def library(name: str) -> SimpleNamespace:
    root = "merganser" if name == "ours" else "pydrake"
    math = "framework.math" if name == "ours" else "math"
    names: dict = {}
    for module in ("multibody.tree", "multibody.plant", "multibody.parsing", math):
        package = importlib.import_module(f"{root}.{module}")
        names |= {key: getattr(package, key) for key in dir(package)}  # also those loaded when asked for
    return SimpleNamespace(**names)


OURS, THEIRS = library("ours"), library("theirs")


def mechanism(lib: SimpleNamespace, seed: int, time_step: float, with_bushing: bool = True):
    """A random tree with two of every kind of force element, part of it without weight."""
    rng = np.random.default_rng(seed)
    plant = as_pydrake(lib.MultibodyPlant(time_step))
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(False)
    instances = [plant.AddModelInstance(name) for name in ("heavy", "weightless")]
    plant.set_gravity_enabled(instances[1], False)

    def frame_on(body):
        X_BF = lib.RigidTransform(lib.RollPitchYaw(*rng.uniform(-3, 3, 3)), rng.normal(size=3))
        return plant.AddFrame(lib.FixedOffsetFrame(f"f{plant.num_frames()}", body.body_frame(), X_BF))

    bodies, joints = [plant.world_body()], []
    for kind in rng.permutation(["RevoluteJoint"] * 4 + ["PrismaticJoint"] * 2 + ["BallRpyJoint", ""]):
        inertia = lib.SpatialInertia.SolidBoxWithMass(*rng.uniform(0.3, 1, 4)).Shift(rng.normal(size=3))
        body = plant.AddRigidBody(f"b{len(bodies)}", instances[rng.integers(2)], inertia)
        inboard = bodies[rng.integers(len(bodies))]
        bodies.append(body)
        if kind:  # the body without a joint floats
            frames = [frame_on(inboard), frame_on(body)]
            if rng.integers(2) and kind != "BallRpyJoint":
                frames.reverse()  # moves the child nearer the world
            axis = () if kind == "BallRpyJoint" else (rng.normal(size=3),)
            joints.append(plant.AddJoint(getattr(lib, kind)(f"j{len(bodies)}", *frames, *axis, damping=0.3)))
    for joint in joints:
        if isinstance(joint, lib.RevoluteJoint):
            plant.AddForceElement(lib.RevoluteSpring(joint, rng.normal(), rng.uniform(1, 9)))
            config = dict(zip(("spring_zero_angle_rad", "catch_width", "motion_threshold"), rng.uniform(0.1, 1, 3)))
            plant.AddForceElement(lib.DoorHinge(joint, lib.DoorHingeConfig(**config)))
        elif isinstance(joint, lib.PrismaticJoint):
            plant.AddForceElement(lib.PrismaticSpring(joint, rng.normal(), rng.uniform(1, 9)))
    for _ in range(3):
        a, b = rng.choice(len(bodies), 2, replace=False)
        points, numbers = rng.normal(size=(2, 3)), rng.uniform(0.5, 2.0, 3)
        plant.AddForceElement(lib.LinearSpringDamper(bodies[a], points[0], bodies[b], points[1], *numbers))
        if with_bushing:
            frames = frame_on(bodies[a]), frame_on(bodies[b])
            plant.AddForceElement(lib.LinearBushingRollPitchYaw(*frames, *rng.uniform(0.1, 2.0, (4, 3))))
    plant.Finalize()
    return plant


@pytest.fixture(params=range(4))
def pair(request):
    return Pair(*(mechanism(lib, request.param, 0.0) for lib in (OURS, THEIRS)))


def states(pair, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(NUM_STATES):
        pair.set_state(rng.uniform(-1, 1, pair.ours.num_positions()), rng.normal(size=pair.ours.num_velocities()))
        yield rng


def contribution(lib, plant, context):
    forces = lib.MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    return forces


def assert_equal(ours, theirs, tolerance=1e-9):
    """Relative to the largest element, or to 1."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance)


def compare_dynamics(pair):
    """Forces, and the accelerations that follow from them."""
    ours = contribution(OURS, pair.ours, pair.context)
    theirs = contribution(THEIRS, pair.theirs, pair.their_context)
    assert_equal(ours.generalized_forces(), theirs.generalized_forces())
    for index in range(1, pair.ours.num_bodies()):
        F, F_theirs = (
            plant.get_body(lib.BodyIndex(index)).GetForceInWorld(context, forces).get_coeffs()
            for lib, plant, context, forces in (
                (OURS, pair.ours, pair.context, ours),
                (THEIRS, pair.theirs, pair.their_context, theirs),
            )
        )
        assert_equal(F, F_theirs)
    vdot = np.ones(pair.ours.num_velocities())
    assert_equal(
        pair.ours.CalcInverseDynamics(pair.context, vdot, ours),
        pair.theirs.CalcInverseDynamics(pair.their_context, vdot, theirs),
    )
    xdot = pair.ours.EvalTimeDerivatives(pair.context).CopyToVector()
    assert_equal(xdot, pair.theirs.EvalTimeDerivatives(pair.their_context).CopyToVector())


def test_forces_and_accelerations(pair):
    for _ in states(pair):
        compare_dynamics(pair)


def test_gravity_acts_on_enabled_instances_only(pair):
    for _ in states(pair):
        tau_g = pair.ours.CalcGravityGeneralizedForces(pair.context)
        assert_equal(tau_g, pair.theirs.CalcGravityGeneralizedForces(pair.their_context))
        assert_equal(pair.ours.gravity_field().CalcGravityGeneralizedForces(pair.context), tau_g)


@pytest.mark.parametrize("seed", range(4))
def test_energy_and_powers_without_bushings(seed):
    pair = Pair(*(mechanism(lib, seed, 0.0, with_bushing=False) for lib in (OURS, THEIRS)))
    for _ in states(pair):
        for function in ("CalcPotentialEnergy", "CalcConservativePower", "CalcNonConservativePower"):
            ours = getattr(pair.ours, function)(pair.context)
            assert_equal(ours, getattr(pair.theirs, function)(pair.their_context))


def test_discrete_step_takes_force_elements_explicitly():
    pair = Pair(*(mechanism(lib, 1, 0.002) for lib in (OURS, THEIRS)))
    for _ in states(pair):
        x_next = pair.ours.EvalUniquePeriodicDiscreteUpdate(pair.context).value()
        assert_equal(x_next, pair.theirs.EvalUniquePeriodicDiscreteUpdate(pair.their_context).value())


def test_forces_of_bushings_on_their_frames(pair):
    for _ in states(pair):
        for index in range(1, pair.ours.num_force_elements()):
            ours = pair.ours.get_force_element(OURS.ForceElementIndex(index))
            theirs = pair.theirs.get_force_element(THEIRS.ForceElementIndex(index))
            assert type(ours).__name__ == type(theirs).__name__
            assert int(ours.model_instance()) == int(theirs.model_instance())
            if isinstance(ours, OURS.LinearBushingRollPitchYaw):
                for end in "AC":
                    function = f"CalcBushingSpatialForceOnFrame{end}"
                    F = getattr(ours, function)(pair.context).get_coeffs()
                    assert_equal(F, getattr(theirs, function)(pair.their_context).get_coeffs())


def set_parameters(lib, plant, context):
    """Changes every parameter that a context has."""
    rng = np.random.default_rng(7)
    for index in range(1, plant.num_force_elements()):
        element = plant.get_force_element(lib.ForceElementIndex(index))
        numbers = rng.uniform(0.5, 3.0, (4, 3))
        if isinstance(element, lib.RevoluteSpring):
            element.SetStiffness(context, numbers[0, 0])
            element.SetNominalAngle(context, numbers[0, 1])
        elif isinstance(element, lib.LinearBushingRollPitchYaw):
            element.SetTorqueStiffnessConstants(context, numbers[0])
            element.SetTorqueDampingConstants(context, numbers[1])
            element.SetForceStiffnessConstants(context, numbers[2])
            element.SetForceDampingConstants(context, numbers[3])
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if not joint.is_ephemeral():
            # All the same: of a ball joint, pydrake takes the first for all three.
            joint.SetDampingVector(context, np.full(joint.num_velocities(), rng.uniform(0.1, 1.0)))
            for frame in (joint.frame_on_parent(), joint.frame_on_child()):
                X_PF = lib.RigidTransform(lib.RollPitchYaw(*rng.uniform(-3, 3, 3)), rng.normal(size=3))
                frame.SetPoseInParentFrame(context, X_PF)
    for index in plant.GetBodyIndices(lib.ModelInstanceIndex(2)):
        body = plant.get_body(index)
        body.SetMass(context, rng.uniform(1.0, 3.0))
        inertia = lib.SpatialInertia.SolidBoxWithMass(*rng.uniform(0.3, 1, 4)).Shift(rng.normal(size=3))
        body.SetSpatialInertiaInBodyFrame(context, inertia)


def test_parameters_of_a_context_enter_forces_and_accelerations(pair):
    set_parameters(OURS, pair.ours, pair.context)
    set_parameters(THEIRS, pair.theirs, pair.their_context)
    for _ in states(pair):
        compare_dynamics(pair)
        assert_equal(pair.ours.CalcMassMatrix(pair.context), pair.theirs.CalcMassMatrix(pair.their_context))
        for joint in map(pair.ours.get_joint, pair.ours.GetJointIndices()):
            for frame in (joint.frame_on_parent(), joint.frame_on_child()):
                theirs = pair.theirs.get_frame(THEIRS.FrameIndex(int(frame.index())))
                X_WF = theirs.CalcPoseInWorld(pair.their_context).GetAsMatrix34()
                assert_equal(frame.CalcPoseInWorld(pair.context).GetAsMatrix34(), X_WF)


def test_door_hinge_functions():
    plants = []
    for lib in (OURS, THEIRS):
        plant = lib.MultibodyPlant(0.0)
        body = plant.AddRigidBody("door", lib.SpatialInertia.SolidBoxWithMass(1, 1, 1, 1))
        joint = plant.AddJoint(lib.RevoluteJoint("hinge", plant.world_frame(), body.body_frame(), [0, 0, 1]))
        plants.append(lib.DoorHinge(joint, lib.DoorHingeConfig(motion_threshold=0.1)))
    ours, theirs = plants
    assert repr(ours.config()) == repr(theirs.config())
    for q, v in np.random.default_rng(0).uniform(-0.2, 0.2, (10, 2)):
        assert_equal(ours.CalcHingeTorque(q, v), theirs.CalcHingeTorque(q, v), 1e-12)
        assert_equal(ours.CalcHingeSpringTorque(q), theirs.CalcHingeSpringTorque(q), 1e-12)
        assert_equal(ours.CalcHingeFrictionalTorque(v), theirs.CalcHingeFrictionalTorque(v), 1e-12)


def chain_with_removals(lib):
    plant = lib.MultibodyPlant(0.0)
    bodies, joints, actuators = [plant.world_body()], [], []
    for i in range(5):
        body = plant.AddRigidBody(f"b{i}", lib.SpatialInertia.SolidBoxWithMass(1.0 + i, 0.3, 0.2, 0.1))
        frames = bodies[-1].body_frame(), body.body_frame()
        joints.append(plant.AddJoint(lib.RevoluteJoint(f"j{i}", *frames, [0.1 * i, 1, 0], 0.2)))
        actuators.append(plant.AddJointActuator(f"a{i}", joints[-1], 2.0))
        actuators[-1].set_default_rotor_inertia(0.1 * (i + 1))
        bodies.append(body)
    for i in (1, 3):
        plant.RemoveJointActuator(actuators[i])
    plant.RemoveJoint(joints[3])
    joint = plant.AddJoint(lib.PrismaticJoint("j3", bodies[1].body_frame(), bodies[4].body_frame(), [0, 0, 1]))
    plant.AddJointActuator("a3", joint)
    plant.RemoveAllJointActuatorEffortLimits()
    plant.Finalize()
    return plant


def test_removed_joints_and_actuators_leave_the_order_of_the_others():
    pair = Pair(*(chain_with_removals(lib) for lib in (OURS, THEIRS)))
    ours, theirs = pair.ours, pair.theirs
    for function in (
        "GetJointIndices", "GetJointActuatorIndices", "GetPositionNames", "GetActuatorNames", "num_joints",
        "num_actuators", "num_actuated_dofs", "MakeActuationMatrix", "GetEffortUpperLimits",
    ):  # fmt: skip
        assert repr(getattr(ours, function)()) == repr(getattr(theirs, function)()), function
    for index in (*range(6), 9):
        assert ours.has_joint(index) == theirs.has_joint(THEIRS.JointIndex(index))
        assert ours.has_joint_actuator(index) == theirs.has_joint_actuator(THEIRS.JointActuatorIndex(index))
    for index in ours.GetJointActuatorIndices():
        actuator = ours.get_joint_actuator(index)
        other = theirs.get_joint_actuator(THEIRS.JointActuatorIndex(int(index)))
        assert actuator.input_start() == other.input_start()
        actuator.SetRotorInertia(pair.context, 0.7 + index)
        other.SetRotorInertia(pair.their_context, 0.7 + index)
    pair.fix_actuation(np.arange(4.0))
    for _ in states(pair):
        compare_dynamics(pair)
