"""Lanes: compiled code does with all numbers what Python does with each of them."""

import math

import numba
import numpy as np
import pytest

from merganser.framework.native import device, inlined, kernel, tell_compiler
from merganser.framework.native.lanes import (
    NUM_LANES,
    all_of,
    any_of,
    copy_sign,
    element,
    lanes_at,
    larger,
    set_lanes,
    six_at,
    smaller,
    spread,
    square_root,
    where,
)


@inlined
def mixed(x, y):
    """Some of everything, for lanes or floats."""
    z = 2.0 * x - y / 3.0 + 1
    is_far = (abs(z) > 1.5) | ~(x < y) & (y <= 0.25)
    root = square_root(where(is_far, abs(z), x * x))
    return root + copy_sign(larger(x, 0.5), -y) - smaller(y, z)


@device
def roots_by_bisection(square):
    """Square roots, by a loop that ends when all lanes are done."""
    low, high = 0.0 * square, larger(square, 1.0)
    while any_of(high - low > 1e-12):
        middle = 0.5 * (low + high)
        is_high = middle * middle > square
        low, high = where(is_high, low, middle), where(is_high, middle, high)
    return low


@kernel
def on_rows(numbers, out):
    x, y = lanes_at(numbers, 0), lanes_at(numbers, 1)
    set_lanes(out, 0, mixed(x, y))
    set_lanes(out, 1, roots_by_bisection(abs(x)))
    out[2, 0] = 1.0 if any_of(x > 2.0) else 0.0
    out[2, 1] = 1.0 if all_of(x > -100.0) else 0.0
    out[2, 2] = 1.0 if all_of((x >= 0.0) | (x != x)) else 0.0
    set_lanes(out, 3, where(x == y, spread(7.0), x))


def sample(seed):
    return np.random.default_rng(seed).normal(size=(2, NUM_LANES))


def test_compiled_lanes_are_those_of_python():
    numbers = sample(0)
    compiled, plain = np.zeros((4, NUM_LANES)), np.zeros((4, NUM_LANES))
    on_rows(numbers, compiled)
    on_rows.interpreted(numbers, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(compiled[1], np.sqrt(np.abs(numbers[0])), atol=1e-12)


def test_each_lane_is_what_one_number_gives():
    numbers = sample(1)
    out = np.zeros((4, NUM_LANES))
    on_rows(numbers, out)
    for lane in range(NUM_LANES):
        x, y = map(float, numbers[:, lane])
        assert out[0, lane] == pytest.approx(float(mixed(x, y)), abs=1e-15)
        assert out[1, lane] == pytest.approx(math.sqrt(abs(x)), abs=1e-12)


def test_functions_of_lanes_take_single_numbers_in_compiled_code():
    tell_compiler()
    alone = numba.njit(lambda x, y: mixed(x, y))
    for x, y in sample(2).T:
        assert alone(x, y) == pytest.approx(float(mixed(x, y)), abs=1e-15)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_masks_are_true_somewhere_and_everywhere(value):
    numbers = np.zeros((2, NUM_LANES))
    out = np.zeros((4, NUM_LANES))
    numbers[0, NUM_LANES - 1] = value
    on_rows(numbers, out)
    assert list(out[2, :3]) == [value > 2.0, 1.0, 1.0]
    assert list(out[3]) == [7.0] * (NUM_LANES - 1) + [value or 7.0]
    numbers[0, 0] = -200.0
    on_rows(numbers, out)
    assert list(out[2, :3]) == [value > 2.0, 0.0, 0.0]
    numbers[0, 0] = math.nan  # compares with nothing, but is unequal
    on_rows(numbers, out)
    assert list(out[2, :3]) == [value > 2.0, 0.0, 1.0]


@kernel
def second_of_six(x_in, out):
    out[0] = element(six_at(x_in, 0), 1)


@pytest.mark.parametrize("x", [np.arange(12.0)[::2], np.arange(6.0, dtype=np.float32), np.arange(6)])
def test_lanes_are_only_read_from_contiguous_floats(x):
    with pytest.raises(numba.core.errors.TypingError, match="six_at"):
        second_of_six(x, np.zeros(1))
