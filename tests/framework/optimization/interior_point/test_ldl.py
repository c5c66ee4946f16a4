"""The factorization against dense matrices, and its kernels compiled, complex and interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.optimization.interior_point import ldl
from merganser.framework.optimization.interior_point.ldl import PIVOT_FLOOR, SparseLdl


def random_system(rng, n, m, density=0.3, definite=True):
    """Entries of [H J^T; J 0] with some given twice, and the dense matrix."""
    H, J = rng.normal(size=(n, n)) * (rng.random((n, n)) < density), rng.normal(size=(m, n))
    J *= (rng.random((m, n)) < density) | (np.arange(n) == np.arange(m)[:, np.newaxis])
    H = H @ H.T + 0.1 * np.eye(n) if definite else H + H.T
    K = np.block([[H, J.T], [J, np.zeros((m, m))]])
    rows, columns = np.nonzero(np.tril(K))
    twice = rng.random(len(rows)) < 0.3
    values = K[rows, columns] * np.where(twice, 0.5, 1.0)
    return np.r_[rows, columns[twice]], np.r_[columns, rows[twice]], np.r_[values, values[twice]], K


@pytest.mark.parametrize("n, m", [(1, 0), (1, 1), (6, 3), (40, 25), (70, 10)])
def test_solutions_products_and_inertia_are_those_of_the_dense_matrix(n, m):
    rng = np.random.default_rng(n)
    rows, columns, values, K = random_system(rng, n, m)
    system = SparseLdl(n, m, rows, columns)
    shift = np.r_[np.zeros(n), np.full(m, -0.01)]
    assert system.factor(values, shift) == m
    right = rng.normal(size=n + m)
    np.testing.assert_allclose(system.solve(right), np.linalg.solve(K + np.diag(shift), right), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(system.multiply(right), K @ right, atol=1e-12)


def test_the_inertia_of_indefinite_matrices():
    rng = np.random.default_rng(5)
    for _ in range(20):
        rows, columns, values, K = random_system(rng, 12, 5, definite=False)
        shift = np.r_[rng.normal(size=12), np.full(5, -0.01)]
        expected = int(np.sum(np.linalg.eigvalsh(K + np.diag(shift)) < 0.0))
        assert SparseLdl(12, 5, rows, columns).factor(values, shift) == expected


def test_vanishing_pivots_get_the_sign_of_their_row():
    system = SparseLdl(1, 1, np.array([0, 1]), np.array([0, 0]))
    assert system.factor(np.array([0.0, 0.0]), np.zeros(2)) == 1
    np.testing.assert_allclose(system.solve(np.ones(2)), [1.0 / PIVOT_FLOOR, -1.0 / PIVOT_FLOOR])


def test_entries_that_are_not_finite_are_errors():
    system = SparseLdl(2, 0, np.array([1]), np.array([0]))
    assert system.factor(np.array([np.nan]), np.ones(2)) == -1


def test_a_chain_fills_in_nothing():
    size = 200
    system = SparseLdl(size, 0, np.arange(1, size), np.arange(size - 1))
    assert system.num_factor_entries == size - 1


def test_a_matrix_without_rows():
    system = SparseLdl(0, 0, np.zeros(0, int), np.zeros(0, int))
    assert system.factor(np.zeros(0), np.zeros(0)) == 0
    assert system.solve(np.zeros(0)).shape == (0,)


def test_kernels_do_the_same_compiled_complex_and_interpreted(monkeypatch):
    rng = np.random.default_rng(1)
    rows, columns, values, _ = random_system(rng, 8, 4)
    systems = [SparseLdl(8, 4, rows, columns) for _ in range(3)]
    shift, right = np.full(12, -0.01), rng.normal(size=12)
    counts, solutions, products = [], [], []
    for k, system in enumerate(systems):
        own_values, own_right = values, right
        if k == 1:
            for name in ("_factor", "_pivots", "_work", "_values"):
                setattr(system, name, getattr(system, name).astype(complex))
            own_values, own_right = values + 1e-30j * values, right.astype(complex)
        if k == 2:
            for name in ("find_order", "find_tree", "add_entries", "factor", "solve", "multiply"):
                monkeypatch.setattr(ldl, name, getattr(ldl, name).interpreted)
            system = SparseLdl(8, 4, rows, columns)
        counts.append(system.factor(own_values, shift + 0.0 * own_right))
        solutions.append(system.solve(own_right))
        products.append(system.multiply(own_right))
    assert counts == [4, 4, 4]
    np.testing.assert_allclose([solutions[1].real, solutions[2]], [solutions[0]] * 2, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose([products[1].real, products[2]], [products[0]] * 2, rtol=1e-13, atol=1e-13)
    # d(K^-1 b) = -K^-1 dK K^-1 b, with dK what the entries were changed by.
    change = -systems[0].solve(systems[0].multiply(solutions[0]))
    np.testing.assert_allclose(solutions[1].imag / 1e-30, change, rtol=1e-9, atol=1e-9)
