"""Expressions and variables."""

from __future__ import annotations

import concurrent.futures
import copy
import gc
import math
import operator
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from merganser.framework import math as mm
from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.framework.symbolic import nodes

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


def test_a_variable_that_no_expression_has_is_pickled_as_itself():
    x = sym.Variable("x")
    assert pickle.loads(pickle.dumps(x)) is x
    data, number = pickle.dumps((x, {x: 3.0})), x.get_id()
    del x
    first, second = pickle.loads(data), pickle.loads(data)
    assert first[0] is second[0] and first[0].get_id() == number and first[1][second[0]] == 3.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_variables_of_forked_processes_differ():
    code = (
        "import os; from merganser.framework.symbolic import Variable; child = os.fork(); "
        "child and os.wait(); print(*(Variable('x').get_id() for _ in range(100)), flush=True)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert len(set(output.split())) == 200


def test_canonical_form(xy):
    x, y = xy
    assert (x + y).EqualTo(y + x) and (0.5 * x + 0.5 * x).EqualTo(x) and (x - x).EqualTo(0.0)
    assert ((x + 1) * (x + 1)).EqualTo((x + 1) ** 2) and not ((x + 1) ** 2).EqualTo(x**2 + 2 * x + 1)
    assert ((x + 1) ** 2).Expand().EqualTo(x**2 + 2.0 * x + 1.0)
    squares = x**2 + y**2
    norm, same_norm = sym.sqrt(squares), sym.pow(squares, 0.5)
    assert ((norm + same_norm) ** 2).Expand().EqualTo(2 * squares + 2 * norm * same_norm)
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
    memo = {}
    there_and_back = sym.from_sympy(sym.to_sympy(expression, memo=memo), memo=memo)
    assert there_and_back.Evaluate({x: 0.4, y: 0.2}) == pytest.approx(reference, rel=1e-12)
    assert pickle.loads(pickle.dumps(expression)).EqualTo(expression)


def test_chains_of_thousands_of_functions_have_values_and_derivatives(xy):
    x, y = xy
    expression, value, slope = sym.Expression(x), 0.3, 1.0
    for _ in range(1500):
        expression = 0.5 * sym.sin(expression) + y
        value, slope = 0.5 * math.sin(value) + 0.2, 0.5 * math.cos(value) * slope
    assert expression.Evaluate({x: 0.3, y: 0.2}) == pytest.approx(value, rel=1e-12)
    assert expression.Substitute({x: 0.1 * y + 0.28}).Evaluate({y: 0.2}) == pytest.approx(value, rel=1e-12)
    assert expression.Differentiate(x).Evaluate({x: 0.3, y: 0.2}) == pytest.approx(slope, rel=1e-9, abs=1e-300)


def test_equal_trees_that_were_made_apart_compare_at_once_and_are_freed(xy):
    x, y = xy

    def chain():
        expression = sym.Expression(x)
        for _ in range(40):  # 2^40 paths
            expression = sym.sin(expression + y) * expression + expression
        return expression

    gc.collect()
    before = len(nodes._NODES)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(lambda _: chain(), range(8))
    assert all(first.EqualTo(other) for other in others) and (first - others[0]).EqualTo(0.0)
    assert len(nodes._NODES) > before
    del first, others
    gc.collect()
    assert len(nodes._NODES) <= before


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
        (lambda x, y: sym.Expression(math.nan).Evaluate(), RuntimeError, "the value is NaN"),
        (lambda x, y: abs(x).Differentiate(x).Evaluate({x: 0.0}), RuntimeError, "the value is NaN"),
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


UNARY = {
    "sqrt": math.sqrt, "log": lambda x: math.log(x) if x else -math.inf, "exp": math.exp, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "sin": math.sin, "cos": math.cos, "tan": math.tan, "abs": abs,
    "floor": math.floor, "ceil": math.ceil, "cosh": math.cosh, "tanh": math.tanh,
}  # fmt: skip
POWERS = (2, 3, 4, -1, -2, 0.5, 1.5, -0.5)
BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "pow": math.pow, "max": max,
    "min": min, "atan2": math.atan2,
}  # fmt: skip


def random_expression(rng, variable, value, depth):
    """An expression of one variable, and its value as Python computes it step by step; None where that raises."""
    if depth == 0:
        return sym.Expression(variable), value
    inner, at = random_expression(rng, variable, value, depth - 1)
    choice = rng.integers(4)
    if choice == 0:
        exponent = POWERS[rng.integers(len(POWERS))]
        return sym.pow(inner, exponent), stepwise(math.pow, at, exponent)
    if choice == 1:
        return inner * inner, stepwise(operator.mul, at, at)
    if choice == 2:
        factor = float(rng.integers(-2, 4)) + 0.5
        return factor * inner + 1.0, stepwise(lambda x: factor * x + 1.0, at)
    name = list(UNARY)[rng.integers(len(UNARY))]
    return getattr(sym, name)(inner), stepwise(UNARY[name], at)


def stepwise(function, *arguments):
    try:
        return None if None in arguments else float(function(*arguments))
    except (ArithmeticError, ValueError):
        return None


@pytest.mark.parametrize("seed", range(20))
def test_what_is_simplified_is_defined_where_it_was_and_equal(seed, xy):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        values = rng.choice([-8.0, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0], 2)
        (a, at_a), (b, at_b) = (random_expression(rng, v, p, rng.integers(1, 4)) for v, p in zip(xy, values))
        name = list(BINARY)[rng.integers(len(BINARY))]
        whole = getattr(sym, name)(a, b) if name.isalnum() else BINARY[name](a, b)
        expected = stepwise(BINARY[name], at_a, at_b)
        if math.inf in (abs(at_a or 0.0), abs(at_b or 0.0), abs(expected or 0.0)):
            continue
        if expected is not None:
            assert whole.Evaluate(dict(zip(xy, values))) == pytest.approx(expected, rel=1e-9, abs=1e-9), str(whole)
            continue
        with pytest.raises((RuntimeError, ValueError, OverflowError)):
            whole.Evaluate(dict(zip(xy, values)))


def test_the_square_of_a_norm_is_a_sum_of_squares(xy):
    x, y = xy
    norm = np.linalg.norm(np.array([x, 2.0 * y, 3.0]))
    for square in (norm**2, norm * norm, ((x * x + 4 * y * y + 9) ** 0.5) ** 2):
        assert square.EqualTo(x**2 + 4 * y**2 + 9) and square.is_polynomial()
    assert (norm**4).EqualTo((x**2 + 4 * y**2 + 9) ** 2)
    assert str(norm**3) == "pow(sqrt((9 + pow(x, 2) + 4 * pow(y, 2))), 3)"
    assert str(sym.sqrt(x**2 - y**2) ** 2) == "pow(sqrt((pow(x, 2) - pow(y, 2))), 2)"
    assert str(x ** (0.5 + sym.Expression(1.5))) == "pow(x, 2)" and str(1.0 / sym.exp(x)) == "(1 / exp(x))"


def test_an_error_of_the_domain_is_not_simplified_away(xy):
    x, y = xy
    for hidden in (sym.sqrt(x) * sym.sqrt(x), sym.pow(sym.sqrt(x), 2), sym.exp(sym.log(x)), sym.sin(sym.asin(x)),
                   x**1.5 * x**0.5, sym.sqrt(x) ** 4, sym.pow(1.0, sym.log(x))):  # fmt: skip
        with pytest.raises(ValueError, match="is not defined"):
            hidden.Evaluate({x: -8.0})
    for hidden in (x * y / x, 1 / (1 / sym.Expression(x)), x**2 / x, (y / x) * x, sym.tan(y) / (y / x), x**3 * x**-2):
        with pytest.raises(RuntimeError, match="division by zero"):
            hidden.Evaluate({x: 0.0, y: 1.0})
    for defined in (sym.sqrt(x * x * y), sym.cos(sym.atan2(x, 2 * x)) - 1.0, sym.sqrt(abs(x) * y)):
        assert defined.Evaluate({x: 0.0, y: -1.0}) == 0.0
    with pytest.raises(ValueError, match="is not defined"):
        sym.if_then_else(sym.log(x) > 0.0, y, y).Evaluate({x: -8.0, y: 1.0})
