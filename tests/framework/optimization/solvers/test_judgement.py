"""Answers are judged by the program as it is posed: units of rows, variables and costs make no difference."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from merganser.framework import symbolic
from merganser.framework.optimization import (
    ClarabelSolver,
    ClpSolver,
    InteriorPointSolver,
    IpoptSolver,
    MathematicalProgram,
    MixedIntegerBranchAndBound,
    NloptSolver,
    OsqpSolver,
    ScsSolver,
    SlsqpSolver,
    SnoptSolver,
    SolutionResult,
    Solve,
    SolverOptions,
)
from merganser.framework.optimization.interior_point import NonlinearProblem, solve
from merganser.framework.optimization.solvers.judgement import keeps_constraints

CONVEX = [ClarabelSolver, OsqpSolver, ScsSolver]
NONLINEAR = [SlsqpSolver, InteriorPointSolver, SnoptSolver, IpoptSolver, NloptSolver]


@pytest.mark.parametrize("solver", [ClpSolver, *CONVEX, *NONLINEAR])
def test_bounds_of_one_variable_that_exclude_each_other_are_infeasible(solver: Any) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddBoundingBoxConstraint(0.0, 1.0, x)
    prog.AddBoundingBoxConstraint(1.2, 1.2, x[:1])
    prog.AddLinearCost([1.0, 1.0], 0.0, x)
    assert solver().Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
    if solver in NONLINEAR:
        prog.AddConstraint(symbolic.sin(x[0]) + x[1] ** 3 >= 0.1)
        assert solver().Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
        assert Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints


def test_bounds_that_cross_by_rounding_are_equal() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(1, "x")
    prog.AddBoundingBoxConstraint(0.0, 0.3, x)
    prog.AddBoundingBoxConstraint(0.1 + 0.2, 1.0, x)
    prog.AddCost(x[0] ** 4)
    assert Solve(prog).GetSolution(x[0]) == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("size", [1e6, 1e7])
@pytest.mark.parametrize("has_cost", [False, True])
@pytest.mark.parametrize("solver", NONLINEAR)
def test_a_large_variable_does_not_make_rows_of_others_hold(size: float, has_cost: bool, solver: Any) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddBoundingBoxConstraint(size, 2.0 * size, x[0])
    prog.AddConstraint(symbolic.sin(x[1]) == 1.5)
    if has_cost:
        prog.AddCost((x[1] - 1.0) ** 4 + x[0] / size)
    assert not solver().Solve(prog, [size, 1.0]).is_success()


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9, 1e10])
@pytest.mark.parametrize("has_cost", [False, True])
def test_equations_contradict_each_other_in_whatever_units(unit: float, has_cost: bool) -> None:
    rows, right = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 1.0, 1.5])
    for units in (np.full(3, unit), np.array([unit, 1.0, 1.0])):
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(2, "x")
        equations = prog.AddLinearEqualityConstraint(units[:, np.newaxis] * rows, units * right, x).evaluator()
        if has_cost:
            prog.AddQuadraticErrorCost(np.eye(2), [3.0, 2.0], x)
        assert Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
        equations.UpdateCoefficients(units[:2, np.newaxis] * rows[:2], units[:2] * right[:2])
        np.testing.assert_allclose(Solve(prog).GetSolution(x), [1.0, 1.0], atol=1e-12)


def scaled_linear_program(seed: int) -> tuple[MathematicalProgram, float, float]:
    """A linear program with rows, variables and a cost in units of 1e-6 to 1e6; its least cost, and the cost's unit."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    A, c = rng.normal(size=(m, n)), rng.normal(size=n)
    low = A @ rng.uniform(0.0, 1.0, n) - rng.uniform(0.1, 1.0, m)
    least = linprog(c, A_ub=-A, b_ub=-low, bounds=[(0.0, 1.0)] * n).fun
    D, R = 10.0 ** rng.integers(-6, 7, size=n), 10.0 ** rng.integers(-6, 7, size=m)
    unit = 10.0 ** rng.integers(-9, 7)
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n, "x")
    prog.AddLinearCost(unit * c / D, 0.0, x)
    prog.AddBoundingBoxConstraint(0.0 * D, D, x)
    prog.AddLinearConstraint(R[:, np.newaxis] * A / D, R * low, np.full(m, np.inf), x)
    return prog, float(least), float(unit)


@pytest.mark.parametrize(("solver", "most_unsolved"), [(None, 0), (ClarabelSolver, 2), (SnoptSolver, 2)])
def test_linear_programs_are_solved_in_whatever_units(solver: Any, most_unsolved: int) -> None:
    wrong, unsolved = [], 0
    for seed in range(10):
        prog, least, unit = scaled_linear_program(seed)
        result = Solve(prog) if solver is None else solver().Solve(prog)
        unsolved += not result.is_success()
        if result.is_success() and abs(result.get_optimal_cost() / unit - least) > 1e-4 * max(abs(least), 0.1):
            wrong.append(seed)
    assert wrong == [] and unsolved <= most_unsolved


@pytest.mark.parametrize("unit", [1e-10, 1e-12])
def test_coefficients_that_a_library_drops_count(unit: float) -> None:
    for add in ("AddLinearConstraint", "AddLinearEqualityConstraint"):
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(2, "x")
        prog.AddBoundingBoxConstraint(0.0, 10.0, x)
        bounds = ([unit], [np.inf]) if add == "AddLinearConstraint" else ([unit],)
        row = getattr(prog, add)(np.full((1, 2), unit), *bounds, x)
        prog.AddLinearCost([1.0, 2.0], 0.0, x)
        result = Solve(prog)
        np.testing.assert_allclose(result.GetSolution(x), [1.0, 0.0], atol=1e-9)
        np.testing.assert_allclose(result.GetDualSolution(row) * unit, [1.0], rtol=1e-9)


def test_bounds_far_away_are_bounds() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddBoundingBoxConstraint(-1e20, 1e21, x)
    prog.AddLinearConstraint(x[0] + x[1] <= 5e20)
    prog.AddLinearCost([1.0, -1.0], 0.0, x)
    np.testing.assert_allclose(Solve(prog).GetSolution(x), [-1e20, 6e20], rtol=1e-9)


@pytest.mark.parametrize("solver", [*CONVEX, *NONLINEAR])
@pytest.mark.parametrize("unit", [1e-4, 1e-6, 1e-9, 1e6])
def test_quadratic_costs_are_least_in_whatever_units(solver: Any, unit: float) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddQuadraticCost(unit * np.diag([2.0, 4.0]), unit * np.array([-2.0, -1.0]), x)
    row = prog.AddLinearConstraint(np.ones((1, 2)), [-np.inf], [1.0], x)
    result = solver().Solve(prog)
    assert result.is_success()
    np.testing.assert_allclose(result.GetSolution(x), [5.0 / 6.0, 1.0 / 6.0], atol=1e-5)
    np.testing.assert_allclose(result.GetDualSolution(row) / unit, [-1.0 / 3.0], atol=1e-4)


@pytest.mark.parametrize("has_integer", [False, True])  # with one, the search is by linear programs
def test_choices_are_best_in_small_units(has_integer: bool) -> None:
    for unit in (1.0, 1e-9):
        prog = MathematicalProgram()
        b = prog.NewBinaryVariables(4, "b")
        if has_integer:
            prog.AddDecisionVariables(np.array([symbolic.Variable("k", symbolic.Variable.Type.INTEGER)]))
        prog.AddQuadraticCost(unit * np.eye(4), -unit * np.array([0.9, 0.6, 0.4, 0.1]), b)
        np.testing.assert_array_equal(Solve(prog).GetSolution(b), [1.0, 1.0, 0.0, 0.0])


def test_a_dozen_binary_variables_under_a_quadratic_cost_take_no_time() -> None:
    rng = np.random.default_rng(0)
    prog = MathematicalProgram()
    b, x = prog.NewBinaryVariables(12, "b"), prog.NewContinuousVariables(4, "x")
    A, r = rng.normal(size=(20, 16)), 3.0 * rng.normal(size=20)
    prog.AddQuadraticCost(2.0 * A.T @ A, -2.0 * A.T @ r, float(r @ r), np.concatenate((b, x)))
    prog.AddLinearConstraint(np.ones((1, 12)), [3.0], [8.0], b)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    start = time.process_time()
    result = Solve(prog)
    assert time.process_time() - start < 20.0  # by linear programs alone it takes minutes
    search = MixedIntegerBranchAndBound(prog, ClarabelSolver.id())
    search.Solve()
    assert result.get_optimal_cost() == pytest.approx(search.GetOptimalCost(), rel=1e-7)


@pytest.mark.parametrize("far", [1e2, 5e3])
@pytest.mark.parametrize("seed", [0, 3, 12, 24])
def test_guesses_far_away_lead_to_the_optimum(far: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    center, root, weights = rng.normal(size=n), rng.normal(size=(n, n)), rng.uniform(0.1, 10.0, n)
    root += 2.0 * np.eye(n)

    def gradient(x: Any) -> Any:
        z = root @ (x - center)
        return root.T @ (4.0 * weights * z**3 + z)

    result = solve(
        NonlinearProblem(
            np.full(n, -1e4), np.full(n, 1e4),
            lambda x: float(weights @ (root @ (x - center)) ** 4 + 0.5 * np.sum((root @ (x - center)) ** 2)), gradient,
        ),
        far * rng.uniform(-1.0, 1.0, n),
    )  # fmt: skip
    assert result.is_success()
    np.testing.assert_allclose(result.x, center, atol=1e-4)


@pytest.mark.parametrize("solver", NONLINEAR)
def test_double_roots_are_solutions(solver: Any) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddConstraint((x[0] - 1.0) ** 2 == 0.0)
    prog.AddCost((x[1] - 2.0) ** 2)
    result = solver().Solve(prog, [1.5, 0.0])
    assert result.is_success()
    np.testing.assert_allclose(result.GetSolution(x), [1.0, 2.0], atol=2e-3)


def test_the_judge_looks_at_all_kinds_of_rows() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3, "x")
    prog.AddLinearConstraint(1e-9 * np.ones((1, 3)), [1e-9], [np.inf], x)
    assert keeps_constraints(prog, np.array([1.0, 0.0, -1e-7])) and not keeps_constraints(prog, np.zeros(3))
    prog.AddExponentialConeConstraint(x)
    assert keeps_constraints(prog, np.array([1.0, 0.0, 0.0]))  # on the rim, where the function has no value
    prog.AddBoundingBoxConstraint(0.0, 1e-6, x[1])
    assert not keeps_constraints(prog, np.array([1.0, 2e-6, 0.0]))
    prog.AddConstraint(symbolic.log(x[2]) >= -1.0)
    assert not keeps_constraints(prog, np.array([1.0, 0.0, -1.0])) and not keeps_constraints(prog, np.full(3, np.nan))


def test_looser_options_are_respected() -> None:
    options = SolverOptions()
    for name in ("tol_feas", "tol_gap_abs", "tol_gap_rel"):
        options.SetOption(ClarabelSolver.id(), name, 1e-3)
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3, "x")
    prog.AddLorentzConeConstraint(np.array([x[0], x[1] - 1.0, x[2] + 0.5]))
    prog.AddLinearEqualityConstraint(np.ones((1, 3)), [1.0], x)
    prog.AddLinearCost([1.0, 0.3, -0.2], 0.0, x)
    loose, exact = ClarabelSolver().Solve(prog, None, options), ClarabelSolver().Solve(prog)
    assert loose.is_success() and loose.get_solver_details().iterations < exact.get_solver_details().iterations
    assert loose.get_optimal_cost() == pytest.approx(exact.get_optimal_cost(), abs=1e-2)


@pytest.mark.parametrize("seed", [83, 86, 132, 146])
def test_what_is_in_doubt_without_refinement_is_solved_with_it(seed: int) -> None:
    rng, prog = np.random.default_rng(seed), MathematicalProgram()
    size = int(rng.integers(2, 6))
    X, lower = prog.NewSymmetricContinuousVariables(size), np.tril_indices(size)
    prog.AddPositiveSemidefiniteConstraint(X)
    prog.AddBoundingBoxConstraint(0.0, 0.0, [X[0, 0]])  # so that no matrix is positive definite
    prog.AddLinearEqualityConstraint(np.ones((1, size)), [1.0], np.diag(X))
    slopes, C = rng.normal(size=len(lower[0])), np.zeros((size, size))
    C[lower] = slopes
    prog.AddLinearCost(slopes, 0.0, X[lower])
    result = ClarabelSolver().Solve(prog)
    assert result.get_solver_details().status == "Solved"
    least = np.linalg.eigvalsh(0.5 * (C + C.T)[1:, 1:])[0]
    assert result.get_optimal_cost() == pytest.approx(least, abs=1e-4)  # its derivative by the bounds is not finite


@pytest.mark.parametrize("solver", [None, SlsqpSolver, IpoptSolver])
def test_searches_leave_where_expressions_are_defined_without_an_error(solver: Any) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddCost(symbolic.sqrt(x[0]) + symbolic.cos(symbolic.exp(x[1])) + x[1] ** 2)
    result = (Solve if solver is None else solver().Solve)(prog, [0.5, 5.0])  # the cost has no least value inside
    assert result.get_solution_result() is not SolutionResult.kSolutionResultNotSet
    prog = MathematicalProgram()
    y = prog.NewContinuousVariables(2, "y")
    prog.AddCost(symbolic.log(y[1]) + y[0] ** 2)
    with pytest.raises(ValueError, match=r"Expression: log\(-1.0\) is not defined"):
        (Solve if solver is None else solver().Solve)(prog, [0.5, -1.0])
    prog.RemoveCost(prog.GetAllCosts()[0])
    prog.AddConstraint(symbolic.sqrt(y[1]) >= y[0])
    with pytest.raises(ValueError, match=r"sqrt\(-1.0\) is not defined"):
        (Solve if solver is None else solver().Solve)(prog, [0.5, -1.0])


def test_bounces_of_a_ball_are_found_without_a_guess() -> None:
    gravity, restitution = 9.8, 0.8
    prog = MathematicalProgram()
    h, v = prog.NewContinuousVariables(4, "h"), prog.NewContinuousVariables(4, "v")
    prog.AddLinearEqualityConstraint(np.ones((1, 4)), [5.0], h)
    prog.AddBoundingBoxConstraint(0.0, np.inf, h)
    prog.AddBoundingBoxConstraint(0.0, np.inf, v[:1])
    for i in range(4):
        height = v[i] * h[i] - 0.5 * gravity * h[i] * h[i] + (1.0 if i == 0 else 0.0)
        prog.AddConstraint(height == (3.0 if i == 3 else 0.0))
        if i < 3:
            prog.AddConstraint(v[i + 1] == -restitution * (v[i] - h[i] * gravity))
    assert Solve(prog).is_success()


def test_matrices_without_rows_constrain_nothing() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddQuadraticErrorCost(np.eye(2), [1.0, 2.0], x)
    empty = prog.AddPositiveSemidefiniteConstraint(np.zeros((0, 0), dtype=object))
    prog.AddLinearMatrixInequalityConstraint([np.zeros((0, 0))] * 3, x)
    result = Solve(prog)
    np.testing.assert_allclose(result.GetSolution(x), [1.0, 2.0], atol=1e-6)
    assert result.GetDualSolution(empty).size == 0


def test_quadratic_costs_are_printed_row_by_row() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    cost = prog.AddQuadraticCost([[2.0, 1.0], [1.0, 2.0]], [0.0, 0.0], x)
    assert str(cost) == "QuadraticCost ((x(0) * (x(0) + 0.5 * x(1))) + (x(1) * (0.5 * x(0) + x(1))))"


def test_coefficients_of_an_odd_highest_degree_are_zero() -> None:
    prog = MathematicalProgram()
    x, a = prog.NewIndeterminates(1, "x")[0], prog.NewContinuousVariables(1, "a")[0]
    prog.AddSosConstraint(symbolic.Polynomial(a * x**3 + x**2 + 1.0 - x, symbolic.Variables([x])))
    result = Solve(prog)
    assert result.is_success() and abs(result.GetSolution(a)) < 1e-7
    with pytest.raises(ValueError, match="of the odd degree 3"):
        prog.AddSosConstraint(symbolic.Polynomial(2.0 * x**3 + x**2, symbolic.Variables([x])))


def test_scs_lets_equations_be_a_little_wrong_as_its_own_tolerance_does() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    noise = prog.AddLinearEqualityConstraint(np.array([[1.0, 1.0], [1e-9, 0.0]]), [1.0, 1e-6], x)
    prog.AddBoundingBoxConstraint(0.0, 5.0, x)
    prog.AddLinearCost([1.0, 2.0], 0.0, x)
    exact, loose = ClarabelSolver().Solve(prog), ScsSolver().Solve(prog)
    assert exact.get_solution_result() is not SolutionResult.kSolutionFound
    assert loose.is_success()
    np.testing.assert_allclose(loose.GetSolution(x), [1.0, 0.0], atol=1e-4)
    assert loose.GetDualSolution(noise).size == 2
    noise.evaluator().UpdateCoefficients(np.ones((2, 2)), [1.0, 1.5])
    assert ScsSolver().Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
