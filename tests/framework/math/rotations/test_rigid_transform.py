"""RigidTransform: identities, construction, checks, errors."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from merganser.framework.math import AngleAxis, Quaternion, RigidTransform, RollPitchYaw, RotationMatrix

ROUND_OFF = 1e-14  # a few roundings of positions of size ten


def random_poses(count=10, seed=0):
    rng = np.random.default_rng(seed)
    return [RigidTransform(RollPitchYaw(rng.uniform(-3, 3, 3)), rng.normal(size=3)) for _ in range(count)]


def test_composition_is_the_product_of_the_4x4_matrices():
    for X_AB, X_BC in itertools.pairwise(random_poses()):
        expected = X_AB.GetAsMatrix4() @ X_BC.GetAsMatrix4()
        np.testing.assert_allclose((X_AB @ X_BC).GetAsMatrix4(), expected, rtol=0, atol=ROUND_OFF)
        np.testing.assert_array_equal(X_AB.multiply(X_BC).GetAsMatrix4(), (X_AB @ X_BC).GetAsMatrix4())


def test_inverse_and_invert_and_compose_undo_composition():
    for X_AB, X_BC in itertools.pairwise(random_poses()):
        assert (X_AB @ X_AB.inverse()).IsNearlyIdentity(ROUND_OFF)
        assert X_AB.InvertAndCompose(X_AB @ X_BC).IsNearlyEqualTo(X_BC, ROUND_OFF)


def test_points_move_alone_in_columns_and_with_a_fourth_element():
    X_AB = random_poses()[0]
    p_BQ = np.random.default_rng(1).normal(size=(3, 4))
    p_AQ = X_AB @ p_BQ
    for j in range(4):
        expected = X_AB.rotation().matrix() @ p_BQ[:, j] + X_AB.translation()
        np.testing.assert_allclose(p_AQ[:, j], expected, rtol=0, atol=ROUND_OFF)
        np.testing.assert_allclose(X_AB @ p_BQ[:, j], expected, rtol=0, atol=ROUND_OFF)
        np.testing.assert_allclose(X_AB.multiply(vec_B=[*p_BQ[:, j], 1]), [*expected, 1], atol=ROUND_OFF)
    free_vector = X_AB.multiply([1, 2, 3, 0])
    np.testing.assert_allclose(free_vector, [*(X_AB.rotation() @ [1, 2, 3]), 0], rtol=0, atol=ROUND_OFF)


def test_every_representation_of_the_orientation_gives_the_same_pose():
    rpy, p = RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0]
    R = rpy.ToRotationMatrix()
    expected = RigidTransform(R, p)
    for X in (
        RigidTransform(R=R, p=p),
        RigidTransform(rpy, p),
        RigidTransform(rpy=rpy, p=p),
        RigidTransform(R.ToQuaternion(), p),
        RigidTransform(quaternion=R.ToQuaternion(), p=p),
        RigidTransform(R.ToAngleAxis(), p),
        RigidTransform(theta_lambda=R.ToAngleAxis(), p=p),
        RigidTransform(expected.GetAsMatrix4()),
        RigidTransform(pose=expected.GetAsMatrix34()),
        RigidTransform(expected),
        RigidTransform(p) @ RigidTransform(R),
        RigidTransform(p=np.reshape(p, (3, 1))) @ RigidTransform(R),
    ):
        assert X.IsNearlyEqualTo(expected, ROUND_OFF)


def test_setters_change_one_part_and_keep_the_other():
    X = RigidTransform([1, 2, 3])
    X.set_rotation(AngleAxis(0.3, [0, 0, 1]))
    np.testing.assert_array_equal(X.translation(), [1, 2, 3])
    X.set_translation([4, 5, 6])
    assert X.rotation().IsNearlyEqualTo(RotationMatrix.MakeZRotation(0.3), ROUND_OFF)
    X.set(RotationMatrix(), [0, 0, 1e-9])
    assert X.IsNearlyIdentity(1e-8) and not X.IsNearlyIdentity(1e-10) and not X.IsExactlyIdentity()
    assert X.SetIdentity() is X and X.IsExactlyIdentity()


def test_differences_are_the_largest_of_any_element():
    X, Y = RigidTransform(), RigidTransform(RotationMatrix.MakeZRotation(np.pi / 2), [0.25, 0, -0.5])
    assert X.GetMaximumAbsoluteDifference(Y) == 1
    assert X.GetMaximumAbsoluteTranslationDifference(Y) == 0.5
    assert np.isnan(X.GetMaximumAbsoluteDifference(RigidTransform.MakeUnchecked(np.full((3, 4), np.nan))))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2],), ValueError, r"got shape \(2,\)"),
        (([1, 2, np.nan],), ValueError, "finite"),
        ((np.eye(3),), ValueError, "RotationMatrix"),
        ((np.eye(3), [1, 2, 3]), TypeError, r"RotationMatrix\(array\)"),
        ((RotationMatrix(), [1, 2]), ValueError, "p: expected 3 numbers"),
        ((np.diag([1.0, 1, 1, 2]),), ValueError, "last row"),
        ((np.ones((3, 4)),), RuntimeError, "not a rotation matrix"),
        ((RigidTransform(), [1, 2, 3]), TypeError, "beside p"),
        (("here",), TypeError, "array of numbers"),
    ],
)
def test_bad_argument_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        RigidTransform(*arguments)


def test_failed_setters_change_nothing():
    X = random_poses()[0]
    before = X.GetAsMatrix4()
    with pytest.raises(ValueError):
        X.set_translation([1, 2, np.inf])
    with pytest.raises(ValueError):
        X.set(RotationMatrix(), [1, 2])
    with pytest.raises(TypeError):
        X.set_rotation(np.eye(3))
    np.testing.assert_array_equal(X.GetAsMatrix4(), before)


def test_wrong_operands_are_refused():
    X = RigidTransform()
    with pytest.raises(TypeError, match="got RotationMatrix"):
        X @ RotationMatrix()
    with pytest.raises(TypeError, match=r"shape \(4, 2\)"):
        X @ np.ones((4, 2))
    with pytest.raises(ValueError, match="fourth element"):
        X @ [1, 2, 3, 0.5]
    with pytest.raises(TypeError, match="give one of"):
        X.multiply()
    with pytest.raises(TypeError, match="expected a RigidTransform, got RotationMatrix"):
        X.InvertAndCompose(RotationMatrix())


def test_no_array_is_shared_with_the_caller():
    p, pose = np.zeros(3), np.eye(4)
    X, Y = RigidTransform(p), RigidTransform(pose)
    for array in (p, pose, X.translation(), X.GetAsMatrix4(), X.GetAsMatrix34(), X.rotation().matrix()):
        array[...] = 7
    X.rotation().set(RotationMatrix.MakeXRotation(1))
    assert X.IsExactlyIdentity() and Y.IsExactlyIdentity()


def test_results_hold_c_ordered_arrays():
    X, Y = random_poses(2)
    M = np.asfortranarray(X.GetAsMatrix4())
    for Z in (
        X @ Y,
        X.inverse(),
        X.InvertAndCompose(Y),
        RigidTransform(M),
        RigidTransform.MakeUnchecked(M[:3]),
    ):
        assert Z._R_AB.flags.c_contiguous and Z._R_AB.shape == (3, 3)
        assert Z._p_AoBo_A.flags.c_contiguous and Z._p_AoBo_A.shape == (3,)


def test_trusted_constructor_wraps_the_arrays_themselves():
    R_AB, p_AoBo_A = np.eye(3), np.zeros(3)
    X_AB = RigidTransform._from_parts(R_AB, p_AoBo_A)
    assert X_AB._R_AB is R_AB and X_AB._p_AoBo_A is p_AoBo_A


def test_copies_and_pickles_are_equal_and_independent():
    X = random_poses()[0]
    for twin in (copy.copy(X), copy.deepcopy(X), pickle.loads(pickle.dumps(X)), RigidTransform(X)):
        assert twin.IsExactlyEqualTo(X)
        twin.SetIdentity()
        assert not X.IsExactlyIdentity()


def test_repr_evaluates_to_an_equal_pose():
    X = RigidTransform(Quaternion([0.6, 0, 0.8, 0]), [1, 2, 3])
    assert eval(repr(X)).IsExactlyEqualTo(X)
