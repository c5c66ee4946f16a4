"""Rows of six numbers: compiled code does with all of them what Python does with each."""

import math

import numba
import numpy as np
import pytest

from merganser.framework.native import inlined, kernel, register_all
from merganser.framework.native.memory.simd import (
    element,
    fused,
    set_six,
    six_at,
    square_root,
    total_of_six,
    where,
    with_element,
)


@inlined
def mixed(x, y):
    """Some of everything, for rows or single numbers."""
    z = 2.0 * x - y / 3.0 + 1
    root = square_root(where(z > 1.5, z, x * x))
    return fused(root, -y, where(x == y, 7.0 * x, x))


@kernel
def on_rows(numbers, out):
    x, y = six_at(numbers, 0), six_at(numbers, 6)
    z = mixed(x, y)
    set_six(out, 0, z)
    set_six(out, 6, with_element(z, 2, element(x, 4)))
    out[12] = total_of_six(z)


def sample(seed):
    return np.random.default_rng(seed).normal(size=12)


def test_compiled_rows_are_those_of_python():
    numbers, compiled, plain = sample(0), np.zeros(13), np.zeros(13)
    on_rows(numbers, compiled)
    on_rows.interpreted(numbers, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14, atol=1e-14)
    assert compiled[8] == numbers[4]


def test_each_number_of_a_row_is_what_it_gives_alone():
    numbers, out = sample(1), np.zeros(13)
    numbers[3], numbers[7] = numbers[9], math.nan  # NaN compares with nothing
    on_rows(numbers, out)
    for k in range(6):
        alone = float(mixed(numbers[k], numbers[6 + k]))
        assert out[k] == pytest.approx(alone, abs=1e-14, nan_ok=True)


def test_functions_of_rows_take_single_numbers_in_compiled_code():
    register_all()
    alone = numba.njit(lambda x, y: mixed(x, y))
    for x, y in sample(2).reshape(6, 2):
        assert alone(x, y) == pytest.approx(float(mixed(x, y)), abs=1e-14)


@kernel
def second_of_six(x_in, out):
    out[0] = element(six_at(x_in, 0), 1)


@pytest.mark.parametrize("x", [np.arange(12.0)[::2], np.arange(6.0, dtype=np.float32), np.arange(6)])
def test_rows_are_only_read_from_contiguous_floats(x):
    with pytest.raises(numba.core.errors.TypingError, match="six_at"):
        second_of_six(x, np.zeros(1))
