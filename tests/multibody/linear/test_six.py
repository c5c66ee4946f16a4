"""Products of blocks of free bodies, compiled to operations on vectors, do what their loops say."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from merganser.framework.native import register_all
from merganser.multibody.linear.six import (
    add_contact_product_of_six,
    add_three_rows_of_six,
    divide_six_columns,
    factor_six,
    subtract_product_of_six,
    subtract_six_times,
    subtract_times_six,
    three_rows_times_six,
)

RNG = np.random.default_rng(5)
WIDTH, START = 11, 3


def panels() -> Any:
    return RNG.normal(size=START + 18 * WIDTH)


def compiled(function: Any) -> Any:
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")

    register_all()

    @numba.njit
    def call(*arguments):  # type: ignore[no-untyped-def]
        return function(*arguments)

    return call


def test_product_with_the_hessian_of_a_contact() -> None:
    G, left, right = RNG.normal(size=9), RNG.normal(size=18), RNG.normal(size=18)
    before = panels()
    full = np.array([[G[0], G[1], G[3]], [G[1], G[2], G[4]], [G[3], G[4], G[5]]])
    product = left.reshape(3, 6).T @ full @ right.reshape(3, 6)
    expected = before.copy()
    for i in range(6):
        expected[START + i * WIDTH : START + i * WIDTH + 6] += product[i]
    for call in (add_contact_product_of_six, compiled(add_contact_product_of_six)):
        result = before.copy()
        call(G, left, right, START, WIDTH, result)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def test_update_of_a_block_by_two_blocks_of_panels_in_a_run() -> None:
    width, calls = 29, (subtract_product_of_six, compiled(subtract_product_of_six))
    for num_panels in (1, 3):
        before = RNG.normal(size=START + 6 * num_panels * width + 7 * (width + 1))
        left, right, target = START + 18, START + 23, START + 6 * num_panels * width + 2
        expected, start = before.copy(), START
        for p in range(num_panels):
            i, size = 18 - 6 * p, width - 6 * p  # columns before block i, and all of them
            rows = before[start : start + 6 * size].reshape(6, size)
            product = rows[:, i : i + 6].T @ rows[:, i + 5 : i + 11]
            for k in range(6):
                expected[target + k * (width + 1) : target + k * (width + 1) + 6] -= product[k]
            start += 6 * size
        for call in calls:
            result = before.copy()
            call(left, right, width, num_panels, target, width + 1, result)
            np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def test_factor_of_a_block_and_its_columns() -> None:
    square = RNG.normal(size=(6, 6))
    H = square @ square.T + 0.1 * np.eye(6)
    width = 14
    before = RNG.normal(size=START + 6 * width)
    block = before[START:].reshape(6, width)
    block[:, :6] = np.triu(H) + np.tril(block[:, :6], -1)
    L = np.linalg.cholesky(H)
    expected = block[:, 6:].copy()
    expected[:, 1:7] = np.linalg.solve(L, block[:, 7:13])
    for factor, divide in ((factor_six, divide_six_columns), (compiled(factor_six), compiled(divide_six_columns))):
        result = before.copy()
        rows = result[START:].reshape(6, width)
        assert factor(START, width, result)
        np.testing.assert_allclose(np.triu(rows[:, :6], 1), np.triu(L.T, 1), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.diag(rows), 1.0 / np.diag(L), rtol=1e-12)
        divide(START, width, 7, result)
        np.testing.assert_allclose(rows[:, 6:], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("wrong", [-1.0, 0.0, np.nan])
def test_block_that_is_not_positive_definite_is_refused(wrong: float) -> None:
    for i in range(6):
        H = np.eye(6)
        H[i, i] = wrong
        assert not factor_six(0, 6, H.flatten()) and not compiled(factor_six)(0, 6, H.flatten())


def test_products_of_a_block_with_vectors() -> None:
    U, x = panels(), RNG.normal(size=20)
    block = U[START : START + 6 * WIDTH].reshape(6, WIDTH)[:, :6]
    for function, matrix in ((subtract_six_times, block.T), (subtract_times_six, block)):
        expected = x.copy()
        expected[11:17] -= matrix @ x[2:8]
        for call in (function, compiled(function)):
            result = x.copy()
            call(START, WIDTH, 2, 11, U, result)
            np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)


def test_products_of_three_rows_with_vectors() -> None:
    J, x, y = RNG.normal(size=25), RNG.normal(size=20), RNG.normal(size=3)
    rows = J[4:22].reshape(3, 6)
    for call in (three_rows_times_six, compiled(three_rows_times_six)):
        np.testing.assert_allclose(call(4, 9, J, x), rows @ x[9:15], rtol=1e-13, atol=1e-13)
    expected = x.copy()
    expected[9:15] += rows.T @ y
    for call in (add_three_rows_of_six, compiled(add_three_rows_of_six)):
        result = x.copy()
        call(4, 9, *y, J, result)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
