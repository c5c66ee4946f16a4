"""Quaternion and AngleAxis: identities, construction, checks, errors; comparisons and rates."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest

from merganser.framework.math import (
    AngleAxis,
    AreQuaternionsEqualForOrientation,
    CalculateAngularVelocityExpressedInBFromQuaternionDt,
    CalculateQuaternionDtConstraintViolation,
    CalculateQuaternionDtFromAngularVelocityExpressedInB,
    ClosestQuaternion,
    IsBothQuaternionAndQuaternionDtOK,
    IsQuaternionValid,
    Quaternion,
    QuaternionToCanonicalForm,
    VectorToSkewSymmetric,
)


def random_quaternions(count=10, seed=0):
    rng = np.random.default_rng(seed)
    return [Quaternion(wxyz / np.linalg.norm(wxyz)) for wxyz in rng.normal(size=(count, 4))]


def test_product_of_quaternions_is_the_product_of_their_matrices():
    quaternions = random_quaternions()
    for q_AB, q_BC in itertools.pairwise(quaternions):
        expected = q_AB.rotation() @ q_BC.rotation()
        np.testing.assert_allclose((q_AB @ q_BC).rotation(), expected, rtol=0, atol=2e-15)
        np.testing.assert_allclose(q_AB @ np.eye(3), q_AB.rotation(), rtol=0, atol=1e-15)
        np.testing.assert_allclose((q_AB @ q_AB.inverse()).wxyz(), [1, 0, 0, 0], rtol=0, atol=1e-15)
        np.testing.assert_allclose(q_AB.conjugate().rotation(), q_AB.rotation().T, rtol=0, atol=1e-15)
        np.testing.assert_allclose(q_AB.multiply(vector=[1, 2, 3]), q_AB.rotation() @ [1, 2, 3], atol=1e-15)


def test_components_and_setters():
    q = Quaternion(0.5, -0.5, 0.5, -0.5)
    assert (q.w(), q.x(), q.y(), q.z()) == (0.5, -0.5, 0.5, -0.5)
    np.testing.assert_array_equal(q.xyz(), [-0.5, 0.5, -0.5])
    q.set_wxyz(w=0.0, x=1.0, y=0.0, z=0.0)
    np.testing.assert_array_equal(q.rotation(), np.diag([1.0, -1, -1]))
    q.set_wxyz([0, 0, 0, 1])
    np.testing.assert_array_equal(q.rotation(), np.diag([-1.0, -1, 1]))
    q.set_rotation(np.diag([-1.0, 1, -1]))
    np.testing.assert_array_equal(np.abs(q.wxyz()), [0, 0, 1, 0])


def test_slerp_turns_at_constant_rate_along_the_shorter_way():
    q0 = AngleAxis(0.2, [0, 0, 1]).quaternion()
    q1 = AngleAxis(1.4, [0, 0, 1]).quaternion()
    for far_end in (q1, Quaternion(-q1.wxyz())):
        for t in (0.0, 0.25, 1.0):
            expected = AngleAxis(0.2 + 1.2 * t, [0, 0, 1]).quaternion()
            assert AreQuaternionsEqualForOrientation(q0.slerp(t, far_end), expected, 1e-15)
    tiny = AngleAxis(1e-12, [0, 0, 1]).quaternion()
    np.testing.assert_allclose(Quaternion().slerp(0.5, tiny).z(), 2.5e-13, rtol=1e-12)


def test_angle_axis_is_rodrigues_formula_and_the_exponential_of_its_skew_matrix():
    u = np.array([0.48, -0.6, 0.64])
    K = VectorToSkewSymmetric(u)
    for angle in (-2.0, 0.0, 0.3, 3.0):
        a = AngleAxis(angle, u)
        expected = np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
        np.testing.assert_allclose(a.rotation(), expected, rtol=0, atol=1e-15)
        np.testing.assert_allclose(a.quaternion().rotation(), expected, rtol=0, atol=1e-15)
        np.testing.assert_allclose((a @ a.inverse()).wxyz(), [1, 0, 0, 0], rtol=0, atol=1e-15)


def test_angle_axis_comes_back_from_quaternion_and_matrix():
    for q in random_quaternions():
        for a in (AngleAxis(q), AngleAxis(q.rotation())):
            assert 0 <= a.angle() <= math.pi
            np.testing.assert_allclose(a.rotation(), q.rotation(), rtol=0, atol=2e-15)
    assert AngleAxis(Quaternion(-1, 0, 0, 0)).angle() == 0
    small = AngleAxis(Quaternion(1, 0, 1e-20, 0))
    assert small.angle() == 2e-20 and small.axis().tolist() == [0, 1, 0]


def test_angle_axis_setters():
    a = AngleAxis()
    a.set_angle(0.3)
    a.set_axis([0, 1, 0])
    b = AngleAxis()
    b.set_quaternion(a.quaternion())
    c = AngleAxis()
    c.set_rotation(a.rotation())
    for twin in (b, c, AngleAxis(a)):
        np.testing.assert_allclose(twin.rotation(), a.rotation(), rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Quaternion([2, 0, 0, 0]), RuntimeError, "length is 2.0, expected 1"),
        (lambda: Quaternion([1, 0, 0]), ValueError, "expected 4 numbers"),
        (lambda: Quaternion([1, 0, 0, math.nan]), ValueError, "finite"),
        (lambda: Quaternion(1, 0, 0), TypeError, "all four"),
        (lambda: Quaternion([1, 0, 0, 0], w=1, x=0, y=0, z=0), TypeError, "nothing else"),
        (lambda: Quaternion(rotation=2 * np.eye(3)), RuntimeError, "not a rotation matrix"),
        (lambda: Quaternion() @ [1, 2], TypeError, "Quaternion.multiply"),
        (lambda: AngleAxis(0.3, [2, 0, 0]), RuntimeError, "length is 2.0, expected 1"),
        (lambda: AngleAxis(0.3, [0, 0, 0]), RuntimeError, "length is 0.0"),
        (lambda: AngleAxis(math.inf, [1, 0, 0]), ValueError, "finite"),
        (lambda: AngleAxis(0.3), TypeError, "needs an axis"),
        (lambda: AngleAxis(axis=[1, 0, 0]), TypeError, "angle and axis"),
        (lambda: AngleAxis() @ [1, 2, 3], TypeError, "unsupported operand"),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_failed_setters_change_nothing():
    q, a = Quaternion(), AngleAxis()
    for change in (lambda: q.set_wxyz([2, 0, 0, 0]), lambda: q.set_rotation(np.ones((3, 3)))):
        with pytest.raises(RuntimeError):
            change()
    with pytest.raises(RuntimeError):
        a.set_axis([0, 0, 2])
    assert q.wxyz().tolist() == [1, 0, 0, 0] and a.axis().tolist() == [1, 0, 0]


def test_copies_pickles_and_repr_are_equal_and_independent():
    wxyz, axis = np.array([0.6, 0, 0.8, 0]), np.array([0, 0.6, 0.8])
    q, a = Quaternion(wxyz), AngleAxis(0.3, axis)
    wxyz[:] = axis[:] = q.wxyz()[:] = a.axis()[:] = 7
    for twin in (copy.copy(q), copy.deepcopy(q), pickle.loads(pickle.dumps(q)), eval(repr(q))):
        assert twin.wxyz().tolist() == [0.6, 0, 0.8, 0]
    for twin in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a)), eval(repr(a))):
        assert twin.angle() == 0.3 and twin.axis().tolist() == [0, 0.6, 0.8]


def test_signs_of_quaternions_are_distinguished_and_unified():
    q = Quaternion(-0.5, 0.5, 0.5, -0.5)
    assert QuaternionToCanonicalForm(q).wxyz().tolist() == [0.5, -0.5, -0.5, 0.5]
    assert ClosestQuaternion(Quaternion(), q).wxyz().tolist() == [0.5, -0.5, -0.5, 0.5]
    assert ClosestQuaternion(q, q).wxyz().tolist() == q.wxyz().tolist()
    assert AreQuaternionsEqualForOrientation(q, QuaternionToCanonicalForm(q), 0.0)
    assert not AreQuaternionsEqualForOrientation(q, q.conjugate(), 0.1)


def test_quaternion_rates_and_angular_velocity_are_inverse_and_keep_the_length():
    for q, w_AB_B in zip(random_quaternions(), np.random.default_rng(3).normal(size=(10, 3)), strict=True):
        q_dt = CalculateQuaternionDtFromAngularVelocityExpressedInB(q, w_AB_B)
        found = CalculateAngularVelocityExpressedInBFromQuaternionDt(q, q_dt)
        np.testing.assert_allclose(found, w_AB_B, rtol=0, atol=4e-15)
        assert IsBothQuaternionAndQuaternionDtOK(q, q_dt, 1e-14)
        # R_dt = R_AB [w_AB_B]x, by the complex step.
        R_dt = Quaternion(q.wxyz() + 1e-100j * q_dt).rotation().imag / 1e-100
        expected = q.rotation() @ VectorToSkewSymmetric(w_AB_B)
        np.testing.assert_allclose(R_dt, expected, rtol=0, atol=1e-14)


def test_violations_of_unit_length_are_measured():
    q = Quaternion([1 + 1e-6, 0, 0, 0])
    assert IsQuaternionValid(q, 1.1e-6) and not IsQuaternionValid(q, 0.9e-6)
    assert CalculateQuaternionDtConstraintViolation(Quaternion(), [1, 2, 3, 4]) == 2
    assert not IsBothQuaternionAndQuaternionDtOK(Quaternion(), [1, 2, 3, 4], 1.9)
