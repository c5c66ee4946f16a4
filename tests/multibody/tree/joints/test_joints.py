"""Joints in a plant: their positions in a Context, defaults, random positions, locks, and joints of base bodies."""

from __future__ import annotations

import numpy as np
import pytest
from plants import off_centre_inertia

from merganser.analysis import Simulator
from merganser.framework import RandomGenerator
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.trajectories import PiecewiseConstantCurvatureTrajectory
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import BaseBodyJointType, MultibodyPlant
from merganser.multibody.tree import (
    BallQuaternionJoint,
    BallRpyJoint,
    CurvilinearJoint,
    PlanarJoint,
    QuaternionFloatingJoint,
    RpyFloatingJoint,
    ScrewJoint,
    UniversalJoint,
)

PATH = PiecewiseConstantCurvatureTrajectory([0.0, 1.0, 3.0], [0.5, -1.0])
JOINTS = {
    "ball_quaternion": lambda F, M: BallQuaternionJoint("j", F, M, damping=0.1),
    "ball_rpy": lambda F, M: BallRpyJoint("j", F, M, damping=0.1),
    "universal": lambda F, M: UniversalJoint("j", F, M, damping=0.1),
    "planar": lambda F, M: PlanarJoint("j", F, M, damping=[0.1, 0.2, 0.3]),
    "screw": lambda F, M: ScrewJoint("j", F, M, axis=[0, 1, 1], screw_pitch=0.3, damping=0.1),
    "rpy_floating": lambda F, M: RpyFloatingJoint("j", F, M, 0.1, 0.2),
    "quaternion_floating": lambda F, M: QuaternionFloatingJoint("j", F, M, 0.1, 0.2),
    "curvilinear": lambda F, M: CurvilinearJoint("j", F, M, PATH, 0.1),
}


def plant_with(make, time_step=0.0, finalize=True):
    """A plant of one body on the joint that `make` makes, and the joint; gravity is along none of the axes."""
    plant = MultibodyPlant(time_step)
    plant.mutable_gravity_field().set_gravity_vector([2.0, -3.0, -9.0])
    body = plant.AddRigidBody("b", off_centre_inertia())
    joint = plant.AddJoint(make(plant.world_frame(), body.body_frame()))
    if finalize:
        plant.Finalize()
    return plant, joint


@pytest.mark.parametrize("kind", JOINTS)
def test_default_pose_is_where_new_contexts_put_the_body(kind):
    plant, joint = plant_with(JOINTS[kind])
    assert joint.type_name() == kind
    joint.set_default_positions(np.linspace(0.3, 0.7, joint.num_positions()))
    X_WB = plant.EvalBodyPoseInWorld(plant.CreateDefaultContext(), joint.child_body())
    np.testing.assert_allclose(joint.GetDefaultPose().GetAsMatrix4(), X_WB.GetAsMatrix4(), atol=1e-15)


@pytest.mark.parametrize("kind", JOINTS)
def test_energy_is_conserved_without_damping_and_lost_with_it(kind):
    """By the third-order Runge-Kutta integrator at an accuracy of 1e-9."""
    for damped in (False, True):
        plant, joint = plant_with(JOINTS[kind], finalize=False)
        if not damped:
            joint.set_default_damping_vector(np.zeros(joint.num_velocities()))
        plant.Finalize()
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        plant.SetVelocities(context, np.linspace(0.4, 0.9, plant.num_velocities()))

        def energy(plant=plant, context=context):
            return plant.CalcKineticEnergy(context) + plant.CalcPotentialEnergy(context)

        before = energy()
        simulator.get_mutable_integrator().set_target_accuracy(1e-9)
        simulator.AdvanceTo(0.4)
        assert energy() < before - 1e-4 if damped else energy() == pytest.approx(before, abs=1e-7)


@pytest.mark.parametrize("kind", JOINTS)
@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_a_locked_joint_stays_where_it_is_until_it_is_unlocked(kind, time_step):
    plant, joint = plant_with(JOINTS[kind], time_step)
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    plant.SetVelocities(context, np.ones(plant.num_velocities()))
    joint.Lock(context)
    q = plant.GetPositions(context)
    simulator.AdvanceTo(0.05)
    assert joint.is_locked(context) and not plant.GetVelocities(context).any()
    np.testing.assert_array_equal(plant.GetPositions(context), q)
    assert joint.is_locked(context.Clone()) and not joint.is_locked(plant.CreateDefaultContext())
    joint.Unlock(context)
    simulator.AdvanceTo(0.1)
    assert not joint.is_locked(context) and plant.GetVelocities(context).any()


def test_only_bodies_that_float_can_be_locked_by_themselves():
    plant, joint = plant_with(JOINTS["planar"], finalize=False)
    free = plant.AddRigidBody("free", off_centre_inertia())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    free.Lock(context)
    assert free.is_locked(context) and not joint.child_body().is_locked(context)
    free.Unlock(context)
    assert not free.is_locked(context) and not plant.world_body().is_locked(context)
    with pytest.raises(RuntimeError, match=r"Lock\(\): body 'b' is not a floating base body"):
        joint.child_body().Lock(context)


def test_a_screw_ties_translation_to_rotation():
    plant, screw = plant_with(JOINTS["screw"])
    screw.set_default_translation(0.15)
    assert screw.get_default_rotation() == pytest.approx(np.pi)
    context = plant.CreateDefaultContext()
    assert screw.get_translation(context) == pytest.approx(0.15)
    screw.set_translational_velocity(context, 0.3)
    assert screw.get_angular_velocity(context) == pytest.approx(2.0 * np.pi)
    assert ScrewJoint("z", screw.frame_on_parent(), screw.frame_on_child(), 0.2, 0.1).screw_axis().tolist() == [0, 0, 1]


def test_a_screw_without_pitch_does_not_translate():
    _, screw = plant_with(lambda F, M: ScrewJoint("j", F, M, 0.0, 0.0))
    screw.set_default_translation(0.0)
    with pytest.raises(RuntimeError, match="no pitch"):
        screw.set_default_translation(0.1)


@pytest.mark.parametrize("arguments", [(), (0.1,), ([0, 0, 1], 0.1), ([0, 0, 1], 0.1, 0.2, 0.3)])
def test_a_screw_with_missing_or_too_many_arguments_is_refused(arguments):
    with pytest.raises(TypeError, match="takes screw_pitch and damping"):
        plant_with(lambda F, M: ScrewJoint("j", F, M, *arguments))


def test_a_path_limits_its_joint_unless_it_is_periodic():
    _, joint = plant_with(JOINTS["curvilinear"])
    assert (joint.position_lower_limit(), joint.position_upper_limit()) == (0.0, 3.0)
    circle = PiecewiseConstantCurvatureTrajectory([0.0, 2.0 * np.pi], [1.0], is_periodic=True)
    _, joint = plant_with(lambda F, M: CurvilinearJoint("j", F, M, circle))
    assert (joint.position_lower_limit(), joint.position_upper_limit()) == (-np.inf, np.inf)
    _, joint = plant_with(lambda F, M: CurvilinearJoint("j", F, M, circle, -1.0, 2.0, 0.3))
    assert (joint.position_lower_limit(), joint.position_upper_limit(), joint.default_damping()) == (-1.0, 2.0, 0.3)
    with pytest.raises(ValueError, match="empty"):
        plant_with(lambda F, M: CurvilinearJoint("j", F, M, PiecewiseConstantCurvatureTrajectory()))


@pytest.mark.parametrize("kind", ["ball_rpy", "rpy_floating"])
@pytest.mark.parametrize("time_step", [0.0, 1e-2])
def test_roll_pitch_yaw_at_a_quarter_turn_of_pitch_is_reported_by_name(kind, time_step):
    plant, joint = plant_with(JOINTS[kind], time_step)
    context = plant.CreateDefaultContext()
    joint.set_angles(context, [0.1, np.pi / 2, 0.2])
    step = plant.ExecuteForcedEvents if time_step else plant.EvalTimeDerivatives
    for call in (lambda: plant.MapVelocityToQDot(context, np.ones(plant.num_velocities())), lambda: step(context)):
        with pytest.raises(RuntimeError, match=r"singular: joint 'j' is at a pitch of 1\.57"):
            call()
    plant.MapQDotToVelocity(context, np.ones(plant.num_positions()))  # has a value there


@pytest.mark.parametrize("kind", [k for k in JOINTS if "floating" not in k])
def test_a_default_pose_can_be_set_only_for_joints_that_can_take_every_pose(kind):
    _, joint = plant_with(JOINTS[kind])
    with pytest.raises(RuntimeError, match="only floating joints can"):
        joint.SetDefaultPose(RigidTransform())


@pytest.mark.parametrize("kind", [k for k in JOINTS if k != "quaternion_floating"])
def test_joints_whose_child_is_nearer_the_world_are_refused(kind):
    plant = MultibodyPlant(0.0)
    a, b = (plant.AddRigidBody(name, off_centre_inertia()) for name in "ab")
    plant.WeldFrames(plant.world_frame(), a.body_frame())
    plant.AddJoint(JOINTS[kind](b.body_frame(), a.body_frame()))
    with pytest.raises(RuntimeError, match=f"{kind} does not allow"):
        plant.Finalize()


def test_joints_of_base_bodies_are_of_the_chosen_type():
    plant = MultibodyPlant(0.0)
    instances = [plant.AddModelInstance(name) for name in ("quaternion", "rpy", "weld")]
    bodies = [plant.AddRigidBody("b", instance, off_centre_inertia()) for instance in instances]
    plant.SetBaseBodyJointType(BaseBodyJointType.kRpyFloatingJoint)
    plant.SetBaseBodyJointType(BaseBodyJointType.kQuaternionFloatingJoint, instances[0])
    plant.SetBaseBodyJointType(BaseBodyJointType.kWeldJoint, instances[2])
    assert plant.GetBaseBodyJointType(instances[1]) == BaseBodyJointType.kRpyFloatingJoint
    X_WB = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1, 2, 3])
    plant.SetDefaultFloatingBaseBodyPose(bodies[1], X_WB)
    plant.Finalize()
    assert [plant.num_positions(i) for i in instances] == [7, 6, 0]
    assert [body.is_floating_base_body() for body in bodies] == [True, True, False]
    assert [body.has_quaternion_dofs() for body in bodies] == [True, False, False]
    assert [plant.HasUniqueFloatingBaseBody(i) for i in instances] == [True, True, False]
    assert plant.GetUniqueFloatingBaseBodyOrThrow(instances[1]) is bodies[1]
    context = plant.CreateDefaultContext()
    np.testing.assert_allclose(plant.GetPositions(context, instances[1]), [0.1, 0.2, 0.3, 1, 2, 3], atol=1e-15)
    plant.SetFreeBodySpatialVelocity(context, bodies[1], SpatialVelocity([1, 2, 3], [4, 5, 6]))
    np.testing.assert_array_equal(plant.GetVelocities(context, instances[1]), [1, 2, 3, 4, 5, 6])
    plant.SetFloatingBaseBodyPoseInAnchoredFrame(context, bodies[2].body_frame(), bodies[1], X_WB.inverse())
    pose = plant.GetFreeBodyPose(context, bodies[1]).GetAsMatrix4()
    np.testing.assert_allclose(pose, X_WB.inverse().GetAsMatrix4(), atol=1e-15)
    with pytest.raises(RuntimeError, match="'b' must be anchored"):
        plant.SetFloatingBaseBodyPoseInAnchoredFrame(context, bodies[0].body_frame(), bodies[1], X_WB)
    with pytest.raises(RuntimeError, match="'weld' has a unique base body, 'b', but it is not a floating"):
        plant.GetUniqueFloatingBaseBodyOrThrow(instances[2])
    with pytest.raises(RuntimeError, match="finalized already"):
        plant.SetBaseBodyJointType(BaseBodyJointType.kWeldJoint)


def test_random_contexts_draw_positions_from_the_distributions_of_the_joints():
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs sympy", exc_type=ImportError)
    gauss = symbolic.Variable("g", symbolic.Variable.Type.RANDOM_GAUSSIAN)
    uniform = symbolic.Variable("u", symbolic.Variable.Type.RANDOM_UNIFORM)
    plant, planar = plant_with(JOINTS["planar"], finalize=False)
    free = plant.AddRigidBody("free", off_centre_inertia())
    plant.Finalize()
    planar.set_default_translation([5, 6])
    planar.set_random_pose_distribution([2.0 + uniform, 2.0 * uniform], 0.1 * gauss)
    plant.GetJointByName("free").set_random_quaternion_distribution_to_uniform()
    context = plant.CreateDefaultContext()

    def draw(generator):
        plant.SetRandomContext(context, generator)
        return plant.GetPositions(context)

    generator = RandomGenerator(1)
    q = np.array([draw(generator) for _ in range(400)])
    np.testing.assert_allclose(2.0 * (q[:, 0] - 2.0), q[:, 1], atol=1e-14)  # the same variable
    assert 0.4 < (q[:, 0] - 2.0).mean() < 0.6 and 0.08 < q[:, 2].std() < 0.12  # some standard errors
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(np.cov(q[:, 3:7].T), 0.25 * np.eye(4), atol=0.06)
    assert not q[:, 7:].any() and free.has_quaternion_dofs()
    np.testing.assert_array_equal(draw(RandomGenerator(1)), q[0])
    with pytest.raises(ValueError, match="needs 3 expressions, but 2"):
        planar.set_random_pose_distribution([uniform], gauss)
    planar.set_random_pose_distribution([symbolic.Variable("x"), 0.0], 0.0)
    with pytest.raises(RuntimeError, match=r"'x' in the distribution .* is not random"):
        draw(generator)
