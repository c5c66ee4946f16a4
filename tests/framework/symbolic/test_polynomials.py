"""Monomials, polynomials and rational functions: identities, and what they refuse."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)
Expression, Monomial, Polynomial, RationalFunction = sym.Expression, sym.Monomial, sym.Polynomial, sym.RationalFunction
x, y, z, a, b = (sym.Variable(name) for name in "xyzab")


def random_polynomial(rng: np.random.Generator, degree: int = 3) -> Any:
    """In x, y, z, with coefficients of a and b."""
    basis = rng.choice(sym.MonomialBasis([x, y, z], degree), 6, replace=False)
    coefficients = rng.choice([2.0, -1.5, a, a * b, 1.0 + b**2, sym.sin(a)], 6)
    return Polynomial({monomial: Expression(c) for monomial, c in zip(basis, coefficients)})


def point(rng: np.random.Generator) -> dict[Any, float]:
    return {variable: rng.uniform(-2.0, 2.0) for variable in (x, y, z, a, b)}


@pytest.fixture(params=range(3))
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


def test_values_follow_the_operations(rng: np.random.Generator) -> None:
    p, q, env = random_polynomial(rng), random_polynomial(rng), point(rng)
    u, v = p.Evaluate(env), q.Evaluate(env)
    for made, expected in (
        (p + q, u + v), (p - q, u - v), (p * q, u * v), (-p, -u), (p**3, u**3), (p / 2.0, u / 2.0), (2.0 - p, 2.0 - u),
        (p + x, u + env[x]), (p * a, u * env[a]), (Monomial(y, 2) * p, env[y] ** 2 * u), (p.Expand(), u),
        (p.ToExpression(), u), (p + Expression(x), u + env[x]), (1.0 / p, 1.0 / u), (p - Monomial(x), u - env[x]),
    ):  # fmt: skip
        assert made.Evaluate(env) == pytest.approx(expected, rel=1e-12)
    assert Polynomial(p.ToExpression(), p.indeterminates()).EqualTo(p.Expand())


def test_derivatives_and_integrals_undo_each_other(rng: np.random.Generator) -> None:
    p, env = random_polynomial(rng), point(rng)
    for variable in (x, a):
        expected = p.ToExpression().Differentiate(variable).Evaluate(env)
        assert p.Differentiate(variable).Evaluate(env) == pytest.approx(expected)
    assert p.Integrate(x).Differentiate(x).CoefficientsAlmostEqual(p, 1e-12)
    area = p.Integrate(x, 0.0, env[x]).Evaluate(env)
    assert area == pytest.approx(p.Integrate(x).Evaluate(env)) and not p.Integrate(x, 0, 1).indeterminates().include(x)
    for row in (p.Jacobian([x, y]), sym.Jacobian([p], [x, y])[0]):
        assert [each.Evaluate(env) for each in row] == [p.Differentiate(v).Evaluate(env) for v in (x, y)]
    assert sym.Evaluate([[p]], env)[0, 0] == pytest.approx(p.Evaluate(env))
    with pytest.raises(RuntimeError, match="a is a decision variable of"):
        Polynomial(a * x, [x]).Integrate(a)


def test_a_polynomial_knows_its_variables_and_degrees() -> None:
    p = Polynomial(a * x**2 * y + b * x + 3, [x, y])
    assert p.indeterminates() == sym.Variables([x, y]) and p.decision_variables() == sym.Variables([a, b])
    assert (p.Degree(x), p.Degree(y), p.Degree(a), p.TotalDegree()) == (2, 1, 0, 3)
    assert str(p) == "3*1 + b*x + a*x^2 * y" and repr(Polynomial()) == '<Polynomial "0">'
    assert [str(m) for m in p.monomial_to_coefficient_map()] == ["1", "x", "x^2 * y"]
    p.SetIndeterminates(sym.Variables([a]))
    assert str(p) == "(3 + (x * b))*1 + (pow(x, 2) * y)*a"
    assert Polynomial(x**2 + 1).IsEven() and Polynomial(x**3 - x).IsOdd() and not Polynomial(x + 1).IsOdd()
    added = Polynomial(x).AddProduct(a, Monomial(x)).AddProduct(-1.0, Monomial())
    assert str(added) == "-1*1 + (1 + a)*x" and (Polynomial(x) + a).decision_variables().include(a)


def test_values_of_many_points_are_those_of_each(rng: np.random.Generator) -> None:
    p, points = random_polynomial(rng), rng.uniform(-1.0, 1.0, (3, 5))
    numbers = p.EvaluatePartial({a: 0.3, b: -0.7})
    each = [numbers.Evaluate(dict(zip((x, y, z), column))) for column in points.T]
    assert numbers.EvaluateIndeterminates([x, y, z], points) == pytest.approx(each)
    affine = Polynomial(a * x**2 + (2 * b - 1) * y + 4 + a, [x, y])
    A, variables, c = affine.EvaluateWithAffineCoefficients([x, y], points[:2])
    values = A @ [{a: 0.3, b: -0.7}[v] for v in variables] + c
    assert affine.EvaluatePartial({a: 0.3, b: -0.7}).EvaluateIndeterminates([x, y], points[:2]) == pytest.approx(values)
    assert affine.EvaluatePartial(x, 2.0).Evaluate({a: 1.0, b: 2.0, y: 3.0}) == 4.0 + 9.0 + 5.0
    with pytest.raises(RuntimeError, match=r"the coefficient .* is not a constant"):
        affine.EvaluateIndeterminates([x, y], points[:2])


def test_substitution_composes_polynomials(rng: np.random.Generator) -> None:
    p, env = random_polynomial(rng), point(rng)
    inner = {x: Polynomial(x + y), y: Polynomial(x * z - 1), z: Polynomial(z**2)}
    cache = sym.SubstituteAndExpandCacheData()
    composed = p.SubstituteAndExpand(inner, cache)
    moved = {**env, **{v: q.Evaluate(env) for v, q in inner.items()}}
    assert composed.Evaluate(env) == pytest.approx(p.Evaluate(moved)) and len(cache.get_data()) == 6
    assert p.SubstituteAndExpand(inner, cache).EqualTo(composed)
    with pytest.raises(RuntimeError, match="has nothing for"):
        p.SubstituteAndExpand({x: Polynomial(x)})


def test_roots_and_small_coefficients() -> None:
    p = Polynomial((x - 1) * (x - 2) * (x + 3))
    assert sorted(p.Roots().real) == pytest.approx([-3.0, 1.0, 2.0])
    assert Polynomial(x**2 + 1e-9 * x + a, [x]).RemoveTermsWithSmallCoefficients(1e-6).TotalDegree() == 2
    assert str(Polynomial(x**2 + 1e-9 * x).RemoveTermsWithSmallCoefficients(1e-6)) == "1*x^2"
    for wrong, message in ((Polynomial(x * y), "not in one variable"), (Polynomial(a * x, [x]), "is not a number")):
        with pytest.raises(RuntimeError, match=message):
            wrong.Roots()


def test_comparisons_are_formulas_of_the_coefficients() -> None:
    assert (Polynomial((x + 1) ** 2) == Polynomial(x**2 + 2 * x + 1)).EqualTo(sym.Formula.True_())
    difference = Polynomial(a * x, [x]) == Polynomial(b * x, [x])
    assert difference.Evaluate({a: 1.0, b: 1.0}) and not difference.Evaluate({a: 1.0, b: 2.0})
    assert (Polynomial(x) != Polynomial(y)).EqualTo(sym.Formula.True_())
    assert hash(Polynomial(x * 2)) == hash(Polynomial(2 * x))


NAN = float("nan")


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda env: Monomial(x).Evaluate(env),
        lambda env: Monomial(x).EvaluatePartial(env),
        lambda env: Polynomial(x * a).Evaluate(env),
        lambda env: Polynomial(x * a).EvaluatePartial(env),
        lambda env: Polynomial(x * a).EvaluatePartial(*next(iter(env.items()))),
        lambda env: RationalFunction(Polynomial(x), Polynomial(a)).Evaluate(env),
    ],
)
def test_nan_in_an_environment_is_refused_even_if_it_is_of_another_variable(evaluate: Any) -> None:
    for env in ({x: NAN, a: 1.0}, {y: NAN, x: 1.0, a: 1.0}):
        with pytest.raises(RuntimeError, match=r"value of variable (x|y) is NaN"):
            evaluate(env)


def test_monomials_join_expressions_and_numbers() -> None:
    m, e = Monomial(x, 2), Expression(a)
    for result, expected in (
        (m + e, x**2 + a), (e + m, x**2 + a), (m - e, x**2 - a), (e - m, a - x**2), (m / e, x**2 / a),
        (e / m, a / x**2), (m * e, a * x**2),
        (a - m, a - x**2), (a / m, a / x**2), (m - 1.0, x**2 - 1.0), (1.0 - m, 1.0 - x**2),
        (1.0 / m, 1.0 / x**2), (m / 2, x**2 / 2),
    ):  # fmt: skip
        assert isinstance(result, Expression) and result.EqualTo(expected)


def test_copies_are_independent_and_pickles_the_same() -> None:
    p = Polynomial(a * x**2 + b, [x])
    for other in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert other.EqualTo(p)
        other.AddProduct(1.0, Monomial(y))
    assert str(p) == "b*1 + a*x^2"
    m = Monomial({x: 2, y: 1})
    assert pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m) and len({m, Monomial(y) * Monomial(x, 2)}) == 1
    m.pow_in_place(2)
    assert m.get_powers() == {x: 4, y: 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / x", "is not a polynomial in {x}"),
        ("sym.sin(x) * a", r"The term sin\(x\) is not a polynomial in {x}"),
        ("x ** y", "must be a positive integer"),
        (r"sym.sqrt(x)", r"The term sqrt\(x\) is not a polynomial in {x}"),
        ("sym.if_then_else(x > 0, x, a)", "is not a polynomial in {x}"),
    ],
)
def test_what_is_no_polynomial_is_refused(text: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        Polynomial(eval(text), [x])


def test_exponents_and_degrees_are_checked() -> None:
    for function, arguments in ((Monomial, (x, -1)), (Monomial, (x, 0.5)), (sym.MonomialBasis, ([x], -1))):
        with pytest.raises(ValueError, match=r"exponent of x|degree of at least 0"):
            function(*arguments)
    with pytest.raises(ValueError, match="at least one variable"):
        sym.MonomialBasis([], 1)


def test_coefficients_may_be_any_expressions_of_other_variables() -> None:
    p = Polynomial(sym.sin(a) * x / b + sym.if_then_else(a > 0, 1.0, a) * x**2, [x])
    assert p.Evaluate({a: -0.5, b: 2.0, x: 3.0}) == pytest.approx(np.sin(-0.5) * 1.5 - 4.5)


def test_large_powers_take_a_blink() -> None:
    p = Polynomial((x + y + z + 1) ** 12)
    assert len(p.monomial_to_coefficient_map()) == 455 and p.Evaluate(dict.fromkeys((x, y, z), 1.0)) == 4.0**12


# -- bases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(4))
def test_a_basis_has_every_monomial_once_highest_first(degree: int) -> None:
    basis = sym.MonomialBasis([x, y, z], degree).tolist()
    powers = {tuple(m.degree(v) for v in (x, y, z)) for m in basis}
    assert powers == {p for p in itertools.product(range(degree + 1), repeat=3) if sum(p) <= degree}
    assert len(basis) == len(powers)
    degrees = [m.total_degree() for m in basis]
    assert degrees == sorted(degrees, reverse=True)
    both = [*sym.EvenDegreeMonomialBasis([x, y, z], degree), *sym.OddDegreeMonomialBasis([x, y, z], degree)]
    assert set(both) == set(basis)
    assert len(sym.CalcMonomialBasisOrderUpToOne(sym.Variables([x, y, z]))) == 8


def test_a_gram_matrix_gives_a_polynomial(rng: np.random.Generator) -> None:
    basis, Q = sym.MonomialBasis([x, y], 1), rng.uniform(-1.0, 1.0, (3, 3))
    Q = Q + Q.T
    p = sym.CalcPolynomialWLowerTriangularPart(basis, [Q[i, j] for j in range(3) for i in range(j, 3)])
    m = np.array([each.Evaluate({x: 0.4, y: -0.8}) for each in basis])
    assert p.Evaluate({x: 0.4, y: -0.8}) == pytest.approx(m @ Q @ m)
    with pytest.raises(ValueError, match="has 6 entries, given 2"):
        sym.CalcPolynomialWLowerTriangularPart(basis, [1.0, 2.0])


# -- rational functions ---------------------------------------------------------------------------------------


def test_rational_functions_follow_the_operations(rng: np.random.Generator) -> None:
    p, q, env = random_polynomial(rng, 2), random_polynomial(rng, 2), point(rng)
    f, g = RationalFunction(p, q), RationalFunction(q, Polynomial(x**2 + 1))
    u, v = f.Evaluate(env), g.Evaluate(env)
    for made, expected in (
        (f + g, u + v), (f - g, u - v), (f * g, u * v), (f / g, u / v), (2.0 / f, 2.0 / u), (f + 1.0, u + 1.0),
        (Monomial(x) * f, env[x] * u), (f - p, u - p.Evaluate(env)), (-f, -u), (f.ToExpression(), u), (f + f, 2 * u),
    ):  # fmt: skip
        assert made.Evaluate(env) == pytest.approx(expected, rel=1e-9)
    assert (f + f).denominator().EqualTo(q) and (f == f * 1.0).EqualTo(sym.Formula.True_())
    assert str(RationalFunction(Polynomial(x), Polynomial(y + 1))) == "(1*x) / (1*1 + 1*y)"
    assert RationalFunction(Polynomial(x), Polynomial(y)).Evaluate({x: 1.0, y: 0.0}) == np.inf
    with pytest.raises(RuntimeError, match="the denominator is 0"):
        RationalFunction(Polynomial(x), Polynomial())
    with pytest.raises(RuntimeError, match="a are indeterminates of"):
        RationalFunction(Polynomial(a), Polynomial(a * x, [x]))


def test_a_rational_function_shares_no_polynomial_with_others() -> None:
    p = Polynomial(x * y + 2, [x, y])
    f = RationalFunction(p)
    g = -f
    f.SetIndeterminates(sym.Variables([x]))
    f.numerator().AddProduct(3.0, Monomial(x))
    assert p.indeterminates() == g.numerator().indeterminates() == sym.Variables([x, y])
    assert f.numerator().EqualTo(Polynomial(x * y + 2, [x]))


def test_sines_and_cosines_become_rational_functions() -> None:
    s, c, t = (sym.Variable(name) for name in ("s", "c", "t"))
    f = sym.SubstituteStereographicProjection(Polynomial(2 * s * c**2 * x + s - y), [sym.SinCos(s, c)], [t])
    angle = 0.7
    env = {t: np.tan(angle / 2), x: 0.3, y: -1.1}
    expected = 2 * np.sin(angle) * np.cos(angle) ** 2 * 0.3 + np.sin(angle) + 1.1
    assert f.Evaluate(env) == pytest.approx(expected) and f.denominator().TotalDegree() == 6


def test_a_polynomial_that_has_grown_has_the_value_of_all_its_terms() -> None:
    p = Polynomial(a * x + 2.0 * x * y + 1.0, [x, y])
    env = {a: 3.0, x: 0.5, y: -1.0}
    assert p.Evaluate(env) == p.ToExpression().Evaluate(env) == 1.5
    p.AddProduct(4.0, Monomial(y, 3))
    assert p.Evaluate(env) == -2.5
    p.SetIndeterminates(sym.Variables([x, y, a]))
    assert p.Evaluate(env) == -2.5
    for missing in env:
        with pytest.raises(RuntimeError, match=f"no value for (variable )?{missing}"):
            p.Evaluate({v: value for v, value in env.items() if v is not missing})
