"""RotationMatrix: identities, construction, checks, errors."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import (
    AngleAxis,
    Quaternion,
    RigidTransform,
    RollPitchYaw,
    RotationMatrix,
    RotationMatrix_,
)
from merganser.framework.symbolic import Variable

ROUND_OFF = 1e-15  # a few roundings of numbers of size one


def random_rotations(count=20, seed=0):
    rng = np.random.default_rng(seed)
    for wxyz in rng.normal(size=(count, 4)):
        yield RotationMatrix(Quaternion(wxyz / np.linalg.norm(wxyz)))


def test_default_is_the_identity():
    assert RotationMatrix().IsExactlyIdentity()
    assert RotationMatrix.Identity().IsExactlyIdentity()


def test_coordinate_rotations_turn_the_next_axis_towards_the_one_after():
    c, s = math.cos(0.3), math.sin(0.3)
    np.testing.assert_array_equal(RotationMatrix.MakeXRotation(0.3) @ [0, 1, 0], [0, c, s])
    np.testing.assert_array_equal(RotationMatrix.MakeYRotation(0.3) @ [0, 0, 1], [s, 0, c])
    np.testing.assert_array_equal(RotationMatrix.MakeZRotation(0.3) @ [1, 0, 0], [c, s, 0])


def test_composition_inverse_and_invert_and_compose_agree():
    for R_AB, R_BC in itertools.pairwise(random_rotations()):
        assert (R_AB @ R_AB.inverse()).IsNearlyIdentity()
        assert R_AB.InvertAndCompose(R_AB @ R_BC).IsNearlyEqualTo(R_BC, 4 * ROUND_OFF)
        assert R_AB.transpose().IsExactlyEqualTo(R_AB.inverse())
        np.testing.assert_array_equal(R_AB.multiply(R_BC).matrix(), (R_AB @ R_BC).matrix())


def test_vectors_keep_their_shape_and_length():
    v_B = np.random.default_rng(1).normal(size=(3, 5))
    for R_AB in random_rotations(5):
        v_A = R_AB @ v_B
        np.testing.assert_allclose(np.linalg.norm(v_A, axis=0), np.linalg.norm(v_B, axis=0), rtol=1e-14)
        np.testing.assert_allclose(R_AB.multiply(v_B=v_B[:, 0]), v_A[:, 0], rtol=0, atol=4 * ROUND_OFF)
        assert (R_AB @ v_B[:, :1]).shape == (3, 1)


def test_conversions_to_other_representations_lead_back():
    for R in random_rotations():
        assert RotationMatrix(R.ToQuaternion()).IsNearlyEqualTo(R, 4 * ROUND_OFF)
        assert RotationMatrix(R.ToAngleAxis()).IsNearlyEqualTo(R, 4 * ROUND_OFF)
        assert RotationMatrix(R.ToRollPitchYaw()).IsNearlyEqualTo(R, 4 * ROUND_OFF)
        assert R.ToQuaternion().w() >= 0
        assert 0 <= R.ToAngleAxis().angle() <= math.pi


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), [[0.6, 0, 0.8], [-0.48, 0.6, 0.64]]]))
def test_half_turns_survive_every_conversion(axis):
    R = RotationMatrix(AngleAxis(math.pi, axis))
    assert RotationMatrix(R.ToQuaternion()).IsNearlyEqualTo(R, 4 * ROUND_OFF)
    assert RotationMatrix(R.ToRollPitchYaw()).IsNearlyEqualTo(R, 4 * ROUND_OFF)
    assert R.ToAngleAxis().angle() == pytest.approx(math.pi, abs=ROUND_OFF)


@pytest.mark.parametrize("axis_index", [0, 1, 2])
def test_make_from_one_vector_gives_a_right_handed_basis_with_that_axis(axis_index):
    for b_A in [*np.random.default_rng(2).normal(size=(10, 3)), [0, 0, -2], [1, 1, 1], [1e-9, 0, 0]]:
        R_AB = RotationMatrix.MakeFromOneVector(b_A, axis_index)
        assert R_AB.IsValid()
        np.testing.assert_allclose(R_AB.col(axis_index), b_A / np.linalg.norm(b_A), rtol=0, atol=ROUND_OFF)
        assert R_AB.col((axis_index + 1) % 3)[np.argmin(np.abs(b_A))] == 0


def test_make_from_one_vector_refuses_what_has_no_direction():
    with pytest.raises(RuntimeError, match="too short to have a direction"):
        RotationMatrix.MakeFromOneVector([0, 0, 1e-11], 0)
    with pytest.raises(ValueError, match="finite"):
        RotationMatrix.MakeFromOneVector([0, 0, math.nan], 0)
    with pytest.raises(ValueError, match="axis_index: expected 0, 1 or 2"):
        RotationMatrix.MakeFromOneVector([0, 0, 1], 3)
    with pytest.raises(RuntimeError, match=r"has length 2\.0, expected 1"):
        RotationMatrix.MakeFromOneUnitVector([0, 0, 2], 0)


def test_projection_undoes_a_symmetric_stretch_and_refuses_a_reflection():
    stretch = np.array([[1.1, 0.02, 0], [0.02, 0.9, 0.01], [0, 0.01, 1.2]])
    for R in random_rotations(5):
        projected = RotationMatrix.ProjectToRotationMatrix(R.matrix() @ stretch)  # polar decomposition
        assert projected.IsNearlyEqualTo(R, 1e-14)
    with pytest.raises(RuntimeError, match="left-handed"):
        RotationMatrix.ProjectToRotationMatrix(-np.eye(3))
    with pytest.raises(ValueError, match="finite"):
        RotationMatrix.ProjectToRotationMatrix(np.full((3, 3), np.nan))


def test_a_matrix_off_by_more_than_128_epsilon_gives_a_warning_with_its_deviation():
    R = np.eye(3)
    R[0, 1] = 120 * np.finfo(float).eps
    assert RotationMatrix(R).IsValid()
    message = r"(?s)0\.001.*deviation \|R Rᵀ - I\| is 0.001.*ProjectToRotationMatrix"
    R[0, 1] = 1e-3
    for take in (RotationMatrix, lambda R: RigidTransform(np.c_[R, np.zeros(3)]).rotation()):
        with pytest.warns(RuntimeWarning, match=message):
            taken = take(R)
        np.testing.assert_array_equal(taken.matrix(), R)
        assert not taken.IsValid()
    with pytest.raises(RuntimeError, match=r"deviation \|R Rᵀ - I\| is 3,"):
        RotationMatrix(2.0 * np.eye(3))


def test_derivatives_of_the_projection_are_finite_differences_and_the_complex_step():
    M = np.array([[1.0, 0.1, 0.2], [-0.3, 0.9, 0.1], [0.0, 0.2, 1.1]])

    def projected(M):
        return RotationMatrix.ProjectToRotationMatrix(M).matrix().ravel()

    steps = 1e-6 * np.eye(9).reshape(9, 3, 3)
    expected = np.transpose([(projected(M + h) - projected(M - h)) / 2e-6 for h in steps])
    R = RotationMatrix_[AutoDiffXd].ProjectToRotationMatrix(InitializeAutoDiff(M.ravel()).reshape(3, 3))
    np.testing.assert_allclose(ExtractGradient(R.matrix().ravel()), expected, atol=1e-9)  # of the differences
    np.testing.assert_allclose(ExtractValue(R.matrix()), projected(M).reshape(3, 3), atol=1e-15)
    by_complex_step = np.transpose([projected(M + 1e-20j * h / 1e-6).imag / 1e-20 for h in steps])
    np.testing.assert_allclose(by_complex_step, expected, atol=1e-9)
    with pytest.raises(TypeError, match="ProjectToRotationMatrix depends on numerical values"):
        RotationMatrix.ProjectToRotationMatrix(M * Variable("x"))


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        (np.diag([1.0, 1.0, -1.0]), RuntimeError, "left-handed"),
        (np.full((3, 3), np.nan), RuntimeError, "NaN"),
        (np.eye(4), ValueError, r"shape \(3, 3\), got an array of shape \(4, 4\)"),
        ([0.1, 0.2, 0.3], ValueError, "RollPitchYaw"),
        ([[1, 0], [0]], ValueError, "rectangular"),
        ("identity", TypeError, "array of numbers"),
        ([[None] * 3] * 3, TypeError, "array of numbers"),
    ],
)
def test_bad_argument_is_refused(argument, error, message):
    with pytest.raises(error, match=message):
        RotationMatrix(argument)


def test_failed_set_changes_nothing():
    R = RotationMatrix.MakeXRotation(0.3)
    before = R.matrix()
    with pytest.raises(RuntimeError):
        R.set(2 * np.eye(3))
    np.testing.assert_array_equal(R.matrix(), before)


def test_nonunit_axis_within_tolerance_still_gives_a_valid_matrix():
    assert RotationMatrix(AngleAxis(0.3, [1 + 1e-6, 0, 0])).IsValid()
    assert RotationMatrix(Quaternion([1 + 1e-6, 1e-6, 0, 0])).IsValid()


def test_wrong_operands_are_refused():
    R = RotationMatrix()
    with pytest.raises(TypeError, match="got RigidTransform"):
        R @ RigidTransform()
    with pytest.raises(TypeError, match="expected a RotationMatrix, got RigidTransform"):
        R.InvertAndCompose(RigidTransform())
    with pytest.raises(TypeError, match=r"shape \(4,\)"):
        R @ [1, 2, 3, 4]
    with pytest.raises(TypeError):
        np.eye(3) @ R
    with pytest.raises(TypeError, match="at most one"):
        RotationMatrix(np.eye(3), rpy=RollPitchYaw(0, 0, 0))
    with pytest.raises(ValueError, match="finite angle"):
        RotationMatrix.MakeXRotation(math.inf)
    with pytest.raises(ValueError, match="index"):
        R.col(3)


def test_no_array_is_shared_with_the_caller():
    M = np.eye(3)
    R = RotationMatrix(M)
    for array in (M, R.matrix(), R.row(0), R.col(1), R.inverse()._R_AB):
        array[...] = 7
    assert R.IsExactlyIdentity()


def test_copies_and_pickles_are_equal_and_independent():
    R = RotationMatrix.MakeXRotation(0.3)
    for twin in (copy.copy(R), copy.deepcopy(R), pickle.loads(pickle.dumps(R)), RotationMatrix(R)):
        assert twin.IsExactlyEqualTo(R)
        twin.set(np.eye(3))
        assert not R.IsExactlyIdentity()


def test_repr_evaluates_to_an_equal_matrix():
    R = RotationMatrix.MakeXRotation(0.3)
    assert eval(repr(R)).IsExactlyEqualTo(R)
