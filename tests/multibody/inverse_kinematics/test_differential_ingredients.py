"""Least squares with inequalities, motions that Jacobians reach, and the angle by which a frame is turned too far."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from merganser.framework.math import AngleAxis, RotationMatrix
from merganser.framework.optimization import DaqpSolver
from merganser.multibody.inverse_kinematics.inequality_least_squares import (
    Polyhedron,
    least_squares_within,
    rows_of_bounds,
)
from merganser.multibody.inverse_kinematics.posture_rows import rotation_gap
from merganser.multibody.inverse_kinematics.reachable_motions import reachable_motions


def test_solutions_fulfil_the_conditions_of_karush_kuhn_and_tucker() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, k = rng.integers(1, 9), rng.integers(0, 30)
        A, G, x_0 = rng.normal(size=(n + rng.integers(0, 4), n)), rng.normal(size=(k, n)), rng.normal(size=n)
        b, h = rng.normal(size=len(A)), G @ x_0 - rng.uniform(0.0, 1.0, k) * (rng.random(k) < 0.7)
        x = least_squares_within(A, b, G, h)
        assert x is not None and (G @ x >= h - 1e-9).all()
        gradient, active = A.T @ (A @ x - b), G @ x - h < 1e-8
        missed = scipy.optimize.nnls(G[active].T, gradient)[1] if active.any() else np.linalg.norm(gradient)
        assert missed < 1e-9


def test_inequalities_that_contradict_each_other_have_no_solution() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = rng.integers(1, 6)
        G, h, weights = rng.normal(size=(6, n)), rng.normal(size=6), rng.uniform(0.1, 1.0, 3)
        G, h = np.vstack([G, -weights @ G[:3]]), np.append(h, -weights @ h[:3] + rng.uniform(1e-3, 1.0))
        assert least_squares_within(np.eye(n), np.zeros(n), G, h) is None
    assert least_squares_within(np.eye(2), np.zeros(2), np.zeros((1, 2)), np.ones(1)) is None  # 0 >= 1


def test_bounds_are_rows_where_they_are_finite() -> None:
    M = np.array([[1.0, 0.0], [0.0, 2.0]])
    G, h = rows_of_bounds(M, np.array([-1.0, -np.inf]), np.array([np.inf, 3.0]))
    assert G.tolist() == [[1.0, 0.0], [0.0, -2.0]] and h.tolist() == [-1.0, -3.0]
    x = least_squares_within(np.eye(2), np.array([-5.0, 5.0]), G, h)
    assert x is not None and x == pytest.approx([-1.0, 1.5], abs=1e-14)


def test_problems_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="not independent"):
        least_squares_within(np.ones((3, 2)), np.zeros(3), np.zeros((0, 2)), np.zeros(0))
    with pytest.raises(ValueError, match="must be finite"):
        least_squares_within(np.eye(2), np.array([0.0, np.nan]), np.zeros((0, 2)), np.zeros(0))


@pytest.mark.parametrize("is_installed", [True, False])
def test_nearest_points_of_polyhedra_are_exact(is_installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without DAQP."""
    if not is_installed:
        monkeypatch.setattr(DaqpSolver, "available", lambda self: False)
    A, inf = np.array([[1.0, 1.0]]), np.inf
    half = Polyhedron(A, np.array([-inf, -inf, -inf]), np.array([inf, inf, 1.0]))
    assert half.nearest(np.array([2.0, 1.0])) == pytest.approx([1.0, 0.0], abs=1e-14)
    assert half.nearest(np.array([0.2, 0.1])) == pytest.approx([0.2, 0.1], abs=1e-14)
    line = Polyhedron(A, np.array([0.0, 0.0, 1.0]), np.array([0.25, 2.0, 1.0]))
    assert line.nearest(np.array([3.0, 3.0])) == pytest.approx([0.25, 0.75], abs=1e-14)
    for low, high in (([1.0, 1.0, 0.0], [2.0, 2.0, 1.0]), ([1.0, 0.0, 0.0], [0.0, 2.0, 1.0])):
        assert Polyhedron(A, np.array(low), np.array(high)).nearest(np.zeros(2)) is None


TOLERANCE = 1e-14


def test_motions_are_those_of_the_pseudoinverse() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, n = rng.integers(1, 8), rng.integers(1, 9)
        rank = int(rng.integers(0, min(m, n) + 1))
        J, V = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=m)
        columns, missed = np.full((n, n + 1), np.nan), np.full(2, np.nan)
        work = np.full(m, -1), *(np.full(shape, np.nan) for shape in ((n, m), m, (3, m), (m, m)))
        assert reachable_motions(J, V, TOLERANCE, *work, columns, missed) == rank
        null, shortest = columns[:, : n - rank], columns[:, n - rank]
        np.testing.assert_allclose(null.T @ null, np.eye(n - rank), atol=1e-13)
        np.testing.assert_allclose(J @ null, 0.0, atol=1e-12)
        scale = 1.0 + np.linalg.norm(np.linalg.pinv(J, rcond=1e-12), 2) ** 2
        np.testing.assert_allclose(shortest, np.linalg.pinv(J, rcond=1e-12) @ V, atol=1e-12 * scale)
        left = J @ shortest - V
        np.testing.assert_allclose(missed, [left @ left, V @ V], atol=1e-12 * scale)


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
