"""Laws of nonlinear programs: optimality conditions, and answers that do not depend on how a program is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import (
    InteriorPointSolver,
    L2NormCost,
    MathematicalProgram,
    QuadraticConstraint,
    SlsqpSolver,
)
from merganser.framework.optimization.evaluators.evaluators import EvaluatorBase
from merganser.framework.optimization.evaluators.function_evaluators import ExpressionConstraint
from merganser.framework.symbolic import MakeVectorContinuousVariable, cos, exp, sin

SOLVERS = [SlsqpSolver, InteriorPointSolver]
SIZE = 6


def convex_program(
    seed: int, of_variables: Any = 1.0, of_rows: float = 1.0, order: Any = None, by_function: bool = False
) -> MathematicalProgram:
    """A program with one optimum: variables are multiplied by numbers, rows by a number, and put in another order."""
    rng = np.random.default_rng(seed)
    A, root, center = rng.normal(size=(2, SIZE)), rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE)
    prog = MathematicalProgram()
    z = prog.NewContinuousVariables(SIZE)
    order = np.arange(SIZE) if order is None else order
    x = np.empty(SIZE, object)
    x[order] = z * of_variables
    d = x - center
    prog.AddQuadraticCost((root @ d) @ (root @ d))
    if by_function:
        scales = np.broadcast_to(of_variables, SIZE)
        prog.AddCost(lambda v: np.exp(0.3 * (v * scales)[np.argsort(order)]).sum(), z)
    else:
        prog.AddCost(sum(exp(0.3 * each) for each in x))
    prog.AddConstraint(of_rows * (x @ x) <= of_rows * 2.0)
    prog.AddConstraint([of_rows * (exp(x[0]) + x[1] ** 2 - x[2])], [-np.inf], [of_rows * 1.5])
    prog.AddLinearEqualityConstraint(of_rows * (A @ x), of_rows * np.array([0.1, -0.2]))
    prog.AddBoundingBoxConstraint(-0.8 / np.broadcast_to(of_variables, SIZE), np.inf, z)
    prog.SetInitialGuess(z, 0.3 / np.broadcast_to(of_variables, SIZE))
    return prog


@pytest.mark.parametrize("by_function", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
def test_prices_make_up_the_gradient_and_belong_to_active_bounds(solver: Any, by_function: bool) -> None:
    for seed in range(8):
        prog = convex_program(seed, by_function=by_function)
        result = solver().Solve(prog)
        assert result.is_success()
        left = np.zeros(SIZE)
        for binding in prog.GetAllCosts():
            places = prog.FindDecisionVariableIndices(binding.variables())
            np.add.at(left, places, binding.evaluator()._value_and_jacobian(result.get_x_val()[places])[1][0])
        size = np.abs(left).max()
        for binding in prog.GetAllConstraints():
            constraint, places = binding.evaluator(), prog.FindDecisionVariableIndices(binding.variables())
            values, J = constraint._value_and_jacobian(result.get_x_val()[places])
            prices, low, high = result.GetDualSolution(binding), constraint.lower_bound(), constraint.upper_bound()
            np.subtract.at(left, places, prices @ J)
            assert (values >= low - 1e-6).all()
            assert (values <= high + 1e-6).all()
            gaps = np.where(prices > 0.0, values - low, np.where(prices < 0.0, high - values, 0.0))
            assert np.abs(prices * np.where(np.isfinite(gaps), gaps, 1e9)).max() <= 1e-4 * size
        assert np.abs(left).max() <= 1e-5 * size


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("by_function", [False, True])
def test_answers_do_not_depend_on_units_of_variables_and_rows_or_their_order(solver: Any, by_function: bool) -> None:
    for seed in range(4):
        rng = np.random.default_rng(100 + seed)
        reference = SlsqpSolver().Solve(convex_program(seed)).get_optimal_cost()
        for prog in (
            convex_program(seed, by_function=by_function),
            convex_program(seed, of_variables=10.0 ** rng.uniform(-1.0, 1.0, SIZE), by_function=by_function),
            convex_program(seed, of_rows=1e-2, by_function=by_function),
            convex_program(seed, of_rows=1e2, by_function=by_function),
            convex_program(seed, order=rng.permutation(SIZE), by_function=by_function),
        ):
            result = solver().Solve(prog)
            assert result.is_success()
            assert result.get_optimal_cost() == pytest.approx(reference, rel=1e-5, abs=1e-6)


def test_second_derivatives_spare_iterations() -> None:
    counts = np.array([
        [SlsqpSolver().Solve(convex_program(seed, by_function=each)).get_solver_details().iterations
         for seed in range(6)] for each in (False, True)
    ])  # fmt: skip
    assert counts[0].max() <= 12
    assert counts[0].sum() < counts[1].sum()


def test_prices_are_those_of_the_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("Prices were computed again.")

    monkeypatch.setattr(np.linalg, "lstsq", refused)
    for seed in range(6):
        result = SlsqpSolver().Solve(convex_program(seed))
        assert result.is_success()
        assert result.get_solver_details().residual <= 1e-6


def test_no_program_is_solved_for_the_end_of_a_last_small_step(monkeypatch: pytest.MonkeyPatch) -> None:
    daqp, solved, solve_more = pytest.importorskip("daqp"), [], 0
    solve = daqp.solve
    monkeypatch.setattr(daqp, "solve", lambda *given, **options: solved.append(1) or solve(*given, **options))
    for seed in range(20):
        prog, shown = convex_program(seed), []
        prog.AddVisualizationCallback(lambda x, shown=shown: shown.append(x.copy()), prog.decision_variables())
        solved.clear()
        result = SlsqpSolver().Solve(prog)
        solve_more += len(solved) - result.get_solver_details().iterations
        np.testing.assert_array_equal(shown[-1], result.get_x_val())
    assert solve_more < 15  # 20 without that, as then each search ends with a program for no step


def evaluators(rng: np.random.Generator) -> list[Any]:
    x = MakeVectorContinuousVariable(3, "x")
    Q = rng.normal(size=(3, 3))
    return [
        ExpressionConstraint([sin(x[0]) * x[1], exp(x[2]) / (2.0 + cos(x[1]))], [0.0, 0.0], [1.0, 1.0]),
        QuadraticConstraint(Q @ Q.T, rng.normal(size=3), 0.0, 1.0),
        L2NormCost(rng.normal(size=(2, 3)), rng.normal(size=2)),
    ]


@pytest.mark.parametrize("index", range(3))
def test_second_derivatives_are_those_of_the_first_ones(index: int) -> None:
    rng = np.random.default_rng(2)
    evaluator = evaluators(rng)[index]
    x, weights = rng.normal(size=(5, 3)), rng.normal(size=(5, evaluator.num_outputs()))
    assert evaluator._has_curvature()
    np.testing.assert_allclose(
        evaluator._curvature(x, weights), EvaluatorBase._curvature(evaluator, x, weights), atol=1e-5
    )


def test_second_derivatives_of_expressions_are_exact() -> None:
    (evaluator, *_), x = evaluators(np.random.default_rng(2)), np.array([[0.4, -0.7, 0.3]])
    (a, b, c), d = x[0], 2.0 + np.cos(x[0, 1])
    by_b, by_bb = np.sin(b) / d**2, np.cos(b) / d**2 + 2.0 * np.sin(b) ** 2 / d**3
    expected = np.array([[-b * np.sin(a), np.cos(a), 0.0], [np.cos(a), 0.0, 0.0], np.zeros(3)]) + 2.0 * np.exp(c) * (
        np.array([[0.0, 0.0, 0.0], [0.0, by_bb, by_b], [0.0, by_b, 1.0 / d]])
    )
    np.testing.assert_allclose(evaluator._curvature(x, np.array([[1.0, 2.0]]))[0], expected, atol=1e-13)


@pytest.mark.parametrize("count", [2, 20])  # few points one after the other, many in arrays
def test_many_points_at_once_are_as_each_alone(count: int) -> None:
    rng = np.random.default_rng(3)
    for evaluator in evaluators(rng):
        x = rng.normal(size=(count, 3))
        for found, expected in zip(evaluator._stacked(x), zip(*map(evaluator._value_and_jacobian, x))):
            np.testing.assert_allclose(found, np.array(expected), rtol=1e-13, atol=1e-13)


def test_lengths_that_were_alike_are_solved_with_the_numbers_that_they_have() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(4)
    costs = [prog.AddCost(L2NormCost(np.eye(2), [1.0, 2.0]), part) for part in (x[:2], x[2:])]
    prog.AddConstraint(x @ x <= 100.0)
    for wanted in ([1.0, 2.0], [3.0, -1.0]):
        costs[1].evaluator().UpdateCoefficients(np.eye(2), wanted)
        result = SlsqpSolver().Solve(prog, np.ones(4))
        np.testing.assert_allclose(result.get_x_val(), [-1.0, -2.0, -wanted[0], -wanted[1]], atol=1e-4)


def test_a_sparsity_pattern_belongs_to_its_own_constraint() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(4)
    for part in (x[:2], x[2:]):
        prog.AddConstraint([part[0] + exp(part[1])], [2.0], [2.0])
    prog.AddCost((x - 1.0) @ (x - 1.0))
    expected = InteriorPointSolver().Solve(prog, np.ones(4)).get_x_val()
    for binding in prog.generic_constraints():
        binding.evaluator().SetGradientSparsityPattern([(0, 0), (0, 1)])
        np.testing.assert_allclose(InteriorPointSolver().Solve(prog, np.ones(4)).get_x_val(), expected, atol=1e-9)


def test_an_undefined_expression_at_the_guess_is_named_by_its_own_variables() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(12)
    for each in x:
        prog.AddCost(1.0 / each)
    prog.SetInitialGuess(x, np.where(np.arange(12) == 7, 0.0, 1.0))
    with pytest.raises((ArithmeticError, RuntimeError, ValueError), match=r"x\(7\)"):
        SlsqpSolver().Solve(prog)


@pytest.mark.parametrize("branches", [False, True])
def test_a_function_of_many_constraints_is_called_for_all_at_once_unless_it_branches(branches: bool) -> None:
    """A swing-up, each step a constraint by the same function; or by a function of its own, for comparison."""
    calls = []

    def step(z: Any) -> list[Any]:
        calls.append(z[0])
        angle, speed, next_angle, next_speed, effort = z
        drag = 0.1 * speed if not branches or speed > 0.0 else 0.2 * speed
        rate = effort - drag - 9.81 * np.sin(angle)
        return [next_angle - angle - 0.1 * next_speed, next_speed - speed - 0.1 * rate]

    def solved(is_shared: bool) -> tuple[Any, int]:
        prog = MathematicalProgram()
        x, u = prog.NewContinuousVariables(16, 2, "x"), prog.NewContinuousVariables(15, "u")
        for k in range(15):
            function = step if is_shared else lambda z: step(z)
            prog.AddConstraint(function, lb=[0.0, 0.0], ub=[0.0, 0.0], vars=[*x[k], *x[k + 1], u[k]])
        prog.AddQuadraticCost(np.eye(15), np.zeros(15), u)
        prog.AddBoundingBoxConstraint(np.zeros(2), np.zeros(2), x[0])
        prog.AddBoundingBoxConstraint([1.0, 0.0], [1.0, 0.0], x[-1])
        calls.clear()
        result = SlsqpSolver().Solve(prog, np.full(prog.num_vars(), 0.1))
        assert result.is_success()
        return result.get_x_val(), len(calls)

    (shared, num_shared), (alone, num_alone) = solved(True), solved(False)
    np.testing.assert_allclose(shared, alone, rtol=0.0, atol=1e-6)
    assert num_shared < 0.2 * num_alone or branches
