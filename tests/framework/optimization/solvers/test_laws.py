"""Laws of optima, of random programs of each class: prices prove them, and they do not depend on how one writes them.

With prices p of rows and u of cones, minimize 0.5 x'Qx + c'x so that low <= A x <= high, F x + g in K has

    Q x + c = A'p + sum F'u,   p (A x - bound) = 0,   u in the dual cone,   u'(F x + g) = 0                     (1)

and so the cost of the dual program, which is a lower bound, is that of x.
"""

from __future__ import annotations

import itertools
import pickle
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import (
    ClarabelSolver,
    DaqpSolver,
    HighsSolver,
    InteriorPointSolver,
    MathematicalProgram,
    MathematicalProgramResult,
    MixedIntegerBranchAndBound,
    OsqpSolver,
    ScsSolver,
    Solve,
    SolveInParallel,
    SolverOptions,
)
from merganser.framework.optimization.forms.conic_form import ConicForm
from merganser.framework.optimization.solvers.clarabel_solver import _clear_violations

Array = Any
CONVEX = ("LP", "QP", "SOCP", "rotated", "SDP", "exponential", "quadratic")
SEEDS = range(4)


@dataclass
class Problem:
    """The numbers of a program; `integers` are the first variables, which are 0 or 1."""

    Q: Array
    c: Array
    A: Array
    low: Array
    high: Array
    E: Array
    e: Array
    box: Array
    cones: list[tuple[str, Array, Array]] = field(default_factory=list)  # kind, F, g
    integers: int = 0

    @staticmethod
    def random(kind: str, seed: int) -> Problem:
        """A problem that has a point inside of all cones and rows, and a box around it."""
        rng = np.random.default_rng((sum(map(ord, kind)), seed))
        n = int(rng.integers(4, 8))
        x, A, E = rng.uniform(-0.5, 0.5, n), rng.normal(size=(n, n)), rng.normal(size=(1, n))
        integers = 4 if kind == "MILP" else 0
        box = np.column_stack((np.full(n, -2.0), np.full(n, 2.0)))
        box[:integers] = 0.0, 1.0
        x[:integers] = rng.integers(0, 2, integers)
        high = A @ x + rng.uniform(0.1, 1.0, n)
        root = rng.normal(size=(n, n)) if kind in ("QP", "quadratic") else np.zeros((n, n))
        cones = []
        inside = {
            "SOCP": ("lorentz", np.array([1.5, 0.3, -0.4, 0.5])),
            "rotated": ("rotated", np.array([1.5, 1.0, 0.3, -0.4])),
            "exponential": ("exponential", np.array([np.exp(0.3) + 0.5, 1.0, 0.3])),
            "SDP": ("matrix", (np.eye(3) + 0.1).ravel()),
        }
        for _ in range(2 if kind in inside else 0):
            cone, z = inside[kind]
            F = rng.normal(size=(z.size, n))
            if cone == "matrix":
                F = 0.5 * (F.reshape(3, 3, n) + F.reshape(3, 3, n).transpose(1, 0, 2)).reshape(9, n)
            cones.append((cone, F, z - F @ x))
        if kind == "quadratic":
            R = rng.normal(size=(n, n))
            cones.append(("quadratic", R.T @ R, np.array([0.5 * x @ R.T @ R @ x + 0.3])))
        return Problem(
            root.T @ root, rng.normal(size=n), A, np.full(n, -np.inf), high, E, E @ x, box, cones, integers
        )  # fmt: skip

    def scaled(self, rng: np.random.Generator) -> tuple[Problem, Array, float]:
        """With x = D y, rows times R and the cost times k: the problem in y, D and k."""
        D, R, k = (10.0 ** rng.uniform(-2.0, 2.0, size) for size in (self.c.size, self.high.size, ()))
        cones = [(kind, D * F * D[:, None] if kind == "quadratic" else F * D, g) for kind, F, g in self.cones]
        changed = replace(
            self, Q=k * D * self.Q * D[:, None], c=k * D * self.c, A=R[:, None] * self.A * D, low=R * self.low,
            high=R * self.high, E=self.E * D, box=self.box / D[:, None], cones=cones,
        )  # fmt: skip
        return changed, D, float(k)

    def permuted(self, rng: np.random.Generator) -> tuple[Problem, Array]:
        """With y_i = x_p(i), and rows and cones in another order: the problem in y, and p."""
        p, rows = rng.permutation(self.c.size), rng.permutation(self.high.size)
        cones = [(kind, F[p][:, p] if kind == "quadratic" else F[:, p], g) for kind, F, g in self.cones[::-1]]
        changed = replace(
            self, Q=self.Q[p][:, p], c=self.c[p], A=self.A[rows][:, p], low=self.low[rows], high=self.high[rows],
            E=self.E[:, p], box=self.box[p], cones=cones,
        )  # fmt: skip
        return changed, p

    def program(self) -> tuple[MathematicalProgram, dict[str, Any]]:
        """The program, and its constraints by what they are of."""
        prog = MathematicalProgram()
        whole = prog.NewBinaryVariables(self.integers, "b")
        x = np.concatenate((whole, prog.NewContinuousVariables(self.c.size - self.integers, "x")))
        if self.Q.any():
            prog.AddQuadraticCost(self.Q, self.c, x)
        else:
            prog.AddLinearCost(self.c, x)
        bound: dict[str, Any] = {
            "A": prog.AddLinearConstraint(self.A, self.low, self.high, x),
            "E": prog.AddLinearEqualityConstraint(self.E, self.e, x),
            "box": prog.AddBoundingBoxConstraint(self.box[:, 0], self.box[:, 1], x),
            "cones": [self._add(prog, x, *cone) for cone in self.cones],
        }
        return prog, bound

    def _add(self, prog: MathematicalProgram, x: Any, kind: str, F: Array, g: Array) -> Any:
        if kind == "lorentz":
            return prog.AddLorentzConeConstraint(F, g, x)
        if kind == "rotated":
            return prog.AddRotatedLorentzConeConstraint(F, g, x)
        if kind == "exponential":
            return prog.AddExponentialConeConstraint(F, g, x)
        if kind == "quadratic":
            return prog.AddQuadraticConstraint(F, np.zeros(x.size), -np.inf, g[0], x)
        return prog.AddLinearMatrixInequalityConstraint([each.reshape(3, 3) for each in (g, *F.T)], x)


def outside_of_dual(kind: str, u: Array) -> float:
    """By how much prices are outside of the dual cone; those of Lorentz and of matrices are their own duals."""
    if kind == "lorentz":
        return float(np.linalg.norm(u[1:]) - u[0])
    if kind == "rotated":  # z0 z1 >= |z2|^2: 4 u0 u1 >= |u2|^2
        return float(np.linalg.norm(u[2:]) - 2.0 * np.sqrt(max(u[0] * u[1], 0.0)) - min(u[0], u[1], 0.0))
    if kind == "exponential":  # -u2 exp(u1 / u2 - 1) <= u0, u2 <= 0
        return float(-u[2] * np.exp(u[1] / u[2] - 1.0) - u[0]) if u[2] < -1e-7 else float(-min(u[0], u[1]))
    return float(-np.linalg.eigvalsh(u.reshape(3, 3)).min())


def symmetric(lower: Array) -> Array:
    """A symmetric matrix of 3 x 3, column by column, of its lower triangle."""
    Z = np.zeros((3, 3))
    columns, rows = np.triu_indices(3)
    Z[rows, columns] = Z[columns, rows] = lower
    return Z.ravel()


def check_prices(problem: Problem, result: MathematicalProgramResult, bound: dict[str, Any], tolerance: float) -> None:
    """(1), and that the bounds where prices are not 0 are the active ones."""
    x = result.get_x_val()
    left, gap = problem.Q @ x + problem.c, 0.0
    for name, rows, low, high in (
        ("A", problem.A, problem.low, problem.high), ("E", problem.E, problem.e, problem.e),
        ("box", np.eye(x.size), problem.box[:, 0], problem.box[:, 1]),
    ):  # fmt: skip
        prices = result.GetDualSolution(bound[name])
        left = left - rows.T @ prices
        active = np.where(prices > 0.0, low, high)
        gap += float(np.abs(prices * np.where(np.isfinite(active), rows @ x - active, prices)).sum())
    for (kind, F, g), binding in zip(problem.cones, bound["cones"]):
        u = result.GetDualSolution(binding)
        if kind == "quadratic":
            assert u[0] <= tolerance
            left = left - u[0] * (F @ x)
            gap += abs(float(u[0] * (0.5 * x @ F @ x - g[0])))
            continue
        u = symmetric(u) if kind == "matrix" else u
        left = left - F.T @ u
        gap += abs(float(u @ (F @ x + g)))
        assert outside_of_dual(kind, u) <= tolerance
    assert np.abs(left).max() <= tolerance and gap <= tolerance


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", CONVEX)
def test_prices_prove_that_the_optimum_is_one(kind: str, seed: int) -> None:
    problem = Problem.random(kind, seed)
    prog, bound = problem.program()
    result = Solve(prog)
    assert result.is_success()
    check_prices(problem, result, bound, 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", [*CONVEX, "MILP"])
def test_the_optimum_does_not_depend_on_units_and_order(kind: str, seed: int) -> None:
    problem, rng = Problem.random(kind, seed), np.random.default_rng(seed)
    first = Solve(problem.program()[0])
    assert first.is_success()
    x, cost = first.get_x_val(), pytest.approx(first.get_optimal_cost(), abs=1e-6)
    changed, order = problem.permuted(rng) if kind != "MILP" else (problem, np.arange(x.size))
    again = Solve(changed.program()[0])
    assert again.get_optimal_cost() == cost
    np.testing.assert_allclose(again.get_x_val(), x[order], atol=2e-3)
    if kind != "MILP":  # where units of integers are fixed
        scaled, D, k = problem.scaled(rng)
        result = Solve(scaled.program()[0])
        assert result.is_success() and result.get_optimal_cost() / k == cost
        np.testing.assert_allclose(D * result.get_x_val(), x, atol=2e-3)


@pytest.mark.parametrize("kind", ["SOCP", "rotated", "exponential", "quadratic", "QP"])
def test_a_program_that_is_solved_again_follows_its_numbers(kind: str) -> None:
    first, second = Problem.random(kind, 0), Problem.random(kind, 0)
    rng = np.random.default_rng(1)
    second.c, second.high = rng.normal(size=second.c.size), second.high + 0.1
    second.cones = [(cone, 0.9 * F, g + 0.01 * g) for cone, F, g in second.cones]
    prog, bound = first.program()
    before = Solve(prog)
    assert before.get_optimal_cost() == Solve(prog).get_optimal_cost()  # to the last bit, of what was kept
    if kind in ("QP", "quadratic"):
        prog.quadratic_costs()[0].evaluator().UpdateCoefficients(second.Q, second.c)
    else:
        prog.linear_costs()[0].evaluator().UpdateCoefficients(second.c)
    bound["A"].evaluator().UpdateUpperBound(second.high)
    for (cone, F, g), binding in zip(second.cones, bound["cones"]):
        if cone == "quadratic":
            binding.evaluator().UpdateCoefficients(F, np.zeros(len(F)))
            binding.evaluator().UpdateUpperBound(g)
        else:
            binding.evaluator().UpdateCoefficients(F, g)
    after = Solve(prog)
    assert after.get_optimal_cost() == pytest.approx(Solve(second.program()[0]).get_optimal_cost(), abs=1e-7)
    assert abs(after.get_optimal_cost() - before.get_optimal_cost()) > 1e-3


@pytest.mark.parametrize("kind", CONVEX)
def test_rows_of_cones_hold_in_the_units_of_their_variables(kind: str) -> None:
    prog, _ = Problem.random(kind, 0).program()
    found, form = ClarabelSolver().Solve(prog).get_solver_details(), ConicForm.of(prog)
    A, tolerances = form.A.toarray(), _clear_violations(form)
    np.testing.assert_allclose(form.violations(found.x, found.s), np.abs(A @ found.x + found.s - form.b), atol=1e-14)
    np.testing.assert_allclose(tolerances, 1e-8 * np.abs(A).max(axis=1))
    assert form.violations(found.x + 1e-3, found.s).max() > 1e3 * tolerances.max()
    prog.SetVariableScaling(prog.decision_variable(0), 1e-2)
    A[:, 0] *= 1e-2
    np.testing.assert_allclose(_clear_violations(ConicForm.of(prog)), 1e-8 * np.abs(A).max(axis=1))


def test_kept_factors_are_of_one_thread_and_of_no_pickle() -> None:
    prog, bound = Problem.random("SOCP", 0).program()
    result = Solve(prog)
    together = SolveInParallel([prog] * 20, parallelism=4)
    assert {each.get_optimal_cost() for each in together} == {result.get_optimal_cost()}
    copies = pickle.loads(pickle.dumps([prog, result, bound["cones"][0]]))
    assert Solve(copies[0]).get_optimal_cost() == result.get_optimal_cost()
    np.testing.assert_array_equal(copies[1].GetDualSolution(copies[2]), result.GetDualSolution(bound["cones"][0]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", CONVEX)
def test_other_solvers_find_the_same_optimum(kind: str, seed: int) -> None:
    prog = Problem.random(kind, seed).program()[0]
    result = Solve(prog)
    others: list[Any] = {
        "LP": [DaqpSolver(), HighsSolver(), ClarabelSolver()], "QP": [DaqpSolver(), ClarabelSolver()],
        "SDP": [ClarabelSolver()],
    }.get(kind, [ClarabelSolver(), InteriorPointSolver()])  # fmt: skip
    for solver in others:
        if solver.AreProgramAttributesSatisfied(prog):
            assert solver.Solve(prog).get_optimal_cost() == pytest.approx(result.get_optimal_cost(), abs=5e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", CONVEX)
def test_first_order_solvers_find_the_same_optimum_and_prices(kind: str, seed: int) -> None:
    solver: Any = OsqpSolver() if kind == "QP" else ScsSolver()
    if solver.MODULE == "osqp":
        pytest.importorskip("osqp", reason="runs the package osqp")
    else:
        pytest.importorskip("scs", reason="runs the package scs")
    problem = Problem.random("SOCP" if kind == "quadratic" else kind, seed)
    prog, bound = problem.program()
    exact = SolverOptions()
    for name in ("eps_abs", "eps_rel"):
        exact.SetOption(solver.id(), name, 1e-8)
    result = solver.Solve(prog, None, exact)
    assert result.get_solver_id() == solver.id()
    assert result.get_optimal_cost() == pytest.approx(Solve(prog).get_optimal_cost(), abs=1e-4)
    check_prices(problem, result, bound, 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_integers_are_those_that_trying_all_finds(seed: int) -> None:
    problem = Problem.random("MILP", seed)
    costs = []
    for values in itertools.product((0.0, 1.0), repeat=problem.integers):
        fixed = replace(problem, integers=0, box=problem.box.copy())
        fixed.box[: problem.integers] = np.array(values)[:, None]
        result = Solve(fixed.program()[0])
        costs.append(result.get_optimal_cost() if result.is_success() else np.inf)
    prog = problem.program()[0]
    assert Solve(prog).get_optimal_cost() == pytest.approx(min(costs), abs=1e-7)
    search = MixedIntegerBranchAndBound(prog, ClarabelSolver.id())
    search.Solve()
    assert search.GetOptimalCost() == pytest.approx(min(costs), abs=1e-5)
