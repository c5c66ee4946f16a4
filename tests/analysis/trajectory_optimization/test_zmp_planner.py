"""ZmpPlanner: its motion obeys the dynamics and the policy, and costs what the cost to go says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.analysis.trajectory_optimization import ZmpPlanner
from merganser.framework.trajectories import PiecewisePolynomial

TIMES = np.array([0.3, 0.8, 1.5, 3.0])
X0 = np.array([0.1, -0.2, 0.3, 0.1])


@pytest.fixture(params=["ZeroOrderHold", "FirstOrderHold", "CubicShapePreserving"])
def planned(request: pytest.FixtureRequest) -> ZmpPlanner:
    samples = np.random.default_rng(0).uniform(-0.3, 0.3, (2, len(TIMES)))
    planner = ZmpPlanner()
    planner.Plan(getattr(PiecewisePolynomial, request.param)(TIMES, samples), X0, 0.8, 9.81)
    return planner


def derivative(function: Callable[[float], Any], t: float) -> np.ndarray:
    return (function(t + 1e-6) - function(t - 1e-6)) / 2e-6


def state(planner: ZmpPlanner, t: float) -> np.ndarray:
    return np.concatenate((planner.get_nominal_com(t), planner.get_nominal_comd(t)))


def test_the_motion_begins_at_the_start_and_obeys_dynamics_and_policy(planned: ZmpPlanner) -> None:
    np.testing.assert_allclose(state(planned, TIMES[0]), X0, atol=1e-12)
    for t in (0.4, 1.2, 2.9):
        u = planned.ComputeOptimalCoMdd(t, state(planned, t))
        np.testing.assert_allclose(planned.get_nominal_comdd(t), u, atol=1e-10)
        np.testing.assert_allclose(derivative(planned.get_nominal_com, t), planned.get_nominal_comd(t), atol=1e-7)
        np.testing.assert_allclose(derivative(planned.get_nominal_comd, t), u, atol=1e-7)
        cop = planned.comdd_to_cop(state(planned, t), u)
        np.testing.assert_allclose(cop, planned.get_nominal_com(t) - 0.8 / 9.81 * u, atol=1e-12)
    for t in TIMES[1:-1]:  # smooth across the breaks
        np.testing.assert_allclose(state(planned, t - 1e-9), state(planned, t), atol=1e-7)


def test_the_policy_minimizes_cost_and_change_of_the_cost_to_go(planned: ZmpPlanner) -> None:
    """The gradient by u of (y - y_d)' Q (y - y_d) + u' R u + dV/dx (A x + B u) is 0 (Hamilton, Jacobi, Bellman)."""
    x, end = np.array([0.3, -0.4, 0.2, 0.5]), np.append(planned.get_final_desired_zmp(), [0.0, 0.0])
    for t in (0.4, 1.2, 2.9):
        u = planned.ComputeOptimalCoMdd(t, x)
        error = planned.comdd_to_cop(x, u) - planned.get_desired_zmp(t)
        dV_dx = 2.0 * planned.get_Vxx() @ (x - end) + planned.get_Vx(t)
        slope = 2.0 * planned.get_D().T @ planned.get_Qy() @ error + 2.0 * planned.get_R() @ u
        np.testing.assert_allclose(slope + planned.get_B().T @ dV_dx, 0.0, atol=1e-10)
    np.testing.assert_allclose(planned.get_Vx(TIMES[-1]), 0.0, atol=1e-9)


def test_getters_without_a_time_give_trajectories(planned: ZmpPlanner) -> None:
    for name in ("desired_zmp", "nominal_com", "nominal_comd", "nominal_comdd", "Vx"):
        get: Any = getattr(planned, f"get_{name}")
        np.testing.assert_array_equal(get().value(1.1).ravel(), get(1.1))
        assert get().cols() == 1
        assert (get().start_time(), get().end_time()) == (TIMES[0], TIMES[-1])


def test_a_constant_zmp_is_reached() -> None:
    planner = ZmpPlanner()
    planner.Plan(PiecewisePolynomial.ZeroOrderHold([0.0, 9.0], np.full((2, 2), 0.5)), np.zeros(4), 0.9)
    np.testing.assert_allclose(state(planner, 9.0), [0.5, 0.5, 0.0, 0.0], atol=1e-5)


def test_without_a_plan_or_with_bad_data_errors_say_so() -> None:
    planner, path = ZmpPlanner(), PiecewisePolynomial.ZeroOrderHold([0.0, 1.0], np.zeros((2, 2)))
    assert not planner.has_planned()
    for ask in (planner.get_A, planner.get_Vx, planner.get_nominal_com, lambda: planner.ComputeOptimalCoMdd(0.0, X0)):
        with pytest.raises(RuntimeError, match=r"Call Plan\(\) first"):
            ask()
    for given, message in (
        ({"height": -1.0}, "height must be positive"),
        ({"gravity": np.nan}, "gravity must be positive"),
        ({"x0": np.zeros(3)}, "x0 must be 4 finite numbers"),
        ({"Qy": -np.eye(2)}, "Qy must be positive definite"),
        ({"R": np.zeros((2, 2))}, "R must be positive definite"),
        ({"R": np.eye(3)}, "R must be positive definite"),
        ({"zmp_d": PiecewisePolynomial()}, "no segments"),
        ({"zmp_d": PiecewisePolynomial.ZeroOrderHold([0.0, 1.0], np.zeros((3, 2)))}, r"shape \(3, 1\)"),
    ):
        arguments: Any = {"zmp_d": path, "x0": np.zeros(4), "height": 1.0, **given}
        with pytest.raises(ValueError, match=message):
            planner.Plan(**arguments)
    assert not planner.has_planned()
    planner.Plan(path, X0, 1.0)
    with pytest.raises(ValueError, match="x must have size 4, got 2"):
        planner.ComputeOptimalCoMdd(0.0, X0[:2])
