"""Programs: variables, costs, constraints, guesses, removal; and what is refused, by name."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
from merganser.framework.optimization import (
    Binding,
    BoundingBoxConstraint,
    Constraint,
    Cost,
    ExpressionCost,
    GetProgramType,
    L1NormCost,
    L2NormCost,
    LinearConstraint,
    LinearCost,
    LInfNormCost,
    LorentzConeConstraint,
    MathematicalProgram,
    PerspectiveQuadraticCost,
    ProgramType,
    PyFunctionCost,
    QuadraticConstraint,
    QuadraticCost,
    RotatedLorentzConeConstraint,
    SolutionResult,
    Solve,
)
from merganser.framework.symbolic import Expression, Monomial, Polynomial, Variable, sin, sqrt


@pytest.fixture
def prog() -> MathematicalProgram:
    return MathematicalProgram()


RNG = np.random.default_rng(3)
A, b = RNG.normal(size=(3, 4)), RNG.normal(size=3)
EVALUATORS: list[Any] = [
    LinearCost(A[0], 2.0),
    QuadraticCost(A.T @ A, A[1], 3.0),
    L1NormCost(A, b),
    L2NormCost(A, b),
    LInfNormCost(A, b),
    PerspectiveQuadraticCost(A, b + [9.0, 0, 0]),
    LinearConstraint(A, b - 1, b),
    BoundingBoxConstraint(np.zeros(4), np.ones(4)),
    LorentzConeConstraint(A, b),
    LorentzConeConstraint(A, b, LorentzConeConstraint.EvalType.kNonconvex),
    RotatedLorentzConeConstraint(A, b),
    PyFunctionCost(4, lambda x: x[0] * x[1] + x[2] ** 2 - x[3]),
]


@pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda e: type(e).__name__)
def test_floats_derivatives_and_expressions_agree(evaluator: Any) -> None:
    x = np.array([0.3, -0.7, 1.1, 0.4])
    values = evaluator.Eval(x)
    _, jacobian = evaluator._value_and_jacobian(x)
    dual = evaluator.Eval(InitializeAutoDiff(x).ravel())
    variables = np.array([Variable(f"x{i}") for i in range(4)])
    symbolic = evaluator.Eval(variables)
    for i in range(evaluator.num_outputs()):
        assert isinstance(dual[i], AutoDiffXd)
        assert dual[i].value() == pytest.approx(values[i])
        np.testing.assert_allclose(dual[i].derivatives(), jacobian[i], atol=1e-12)
        assert Expression(symbolic[i]).Evaluate(dict(zip(variables, x))) == pytest.approx(values[i])
    h = 1e-6
    central = [(evaluator.Eval(x + h * e) - evaluator.Eval(x - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(np.transpose(central), jacobian, atol=1e-7)


def test_an_expression_keeps_its_chain_of_derivatives(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    cost = prog.AddCost(sin(x[0]) * x[1]).evaluator()
    assert isinstance(cost, ExpressionCost)
    t = AutoDiffXd(0.5, [2.0])
    (y,) = cost.Eval(np.array([t, t * t]))
    assert y.derivatives()[0] == pytest.approx(2 * np.cos(0.5) * 0.25 + np.sin(0.5) * 2.0)


def test_variables_have_places_names_and_guesses(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2, "x")
    X = prog.NewContinuousVariables(2, 3, "X")
    S = prog.NewSymmetricContinuousVariables(2, "S")
    B = prog.NewBinaryVariables(1)
    assert X[1, 2].get_name() == "X(1,2)" and S[0, 1] is S[1, 0] and S[0, 1].get_name() == "S(1,0)"
    assert prog.num_vars() == 2 + 6 + 3 + 1
    assert prog.FindDecisionVariableIndices(X[1]) == [3, 5, 7]
    assert prog.decision_variable_index()[B[0].get_id()] == 11
    assert np.isnan(prog.initial_guess()).all()
    prog.SetInitialGuess(X, np.arange(6.0).reshape(2, 3))
    prog.SetInitialGuess(x[0], 7.0)
    np.testing.assert_array_equal(prog.GetInitialGuess(X), np.arange(6.0).reshape(2, 3))
    values = np.zeros(12)
    prog.SetDecisionVariableValueInVector(X, np.ones((2, 3)), values)
    assert values.sum() == 6.0


def test_a_removed_binding_is_gone_and_a_clone_keeps_it(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(3)
    cost, bound = prog.AddLinearCost([1.0, 1.0], x[:2]), prog.AddBoundingBoxConstraint(0, 1, x[:2])
    clone = prog.Clone()
    assert prog.RemoveCost(cost) == 1 and prog.RemoveCost(cost) == 0
    assert prog.GetAllCosts() == [] and clone.GetAllCosts() == [cost]
    with pytest.raises(ValueError, match=r"x\(0\) is still used by BoundingBoxConstraint"):
        prog.RemoveDecisionVariable(x[0])
    assert prog.RemoveConstraint(bound) == 1
    assert prog.RemoveDecisionVariable(x[0]) == 0
    assert prog.FindDecisionVariableIndex(x[2]) == 1 and clone.num_vars() == 3


def test_a_binding_is_equal_by_evaluator_and_variables(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(3)
    cost = LinearCost([1.0], 0.0)
    assert Binding[Cost](cost, x[:1]) == Binding(cost, x[:1]) != Binding(cost, x[1:2])
    cost = LinearCost([1.0, 2.0], 0.0)
    assert len({Binding(cost, x[:2]), Binding(cost, x[:2]), Binding(cost, x[[0, 2]]), Binding(cost, x[1:])}) == 3


def test_a_binding_is_of_the_kind_of_its_evaluator(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    cost, bound = prog.AddCost(x[0] + x[1]), prog.AddConstraint(x[0] >= 1.0)
    assert isinstance(cost, Binding[Cost]) and isinstance(cost, Binding[LinearCost]) and isinstance(cost, Binding)
    assert not isinstance(cost, Binding[Constraint]) and isinstance(bound, Binding[Constraint])
    assert not isinstance(cost.evaluator(), Binding[Cost]) and Binding[Cost] is Binding[Cost]
    with pytest.raises(TypeError, match=r"Binding\[Constraint\]: expected a Constraint, got LinearCost"):
        Binding[Constraint](cost.evaluator(), x)


def test_coefficients_of_a_box_are_bounds_of_its_variables(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    box = prog.AddBoundingBoxConstraint(-1.0, 1.0, x).evaluator()
    prog.AddLinearCost([1.0, 1.0], x)
    box.UpdateCoefficients(np.diag([2.0, -4.0]), [-6.0, -8.0], [6.0, np.inf])  # -3 <= x_0 <= 3, x_1 <= 2
    np.testing.assert_allclose([box.lower_bound(), box.upper_bound()], [[-3.0, -np.inf], [3.0, 2.0]])
    box.UpdateCoefficients(np.diag([2.0, -4.0]), [-6.0, -8.0], [6.0, 12.0])
    np.testing.assert_allclose(Solve(prog).GetSolution(x), [-3.0, -3.0], atol=1e-7)
    for A in (np.ones((2, 2)), np.diag([1.0, 0.0]), np.ones((1, 2))):
        with pytest.raises(ValueError, match="expected a diagonal matrix of shape"):
            box.UpdateCoefficients(A, np.zeros(len(A)), np.zeros(len(A)))


def test_a_sum_of_squares_without_the_monomials_it_takes_is_infeasible(prog: MathematicalProgram) -> None:
    (x,) = prog.NewIndeterminates(1, "x")
    prog.AddSosConstraint(Polynomial(x**2 + 1), [Monomial(x)])  # x^2 alone has no constant
    result = Solve(prog)
    assert result.get_solution_result() is SolutionResult.kInfeasibleConstraints
    assert any("coefficients of 1" in name for name in result.GetInfeasibleConstraintNames(prog))


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda p, x: p.AddLinearConstraint([[1, np.nan]], [0], [1], x), r"LinearConstraint: A\[0, 1\] is nan"),
        (lambda p, x: p.AddLinearConstraint([[1, 1.0]], [np.nan], [1], x), "lower bound has NaN at index 0"),
        (lambda p, x: p.AddLinearConstraint([[1, 1.0]], [0, 0], [1, 1], x), "A has 1 rows, and the bounds 2"),
        (lambda p, x: p.AddLinearConstraint([[1, 1, 1.0]], [0], [1], x), "takes 3 variables, got 2"),
        (lambda p, x: p.AddLinearCost([1.0], [Variable("z")]), "LinearCost has z, which is not a decision variable"),
        (lambda p, x: p.AddQuadraticCost(np.eye(3), [1, 1.0], x), r"QuadraticCost: expected Q of shape \(2, 2\)"),
        (lambda p, x: p.AddPositiveSemidefiniteConstraint([[x[0], x[1]], [x[0], x[1]]]), "not symmetric"),
        (lambda p, x: p.AddBoundingBoxConstraint(0, "a", x), "could not convert"),
    ],
)
def test_wrong_data_leave_the_program_as_it_was(prog: MathematicalProgram, add: Any, message: str) -> None:
    x = prog.NewContinuousVariables(2)
    with pytest.raises((ValueError, TypeError), match=message):
        add(prog, x)
    assert prog.GetAllConstraints() == [] and prog.GetAllCosts() == [] and prog.num_vars() == 2


def test_crossed_bounds_and_false_claims_name_the_binding(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    crossed = prog.AddLinearConstraint([[1, 2.0]], [2], [1], x)
    crossed.evaluator().set_description("reach")
    with pytest.raises(ValueError, match=r"LinearConstraint 'reach' of x\(0\), x\(1\): nothing is between"):
        Solve(prog)
    prog.RemoveConstraint(crossed)
    prog.AddBoundingBoxConstraint(0, 1, x)
    prog.AddQuadraticCost(-np.eye(2), np.zeros(2), x, is_convex=True).evaluator().set_description("effort")
    with pytest.raises(ValueError, match="QuadraticCost 'effort' was added with is_convex=True"):
        Solve(prog)


def test_formulas_that_say_nothing_or_are_false(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(1)
    assert prog.AddConstraint(x[0] - x[0] >= -1).variables().size == 0
    with pytest.raises(RuntimeError, match="always false"):
        prog.AddConstraint(x[0] - x[0] >= 1)
    with pytest.raises(RuntimeError, match="neither a relation"):
        prog.AddConstraint(x[0] != 1)


def test_the_class_of_a_program_grows_with_what_is_added(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(3)
    kinds = []
    for add in (
        lambda: prog.AddLinearCost([1.0, 1, 1], x),
        lambda: prog.AddQuadraticCost(np.eye(3), np.zeros(3), x),
        lambda: prog.AddLorentzConeConstraint(x),
        lambda: prog.AddCost(x[0] ** 4),
    ):
        add()
        kinds.append(GetProgramType(prog))
    expected = (ProgramType.kLP, ProgramType.kQP, ProgramType.kQuadraticCostConicConstraint, ProgramType.kNLP)
    assert tuple(kinds) == expected


def test_latex_names_costs_and_constraints(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2, "x")
    prog.AddLinearCost(x[0] + 2 * x[1])
    prog.AddBoundingBoxConstraint(0, 1, x[:1])
    text = prog.ToLatex()
    assert "\\min" in text and "\\text{subject to}" in text and "0 \\le" in text


def test_programs_print_their_formulas() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.NewIndeterminates(1, "longer")
    cost = prog.AddQuadraticErrorCost(np.eye(2), [1.0, 2.0], x)
    cost.evaluator().set_description("near")
    prog.AddCost(lambda x: x[0], vars=x)
    prog.AddLinearConstraint(x[0] + 2 * x[1] <= 1.23456789)
    prog.AddLinearEqualityConstraint(x[0] - x[1], 0.0)
    prog.AddBoundingBoxConstraint(-1.0, np.inf, x)
    prog.AddPositiveSemidefiniteConstraint(np.array([[x[0], x[1]], [x[1], x[0]]]))
    text = str(prog).splitlines()
    assert text[0].startswith("Decision variables: ") and text[1] == ""
    assert "Indeterminates: longer(0)" in text
    assert "QuadraticCost (5 - 2 * x(0) - 4 * x(1) + pow(x(0), 2) + pow(x(1), 2)) described as 'near'" in text
    assert "PyFunctionCost with 2 decision variables x(0) x(1)" in text
    assert text[text.index("LinearConstraint") + 1] == "-inf <= (x(0) + 2 * x(1)) <= 1.23456789"
    assert "(x(0) - x(1)) == 0" in text
    assert text[text.index("BoundingBoxConstraint") + 1 :][:2] == ["-1 <= x(0) <= inf", "-1 <= x(1) <= inf"]
    assert repr(cost) == "<Binding QuadraticCost 'near' of x(0), x(1)>"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_of_a_program_and_its_result_know_their_variables(copied: Any) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(40, "x")
    equations = prog.AddLinearEqualityConstraint(np.eye(40), np.arange(40.0), x)
    prog.AddQuadraticCost(np.eye(40), np.zeros(40), x)
    given = prog, prog.decision_variables(), equations, Solve(prog)
    other, variables, binding, result = copied(given)
    np.testing.assert_allclose(result.GetSolution(variables), np.arange(40.0), atol=1e-9)  # as set by the equations
    np.testing.assert_allclose(result.GetDualSolution(binding), given[3].GetDualSolution(equations))
    np.testing.assert_allclose(Solve(other).GetSolution(variables), np.arange(40.0), atol=1e-9)
    assert other.FindDecisionVariableIndices(variables) == list(range(40)) and other.RemoveConstraint(binding) == 1


def test_a_nonlinear_program_that_was_solved_can_be_pickled() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddCost(sin(x[0]) + x[1] ** 4)
    prog.AddConstraint(x[0] ** 3 + x[1] >= -1.0)
    prog.SetInitialGuess(x, [0.1, 0.1])
    expected = Solve(prog).GetSolution(x)
    other, variables = pickle.loads(pickle.dumps((prog, x)))
    np.testing.assert_allclose(Solve(other).GetSolution(variables), expected, atol=1e-6)


def test_a_pickled_result_outlives_its_variables() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(40, "x")
    prog.AddLinearEqualityConstraint(np.eye(40), np.arange(40.0), x)
    data = pickle.dumps((prog, x, Solve(prog)))
    del prog, x
    gc.collect()
    prog, x, result = pickle.loads(data)
    others = [Variable("other") for _ in range(40)]  # which take the memory of the first
    np.testing.assert_allclose(result.GetSolution(x), np.arange(40.0), atol=1e-9)
    np.testing.assert_allclose(Solve(prog).GetSolution(x), np.arange(40.0), atol=1e-9)
    assert not any(map(result.has_variable, others))


def test_variables_of_expressions_are_in_the_order_in_which_they_were_made(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(3, "x")
    formula = prog.AddLinearConstraint(x[1] + 3 * x[0] <= 2).evaluator()
    np.testing.assert_array_equal(formula.GetDenseA(), [[3.0, 1.0]])
    formula.UpdateCoefficients([[3.0, 4.0]], [-np.inf], [2.0])
    assert str(prog.linear_constraints()[0]).splitlines()[1] == "-inf <= (3 * x(0) + 4 * x(1)) <= 2"
    for rows in ([x[2] + x[1], x[0] + x[2]], [x[2] ** 3 + x[1], x[0] + x[2]]):
        names = [v.get_name() for v in prog.AddConstraint(np.array(rows), [0, 0], [1, 1]).variables()]
        assert names == ["x(1)", "x(2)", "x(0)"]  # those of the first row first
    np.testing.assert_array_equal(prog.AddLinearCost(x[2] - 2 * x[0]).evaluator().a(), [-2.0, 1.0])
    cone = prog.AddLorentzConeConstraint(np.array([x[2] + x[0], x[1]]))
    assert [v.get_name() for v in cone.variables()] == ["x(0)", "x(2)", "x(1)"]


def test_a_cone_of_a_formula_has_columns_for_both_sides_and_is_solved(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2, "x")
    cone = prog.AddConstraint(sqrt(x[0] ** 2 + 4 * x[1] ** 2) <= x[0] + 1)
    assert [v.get_name() for v in cone.variables()] == ["x(0)", "x(0)", "x(1)"]
    prog.AddLinearCost(x[0])
    result = Solve(prog)  # 4 y^2 <= 2 x + 1, so that x is least at y = 0
    np.testing.assert_allclose(result.GetSolution(x), [-0.5, 0.0], atol=1e-4)


def test_a_quadratic_cost_prints_its_form_halved(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2, "x")
    cost = prog.AddQuadraticCost(np.array([[2.0, 1.0], [1.0, 4.0]]), [1.0, 0.0], 3.0, x)
    assert str(cost) == "QuadraticCost (3 + x(0) + (x(0) * (x(0) + 0.5 * x(1))) + (x(1) * (0.5 * x(0) + 2 * x(1))))"


def test_a_quadratic_constraint_knows_the_kind_of_its_form() -> None:
    kinds = QuadraticConstraint.HessianType
    forms = {0.0: kinds.kZero, 1.0: kinds.kPositiveSemidefinite, -1.0: kinds.kNegativeSemidefinite}
    for scale, kind in forms.items():
        constraint = QuadraticConstraint(scale * np.eye(2), [1.0, 2.0], -np.inf, 1.0)
        assert constraint.hessian_type() is kind and constraint.is_convex() == (scale >= 0.0)
    assert QuadraticConstraint(np.diag([1.0, -1.0]), [0.0, 0.0], 0.0, 1.0).hessian_type() is kinds.kIndefinite
    assert QuadraticConstraint(np.zeros((2, 2)), [1.0, 2.0], 0.0, 1.0).is_convex()


def test_functions_that_do_not_take_one_array_are_refused_where_they_are_given() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    message = r"the function .*\(a, b\) cannot be called with one argument, .* missing a required argument: 'b'"
    with pytest.raises(TypeError, match="PyFunctionConstraint: " + message):
        prog.AddConstraint(lambda a, b: [a], lb=[0.0], ub=[1.0], vars=x)
    with pytest.raises(TypeError, match="PyFunctionCost: " + message):
        prog.AddCost(lambda a, b: a, vars=x)
    assert not prog.GetAllConstraints() and not prog.GetAllCosts()
    prog.AddCost(lambda a, b=2.0: b * a[0], vars=x)


def test_functions_of_autodiff_alone_are_taken_and_their_derivatives_are_counted() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)

    def square(z: Any) -> list[AutoDiffXd]:
        return [AutoDiffXd(z[0].value() ** 2, 2.0 * z[0].value() * z[0].derivatives())]

    prog.AddConstraint(square, [4.0], [4.0], x)
    result = Solve(prog, [1.0, 0.0])
    assert result.is_success() and result.GetSolution(x[0]) == pytest.approx(2.0)
    assert not prog.IsThreadSafe()
    prog.AddConstraint(lambda z: [AutoDiffXd(1.0, [1.0])], [0.0], [1.0], x)
    with pytest.raises(ValueError, match="expected values with 2 derivatives, as x has, got 1"):
        Solve(prog, [1.0, 0.0])
