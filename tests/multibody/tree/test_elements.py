"""Elements by themselves, and with a plant that only holds arrays."""

import numpy as np
import pytest

from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialVelocity
from merganser.multibody.tree import (
    BodyIndex,
    FixedOffsetFrame,
    FrameIndex,
    JointIndex,
    MultibodyForces,
    MultibodyTree,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    ScopedName,
    SpatialInertia,
    UnitInertia,
    WeldJoint,
    default_model_instance,
    world_frame_index,
    world_index,
    world_model_instance,
)

INERTIA = SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3)
CONTEXT = object()  # the plant below has one state, whatever the Context


class ArrayViews:
    """The numbers of the state and of the bodies."""

    def __init__(self, tree):
        q, v, records = tree.default_positions(), np.zeros(tree.num_velocities()), tree.make_default_parameters()
        self.q = self.mutable_q = lambda context: q
        self.v = self.mutable_v = lambda context: v
        self.parameters = self.mutable_parameters = lambda context: records


class ArrayPlant:
    """The plant's functions that elements call, answered from arrays."""

    def __init__(self, tree):
        tree.plant = self
        self._views = ArrayViews(tree)
        self.poses, self.velocities, self.accelerations = {}, {}, {}

    def EvalBodyPoseInWorld(self, context, body):
        return self.poses.get(body, RigidTransform())

    def EvalBodySpatialVelocityInWorld(self, context, body):
        return self.velocities.get(body, SpatialVelocity.Zero())

    def EvalBodySpatialAccelerationInWorld(self, context, body):
        return self.accelerations.get(body, SpatialAcceleration.Zero())


@pytest.fixture
def robot():
    """A floating base with a revolute arm, on it a slider and a welded tool; and the plant of the tree."""
    tree = MultibodyTree()
    names = ("base", "arm", "slider", "tool")
    base, arm, slider, tool = (tree.AddRigidBody(name, INERTIA) for name in names)
    tree.AddJoint(RevoluteJoint("hinge", base.body_frame(), arm.body_frame(), [0, 3, 4], damping=0.5))
    tree.AddJoint(PrismaticJoint("slide", arm.body_frame(), slider.body_frame(), [2, 0, 0]))
    tree.AddJoint(WeldJoint("weld", slider.body_frame(), tool.body_frame(), RigidTransform([1.0, 0, 0])))
    tree.Finalize()
    return tree, ArrayPlant(tree)


# -- indices and names ---------------------------------------------------------------------------------------


def test_indices_are_hashable_whole_numbers():
    assert BodyIndex(3) == 3 and [10, 20][BodyIndex(1)] == 20 and BodyIndex(2) < BodyIndex(3)
    assert {BodyIndex(3): "x"}[3] == "x"
    assert repr(FrameIndex(2)) == "FrameIndex(2)"
    assert BodyIndex(0).is_valid() and not BodyIndex().is_valid()
    assert (world_index(), world_frame_index(), world_model_instance(), default_model_instance()) == (
        0,
        0,
        0,
        1,
    )


def test_scoped_names_split_at_the_last_separator():
    name = ScopedName.Parse("arm::left::hand")
    assert (name.get_namespace(), name.get_element(), str(name)) == ("arm::left", "hand", "arm::left::hand")
    assert ScopedName.Parse("hand") == ScopedName("", "hand") == ScopedName.Join("", "hand")
    assert ScopedName.Join("arm", "left::hand").get_namespace() == "arm::left"
    assert ScopedName.Make("arm", "a::b") is None and ScopedName.Make("arm", "") is None
    with pytest.raises(ValueError, match="must not be empty nor hold '::'"):
        ScopedName("arm", "a::b")


def test_elements_name_themselves_with_their_model_instance():
    tree = MultibodyTree()
    body = tree.AddRigidBody("hand", tree.AddModelInstance("left"), INERTIA)
    assert str(body.scoped_name()) == "left::hand"
    assert repr(body) == "<RigidBody name='hand' index=1 model_instance=2>"
    assert str(tree.world_body().scoped_name()) == "WorldModelInstance::world"


def test_element_without_a_plant_says_so():
    tree = MultibodyTree()
    with pytest.raises(RuntimeError, match="does not belong to a MultibodyPlant"):
        tree.world_body().GetParentPlant()
    frame = FixedOffsetFrame("f", tree.world_frame(), RigidTransform())
    with pytest.raises(RuntimeError, match="was not added to a MultibodyPlant yet"):
        frame.GetParentPlant()


# -- frames --------------------------------------------------------------------------------------------------


def test_offset_frames_compose():
    tree = MultibodyTree()
    body = tree.AddRigidBody("b", INERTIA)
    X_BP = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    X_PF = RigidTransform(RollPitchYaw(-0.4, 0.5, 0.6), [-1.0, 0.5, 0.0])
    P = tree.AddFrame(FixedOffsetFrame(name="P", bodyB=body, X_BF=X_BP))
    F = tree.AddFrame(FixedOffsetFrame("F", P, X_PF))
    np.testing.assert_allclose(
        F.GetFixedPoseInBodyFrame().GetAsMatrix4(), (X_BP @ X_PF).GetAsMatrix4(), atol=1e-15
    )
    assert F.body() is body and not F.is_body_frame() and body.body_frame().is_body_frame()
    assert tree.world_frame().is_world_frame() and not body.body_frame().is_world_frame()
    assert F.model_instance() == body.model_instance()


def test_offset_frame_refuses_what_is_no_frame_or_pose():
    tree = MultibodyTree()
    with pytest.raises(TypeError, match="needs a parent Frame P and a RigidTransform X_PF"):
        FixedOffsetFrame("F", tree.world_frame(), np.eye(4))
    with pytest.raises(TypeError, match="NoneType"):
        FixedOffsetFrame("F")


# -- joints --------------------------------------------------------------------------------------------------


def hinge(*args, **kwargs):
    tree = MultibodyTree()
    body = tree.AddRigidBody("b", INERTIA)
    return RevoluteJoint("j", tree.world_frame(), body.body_frame(), [0, 0, 2], *args, **kwargs)


def test_revolute_joint_takes_damping_and_limits_in_every_form():
    for joint, limits, damping in [
        (hinge(), (-np.inf, np.inf), 0.0),
        (hinge(0.5), (-np.inf, np.inf), 0.5),
        (hinge(-1.0, 2.0), (-1.0, 2.0), 0.0),
        (hinge(-1.0, 2.0, 0.5), (-1.0, 2.0), 0.5),
        (hinge(pos_lower_limit=-1.0, pos_upper_limit=2.0, damping=0.5), (-1.0, 2.0), 0.5),
    ]:
        assert (joint.position_lower_limit(), joint.position_upper_limit()) == limits
        assert joint.default_damping() == damping
    assert hinge().revolute_axis().tolist() == [0, 0, 1]
    with pytest.raises(TypeError, match="too many arguments"):
        hinge(1, 2, 3, 4)


def test_bad_joints_are_refused():
    tree = MultibodyTree()
    body = tree.AddRigidBody("b", INERTIA)
    W, B = tree.world_frame(), body.body_frame()
    with pytest.raises(RuntimeError, match="axis must be finite and have a nonzero length"):
        RevoluteJoint("j", W, B, [0, 0, 0])
    with pytest.raises(RuntimeError, match="damping of joint 'j' must be finite and not negative"):
        PrismaticJoint("j", W, B, [1, 0, 0], damping=-1.0)
    with pytest.raises(ValueError, match=r"lower <= upper, but lower = \[1.\]"):
        RevoluteJoint("j", W, B, [1, 0, 0], 1.0, 0.0)
    with pytest.raises(TypeError, match=r"frame_on_child must be a Frame, not a RigidBody.*body_frame\(\)"):
        RevoluteJoint("j", W, body, [1, 0, 0])
    with pytest.raises(RuntimeError, match="name must not be empty"):
        RevoluteJoint("", W, B, [1, 0, 0])
    with pytest.raises(TypeError, match="X_FM must be a RigidTransform"):
        WeldJoint("j", W, B, np.eye(4))


def test_bad_defaults_and_limits_leave_the_joint_as_it_was():
    joint = hinge(-1.0, 1.0)
    with pytest.raises(RuntimeError, match="has 1 positions, but 2 were given"):
        joint.set_default_positions([1.0, 2.0])
    with pytest.raises(ValueError, match="must be finite"):
        joint.set_default_angle(np.nan)
    with pytest.raises(ValueError, match="lower <= upper"):
        joint.set_position_limits([np.nan], [1.0])
    with pytest.raises(ValueError, match="must have 1 entries"):
        joint.set_velocity_limits([0, 0], [1, 1])
    assert joint.default_positions().tolist() == [0.0]
    assert joint.position_lower_limits().tolist() == [-1.0]
    with pytest.raises(RuntimeError, match="no coordinates before Finalize"):
        joint.position_start()
    assert joint.index() == JointIndex()


def test_default_poses_follow_from_default_positions():
    joint = hinge()
    joint.set_default_angle(0.3)
    expected = RotationMatrix.MakeZRotation(0.3).matrix()
    np.testing.assert_allclose(joint.GetDefaultPose().rotation().matrix(), expected, atol=1e-15)
    tree = MultibodyTree()
    free = QuaternionFloatingJoint("free", tree.world_frame(), tree.AddRigidBody("b").body_frame(), 1.0, 2.0)
    X_FM = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
    free.SetDefaultPose(X_FM)
    np.testing.assert_allclose(free.GetDefaultPose().GetAsMatrix4(), X_FM.GetAsMatrix4(), atol=1e-15)
    assert free.GetDefaultPosePair()[1].tolist() == [1, 2, 3]
    assert free.default_damping_vector().tolist() == [1, 1, 1, 2, 2, 2]
    with pytest.raises(ValueError, match="quaternion of joint 'free' is zero"):
        free.set_default_positions(np.zeros(7))


def test_joint_types_say_what_they_can_do(robot):
    tree, _ = robot
    described = {j.name(): (j.type_name(), j.can_rotate(), j.can_translate()) for j in tree.joints}
    assert described == {
        "hinge": ("revolute", True, False),
        "slide": ("prismatic", False, True),
        "weld": ("weld", False, False),
        "base": ("quaternion_floating", True, True),
    }


def test_joints_read_and_write_their_part_of_the_state(robot):
    tree, plant = robot
    joint, slide, free = (tree.GetJointByName(name) for name in ("hinge", "slide", "base"))
    assert joint.set_angle(CONTEXT, 0.3).set_angular_rate(CONTEXT, 0.4) is joint
    slide.set_translation(CONTEXT, 0.5).set_translation_rate(CONTEXT, 0.6)
    X_FM = RigidTransform(Quaternion([0.5, 0.5, 0.5, 0.5]), [1.0, 2.0, 3.0])
    free.SetPose(CONTEXT, X_FM).set_angular_velocity(CONTEXT, [4, 5, 6])
    free.set_translational_velocity(CONTEXT, [7, 8, 9])
    np.testing.assert_allclose(plant._views.q(CONTEXT), [0.5, 0.5, 0.5, 0.5, 1, 2, 3, 0.3, 0.5])
    np.testing.assert_allclose(plant._views.v(CONTEXT), [4, 5, 6, 7, 8, 9, 0.4, 0.6])
    assert joint.get_angle(CONTEXT) == joint.GetOnePosition(CONTEXT) == 0.3
    assert slide.get_translation_rate(CONTEXT) == slide.GetOneVelocity(CONTEXT) == 0.6
    np.testing.assert_allclose(free.GetPose(CONTEXT).GetAsMatrix4(), X_FM.GetAsMatrix4(), atol=1e-15)
    assert free.get_translational_velocity(CONTEXT).tolist() == [7, 8, 9]
    with pytest.raises(RuntimeError, match="has 7 positions"):
        free.GetOnePosition(CONTEXT)
    with pytest.raises(ValueError, match="3 entries"):
        free.SetTranslation(CONTEXT, [1, 2])


def test_zero_quaternion_in_the_state_is_reported(robot):
    tree, plant = robot
    plant._views.q(CONTEXT)[:4] = 0.0
    with pytest.raises(RuntimeError, match="joint 'base' has the quaternion"):
        tree.GetJointByName("base").get_quaternion(CONTEXT)


def test_damping_is_a_parameter_and_a_force(robot):
    tree, _ = robot
    joint = tree.GetJointByName("hinge")
    assert joint.GetDamping(CONTEXT) == 0.5
    joint.SetDamping(CONTEXT, 0.25)
    assert joint.GetDamping(CONTEXT) == 0.25 and joint.default_damping() == 0.5
    joint.set_angular_rate(CONTEXT, 2.0)
    forces = MultibodyForces(tree.num_bodies(), tree.num_velocities())
    joint.AddInDamping(CONTEXT, forces)
    joint.AddInOneForce(CONTEXT, 0, 3.0, forces)
    assert forces.generalized_forces().tolist() == [0] * 6 + [3.0 - 0.25 * 2.0, 0]
    with pytest.raises(ValueError, match="has 1 velocities; there is no number 1"):
        joint.AddInOneForce(CONTEXT, 1, 3.0, forces)


# -- actuators -----------------------------------------------------------------------------------------------


def test_actuators_know_their_place_in_the_input():
    tree = MultibodyTree()
    joints = [
        tree.AddJoint(
            RevoluteJoint(f"j{k}", tree.world_frame(), tree.AddRigidBody(f"b{k}").body_frame(), [1, 0, 0])
        )
        for k in range(2)
    ]
    second = tree.AddJointActuator("second", joints[1], effort_limit=5.0)
    first = tree.AddJointActuator("first", joints[0])
    with pytest.raises(RuntimeError, match="'first' has no input before Finalize"):
        first.input_start()
    tree.Finalize()
    assert (second.input_start(), first.input_start()) == (0, 1)
    assert tree.actuated_velocity_indices().tolist() == [1, 0]
    u = np.array([10.0, 20.0])
    assert first.get_actuation_vector(u).tolist() == [20.0]
    first.set_actuation_vector([30.0], u)
    assert u.tolist() == [10.0, 30.0]
    with pytest.raises(ValueError, match="must have 2 entries"):
        first.get_actuation_vector([1.0])
    assert (second.effort_limit(), first.effort_limit()) == (5.0, np.inf)
    for bad in (0.0, -1.0, np.nan):
        with pytest.raises(RuntimeError, match="effort limit must be positive"):
            second.set_effort_limit(bad)
    with pytest.raises(ValueError, match="rotor inertia must not be negative"):
        second.set_default_rotor_inertia(-1.0)


# -- bodies --------------------------------------------------------------------------------------------------


def test_mass_properties_of_a_context_do_not_change_the_defaults(robot):
    tree, _ = robot
    arm = tree.GetBodyByName("arm")
    arm.SetMass(CONTEXT, 5.0)
    arm.SetCenterOfMassInBodyFrame(CONTEXT, [0.1, 0.2, 0.3])
    assert arm.get_mass(CONTEXT) == 5.0 and arm.default_mass() == 2.0
    M = arm.CalcSpatialInertiaInBodyFrame(CONTEXT)
    assert M.get_mass() == 5.0 and M.get_com().tolist() == [0.1, 0.2, 0.3]
    arm.SetSpatialInertiaInBodyFrame(CONTEXT, SpatialInertia(1.0, np.zeros(3), UnitInertia(1.0, 1.0, 1.0)))
    assert arm.CalcSpatialInertiaInBodyFrame(CONTEXT).get_unit_inertia().get_moments().tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="mass of body 'arm' must be finite"):
        arm.SetMass(CONTEXT, np.nan)
    with pytest.raises(ValueError, match="NaN inertia for body 'arm'"):
        arm.SetSpatialInertiaInBodyFrame(CONTEXT, SpatialInertia.NaN())


def test_centre_of_mass_moves_with_its_body(robot):
    tree, plant = robot
    arm = tree.GetBodyByName("arm")
    arm.SetCenterOfMassInBodyFrame(CONTEXT, [1.0, 0, 0])
    plant.poses[arm] = RigidTransform(RotationMatrix.MakeZRotation(np.pi / 2), [5.0, 5.0, 5.0])
    plant.velocities[arm] = SpatialVelocity([0, 0, 2.0], [1.0, 0, 0])
    plant.accelerations[arm] = SpatialAcceleration([0, 0, 3.0], [0, 0, 1.0])
    # p_BoBcm_W = y: w x p = -2 x, alpha x p = -3 x, centripetal -4 y.
    np.testing.assert_allclose(
        arm.CalcCenterOfMassTranslationalVelocityInWorld(CONTEXT), [-1, 0, 0], atol=1e-15
    )
    acceleration = arm.CalcCenterOfMassTranslationalAccelerationInWorld(CONTEXT)
    np.testing.assert_allclose(acceleration, [-3, -4, 1], atol=1e-14)


def test_force_at_a_point_is_shifted_to_the_body_origin(robot):
    tree, plant = robot
    arm = tree.GetBodyByName("arm")
    plant.poses[arm] = RigidTransform(RotationMatrix.MakeZRotation(np.pi / 2), [5.0, 5.0, 5.0])
    forces = MultibodyForces(tree.num_bodies(), tree.num_velocities())
    # In the frame of the arm: 2 along y, at x = 3. In the world: -2 along x, at y = 3.
    F_Bp_B = SpatialForce([0, 0, 0], [0, 2.0, 0])
    arm.AddInForce(CONTEXT, [3.0, 0, 0], F_Bp_B, arm.body_frame(), forces)
    expected = [0, 0, 6, -2, 0, 0]
    np.testing.assert_allclose(arm.GetForceInWorld(CONTEXT, forces).get_coeffs(), expected, atol=1e-14)
    more = MultibodyForces(tree.num_bodies(), tree.num_velocities())
    more.AddInForces(forces)
    more.AddInForces(forces)
    np.testing.assert_allclose(
        arm.GetForceInWorld(CONTEXT, more).get_coeffs(), 2 * np.array(expected), atol=1e-14
    )
    assert not forces.SetZero()._F_Bo_W.any()
    with pytest.raises(ValueError, match="addend is for 2 bodies"):
        more.AddInForces(MultibodyForces(2, 8))
