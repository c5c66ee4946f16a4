"""Kinds of expressions, what they are put together from, decompositions, and the way to sympy and back."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import ExpressionCost, LinearCost, MathematicalProgram

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)
Expression, Formula, SinCos, Type = sym.Expression, sym.Formula, sym.SinCos, sym.SinCosSubstitutionType
x, y, z, a, b, c = (sym.Variable(name) for name in "xyzabc")
WITHOUT_SYMPY = ("Forall", "Isnan", "PositiveSemidefinite", "Var")
ENV = {x: 0.4, y: -0.8, z: 1.7, a: 0.6, b: 2.1, c: -0.3}
EXPRESSIONS = {
    "Constant": Expression(2.5), "Var": Expression(x), "Add": 2 * x + 3 * y - 4, "Mul": -2 * x * y**2,
    "Div": x / (y + 1), "Log": sym.log(z), "Abs": sym.abs(y), "Exp": sym.exp(x), "Sqrt": sym.sqrt(x), "Pow": z**x,
    "Sin": sym.sin(x), "Cos": sym.cos(x), "Tan": sym.tan(x), "Asin": sym.asin(x), "Acos": sym.acos(x),
    "Atan": sym.atan(x), "Atan2": sym.atan2(x, y), "Sinh": sym.sinh(x), "Cosh": sym.cosh(x), "Tanh": sym.tanh(x),
    "Min": sym.min(x, y), "Max": sym.max(x, y), "Ceil": sym.ceil(z), "Floor": sym.floor(z),
    "IfThenElse": sym.if_then_else(x > y, x, y), "UninterpretedFunction": sym.uninterpreted_function("f", [x, y + 1]),
}  # fmt: skip
FORMULAS = {
    "True_": Formula.True_(), "False_": Formula.False_(), "Var": Formula(sym.Variable("p", sym.Variable.Type.BOOLEAN)),
    "Eq": x == y, "Neq": x != y, "Gt": x > y, "Geq": x >= y, "Lt": x < y, "Leq": x <= y,
    "And": sym.logical_and(x > 0, y > 0), "Or": sym.logical_or(x > 0, y > 0),
    "Not": sym.logical_not(sym.logical_and(x > 0, y > 0)), "Forall": sym.forall(sym.Variables([x]), x > y),
    "Isnan": sym.isnan(x), "PositiveSemidefinite": sym.positive_semidefinite([[x, y], [y, z]]),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "whole"), [*EXPRESSIONS.items(), *FORMULAS.items()])
def test_what_is_taken_apart_can_be_put_together(kind: str, whole: Any) -> None:
    assert whole.get_kind().name == kind
    function, arguments = whole.Unapply()
    again = function(*arguments)
    assert pickle.loads(pickle.dumps(whole)).EqualTo(whole)
    if kind == "Forall":
        assert str(again) == str(whole)
    else:
        assert again.EqualTo(whole), (function, arguments)


def test_every_kind_is_tried() -> None:
    assert set(EXPRESSIONS) == set(sym.ExpressionKind.__members__) - {"NaN"}
    assert set(FORMULAS) == set(sym.FormulaKind.__members__)
    nan = (x * 2.0).Substitute(x, Expression(float("nan")))
    assert nan.get_kind() is sym.ExpressionKind.NaN and nan.EqualTo(Expression(float("nan")) + x)


def test_sums_and_products_begin_with_their_numbers() -> None:
    assert [str(part) for part in (x + 2 * y + 3).Unapply()[1]] == ["3.0", "x", "(2 * y)"]
    assert [str(part) for part in (x * y).Unapply()[1]] == ["1.0", "x", "y"]
    assert [str(part) for part in (x / 2).Unapply()[1]] in (["0.5", "x"], ["x", "2"])


def test_bound_variables_are_not_free() -> None:
    formula = sym.forall(sym.Variables([x]), x > y)
    assert formula.GetFreeVariables() == sym.Variables([y]) and str(formula) == "forall({x}. (x > y))"
    assert formula.Substitute(x, Expression(1.0)).EqualTo(formula)
    assert str(formula.Substitute(y, Expression(z))) == "forall({x}. (x > z))"
    assert formula.EqualTo(sym.forall(sym.Variables([x]), x > y))
    with pytest.raises(RuntimeError, match="has no value that could be computed"):
        formula.Evaluate({y: 1.0})


def test_of_what_is_taken_apart_bound_variables_are_variables_again() -> None:
    _, (variables, inside) = sym.forall(sym.Variables([x]), x > y).Unapply()
    assert variables == sym.Variables([x]) and inside.EqualTo(x > y)
    _, (left, _) = inside.Unapply()
    assert left.get_kind() == sym.ExpressionKind.Var


def test_functions_of_which_only_the_name_is_known() -> None:
    f = sym.uninterpreted_function("f", [x, y + 1])
    assert str(f.Substitute(y, Expression(z))) == "f(x, (1 + z))" and f.Differentiate(z).EqualTo(0.0)
    with pytest.raises(RuntimeError, match="has no value that could be computed"):
        f.Evaluate(ENV)
    with pytest.raises(RuntimeError, match="nothing is known of the function f"):
        f.Differentiate(x)


def test_definite_matrices() -> None:
    formula = sym.positive_semidefinite([[x, 0.5], [0.5, y]])
    assert formula.Evaluate({x: 1.0, y: 0.25}) and not formula.Evaluate({x: 1.0, y: 0.2})
    with pytest.raises(RuntimeError, match="not symmetric"):
        sym.positive_semidefinite([[x, 1.0], [0.0, y]])


# -- sines and cosines ----------------------------------------------------------------------------------------

S, C, S2, C2 = (sym.Variable(name) for name in ("s", "c", "s2", "c2"))
HALVES = (Type.kHalfAnglePreferSin, Type.kHalfAnglePreferCos)


@pytest.mark.parametrize(
    "e",
    [
        sym.sin(x), sym.cos(-x), sym.tan(x), sym.sin(x + y), sym.cos(2 * x - 3 * y + z), x * sym.sin(x + 1) ** 2,
        sym.if_then_else(sym.sin(x) > 0, sym.cos(x), 1.0), sym.sin(5 * x) / sym.cos(y),
    ],
    ids=str,
)  # fmt: skip
def test_sines_and_cosines_are_replaced(e: Any) -> None:
    replaced = sym.Substitute(e, {x: SinCos(S, C), y: SinCos(S2, C2)})
    values = {S: np.sin(ENV[x]), C: np.cos(ENV[x]), S2: np.sin(ENV[y]), C2: np.cos(ENV[y])}
    assert replaced.Evaluate({**ENV, **values}) == pytest.approx(e.Evaluate(ENV))
    assert not any(name in str(replaced) for name in ("sin(x", "cos(x", "sin(y", "cos(y"))
    for type in HALVES:
        halved = sym.Substitute(e, {x: SinCos(S, C, type), y: SinCos(S2, C2)})
        values |= {S: np.sin(ENV[x] / 2), C: np.cos(ENV[x] / 2)}
        assert halved.Evaluate({**ENV, **values}) == pytest.approx(e.Evaluate(ENV))


def test_half_angles_prefer_one_of_the_two() -> None:
    texts = [str(sym.Substitute(sym.cos(x), {x: SinCos(S, C, type)})) for type in HALVES]
    assert texts == ["(1 - 2 * pow(s, 2))", "(-1 + 2 * pow(c, 2))"]
    assert str(sym.Substitute([[sym.sin(x / 2)]], {x: SinCos(S, C, HALVES[0])})[0, 0]) == "s"


@pytest.mark.parametrize("angle", [x / 2, x * y, x**2, sym.sqrt(x), 1.5 * x])
def test_angles_that_are_no_multiples_are_refused(angle: Any) -> None:
    with pytest.raises(RuntimeError, match="not an integer multiple of a variable"):
        sym.Substitute(sym.sin(angle), {x: SinCos(S, C)})


# -- decompositions -------------------------------------------------------------------------------------------


def test_affine_and_quadratic_forms() -> None:
    places = {x.get_id(): 0, y.get_id(): 1}
    slopes, constant = sym.DecomposeAffineExpression(2 * x + 4, places)
    assert (slopes.tolist(), constant) == ([2.0, 0.0], 4.0)
    slopes, constant = sym.DecomposeAffineExpression((z + 1) * (z + 1) - z * z - 2 * z, {})
    assert (slopes.tolist(), constant) == ([], 1.0)
    Q, slope, constant = sym.DecomposeQuadraticPolynomial(sym.Polynomial(x**2 + 3 * x * y + 5 * y + 6), places)
    v = np.array([ENV[x], ENV[y]])
    assert 0.5 * v @ Q @ v + slope @ v + constant == pytest.approx((x**2 + 3 * x * y + 5 * y + 6).Evaluate(ENV))
    variables, indices = sym.ExtractVariablesFromExpression([x + 1, y * x])
    assert variables.tolist() == [x, y] and indices == places
    with pytest.raises(KeyError, match="no place for z"):
        sym.DecomposeAffineExpression(2 * x + z, places)
    with pytest.raises(RuntimeError, match="product of at most two variables"):
        sym.DecomposeQuadraticPolynomial(sym.Polynomial(x**3), places)


@pytest.mark.parametrize("seed", range(3))
def test_products_of_affine_expressions_are_quadratic_as_they_are_written(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = np.array([x, y, z])

    def form() -> Any:
        return rng.normal(size=3) @ v + rng.normal()

    e = 2.0 * form() * form() + form() ** 2 / 3 - x * form() + y * z + x**2 - 3.0
    costs = []
    for each in (e, e.Expand(), e + (x**2 - y) * 1.0 + y - x**2, (x + y) * e - (x + y) * e + e):
        cost = MathematicalProgram.AddCost(program_of(v), each).evaluator()
        costs.append((cost.Q(), cost.b(), cost.c()))
    for other in costs[1:]:
        for ours, theirs in zip(costs[0], other):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13)
    linear = (x + y) ** 2 - x**2 - 2 * x * y - y**2 + z
    assert isinstance(MathematicalProgram.AddCost(program_of(v), linear).evaluator(), LinearCost)
    cubic = (x + y) * form() * z
    assert isinstance(MathematicalProgram.AddCost(program_of(v), cubic).evaluator(), ExpressionCost)


def program_of(variables: Any) -> Any:
    program = MathematicalProgram()
    program.AddDecisionVariables(variables)
    return program


@pytest.mark.parametrize(
    "squares", [[x + 1, y - 2], [x - y], [2 * x + y, y - z + 1, 3 * z - 4], [x + y, x - y, 2 * x + 1 - 1]], ids=str
)
def test_norms_are_recognized(squares: list[Any]) -> None:
    e = sym.sqrt(sum(each**2 for each in squares).Expand())
    found, A, b, variables = sym.DecomposeL2NormExpression(e)
    value = np.linalg.norm(A @ [ENV[v] for v in variables] + b)
    assert found and value == pytest.approx(e.Evaluate(ENV))


@pytest.mark.parametrize("radicand", [x + 0.0, x**2 - y**2, x**4 + 1, x**2 + 1, sym.sin(x) ** 2], ids=str)
def test_a_wrong_norm_is_an_error(radicand: Any) -> None:
    for e in (sym.sqrt(radicand), radicand):
        found, A, _, _ = sym.DecomposeL2NormExpression(e)
        assert not found and A.size == 0


@pytest.mark.parametrize(
    ("f", "count"),
    [([a * x + b * y + z], 2), ([a * b * x + a * b * sym.sin(y), a * x + 3], 2), ([(a + x) * y], 1), ([x + y], 0),
     ([(a + b) * x], 1), ([a**2 * x + sym.sin(b) * y, 2 * a * x], 3), ([(a + x) ** 2], 2)],
    ids=str,
)  # fmt: skip
def test_lumped_parameters(f: list[Any], count: int) -> None:
    W, alpha, w0 = sym.DecomposeLumpedParameters(f, [a, b])
    assert W.shape == (len(f), count) and alpha.shape == (count,)
    for row, rest, whole in zip(W, w0, f):
        assert (row @ alpha + rest).Evaluate(ENV) == pytest.approx(Expression(whole).Evaluate(ENV))
    parameters = sym.Variables([a, b])
    assert all(e.GetVariables().IsSubsetOf(parameters) for e in alpha)
    assert not any(parameters.include(v) for e in [*W.ravel(), *w0] for v in e.GetVariables())
    with pytest.raises(RuntimeError, match="neither a sum nor a product"):
        sym.DecomposeLumpedParameters([sym.sin(a * x)], [a])


@pytest.mark.parametrize(
    ("f", "alpha"),
    [
        ([(a + b) * x], ["(a + b)"]),
        ([a * x + b * x + b * c * y], ["(a + b)", "(b * c)"]),
        ([a * x + 2.0 * b * x, 3.0 * a * y + 6.0 * b * y], ["(a + 2 * b)"]),
        ([a * x + b * y + c * (x + y)], ["(a + c)", "(b + c)"]),
        ([a * x + (a + b) * y, b * y], ["a", "b"]),
        ([(a + b) * (a - b) * x + a**2 * y, b**2 * x + y], ["pow(a, 2)", "pow(b, 2)"]),
        ([a + 1.0, sym.sin(b) * x + x], ["a", "sin(b)"]),
    ],
)
def test_parameters_that_act_only_together_are_one_lump(f: Any, alpha: list[str]) -> None:
    W, lumps, w0 = sym.DecomposeLumpedParameters(f, [a, b, c])
    assert list(map(str, lumps)) == alpha
    for row, rest, whole in zip(W, w0, f):
        assert (row @ lumps + rest).Evaluate(ENV) == pytest.approx(whole.Evaluate(ENV))


def test_products_of_two_variables_are_replaced() -> None:
    W = np.array([[z, c], [Expression(z + 1), 2.0 * c]])
    e = sym.ReplaceBilinearTerms(x * a + 2 * x * b - y * a + 3 * y * z + 4, [x, y], [a, b], W)
    assert e.EqualTo(z + 2 * c - (z + 1) + 3 * y * z + 4)
    for wrong, message in ((x**2, "not a product of a variable of x and one of y"), (x * y * a, "not a product")):
        with pytest.raises(RuntimeError, match=message):
            sym.ReplaceBilinearTerms(wrong, [x, y], [a, b], W)
    with pytest.raises(RuntimeError, match=r"W\[0, 0\] = .* has variables of x or y"):
        sym.ReplaceBilinearTerms(x * a, [x], [a], [[x]])
    with pytest.raises(RuntimeError, match="twice"):
        sym.ReplaceBilinearTerms(x * a, [x, x], [a], [[z], [z]])


# -- sympy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [e for kind, e in (EXPRESSIONS | FORMULAS).items() if kind not in WITHOUT_SYMPY])
def test_there_is_a_way_to_sympy_and_back(whole: Any) -> None:
    memo: dict[Any, Any] = {}
    other = sym.to_sympy(whole, memo=memo)
    assert not isinstance(other, (Expression, Formula))
    if whole.get_kind().name == "UninterpretedFunction":
        with pytest.raises(NotImplementedError, match="f has no counterpart here"):
            sym.from_sympy(other, memo=memo)
        return
    again = sym.from_sympy(other, memo=memo)
    if isinstance(whole, Formula):
        env = {**ENV, **{v: 1.0 for v in whole.GetFreeVariables() if v not in ENV}}
        assert (again if isinstance(again, bool) else again.Evaluate(env)) == whole.Evaluate(env)
    else:
        assert Expression(again).Evaluate(ENV) == pytest.approx(whole.Evaluate(ENV))


def test_what_has_no_counterpart_is_named() -> None:
    import sympy

    assert sym.to_sympy(2.5) == 2.5 and sym.to_sympy(True) is True and sym.from_sympy(sympy.pi, memo={}) == np.pi
    with pytest.raises(NotImplementedError, match="ForAll has no counterpart"):
        sym.to_sympy(FORMULAS["Forall"])
    with pytest.raises(NotImplementedError, match="no variable for the symbol q"):
        sym.from_sympy(sympy.Symbol("q") + 1)
    with pytest.raises(NotImplementedError, match="str has no counterpart"):
        sym.to_sympy("x")
