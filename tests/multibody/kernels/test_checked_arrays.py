"""Checked operations on plain floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.multibody.kernels import checked_arrays
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, NUM_DRIVE_VALUES, OFFSET, VELOCITY_TARGET
from merganser.multibody.kernels.layout import parameter_dtype
from merganser.multibody.plant.checked_code import checked

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of numpy, when interpreted
NO_PLACES = np.zeros(0, np.int64)
FORMS = {"compiled": lambda name: getattr(checked, name), "interpreted": lambda name: _interpreted(name)}


def _interpreted(name: str) -> Callable[..., Any]:
    return getattr(checked_arrays, name).interpreted


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[str], Callable[..., Any]]:
    return FORMS[request.param]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_not_written(form: Any, bad: float) -> None:
    room = np.array([1.0, 2.0, 3.0])
    assert not form("write_checked")(NO_PLACES, room, np.array([4.0, bad, 5.0]))
    assert room.tolist() == [1.0, 2.0, 3.0]


def test_a_zero_quaternion_is_not_written(form: Any) -> None:
    room, given = np.ones(6), np.array([7.0, 0.0, 0.0, 0.0, 0.0, 8.0])
    assert not form("write_checked")(np.array([1]), room, given)
    assert room.tolist() == [1.0] * 6
    given[3] = 1e-3
    assert form("write_checked")(np.array([1]), room, given)
    assert room.tolist() == given.tolist()


def test_strided_and_largest_vectors_are_written(form: Any) -> None:
    room, given = np.zeros(3), np.array([1.0, 9.0, np.finfo(float).max, 9.0, -np.finfo(float).max])[::2]
    assert form("write_checked")(NO_PLACES, room, given)
    assert room.tolist() == given.tolist()


def test_forces_are_spread_over_the_velocities_that_they_drive(form: Any) -> None:
    tau, u, applied = np.full(4, np.nan), np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.0, 0.0, 0.25])
    efforts, limits, nothing = np.zeros(3), np.array([9.0, 1.5, np.inf]), np.zeros(0)
    assert form("spread_forces")(np.array([2, 0, 2]), limits, efforts, tau, u, applied)
    assert efforts.tolist() == [1.0, 1.5, 4.0]
    assert tau.tolist() == [2.0, 0.0, 5.0, 0.25]
    assert form("spread_forces")(NO_PLACES, nothing, nothing, tau, nothing, nothing)
    assert tau.tolist() == [0.0] * 4
    assert not form("spread_forces")(NO_PLACES, nothing, nothing, tau, nothing, np.array([0.0, np.inf, 0.0, 0.0]))
    assert not form("spread_forces")(np.array([2, 0, 2]), limits, efforts, tau, np.array([1.0, np.nan, 4.0]), nothing)


def test_a_difference_is_checked(form: Any) -> None:
    values = np.array([3.0, 4.0])
    assert form("subtract_checked")(values, np.array([1.0, 5.0]))
    assert values.tolist() == [2.0, -1.0]
    assert not form("subtract_checked")(values, np.array([np.nan, 5.0]))
    assert not form("is_finite")(values)


@pytest.mark.parametrize("copy", [checked_arrays.copy_pose, checked_arrays.copy_pose.interpreted])
def test_a_pose_is_copied(copy: Callable[..., None]) -> None:
    R, p = np.arange(9.0).reshape(3, 3), np.array([9.0, 10.0, 11.0])
    R_copy, p_copy = np.empty((3, 3)), np.empty(3)
    copy(R, p, R_copy, p_copy)
    np.testing.assert_array_equal(R_copy, R)
    np.testing.assert_array_equal(p_copy, p)


@pytest.mark.parametrize("control", [checked_arrays.control, checked_arrays.control.interpreted])
@pytest.mark.parametrize("bad", ["", "locked", "not finite"])
def test_controllers_are_prepared_for_a_step(control: Callable[..., bool], bad: str) -> None:
    rng = np.random.default_rng(3)
    parameters = np.zeros(5, parameter_dtype())
    mobods, inputs, positions = np.array([1, 3, 4]), np.array([0, 2]), np.array([4, 1])
    p, d, q, u_ff, desired = (rng.normal(size=n) for n in (2, 2, 5, 3, 6))
    desired, limits = desired.reshape(2, 3), np.array([0.1, 0.2, 0.3])
    if bad == "locked":
        parameters["is_locked"][3] = 1.0
    elif bad:
        desired[0, 2] = np.nan
    u, drives = np.empty(3), np.empty((2, NUM_DRIVE_VALUES))
    is_right = control(mobods, limits, inputs, positions, p, d, parameters, q, u_ff, desired, u, drives)
    assert is_right == (not bad)
    if not bad:
        np.testing.assert_array_equal(u, [0.0, np.clip(u_ff[1], -0.2, 0.2), 0.0])
        q_d, v_d = desired[:, inputs]
        parts = u_ff[inputs], q_d - q[positions], v_d
        np.testing.assert_array_equal(drives[:, [FEEDFORWARD, ERROR, VELOCITY_TARGET]].T, parts)
        np.testing.assert_allclose(drives[:, OFFSET], parts[0] + p * parts[1] + d * parts[2])


@pytest.mark.parametrize("put", [checked_arrays.put_desired_state, checked_arrays.put_desired_state.interpreted])
def test_desired_states_of_instances_are_put_together(put: Callable[..., bool]) -> None:
    desired = np.zeros((2, 3))
    assert put(np.array([0, 2]), np.array([1.0, 2.0, 3.0, 4.0]), desired)
    assert desired.tolist() == [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]
    assert not put(np.array([1]), np.array([1.0, np.inf]), desired)
