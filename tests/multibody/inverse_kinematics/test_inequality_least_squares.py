"""Least squares with linear inequalities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from merganser.framework.optimization import DaqpSolver
from merganser.multibody.inverse_kinematics.inequality_least_squares import (
    Polyhedron,
    least_squares_within,
    rows_of_bounds,
)


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
