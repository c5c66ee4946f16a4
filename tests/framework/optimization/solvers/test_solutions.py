"""Solutions that are known in closed form, infeasible and unbounded programs, and solves that are ended."""

from __future__ import annotations

import copy
import signal
import time
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import (
    AddLogarithmicSos1Constraint,
    AddLogarithmicSos2Constraint,
    AddSos2Constraint,
    ChooseBestSolver,
    ClarabelSolver,
    CsdpSolver,
    DaqpSolver,
    GurobiSolver,
    HighsSolver,
    IpoptSolver,
    MathematicalProgram,
    MixedIntegerBranchAndBound,
    OsqpSolver,
    OuterApproximationSolver,
    RemoveFreeVariableMethod,
    SnoptSolver,
    SolutionResult,
    Solve,
    SolveInParallel,
    SolverOptions,
)
from merganser.framework.symbolic import Polynomial, Variables
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed


@pytest.fixture
def prog() -> MathematicalProgram:
    return MathematicalProgram()


def test_least_squares_is_the_solution_of_the_normal_equations(prog: MathematicalProgram) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(8, 4)), rng.normal(size=8)
    x = prog.NewContinuousVariables(4)
    prog.Add2NormSquaredCost(A, b, x)
    np.testing.assert_allclose(Solve(prog).GetSolution(x), np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-9)


def test_prices_are_the_slopes_of_the_least_cost_by_the_bounds() -> None:
    def least(low: float, target: float, height: float) -> Any:
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(3)
        prog.AddQuadraticCost(np.eye(3), [0.3, -0.2, 0.1], x)
        bindings = [
            prog.AddLinearConstraint(np.array([[-1.0, -2.0, 0.5]]), [-np.inf], [-low], x),
            prog.AddLinearEqualityConstraint(np.array([[1.0, 1.0, 1.0]]), [target], x),
            prog.AddBoundingBoxConstraint(height, np.inf, x[2:]),
        ]
        options = SolverOptions(options={"Clarabel": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}})
        return Solve(prog, None, options), bindings

    result, bindings = least(3.0, 2.0, 0.8)
    prices = [result.GetDualSolution(binding)[0] for binding in bindings]
    h = 1e-3
    base, slopes = np.array([3.0, 2.0, 0.8]), []
    for e in np.eye(3):
        high, low = (least(*(base + sign * h * e))[0].get_optimal_cost() for sign in (1.0, -1.0))
        slopes.append((high - low) / (2 * h))
    np.testing.assert_allclose(prices, [-slopes[0], slopes[1], slopes[2]], atol=1e-5)


def test_the_smallest_circle_around_points(prog: MathematicalProgram) -> None:
    center, radius = prog.NewContinuousVariables(2), prog.NewContinuousVariables(1)
    prog.AddLinearCost(radius[0])
    for point in ((0, 0), (2, 0), (1, 1), (1, 0.2)):
        prog.AddLorentzConeConstraint(np.array([radius[0] + 0.0, *(center - np.array(point))]))
    result = Solve(prog)
    assert result.get_optimal_cost() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(result.GetSolution(center), [1, 0], atol=1e-4)


def test_the_greatest_determinant_and_mean_under_a_trace(prog: MathematicalProgram) -> None:
    X = prog.NewSymmetricContinuousVariables(3)
    prog.AddMaximizeLogDeterminantCost(X, weight=0.5)
    prog.AddLinearConstraint(np.ones((1, 3)), [-np.inf], [6.0], X.diagonal())
    result = Solve(prog)
    np.testing.assert_allclose(result.GetSolution(X), 2.0 * np.eye(3), atol=1e-3)
    assert result.get_optimal_cost() == pytest.approx(-1.5 * np.log(2.0), abs=1e-5)
    with pytest.raises(ValueError, match="weight must be finite and not negative"):
        prog.AddMaximizeLogDeterminantCost(X, -1.0)

    means = MathematicalProgram()
    z = means.NewContinuousVariables(3)
    means.AddMaximizeGeometricMeanCost(z, 2.0)
    means.AddLinearConstraint(np.array([[1.0, 2.0, 4.0]]), [-np.inf], [12.0], z)
    np.testing.assert_allclose(Solve(means).GetSolution(z), [4, 2, 1], atol=1e-3)
    single = MathematicalProgram()
    y = single.NewContinuousVariables(2)
    single.AddMaximizeGeometricMeanCost(np.array([[1.0, 2.0]]), np.ones(1), y)
    single.AddBoundingBoxConstraint(0.0, 1.0, y)
    assert Solve(single).get_optimal_cost() == pytest.approx(-4.0)
    with pytest.raises(ValueError, match="at least one entry of A x"):
        single.AddMaximizeGeometricMeanCost(np.zeros((0, 2)), np.zeros(0), y)


def test_the_sum_of_lengths_is_that_of_its_epigraph(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(1)
    prog.AddL1NormCostInEpigraphForm(np.ones((3, 1)), [-1.0, -2.0, -9.0], x)
    result = Solve(prog)
    assert result.GetSolution(x[0]) == pytest.approx(2.0) and result.get_optimal_cost() == pytest.approx(8.0)


def test_motzkin_polynomial_is_a_sum_of_squares_only_when_multiplied(prog: MathematicalProgram) -> None:
    x, y = prog.NewIndeterminates(2)
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    prog.AddSosConstraint(motzkin)
    assert Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
    multiplied = MathematicalProgram()
    multiplied.AddIndeterminates([x, y])
    gram, basis = multiplied.AddSosConstraint((x**2 + y**2 + 1) * motzkin)
    result = Solve(multiplied)
    assert result.is_success()
    Q = result.GetSolution(gram)
    assert np.linalg.eigvalsh(Q).min() > -1e-7
    monomials = np.array([each.ToExpression() for each in basis])
    square = monomials @ (Q @ monomials)
    assert Polynomial(square).CoefficientsAlmostEqual(Polynomial((x**2 + y**2 + 1) * motzkin), 1e-6)


def test_the_least_value_of_a_polynomial_by_sums_of_squares(prog: MathematicalProgram) -> None:
    x = prog.NewIndeterminates(1)[0]
    bound = prog.NewContinuousVariables(1, "bound")[0]
    prog.AddSosConstraint(Polynomial(x**4 - 3 * x**2 + x - bound, Variables([x])))
    prog.AddLinearCost(-bound)
    values = np.polyval([1, 0, -3, 1, 0], np.roots([4, 0, -6, 1]).real)
    assert Solve(prog).GetSolution(bound) == pytest.approx(values.min(), abs=1e-5)


@pytest.mark.parametrize("kind", ["kSos", "kSdsos", "kDsos"])
def test_polynomials_of_each_cone_are_nonnegative(prog: MathematicalProgram, kind: str) -> None:
    x = Variables(prog.NewIndeterminates(2))
    p, Q = prog.NewSosPolynomial(x, 4, MathematicalProgram.NonnegativePolynomial[kind])
    rng = np.random.default_rng(1)
    prog.AddLinearCost(rng.normal(size=Q.size), Q.ravel("F"))
    prog.AddBoundingBoxConstraint(-1, 1, Q)
    result = Solve(prog)
    assert result.is_success() and np.linalg.eigvalsh(result.GetSolution(Q)).min() > -1e-6
    assert result.GetSolution(p).decision_variables().empty()


def test_a_knapsack_by_two_solvers() -> None:
    values, weights = np.array([10.0, 13, 18, 31, 7, 15]), np.array([2.0, 3, 4, 7, 1, 4])

    def program() -> tuple[MathematicalProgram, Any]:
        prog = MathematicalProgram()
        taken = prog.NewBinaryVariables(6)
        prog.AddLinearCost(-values, taken)
        prog.AddLinearConstraint(weights[np.newaxis], [0], [10], taken)
        return prog, taken

    every = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    best = max(float(values @ row) for row in every if weights @ row <= 10)
    prog, taken = program()
    assert ChooseBestSolver(prog).name() == "HiGHS"
    assert -Solve(prog).get_optimal_cost() == pytest.approx(best)
    search = MixedIntegerBranchAndBound(prog, ClarabelSolver.id())
    assert search.Solve() is SolutionResult.kSolutionFound
    assert -search.GetOptimalCost() == pytest.approx(best, abs=1e-5)
    assert values @ search.GetSolution(taken) == pytest.approx(best, abs=1e-5)


def test_an_infeasible_linear_program_names_the_rows_that_contradict_each_other(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    prog.AddLinearCost([1.0, 1.0], x)
    prog.AddBoundingBoxConstraint(0, 1, x)
    prog.AddLinearConstraint(np.array([[1.0, 1.0]]), [5], [6], x).evaluator().set_description("far")
    prog.AddLinearConstraint(np.array([[1.0, -1.0]]), [-1], [1], x).evaluator().set_description("near")
    result = Solve(prog)
    assert result.get_solution_result() is SolutionResult.kInfeasibleConstraints and result.get_optimal_cost() == np.inf
    assert result.GetInfeasibleConstraintNames(prog) == ["far[0]: 5.000000 <= 2.000000 <= 6.000000"]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_exception_in_a_function_ends_the_solve_and_leaves_the_program(
    prog: MathematicalProgram, error: type[BaseException]
) -> None:
    calls = []

    def cost(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise error
        return (x[0] - 1.0) ** 2 + x[1] ** 4

    x = prog.NewContinuousVariables(2)
    prog.AddCost(cost, x)
    prog.SetInitialGuess(x, [3.0, 2.0])
    with pytest.raises(error):
        Solve(prog)
    np.testing.assert_array_equal(prog.GetInitialGuess(x), [3.0, 2.0])
    assert Solve(prog).GetSolution(x[0]) == pytest.approx(1.0, abs=1e-4)


def test_a_function_of_the_wrong_size_is_named(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(1)
    prog.AddConstraint(lambda z: [z[0], z[0]], [0.0], [1.0], x, "grip")
    with pytest.raises(ValueError, match="'grip': expected 1 values of the function, got 2"):
        Solve(prog)


def test_names_of_other_solvers_work_and_results_name_the_one_that_ran(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    prog.AddCost((x[0] - 1) ** 4 + x[1] ** 2)
    prog.SetSolverOption(SnoptSolver.id(), "Major iterations limit", 200)
    result = SnoptSolver().Solve(prog)
    assert result.is_success() and result.get_solver_id().name() == "SLSQP"
    prog.SetSolverOption(IpoptSolver.id(), "mu_strategy", "adaptive")
    with pytest.warns(UserWarning, match="IpoptSolver: the option 'mu_strategy' is not used"):
        IpoptSolver().Solve(prog)
    with pytest.raises(ValueError, match="GurobiSolver cannot solve: it is not available"):
        GurobiSolver().Solve(prog)
    with pytest.raises(ValueError, match="ClarabelSolver is unable to solve because GenericCost was declared"):
        ClarabelSolver().Solve(prog)


def test_callbacks_see_the_solver_go_and_scaling_changes_no_solution(prog: MathematicalProgram) -> None:
    x = prog.NewContinuousVariables(2)
    seen: list[float] = []
    prog.AddVisualizationCallback(lambda values: seen.append(float(values[0])), x[1:])
    prog.AddCost((1000.0 * x[0] - 1) ** 2 + (x[1] - 2) ** 2 + x[1] ** 4)
    prog.SetVariableScaling(x[0], 1e-3)
    result = Solve(prog)
    assert seen and seen[-1] == pytest.approx(result.GetSolution(x[1]))
    assert result.GetSolution(x[0]) == pytest.approx(1e-3, abs=1e-7)


def test_lemke_solves_problems_that_are_degenerate() -> None:
    rng = np.random.default_rng(2)
    for trial in range(50):
        root = np.round(rng.normal(size=(4, 4)), 1)
        M, q = root @ root.T + (trial % 2) * np.eye(4), np.round(rng.normal(size=4))
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(4)
        binding = prog.AddLinearComplementarityConstraint(M, q, x)
        result = Solve(prog)
        assert not result.is_success() or binding.evaluator().CheckSatisfied(result.GetSolution(x), 1e-8)
        assert result.is_success() or trial % 2 == 0


def test_ctrl_c_ends_a_large_solve_at_once(prog: MathematicalProgram) -> None:
    rng = np.random.default_rng(0)
    n = 300
    root = rng.normal(size=(n, n))
    x = prog.NewContinuousVariables(n)
    prog.AddQuadraticCost(root.T @ root, np.ones(n), x, is_convex=True)
    prog.AddLinearConstraint(rng.normal(size=(n, n)), -np.ones(n), np.ones(n), x)
    started = time.process_time()
    assert Solve(prog).is_success()
    whole = time.process_time() - started
    # By the clock of the process, which stands still where others work.
    handler = signal.signal(signal.SIGPROF, lambda *_: signal.default_int_handler(signal.SIGINT, None))
    try:
        started = time.process_time()
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_PROF, 0.3 * whole)
            Solve(prog)
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        assert time.process_time() - started < 0.75 * whole
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, handler)


def _solve_a_small_one(is_quadratic: bool) -> None:
    prog = MathematicalProgram()
    x = prog.NewBinaryVariables(2)
    prog.AddLinearCost(-np.ones(2), 0.0, x)
    if is_quadratic:
        prog.AddQuadraticErrorCost(np.eye(2), np.full(2, 0.3), x)
    assert Solve(prog).is_success()


@pytest.mark.parametrize("is_quadratic", [False, True])
def test_ctrl_c_ends_a_search_for_integers_at_once(prog: MathematicalProgram, is_quadratic: bool) -> None:
    rng = np.random.default_rng(0)
    x = prog.NewBinaryVariables(60)
    A = rng.integers(1, 100, (20, 60)).astype(float)
    prog.AddLinearConstraint(A, np.full(20, -np.inf), 0.5 * A.sum(axis=1), x)
    prog.AddLinearCost(-rng.integers(1, 100, 60).astype(float), 0.0, x)
    if is_quadratic:
        prog.AddQuadraticErrorCost(np.eye(60), np.full(60, 0.3), x)
    options = SolverOptions()  # that a search which goes on in the background ends with the test
    options.SetOption(HighsSolver.id(), "time_limit", 1.0)
    options.SetOption(OuterApproximationSolver.id(), "time_limit", 1.0)
    _solve_a_small_one(is_quadratic)  # imports libraries, some of which drop an interrupt that comes as they load
    handler = signal.signal(signal.SIGALRM, lambda *_: signal.default_int_handler(signal.SIGINT, None))
    try:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            Solve(prog, None, options)
        assert time.monotonic() - started < 0.9
        assert len(prog.GetAllConstraints()) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)


def test_programs_in_parallel_end_as_one_by_one() -> None:
    progs = []
    for k in range(6):
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(2)
        prog.AddQuadraticErrorCost(1.0, [k, 1.0], x)
        prog.AddBoundingBoxConstraint(0, 3, x)
        progs.append(prog)
    results = SolveInParallel(progs, parallelism=2)
    for prog, result in zip(progs, results):
        np.testing.assert_array_equal(result.get_x_val(), Solve(prog).get_x_val())
    guesses = [[0.0, 0.0], [1.0, 2.0]]
    assert [r.is_success() for r in SolveInParallel(progs[:2], guesses, solver_id=ClarabelSolver.id())] == [True, True]
    with pytest.raises(ValueError, match="6 programs, and 2 guesses"):
        SolveInParallel(progs, guesses)


def test_a_linear_program_that_presolving_takes_for_infeasible_is_unbounded(prog: MathematicalProgram) -> None:
    # HiGHS says "infeasible" of this program, which x = 0 satisfies.
    A = [[0.841, 0.188, 0.331, 0.411, -1.011, 0.783], [2.057, -1.638, -1.729, -1.505, 0.841, 0.129]]
    x = prog.NewContinuousVariables(6)
    prog.AddLinearConstraint(A, [-1.3, -1.8], [-0.0, np.inf], x)
    prog.AddLinearCost([-0.2, 0.6, 0.1, 0.5, -0.4, 0.7], x)
    assert Solve(prog).get_solution_result() is SolutionResult.kUnbounded


def test_cheaper_cones_bound_the_least_cost_from_both_sides() -> None:
    def least(change: str) -> float:
        prog = MathematicalProgram()
        X = prog.NewSymmetricContinuousVariables(3)
        constraint = prog.AddPositiveSemidefiniteConstraint(X)
        prog.AddLinearEqualityConstraint(np.ones((1, 3)), [1.0], X.diagonal())
        prog.AddLinearCost([1.0, -2.0, 3.0], [X[0, 1], X[1, 2], X[0, 2]])
        if change:
            getattr(prog, change)(constraint)
            assert prog.positive_semidefinite_constraints() == []
        return Solve(prog).get_optimal_cost()

    changes = (
        "RelaxPsdConstraintToDdDualCone",
        "RelaxPsdConstraintToSddDualCone",
        "",
        "TightenPsdConstraintToSdd",
        "TightenPsdConstraintToDd",
    )
    costs = [least(change) for change in changes]
    assert np.diff(costs).min() > -1e-6 and costs[-1] - costs[0] > 0.1


@pytest.mark.parametrize("is_logarithmic", [False, True])
def test_only_neighbours_have_weight(is_logarithmic: bool) -> None:
    heights = np.array([0.0, 2.0, 1.0, 5.0, 0.5])  # of a function that is linear between 0, 1, 2, 3 and 4

    def least(position: float) -> float:
        prog = MathematicalProgram()
        weights = prog.NewContinuousVariables(5)
        if is_logarithmic:
            AddLogarithmicSos2Constraint(prog, weights)
        else:
            y = prog.NewBinaryVariables(4)
            AddSos2Constraint(prog, weights, [1.0 - (1.0 - each) for each in y])  # expressions of variables, too
        prog.AddLinearEqualityConstraint(np.arange(5.0)[np.newaxis], [position], weights)
        prog.AddLinearCost(heights, weights)
        return Solve(prog).get_optimal_cost()

    for position in (0.0, 0.3, 1.5, 2.0, 2.9, 3.5, 4.0):
        assert least(position) == pytest.approx(np.interp(position, np.arange(5), heights), abs=1e-7)


def test_exactly_one_weight_has_its_code() -> None:
    for place in range(5):
        prog = MathematicalProgram()
        weights, digits = AddLogarithmicSos1Constraint(prog, 5)
        prog.AddLinearCost(-np.eye(5)[place], weights)
        result = Solve(prog)
        np.testing.assert_allclose(result.GetSolution(weights), np.eye(5)[place], atol=1e-7)
        code = int("".join(str(round(digit)) for digit in result.GetSolution(digits)), 2)
        assert code == place ^ (place >> 1)


def test_polynomials_of_even_degrees_have_two_gram_matrices(prog: MathematicalProgram) -> None:
    x = Variables(prog.NewIndeterminates(2))
    p, odd, even = prog.NewEvenDegreeSosPolynomial(x, 4)
    assert odd.shape == (2, 2) and even.shape == (4, 4)
    assert {m.total_degree() % 2 for m in p.monomial_to_coefficient_map()} == {0}


@pytest.mark.parametrize(("most", "is_success"), [(1.0, True), (0.5, False)])
def test_a_nonlinear_program_of_fixed_variables_says_if_they_are_feasible(
    prog: MathematicalProgram, most: float, is_success: bool
) -> None:
    x = prog.NewContinuousVariables(2)
    prog.AddBoundingBoxConstraint(1.0, 1.0, x)
    prog.AddConstraint(x[0] ** 2 * x[1] <= most)
    prog.AddCost(x[0] ** 4)
    result = Solve(prog)
    assert result.is_success() is is_success
    np.testing.assert_array_equal(result.GetSolution(x), [1.0, 1.0])


def test_dependent_equations_are_no_obstacle(prog: MathematicalProgram) -> None:
    """As of contact forces in balance, of which no torque about the normal comes."""
    x = prog.NewContinuousVariables(2)
    prog.AddConstraint(lambda x: np.array([x[0] ** 2 + x[1] ** 2, 0.0 * x[0]]), [1.0, 0.0], [1.0, 0.0], x)
    prog.AddCost((x[0] - 1.0) ** 2 + (x[1] - 2.0) ** 2)
    prog.AddConstraint(lambda x: [2.0 * x @ x], [2.0], [2.0], x)
    result = Solve(prog, [0.5, 0.5])
    assert result.is_success()
    np.testing.assert_allclose(result.get_x_val(), np.array([1.0, 2.0]) / np.sqrt(5.0), atol=1e-6)


def mixed_program(kind: str, rng: np.random.Generator) -> MathematicalProgram:
    """Four real variables and five binary ones."""
    prog = MathematicalProgram()
    x, b = prog.NewContinuousVariables(4), prog.NewBinaryVariables(5)
    both = np.append(x, b)
    if kind == "quadratic":
        root = rng.normal(size=(4, 4))
        prog.AddQuadraticCost(root @ root.T, rng.normal(size=4), 1.5, x)
    prog.AddLinearCost(rng.normal(size=9) * np.repeat([0.3, 1.0], [4, 5]), 0.5, both)
    prog.AddBoundingBoxConstraint(-3.0, 3.0, x)
    prog.AddLinearConstraint(rng.normal(size=(2, 9)), -np.ones(2), np.ones(2), both)
    if kind == "cone":
        A = np.vstack((np.append(0.1 * rng.normal(size=4), np.full(5, 0.7)), rng.normal(size=(3, 9))))
        prog.AddLorentzConeConstraint(A, rng.normal(size=4) + [2.0, 0.0, 0.0, 0.0], both)
    if kind == "matrix":
        F = rng.normal(size=(4, 2, 2))
        prog.AddLinearMatrixInequalityConstraint([2.0 * np.eye(2), *(F[1:] + F[1:].transpose(0, 2, 1))], both[2:5])
    return prog


@pytest.mark.parametrize("kind", ["quadratic", "cone", "matrix"])
def test_convex_programs_with_integers_are_solved_by_two_solvers(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(4):
        prog = mixed_program(kind, rng)
        assert ChooseBestSolver(prog).name() == "OuterApproximation"
        result = Solve(prog)
        search = MixedIntegerBranchAndBound(prog, ClarabelSolver.id())
        assert search.Solve() is SolutionResult.kSolutionFound
        assert result.get_optimal_cost() == pytest.approx(search.GetOptimalCost(), abs=1e-5)
        assert result.GetInfeasibleConstraints(prog, 1e-5) == []
        details = result.get_solver_details()
        assert details.lower_bound <= result.get_optimal_cost() + 1e-6 and details.iterations >= 1


def test_a_convex_program_without_integer_solution_is_infeasible(prog: MathematicalProgram) -> None:
    b = prog.NewBinaryVariables(2)
    prog.AddLorentzConeConstraint(np.array([0.3 + 0.0 * b[0], b[0] - 0.5, b[1] - 0.5]))  # round the middle
    prog.AddLinearCost(np.ones(2), b)
    result = Solve(prog)
    assert result.get_solution_result() is SolutionResult.kInfeasibleConstraints
    assert result.get_optimal_cost() == np.inf


@pytest.mark.parametrize("kind", [DaqpSolver, ClarabelSolver])
def test_a_search_by_branches_is_not_held_up_by_choices_of_equal_cost(kind: Any) -> None:
    """Twelve steps, each on one of seven stones, cost only where the last one ends, so that most ways are as good."""
    stones = [(0.7 * i - 0.35, 0.7 * i + 0.35) for i in range(7)]
    prog = MathematicalProgram()
    x, on = prog.NewContinuousVariables(12), prog.NewBinaryVariables(12, 7)
    for k in range(12):
        prog.AddLinearEqualityConstraint(np.ones((1, 7)), [1.0], on[k])
        for (low, high), is_on in zip(stones, on[k]):
            prog.AddLinearConstraint(np.array([[1.0, 20.0]]), [-np.inf], [high + 20.0], [x[k], is_on])
            prog.AddLinearConstraint(np.array([[1.0, -20.0]]), [low - 20.0], [np.inf], [x[k], is_on])
    for k in range(11):
        prog.AddLinearConstraint(np.array([[-1.0, 1.0]]), [-0.6], [0.6], x[k : k + 2])
    prog.AddQuadraticErrorCost(np.eye(1), [2.0], x[-1:])
    search = MixedIntegerBranchAndBound(prog, kind.id())
    assert search.Solve() is SolutionResult.kSolutionFound and search.num_explored_nodes < 50
    assert search.GetOptimalCost() == pytest.approx(0.0, abs=1e-6)


def test_a_search_by_branches_keeps_the_second_best_solution_that_it_passes(prog: MathematicalProgram) -> None:
    """x_0 = 1 in any case; b_0 = 1 takes x_1 = 0, and b_0 = 0 takes x_1 = 0.5, at the same cost."""
    x, b = prog.NewContinuousVariables(2), prog.NewBinaryVariables(2)
    prog.AddLinearConstraint(b[0] + x[0] + 2.0 * x[1] == 2.0)
    prog.AddLinearConstraint(x[0] - 3.1 * b[1] >= 1.0)
    prog.AddLinearConstraint(b[1] + 1.2 * x[1] - b[0] <= 5.0)
    prog.AddQuadraticCost(x[0] ** 2)
    search = MixedIntegerBranchAndBound(prog, OsqpSolver.id())
    assert search.Solve() is SolutionResult.kSolutionFound
    assert search.GetOptimalCost() == pytest.approx(1.0, abs=1e-5)
    assert search.GetSubOptimalCost(0) == pytest.approx(1.0, abs=1e-5)
    assert sorted(search.GetSolution(x[1], n) for n in range(2)) == pytest.approx([0.0, 0.5], abs=1e-5)


def test_members_of_enumerations_are_options_by_their_numbers() -> None:
    options = SolverOptions()
    options.SetOption(CsdpSolver.id(), "drake::RemoveFreeVariableMethod", RemoveFreeVariableMethod.kNullspace)
    assert options.options == {"CSDP": {"drake::RemoveFreeVariableMethod": 2}}
    with pytest.raises(TypeError, match="expected int, float or str, got list"):
        options.SetOption(CsdpSolver.id(), "maxiter", [1])


def test_options_are_read_from_yaml_and_written_to_it() -> None:
    text = "options:\n  SNOPT:\n    Major iterations limit: 10\n    tol: 0.5\n    Print file: out.txt\n"
    options = yaml_load_typed(schema=SolverOptions, data=text)
    assert options.options == {"SNOPT": {"Major iterations limit": 10, "tol": 0.5, "Print file": "out.txt"}}
    assert yaml_load_typed(schema=SolverOptions, data=yaml_dump_typed(options)) == options
    copied = copy.copy(options)
    copied.SetOption(SnoptSolver.id(), "tol", 0.1)
    assert options.options["SNOPT"]["tol"] == 0.5
