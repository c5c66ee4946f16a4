"""Products of blocks of free bodies, compiled to operations on vectors, do what their loops say."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from merganser.multibody.contact.six import add_contact_product_of_six, subtract_product_of_six

RNG = np.random.default_rng(5)
WIDTH, START = 11, 3


def panels() -> Any:
    return RNG.normal(size=START + 18 * WIDTH)


def compiled(function: Any) -> Any:
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")

    @numba.njit
    def call(*arguments):  # type: ignore[no-untyped-def]
        function(*arguments)

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


def test_update_of_a_block_by_two_blocks_of_a_panel() -> None:
    before = panels()
    left, right, target = START, START + 5, START + 6 * WIDTH + 2
    rows = before[START:].reshape(18, WIDTH)[:6]
    expected = before.copy()
    for i in range(6):
        expected[target + i * (WIDTH + 1) : target + i * (WIDTH + 1) + 6] -= rows[:, i] @ rows[:, 5:]
    for call in (subtract_product_of_six, compiled(subtract_product_of_six)):
        result = before.copy()
        call(left, right, WIDTH, target, WIDTH + 1, result)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
