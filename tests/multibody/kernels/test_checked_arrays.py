"""Checked operations on plain floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.multibody.kernels import checked_arrays
from merganser.multibody.plant.arguments import checked

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
