"""Functions of elements: arrays at once, scalars one by one and compiled code give the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import native as f
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.native import kernel, register_all
from merganser.framework.symbolic import Expression, Variable

ORDINARY = 40  # of these, the first
NUMBERS = [*np.random.default_rng(8).normal(scale=3.0, size=ORDINARY), 0.0, -0.0, 1.0, -1.0, 700.0, math.inf, math.nan]
compiled_only = pytest.mark.skipif(not may_compile(), reason="numba does not compile")


@kernel
def all_functions(x_in, low, high, out):
    for i in f.elements(x_in):
        out[0, i] = f.sin(x_in[i])
        out[1, i] = f.cos(x_in[i])
        out[2, i] = f.tanh(x_in[i])
        out[3, i] = f.clamp(x_in[i], low, high)
        out[4, i] = 1.0 if f.is_finite(x_in[i]) else 0.0
        out[5, i] = 1.0 if f.are_ordered(x_in[i], high) else 0.0
        out[6, i] = f.clamp(x_in[i], high, low)


@kernel
def functions_of_vectors(x_in, matrix_in, product_out, put_out):
    for i in f.elements(x_in):
        product_out[i] = f.product(matrix_in, x_in, i)
    f.put(x_in, put_out, 2)


def words(x):
    """The bits of numbers, by which -0.0 is not 0.0, and one value that is not a number is like another."""
    return np.where(np.isnan(x), np.nan, x).view(np.uint64)


@compiled_only
def test_compiled_functions_are_those_of_arrays_to_the_last_bit():
    register_all()
    x, out = np.array(NUMBERS), np.zeros((7, len(NUMBERS)))
    all_functions(x, -1.0, 1.0, out)
    low, high = np.full(len(x), -1.0), np.full(len(x), 1.0)
    scalars = np.transpose([[float(f.is_finite(v)), float(f.are_ordered(v, 1.0))] for v in NUMBERS])
    expected = f.sin(x), f.cos(x), f.tanh(x), f.clamp(x, low, high), *scalars, f.clamp(x, high, low)
    np.testing.assert_array_equal(words(out), words(np.array(expected)))


@compiled_only
def test_compiled_functions_of_vectors_are_those_of_arrays_to_the_last_bit():
    x, matrix = np.array(NUMBERS[:ORDINARY]), np.random.default_rng(9).normal(size=(ORDINARY, ORDINARY))
    product, put, expected = np.zeros(ORDINARY), np.zeros(ORDINARY + 3), np.zeros(ORDINARY + 3)
    functions_of_vectors(x, matrix, product, put)
    f.put(x, expected, 2)
    assert np.isfinite(product).all() and expected[2:-1].tolist() == x.tolist()
    np.testing.assert_array_equal(words(product), words(f.product(matrix, x, ...)))
    np.testing.assert_array_equal(words(put), words(expected))


@pytest.mark.parametrize(
    "u, low, high, expected",
    [
        (0.5, -1.0, 1.0, 0.5), (-2.0, -1.0, 1.0, -1.0), (2.0, -1.0, 1.0, 1.0), (5.0, 10.0, 0.0, 0.0),
        (math.nan, 0.0, 1.0, math.nan),
    ],
)
def test_all_scalars_and_arrays_are_clamped_by_one_rule(u, low, high, expected):
    x = Variable("x")
    found = [
        f.clamp(u, low, high),
        f.clamp(np.array([u]), np.array([low]), np.array([high]))[0],
        f.clamp(complex(u), low, high).real,
        f.clamp(AutoDiffXd(u, [1.0]), low, high).value(),
        f.clamp(np.array([AutoDiffXd(u, [1.0])]), np.array([low]), np.array([high]))[0].value(),
    ]
    if not math.isnan(u):
        found.append(f.clamp(u, Expression(x), high).Evaluate({x: low}))
        found.append(f.clamp(Expression(x), low, high).Evaluate({x: u}))
    np.testing.assert_array_equal(found, expected)


def test_limits_of_derivatives_must_be_ordered_too():
    one, two = AutoDiffXd(1.0, [1.0]), AutoDiffXd(2.0, [1.0])
    assert f.are_ordered(one, two) and f.are_ordered(1, 2) and f.are_ordered(one, one)
    assert not f.are_ordered(two, one) and not f.are_ordered(2, 1)
    assert f.are_ordered(Expression(Variable("x")), 1.0)  # which is unknown for symbols


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "floor"])
def test_functions_of_arrays_are_those_of_scalars(name):
    function = getattr(f, name)
    np.testing.assert_array_equal(function(np.array(NUMBERS)), [function(float(x)) for x in NUMBERS])
    z = np.array(NUMBERS[:ORDINARY]) * (1.0 + 0.3j)
    np.testing.assert_array_equal(function(z), [function(complex(v)) for v in z])


@compiled_only
@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "floor"])
def test_compiled_functions_of_complex_numbers_have_the_same_slopes(name):
    function = getattr(f, name)

    @kernel
    def apply(z_in, out):
        for i in range(z_in.shape[0]):
            out[i] = function(z_in[i])

    z, out = np.array(NUMBERS[:ORDINARY]) + 1e-100j, np.zeros(ORDINARY, np.complex128)
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
    register_all()
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
