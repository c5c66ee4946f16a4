"""By what rotation a frame is turned too far: the value, and its derivatives by the angular velocity."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.math import AngleAxis, RotationMatrix
from merganser.multibody.inverse_kinematics.rotation_gaps import rotation_gap

AXIS = np.array([2.0, -1.0, 2.0]) / 3.0


def gap_of(R: RotationMatrix, aim: float) -> tuple[np.ndarray, np.ndarray]:
    gap, by_w = np.full(3, np.nan), np.full((3, 3), np.nan)
    assert rotation_gap(R.matrix(), aim, gap, by_w) == pytest.approx(np.trace(R.matrix()))
    return gap, by_w


@pytest.mark.parametrize("aim", [0.0, 0.4])
@pytest.mark.parametrize("theta", [0.41, 1.0, 2.0, 3.0, 3.14])
def test_what_is_beyond_the_angle_is_the_gap_and_has_its_derivatives(theta: float, aim: float) -> None:
    R, h = RotationMatrix(AngleAxis(theta, AXIS)), 1e-6
    gap, by_w = gap_of(R, aim)
    np.testing.assert_allclose(gap, (theta - aim) * AXIS, atol=1e-12)
    for i, w in enumerate(np.eye(3)):
        turned = [gap_of(RotationMatrix(AngleAxis(side * h, w)).multiply(R), aim)[0] for side in (1.0, -1.0)]
        np.testing.assert_allclose(by_w[:, i], (turned[0] - turned[1]) / (2.0 * h), atol=1e-8)


def test_no_turn_is_no_gap_and_within_the_angle_nothing_counts() -> None:
    for aim, slope in ((0.0, np.eye(3)), (0.4, np.zeros((3, 3)))):
        for theta in (0.0, 1e-12):
            gap, by_w = gap_of(RotationMatrix(AngleAxis(theta, AXIS)), aim)
            np.testing.assert_allclose(gap, theta * AXIS if aim == 0.0 else np.zeros(3), atol=1e-15)
            np.testing.assert_allclose(by_w, slope, atol=1e-11)


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], AXIS, -AXIS])
def test_half_a_turn_has_an_axis(axis: list[float]) -> None:
    a = np.asarray(axis)
    gap, by_w = gap_of(RotationMatrix(2.0 * np.outer(a, a) - np.eye(3)), 0.0)
    np.testing.assert_allclose(np.abs(gap), np.pi * np.abs(a), atol=1e-7)
    np.testing.assert_allclose(by_w @ a, a, atol=1e-7)  # a turn about the axis changes the angle alone
