"""Expressions and variables."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest

from merganser.framework import math as mm
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix

NAMES = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "abs"]

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)


@pytest.fixture
def xy():
    return sym.Variable("x"), sym.Variable("y")


@pytest.mark.parametrize("name", NAMES)
def test_function_evaluates_and_differentiates(name, xy):
    x, y = xy
    expression = getattr(sym, name)(2.0 * x + y)
    for a, b in np.random.default_rng(1).uniform(0.1, 0.3, size=(3, 2)):
        assert expression.Evaluate({x: a, y: b}) == pytest.approx(getattr(mm, name)(2.0 * a + b), rel=1e-15)
        step = 1e-6
        difference = getattr(mm, name)(2.0 * (a + step) + b) - getattr(mm, name)(2.0 * (a - step) + b)
        slope = expression.Differentiate(x).Evaluate({x: a, y: b})
        assert slope == pytest.approx(difference / (2.0 * step), rel=1e-8)
        assert expression.Differentiate(y).Evaluate({x: a, y: b}) == pytest.approx(slope / 2.0, rel=1e-14)


@pytest.mark.parametrize("binary", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
def test_operators_accept_variables_expressions_and_numbers(binary, xy):
    x, y = xy
    env = {x: 1.7, y: 0.6}
    for a, a_value in ((x, 1.7), (x * 1, 1.7), (1.7, 1.7), (np.float64(1.7), 1.7)):
        for b, b_value in ((y, 0.6), (y + 0, 0.6), (0.6, 0.6)):
            result = binary(a, b)
            if isinstance(result, sym.Expression):
                assert result.Evaluate(env) == pytest.approx(binary(a_value, b_value), rel=1e-15)
    assert (-x).Evaluate(env) == -1.7 and (+x).Evaluate(env) == 1.7 and abs(-x).Evaluate(env) == 1.7


def test_arrays_of_expressions_work_with_numpy(xy):
    x, y = xy
    env = {x: 0.3, y: 0.5}
    vector = np.array([x, y])
    floats = np.array([0.3, 0.5])
    A = np.random.default_rng(1).normal(size=(2, 2))
    for of_symbols, of_floats in (
        (A @ vector, A @ floats),
        (np.sin(vector) * 2.0, np.sin(floats) * 2.0),
        (np.arctan2(vector, vector[::-1]), np.arctan2(floats, floats[::-1])),
        (np.sqrt(vector**2 + 1.0), np.sqrt(floats**2 + 1.0)),
        (x + floats, 0.3 + floats),
        (floats / (x * y), floats / 0.15),
        (np.abs(-vector), floats),
    ):
        np.testing.assert_allclose(sym.Evaluate(of_symbols, env).ravel(), of_floats, rtol=1e-15)
    assert (vector @ vector).EqualTo(x**2 + y**2)


def test_variables_of_one_name_differ():
    a, b = sym.Variable("x"), sym.Variable("x")
    assert a.get_id() != b.get_id() and not a.EqualTo(b) and not (a - b).EqualTo(0.0)
    assert (a - b).Evaluate({a: 3.0, b: 1.0}) == 2.0
    assert len(sym.Variables([a, b, a])) == 2
    assert b not in {a: 1.0}


def test_variable_knows_its_name_and_type():
    x = sym.Variable("x", sym.Variable.Type.BINARY)
    assert x.get_name() == str(x) == "x" and x.get_type() is sym.Variable.Type.BINARY
    assert repr(sym.Variable("y")) == "Variable('y', Continuous)"
    with pytest.raises(TypeError, match="expected a name"):
        sym.Variable(3)


def test_copies_and_pickles_are_the_same_variable(xy):
    x, y = xy
    expression = x * sym.sin(y)
    for other in (copy.deepcopy(expression), pickle.loads(pickle.dumps(expression))):
        assert other.EqualTo(expression) and other.Evaluate({x: 2.0, y: 1.0}) == 2.0 * math.sin(1.0)
    assert copy.deepcopy(x) is x and pickle.loads(pickle.dumps(x)) is x
    assert next(iter(pickle.loads(pickle.dumps(expression)).GetVariables())) is x


def test_variables_keep_name_and_type_in_another_process():
    x = sym.Variable("speed", sym.Variable.Type.INTEGER)
    code = (
        "import pickle, sys; e, x = pickle.loads(sys.stdin.buffer.read()); (v,) = e.GetVariables(); "
        "print(v is x, v.get_name(), v.get_type().name, v.get_id(), e.Evaluate({x: 3.0}))"
    )
    data = pickle.dumps((x * x, x))
    output = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True).stdout
    assert output.decode().split() == ["True", "speed", "INTEGER", str(x.get_id()), "9.0"]


def test_canonical_form(xy):
    x, y = xy
    assert (x + y).EqualTo(y + x) and (0.5 * x + 0.5 * x).EqualTo(x) and (x - x).EqualTo(0.0)
    assert ((x + 1) * (x + 1)).EqualTo((x + 1) ** 2) and not ((x + 1) ** 2).EqualTo(x**2 + 2 * x + 1)
    assert ((x + 1) ** 2).Expand().EqualTo(x**2 + 2.0 * x + 1.0)
    assert sym.sqrt(x**2).EqualTo(abs(x))
    assert sym.Expression(2.0).EqualTo(2)


def test_variables_of_an_expression(xy):
    x, y = xy
    assert (x * sym.cos(y)).GetVariables() == sym.Variables([y, x])
    assert sym.Expression(3.0).GetVariables().empty()
    assert list(sym.GetVariableVector([y + 1, x])) is not None
    assert [v.get_name() for v in sym.GetVariableVector([y + 1, x])] == ["x", "y"]


def test_polynomials_are_recognized(xy):
    x, y = xy
    assert (x**2 * y + 0.5).is_polynomial() and sym.Expression(1.0).is_polynomial()
    for other in (sym.sin(x), 1 / (x + y), sym.max(x, y), abs(x), x**0.5):
        assert not sym.Expression(other).is_polynomial()


def test_substitution_is_simultaneous(xy):
    x, y = xy
    expression = x - 2.0 * y
    assert expression.Substitute({x: y, y: x}).EqualTo(y - 2.0 * x)
    assert expression.Substitute(x, 2.0 * y).EqualTo(0.0)
    assert sym.sin(x).Substitute(x, 0.5).Evaluate() == math.sin(0.5)
    assert expression.EvaluatePartial({x: 3.0}).EqualTo(3.0 - 2.0 * y)
    assert sym.max(x, y).Substitute({x: 1.0, y: 2.0}).EqualTo(2.0)
    with pytest.raises(RuntimeError, match="division by zero"):
        (1.0 / (x - y)).Substitute(x, y)
    with pytest.raises(TypeError, match="expected a Variable and an Expression"):
        expression.Substitute(x, "y")


def test_deep_shared_expressions_stay_cheap(xy):
    x, y = xy
    expression = x
    for _ in range(60):  # 2^60 paths from the root to x
        expression = sym.sin(expression) * sym.cos(expression + y)
    value, reference = expression.Evaluate({x: 0.4, y: 0.2}), 0.4
    for _ in range(60):
        reference = math.sin(reference) * math.cos(reference + 0.2)
    assert value == pytest.approx(reference, rel=1e-12)
    assert len(expression.GetVariables()) == 2
    assert expression.Substitute(y, 0.2).Evaluate({x: 0.4}) == pytest.approx(reference, rel=1e-12)
    assert math.isfinite(expression.Differentiate(x).Evaluate({x: 0.4, y: 0.2}))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x, y: (x + y).Evaluate({x: 1.0}), RuntimeError, "no value for variable y"),
        (lambda x, y: (x / y).Evaluate({x: 1.0, y: 0.0}), RuntimeError, "division by zero, as y is 0"),
        (lambda x, y: sym.log(x).Evaluate({x: -1.0}), ValueError, r"log\(-1.0\) is not defined"),
        (lambda x, y: sym.sqrt(x).Evaluate({x: -1.0}), ValueError, "is not defined"),
        (lambda x, y: sym.asin(x).Evaluate({x: 2.0}), ValueError, r"asin\(2.0\)"),
        (lambda x, y: sym.log(-1.0), ValueError, "log"),
        (lambda x, y: (x + y).Evaluate({x: math.nan}), RuntimeError, "variable x is NaN"),
        (lambda x, y: sym.Expression(math.nan).Evaluate(), RuntimeError, "met NaN"),
        (lambda x, y: abs(x).Differentiate(x).Evaluate({x: 0.0}), RuntimeError, "met NaN"),
        (lambda x, y: x / 0.0, RuntimeError, "division by zero"),
        (lambda x, y: (x + y).Evaluate({"x": 1.0}), TypeError, "expected {Variable: number}"),
        (lambda x, y: (x + y).Differentiate(x + y), TypeError, "expected a Variable"),
        (lambda x, y: sym.Expression("x"), TypeError, "got str"),
        (lambda x, y: float(x + y), TypeError, "float"),
        (lambda x, y: hash(x + y), TypeError, "unhashable"),
    ],
)
def test_errors(make, error, message, xy):
    with pytest.raises(error, match=message):
        make(*xy)


def test_extremes_and_kinks(xy):
    x, y = xy
    env = {x: 1.5, y: -0.5}
    assert sym.max(x, y).Evaluate(env) == 1.5 and sym.min(x, 3.0).Evaluate(env) == 1.5
    assert sym.max(x, y).Differentiate(x).Evaluate(env) == 1.0
    assert sym.min(x, y).Differentiate(x).Evaluate(env) == 0.0
    assert abs(y).Differentiate(y).Evaluate(env) == -1.0
    assert sym.floor(x).Evaluate(env) == 1.0 and sym.ceil(y).Evaluate(env) == 0.0
    assert sym.floor(x).Differentiate(x).Evaluate(env) == 0.0
    assert sym.max(x, x).EqualTo(x)


def test_functions_of_the_math_module_accept_expressions():
    x = sym.Variable("x")
    env = {x: 0.3}
    for name in NAMES:
        assert getattr(mm, name)(x).Evaluate(env) == pytest.approx(getattr(mm, name)(0.3), rel=1e-15)
    assert mm.atan2(1.0, x).Evaluate(env) == math.atan2(1.0, 0.3)
    assert mm.pow(2.0, x).Evaluate(env) == pytest.approx(2.0**0.3) and mm.max(1.0, x).Evaluate(env) == 1.0
    assert mm.isnan(x).Evaluate(env) is False


def test_poses_compose():
    theta, p = sym.Variable("theta"), sym.Variable("p")
    env = {theta: 0.7, p: -0.2}

    def pose(angle, position):
        X_AB = RigidTransform(RotationMatrix.MakeYRotation(angle), np.array([position, 1.0, angle]))
        X_BC = RigidTransform(RollPitchYaw(np.array([0.1, angle, 0.3])), np.array([1.0, 2.0, position]))
        return ((X_AB @ X_BC).inverse() @ X_AB).GetAsMatrix34()

    np.testing.assert_allclose(sym.Evaluate(pose(theta, p), env), pose(0.7, -0.2), rtol=0, atol=1e-15)
