"""Small linear and quadratic programs by DAQP: optima that prices prove, other endings, and solving again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import (
    Binding,
    ChooseBestSolver,
    ClarabelSolver,
    DaqpSolver,
    DaqpSolverDetails,
    GetAvailableSolvers,
    HighsSolver,
    LinearCost,
    MakeSolver,
    MathematicalProgram,
    MathematicalProgramResult,
    ProgramType,
    SolutionResult,
    Solve,
    SolverOptions,
)
from merganser.framework.optimization.forms.quadratic_form import LinearRows, QuadraticCosts

KINDS = SolutionResult


def random_program(rng: np.random.Generator, rank: int | None = None) -> MathematicalProgram:
    """A program with an optimum: costs that share variables, rows of two sides, equations, and two boxes that overlap.

    `rank` is that of the Hessian, by default full.
    """
    n = int(rng.integers(3, 9))
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n)
    here = rng.normal(size=n)
    root = rng.normal(size=(n if rank is None else rank, n))
    prog.AddQuadraticCost(root.T @ root, rng.normal(size=n), 1.5, x)
    twice = np.array([x[1], x[0], x[1]])  # one variable occurs twice
    prog.AddQuadraticCost(np.ones((3, 3)), rng.normal(size=3), twice)
    prog.AddLinearCost(rng.normal(size=2), 0.5, x[:2])
    A, width = rng.normal(size=(n, n)), rng.uniform(0.1, 1.0, n)
    low, high = A @ here - width, A @ here + width
    low[0], high[1] = -np.inf, np.inf
    prog.AddLinearConstraint(A, low, high, x[::-1][::-1])
    E = rng.normal(size=(1, 3))
    prog.AddLinearEqualityConstraint(E, E @ here[[1, 0, 1]], twice)
    prog.AddBoundingBoxConstraint(here - rng.uniform(0.0, 2.0, n), here + rng.uniform(0.0, 2.0, n), x)
    prog.AddBoundingBoxConstraint(here[-2:] - 0.5, here[-2:] + 0.5, x[-2:])
    return prog


def assert_prices_prove(prog: MathematicalProgram, result: MathematicalProgramResult, tolerance: float) -> None:
    """Prices make up the gradient of the cost, and are not 0 only at bounds: up from lower ones, down from upper."""
    x = result.get_x_val()
    gradient, of_prices = np.zeros(prog.num_vars()), np.zeros(prog.num_vars())
    for binding in prog.GetAllCosts():
        places = prog.FindDecisionVariableIndices(binding.variables())
        np.add.at(gradient, places, binding.evaluator()._value_and_jacobian(x[places])[1][0])
    for binding in prog.GetAllConstraints():
        places, rows = prog.FindDecisionVariableIndices(binding.variables()), binding.evaluator()
        price, y = result.GetDualSolution(binding), rows.Eval(x[places])
        np.add.at(of_prices, places, price @ rows.GetDenseA())
        assert (y >= rows.lower_bound() - tolerance).all() and (y <= rows.upper_bound() + tolerance).all()
        distance = np.abs(np.where(price > 0.0, y - rows.lower_bound(), y - rows.upper_bound()))
        assert (distance[price != 0.0] <= tolerance).all()
    np.testing.assert_allclose(of_prices, gradient, atol=tolerance)


@pytest.mark.parametrize("rank", [None, 1, 0])
def test_optima_are_proved_by_prices(rank: int | None) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        prog = random_program(rng, rank)
        assert ChooseBestSolver(prog) == DaqpSolver.id()
        result = Solve(prog)
        assert result.is_success() and result.get_solver_id().name() == "DAQP"
        assert_prices_prove(prog, result, 1e-9)
        cost = sum(b.evaluator().Eval(result.GetSolution(b.variables()))[0] for b in prog.GetAllCosts())
        assert result.get_optimal_cost() == pytest.approx(cost, abs=1e-9)
        other = ClarabelSolver().Solve(prog)
        assert result.get_optimal_cost() == pytest.approx(other.get_optimal_cost(), abs=1e-6)
        details = result.get_solver_details()
        assert isinstance(details, DaqpSolverDetails) and details.exitflag == 1 and details.iterations > 0


def test_programs_without_an_optimum_say_why() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddQuadraticCost(np.diag([1.0, 0.0]), np.array([0.0, -1.0]), x)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x[:1])
    unbounded = Solve(prog)
    assert unbounded.get_solution_result() is KINDS.kDualInfeasible and unbounded.get_optimal_cost() == -np.inf
    assert unbounded.get_solver_id() == DaqpSolver.id() and unbounded.get_solver_details().exitflag == -3
    prog.AddLinearConstraint(np.ones((1, 2)), [-np.inf], [1.0], x)
    prog.AddBoundingBoxConstraint(1.0, np.inf, x)
    infeasible = Solve(prog)
    assert infeasible.get_solution_result() is KINDS.kInfeasibleConstraints
    assert infeasible.get_optimal_cost() == np.inf
    assert infeasible.get_solver_id() == DaqpSolver.id() and infeasible.get_solver_details().exitflag == -1
    prog.AddBoundingBoxConstraint(-np.inf, 0.5, x[:1])
    assert Solve(prog).get_solution_result() is KINDS.kInfeasibleConstraints  # the boxes alone exclude each other


def test_what_is_wrong_or_not_proved_is_left_to_clarabel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether DAQP says that there is no solution, or returns an x that is not optimal."""
    import daqp

    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddQuadraticCost(np.eye(2), np.zeros(2), x)
    row = prog.AddLinearConstraint(np.ones((1, 2)), [1.0], [np.inf], x)
    real = daqp.solve
    for change, flag in ((0.0, -1), (0.0, -2), (0.1, 1)):
        monkeypatch.setattr(
            daqp, "solve", lambda *a, c=change, f=flag, **k: (real(*a, **k)[0] + c, 0.0, f, real(*a, **k)[3])
        )
        result = Solve(prog)
        assert result.is_success() and result.get_solver_id() == ClarabelSolver.id()
        np.testing.assert_allclose(result.get_x_val(), [0.5, 0.5], atol=1e-6)
        assert result.GetDualSolution(row) == pytest.approx([0.5], abs=1e-6)


def test_programs_that_it_does_not_take_and_options() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    prog.AddLinearConstraint(np.eye(3), -np.ones(3), np.ones(3), x)
    linear = prog.AddLinearCost(np.ones(3), 0.0, x)
    square = prog.AddQuadraticCost(np.diag([1.0, 1.0, -1.0]), np.zeros(3), x)
    with pytest.raises(ValueError, match=r"DaqpSolver is unable to solve because QuadraticCost .* is not convex"):
        DaqpSolver().Solve(prog)
    square.evaluator().UpdateCoefficients(np.eye(3), 5.0 * np.ones(3))
    assert DaqpSolver().AreProgramAttributesSatisfied(prog)
    few = SolverOptions(options={"DAQP": {"iter_limit": 1}})
    assert Solve(prog, None, few).get_solution_result() is KINDS.kIterationLimit
    with pytest.raises(ValueError, match="DaqpSolver: there is no option 'max_iter'"):
        Solve(prog, None, SolverOptions(options={"DAQP": {"max_iter": 1}}))
    prog.RemoveCost(linear)
    assert Solve(prog).is_success()
    assert DaqpSolver.id() in GetAvailableSolvers(ProgramType.kQP)
    assert DaqpSolver.id() not in GetAvailableSolvers(ProgramType.kSOCP)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (2, 5), (10, 20), (30, 60)])
def test_linear_programs_end_in_a_vertex_with_its_prices(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        A, inside, prices = rng.normal(size=(m, n)), rng.normal(size=n), rng.random(m)
        bounds = A @ inside + rng.random(m)
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(n)
        rows = prog.AddLinearConstraint(A, np.full(m, -np.inf), bounds, x)
        prog.AddLinearCost(-A.T @ prices, 2.0, x)
        result, other = Solve(prog), HighsSolver().Solve(prog)
        assert result.get_solver_id() == DaqpSolver.id()
        np.testing.assert_allclose(result.get_x_val(), other.get_x_val(), rtol=1e-9, atol=1e-9)
        assert result.get_optimal_cost() == pytest.approx(other.get_optimal_cost(), rel=1e-13)
        duals = result.GetDualSolution(rows)
        assert (duals <= 1e-9).all() and bounds @ duals + 2.0 == pytest.approx(result.get_optimal_cost(), rel=1e-9)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_size_of_a_linear_cost_does_not_move_its_corner(size: float) -> None:
    A, b = np.array([[1.0, 0.3], [0.2, 1.0]]), np.array([1.0 / 3.0, 2.0 / 3.0])
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    row = prog.AddLinearConstraint(A, np.full(2, -np.inf), b, x)
    prog.AddLinearCost(np.full(2, -size), 0.0, x)
    result = Solve(prog)
    assert result.get_solver_id() == DaqpSolver.id()
    np.testing.assert_allclose(result.get_x_val(), np.linalg.solve(A, b), rtol=1e-14)
    np.testing.assert_allclose(A.T @ result.GetDualSolution(row), np.full(2, -size), rtol=1e-9)


def test_prices_in_a_corner_of_more_rows_than_variables_prove_the_optimum() -> None:
    prog, a, h = MathematicalProgram(), np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    x = prog.NewContinuousVariables(3)
    prog.AddLinearCost(a, 0.0, x)
    box = prog.AddBoundingBoxConstraint(0.0, 1.0, x)
    row = prog.AddLinearConstraint(h[np.newaxis], [2.0], [2.5], x)
    result = Solve(prog)
    of_box, of_row = result.GetDualSolution(box), result.GetDualSolution(row)
    np.testing.assert_allclose(result.get_x_val(), [1.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(of_box + of_row * h, a, atol=1e-12)
    assert of_row >= 0.0 and (of_box[:2] <= 0.0).all() and of_box[2] >= 0.0


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_linear_programs_without_an_optimum_and_with_many(size: float) -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddBoundingBoxConstraint(-size, size, x)
    assert Solve(prog).is_success()
    cost = prog.AddLinearCost([1.0, 0.0], 0.0, x).evaluator()
    edge = Solve(prog)
    assert edge.get_optimal_cost() == pytest.approx(-size, rel=1e-12) and abs(edge.get_x_val()[1]) <= size
    beyond = prog.AddLinearConstraint(np.ones((1, 2)), [3.0 * size], [np.inf], x)
    assert Solve(prog).get_solution_result() is KINDS.kInfeasibleConstraints
    prog.RemoveConstraint(beyond)
    prog.AddLinearConstraint(np.array([[1.0, -1.0]]), [0.0], [np.inf], x)
    y = prog.NewContinuousVariables(1)
    prog.AddLinearConstraint(np.array([[1.0, 1.0]]), [0.0], [0.0], [x[1], y[0]])
    free = prog.NewContinuousVariables(1)
    cost.UpdateCoefficients([1.0, 1.0])
    assert Solve(prog).get_optimal_cost() == pytest.approx(-2.0 * size, rel=1e-12)
    prog.AddLinearCost([1.0], 0.0, free)
    assert Solve(prog).get_solution_result() in (KINDS.kUnbounded, KINDS.kDualInfeasible)


@pytest.mark.parametrize("has_square", [False, True])
@pytest.mark.parametrize("gap", [1e-9, 1e-4, 1.0])
def test_that_rows_contradict_each_other_is_proved_by_prices(
    gap: float, has_square: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three half planes around a triangle without inside; a gap near rounding is left to another solver."""
    asked: list[str] = []
    for other in (HighsSolver, ClarabelSolver):
        solve = other._solve
        monkeypatch.setattr(other, "_solve", lambda self, *a, f=solve: asked.append(self.NAME) or f(self, *a))
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    turns = 2.0 * np.pi / 3.0 * np.arange(3)
    normals = np.column_stack((np.cos(turns), np.sin(turns)))
    prog.AddLinearConstraint(normals, np.full(3, -np.inf), normals @ [3.0, 1.0] - gap, x)
    prog.AddBoundingBoxConstraint(-10.0, 10.0, x)
    if has_square:
        prog.AddQuadraticCost(np.eye(2), np.zeros(2), x)
    result = DaqpSolver().Solve(prog)
    if gap < 1e-6:
        assert asked or result.is_success()
        return
    assert result.get_solution_result() is KINDS.kInfeasibleConstraints and not asked
    np.testing.assert_allclose(result.get_x_val(), [3.0, 1.0], atol=1e-8)  # as far from all three


def test_a_limit_of_iterations_that_nobody_asked_for_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    import daqp

    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    prog.AddLinearCost([1.0, 2.0], 0.0, x)
    real = daqp.solve
    monkeypatch.setattr(daqp, "solve", lambda *a, **k: (*real(*a, **k)[:2], -4, real(*a, **k)[3]))
    result = Solve(prog)
    assert result.get_solver_id() == HighsSolver.id() and result.get_optimal_cost() == -3.0


def test_large_programs_get_a_sparse_method() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(400)
    prog.AddQuadraticCost(np.eye(400), np.zeros(400), x)
    prog.AddBoundingBoxConstraint(1.0, 2.0, x)
    assert ChooseBestSolver(prog) == ClarabelSolver.id()
    np.testing.assert_allclose(DaqpSolver().Solve(prog).get_x_val(), np.ones(400), atol=1e-9)


def test_without_daqp_programs_are_solved_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    prog = random_program(np.random.default_rng(1))
    with_it = Solve(prog)
    monkeypatch.setattr(DaqpSolver, "available", lambda self: False)
    assert ChooseBestSolver(prog) == ClarabelSolver.id()
    without = Solve(prog)
    np.testing.assert_allclose(without.get_x_val(), with_it.get_x_val(), atol=1e-5)
    with pytest.raises(ValueError, match="DaqpSolver cannot solve: it is not available"):
        DaqpSolver().Solve(prog)


# -- programs that are solved again ----------------------------------------------------------------------------------


def sparse(A: Any) -> Any:
    from scipy.sparse import csc_matrix

    return csc_matrix(A)


def add_a_variable(prog: MathematicalProgram, parts: list[Any]) -> None:
    y = prog.NewContinuousVariables(1, "y")
    prog.AddQuadraticCost(np.eye(1), -np.ones(1), y)


def remove_a_variable(prog: MathematicalProgram, parts: list[Any]) -> None:
    y = prog.NewContinuousVariables(2, "y")
    prog.AddQuadraticCost(np.eye(1), -np.ones(1), y[1:])
    Solve(prog)
    prog.RemoveDecisionVariable(y[0])


def share_a_cost(prog: MathematicalProgram, parts: list[Any]) -> None:
    cost = LinearCost(np.zeros(1))
    prog.AddCost(Binding(cost, [prog.decision_variable(0)]))
    Solve(prog)
    cost.update_coefficient_entry(0, 3.0)


CHANGES: dict[str, Callable[[MathematicalProgram, list[Any]], Any]] = {
    "nothing": lambda prog, parts: None,
    "Q and b": lambda prog, parts: parts[0].UpdateCoefficients(2.0 * np.eye(3), np.ones(3)),
    "an entry of Q": lambda prog, parts: parts[0].UpdateHessianEntry(0, 1, 0.5),
    "an entry of b": lambda prog, parts: parts[0].update_linear_coefficient_entry(2, 7.0),
    "the constant": lambda prog, parts: parts[0].update_constant_term(7.0),
    "an entry of a shared cost": share_a_cost,
    "A and bounds": lambda prog, parts: parts[1].UpdateCoefficients(np.eye(3)[:2], [0.4, 0.5], [1.0, 1.0]),
    "more rows": lambda prog, parts: parts[1].UpdateCoefficients(np.eye(3), 0.2 * np.ones(3), np.ones(3)),
    "a sparse A": lambda prog, parts: parts[1].UpdateCoefficients(sparse(np.eye(3)[1:]), [0.4, 0.5], [1.0, 1.0]),
    "tiny coefficients": lambda prog, parts: parts[1].RemoveTinyCoefficient(0.3),
    "bounds": lambda prog, parts: parts[1].set_bounds([0.7, 0.7], [0.7, 1.0]),
    "an equation": lambda prog, parts: parts[2].UpdateCoefficients(np.array([[0.0, 1.0, 1.0]]), [0.1]),
    "a box": lambda prog, parts: parts[3].set_bounds(0.3 * np.ones(3), np.ones(3)),
    "one more row": lambda prog, parts: prog.AddLinearConstraint(np.ones((1, 3)), [0.9], [1.0], prog._variables[:3]),
    "one more box": lambda prog, parts: prog.AddBoundingBoxConstraint(0.2, 0.3, prog._variables[:1]),
    "one row less": lambda prog, parts: prog.RemoveConstraint(prog.linear_constraints()[0]),
    "one cost less": lambda prog, parts: prog.RemoveCost(prog.linear_costs()[0]),
    "one more variable": add_a_variable,
    "one variable less": remove_a_variable,
}


def small_program() -> tuple[MathematicalProgram, list[Any]]:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    cost = prog.AddQuadraticCost(np.diag([3.0, 1.0, 1.0]), np.zeros(3), x)
    prog.AddLinearCost(np.array([0.3, -0.3]), 0.0, x[:2])
    rows = prog.AddLinearConstraint(np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.2]]), [0.2, 0.3], [1.0, 1.0], x)
    equation = prog.AddLinearEqualityConstraint(np.array([[1.0, 1.0, 1.0]]), [1.0], x)
    box = prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
    return prog, [each.evaluator() for each in (cost, rows, equation, box)]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("solver", [DaqpSolver, ClarabelSolver])
def test_a_program_that_was_solved_and_changed_is_solved_as_a_new_one(change: str, solver: type) -> None:
    prog, parts = small_program()
    before = solver().Solve(prog)
    CHANGES[change](prog, parts)
    fresh, new_parts = small_program()
    CHANGES[change](fresh, new_parts)
    again, expected = solver().Solve(prog), solver().Solve(fresh)
    assert before.is_success() and again.is_success()
    np.testing.assert_array_equal(again.get_x_val(), expected.get_x_val())
    assert again.get_optimal_cost() == expected.get_optimal_cost()
    for ours, theirs in zip(prog.GetAllConstraints(), fresh.GetAllConstraints()):
        np.testing.assert_array_equal(again.GetDualSolution(ours), expected.GetDualSolution(theirs))


def test_arrays_of_a_program_are_made_again_only_where_numbers_have_changed() -> None:
    prog, (cost, rows, _, _) = small_program()
    names = ("linear_constraints", "linear_equality_constraints")
    Solve(prog)
    costs, linear = QuadraticCosts.of(prog), LinearRows.of(prog, *names)
    H, A, f = costs.hessian(), linear.below_identity(), costs.f
    kept = H.copy(), A.copy(), f.copy()
    Solve(prog, np.ones(3))
    assert QuadraticCosts.of(prog) is costs and LinearRows.of(prog, *names) is linear
    for array, copy in zip((H, A, f), kept):
        np.testing.assert_array_equal(array, copy)  # a solver has not written there
    cost.update_linear_coefficient_entry(0, 1.0)
    rows.set_bounds([0.0, 0.0], [1.0, 1.0])
    assert QuadraticCosts.of(prog).hessian() is H and LinearRows.of(prog, *names).below_identity() is A
    assert QuadraticCosts.of(prog).f is not f


def test_matrices_and_bounds_that_are_asked_for_are_copies() -> None:
    """So that nothing changes arrays of a program but functions of its constraints."""
    prog, (cost, rows, _, box) = small_program()
    first = Solve(prog).get_x_val()
    rows.UpdateCoefficients(sparse(rows.GetDenseA()), rows.lower_bound(), rows.upper_bound())
    matrices = cost.Q(), rows.GetDenseA(), rows.get_sparse_A().data
    for array in (*matrices, cost.b(), rows.lower_bound(), box.upper_bound()):
        array[:] = 5.0
    np.testing.assert_allclose(Solve(prog).get_x_val(), first, atol=1e-12)


# -- one rule of choice ----------------------------------------------------------------------------------------------


def test_the_solver_that_is_chosen_solves_as_solve_does() -> None:
    """Also where a second method is tried: derivatives of these equations depend on each other."""
    for change in ("nonlinear", "quadratic", "linear", "equations"):
        prog = MathematicalProgram()
        x = prog.NewContinuousVariables(2)
        if change == "nonlinear":
            prog.AddConstraint(lambda x: np.array([x[0] ** 2 + x[1] ** 2, 0.0 * x[0]]), [1.0, 0.0], [1.0, 0.0], x)
            prog.AddCost((x[0] - 1.0) ** 2 + (x[1] - 2.0) ** 2)
        if change == "quadratic":
            prog.AddQuadraticErrorCost(1.0, [2.0, 3.0], x)
        if change in ("quadratic", "linear"):
            prog.AddBoundingBoxConstraint(-1.0, 1.0, x)
            prog.AddLinearCost(np.ones(2), 0.0, x)
        if change == "equations":
            prog.AddLinearEqualityConstraint(np.eye(2), np.ones(2), x)
        chosen = MakeSolver(ChooseBestSolver(prog)).Solve(prog, [0.5, 0.5])
        result = Solve(prog, [0.5, 0.5])
        assert chosen.is_success() and chosen.get_solver_id() == result.get_solver_id()
        np.testing.assert_array_equal(chosen.get_x_val(), result.get_x_val())
