"""Kernels of small dense programs: eigenvalues without their signs."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.optimization.solvers.damped_steps import make_eigenvalues_positive


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
