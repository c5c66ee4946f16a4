"""Formulas, sets of variables, and functions of arrays of expressions."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from merganser.framework import RandomGenerator
from merganser.framework.math import Quaternion_, RigidTransform_, RotationMatrix_
from merganser.framework.trajectories import PiecewisePose_, PiecewiseQuaternionSlerp_

sym = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra `symbolic`", exc_type=ImportError)


@pytest.fixture
def xy():
    return sym.Variable("x"), sym.Variable("y")


def test_comparisons_make_formulas(xy):
    x, y = xy
    for a, b in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        env = {x: a, y: b}
        assert (x < y).Evaluate(env) == (a < b) and (x <= y + 0).Evaluate(env) == (a <= b)
        assert (x > y).Evaluate(env) == (a > b) and (x + 0 >= y).Evaluate(env) == (a >= b)
        assert (x == y).Evaluate(env) == (a == b) and (x != y).Evaluate(env) == (a != b)
        assert (x < 1.5).Evaluate(env) == (a < 1.5) and (x > 1.5).Evaluate(env) == (a > 1.5)


def test_what_is_decided_is_a_constant_formula(xy):
    x, y = xy
    for formula in (x == x, x + 1.0 > x, x <= x, sym.Expression(1.0) < 2.0, (x - x) == 0.0):
        assert formula == sym.Formula.True_()
    for formula in (x != x, x < x, x > x + y - y + 1):
        assert formula == sym.Formula.False_()
    assert (x is not None) and (x == None) is False  # noqa: E711


def test_only_formulas_that_are_decided_have_a_truth_value(xy):
    x, y = xy
    for formula in (x < y, sym.logical_or(x < y, x == 1.0), sym.forall(sym.Variables([x]), x < y)):
        with pytest.raises(RuntimeError, match=r"Use Formula\.Evaluate"):
            bool(formula)
    assert sym.Formula.True_() and (x == x) and not sym.Formula.False_() and not (x < x)
    with pytest.raises(RuntimeError, match="dtype=object"):
        np.array([x]) == np.array([y])  # noqa: B015


def test_arrays_compare_to_arrays_of_formulas(xy):
    x, y = xy
    formulas = np.less(np.array([x, y]), np.array([y, x]), dtype=object)
    assert [f.Evaluate({x: 1.0, y: 2.0}) for f in formulas] == [True, False]


def test_logic(xy):
    x, y = xy
    both, either = sym.logical_and(x > 0, y > 0, x < 9), sym.logical_or(x > 0, y > 0)
    for a, b in ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0), (10.0, 1.0)):
        env = {x: a, y: b}
        assert both.Evaluate(env) == (0 < a < 9 and b > 0)
        assert either.Evaluate(env) == (a > 0 or b > 0)
        assert sym.logical_not(both).Evaluate(env) == (not both.Evaluate(env))
        assert sym.logical_not(x > y).Evaluate(env) == (a <= b)
        assert sym.logical_not(x > y).Substitute(env) == sym.Formula(a <= b)
    assert str(sym.logical_not(x == y)) == "!((x == y))" and str(x != y) == "(x != y)"
    assert sym.logical_not(sym.logical_not(x > y)) == (x > y)
    assert both.GetFreeVariables() == sym.Variables([x, y])
    with pytest.raises(TypeError, match="expected formulas, got int"):
        sym.logical_and(1, x > 0)


def test_formula_substitution_and_equality(xy):
    x, y = xy
    assert (x > y).Substitute(x, 1.0).EqualTo(sym.Expression(1.0) > y)
    assert (x > y).Substitute({x: 2.0, y: 1.0}) == sym.Formula.True_()
    assert (x > y) == (x > y) and (x > y) != (y > x) and hash(x > y) == hash(x > y)
    assert "x" in (x > y).to_string() and repr(x < x) == '<Formula "False">'


def test_choice_evaluates_only_the_arm_that_counts(xy):
    x, y = xy
    safe_log = sym.if_then_else(x > 0, sym.log(x), y)
    assert safe_log.Evaluate({x: -1.0, y: 7.0}) == 7.0
    assert safe_log.Evaluate({x: math.e, y: 7.0}) == 1.0
    assert safe_log.Differentiate(x).Evaluate({x: 2.0, y: 0.0}) == 0.5
    assert sym.if_then_else(x == x, x, y).EqualTo(x)
    assert safe_log.Substitute(x, -2.0).EqualTo(y)
    with pytest.raises(TypeError, match="expected formulas, got str"):
        sym.if_then_else("x > 0", x, y)


def test_variables_of_type_boolean_are_formulas(xy):
    x, y = xy
    b = sym.Variable("b", sym.Variable.Type.BOOLEAN)
    either = sym.if_then_else(b, x, y)
    assert [either.Evaluate({x: 1.0, y: 2.0, b: value}) for value in (1.0, 0.0)] == [1.0, 2.0]
    assert sym.logical_not(b).Evaluate({b: 0.0})
    assert sym.logical_and(b, x > y).EqualTo(sym.Formula(b).logical_and(x > y))
    assert sym.Formula(b).EqualTo(b) and sym.Formula(True).EqualTo(True) and not sym.Formula(True).EqualTo(False)
    with pytest.raises(TypeError, match="expected formulas, got Variable"):
        sym.logical_not(x)


def test_a_generator_alone_draws_random_variables():
    uniform = sym.Variable("u", sym.Variable.Type.RANDOM_UNIFORM)
    drawn = [(uniform + 1.0).Evaluate(RandomGenerator(3)), (uniform + 1.0).Evaluate(generator=RandomGenerator(3))]
    assert drawn[0] == drawn[1] and 1.0 <= drawn[0] < 2.0


def test_sets_of_variables(xy):
    x, y = xy
    both = sym.Variables([y, x])
    assert next(iter(both)) is x and both.size() == 2 and both.to_string() == "{x, y}"
    assert (both - x) == sym.Variables([y]) and (sym.Variables([x]) + y) == both and x in both
    assert sym.Variables([x]).IsStrictSubsetOf(both) and both.IsSupersetOf(both) and not both.empty()
    assert sym.intersect(both, sym.Variables([y])) == sym.Variables([y])
    assert both.erase(x) == 1 and both.erase(x) == 0 and not both.include(x)
    both.insert(x)
    assert len(both) == 2
    with pytest.raises(TypeError, match="expected a Variable"):
        sym.Variables([x + 1])


def test_made_variables_are_named_by_index():
    vector, matrix = sym.MakeVectorVariable(2, "q"), sym.MakeMatrixBooleanVariable(2, 3, "B")
    assert [v.get_name() for v in vector] == ["q(0)", "q(1)"]
    assert matrix.shape == (2, 3) and matrix[1, 2].get_name() == "B(1, 2)"
    assert matrix[0, 0].get_type() is sym.Variable.Type.BOOLEAN


def test_jacobian_of_affine_map_is_its_matrix():
    A, b = np.random.default_rng(1).normal(size=(3, 2)), np.array([1.0, 2.0, 3.0])
    variables = sym.MakeVectorVariable(2, "x")
    f = A @ variables + b
    np.testing.assert_array_equal(sym.Evaluate(sym.Jacobian(f, variables)), A)
    np.testing.assert_array_equal(sym.Evaluate(f[:1][0].Jacobian(variables)).ravel(), A[0])
    decomposed = sym.DecomposeAffineExpressions(f, variables)
    np.testing.assert_array_equal(decomposed[0], A)
    np.testing.assert_array_equal(decomposed[1], b)
    np.testing.assert_array_equal(sym.DecomposeLinearExpressions(A @ variables, variables), A)
    assert sym.IsAffine(f) and not sym.IsAffine([variables[0] * variables[1]])
    assert sym.IsAffine([variables[0] * variables[1]], sym.Variables(variables[:1]))
    with pytest.raises(RuntimeError, match="constant terms"):
        sym.DecomposeLinearExpressions(f, variables)
    with pytest.raises(RuntimeError, match=r"Other variables: \['x\(1\)'\]"):
        sym.DecomposeAffineExpressions(f, variables[:1])


def test_matrices_evaluate_and_substitute(xy):
    x, y = xy
    M = np.array([[x + y, x * y], [1.0, x]])
    np.testing.assert_array_equal(sym.Evaluate(M, {x: 2.0, y: 3.0}), [[5.0, 6.0], [1.0, 2.0]])
    np.testing.assert_array_equal(
        sym.Evaluate(sym.Substitute(M, {x: 2.0 * y, y: x}), {x: 3.0, y: 1.0}), [[5.0, 6.0], [1.0, 2.0]]
    )
    assert sym.Substitute(x + y, x, y).EqualTo(2.0 * y)
    with pytest.raises(TypeError, match=r"entry \(1,\) is not an expression but str"):
        sym.Evaluate([x, "y"], {x: 1.0})


def test_taylor_polynomial_agrees_to_its_order(xy):
    x, y = xy
    f, center = sym.exp(x) * sym.sin(y), {x: 0.2, y: -0.1}
    polynomial = sym.TaylorExpand(f, center, 3)
    assert polynomial.is_polynomial()
    errors = []
    for h in (0.1, 0.05):
        env = {x: 0.2 + h, y: -0.1 + h}
        errors.append(abs(polynomial.Evaluate(env) - f.Evaluate(env)))
    assert 3.8 < math.log2(errors[0] / errors[1]) < 4.2  # the error is of fourth order


def test_texts(xy):
    x, y = xy
    assert str(x * y + 0.1) == "(0.1 + (x * y))" and repr(sym.sin(x)) == '<Expression "sin(x)">'
    assert str(-2 * x + 3 * x**2 * y - 1) == "(-1 - 2 * x + 3 * (pow(x, 2) * y))" and str(-x - y) == "( - x - y)"
    assert str(x / (y + 1)) == "(x / (1 + y))" and str(x**1.5 * y / 3) == "((pow(x, 1.5) * y) / 3)"
    assert str(sym.if_then_else(x > y, sym.max(x, y), abs(x))) == "(if (x > y) then max(x, y) else abs(x))"
    assert str(sym.logical_and(x > 0, y > 0)) == "((x > 0) and (y > 0))"
    assert sym.ToLatex(x**2 + y / 2) == "(0.500y + x^{2})"
    assert sym.ToLatex(sym.logical_or(sym.logical_and(x > y, True), x <= 1)) == r"x > y \lor x \le 1"
    assert sym.ToLatex(sym.if_then_else(x > y, -x, sym.sqrt(y))) == (
        r"\begin{cases} -x & \text{if } x > y, \\ \sqrt{y} & \text{otherwise}.\end{cases}"
    )
    assert sym.ToLatex(sym.Variable("x(0,1)")) == "x_{0,1}" and sym.ToLatex(2.0 * np.pi) == r"2\pi"
    assert sym.ToLatex((x + y) ** 2) == "(x + y)^{2}" and sym.ToLatex(x ** (2 * y)) == "x^{2 y}"
    assert sym.ToLatex(x > y) == "x > y"
    assert sym.ToLatex(0.123456 * x, 2) == "0.12 x"
    assert sym.ToLatex(np.array([[x, y]])) == r"\begin{bmatrix} x & y \end{bmatrix}"


def test_missing_sympy_is_explained():
    code = (
        "import sys; sys.modules['sympy'] = None; from merganser.framework.symbolic import Variable, to_sympy; "
        "x = Variable('x'); print((x * x + 1).Expand(), x > 0); to_sympy(x)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.stdout.strip() == "(1 + pow(x, 2)) (x > 0)"
    assert "pip install 'merganser[symbolic]'" in process.stderr


def test_framework_does_not_import_sympy():
    code = (
        "import sys, merganser.framework.math, merganser.framework.autodiff, merganser.framework.symbolic; "
        "import merganser.framework.optimization as mo; prog = mo.MathematicalProgram(); "
        "x = prog.NewContinuousVariables(2); prog.AddCost(x @ x); prog.AddConstraint(x[0] * x[1] >= 1.0); "
        "mo.Solve(prog); assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_boolean_variable_is_a_formula_that_joins_others_and_chooses() -> None:
    b, y = sym.Variable("b", sym.Variable.Type.BOOLEAN), sym.Variable("y")
    formula = sym.Formula(var=b)
    assert formula == sym.Formula(b) and str(formula) == "b" and formula.GetFreeVariables() == sym.Variables([b])
    assert [formula.Evaluate({b: value}) for value in (0.0, 1.0, 0.5)] == [False, True, True]
    both = sym.logical_and(formula, y > 0.0)
    assert str(sym.logical_not(formula)) == "!(b)"
    assert both.Substitute(y, sym.Expression(1.0)) == formula == formula.Substitute(b, sym.Expression(1.0))
    chosen = sym.if_then_else(both, y, 2.0 * y)
    assert [chosen.Evaluate({b: value, y: 3.0}) for value in (0.0, 1.0)] == [6.0, 3.0]
    for wrong in (y, 1, "b"):
        with pytest.raises(TypeError, match="a bool or a variable of type BOOLEAN"):
            sym.Formula(wrong)


def test_a_formula_of_nothing_never_holds() -> None:
    assert sym.Formula() == sym.Formula.False_()


def test_one_expression_is_a_matrix_that_may_be_positive_semidefinite() -> None:
    x = sym.Variable("x")
    formula = sym.positive_semidefinite([x - 1.0])
    assert formula == sym.positive_semidefinite([[x - 1.0]]) and str(formula) == "positive_semidefinite((-1 + x))"
    assert formula.Evaluate({x: 2.0}) and not formula.Evaluate({x: 0.5})


def test_sines_are_substituted_in_an_expression_named_e_by_one_dictionary() -> None:
    x, y, s, c = (sym.Variable(name) for name in "xysc")
    pair = {x: sym.SinCos(s=s, c=c)}
    assert sym.Substitute(e=sym.sin(x) * y, subs=pair).EqualTo(s * y)
    assert sym.Substitute(m=np.array([[sym.cos(x)]]), subs=pair)[0, 0].EqualTo(c)
    assert sym.Substitute(m=np.array([[sym.cos(x)]]), var=x, e=y)[0, 0].EqualTo(sym.cos(y))


@pytest.mark.parametrize(
    ("formula", "text", "latex"),
    [
        (lambda x, y: x == y, "!((x == y))", r"x \neq y"),
        (lambda x, y: x <= y, "!((x <= y))", "x > y"),
        (lambda x, y: sym.logical_and(x < 1, y < x), "!(((x < 1) and (y < x)))", r"x \ge 1 \lor y \ge x"),
        (lambda x, y: sym.isnan(x + 1), "!(isnan((1 + x)))", r"\neg (\text{isnan}((1 + x)))"),
    ],
)
def test_negations_are_as_they_were_written_and_carried_out_in_latex(formula, text, latex, xy) -> None:
    negation = sym.logical_not(formula(*xy))
    assert str(negation) == text and sym.ToLatex(negation) == latex
    assert sym.logical_not(negation) == formula(*xy)


def test_inverse_functions_have_their_names_in_latex(xy) -> None:
    shown = [sym.ToLatex(f(xy[0])) for f in (sym.asin, sym.acos, sym.atan)]
    assert shown == [r"\asin{x}", r"\acos{x}", r"\atan{x}"]


def test_orientations_of_expressions_are_interpolated(xy) -> None:
    x = sym.Expression(xy[0])
    q = Quaternion_[sym.Expression](w=sym.Expression(1.0), x=x, y=sym.Expression(0.0), z=sym.Expression(0.0))
    assert q.x().EqualTo(x)
    poses = [RigidTransform_[sym.Expression](), RigidTransform_[sym.Expression]([x, 0.0, 0.0])]
    path = PiecewisePose_[sym.Expression].MakeLinear([0.0, 1.0], poses)
    assert path.GetPose(0.25).translation()[0].EqualTo(0.25 * x)
    assert all(isinstance(a, sym.Expression) for a in path.GetAcceleration(0.5))
    still = PiecewisePose_[sym.Expression].MakeLinear([0.0, 1.0], [poses[0]] * 2)
    assert still.IsApprox(still, 1e-9)
    R = RotationMatrix_[sym.Expression].MakeFromOneVector([sym.Expression(0.0), 2.0, 0.0], 0)
    slerp = PiecewiseQuaternionSlerp_[sym.Expression](breaks=[0.0, 1.0], rotation_matrices=[R.matrix()] * 2)
    assert [float(part.Evaluate()) for part in slerp.orientation(0.3).rotation()[:, 0]] == pytest.approx([0, 1, 0])


def test_choices_by_negated_relations_have_no_derivative_where_both_sides_are_equal(xy) -> None:
    x, y = xy
    chosen = sym.if_then_else(sym.logical_not(x > y), x, 2.0 * x)
    slope = chosen.Differentiate(x)
    assert [slope.Evaluate({x: at, y: 1.0}) for at in (0.0, 2.0)] == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="the value is NaN"):
        slope.Evaluate({x: 1.0, y: 1.0})
