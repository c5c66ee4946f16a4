"""Kernels of searches: damped steps in any order, and eigenvalues without their signs."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.optimization.solvers.damped_steps import (
    damped_step,
    make_eigenvalues_positive,
    sum_of_violations,
)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_eigenvalues_lose_their_signs_and_vectors_stay(size: int) -> None:
    root = np.random.default_rng(size).normal(size=(size, size)) * 10.0 ** np.linspace(-3.0, 3.0, size)
    for W in (root + root.T, np.diag(np.arange(size) - 2.0), np.zeros((size, size)), -np.ones((size, size))):
        values, vectors = np.linalg.eigh(W)
        expected = (vectors * np.maximum(np.abs(values), 1e-8)) @ vectors.T
        make_eigenvalues_positive.interpreted(1e-8, W, np.full((size + 1, size), np.nan))
        np.testing.assert_allclose(W, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(values).max()))


def test_of_what_is_not_a_number_the_diagonal_is_left() -> None:
    W = np.array([[1.0, np.nan], [np.nan, -1.0]])
    make_eigenvalues_positive.interpreted(1e-8, W, np.empty((3, 2)))
    np.testing.assert_array_equal(W, np.eye(2))


@pytest.mark.parametrize("seed", range(4))
def test_damped_steps_solve_normal_equations_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n, damping = 12, 9, 0.3
    J, r, x = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.3), rng.normal(size=m), rng.normal(size=n)
    lower, upper = np.full(n, -1e9), np.full(n, 1e9)  # so that no step is cut
    held = int(np.flatnonzero(J.T @ r)[0])  # at a bound, which a descent would leave
    lower[held], upper[held] = (x[held], 1e9) if (J.T @ r)[held] > 0.0 else (-1e9, x[held])
    free = np.arange(n) != held
    expected = np.zeros(n)
    expected[free] = -np.linalg.solve((J.T @ J + damping * np.eye(n))[np.ix_(free, free)], (J.T @ r)[free])
    for order in (np.arange(n), rng.permutation(n)):
        step = np.empty(n)
        works = np.empty(n, np.int64), np.empty(n), np.full((n, n), np.nan)
        damped_step.interpreted(J, r, x, lower, upper, damping, order, *works, step)
        np.testing.assert_allclose(step, expected, rtol=0.0, atol=1e-12)


def test_violations_of_rows_are_summed_and_nan_is_not_lost() -> None:
    bounds = np.array([[-np.inf, 0.0, 1.0, 2.0], [0.0, 1.0, np.inf, 2.0]])
    assert sum_of_violations(np.array([-5.0, 0.5, 3.0, 2.0]), bounds) == 0.0
    assert sum_of_violations(np.array([0.5, -1.0, 0.0, 1.0]), bounds) == 3.5
    assert np.isnan(sum_of_violations(np.array([0.0, np.nan, 3.0, 2.0]), bounds))
