"""AutoDiffXd against the complex step and closed forms."""

from __future__ import annotations

import copy
import math
import operator
import pickle

import numpy as np
import pytest

from merganser.framework import math as mm
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix

UNIT = (-0.9, 0.9)
ANY = (-3.0, 3.0)
POSITIVE = (0.1, 3.0)
FUNCTIONS = {
    "sin": ANY, "cos": ANY, "tan": UNIT, "arcsin": UNIT, "arccos": UNIT, "arctan": ANY, "sinh": ANY, "cosh": ANY,
    "tanh": ANY, "exp": ANY, "log": POSITIVE, "sqrt": POSITIVE,
}  # fmt: skip
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


def complex_step(function, *values, index=0):
    arguments = [complex(v, 1e-100 if i == index else 0.0) for i, v in enumerate(values)]
    return function(*arguments).imag / 1e-100


def test_arrays_of_numbers_are_lifted_bit_for_bit():
    numbers = np.array([[0.0, -0.0, 1.0], [math.nan, -math.inf, 1.0]])
    many = np.tile(numbers, (30, 1))
    for given in (numbers, numbers.T, numbers[:, ::2], numbers[:0], many, many.T, many[::2], 0.0 * many):
        lifted = AutoDiffXd.lift_all(given)
        assert lifted.shape == given.shape and lifted.dtype == object
        assert np.array([x.value() for x in lifted.ravel()]).tobytes() == given.tobytes()
        assert all(x.derivatives().size == 0 for x in lifted.ravel())
    assert len({id(x) for x in AutoDiffXd.lift_all(many).ravel()}) == 5


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_has_the_derivative_of_the_complex_step(name):
    for x in np.random.default_rng(1).uniform(*FUNCTIONS[name], size=5):
        result = getattr(AutoDiffXd(x, [2.0, 0.0]), name)()
        assert result.value() == pytest.approx(float(getattr(np, name)(x)), rel=1e-15)
        slope = complex_step(getattr(np, name), x)
        np.testing.assert_allclose(result.derivatives(), [2.0 * slope, 0.0], rtol=1e-14)


@pytest.mark.parametrize("binary", OPERATORS)
def test_operator_has_the_derivative_of_the_complex_step(binary):
    for x, y in np.random.default_rng(2).uniform(*POSITIVE, size=(5, 2)):
        by_x, by_y = (complex_step(binary, x, y, index=i) for i in (0, 1))
        a, b = AutoDiffXd(x, [1.0, 0.0]), AutoDiffXd(y, [0.0, 1.0])
        for result, expected in (
            (binary(a, b), [by_x, by_y]),
            (binary(a, y), [by_x, 0.0]),
            (binary(x, b), [0.0, by_y]),
            (binary(np.float64(x), b), [0.0, by_y]),
            (binary(a, AutoDiffXd(y)), [by_x, 0.0]),
            (binary(AutoDiffXd(x), b), [0.0, by_y]),
        ):
            assert isinstance(result, AutoDiffXd)
            assert result.value() == pytest.approx(binary(x, y), rel=1e-15)
            np.testing.assert_allclose(result.derivatives(), expected, rtol=1e-14, atol=0)


def test_arctan2_differentiates_the_angle_in_all_quadrants():
    for x, y in [(1.0, 2.0), (-1.0, 2.0), (-1.0, -2.0), (1.0, -2.0)]:
        result = AutoDiffXd(y, [1.0, 0.0]).arctan2(AutoDiffXd(x, [0.0, 1.0]))
        assert result.value() == math.atan2(y, x)
        np.testing.assert_allclose(result.derivatives(), [x / 5.0, -y / 5.0], rtol=1e-15)


def test_numpy_functions_and_operators_work_on_arrays():
    a, b = AutoDiffXd(0.3, [1.0, 0.0]), AutoDiffXd(0.5, [0.0, 1.0])
    array = np.array([a, b])
    for name in [*FUNCTIONS, "square", "reciprocal", "abs", "negative", "positive"]:
        values = [entry.value() for entry in getattr(np, name)(array)]
        np.testing.assert_allclose(values, getattr(np, name)(np.array([0.3, 0.5])), rtol=1e-15)
    dot = array @ np.array([2.0, 3.0])
    np.testing.assert_array_equal(dot.derivatives(), [2.0, 3.0])
    np.testing.assert_array_equal((a + np.ones(2))[1].derivatives(), [1.0, 0.0])
    np.testing.assert_allclose((np.ones(2) / a)[0].derivatives(), [-1.0 / 0.09, 0.0], rtol=1e-15)
    assert np.arctan2(array, array[::-1])[0].value() == math.atan2(0.3, 0.5)
    assert np.maximum(array, array[::-1])[0] is not None
    np.testing.assert_array_equal(array < array[::-1], [True, False])
    np.testing.assert_array_equal(np.floor(array + 1.0).astype(float), [1.0, 1.0])
    norm = np.linalg.norm(array)
    np.testing.assert_allclose(norm.derivatives(), np.array([0.3, 0.5]) / math.hypot(0.3, 0.5), rtol=1e-15)


def test_comparisons_look_at_values_only():
    a = AutoDiffXd(2.0, [1.0])
    assert a == 2.0 and a == 2 and a == AutoDiffXd(2.0, [5.0]) and a != 3.0 and a is not None
    assert a < 3.0 and a <= 2.0 and a > 1 and a >= np.float64(2.0) and a < 3.0 and not a < a
    assert operator.eq(2, a) and operator.gt(3.0, a) and operator.lt(np.float64(1.0), a)
    assert a != None and a != "2"  # noqa: E711
    assert a and not AutoDiffXd(0.0, [1.0])


def test_empty_derivatives_fit_any_number():
    constant, variable = AutoDiffXd(3.0), AutoDiffXd(2.0, [1.0, 4.0])
    for result in (constant * variable, variable * constant):
        np.testing.assert_array_equal(result.derivatives(), [3.0, 12.0])
    np.testing.assert_array_equal((constant - variable).derivatives(), [-1.0, -4.0])
    np.testing.assert_array_equal(constant.max(variable).derivatives(), [0.0, 0.0])
    assert (constant * constant).derivatives().size == 0
    assert constant.sin().derivatives().size == 0


def test_extremes_take_the_first_operand_of_equals():
    a, b = AutoDiffXd(2.0, [1.0, 0.0]), AutoDiffXd(2.0, [5.0, 6.0])
    for result in (a.max(b), a.min(b)):
        np.testing.assert_array_equal(result.derivatives(), [1.0, 0.0])
    assert abs(AutoDiffXd(-2.0, [3.0])).derivatives() == [-3.0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_follow_ieee_754():
    zero, one = AutoDiffXd(0.0, [1.0]), AutoDiffXd(1.0, [1.0])
    assert (one / zero).value() == math.inf and (one / zero).derivatives() == [-math.inf]
    assert (one / 0.0).value() == math.inf and (-1.0 / zero).value() == -math.inf
    assert (zero / zero).isnan() and AutoDiffXd(-1.0, [1.0]).sqrt().isnan() and AutoDiffXd(-1.0).log().isnan()
    assert zero.sqrt().derivatives() == [math.inf]
    assert zero.log().value() == -math.inf
    assert (AutoDiffXd(-2.0, [1.0]) ** 3).derivatives() == [12.0]
    assert (zero**0).derivatives() == [0.0] and (zero**1).derivatives() == [1.0]
    assert AutoDiffXd(1000.0).exp().value() == math.inf
    assert AutoDiffXd(math.inf).floor() == math.inf


def test_the_square_of_a_norm_has_its_derivative_at_zero():
    z = np.array([AutoDiffXd(0.0, 3, i) for i in range(3)])
    for result in (np.linalg.norm(z), np.linalg.norm(z) ** 2, z[0] * np.linalg.norm(z), (z @ z) ** 0.5,
                   np.arccos(1.0 - z @ z), np.arcsin(1.0 - z @ z), (z @ z) ** AutoDiffXd(0.5)):  # fmt: skip
        np.testing.assert_array_equal(result.derivatives(), np.zeros(3))
    np.testing.assert_array_equal(z[1].sqrt().derivatives(), [0.0, math.inf, 0.0])
    np.testing.assert_array_equal((z[0] ** z[1]).derivatives(), [0.0, -math.inf, 0.0])
    assert np.isnan(AutoDiffXd(0.0, [math.nan]).sqrt().derivatives()).all()


def test_derivatives_are_a_copy():
    given = np.array([1.0, 2.0])
    a = AutoDiffXd(1.0, given)
    given[0] = 9.0
    a.derivatives()[1] = 9.0
    np.testing.assert_array_equal((a + 1.0).derivatives(), [1.0, 2.0])


def test_pickles_and_copies():
    a = AutoDiffXd(1.5, [1.0, 2.0])
    for other in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert other.value() == 1.5
        np.testing.assert_array_equal(other.derivatives(), [1.0, 2.0])
    assert str(a) == "AD{1.5, nderiv=2}" and "1.5" in repr(a)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a",), TypeError, "value must be a number"),
        ((AutoDiffXd(1.0),), TypeError, "value must be a number"),
        ((1.0, [[1.0, 2.0]]), ValueError, "must be a vector"),
        ((1.0, 2, 2), ValueError, "offset in 0 ... 1"),
        ((1.0, 2, 0, 1), TypeError, "expected `derivatives`"),
    ],
)
def test_constructor_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        AutoDiffXd(*arguments)


def test_different_numbers_of_derivatives_are_refused():
    with pytest.raises(ValueError, match="has 2 derivatives and the other 3"):
        AutoDiffXd(1.0, [1.0, 2.0]) * AutoDiffXd(1.0, [1.0, 2.0, 3.0])


def test_conversion_to_float_is_refused():
    a = AutoDiffXd(1.0, [1.0])
    with pytest.raises(TypeError):
        float(a)
    with pytest.raises(TypeError):
        np.zeros(1)[:] = [a]
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_keyword_construction():
    np.testing.assert_array_equal(AutoDiffXd(value=1.0, size=3, offset=1).derivatives(), [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(AutoDiffXd(1.0, derivatives=[2.0]).derivatives(), [2.0])


def test_poses_compose():
    angles = [AutoDiffXd(0.3, 3, 0), AutoDiffXd(-0.4, 3, 1), AutoDiffXd(0.5, 3, 2)]
    X_AB = RigidTransform(RotationMatrix.MakeXRotation(angles[0]), np.array([angles[1], 1.0, 2.0], dtype=object))
    X_BC = RigidTransform(RotationMatrix.MakeZRotation(angles[2]), np.array([1.0, 2.0, 3.0]))
    X_AC = X_AB @ X_BC

    def entries(theta, p, phi):
        X = RigidTransform(RotationMatrix.MakeXRotation(theta), [p, 1.0, 2.0]) @ RigidTransform(
            RotationMatrix.MakeZRotation(phi), [1.0, 2.0, 3.0]
        )
        return X.GetAsMatrix34()

    for j in range(3):
        values = np.array([0.3, -0.4, 0.5], dtype=complex)
        values[j] += 1e-100j
        expected = entries(*values).imag / 1e-100
        actual = np.array([e.derivatives()[j] if isinstance(e, AutoDiffXd) else 0.0 for e in X_AC.GetAsMatrix34().flat])
        np.testing.assert_allclose(actual.reshape(3, 4), expected, rtol=0, atol=1e-15)
    identity = (X_AC.inverse() @ X_AC).GetAsMatrix34()
    residual = np.array([e.value() if isinstance(e, AutoDiffXd) else e for e in identity.flat]).reshape(3, 4)
    np.testing.assert_allclose(residual, np.eye(3, 4), rtol=0, atol=1e-15)
    R = RollPitchYaw(np.array(angles)).ToRotationMatrix().matrix()
    np.testing.assert_allclose(
        [e.value() for e in R.flat], RollPitchYaw(0.3, -0.4, 0.5).ToRotationMatrix().matrix().ravel(), atol=1e-15
    )


def test_functions_of_the_math_module_accept_numbers_and_autodiff():
    a = AutoDiffXd(0.3, [1.0])
    for name in ["asin", "acos", "atan", "abs", "floor", "ceil", *FUNCTIONS]:
        of_number, of_autodiff = getattr(mm, name)(0.3), getattr(mm, name)(a)
        assert isinstance(of_number, float) and of_autodiff == of_number
    assert mm.max(a, 1) == 1.0 and mm.max(1.0, a) == 1.0 and mm.min(2, 1) == 1.0 and mm.min(0.1, a) == 0.1
    assert mm.pow(2.0, a).value() == 2.0**0.3 and mm.pow(a, 2.0).derivatives() == [0.6] and mm.pow(2, 3) == 8.0
    assert mm.atan2(1.0, a).derivatives() == [pytest.approx(-1.0 / 1.09)]
    assert math.isnan(mm.sqrt(-1.0)) and mm.log(0.0) == -math.inf and mm.isnan(math.nan) and not mm.isnan(a)
    with pytest.raises(TypeError, match=r"For arrays use numpy\.sin"):
        mm.sin(np.zeros(2))
    with pytest.raises(TypeError, match=r"max\(\): expected a number"):
        mm.max(1.0, "a")
