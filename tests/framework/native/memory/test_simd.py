"""Rows of six numbers: compiled code does with all of them what Python does with each."""

import math

import numba
import numpy as np
import pytest

from merganser.framework.native import inlined, kernel, register_all
from merganser.framework.native.memory.simd import (
    all_of,
    both,
    either,
    element,
    forget_leave,
    fused,
    has_left,
    in_lanes,
    num_lanes,
    repeated,
    repeated_records,
    set_six,
    six_at,
    square_root,
    total_of_six,
    varying,
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


# ------------------------------------------------------------------ lanes in place of numbers


@kernel
def functions_of(x_in, out):
    for k in range(x_in.shape[0]):
        x = x_in[k]
        y = np.sin(x) + math.cos(3.0 * x) * math.tanh(x) - np.floor(x) + math.atan2(x, 0.3) * np.sqrt(abs(x))
        y += (1.5 + x * x) ** -0.5 + x**3 + max(x, 0.1) - min(x, y) / 7
        out[k] = where(x < y, -y, x)


@kernel
def larger_than_one(x_in, out):
    """Whether lanes part at a branch."""
    forget_leave()
    for k in range(x_in.shape[0]):
        out[k] = 1.0 if x_in[k] > 1.0 and not x_in[k] > 2.0 else 0.0
    return has_left()


def lanes_with(numbers):
    """An array of lanes, shape [n], from numbers of shape [n, num_lanes()]."""
    return np.ascontiguousarray(numbers).view(in_lanes(np.dtype(float)))[:, 0]


def test_functions_of_lanes_have_the_bits_of_numbers():
    numbers = np.random.default_rng(3).normal(size=(50, num_lanes()))
    numbers[:2] = [[math.nan], [0.0]]
    numbers[2, 0] = math.nan  # in one lane alone
    lanes, together = lanes_with(numbers), lanes_with(np.zeros((50, num_lanes())))
    functions_of(lanes, together)
    alone = np.zeros(50)
    for n in range(num_lanes()):
        functions_of(numbers[:, n].copy(), alone)
        np.testing.assert_array_equal(together["lanes"][:, n], alone)


def test_a_mask_is_true_if_all_lanes_are_and_a_thread_knows_when_they_part():
    out = lanes_with(np.zeros((1, num_lanes())))
    for number, truth in ((1.5, 1.0), (0.5, 0.0), (2.5, 0.0), (math.nan, 0.0)):
        assert not larger_than_one(lanes_with(np.full((1, num_lanes()), number)), out)
        np.testing.assert_array_equal(out["lanes"], truth)
    mixed_lanes = np.full((1, num_lanes()), 1.5)
    mixed_lanes[0, -1] = math.nan
    assert larger_than_one(lanes_with(mixed_lanes), out)
    assert not larger_than_one(lanes_with(np.full((1, num_lanes()), 1.5)), out)  # forgotten


@kernel
def choices(x_in, out):
    """Whether lanes part, though numbers lie in different ranges."""
    forget_leave()
    for k in range(x_in.shape[0]):
        x = x_in[k]
        is_inside, is_far = both(x > -1.0, x < 1.0), either(x < -2.0, x > 2.0)
        out[k] = where(is_inside, 1.0, where(is_far, 2.0, x))
        if all_of(is_inside):
            out[k] = 3.0
    return has_left()


def test_masks_are_joined_lane_by_lane():
    numbers = 2.0 * np.random.default_rng(4).normal(size=(50, num_lanes()))
    numbers[0], numbers[1, 0] = 0.5, math.nan
    together = lanes_with(np.zeros((50, num_lanes())))
    assert not choices(lanes_with(numbers), together)
    expected = np.where(abs(numbers) < 1.0, 1.0, np.where(abs(numbers) > 2.0, 2.0, numbers))
    expected[(abs(numbers) < 1.0).all(axis=1)] = 3.0
    np.testing.assert_array_equal(together["lanes"], expected)


def test_rows_of_lanes_have_the_bits_of_rows_of_numbers():
    numbers = np.stack([sample(seed) for seed in range(num_lanes())], axis=1)
    together = lanes_with(np.zeros((13, num_lanes())))
    on_rows(lanes_with(numbers), together)
    for lane in range(num_lanes()):
        alone = np.zeros(13)
        on_rows(numbers[:, lane].copy(), alone)
        np.testing.assert_array_equal(together["lanes"][:, lane], alone)


def test_varying_records_have_floats_of_their_own_and_the_same_integers():
    dtype = np.dtype([("n", int), ("x", float), ("v", float, 3), ("twelfth", int)])
    assert in_lanes(dtype) is dtype
    varying(own := np.dtype([("n", int), ("x", float), ("v", float, 3), ("thirteenth", int)]))
    records = np.array([(1, 2.0, (3.0, 4.0, 5.0), 6), (7, 8.0, (9.0, 10.0, 11.0), 12)], own)
    lanes = repeated_records(records)
    np.testing.assert_array_equal(lanes["n"], [1, 7])
    np.testing.assert_array_equal(lanes["x"]["lanes"], np.repeat([[2.0], [8.0]], num_lanes(), axis=1))
    np.testing.assert_array_equal(lanes["v"]["lanes"][..., -1], records["v"])
    assert lanes.dtype.itemsize == 16 + 4 * 8 * num_lanes()


def test_records_of_floats_alone_have_lanes():
    of_floats, mixed_record = np.dtype([("a", float), ("b", float, (2, 3))]), np.dtype([("a", float), ("n", int)])
    assert in_lanes(of_floats).itemsize == num_lanes() * of_floats.itemsize
    assert in_lanes(mixed_record) is mixed_record
    records = np.ones(2, of_floats)
    records["b"][1, 1, 2] = 5.0
    lanes = repeated(records)
    np.testing.assert_array_equal(lanes, np.repeat([1.0] * 13 + [5.0], num_lanes()).reshape(14, -1))
    assert lanes.ctypes.data % 64 == 0
