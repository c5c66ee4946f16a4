"""Derivatives of rotations where formulas change: at no rotation, at half a turn, in gimbal lock, at coincidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.framework.math import AngleAxis, Quaternion, RollPitchYaw, RotationMatrix

STEP = 1e-6
SQUARE = np.array([0.5, 0.5, 0.5, 0.5])


def unit(x: Any) -> Quaternion:
    return Quaternion(wxyz=x / (x @ x) ** 0.5)


def gradient(f: Callable[[Any], Any], x: Any) -> np.ndarray:
    return ExtractGradient(f(InitializeAutoDiff(np.asarray(x, float)).ravel()))


def differences(f: Callable[[Any], Any], x: Any) -> np.ndarray:
    x = np.asarray(x, float)
    steps = STEP * np.eye(len(x))
    return np.array([(f(x + step) - f(x - step)) / (2 * STEP) for step in steps]).T


@pytest.mark.parametrize("distance", [0.0, 1e-10, 4e-9, 6e-9, 1e-7, 1e-3])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slerp_between_quaternions_that_nearly_coincide(distance: float, sign: float) -> None:
    other = sign * (SQUARE + distance * np.array([1.0, -1.0, 0.0, 0.0]))

    def of_both(x: Any) -> Any:
        return unit(x[:4]).slerp(x[8], unit(x[4:8])).wxyz()

    x = np.concatenate([SQUARE, other, [0.3]])
    np.testing.assert_allclose(gradient(of_both, x), differences(of_both, x), atol=1e-7)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, -0.6, 0.8), (0.0, 0.0, 1.0)])
def test_rotations_by_half_a_turn_go_through_angle_and_axis_with_their_derivatives(axis: Any) -> None:
    def there_and_back(x: Any) -> Any:
        return AngleAxis(quaternion=unit(x)).rotation().ravel()

    x = np.array([0.0, *axis])
    np.testing.assert_allclose(gradient(there_and_back, x), differences(there_and_back, x), atol=1e-7)


@pytest.mark.parametrize("angle", [0.0, np.pi])
def test_a_rotation_by_an_angle_about_an_axis_is_smooth_at_every_angle(angle: float) -> None:
    def rotation(x: Any) -> Any:
        return AngleAxis(angle=x[0], axis=[0.0, 0.6, 0.8]).rotation().ravel()

    np.testing.assert_allclose(gradient(rotation, [angle]), differences(rotation, [angle]), atol=1e-8)


def test_twice_the_quaternion_vector_has_derivatives_at_the_identity() -> None:
    def turned(x: Any) -> RotationMatrix:
        return RotationMatrix(RollPitchYaw(x[0], x[1], x[2]))

    none = turned(InitializeAutoDiff(np.zeros(3)).ravel()).ToAngleAxis()
    assert not ExtractGradient(np.array([none.angle(), *none.axis()])).any()
    vectors = gradient(lambda x: 2 * turned(x).ToQuaternion().xyz(), np.zeros(3))

    def angle_times_axis(x: Any) -> Any:
        found = turned(x).ToAngleAxis()
        return found.angle() * found.axis()

    np.testing.assert_allclose(vectors, differences(angle_times_axis, np.zeros(3)), atol=1e-7)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_roll_pitch_and_yaw_have_finite_derivatives_in_gimbal_lock(sign: float) -> None:
    R_locked = np.array([[0.0, 0.0, sign], [0.0, 1.0, 0.0], [-sign, 0.0, 0.0]])

    def angles(x: Any) -> Any:
        turn = np.array([[1.0, -x[0], 0.0], [x[0], 1.0, 0.0], [0.0, 0.0, 1.0]])  # about z, to first order
        return RollPitchYaw(RotationMatrix(turn @ R_locked)).vector()

    found = gradient(angles, [0.0]).ravel()
    assert found[1] == 0.0  # as from both sides
    assert found[2] - sign * found[0] == pytest.approx(1.0, abs=1e-12)

    def of_each_element(x: Any) -> Any:
        return RollPitchYaw(RotationMatrix(R_locked + x.reshape(3, 3))).vector()

    assert np.isfinite(gradient(of_each_element, np.zeros(9))).all()
