"""Reading and writing the state: sizes, model instances, defaults, free bodies, and what is refused."""

import numpy as np
import pytest
from plants import arm_and_box, driven, free_box, set_random_state

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import QuaternionFloatingJoint

X_WB = RigidTransform(RollPitchYaw(0.1, -0.7, 2.0), [1.0, -2.0, 3.0])
V_WB_W = SpatialVelocity([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])


@pytest.fixture(params=[0.0, 1e-3], ids=["continuous", "discrete"])
def plant(request):
    return arm_and_box(request.param)


@pytest.fixture
def context(plant):
    return plant.CreateDefaultContext()


@pytest.fixture
def arm(plant):
    return plant.GetModelInstanceByName("arm")


@pytest.fixture
def thing(plant):
    return plant.GetModelInstanceByName("thing")


def random_q(plant):
    return np.random.default_rng(0).normal(size=plant.num_positions())


def test_whole_state_is_read_as_written(plant, context):
    q, v = random_q(plant), np.arange(8.0)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    np.testing.assert_array_equal(plant.GetPositions(context), q)
    np.testing.assert_array_equal(plant.GetVelocities(context), v)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), np.concatenate([q, v]))
    plant.SetPositionsAndVelocities(context, np.concatenate([2 * q, 2 * v]))
    np.testing.assert_array_equal(plant.GetPositions(context), 2 * q)
    np.testing.assert_array_equal(plant.GetVelocities(context), 2 * v)


def test_keywords_are_those_of_pydrake(plant, context, arm):
    q, v = random_q(plant), np.arange(8.0)
    plant.SetPositions(context=context, q=q)
    plant.SetVelocities(context=context, v=v)
    plant.SetPositions(context=context, model_instance=arm, q=[5, 6])
    plant.SetVelocities(context=context, model_instance=arm, v=[7, 8])
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context=context, model_instance=arm), [5, 6, 7, 8])
    plant.SetPositionsAndVelocities(context=context, model_instance=arm, q_v=[1, 2, 3, 4])
    np.testing.assert_array_equal(plant.GetPositions(context=context, model_instance=arm), [1, 2])
    plant.SetPositionsAndVelocities(context=context, q_v=np.concatenate([q, v]))
    plant.SetDefaultPositions(q=q)
    plant.SetDefaultPositions(model_instance=arm, q_instance=[1, 2])
    np.testing.assert_array_equal(plant.GetDefaultPositions(model_instance=arm), [1, 2])
    whole = np.zeros(9)
    plant.SetPositionsInArray(model_instance=arm, q_instance=[1, 2], q=whole)
    np.testing.assert_array_equal(plant.GetPositionsFromArray(model_instance=arm, q=whole), [1, 2])


def test_model_instances_have_their_own_part_of_the_state(plant, context, arm, thing):
    q, v = random_q(plant), np.arange(8.0)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    np.testing.assert_array_equal(plant.GetPositions(context, arm), q[:2])
    np.testing.assert_array_equal(plant.GetVelocities(context, thing), v[2:])
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context, thing), np.concatenate([q[2:], v[2:]]))
    plant.SetPositions(context, arm, [7.0, 8.0])
    np.testing.assert_array_equal(plant.GetPositions(context), [7, 8, *q[2:]])
    plant.SetPositionsAndVelocities(context, thing, [1, 0, 0, 0, 5, 5, 5, 1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(
        plant.GetPositionsAndVelocities(context),
        [7, 8, 1, 0, 0, 0, 5, 5, 5, 0, 1, 1, 2, 3, 4, 5, 6],
    )


def test_what_is_read_is_a_copy(plant, context, arm):
    for read in (plant.GetPositions, plant.GetVelocities, plant.GetPositionsAndVelocities):
        for arguments in ((context,), (context, arm)):
            read(*arguments)[:] = 99.0
    assert not (plant.GetPositionsAndVelocities(context) == 99.0).any()


@pytest.mark.parametrize("function, size", [("SetPositions", 9), ("SetVelocities", 8),
                                            ("SetPositionsAndVelocities", 17)])  # fmt: skip
def test_bad_values_are_refused_and_change_nothing(plant, context, arm, function, size):
    set_random_state(plant, context, 1)
    before = plant.GetPositionsAndVelocities(context)
    set_ = getattr(plant, function)
    good = np.ones(size)
    for bad in (good[1:], np.ones((2, size)), [good]):
        if np.size(bad) != size:
            with pytest.raises(ValueError, match=rf"{function}\(\).*size {size}"):
                set_(context, bad)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"{function}\(\): element 3 .* is {value}"):
            set_(context, np.where(np.arange(size) == 3, value, good))
    with pytest.raises(ValueError, match="element 1"):
        set_(context, arm, [1.0, np.nan] * (2 if size == 17 else 1))
    with pytest.raises(ValueError, match="size"):
        set_(context, arm, good)
    with pytest.raises(TypeError, match="complex"):
        set_(context, good + 1j)
    with pytest.raises(TypeError, match="numbers"):
        set_(context, ["a"] * size)
    with pytest.raises(TypeError, match=function):
        set_(context)
    with pytest.raises(TypeError, match=function):
        set_(context, arm, good, good)
    with pytest.raises(RuntimeError, match="no model instance"):
        set_(context, 17, good)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), before)


def test_column_and_integers_are_fine(plant, context):
    plant.SetPositions(context, np.arange(9).reshape(9, 1))
    np.testing.assert_array_equal(plant.GetPositions(context), np.arange(9.0))


def test_zero_quaternion_is_refused(plant, context, thing):
    before = plant.GetPositions(context)
    for set_ in (
        lambda: plant.SetPositions(context, np.zeros(9)),
        lambda: plant.SetPositions(context, thing, np.zeros(7)),
        lambda: plant.SetPositionsAndVelocities(context, np.zeros(17)),
        lambda: plant.SetDefaultPositions(np.zeros(9)),
    ):
        with pytest.raises(ValueError, match=r"quaternion of joint 'box'.* zero"):
            set_()
    np.testing.assert_array_equal(plant.GetPositions(context), before)
    np.testing.assert_array_equal(plant.GetDefaultPositions(), before)


def test_context_of_another_system_is_refused(plant):
    diagram, _ = driven(plant, lambda t: [0, 0])
    root = diagram.CreateDefaultContext()
    other = arm_and_box(plant.time_step()).CreateDefaultContext()
    body = plant.GetBodyByName("box")
    for call in (
        plant.GetPositions,
        plant.CalcMassMatrix,
        plant.CalcKineticEnergy,
        lambda context: plant.SetPositions(context, random_q(plant)),
        lambda context: plant.EvalBodyPoseInWorld(context, body),
    ):
        for context in (root, other):
            with pytest.raises(ValueError, match="GetMyContextFromRoot"):
                call(context)
        with pytest.raises(TypeError, match="needs a Context; got NoneType"):
            call(None)


# -- arrays ------------------------------------------------------------------------------------------


def test_parts_of_arrays(plant, arm, thing):
    q, v, u = np.arange(9.0), np.arange(8.0), np.arange(2.0)
    np.testing.assert_array_equal(plant.GetPositionsFromArray(thing, q), q[2:])
    np.testing.assert_array_equal(plant.GetVelocitiesFromArray(arm, v), v[:2])
    np.testing.assert_array_equal(plant.GetActuationFromArray(arm, u), u)
    assert plant.GetActuationFromArray(thing, u).size == 0
    plant.SetVelocitiesInArray(arm, [8, 9], v)
    np.testing.assert_array_equal(v, [8, 9, 2, 3, 4, 5, 6, 7])
    plant.SetActuationInArray(arm, [8, 9], u)
    np.testing.assert_array_equal(u, [8, 9])
    # Missing limits are infinite.
    assert np.isinf(plant.GetPositionsFromArray(arm, plant.GetPositionUpperLimits())).all()


def test_wrong_sizes_of_arrays_are_refused(plant, arm):
    for kind, size in (("Positions", 9), ("Velocities", 8), ("Actuation", 2)):
        with pytest.raises(ValueError, match=f"size {size}"):
            getattr(plant, f"Get{kind}FromArray")(arm, np.zeros(size + 1))
        with pytest.raises(ValueError, match="size 2"):
            getattr(plant, f"Set{kind}InArray")(arm, np.zeros(3), np.zeros(size))
        with pytest.raises(ValueError, match=rf"\({size},\)"):
            getattr(plant, f"Set{kind}InArray")(arm, np.zeros(2), np.zeros(size + 1))
        with pytest.raises(TypeError, match="numpy array"):
            getattr(plant, f"Set{kind}InArray")(arm, np.zeros(2), [0.0] * size)


# -- defaults ----------------------------------------------------------------------------------------


def test_new_contexts_start_with_the_default_positions(plant, arm):
    np.testing.assert_array_equal(plant.GetDefaultPositions(), [0, 0, 1, 0, 0, 0, 0, 0, 0])
    before = plant.CreateDefaultContext()
    q = random_q(plant)
    plant.SetDefaultPositions(q)
    plant.SetDefaultPositions(arm, [0.3, 0.4])
    plant.GetJointByName("slide").set_default_translation(0.5)
    plant.SetDefaultFloatingBaseBodyPose(plant.GetBodyByName("box"), X_WB)
    expected = [0.3, 0.5, *X_WB.rotation().ToQuaternion().wxyz(), *X_WB.translation()]
    np.testing.assert_allclose(plant.GetPositions(plant.CreateDefaultContext()), expected, rtol=1e-14)
    np.testing.assert_array_equal(plant.GetPositions(before), [0, 0, 1, 0, 0, 0, 0, 0, 0])
    plant.SetDefaultContext(before)
    np.testing.assert_allclose(plant.GetPositions(before), expected, rtol=1e-14)


def test_bad_default_positions_change_nothing(plant):
    before = plant.GetDefaultPositions()
    for bad in (np.ones(8), np.full(9, np.nan), [*np.ones(8), np.inf]):
        with pytest.raises(ValueError, match="SetDefaultPositions"):
            plant.SetDefaultPositions(bad)
    np.testing.assert_array_equal(plant.GetDefaultPositions(), before)


# -- free bodies -------------------------------------------------------------------------------------


def test_pose_and_velocity_of_a_free_body(plant, context):
    box = plant.GetBodyByName("box")
    plant.SetVelocities(context, np.arange(8.0))
    plant.SetFreeBodyPose(context, box, X_WB)
    np.testing.assert_array_equal(plant.GetVelocities(context), np.arange(8.0))
    plant.SetFreeBodySpatialVelocity(context, box, V_WB_W)
    for X in (plant.GetFreeBodyPose(context, box), plant.EvalBodyPoseInWorld(context, box)):
        np.testing.assert_allclose(X.GetAsMatrix4(), X_WB.GetAsMatrix4(), atol=1e-15)
    V = plant.EvalBodySpatialVelocityInWorld(context, box)
    np.testing.assert_array_equal(V.get_coeffs(), V_WB_W.get_coeffs())
    np.testing.assert_array_equal(plant.GetPositions(context)[:2], [0, 0])
    assert plant.GetFloatingBaseBodies() == {box.index()}
    plant.SetFloatingBaseBodyPoseInWorldFrame(context=context, body=box, X_WB=RigidTransform())
    assert plant.EvalBodyPoseInWorld(context, box).IsExactlyIdentity()


def test_keywords_and_older_forms_for_free_bodies(plant, context):
    box = plant.GetBodyByName("box")
    plant.SetFreeBodyPose(context=context, body=box, X_JpJc=RigidTransform())
    plant.SetFreeBodyPose(context=context, body=box, X_PB=X_WB)
    assert plant.GetFreeBodyPose(context=context, body=box).IsNearlyEqualTo(X_WB, 1e-14)
    for keywords in ({"V_JpJc": V_WB_W}, {"V_PB": V_WB_W}):
        plant.SetVelocities(context, np.zeros(8))
        plant.SetFreeBodySpatialVelocity(context=context, body=box, **keywords)
        np.testing.assert_array_equal(plant.GetVelocities(context)[2:], V_WB_W.get_coeffs())
    plant.SetVelocities(context, np.zeros(8))
    plant.SetFreeBodySpatialVelocity(box, V_WB_W, context)
    np.testing.assert_array_equal(plant.GetVelocities(context)[2:], V_WB_W.get_coeffs())


def test_bodies_that_are_not_free_are_refused(plant, context):
    for body, connection in (
        (plant.GetBodyByName("upper"), r"joint 'shoulder' \(revolute\)"),
        (plant.world_body(), "world"),
    ):
        for call in (
            lambda body: plant.SetFreeBodyPose(context, body, X_WB),
            lambda body: plant.GetFreeBodyPose(context, body),
            lambda body: plant.SetFreeBodySpatialVelocity(context, body, V_WB_W),
            lambda body: plant.SetFloatingBaseBodyPoseInWorldFrame(context, body, X_WB),
        ):
            with pytest.raises(RuntimeError, match=f"'{body.name()}' is not free: .*{connection}"):
                call(body)


def test_bad_poses_and_velocities_are_refused_and_change_nothing(plant, context):
    box = plant.GetBodyByName("box")
    set_random_state(plant, context, 1)
    before = plant.GetPositionsAndVelocities(context)
    nan_pose = RigidTransform.MakeUnchecked(np.full((3, 4), np.nan))
    nan_velocity = SpatialVelocity([0, 0, np.nan], [0, 0, 0])
    with pytest.raises(ValueError, match="finite"):
        plant.SetFreeBodyPose(context, box, nan_pose)
    with pytest.raises(ValueError, match="finite"):
        plant.SetFreeBodySpatialVelocity(context, box, nan_velocity)
    with pytest.raises(TypeError, match="RigidTransform"):
        plant.SetFreeBodyPose(context, box, np.eye(4))
    with pytest.raises(TypeError, match="SpatialVelocity"):
        plant.SetFreeBodySpatialVelocity(context, box, np.zeros(6))
    with pytest.raises(TypeError, match="RigidBody"):
        plant.SetFreeBodyPose(context, "box", X_WB)
    with pytest.raises(RuntimeError, match="another plant"):
        plant.SetFreeBodyPose(context, free_box(0.0)[1], X_WB)
    np.testing.assert_array_equal(plant.GetPositionsAndVelocities(context), before)


def test_free_joint_of_the_user_is_set_in_its_parent():
    """SetFreeBodyPose() sets X_JpJc; only what Finalize() connected is a floating base body."""
    plant = MultibodyPlant(0.0)
    carrier, rider = (plant.AddRigidBody(n, free_box(0.0)[1].default_spatial_inertia()) for n in "ab")
    plant.AddJoint(QuaternionFloatingJoint("free", carrier.body_frame(), rider.body_frame()))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    X_WA = RigidTransform([5.0, 0.0, 0.0])
    plant.SetFreeBodyPose(context, carrier, X_WA)
    plant.SetFreeBodyPose(context, rider, X_WB)
    X = plant.EvalBodyPoseInWorld(context, rider)
    np.testing.assert_allclose(X.GetAsMatrix4(), (X_WA @ X_WB).GetAsMatrix4(), atol=1e-14)
    with pytest.raises(RuntimeError, match=r"not a floating base body.*'free'"):
        plant.SetFloatingBaseBodyPoseInWorldFrame(context, rider, X_WB)
