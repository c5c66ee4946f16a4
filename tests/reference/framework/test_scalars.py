"""AutoDiffXd and Expression against pydrake's."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from merganser.framework import autodiff, math

symbolic = pytest.importorskip(
    "merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError
)
drake_autodiff = pytest.importorskip("pydrake.autodiffutils", reason="compares with pydrake (extra `reference`)")
drake_forward = pytest.importorskip("pydrake.forwarddiff", reason="compares with pydrake")
drake_math = pytest.importorskip("pydrake.math", reason="compares with pydrake")
drake_symbolic = pytest.importorskip("pydrake.symbolic", reason="compares with pydrake")

pytestmark = pytest.mark.reference

TOLERANCE = 1e-14  # relative; both sides round a handful of operations
UNARY = {
    "sin": (-3.0, 3.0), "cos": (-3.0, 3.0), "tan": (-1.2, 1.2), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9),
    "atan": (-3.0, 3.0), "arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9), "arctan": (-3.0, 3.0),
    "sinh": (-2.0, 2.0), "cosh": (-2.0, 2.0), "tanh": (-2.0, 2.0), "exp": (-3.0, 3.0), "log": (0.1, 5.0),
    "sqrt": (0.1, 5.0), "abs": (-3.0, 3.0),
}  # fmt: skip
BINARY = ["atan2", "arctan2", "max", "min"]
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
RELATIONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def assert_same_autodiff(ours, theirs):
    assert ours.value() == pytest.approx(theirs.value(), rel=TOLERANCE, abs=1e-300)
    np.testing.assert_allclose(ours.derivatives(), theirs.derivatives(), rtol=TOLERANCE, atol=1e-300)


def autodiff_pair(value, derivatives):
    return autodiff.AutoDiffXd(value, derivatives), drake_autodiff.AutoDiffXd(value, derivatives)


@pytest.mark.parametrize("name", UNARY)
def test_autodiff_functions(name):
    rng = np.random.default_rng(1)
    for value in rng.uniform(*UNARY[name], size=20):
        ours, theirs = autodiff_pair(value, rng.normal(size=3))
        assert_same_autodiff(getattr(math, name)(ours), getattr(drake_math, name)(theirs))
        assert_same_autodiff(getattr(ours, name)(), getattr(theirs, name)())
        assert getattr(math, name)(value) == pytest.approx(getattr(drake_math, name)(value), rel=1e-15)


@pytest.mark.parametrize("name", ["floor", "ceil"])
def test_rounding_drops_derivatives(name):
    for value in (-2.5, -2.0, 0.0, 0.3, 7.0):
        ours, theirs = autodiff_pair(value, [1.0])
        assert getattr(math, name)(ours) == getattr(drake_math, name)(theirs)
        assert type(getattr(math, name)(ours)) is type(getattr(drake_math, name)(theirs))


@pytest.mark.parametrize("binary", OPERATORS)
def test_autodiff_operators(binary):
    rng = np.random.default_rng(2)
    for x, y in rng.uniform(-3.0, 3.0, size=(20, 2)):
        (a, drake_a), (b, drake_b) = (autodiff_pair(v, rng.normal(size=3)) for v in (x, y))
        c, drake_c = autodiff.AutoDiffXd(y), drake_autodiff.AutoDiffXd(y)
        assert_same_autodiff(binary(a, b), binary(drake_a, drake_b))
        assert_same_autodiff(binary(a, y), binary(drake_a, y))
        assert_same_autodiff(binary(y, a), binary(y, drake_a))
        assert_same_autodiff(binary(a, c), binary(drake_a, drake_c))
        assert_same_autodiff(binary(c, a), binary(drake_c, drake_a))


@pytest.mark.parametrize("name", BINARY)
def test_autodiff_functions_of_two(name):
    rng = np.random.default_rng(3)
    for x, y in [*rng.uniform(-3.0, 3.0, size=(20, 2)), (1.0, 1.0)]:
        (a, drake_a), (b, drake_b) = (autodiff_pair(v, rng.normal(size=3)) for v in (x, y))
        assert_same_autodiff(getattr(math, name)(a, b), getattr(drake_math, name)(drake_a, drake_b))
        assert_same_autodiff(getattr(a, name)(b), getattr(drake_a, name)(drake_b))


def test_autodiff_powers_and_comparisons():
    rng = np.random.default_rng(4)
    for x, exponent in rng.uniform(0.1, 3.0, size=(20, 2)):
        ours, theirs = autodiff_pair(x, rng.normal(size=3))
        assert_same_autodiff(ours**exponent, theirs**exponent)
        assert_same_autodiff((-ours) ** 3, (-theirs) ** 3)
        assert_same_autodiff(math.pow(ours, exponent), drake_math.pow(theirs, exponent))
        for relation in RELATIONS:
            assert relation(ours, exponent) == relation(theirs, exponent)
            assert relation(ours, ours) == relation(theirs, theirs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["sqrt", "log", "abs", "asin"])
def test_autodiff_at_the_edges(name):
    for value in (0.0, -0.0, 1.0, -1.0, 2.0):
        ours, theirs = (getattr(a, name)() for a in autodiff_pair(value, [1.0, -2.0]))
        np.testing.assert_equal(ours.value(), theirs.value())
        if not np.isnan(ours.value()):
            np.testing.assert_array_equal(ours.derivatives(), theirs.derivatives())


def test_autodiff_matrices():
    values = np.random.default_rng(5).normal(size=(2, 3))
    ours, theirs = autodiff.InitializeAutoDiff(values, 9, 2), drake_autodiff.InitializeAutoDiff(values, 9, 2)
    for extract in ("ExtractValue", "ExtractGradient"):
        np.testing.assert_array_equal(getattr(autodiff, extract)(ours), getattr(drake_autodiff, extract)(theirs))
    tuples = [m.InitializeAutoDiffTuple(values, [1.0, 2.0]) for m in (autodiff, drake_autodiff)]
    for mine, other in zip(*tuples):
        assert mine.shape == other.shape
        np.testing.assert_array_equal(autodiff.ExtractGradient(mine), drake_autodiff.ExtractGradient(other))


def test_forward_differentiation():
    x = np.array([0.3, 0.7])

    def f(v):
        return np.array([np.sin(v[0]) * v[1], v[0] / v[1], v[0] * 0.0])

    for name, function, point in (
        ("jacobian", f, x),
        ("gradient", lambda v: f(v)[0], x),
        ("derivative", lambda s: s * np.exp(np.array([s]))[0], 0.4),
    ):
        ours, theirs = getattr(autodiff, name)(function, point), getattr(drake_forward, name)(function, point)
        assert np.shape(ours) == np.shape(theirs)
        np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE)


def in_both(make, values):
    """The results of `make` for each module and its variables, with environments."""
    results = []
    for module in (symbolic, drake_symbolic):
        variables = [module.Variable(f"x{i}") for i in range(len(values))]
        results.append((make(module, *variables), variables, dict(zip(variables, values))))
    return results


def assert_same_expression(make, values):
    (ours, our_variables, our_env), (theirs, their_variables, their_env) = in_both(make, values)
    scale = 1.0 + abs(theirs.Evaluate(their_env))
    assert ours.Evaluate(our_env) == pytest.approx(theirs.Evaluate(their_env), rel=TOLERANCE, abs=1e-15 * scale)
    for our_variable, their_variable in zip(our_variables, their_variables):
        expected = theirs.Differentiate(their_variable).Evaluate(their_env)
        actual = ours.Differentiate(our_variable).Evaluate(our_env)
        assert actual == pytest.approx(expected, rel=5 * TOLERANCE, abs=1e-15 * scale)


@pytest.mark.parametrize("name", UNARY)
def test_symbolic_functions(name):
    for value in np.random.default_rng(6).uniform(*UNARY[name], size=5):
        assert_same_expression(lambda m, x: getattr(m, name)(x), [value])
        assert_same_expression(lambda m, x: getattr(m, name)(m.sin(x) * 0.3 + 0.4), [value])


@pytest.mark.parametrize("name", BINARY)
def test_symbolic_functions_of_two(name):
    for values in np.random.default_rng(7).uniform(-3.0, 3.0, size=(5, 2)):
        assert_same_expression(lambda m, x, y: getattr(m, name)(x, y), values)


@pytest.mark.parametrize("binary", [*OPERATORS, operator.pow])
def test_symbolic_operators(binary):
    for values in np.random.default_rng(8).uniform(0.1, 3.0, size=(5, 2)):
        assert_same_expression(lambda m, x, y: binary(x, y), values)
        assert_same_expression(lambda m, x, y: binary(x + y, 2.5), values)
        assert_same_expression(lambda m, x, y: binary(m.sin(x), m.Expression(y)), values)


def test_symbolic_choice_and_substitution():
    for values in np.random.default_rng(9).uniform(0.1, 3.0, size=(10, 2)):
        assert_same_expression(lambda m, x, y: m.if_then_else(x * y > 1.0, x / y, m.log(y)), values)
        assert_same_expression(lambda m, x, y: (x**3 - x * y).Substitute({x: m.sin(y), y: x + 1}), values)
        assert_same_expression(lambda m, x, y: ((x + 2 * y) ** 3 * (x - 0.3)).Expand(), values)
        assert_same_expression(lambda m, x, y: m.TaylorExpand(m.sin(x) * m.exp(y), {x: 0.1, y: 0.2}, 3), values)


@pytest.mark.parametrize("relation", RELATIONS)
def test_symbolic_relations(relation):
    for values in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        (ours, _, our_env), (theirs, _, their_env) = in_both(lambda m, x, y: relation(x, y), values)
        assert ours.Evaluate(our_env) == theirs.Evaluate(their_env)
        for make in (lambda m, x, y: relation(x, x), lambda m, x, y: relation(x + 1.0, x)):
            (ours, *_), (theirs, *_) = in_both(make, values)
            assert str(ours) == str(theirs)  # "True" or "False"
            assert bool(ours) == (str(ours) == "True")  # pydrake's has no truth, even if it is decided


def test_symbolic_errors_are_of_the_same_kind():
    for make in (
        lambda m, x, y: (x + y).Evaluate({x: 1.0}),
        lambda m, x, y: (x / y).Evaluate({x: 1.0, y: 0.0}),
        lambda m, x, y: m.log(x).Evaluate({x: -1.0}),
        lambda m, x, y: m.sqrt(x).Evaluate({x: -1.0}),
        lambda m, x, y: x.abs().Differentiate(x).Evaluate({x: 0.0}),
        lambda m, x, y: (x + 0).Evaluate({x: np.nan}),
        lambda m, x, y: m.Expression("1"),
        lambda m, x, y: float(x + y),
        lambda m, x, y: np.array([x]) == np.array([y]),
    ):
        kinds = []
        for module in (symbolic, drake_symbolic):
            with pytest.raises(Exception) as error:
                make(module, module.Variable("x"), module.Variable("y"))
            kinds.append(error.type)
        assert kinds[0] is kinds[1]


def test_symbolic_matrices():
    values = np.random.default_rng(10).normal(size=2)

    def jacobian(m, x, y):
        return m.Evaluate(m.Jacobian([x * m.sin(y), x**2], [x, y]), dict(zip((x, y), values)))

    def affine(m, x, y):
        A, b = m.DecomposeAffineExpressions([2 * x + y, x - 3.0], [x, y])
        return np.column_stack([A, b])

    def substituted(m, x, y):
        return m.Evaluate(m.Substitute(np.array([[x, y], [x * y, x + y]]), {x: y}), {y: values[0]})

    for make in (jacobian, affine, substituted):
        (ours, *_), (theirs, *_) = in_both(make, values)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE)


def test_names_and_signatures_are_there():
    for module, theirs, ours in (
        (drake_autodiff, drake_autodiff.AutoDiffXd, autodiff.AutoDiffXd),
        (drake_symbolic, drake_symbolic.Variable, symbolic.Variable),
        (drake_symbolic, drake_symbolic.Variables, symbolic.Variables),
        (drake_symbolic, drake_symbolic.Expression, symbolic.Expression),
        (drake_symbolic, drake_symbolic.Formula, symbolic.Formula),
    ):
        public = {name for name in dir(theirs) if not name.startswith("_")}
        assert public - {"get_kind", "Unapply"} <= set(dir(ours)), module.__name__
