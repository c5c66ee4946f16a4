"""Matrices of AutoDiffXd and derivatives of functions."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework.autodiff import (
    AutoDiffXd,
    ExtractGradient,
    ExtractValue,
    InitializeAutoDiff,
    InitializeAutoDiffTuple,
    autodiff_equal_to,
    derivative,
    gradient,
    jacobian,
)


def test_initialized_entries_are_the_variables_column_by_column():
    values = np.arange(6.0).reshape(2, 3)
    matrix = InitializeAutoDiff(values)
    np.testing.assert_array_equal(ExtractValue(matrix), values)
    np.testing.assert_array_equal(ExtractGradient(matrix), np.eye(6))
    np.testing.assert_array_equal(matrix[1, 0].derivatives(), np.eye(6)[1])


def test_vectors_become_columns():
    assert InitializeAutoDiff([1.0, 2.0]).shape == (2, 1)
    assert ExtractValue(np.array([AutoDiffXd(1.0), AutoDiffXd(2.0)])).shape == (2, 1)


def test_variables_can_start_at_a_number():
    matrix = InitializeAutoDiff([1.0, 2.0], num_derivatives=4, deriv_num_start=1)
    np.testing.assert_array_equal(ExtractGradient(matrix), np.eye(4)[1:3])


def test_gradient_can_be_given():
    rows = np.random.default_rng(1).normal(size=(2, 5))
    for matrix in (InitializeAutoDiff([1.0, 2.0], rows), InitializeAutoDiff([1.0, 2.0], gradient=rows)):
        np.testing.assert_array_equal(ExtractGradient(matrix), rows)


def test_tuple_is_differentiated_by_all_entries():
    a, b = InitializeAutoDiffTuple([1.0, 2.0], [[3.0]])
    np.testing.assert_array_equal(np.vstack([ExtractGradient(a), ExtractGradient(b)]), np.eye(3))


def test_constants_have_zero_rows():
    entries = np.array([AutoDiffXd(1.0, [1.0, 2.0]), AutoDiffXd(2.0), 3.0], dtype=object)
    np.testing.assert_array_equal(ExtractGradient(entries), [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    assert ExtractGradient([AutoDiffXd(1.0)]).shape == (1, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: InitializeAutoDiff([1.0, 2.0], 1), "do not fit into 1 derivatives. Give num_derivatives >= 2"),
        (lambda: InitializeAutoDiff([1.0, 2.0], 2, 1), "Give num_derivatives >= 3"),
        (lambda: InitializeAutoDiff([1.0, 2.0], gradient=np.eye(3)), "a row for each of 2 values"),
        (lambda: ExtractGradient([AutoDiffXd(1.0, [1.0]), AutoDiffXd(1.0, [1.0, 2.0])]), "1 derivatives and others 2"),
        (lambda: gradient(lambda x: x, [1.0, 2.0]), "Use jacobian"),
        (lambda: jacobian(lambda x: x, [[1.0, 2.0]]), "x must be a vector"),
    ],
)
def test_wrong_sizes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_scalars_and_double_instructions_are_refused():
    with pytest.raises(TypeError, match="vector or a matrix"):
        InitializeAutoDiff(3.0)
    with pytest.raises(TypeError, match="either a gradient"):
        InitializeAutoDiff([1.0], 3, gradient=np.eye(1))


def test_vectors_of_other_shapes_fail_the_assertion_of_pydrake_too():
    for function in (gradient, jacobian):
        with pytest.raises(AssertionError, match="x must be a vector"):
            function(lambda x: x @ x.T, np.array([[1.0, 2.0]]))
    with pytest.raises(AssertionError, match="a scalar or a vector of size 1"):
        gradient(lambda x: x, [1.0, 2.0])


def test_derivatives_of_functions():
    assert derivative(lambda x: x**3, 2.0) == 12.0
    assert derivative(lambda x: 5.0, 2.0) == 0.0
    np.testing.assert_array_equal(gradient(lambda x: x @ x, [1.0, 2.0]), [2.0, 4.0])
    np.testing.assert_array_equal(gradient(lambda x: [x[0]], [1.0, 2.0]), [1.0, 0.0])
    A = np.random.default_rng(2).normal(size=(3, 2))
    np.testing.assert_allclose(jacobian(lambda x: A @ x, [1.0, 2.0]), A, rtol=1e-15)
    outer = jacobian(lambda x: np.outer(x, x), [3.0, 5.0])
    np.testing.assert_array_equal(outer[..., 0], [[6.0, 5.0], [5.0, 0.0]])
    np.testing.assert_array_equal(jacobian(lambda x: np.array([7.0, x[1]]), [1.0, 2.0]), [[0, 0], [0, 1]])


def test_equality_includes_derivatives():
    a = np.array([AutoDiffXd(1.0, [1.0, 2.0]), AutoDiffXd(1.0), AutoDiffXd(1.0, [0.0])])
    b = np.array([AutoDiffXd(1.0, [1.0, 2.0]), AutoDiffXd(1.0, [0.0, 0.0]), AutoDiffXd(1.0, [0.0, 0.0])])
    assert autodiff_equal_to(a, b).tolist() == [True, False, False]
    assert autodiff_equal_to(a, b, semantic=True).tolist() == [True, True, False]
    assert autodiff_equal_to(a[0], b).tolist() == [True, False, False]
    assert not autodiff_equal_to(a[0], AutoDiffXd(2.0, [1.0, 2.0]))
    assert not autodiff_equal_to(a[1], AutoDiffXd(1.0, [0.0, 3.0]), semantic=True)
    with pytest.raises(TypeError, match="expected AutoDiffXd, got float"):
        autodiff_equal_to(a, [1.0, 2.0, 3.0])
