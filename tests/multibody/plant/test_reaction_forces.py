"""Reaction forces of joints: statics, Newton and Euler for each body, and the forces on the joints' coordinates."""

import numpy as np
import pytest
from explicit_products import as_pydrake
from plants import arm_and_box, box_inertia, off_centre_inertia, set_random_state

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import HalfSpace, Sphere
from merganser.multibody.math import SpatialForce
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    ExternallyAppliedSpatialForce,
    MultibodyPlant,
)
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
    plant = as_pydrake(MultibodyPlant(time_step))
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
def test_the_torque_along_the_axis_is_actuation_damping_and_applied_minus_rotor(time_step):
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
    plant = as_pydrake(MultibodyPlant(time_step))
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
    if time_step:  # from rest: reaction forces take velocity products at the beginning of a step, and the step does not
        plant.SetVelocities(context, np.zeros(plant.num_velocities()))
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
            plant = as_pydrake(MultibodyPlant(time_step))
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
    plant = as_pydrake(MultibodyPlant(0.0))
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


@pytest.mark.parametrize(("speed", "most"), [(0.1, 1e-6), (1.0, 4e-3)])
def test_hinges_of_a_turning_chain_carry_no_moment_about_their_axes(speed, most):
    """The step takes velocity products in its middle (kernels/velocity_products.py), and so do reaction forces.

    What is left in the faster case is what the step corrects of the energy, of first order in the step.
    """
    plant = MultibodyPlant(0.1 * H)
    plant.SetUseSampledOutputPorts(False)
    parent = plant.world_frame()
    for i, axis in enumerate(([0.0, 0.0, 1.0], [0.0, 1.0, 0.3], [1.0, 0.2, 0.0])):
        body = plant.AddRigidBody(f"body_{i}", off_centre_inertia())
        X_PF = RigidTransform([0.3, 0.1, 0.0])
        hinge = plant.AddFrame(FixedOffsetFrame(f"hinge_{i}", parent, X_PF))
        plant.AddJoint(RevoluteJoint(f"joint_{i}", hinge, body.body_frame(), axis))
        parent = body.body_frame()
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.3, -0.5, 0.8])
    plant.SetVelocities(context, speed * np.array([3.0, -2.0, 4.0]))
    for i, F in enumerate(plant.get_reaction_forces_output_port().Eval(context)):
        axis = plant.get_joint(i).revolute_axis()
        assert abs(axis @ F.rotational()) < most * np.linalg.norm(F.rotational())


def spinning(is_welded=False, is_sampled=False, ground=False):
    """A body that turns by 0.3 rad a step about an axis that precesses, alone or with another welded to it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    plant.SetUseSampledOutputPorts(is_sampled)
    body = plant.AddRigidBody("body", off_centre_inertia())
    if is_welded:
        other = plant.AddRigidBody("other", off_centre_inertia())
        X_BO = RigidTransform(RollPitchYaw(0.3, -0.2, 0.5), [1.0, 0.2, 0.3])
        plant.AddJoint(WeldJoint("weld", body.body_frame(), other.body_frame(), X_BO))
    if ground:
        friction = CoulombFriction(0.5, 0.5)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", friction)
        plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(0.5), "ball", friction)
    plant.Finalize()
    diagram = builder.Build()
    root = diagram.CreateDefaultContext()
    context = plant.GetMyContextFromRoot(root)
    q = plant.GetPositions(context)
    q[4:] = [0.3, -0.2, 0.499]
    plant.SetPositions(context, q)
    spin = np.array([1.0, -2.0, 2.0]) / 3.0
    plant.SetVelocities(context, np.concatenate([30.0 * spin, [0.5, -0.3, 0.2]]))
    return plant, diagram, root, context


def largest_reaction_of_free_joint(plant, context, body="body"):
    (joint,) = (j for j in map(plant.get_joint, plant.GetJointIndices()) if j.child_body().name() == body)
    reactions = plant.get_reaction_forces_output_port().Eval(context)
    return np.abs(reactions[joint.index()].get_coeffs()).max()


def size_of_forces(plant, context):
    """m w^2 r of a body at 1 m."""
    return plant.CalcTotalMass(context) * 30.0**2


@pytest.mark.parametrize("is_welded", [False, True], ids=["one body", "two welded ones"])
@pytest.mark.parametrize("is_pushed", [False, True], ids=["alone", "pushed"])
def test_nothing_holds_a_free_body_that_spins_fast(is_welded, is_pushed):
    plant, diagram, root, context = spinning(is_welded)
    if is_pushed:
        push = ExternallyAppliedSpatialForce()
        push.body_index, push.p_BoBq_B = plant.GetBodyByName("body").index(), np.array([0.1, 0.2, 0.3])
        push.F_Bq_W = SpatialForce([1.0, 2.0, -3.0], [20.0, -10.0, 30.0])
        plant.get_applied_spatial_force_input_port().FixValue(context, [push])
    for _ in range(3):
        assert largest_reaction_of_free_joint(plant, context) < 1e-12 * size_of_forces(plant, context)
        diagram.ExecuteForcedEvents(root)


def test_nothing_but_the_ground_holds_a_free_body_that_spins_on_it():
    plant, diagram, root, context = spinning(ground=True)
    assert plant.get_contact_results_output_port().Eval(context).num_point_pair_contacts() == 1
    for _ in range(3):
        assert largest_reaction_of_free_joint(plant, context) < 1e-12 * size_of_forces(plant, context)
        diagram.ExecuteForcedEvents(root)


def test_samples_of_simulations_know_that_nothing_holds_a_free_body():
    plant, diagram, root, context = spinning(is_sampled=True)
    Simulator(diagram, root).AdvanceTo(3.5 * H)
    assert largest_reaction_of_free_joint(plant, context) < 1e-12 * size_of_forces(plant, context)


@pytest.mark.parametrize("name", ["one body", "two welded ones"])
def test_derivatives_of_what_holds_a_free_body_are_zero_too(name):
    plant, *_, context = spinning(name == "two welded ones")
    ad = plant.ToAutoDiffXd()
    lanes = ad.CreateDefaultContext()
    x = plant.GetPositionsAndVelocities(context)
    ad.SetPositionsAndVelocities(lanes, InitializeAutoDiff(x).ravel())
    (joint,) = (j for j in map(ad.get_joint, ad.GetJointIndices()) if j.child_body().name() == "body")
    F = ad.get_reaction_forces_output_port().Eval(lanes)[joint.index()].get_coeffs()
    assert np.abs(ExtractGradient(F)).max() < 1e-11 * size_of_forces(plant, context)


def swinging_pair(time_step):
    plant = MultibodyPlant(time_step)
    plant.SetUseSampledOutputPorts(False)
    parent = plant.world_frame()
    for i, axis in enumerate(([0.0, 1.0, 0.0], [0.3, 1.0, 0.0])):
        body = plant.AddRigidBody(f"body_{i}", off_centre_inertia())
        pivot = plant.AddFrame(FixedOffsetFrame(f"pivot_{i}", parent, RigidTransform([0.3 * i, 0.1, -0.2 * i])))
        plant.AddJoint(RevoluteJoint(f"joint_{i}", pivot, body.body_frame(), axis))
        parent = body.body_frame()
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, [0.4, -0.7])
    plant.SetVelocities(context, [5.0, -4.0])
    return plant, context


def test_what_a_hinge_exerts_is_the_change_of_momentum_in_a_step():
    def error(time_step):
        plant, context = swinging_pair(time_step)
        body, joint = plant.GetBodyByName("body_1"), plant.GetJointByName("joint_1")
        after = plant.CreateDefaultContext()
        after.SetTimeStateAndParametersFrom(context)
        plant.ExecuteForcedEvents(after)

        def momentum(at):
            p_BoBcm_B = body.CalcCenterOfMassInBodyFrame(at)
            V_WB = body.EvalSpatialVelocityInWorld(at)
            p_BoBcm_W = body.EvalPoseInWorld(at).rotation() @ p_BoBcm_B
            return body.get_mass(at) * (V_WB.translational() + np.cross(V_WB.rotational(), p_BoBcm_W))

        F = plant.get_reaction_forces_output_port().Eval(context)[joint.index()]
        f_W = joint.frame_on_child().CalcRotationMatrixInWorld(context) @ F.translational()
        due = (momentum(after) - momentum(context)) / time_step - body.get_mass(context) * G
        return np.linalg.norm(f_W - due) / np.linalg.norm(due)

    errors = np.array([error(time_step) for time_step in (4e-3, 2e-3, 1e-3)])
    assert errors[-1] < 5e-3
    assert np.all(errors[1:] / errors[:-1] < 0.6)  # of first order, as it is taken at the pose before the step
