"""Building and finalizing trees: order, numbers, and errors that leave nothing half done."""

from itertools import pairwise

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels import layout
from merganser.multibody.tree import (
    FixedOffsetFrame,
    JointIndex,
    MultibodyTree,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RigidBody,
    SpatialInertia,
    UnitInertia,
    WeldJoint,
)

INERTIA = SpatialInertia.SolidBoxWithMass(2.0, 0.1, 0.2, 0.3)
Z = [0, 0, 1]


def tree_with_bodies(count, inertia=INERTIA):
    tree = MultibodyTree()
    return tree, [tree.world_body()] + [tree.AddRigidBody(f"b{k}", inertia) for k in range(1, count + 1)]


def add_revolute(tree, parent, child, name=None):
    name = name or f"{parent.name()}_{child.name()}"
    return tree.AddJoint(RevoluteJoint(name, parent.body_frame(), child.body_frame(), Z))


# -- order ---------------------------------------------------------------------------------------------------


def test_mobods_are_numbered_depth_first_with_contiguous_subtrees():
    tree, b = tree_with_bodies(4)
    for parent, child in [(0, 1), (1, 2), (0, 3), (1, 4)]:
        add_revolute(tree, b[parent], b[child])
    tree.Finalize()
    assert tree.mobod_of_body.tolist() == [0, 1, 2, 4, 3]
    assert tree.topology["parent"].tolist() == [-1, 0, 1, 1, 0]
    assert tree.topology["subtree_end"].tolist() == [5, 4, 3, 4, 5]
    assert [joint.position_start() for joint in tree.joints] == [0, 1, 3, 2]
    assert tree.mobod_of_joint.tolist() == [1, 2, 4, 3]


def test_loose_parts_follow_the_world_tree_and_bodies_without_joints_come_last():
    tree, b = tree_with_bodies(5)
    add_revolute(tree, b[2], b[3])
    add_revolute(tree, b[0], b[5])
    tree.Finalize()
    assert tree.mobod_of_body.tolist() == [0, 4, 2, 3, 5, 1]
    assert [joint.name() for joint in tree.joints][2:] == ["b2", "b1", "b4"]
    assert tree.num_positions() == 2 + 3 * 7 and tree.num_velocities() == 2 + 3 * 6


def test_base_with_most_joints_is_chosen_first():
    tree, b = tree_with_bodies(5)
    add_revolute(tree, b[1], b[2])
    add_revolute(tree, b[3], b[4])
    add_revolute(tree, b[3], b[5])
    tree.Finalize()
    assert [joint.name() for joint in tree.joints][3:] == ["b3", "b1"]


def test_joint_with_its_child_nearer_the_world_swaps_frames_and_negates_the_axis():
    tree, b = tree_with_bodies(1)
    X_WM, X_BF = RigidTransform([1.0, 0, 0]), RigidTransform([0, 2.0, 0])
    on_world = tree.AddFrame(FixedOffsetFrame("M", b[0], X_WM))
    on_body = tree.AddFrame(FixedOffsetFrame("F", b[1], X_BF))
    tree.AddJoint(RevoluteJoint("j", on_body, on_world, Z))
    tree.Finalize()
    record = tree.make_default_parameters()[1]
    assert record["axis_F"].tolist() == [0, 0, -1]
    assert record["p_PoFo_P"].tolist() == [1, 0, 0]
    assert record["p_MoBo_M"].tolist() == [0, -2, 0]


def test_floating_joint_cannot_be_reversed_and_finalize_leaves_the_tree_open():
    tree, b = tree_with_bodies(1)
    tree.AddJoint(QuaternionFloatingJoint("free", b[1].body_frame(), b[0].body_frame()))
    with pytest.raises(RuntimeError, match=r"joint 'free', body 'world', is nearer the world.*exchanged"):
        tree.Finalize()
    assert not tree.is_finalized() and tree.num_joints() == 1


def test_long_chain_needs_no_recursion():
    tree, b = tree_with_bodies(1500)
    for parent, child in pairwise(b):
        add_revolute(tree, parent, child)
    tree.Finalize()
    assert tree.topology["subtree_end"][1] == 1501


# -- implicit joints -----------------------------------------------------------------------------------------


def test_implicit_joint_takes_the_name_of_its_body_with_underscores_if_taken():
    tree, b = tree_with_bodies(3)
    add_revolute(tree, b[0], b[2], name="b1")
    add_revolute(tree, b[0], b[3], name="_b1")
    tree.Finalize()
    joint = tree.get_joint(2)
    assert (joint.name(), joint.is_ephemeral(), joint.index()) == ("__b1", True, JointIndex(2))
    assert b[1].is_floating_base_body() and not b[2].is_floating_base_body()
    assert (b[1].floating_positions_start(), b[1].floating_velocities_start_in_v()) == (2, 2)
    assert b[1].floating_position_suffix(0) == "qw" and b[1].floating_velocity_suffix(5) == "vz"
    assert tree.GetFloatingBaseBodies() == {1}


def test_fixed_body_has_no_floating_coordinates():
    tree, b = tree_with_bodies(1)
    with pytest.raises(RuntimeError, match="before Finalize"):
        b[1].is_floating_base_body()
    add_revolute(tree, b[0], b[1])
    tree.Finalize()
    with pytest.raises(RuntimeError, match=r"'b1' is not a floating base body: .*RevoluteJoint"):
        b[1].floating_positions_start()


def test_default_pose_of_a_floating_body_can_be_set_before_and_after_finalize():
    tree, b = tree_with_bodies(2)
    tree.SetDefaultFloatingBaseBodyPose(b[1], RigidTransform([1.0, 2.0, 3.0]))
    tree.Finalize()
    assert tree.default_positions()[:7].tolist() == [1, 0, 0, 0, 1, 2, 3]
    assert tree.default_positions()[7:].tolist() == [1, 0, 0, 0, 0, 0, 0]
    tree.SetDefaultFloatingBaseBodyPose(b[1], RigidTransform([4.0, 5.0, 6.0]))
    assert tree.default_positions()[4:7].tolist() == [4, 5, 6]
    assert tree.GetDefaultFloatingBaseBodyPose(b[1]).translation().tolist() == [4, 5, 6]


def test_massless_base_may_float_if_what_it_carries_has_mass():
    tree, b = tree_with_bodies(1)
    base = tree.AddRigidBody("base")
    tree.WeldFrames(base.body_frame(), b[1].body_frame())
    tree.Finalize()
    assert base.is_floating_base_body()


def test_massless_fixed_body_is_accepted():
    tree, b = tree_with_bodies(1, SpatialInertia.Zero())
    add_revolute(tree, b[0], b[1])
    tree.Finalize()
    assert tree.num_positions() == 1


# -- errors of building --------------------------------------------------------------------------------------


def test_loop_is_refused_with_the_joints_that_form_it():
    tree, b = tree_with_bodies(4)
    for parent, child in [(0, 4), (0, 1), (1, 2), (2, 3), (1, 3)]:
        add_revolute(tree, b[parent], b[child])
    with pytest.raises(RuntimeError, match="form a loop") as error:
        tree.Finalize()
    assert all(name in str(error.value) for name in ("'b1_b2'", "'b2_b3'", "'b1_b3'"))
    assert "b4" not in str(error.value)


def test_joint_of_a_body_to_itself_is_refused():
    tree, b = tree_with_bodies(1)
    with pytest.raises(RuntimeError, match="joint 'j' would connect body 'b1' to itself"):
        add_revolute(tree, b[1], b[1], name="j")
    assert tree.num_joints() == 0


def test_second_joint_between_two_bodies_is_refused():
    tree, b = tree_with_bodies(2)
    add_revolute(tree, b[1], b[2], name="first")
    with pytest.raises(RuntimeError, match=r"'second'.*'b2' and 'b1', which joint 'first' connects already"):
        add_revolute(tree, b[2], b[1], name="second")


def test_elements_of_another_tree_are_refused():
    tree, b = tree_with_bodies(1)
    other, c = tree_with_bodies(1)
    with pytest.raises(RuntimeError, match=r"joint 'j' needs .*belongs to another plant"):
        tree.AddJoint(RevoluteJoint("j", b[1].body_frame(), c[1].body_frame(), Z))
    with pytest.raises(RuntimeError, match="belongs to another plant"):
        tree.AddFrame(FixedOffsetFrame("f", c[1].body_frame(), RigidTransform()))
    joint = add_revolute(other, c[0], c[1])
    with pytest.raises(RuntimeError, match="was added to another plant already"):
        tree.AddJoint(joint)
    with pytest.raises(RuntimeError, match=r"actuator 'a' needs .*another plant"):
        tree.AddJointActuator("a", joint)
    loose = RigidBody("loose", INERTIA)
    with pytest.raises(RuntimeError, match="add it first"):
        tree.AddJoint(RevoluteJoint("j", b[1].body_frame(), loose.body_frame(), Z))


def test_nothing_can_be_added_after_finalize():
    tree, b = tree_with_bodies(1)
    joint = add_revolute(tree, b[0], b[1])
    tree.Finalize()
    for add in (
        lambda: tree.AddRigidBody("late", INERTIA),
        lambda: tree.AddFrame(FixedOffsetFrame("late", b[1], RigidTransform())),
        lambda: tree.AddJoint(RevoluteJoint("late", b[0].body_frame(), b[1].body_frame(), Z)),
        lambda: tree.AddJointActuator("late", joint),
        lambda: tree.AddModelInstance("late"),
        tree.Finalize,
    ):
        with pytest.raises(RuntimeError, match="finalized already"):
            add()


def test_names_are_unique_within_a_model_instance():
    tree, b = tree_with_bodies(2)
    left = tree.AddModelInstance("left")
    tree.AddRigidBody("b1", left, INERTIA)
    with pytest.raises(RuntimeError, match="'left' already contains a body named 'b1'"):
        tree.AddRigidBody("b1", left, INERTIA)
    tree.AddFrame(FixedOffsetFrame("tool", b[1], RigidTransform()))
    with pytest.raises(RuntimeError, match="already contains a frame named 'tool'"):
        tree.AddFrame(FixedOffsetFrame("tool", b[2], RigidTransform()))
    joint = add_revolute(tree, b[0], b[1], name="j")
    with pytest.raises(RuntimeError, match="already contains a joint named 'j'"):
        add_revolute(tree, b[0], b[2], name="j")
    tree.AddJointActuator("a", joint)
    with pytest.raises(RuntimeError, match="already contains a joint actuator named 'a'"):
        tree.AddJointActuator("a", joint)
    with pytest.raises(RuntimeError, match="model instance named 'left' already"):
        tree.AddModelInstance("left")


def test_body_needs_a_model_instance_once_there_are_several():
    tree = MultibodyTree()
    tree.AddModelInstance("left")
    with pytest.raises(RuntimeError, match="say to which one the body 'b' belongs"):
        tree.AddRigidBody("b", INERTIA)
    assert tree.num_bodies() == 1


def test_only_joints_with_one_velocity_have_actuators():
    tree, b = tree_with_bodies(1)
    weld = tree.WeldFrames(b[0].body_frame(), b[1].body_frame())
    assert weld.name() == "world_welds_to_b1"
    with pytest.raises(RuntimeError, match=r"'world_welds_to_b1' \(weld\) has 0 velocities"):
        tree.AddJointActuator("a", weld)


# -- lookup --------------------------------------------------------------------------------------------------


def test_unknown_name_suggests_near_names():
    tree, _ = tree_with_bodies(3)
    tree.AddRigidBody("gripper", INERTIA)
    with pytest.raises(
        RuntimeError, match=r"GetBodyByName.*'griper' in any model instance. Did you mean 'gripper'"
    ):
        tree.GetBodyByName("griper")
    with pytest.raises(RuntimeError, match=r"no body named 'xyz'.*names there are: 'b1', 'b2'"):
        tree.GetBodyByName("xyz")
    with pytest.raises(RuntimeError, match=r"no joint named 'j'.*The plant has none"):
        tree.GetJointByName("j")
    with pytest.raises(RuntimeError, match="Did you mean 'DefaultModelInstance'"):
        tree.GetModelInstanceByName("DefaultModel")


def test_name_of_another_model_instance_is_pointed_out():
    tree = MultibodyTree()
    left, right = tree.AddModelInstance("left"), tree.AddModelInstance("right")
    hand = tree.AddRigidBody("hand", left, INERTIA)
    with pytest.raises(
        RuntimeError, match=r"no body named 'hand' in model instance 'right'. It is in 'left'"
    ):
        tree.GetBodyByName("hand", right)
    assert tree.GetBodyByName("hand") is tree.GetBodyByName("hand", left) is hand
    assert not tree.HasBodyNamed("hand", right)


def test_ambiguous_name_needs_a_model_instance():
    tree = MultibodyTree()
    left, right = tree.AddModelInstance("left"), tree.AddModelInstance("right")
    tree.AddRigidBody("hand", left, INERTIA)
    hand = tree.AddRigidBody("hand", right, INERTIA)
    for ask in (tree.GetBodyByName, tree.HasBodyNamed, tree.GetFrameByName):
        with pytest.raises(RuntimeError, match=r"several model instances \(left, right\)"):
            ask("hand")
    assert tree.GetBodyByName("hand", right) is hand
    assert tree.NumBodiesWithName("hand") == 2


def test_unknown_indices_are_refused():
    tree = MultibodyTree()
    with pytest.raises(RuntimeError, match="no body with index 7"):
        tree.get_body(7)
    with pytest.raises(RuntimeError, match="no joint with index -1"):
        tree.get_joint(JointIndex())
    with pytest.raises(RuntimeError, match="no model instance with index 5"):
        tree.GetBodyIndices(5)


def test_welded_bodies_are_found_through_chains():
    tree, b = tree_with_bodies(4)
    tree.WeldFrames(b[3].body_frame(), b[2].body_frame())
    tree.WeldFrames(b[2].body_frame(), b[0].body_frame())
    add_revolute(tree, b[3], b[1])
    tree.Finalize()
    assert tree.GetBodiesWeldedTo(b[3]) == [b[0], b[2], b[3]]
    assert [tree.IsAnchored(body) for body in b] == [True, False, True, True, False]


# -- results -------------------------------------------------------------------------------------------------


def test_constant_pose_of_a_weld_goes_into_the_frame_on_the_inboard_body():
    tree, b = tree_with_bodies(2)
    tree.AddJoint(WeldJoint("w", b[0].body_frame(), b[1].body_frame(), RigidTransform([1.0, 2.0, 3.0])))
    tree.AddJoint(WeldJoint("x", b[2].body_frame(), b[0].body_frame(), RigidTransform([1.0, 2.0, 3.0])))
    tree.Finalize()
    assert (tree.topology["mobilizer"] == layout.WELD).all()
    assert tree.make_default_parameters()["p_PoFo_P"].tolist() == [[0, 0, 0], [1, 2, 3], [-1, -2, -3]]


def test_rotors_of_all_actuators_of_a_joint_add_up():
    tree, b = tree_with_bodies(1)
    joint = add_revolute(tree, b[0], b[1])
    for name, ratio, inertia in (("a", 3.0, 0.5), ("b", -2.0, 0.25)):
        actuator = tree.AddJointActuator(name, joint, effort_limit=ratio**2)
        actuator.set_default_gear_ratio(ratio)
        actuator.set_default_rotor_inertia(inertia)
    tree.Finalize()
    assert tree.make_default_parameters()["reflected_inertia"].tolist() == [0.0, 9.0 * 0.5 + 4.0 * 0.25]
    assert tree.actuated_velocity_indices().tolist() == [0, 0]
    assert tree.effort_limits().tolist() == [9.0, 4.0]


@pytest.mark.parametrize("scalar", [np.complex128, object])
def test_parameters_of_other_scalars_hold_the_same_numbers(scalar):
    tree, b = tree_with_bodies(2)
    add_revolute(tree, b[1], b[2]).set_default_damping(0.5)
    tree.Finalize()
    floats, others = tree.make_default_parameters(), tree.make_default_parameters(scalar)
    assert others.dtype == layout.parameter_dtype(scalar)
    for field in floats.dtype.names:
        np.testing.assert_array_equal(others[field].astype(complex), floats[field])


def test_changed_defaults_show_in_new_parameters():
    tree, b = tree_with_bodies(1)
    joint = tree.AddJoint(PrismaticJoint("p", b[0].body_frame(), b[1].body_frame(), Z))
    tree.Finalize()
    joint.set_default_damping(0.7)
    joint.set_default_translation(0.3)
    joint.set_position_limits([-1.0], [2.0])
    assert tree.make_default_parameters()["damping"][1, 0] == tree.default_damping()[0] == 0.7
    assert tree.default_positions().tolist() == [0.3]
    assert (tree.position_lower_limits()[0], tree.position_upper_limits()[0]) == (-1.0, 2.0)


def test_coordinates_are_asked_for_after_finalize_only():
    tree, _ = tree_with_bodies(1)
    for ask in (tree.num_positions, tree.default_positions, tree.make_default_parameters, tree.input_indices):
        with pytest.raises(RuntimeError, match="Finalize"):
            ask()


def test_gravity_points_down_unless_changed():
    tree = MultibodyTree()
    assert tree.gravity_vector().tolist() == [0, 0, -9.81]
    tree.gravity_field().set_gravity_vector([1.0, 2.0, 3.0])
    assert tree.gravity_vector().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="must be finite"):
        tree.gravity_field().set_gravity_vector([0, 0, np.nan])


def test_body_keeps_its_own_copy_of_the_inertia():
    tree = MultibodyTree()
    inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia(1.0, 1.0, 1.0))
    body = tree.AddRigidBody("b", inertia)
    inertia.SetNaN()
    body.default_spatial_inertia().SetNaN()
    assert body.default_mass() == 1.0
