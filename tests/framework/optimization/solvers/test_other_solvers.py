"""Augmented Lagrangians, projected gradients, details of stand-in solvers, and files of semidefinite programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.optimization import (
    AugmentedLagrangianNonsmooth,
    AugmentedLagrangianSmooth,
    ClarabelSolver,
    ClpSolver,
    CsdpSolver,
    GenerateSDPA,
    GurobiSolver,
    InteriorPointSolverDetails,
    IpoptSolver,
    MathematicalProgram,
    MosekSolver,
    NloptSolver,
    OsqpSolver,
    ProjectedGradientDescentSolver,
    RemoveFreeVariableMethod,
    ScsSolver,
    SlsqpSolverDetails,
    SnoptSolver,
    SolutionResult,
    Solve,
    SolverOptions,
)
from merganser.framework.optimization.solvers import first_order_solvers


def rows_program() -> tuple[MathematicalProgram, Any]:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddCost((x[0] - 2.0) ** 2 + x[1] ** 2)
    prog.AddConstraint(x[0] ** 2 + x[1] ** 2 <= 3.0)
    prog.AddLinearConstraint(np.array([[1.0, 1.0]]), [0.5], [4.0], x)
    prog.AddLinearEqualityConstraint(np.array([[1.0, -1.0]]), [0.1], x)
    prog.AddBoundingBoxConstraint([-1.0, 2.0], [np.inf, 2.0], x)
    return prog, x


def test_augmented_lagrangians_agree_at_the_best_slacks() -> None:
    prog, _ = rows_program()
    for include, rows in ((False, [False, False, False, True]), (True, [False, False, False, True, False, True])):
        kinked = AugmentedLagrangianNonsmooth(prog, include)
        smooth = AugmentedLagrangianSmooth(prog, include)
        assert kinked.is_equality() == smooth.is_equality() == rows
        assert smooth.s_size() == rows.count(False) and kinked.lagrangian_size() == len(rows)
        rng = np.random.default_rng(0)
        for _ in range(5):
            x, price, mu = rng.normal(size=2), rng.normal(size=len(rows)), 0.7
            value, residues, cost = kinked.Eval(x, price, mu)
            best = np.maximum(residues - price / mu, 0.0)[[not each for each in rows]]
            assert smooth.Eval(x, best, price, mu)[0] == pytest.approx(value)
            assert smooth.Eval(x, best + rng.uniform(0.0, 1.0, best.size), price, mu)[0] >= value
            assert cost == pytest.approx((x[0] - 2.0) ** 2 + x[1] ** 2)
            slope = kinked.Eval(InitializeAutoDiff(x).ravel(), price, mu)[0].derivatives()
            steps = [
                kinked.Eval(x + 1e-6 * e, price, mu)[0] - kinked.Eval(x - 1e-6 * e, price, mu)[0] for e in np.eye(2)
            ]
            np.testing.assert_allclose(slope, np.array(steps) / 2e-6, atol=1e-6)
    with pytest.raises(ValueError, match="expected mu > 0"):
        kinked.Eval(np.zeros(2), np.zeros(6), 0.0)
    with pytest.raises(ValueError, match="and 6 in lambda_val"):
        kinked.Eval(np.zeros(2), np.zeros(5), 1.0)
    np.testing.assert_array_equal(kinked.x_lo(), [-1.0, 2.0])
    np.testing.assert_array_equal(kinked.x_up(), [np.inf, 2.0])


def test_projected_gradients_find_the_optimum_of_a_convex_program() -> None:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddQuadraticCost(np.diag([1.0, 10.0]), np.array([-1.0, -2.0]), x)
    prog.AddBoundingBoxConstraint(1.0, 2.0, x)
    prog.AddLinearConstraint(x[0] + x[1] >= 2.5)
    solver = ProjectedGradientDescentSolver()
    result = solver.Solve(prog)
    np.testing.assert_allclose(result.get_x_val(), Solve(prog).get_x_val(), atol=1e-6)
    assert result.get_solver_id() == ProjectedGradientDescentSolver.id()
    seen = []
    solver.SetCustomGradientFunction(lambda y: np.array([y[0] - 1.0, 10.0 * y[1] - 2.0]))
    solver.SetProjectionSolverInterface(ClarabelSolver())
    np.testing.assert_allclose(solver.Solve(prog).get_x_val(), result.get_x_val(), atol=1e-6)
    solver.SetCustomProjectionFunction(lambda y: (seen.append(1) or True, np.maximum(y, 1.5)))
    np.testing.assert_allclose(solver.Solve(prog).get_x_val(), [1.5, 1.5])
    assert seen
    solver.SetCustomProjectionFunction(lambda y: (False, y))
    assert solver.Solve(prog).get_solution_result() is SolutionResult.kInfeasibleConstraints
    options = SolverOptions()
    options.SetOption(ProjectedGradientDescentSolver.id(), solver.MaxIterationsOptionName(), 1)
    short = ProjectedGradientDescentSolver().Solve(prog, None, options)
    assert short.get_solution_result() is SolutionResult.kIterationLimit


def linear_program(is_feasible: bool = True) -> MathematicalProgram:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    prog.AddLinearCost([1.0, 2.0], 3.0, x)
    prog.AddBoundingBoxConstraint(1.0, 2.0, x)
    prog.AddLinearConstraint(np.array([[1.0, 1.0]]), [2.5], [4.0], x)
    prog.AddLinearEqualityConstraint(np.array([[1.0, -1.0]]), [0.1], x)
    if not is_feasible:
        prog.AddLinearConstraint(x[0] + x[1] <= -3.0)
    return prog


def test_stand_ins_report_what_the_solvers_they_replace_would() -> None:
    expected = {ClpSolver: ("status", 0, 1), NloptSolver: ("status", 4, -1), CsdpSolver: ("return_code", 0, 1)}
    expected |= {SnoptSolver: ("info", 1, None), IpoptSolver: ("status", 0, None)}
    for solver, (name, found, infeasible) in expected.items():
        for is_feasible, code in ((True, found), (False, infeasible)):
            result = solver().Solve(linear_program(is_feasible))
            details = result.get_solver_details()
            if code is None:  # there are no prices, so the details are those of the solver that ran
                ran = {"SLSQP": SlsqpSolverDetails, "InteriorPoint": InteriorPointSolverDetails}
                assert type(details) is ran[result.get_solver_id().name()]
                continue
            assert type(details).__name__ == f"{solver.__name__}Details"
            assert getattr(details, name) == code, solver
            assert details.by is not None


@pytest.mark.parametrize("module", ["osqp", "scs", ""])
def test_first_order_solvers_run_where_they_are_installed(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if module:
        pytest.importorskip(module, reason=f"runs the package {module}")
    else:
        monkeypatch.setattr(first_order_solvers, "is_installed", lambda name: False)
    solvers: dict[Any, tuple[str, int]] = {OsqpSolver: ("status_val", 3), ScsSolver: ("scs_status", -2)}
    for solver, (name, infeasible) in solvers.items():
        if module not in ("", solver.MODULE):
            continue
        for is_feasible, code in ((True, 1), (False, infeasible)):
            result = solver().Solve(linear_program(is_feasible))
            assert result.get_solver_id().name() == (solver.NAME if module else "Clarabel")
            details = result.get_solver_details()
            assert getattr(details, name) == code
            assert (details.by is None) == bool(module)
        options = SolverOptions()
        options.SetOption(solver.id(), "max_iter" if solver is OsqpSolver else "max_iters", 3)
        short = solver().Solve(linear_program(), None, options)
        assert short.get_solution_result() is SolutionResult.kIterationLimit
        options.SetOption(solver.id(), "bogus", 3)
        if module:
            with pytest.raises(ValueError, match=f"{solver.__name__}: expected options of {solver.NAME}"):
                solver().Solve(linear_program(), None, options)


def test_scs_takes_cones_of_all_kinds_with_their_prices() -> None:
    pytest.importorskip("scs", reason="runs the package scs")
    prog, exact = MathematicalProgram(), SolverOptions()
    for name in ("eps_abs", "eps_rel"):
        exact.SetOption(ScsSolver.id(), name, 1e-9)
    X, y = prog.NewSymmetricContinuousVariables(3), prog.NewContinuousVariables(3)
    bindings = [
        prog.AddPositiveSemidefiniteConstraint(X),
        prog.AddLinearEqualityConstraint(X[1, 1] + X[0, 2] == 1.0),
        prog.AddLorentzConeConstraint(np.eye(3), np.array([0.0, 1.0, 2.0]), y),
        prog.AddExponentialConeConstraint(np.diag([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0]), y),
        prog.AddLinearConstraint(X[0, 1] + y[1] >= 0.3),
    ]
    prog.AddQuadraticCost(np.eye(3), np.zeros(3), y)
    prog.AddLinearCost(np.trace(X) + 0.5 * X[0, 1])
    one, two = ScsSolver().Solve(prog, None, exact), ClarabelSolver().Solve(prog)
    assert one.get_solver_id().name() == "SCS"
    assert one.get_optimal_cost() == pytest.approx(two.get_optimal_cost(), abs=1e-6)
    for each in bindings:
        np.testing.assert_allclose(one.GetDualSolution(each), two.GetDualSolution(each), atol=1e-5)


def test_prices_in_details_have_the_signs_of_their_solvers() -> None:
    prog = linear_program()
    snopt = SnoptSolver().Solve(prog).get_solver_details()
    np.testing.assert_allclose(snopt.Fmul, [0.0, 1.5, -0.5], atol=1e-6)
    np.testing.assert_allclose(snopt.F[1:], [2.5, 0.1], atol=1e-6)
    np.testing.assert_allclose(snopt.xmul, 0.0, atol=1e-6)
    ipopt = IpoptSolver().Solve(prog).get_solver_details()
    np.testing.assert_allclose(ipopt.lambda_val, [-1.5, 0.5], atol=1e-5)
    np.testing.assert_allclose(ipopt.g, [2.5, 0.1], atol=1e-5)
    assert ipopt.ConvertStatusToString() == "Success"
    osqp = OsqpSolver().Solve(prog).get_solver_details()
    np.testing.assert_allclose(osqp.y, [-1.5, 0.5, 0.0, 0.0], atol=1e-6)
    assert osqp.run_time >= osqp.solve_time > 0.0 and osqp.iter > 0
    scs = ScsSolver().Solve(prog).get_solver_details()
    assert scs.primal_objective == pytest.approx(6.7, abs=1e-3) and abs(scs.duality_gap) < 1e-3


def read_sdpa(path: Path) -> tuple[float, Any, Any, list[list[Any]]]:
    lines = path.read_text().splitlines()
    constant = float(lines[0].split()[1]) if lines[0].startswith('"') else 0.0
    lines = lines[1:] if lines[0].startswith('"') else lines
    sizes = [int(each) for each in lines[2].split()]
    a = np.array([float(each) for each in lines[3].split()])
    assert int(lines[0]) == a.size and int(lines[1]) == len(sizes)
    matrices = [[np.zeros((abs(size),) * 2) for size in sizes] for _ in range(a.size + 1)]
    for line in lines[4:]:
        k, block, i, j = (int(each) for each in line.split()[:4])
        matrices[k][block - 1][[i - 1, j - 1], [j - 1, i - 1]] = float(line.split()[4])
    return constant, sizes, a, matrices


def greatest(path: Path) -> float:
    """The value of a file by its dual, min a'y so that sum y_i A_i - C >= 0."""
    constant, sizes, a, matrices = read_sdpa(path)
    prog = MathematicalProgram()
    y = prog.NewContinuousVariables(a.size)
    prog.AddLinearCost(a, 0.0, y)
    for block, size in enumerate(sizes):
        C, *A = (each[block] for each in matrices)
        if size < 0:
            rows = np.array([np.diag(each) for each in A]).T
            prog.AddLinearConstraint(rows, np.diag(C), np.full(-size, np.inf), y)
        else:
            prog.AddLinearMatrixInequalityConstraint([-C, *A], y)
    result = Solve(prog)
    assert result.is_success()
    return result.get_optimal_cost() - constant


@pytest.mark.parametrize("method", list(RemoveFreeVariableMethod))
def test_files_of_semidefinite_programs_have_the_same_optimum(method: Any, tmp_path: Path) -> None:
    cones = linear_program()
    x = cones.decision_variables()
    cones.AddLorentzConeConstraint(np.array([3.0 + 0.0 * x[0], x[0], x[1]]))
    matrices = MathematicalProgram()
    X = matrices.NewSymmetricContinuousVariables(3)
    matrices.AddPositiveSemidefiniteConstraint(X)
    matrices.AddLinearCost(X[0, 0] + 2.0 * X[1, 1] + X[2, 2] - X[0, 1])
    matrices.AddLinearEqualityConstraint([X[0, 1] + X[1, 2]], [1.0])
    matrices.AddBoundingBoxConstraint(0.1, 2.0, X[0, 2])
    for prog in (linear_program(), cones, matrices):
        assert GenerateSDPA(prog, str(tmp_path / "program"), method)
        assert -greatest(tmp_path / "program.dat-s") == pytest.approx(Solve(prog).get_optimal_cost(), abs=2e-5)
    assert not GenerateSDPA(cones, str(tmp_path / "no folder" / "program"), method)
    cones.AddQuadraticCost(x.dot(x))
    with pytest.raises(ValueError, match="the program has QuadraticCost"):
        GenerateSDPA(cones, str(tmp_path / "program"), method)


@pytest.mark.parametrize("solver", [GurobiSolver, MosekSolver])
def test_programs_that_hold_a_licence_go_on_without_one(solver: Any) -> None:
    with solver.AcquireLicense() as held:
        assert isinstance(held, solver.License)
        assert not held.is_valid()
