"""Friction of continuous plants where nothing slips: the slope at the origin, which formulas with |v| in them hide."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.contact.derivatives import contact_pair_lanes_dtype
from merganser.multibody.contact.penalty import penalty_forces
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.kernels.layout import position_dtype, velocity_dtype

STICTION = 1e-3  # [m/s]
LANE = 1e-170
NORMAL_FORCE = 5.0


def forces(v: np.ndarray, is_face: bool) -> np.ndarray:
    """The force on a body that slides at v over the ground."""
    pairs = np.zeros(1, contact_pair_lanes_dtype)
    pairs["mobod_A"], pairs["origin"], pairs["nhat_BA_W"] = 1, is_face, [0.0, 0.0, 1.0]
    pairs["elastic_force"], pairs["static_friction"], pairs["dynamic_friction"] = NORMAL_FORCE, 0.9, 0.6
    position, velocity = np.zeros(2, position_dtype(np.complex128)), np.zeros(2, velocity_dtype(np.complex128))
    position["R_WB"] = np.eye(3)
    velocity["V_WB_W"][1, 3:] = v
    F, found = np.zeros((2, 6), complex), np.zeros((1, NUM_FORCE_VALUES), complex)
    records = (array.view(np.recarray) for array in (position, velocity, pairs))
    penalty_forces.interpreted(STICTION, *records, F, found)
    return F[1, 3:]


@pytest.mark.parametrize("is_face", [False, True], ids=["point", "face"])
@pytest.mark.parametrize("speed", [0.0, 1e-200, 1e-12, 0.3 * STICTION, 1.5 * STICTION, 4.0 * STICTION])
def test_the_slope_of_friction_is_that_of_differences(is_face: bool, speed: float) -> None:
    v = speed * np.array([0.6, 0.8, 0.0])
    for direction in np.eye(3)[:2]:
        slope = forces(v + 1j * LANE * direction, is_face).imag / LANE
        h = 1e-8
        expected = (forces(v + h * direction, is_face) - forces(v - h * direction, is_face)).real / (2.0 * h)
        np.testing.assert_allclose(slope, expected, atol=1e-6 * NORMAL_FORCE / STICTION)


def test_the_slope_at_rest_is_the_limit() -> None:
    slope = forces(np.array([1j * LANE, 0.0, 0.0]), True).imag / LANE
    # mu(s) = 2 / pi arctan(s) mu rises with 2 / pi mu.
    np.testing.assert_allclose(slope, [-2.0 / np.pi * 0.6 * NORMAL_FORCE / STICTION, 0.0, 0.0], rtol=1e-14)
    # The quintic of points rises with the third power.
    np.testing.assert_array_equal(forces(np.array([1j * LANE, 0.0, 0.0]), False).imag, np.zeros(3))
