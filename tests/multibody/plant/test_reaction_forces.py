"""Reaction forces of joints: statics, Newton and Euler for each body, and the forces on the joints' coordinates."""

import numpy as np
import pytest
from plants import arm_and_box, box_inertia, off_centre_inertia, set_random_state

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import ExternallyAppliedSpatialForce, MultibodyPlant
from merganser.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    PdControllerGains,
    PrismaticJoint,
    RevoluteJoint,
    UniversalJoint,
    WeldJoint,
)

H = 1e-2
TIME_STEPS = pytest.mark.parametrize("time_step", [0.0, H], ids=["continuous", "discrete"])
G = np.array([0.0, 0.0, -9.81])


def frame_on(plant, body, rng):
    X_BF = RigidTransform(RollPitchYaw(*rng.uniform(-2, 2, 3)), rng.normal(size=3))
    return plant.AddFrame(FixedOffsetFrame(f"f{plant.num_frames()}", body.body_frame(), X_BF))


def tree(time_step, seed, is_driven=False):
    """A random tree with joints of many kinds between random frames; with live ports."""
    rng = np.random.default_rng(seed)
    plant = MultibodyPlant(time_step)
    if time_step > 0.0:
        plant.SetUseSampledOutputPorts(False)
    bodies = [plant.world_body()]
    kinds = (RevoluteJoint, PrismaticJoint, WeldJoint, BallRpyJoint, UniversalJoint)
    for i, kind in enumerate([*kinds, *kinds[:2]]):
        body = plant.AddRigidBody(f"body_{i}", off_centre_inertia())
        F, M = frame_on(plant, bodies[rng.integers(len(bodies))], rng), frame_on(plant, body, rng)
        if kind is WeldJoint:
            joint = kind(f"joint_{i}", F, M, RigidTransform(RollPitchYaw(0.3, 0.2, 0.1), [0.1, 0.2, 0.3]))
        elif kind in (RevoluteJoint, PrismaticJoint):
            joint = kind(f"joint_{i}", F, M, rng.normal(size=3), damping=0.3)
        else:
            joint = kind(f"joint_{i}", F, M, 0.3)
        plant.AddJoint(joint)
        if is_driven and joint.num_velocities() == 1:
            motor = plant.AddJointActuator(f"motor_{i}", joint, 2.0)
            motor.set_default_rotor_inertia(0.2)
            motor.set_controller_gains(PdControllerGains(p=20.0, d=1.0))
        bodies.append(body)
    plant.Finalize()
    return plant


def context_of(plant, seed, with_forces=True):
    context = plant.CreateDefaultContext()
    rng = set_random_state(plant, context, seed)
    for instance in range(plant.num_model_instances()):
        port = plant.get_desired_state_input_port(instance)
        port.FixValue(context, rng.normal(size=port.size()))
    if plant.num_actuators():
        plant.get_actuation_input_port().FixValue(context, rng.normal(size=plant.num_actuators()))
    if with_forces:
        plant.get_applied_generalized_force_input_port().FixValue(context, rng.normal(size=plant.num_velocities()))
        forces = [
            ExternallyAppliedSpatialForce(
                plant.get_body(i).index(), rng.normal(size=3), SpatialForce(rng.normal(size=6))
            )
            for i in range(1, plant.num_bodies())
        ]
        plant.get_applied_spatial_force_input_port().FixValue(context, forces)
    return context


def reactions(plant, context):
    """For each joint: the force on its child at Jc, as [moment about the origin of the world; force], in W."""
    F_CJc_Jc = plant.get_reaction_forces_output_port().Eval(context)
    assert len(F_CJc_Jc) == plant.num_joints()
    about_Wo = []
    for i in range(plant.num_joints()):
        X_WJc = plant.get_joint(i).frame_on_child().CalcPoseInWorld(context)
        moment, force = (X_WJc.rotation().matrix() @ part for part in np.split(F_CJc_Jc[i].get_coeffs(), 2))
        about_Wo.append(np.concatenate([moment + np.cross(X_WJc.translation(), force), force]))
    return np.array(about_Wo)


def rate_of_momentum(plant, context, body, A_WB_W):
    """d/dt of momentum [about the origin of the world; linear] of a body, from Newton and Euler about Bcm."""
    X_WB = plant.EvalBodyPoseInWorld(context, body)
    w = plant.EvalBodySpatialVelocityInWorld(context, body).rotational()
    alpha, a_Bo = np.split(A_WB_W.get_coeffs(), 2)
    R, M = X_WB.rotation().matrix(), body.default_spatial_inertia()
    c = R @ M.get_com()
    I_cm = R @ M.Shift(M.get_com()).CalcRotationalInertia().CopyToFullMatrix3() @ R.T
    force = M.get_mass() * (a_Bo + np.cross(alpha, c) + np.cross(w, np.cross(w, c)))
    moment = I_cm @ alpha + np.cross(w, I_cm @ w)
    return np.concatenate([moment + np.cross(X_WB.translation() + c, force), force])


@TIME_STEPS
@pytest.mark.parametrize("is_driven", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_reactions_applied_forces_and_gravity_move_each_body_as_newton_and_euler_say(time_step, is_driven, seed):
    plant = tree(time_step, seed, is_driven)
    context = context_of(plant, seed)
    A_WB_W = plant.get_body_spatial_accelerations_output_port().Eval(context)
    F_Wo = reactions(plant, context)
    applied = plant.get_applied_spatial_force_input_port().Eval(context)
    for index in range(1, plant.num_bodies()):
        body = plant.get_body(index)
        X_WB = plant.EvalBodyPoseInWorld(context, body)
        p_WoBcm_W = X_WB @ body.default_com()
        weight = body.default_mass() * G
        total = np.concatenate([np.cross(p_WoBcm_W, weight), weight])
        force = applied[index - 1]
        p_WoBq_W = X_WB @ force.p_BoBq_B
        total += force.F_Bq_W.get_coeffs() + np.r_[np.cross(p_WoBq_W, force.F_Bq_W.translational()), np.zeros(3)]
        for i in range(plant.num_joints()):
            joint = plant.get_joint(i)
            if joint.child_body() is body:
                total += F_Wo[i]
            elif joint.parent_body() is body:
                total -= F_Wo[i]
        expected = rate_of_momentum(plant, context, body, A_WB_W[index])
        np.testing.assert_allclose(total, expected, rtol=0.0, atol=1e-11 * np.abs(F_Wo).max())


@TIME_STEPS
def test_the_part_along_the_axis_is_actuation_damping_and_applied_force_less_what_the_rotor_takes(time_step):
    plant = tree(time_step, 4, is_driven=True)
    context = context_of(plant, 4)
    F_CJc_Jc = plant.get_reaction_forces_output_port().Eval(context)
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    applied = plant.get_applied_generalized_force_input_port().Eval(context)
    u = plant.get_net_actuation_output_port().Eval(context)
    v_at = plant.GetVelocities(context) + time_step * vdot  # where damping takes them
    for i, actuator in enumerate(plant.get_joint_actuator(k) for k in range(plant.num_actuators())):
        joint, v = actuator.joint(), actuator.joint().velocity_start()
        is_revolute = isinstance(joint, RevoluteJoint)
        axis = joint.revolute_axis() if is_revolute else joint.translation_axis()
        part = F_CJc_Jc[joint.index()].rotational() if is_revolute else F_CJc_Jc[joint.index()].translational()
        expected = u[i] - 0.3 * v_at[v] + applied[v] - 0.2 * vdot[v]
        assert axis @ part == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("time_step", [0.0, H])
def test_the_joints_of_a_static_chain_carry_the_weight_beyond_them(time_step):
    plant = MultibodyPlant(time_step)
    parent, p = plant.world_frame(), RigidTransform([0.2, 0.0, 0.0])
    for i in range(3):
        body = plant.AddRigidBody(f"body_{i}", box_inertia(1.0 + i))
        plant.AddJoint(WeldJoint(f"weld_{i}", parent, body.body_frame(), p))
        parent = body.body_frame()
    plant.Finalize()
    context = plant.CreateDefaultContext()
    if time_step:
        plant.ExecuteForcedEvents(context)
    F = [force.get_coeffs() for force in plant.get_reaction_forces_output_port().Eval(context)]
    for i, (mass, lever) in enumerate(((6.0, 2.0 * 0.2 + 3.0 * 0.4), (5.0, 3.0 * 0.2), (3.0, 0.0))):
        np.testing.assert_allclose(F[i], [0, -9.81 * lever, 0, 0, 0, 9.81 * mass], rtol=1e-13, atol=1e-13)


@TIME_STEPS
def test_nothing_holds_a_free_body(time_step):
    plant = arm_and_box(time_step)
    context = context_of(plant, 1, with_forces=False)
    if time_step:
        plant.ExecuteForcedEvents(context)
    joint = plant.GetJointByName("box")
    F_CJc_Jc = plant.get_reaction_forces_output_port().Eval(context)[joint.index()]
    np.testing.assert_allclose(F_CJc_Jc.get_coeffs(), 0.0, atol=1e-12)


def test_locked_joints_carry_what_would_move_them():
    plant = arm_and_box(H, damping=0.0)
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, np.zeros(2))
    for name in ("shoulder", "slide"):
        plant.GetJointByName(name).Lock(context)
    plant.ExecuteForcedEvents(context)
    F_CJc_Jc = plant.get_reaction_forces_output_port().Eval(context)[plant.GetJointByName("shoulder").index()]
    bodies = [plant.GetBodyByName(name) for name in ("upper", "lower", "tool")]
    weight, moment = np.zeros(3), np.zeros(3)
    for body in bodies:
        p_WoBcm_W = plant.EvalBodyPoseInWorld(context, body) @ body.default_com()
        weight += body.default_mass() * G
        moment += np.cross(p_WoBcm_W, body.default_mass() * G)
    np.testing.assert_allclose(F_CJc_Jc.get_coeffs(), -np.concatenate([moment, weight]), rtol=1e-12, atol=1e-12)


@TIME_STEPS
def test_a_joint_whose_child_is_nearer_the_world_exerts_its_force_on_that_child(time_step):
    """The mechanism with parent and child of one joint exchanged."""
    results = []
    for is_reversed in (False, True):
        for kind in (RevoluteJoint, PrismaticJoint, WeldJoint):
            plant = MultibodyPlant(time_step)
            plant.SetUseSampledOutputPorts(False)
            a, b = (plant.AddRigidBody(name, off_centre_inertia()) for name in "ab")
            plant.AddJoint(RevoluteJoint("first", plant.world_frame(), a.body_frame(), [0, 1, 0]))
            rng = np.random.default_rng(3)
            F, M = frame_on(plant, a, rng), frame_on(plant, b, rng)
            X_FM = RigidTransform(RollPitchYaw(0.3, -0.2, 0.1), [0.1, 0.2, 0.3])
            parent, child = (M, F) if is_reversed else (F, M)
            if kind is WeldJoint:
                joint = plant.AddJoint(kind("second", parent, child, X_FM.inverse() if is_reversed else X_FM))
            else:
                axis = np.array([0.0, 0.6, 0.8])
                joint = plant.AddJoint(kind("second", parent, child, -axis if is_reversed else axis))
            plant.Finalize()
            context = plant.CreateDefaultContext()
            set_random_state(plant, context, 5)
            results.append(reactions(plant, context)[joint.index()])
    for straight, exchanged in zip(results[:3], results[3:]):
        np.testing.assert_allclose(exchanged, -straight, rtol=1e-10, atol=1e-10)
        assert np.abs(straight).max() > 1.0


def test_loop_joints_act_on_the_bodies_that_other_joints_hold():
    """A four-bar linkage without friction: no hinge carries a moment about its axis."""
    plant = MultibodyPlant(0.0)
    bars = [plant.AddRigidBody(name, box_inertia()) for name in ("crank", "coupler", "rocker")]
    ends = [
        plant.AddFrame(FixedOffsetFrame(f"end_{i}", bar.body_frame(), RigidTransform([0.3, 0.0, 0.0])))
        for i, bar in enumerate(bars)
    ]
    ground = plant.AddFrame(FixedOffsetFrame("ground", plant.world_frame(), RigidTransform([0.3, 0.0, 0.0])))
    crank, coupler, rocker = (bar.body_frame() for bar in bars)
    for name, F, M in (("a", plant.world_frame(), crank), ("b", ends[0], coupler), ("c", ground, rocker)):
        plant.AddJoint(RevoluteJoint(name, F, M, [0, 1, 0]))
    plant.AddLoopJoint(RevoluteJoint("d", ends[1], ends[2], [0, 1, 0]))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [-1.0, 1.0, -1.1])
    plant.SetVelocities(context, [0.7, -0.7, 0.7])
    plant.CloseLoops(context)
    forces = plant.get_reaction_forces_output_port().Eval(context)
    for joint in (plant.GetJointByName(name) for name in "abc"):
        F_CJc_Jc = forces[joint.index()].get_coeffs()
        assert F_CJc_Jc[1] == pytest.approx(0.0, abs=1e-9)
        assert np.abs(F_CJc_Jc).max() > 1.0
