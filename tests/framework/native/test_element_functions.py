"""Functions of elements: arrays at once, scalars one by one and compiled code give the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import native as f
from merganser.framework.core.native_code import may_compile
from merganser.framework.native import kernel, tell_compiler

NUMBERS = [*np.random.default_rng(8).normal(scale=3.0, size=40), 0.0, -0.0, 1.0, -1.0, 700.0, math.inf, math.nan]
compiled_only = pytest.mark.skipif(not may_compile(), reason="numba does not compile")


@kernel
def all_functions(x_in, low, high, matrix_in, out):
    for i in f.elements(x_in):
        out[0, i] = f.sin(x_in[i])
        out[1, i] = f.cos(x_in[i])
        out[2, i] = f.tanh(x_in[i])
        out[3, i] = f.clamp(x_in[i], low, high)
        out[4, i] = 1.0 if f.is_finite(x_in[i]) else 0.0
        out[5, i] = 1.0 if f.are_ordered(x_in[i], high) else 0.0
        out[6, i] = f.product(matrix_in, x_in, i)


def values(one_by_one):
    x = np.array(NUMBERS)
    matrix = np.random.default_rng(9).normal(size=(len(x), len(x)))
    if one_by_one:
        out = np.zeros((7, len(x)))
        all_functions(x, -1.0, 1.0, matrix, out)
        return out
    low, high = np.full(len(x), -1.0), np.full(len(x), 1.0)
    scalars = [[float(f.is_finite(v)), float(f.are_ordered(v, 1.0))] for v in NUMBERS]
    product = f.product(matrix, x, ...)
    return np.array([f.sin(x), f.cos(x), f.tanh(x), f.clamp(x, low, high), *np.transpose(scalars), product])


@compiled_only
def test_compiled_functions_are_those_of_arrays_to_the_last_bit():
    tell_compiler()
    np.testing.assert_array_equal(values(one_by_one=True), values(one_by_one=False))


@pytest.mark.parametrize("name", ["sin", "cos", "tanh"])
def test_functions_of_arrays_are_those_of_scalars(name):
    function = getattr(f, name)
    np.testing.assert_array_equal(function(np.array(NUMBERS)), [function(float(x)) for x in NUMBERS])
    z = np.array(NUMBERS[:40]) * (1.0 + 0.3j)
    np.testing.assert_array_equal(function(z), [function(complex(v)) for v in z])


@compiled_only
@pytest.mark.parametrize("name", ["sin", "cos", "tanh"])
def test_compiled_functions_of_complex_numbers_have_the_same_slopes(name):
    function = getattr(f, name)

    @kernel
    def apply(z_in, out):
        for i in range(z_in.shape[0]):
            out[i] = function(z_in[i])

    z, out = np.array(NUMBERS[:40]) + 1e-100j, np.zeros(40, np.complex128)
    apply(z, out)
    np.testing.assert_allclose(out.imag, function(z).imag, rtol=1e-14)
    np.testing.assert_allclose(out.real, function(z).real, rtol=4e-15)


@compiled_only
def test_products_with_sparse_matrices_are_summed_entry_by_entry():
    @kernel
    def multiply(factors_in, rows_in, columns_in, vector_in, out):
        f.add_products(factors_in, rows_in, columns_in, vector_in, out)

    rng = np.random.default_rng(10)
    factors, vector, (rows, columns) = rng.normal(size=30), rng.normal(size=5), rng.integers(5, size=(2, 30))
    together, compiled, one_by_one = np.zeros((3, 5))
    f.add_products(factors, rows, columns, vector, together)
    tell_compiler()
    multiply(factors, rows, columns, vector, compiled)
    for factor, row, column in zip(factors, rows, columns):
        one_by_one[row] += factor * vector[column]
    np.testing.assert_array_equal(together, one_by_one)
    np.testing.assert_array_equal(compiled, one_by_one)


def test_all_elements_at_once_are_those_one_by_one():
    numbers, objects = np.zeros(3), np.zeros(3, dtype=object)
    assert list(f.elements(objects)) == [0, 1, 2]
    (every,) = f.elements(numbers)
    numbers[every] = 2.0
    assert numbers.tolist() == [2.0, 2.0, 2.0]
    assert f.product(np.zeros((3, 0)), np.zeros(0), ...).tolist() == [0.0] * 3
