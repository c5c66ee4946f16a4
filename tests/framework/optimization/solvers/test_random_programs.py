"""Random convex programs that have a known optimum, none, or no least cost, by their construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, SolutionResult, Solve
from merganser.framework.optimization.solvers import clarabel_solver

FATES = {
    "solvable": (SolutionResult.kSolutionFound,),
    "infeasible": (SolutionResult.kInfeasibleConstraints,),
    "unbounded": (SolutionResult.kUnbounded, SolutionResult.kDualInfeasible),
}


def of_vectors(kind: str, fate: str, rng: np.random.Generator) -> tuple[MathematicalProgram, float]:
    """LP, QP or SOCP: c makes x0 an optimum, a row of A contradicts the others, or c falls along a ray d."""
    n, rows = int(rng.integers(3, 12)), int(rng.integers(4, 16))
    x0, A = rng.normal(size=n), rng.normal(size=(rows, n))
    active = rng.random(rows) < 0.5
    active[-1] = False
    price = np.where(active, rng.uniform(0.2, 2.0, rows), 0.0)
    slack = np.where(active, 0.0, rng.uniform(0.2, 2.0, rows))
    root = rng.normal(size=(int(rng.integers(1, n)), n)) if kind == "QP" else np.zeros((1, n))
    F, s = rng.normal(size=(4, n)), rng.normal(size=3)
    d = rng.normal(size=n)
    d /= np.linalg.norm(d)
    if fate == "unbounded":  # A d < 0, R d = 0, and F d in the cone
        A -= np.outer(np.maximum(A @ d, 0.0) + rng.uniform(0.0, 0.5, rows), d)
        root -= np.outer(root @ d, d)
        F -= np.outer(F @ d, d)
        F[0] += rng.uniform(0.1, 1.0) * d
    b, Q = A @ x0 + slack, root.T @ root
    c = -Q @ x0 - A.T @ price  # Q x0 + c + A' price - F' z = 0
    if kind == "SOCP":
        c += F.T @ (rng.uniform(0.5, 2.0) * np.append(1.0, -s / np.linalg.norm(s)))
    if fate == "unbounded":
        c -= d * (c @ d + 1.0)
    if fate == "infeasible":  # Farkas: weights of the rows add up to 0 <= -1
        weights = rng.uniform(0.2, 1.0, rows - 1)
        A[-1], b[-1] = -weights @ A[:-1], -weights @ b[:-1] - 1.0
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n)
    prog.AddLinearConstraint(A, np.full(rows, -np.inf), b, x)
    if kind == "QP":
        prog.AddQuadraticCost(Q, c, x, True)
    else:
        prog.AddLinearCost(c, 0.0, x)
    if kind == "SOCP":
        prog.AddLorentzConeConstraint(F, np.append(np.linalg.norm(s), s) - F @ x0, x)
    return prog, float(0.5 * x0 @ Q @ x0 + c @ x0)


def of_matrices(fate: str, rng: np.random.Generator) -> tuple[MathematicalProgram, float]:
    """SDP: X0 and Z with X0 Z = 0, a trace that would be negative, or a ray v v'."""
    k = int(rng.integers(2, 6))
    V = np.linalg.qr(rng.normal(size=(k, k)))[0]
    r = int(rng.integers(1, k))
    X0 = V[:, :r] @ np.diag(rng.uniform(0.5, 2.0, r)) @ V[:, :r].T
    Z = V[:, r:] @ np.diag(rng.uniform(0.5, 2.0, k - r)) @ V[:, r:].T
    M = rng.normal(size=(2, k, k))
    M = M + M.transpose(0, 2, 1)
    right, C = np.array([np.sum(A * X0) for A in M]), Z + np.tensordot(rng.normal(size=2), M, 1)
    if fate == "infeasible":
        M[0], right[0] = np.eye(k), -1.0
    if fate == "unbounded":
        C, M, right = -np.outer(V[:, 0], V[:, 0]), np.outer(V[:, -1], V[:, -1])[np.newaxis], np.ones(1)
    prog = MathematicalProgram()
    X = prog.NewSymmetricContinuousVariables(k)
    prog.AddPositiveSemidefiniteConstraint(X)
    lower = np.tril_indices(k)
    twice = np.where(lower[0] == lower[1], 1.0, 2.0)
    for A, value in zip(M, right):
        prog.AddLinearEqualityConstraint((twice * A[lower])[np.newaxis], [value], X[lower])
    prog.AddLinearCost(twice * C[lower], 0.0, X[lower])
    return prog, float(np.sum(C * X0))


def check(kind: str, fate: str, rng: np.random.Generator) -> str:
    """Errors in the answer; empty if it is right."""
    prog, least = of_matrices(fate, rng) if kind == "SDP" else of_vectors(kind, fate, rng)
    result = Solve(prog)
    if result.get_solution_result() not in FATES[fate]:
        return f"{kind}, {fate}: {result.get_solution_result().name}"
    if fate == "solvable" and abs(result.get_optimal_cost() - least) > 1e-6 * max(1.0, abs(least)):
        return f"{kind}: {result.get_optimal_cost()}, not {least}"
    return ""


@pytest.mark.parametrize("seed", [0, 72, 89, 129])
def test_programs_at_which_the_solver_gives_up_are_known_to_be_unbounded(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clarabel gives up on its way to infinity, on some machines; here its word for it counts as that, too."""
    known = ("DualInfeasible", "AlmostDualInfeasible")
    monkeypatch.setattr(clarabel_solver, "_GIVEN_UP", ("NumericalError", "InsufficientProgress", *known))
    for word in known:
        monkeypatch.delitem(clarabel_solver.OUTCOMES, word)
    result = Solve(of_matrices("unbounded", np.random.default_rng(seed))[0])
    assert result.get_solver_details().status in clarabel_solver._GIVEN_UP
    assert result.get_solution_result() is SolutionResult.kDualInfeasible
    assert result.get_optimal_cost() == -np.inf


@pytest.mark.parametrize("kind", ["LP", "QP", "SOCP", "SDP"])
def test_answers_are_right(kind: str) -> None:
    rng: Any = np.random.default_rng(3)
    fates = ["solvable", "infeasible", "solvable", "unbounded"] * 6
    assert [each for each in (check(kind, fate, rng) for fate in fates) if each] == []
