"""RollPitchYaw: the order of the turns, gimbal lock, and rates against derivatives."""

import copy
import math
import pickle

import numpy as np
import pytest

from merganser.framework.math import Quaternion, RollPitchYaw, RotationMatrix, VectorToSkewSymmetric


def random_rpy(count=10, seed=0):
    rng = np.random.default_rng(seed)
    return [RollPitchYaw(rng.uniform([-3, -1.5, -3], [3, 1.5, 3])) for _ in range(count)]


def along(rpy, rpyDt, rpyDDt=(0.0, 0.0, 0.0), t=1e-100j):
    """The angles after a complex step in time; their imaginary parts / 1e-100 are time derivatives."""
    return RollPitchYaw(rpy.vector() + t * np.asarray(rpyDt) + t * t / 2 * np.asarray(rpyDDt))


def test_angles_turn_about_fixed_x_then_y_then_z():
    R = RollPitchYaw(0.1, 0.2, 0.3).ToRotationMatrix()
    expected = (
        RotationMatrix.MakeZRotation(0.3)
        @ RotationMatrix.MakeYRotation(0.2)
        @ RotationMatrix.MakeXRotation(0.1)
    )
    assert R.IsNearlyEqualTo(expected, 1e-15)


def test_angles_come_back_from_matrix_and_quaternion():
    for rpy in random_rpy():
        for source in (rpy.ToRotationMatrix(), rpy.ToQuaternion(), rpy.ToRotationMatrix().matrix()):
            np.testing.assert_allclose(RollPitchYaw(source).vector(), rpy.vector(), rtol=0, atol=2e-14)
        np.testing.assert_allclose(
            rpy.ToQuaternion().rotation(), rpy.ToRotationMatrix().matrix(), rtol=0, atol=1e-15
        )


@pytest.mark.parametrize("distance", [0.0, 1e-16, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4])
@pytest.mark.parametrize("sign", [1, -1])
def test_orientation_survives_near_gimbal_lock(distance, sign):
    rng = np.random.default_rng(5)
    for roll, yaw in rng.uniform(-3.1, 3.1, size=(20, 2)):
        pitch = sign * (math.pi / 2 - distance)
        R = RollPitchYaw(roll, pitch, yaw).ToRotationMatrix()
        found = RollPitchYaw(R)
        assert found.ToRotationMatrix().IsNearlyEqualTo(R, 4e-15)
        assert found.pitch_angle() == pytest.approx(pitch, abs=2e-15)
        assert np.all(np.abs(found.vector()) <= [math.pi, math.pi / 2, math.pi])


def test_angular_velocity_is_that_of_the_rotation_matrix():
    for rpy, rpyDt in zip(random_rpy(), np.random.default_rng(1).normal(size=(10, 3)), strict=True):
        R = rpy.ToRotationMatrix().matrix()
        R_dt = along(rpy, rpyDt).ToRotationMatrix().matrix().imag / 1e-100
        np.testing.assert_allclose(rpy.CalcRotationMatrixDt(rpyDt), R_dt, rtol=0, atol=1e-14)
        w_AD_A = rpy.CalcAngularVelocityInParentFromRpyDt(rpyDt)
        w_AD_D = rpy.CalcAngularVelocityInChildFromRpyDt(rpyDt)
        np.testing.assert_allclose(VectorToSkewSymmetric(w_AD_A), R_dt @ R.T, rtol=0, atol=1e-14)
        np.testing.assert_allclose(w_AD_D, R.T @ w_AD_A, rtol=0, atol=1e-14)
        atol = 1e-13  # cos(pitch) down to 0.07 magnifies round-off
        np.testing.assert_allclose(rpy.CalcRpyDtFromAngularVelocityInParent(w_AD_A), rpyDt, rtol=0, atol=atol)
        np.testing.assert_allclose(rpy.CalcRpyDtFromAngularVelocityInChild(w_AD_D), rpyDt, rtol=0, atol=atol)


def test_second_derivatives_invert_the_derivative_of_the_angular_velocity():
    rng = np.random.default_rng(2)
    for rpy in random_rpy():
        rpyDt, rpyDDt = rng.normal(size=(2, 3))
        later, rates_later = along(rpy, rpyDt), rpyDt + 1e-100j * rpyDDt
        alpha_A = later.CalcAngularVelocityInParentFromRpyDt(rates_later).imag / 1e-100
        # In a frame that turns with D, the derivatives of w in A and in D differ by w x w = 0.
        alpha_D = later.CalcAngularVelocityInChildFromRpyDt(rates_later).imag / 1e-100
        atol = 1e-12  # cos(pitch) down to 0.07 magnifies round-off of terms of size ten
        for found in (
            rpy.CalcRpyDDtFromRpyDtAndAngularAccelInParent(rpyDt, alpha_A),
            rpy.CalcRpyDDtFromAngularAccelInChild(rpyDt, alpha_D),
        ):
            np.testing.assert_allclose(found, rpyDDt, rtol=0, atol=atol)


@pytest.mark.parametrize(
    ("method", "count"),
    [
        ("CalcRpyDtFromAngularVelocityInParent", 1),
        ("CalcRpyDtFromAngularVelocityInChild", 1),
        ("CalcRpyDDtFromRpyDtAndAngularAccelInParent", 2),
        ("CalcRpyDDtFromAngularAccelInChild", 2),
    ],
)
def test_rates_at_gimbal_lock_are_refused(method, count):
    rates = [[1.0, 2.0, 3.0]] * count
    with pytest.raises(RuntimeError, match=rf"{method}: the pitch angle 90 degrees .* gimbal lock"):
        getattr(RollPitchYaw(0.3, math.pi / 2, 0.5), method)(*rates)
    getattr(RollPitchYaw(0.3, math.pi / 2 - 0.0081, 0.5), method)(*rates)


def test_every_way_to_give_the_angles():
    expected = RollPitchYaw([0.1, 0.2, 0.3])
    for rpy in (
        RollPitchYaw(0.1, 0.2, 0.3),
        RollPitchYaw(roll=0.1, pitch=0.2, yaw=0.3),
        RollPitchYaw(rpy=np.array([[0.1], [0.2], [0.3]])),
        RollPitchYaw(other=expected),
    ):
        np.testing.assert_array_equal(rpy.vector(), expected.vector())
    assert (expected.roll_angle(), expected.pitch_angle(), expected.yaw_angle()) == (0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((), {}, TypeError, "give one of"),
        ((0.1, 0.2), {}, TypeError, "all three"),
        (([0, 0, 0],), {"roll": 1, "pitch": 2, "yaw": 3}, TypeError, "nothing else"),
        ((), {"quaternion": Quaternion(), "matrix": np.eye(3)}, TypeError, "give one of"),
        (([0.1, math.nan, 0.3],), {}, ValueError, "finite"),
        (([0.1, 0.2],), {}, ValueError, "expected 3 numbers"),
        ((2 * np.eye(3),), {}, RuntimeError, "not a rotation matrix"),
    ],
)
def test_bad_arguments_are_refused(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        RollPitchYaw(*arguments, **keywords)


def test_copies_pickles_and_repr_are_equal_and_independent():
    angles = np.array([0.1, 0.2, 0.3])
    rpy = RollPitchYaw(angles)
    twins = [copy.copy(rpy), copy.deepcopy(rpy), pickle.loads(pickle.dumps(rpy)), eval(repr(rpy))]
    angles[:] = 7
    rpy.vector()[:] = 7
    for twin in [rpy, *twins]:
        np.testing.assert_array_equal(twin.vector(), [0.1, 0.2, 0.3])


def test_angles_are_compared_one_by_one():
    rpy = RollPitchYaw(0.1, 0.2, 0.3)
    assert rpy.IsNearlyEqualTo(rpy, tolerance=0.0)
    assert rpy.IsNearlyEqualTo(other=RollPitchYaw(0.1, 0.2, 0.31), tolerance=0.011)
    assert not rpy.IsNearlyEqualTo(RollPitchYaw(0.1, 0.2, 0.31), 0.009)
    with pytest.raises(TypeError, match=r"RollPitchYaw\.IsNearlyEqualTo"):
        rpy.IsNearlyEqualTo([0.1, 0.2, 0.3], 0.1)
