"""Inputs of a plant, and the efforts of its actuators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd
from merganser.multibody.kernels import actuators
from merganser.multibody.kernels.actuators import (
    ERROR,
    FEEDFORWARD,
    IS_LOCKED,
    NOT_FINITE,
    NUM_DESIRED_ROWS,
    NUM_DRIVE_VALUES,
    OFFSET,
    VELOCITY_TARGET,
)
from merganser.multibody.kernels.layout import parameter_dtype

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of numpy, when interpreted
FORMS: dict[str, Callable[[Any], Any]] = {"compiled": lambda kernel: kernel, "interpreted": lambda k: k.interpreted}
NO_PLACES, NOTHING = np.zeros(0, np.int64), np.zeros(0)


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return FORMS[request.param]


def test_forces_are_spread_over_the_velocities_that_they_drive(form: Any) -> None:
    spread = form(actuators.apply_actuation)
    tau, u, applied = np.full(4, np.nan), np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.0, 0.0, 0.25])
    efforts, driven = np.zeros(3), np.array([2, 0, 2])
    limits = np.array([9.0, 1.5, np.inf, 0.0, 0.0, 0.0])
    assert spread(driven, limits, u, applied, efforts, tau)
    assert efforts.tolist() == [1.0, 1.5, 4.0]
    assert tau.tolist() == [2.0, 0.0, 5.0, 0.25]
    assert spread(driven, limits, -u, NOTHING, efforts, tau)
    assert efforts.tolist() == [-1.0, -1.5, -4.0]
    assert spread(NO_PLACES, NOTHING, NOTHING, NOTHING, NOTHING, tau)
    assert tau.tolist() == [0.0] * 4
    assert not spread(NO_PLACES, NOTHING, NOTHING, np.array([0.0, np.inf, 0.0, 0.0]), NOTHING, tau)
    assert not spread(driven, limits, np.array([1.0, np.nan, 4.0]), NOTHING, efforts, tau)


def test_at_its_limit_an_effort_does_not_change() -> None:
    u = np.array([AutoDiffXd(x, np.array([1.0])) for x in (2.0, -5.0, 7.0)])
    efforts, tau = np.full(3, AutoDiffXd(0.0)), np.full(3, AutoDiffXd(0.0))
    limits = np.array([3.0, 3.0, np.inf, 0.0, 0.0, 0.0])
    actuators.apply_actuation.interpreted(np.arange(3), limits, u, np.zeros(0, object), efforts, tau)
    assert [x.value() for x in tau] == [2.0, -3.0, 7.0]
    assert [float(x.derivatives()[0]) for x in tau] == [1.0, 0.0, 1.0]


def test_what_comes_by_several_ports_adds_up(form: Any) -> None:
    u = np.full(3, np.nan)
    form(actuators.copy_actuation_input)(NOTHING, u)
    assert u.tolist() == [0.0] * 3
    form(actuators.copy_actuation_input)(np.array([1.0, 2.0, 3.0]), u)
    form(actuators.add_input)(np.array([2, 0]), np.array([10.0, 20.0]), u)
    assert u.tolist() == [21.0, 2.0, 13.0]


@pytest.mark.parametrize("time_step", [0.0, 0.01])
@pytest.mark.parametrize("bad", ["", "locked", "not finite"])
def test_controllers_follow_the_desired_state_or_wait_for_the_step(form: Any, bad: str, time_step: float) -> None:
    rng = np.random.default_rng(3)
    parameters = np.zeros(5, parameter_dtype())
    mobods, controlled, places = np.array([1, 4]), np.array([0, 2]), (np.array([4, 1]), np.array([3, 0]))
    p, d, q, v, u_ff, desired = (rng.normal(size=n) for n in (2, 2, 5, 4, 3, 6))
    desired = np.concatenate([desired.reshape(2, 3), np.zeros((NUM_DESIRED_ROWS - 2, 3))])
    if bad == "locked":
        parameters["is_locked"][4] = 1.0
    elif bad:
        desired[0, 2] = np.nan
    u, drives = np.empty(3), np.empty((2, NUM_DRIVE_VALUES))
    why = form(actuators.calc_efforts)(
        controlled, mobods, *places, p, d, time_step, parameters, q, v, u_ff, desired, u, drives
    )
    assert why == {"": 0, "locked": IS_LOCKED, "not finite": NOT_FINITE}[bad]
    if not bad:
        q_d, v_d = desired[:2, controlled]
        parts = u_ff[controlled], q_d - q[places[0]], v_d
        np.testing.assert_array_equal(drives[:, [FEEDFORWARD, ERROR, VELOCITY_TARGET]].T, parts)
        np.testing.assert_allclose(drives[:, OFFSET], parts[0] + p * parts[1] + d * parts[2])
        expected = 0.0 if time_step else u_ff[controlled] + p * parts[1] + d * (v_d - v[places[1]])
        np.testing.assert_allclose(u[controlled], expected)
        assert u[1] == u_ff[1]


def test_desired_states_of_instances_are_put_together(form: Any) -> None:
    desired = np.zeros((2, 3))
    form(actuators.put_desired_state)(np.array([0, 2]), np.array([1.0, 2.0, 3.0, 4.0]), desired)
    assert desired.tolist() == [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]


def test_efforts_of_a_step_are_among_all_efforts(form: Any) -> None:
    u = np.array([1.0, 2.0, 3.0])
    form(actuators.store_efforts)(np.array([2]), np.array([9.0]), u)
    assert u.tolist() == [1.0, 2.0, 9.0]
