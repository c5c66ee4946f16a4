"""Programs are solved as pydrake solves them: the same result, cost and prices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import merganser.framework.optimization as ours
import merganser.framework.symbolic as our_symbols

drake: Any = pytest.importorskip("pydrake.solvers")
drake_symbols: Any = pytest.importorskip("pydrake.symbolic")
pytestmark = pytest.mark.reference

INF = np.inf
EYE = np.eye(3)
Build = Callable[[Any, Any, Any], list[Any]]  # of a program, its three variables and the module: constraints


def outcomes(build: Build) -> list[tuple[Any, Any, list[Any]]]:
    result = []
    for module, symbols in ((ours, our_symbols), (drake, drake_symbols)):
        prog = module.MathematicalProgram()
        x = prog.NewContinuousVariables(3, "x")
        bindings = build(prog, x, symbols)
        result.append((prog, module.Solve(prog), bindings))
    return result


def box(low: Any, high: Any) -> Build:
    return lambda p, x, s: [p.AddBoundingBoxConstraint(low, high, x)]


def both(*parts: Any) -> Build:
    return lambda p, x, s: [b for part in parts for b in (part(p, x, s) or [])]


def cost(a: Any, Q: Any = None) -> Build:
    def build(p: Any, x: Any, s: Any) -> list[Any]:
        if Q is None:
            p.AddLinearCost(np.array(a, dtype=float), x)
        else:
            p.AddQuadraticCost(np.array(Q, dtype=float), np.array(a, dtype=float), x)
        return []

    return build


def rows(low: float, high: float) -> Build:
    return lambda p, x, s: [p.AddLinearConstraint(np.ones((1, 3)), [low], [high], x)]


def lmi(p: Any, x: Any, s: Any) -> list[Any]:
    F = [np.zeros((2, 2)), np.diag([1.0, 0]), np.array([[0.0, 1], [1, 0]]), np.diag([0, 1.0])]
    return [p.AddLinearMatrixInequalityConstraint(F, x)]


def toeplitz(p: Any, x: Any, s: Any) -> list[Any]:
    X = np.array([[x[0], x[1], x[2]], [x[1], x[0], x[1]], [x[2], x[1], x[0]]])
    return [p.AddPositiveSemidefiniteConstraint(X), p.AddBoundingBoxConstraint(1, 2, x[1])]


PROGRAMS: dict[str, Build] = {
    "linear": both(cost([1, 2, 3]), box(0, 1), rows(1.5, 2.5)),
    "linear, infeasible": both(cost([1, 2, 3]), box(0, 1), rows(5, 6)),
    "linear, unbounded": both(cost([1, 2, 3]), box(-INF, 1)),
    "no cost": box(0, 1),
    "nothing": lambda p, x, s: [],
    "quadratic": both(cost([1, 2, 3.5], EYE), box(0, 1), rows(2, 2.5)),
    "quadratic, infeasible": both(cost([1, 2, 3], EYE), box(0, 1), rows(5, 6)),
    "quadratic, unbounded": both(cost([1, 2, 3], np.diag([1, 0, 0])), box(-INF, 1)),
    "quadratic, equations": both(
        cost([1, 2, 3], EYE), lambda p, x, s: [p.AddLinearEqualityConstraint(np.ones((1, 3)), [2], x)]
    ),
    "quadratic, equations, infeasible": both(
        cost([1, 2, 3], EYE), lambda p, x, s: p.AddLinearEqualityConstraint(np.ones((2, 3)), [2, 3], x) and []
    ),
    "quadratic, equations, unbounded": both(
        cost([1, 2, 3], np.diag([1, 0, 0])),
        lambda p, x, s: p.AddLinearEqualityConstraint(np.ones((1, 3)), [2], x) and [],
    ),
    "quadratic, free": cost([1, 2, 3], EYE),
    "Lorentz": both(
        cost([0, 1, 1]), lambda p, x, s: [p.AddLorentzConeConstraint(x), p.AddBoundingBoxConstraint(-1, 1, x[0])]
    ),
    "Lorentz, unbounded": both(cost([-1, 0, 0]), lambda p, x, s: p.AddLorentzConeConstraint(x) and []),
    "Lorentz, infeasible": both(
        cost([-1, 0, 0]), lambda p, x, s: [p.AddLorentzConeConstraint(x), p.AddBoundingBoxConstraint(-2, -1, x[0])]
    ),
    "rotated Lorentz": both(
        cost([1, 2, 1]),
        lambda p, x, s: [
            p.AddRotatedLorentzConeConstraint(np.vstack([EYE, 2 * EYE[2:]]), np.array([0, 1, 2, 3.0]), x),
            p.AddBoundingBoxConstraint(1, 2, x[2]),
        ],
    ),
    "exponential": both(
        cost([1, -1, 0]),
        lambda p, x, s: p.AddExponentialConeConstraint(x) and [p.AddBoundingBoxConstraint(1, 2, x[1:])],
    ),
    "matrix": both(cost([1, 0.3, 0.2]), toeplitz),
    "matrix inequality": both(cost([1, 0, 1]), lmi, lambda p, x, s: [p.AddBoundingBoxConstraint(1, 2, x[1])]),
    "length": both(lambda p, x, s: p.AddL2NormCost(EYE, [1, 2, 3], x) and [], box(1, 2)),
    "convex quadratic constraint": both(
        cost([1, 1, 1]), lambda p, x, s: [p.AddQuadraticConstraint(2 * EYE, np.zeros(3), -INF, 1, x)]
    ),
    "sphere": both(cost([1, 1, 1]), lambda p, x, s: [p.AddQuadraticConstraint(2 * EYE, np.zeros(3), 1, 1, x)]),
    "nonconvex, unbounded": cost([1, 2, 3], -EYE),
    "nonlinear": lambda p, x, s: p.AddCost(x[0] ** 4 + x[1] ** 2 + x[2] ** 2) and [
        p.AddConstraint(x[0] * x[1] >= 1), p.AddConstraint(x[0] + x[2] == 1), p.AddBoundingBoxConstraint(0.5, 3, x[2])
    ],
    "function of a user's": lambda p, x, s: p.AddCost(lambda z: (z[0] - 1) ** 2 + (z[1] + z[2]) ** 2, x) and [
        p.AddConstraint(lambda z: [z[0] * z[0] + z[1]], [0], [0.5], x)
    ],
    "symbolic": lambda p, x, s: p.AddCost((x[0] - x[1]) ** 2 + x[2] ** 2 + x[0]) and [
        p.AddConstraint(s.sqrt(x[0] ** 2 + 4 * x[1] ** 2) <= x[2] + 1)
    ],
    "complementarity": lambda p, x, s: p.AddLinearComplementarityConstraint(
        np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]]), [-1, 2, -3], x
    ) and [],
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_result_cost_and_prices_are_those_of_pydrake(name: str) -> None:
    (_, mine, my_bindings), (_, theirs, their_bindings) = outcomes(PROGRAMS[name])
    assert mine.get_solution_result().name == theirs.get_solution_result().name
    assert mine.get_optimal_cost() == pytest.approx(theirs.get_optimal_cost(), abs=2e-6, rel=1e-6)
    if not mine.is_success():
        return
    for my, their in zip(my_bindings, their_bindings):
        np.testing.assert_allclose(mine.GetDualSolution(my), theirs.GetDualSolution(their), atol=2e-3)


def random_program(kind: str, rng: np.random.Generator) -> Build:
    """A program of three variables that has a solution, none, or no least cost, as it happens."""
    A, b = rng.normal(size=(5, 3)), rng.normal(size=5) + rng.choice([0.5, -0.5])
    a = rng.normal(size=3)
    root = rng.normal(size=(rng.integers(1, 4), 3))

    def linear(p: Any, x: Any, s: Any) -> list[Any]:
        p.AddLinearConstraint(A, np.full(5, -INF), b, x)
        return []

    def lorentz(p: Any, x: Any, s: Any) -> list[Any]:
        p.AddLorentzConeConstraint(A[:4], b[:4] + [1, 0, 0, 0], x)
        return []

    def matrix(p: Any, x: Any, s: Any) -> list[Any]:
        F = [0.5 * (M + M.T) for M in np.random.default_rng(int(abs(b[0]) * 1e6)).normal(size=(4, 3, 3))]
        p.AddLinearMatrixInequalityConstraint([F[0] + np.eye(3) * b[1], *F[1:]], x)
        return []

    kinds = {"LP": (cost(a), linear), "QP": (cost(a, root.T @ root), linear), "SOCP": (cost(a), linear, lorentz)}
    return both(*kinds.get(kind, (cost(a), matrix)))


@pytest.mark.parametrize("kind", ["LP", "QP", "SOCP", "SDP"])
def test_random_programs_end_as_with_pydrake(kind: str) -> None:
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(50):
        (_, mine, _), (_, theirs, _) = outcomes(random_program(kind, rng))
        if theirs.get_solution_result().name not in ("kSolverSpecificError", "kIterationLimit"):
            assert mine.get_solution_result().name == theirs.get_solution_result().name
        if theirs.is_success():
            assert mine.get_optimal_cost() == pytest.approx(theirs.get_optimal_cost(), abs=1e-6, rel=1e-6)
        assert mine.get_solution_result().name not in ("kSolverSpecificError", "kIterationLimit")
        seen.append(mine.is_success())
    assert 5 < sum(seen) < 45


def test_names_of_violated_rows_are_those_of_pydrake() -> None:
    (my_prog, mine, _), (their_prog, theirs, _) = outcomes(PROGRAMS["linear, infeasible"])
    assert mine.GetInfeasibleConstraintNames(my_prog) == theirs.GetInfeasibleConstraintNames(their_prog)


FORMULAS = """
x[0] >= 1 ; 2 * x[0] >= 1 ; -2 * x[0] + 1 >= 3 * x[0] ; x[0] + x[1] <= x[2] + 3 ; 2 * x[0] == 1 ; x[0] + x[1] == 1
x[0]**2 + x[1]**2 <= 1 ; x[0]**2 - x[1]**2 >= 1 ; x[0]**3 >= 1 ; s.sin(x[0]) + 2 >= 1
s.sqrt(x[0]**2 + 4 * x[1]**2) <= x[2] + 1 ; np.array([x[0] >= 1, x[1] <= 2]) ; np.array([x[0]**2 >= 1, x[1] <= 2])
np.array([x[0] == 1, x[1] + x[0] == 2]) ; s.logical_and(x[0] >= 1, x[1] <= 2) ; x[1] + x[0] >= 1 ; 1 <= x[1] + x[0]
s.logical_and(x[2] <= 1, x[1] + x[0] <= 2) ; s.logical_and(x[2] == 1, x[1] + x[0] == 2) ; s.sin(x[0]) == 1 + x[0]
s.logical_and(s.sin(x[2]) <= x[1], x[0]**3 >= x[2] * x[1]) ; s.sqrt(x[0]**2 + 4 * x[1]**2) <= x[0] + 1
"""


@pytest.mark.parametrize("text", [each.strip() for each in FORMULAS.replace("\n", ";").split(";") if each.strip()])
def test_formulas_become_constraints_of_the_same_class_and_bounds(text: str) -> None:
    seen = []
    for module, symbols in ((ours, our_symbols), (drake, drake_symbols)):
        prog = module.MathematicalProgram()
        x = prog.NewContinuousVariables(3, "x")
        binding = prog.AddConstraint(eval(text, {"x": x, "s": symbols, "np": np}))
        evaluator = binding.evaluator()
        at = evaluator.Eval(np.arange(1.0, 1.0 + evaluator.num_vars()))
        names = [v.get_name() for v in binding.variables()]
        bounds = [evaluator.lower_bound().tolist(), evaluator.upper_bound().tolist()]
        seen.append((type(evaluator).__name__, names, bounds, at.round(12).tolist()))
    assert seen[0] == seen[1]


def test_variables_of_random_expressions_are_in_the_order_of_pydrake() -> None:
    """Of the expressions, each in an array of its own: the first one's variables by age, then new ones of the next."""
    for seed in range(6):
        assert bindings_of_random_expressions(ours, our_symbols, seed) == bindings_of_random_expressions(
            drake, drake_symbols, seed
        )


def bindings_of_random_expressions(module: Any, symbols: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    prog = module.MathematicalProgram()
    x = prog.NewContinuousVariables(4, "x")

    def affine(count: int = 2) -> Any:
        chosen = rng.choice(4, count, replace=False)
        constant = symbols.Expression(rng.integers(-3, 4) / 2.0)
        return sum((float(rng.integers(1, 5)) * x[i] for i in chosen), start=constant)

    def relation() -> Any:
        left, right, kind = affine(), affine(), rng.integers(3)
        return left <= right if kind == 0 else left >= right if kind == 1 else left == right

    rows, low, high = np.array([affine() for _ in range(3)]), -np.ones(3), np.ones(3)
    form = affine() + x[rng.integers(4)] * x[rng.integers(4)]
    added = [
        prog.AddLinearConstraint(np.array([relation(), relation()])),
        prog.AddConstraint(symbols.logical_and(relation(), relation())),
        *(prog.AddConstraint(relation()) for _ in range(3)),
        prog.AddLinearConstraint(rows, low, high),
        prog.AddLinearEqualityConstraint(rows, high),
        prog.AddLinearCost(affine()),
        prog.AddCost(form),
        prog.AddConstraint(form, -1.0, 1.0),
        prog.AddLorentzConeConstraint(rows),
        prog.AddRotatedLorentzConeConstraint(rows),
        prog.AddExponentialConeConstraint(rows),
        prog.AddLinearMatrixInequalityConstraint(np.array([[rows[0], rows[1]], [rows[1], rows[2]]])),
        prog.AddConstraint(symbols.logical_and(symbols.sin(x[rng.integers(4)]) <= affine(), form * form <= affine())),
    ]
    prog.AddPositiveSemidefiniteConstraint(np.array([[rows[0], rows[1]], [rows[1], rows[2]]]))
    added += prog.linear_equality_constraints()[-1:]
    seen: list[Any] = [(str(each), [str(v) for v in each.variables()]) for each in added if each not in added[8:14]]
    for binding in added:
        cost_or_constraint, names = binding.evaluator(), [v.get_name() for v in binding.variables()]
        values = cost_or_constraint.Eval(0.1 * np.arange(1.0, 1.0 + len(names)))
        seen.append((names, np.round(values, 9).tolist()))
    seen.append([v.get_name() for v in symbols.ExtractVariablesFromExpression(rows)[0]])
    seen.append([np.round(part, 12).tolist() for part in symbols.DecomposeAffineExpressions(rows)[:2]])
    return seen


@pytest.mark.parametrize("name", ["MinimumValueLowerBoundConstraint", "MinimumValueUpperBoundConstraint"])
@pytest.mark.parametrize("max_num_values", [3, 5])
def test_bounds_on_the_least_value_are_those_of_pydrake(name: str, max_num_values: int) -> None:
    mine, theirs = (
        getattr(module, name)(3, 0.1, 0.5, max_num_values, lambda x, d: x * x[0], lambda x, d: x * x[0])
        for module in (ours, drake)
    )
    for x in np.random.default_rng(0).uniform(-1.0, 1.5, size=(20, 3)):
        np.testing.assert_allclose(mine.Eval(x), theirs.Eval(x), rtol=1e-12, atol=1e-14)
        slope = mine._value_and_jacobian(x)[1][0]
        np.testing.assert_allclose(slope, drake_gradient(theirs, x), atol=1e-10)
    assert mine.lower_bound() == theirs.lower_bound() and mine.upper_bound() == theirs.upper_bound()


def drake_gradient(evaluator: Any, x: Any) -> Any:
    from pydrake.autodiffutils import ExtractGradient, InitializeAutoDiff

    gradient = ExtractGradient(evaluator.Eval(InitializeAutoDiff(x).ravel()))
    return gradient[0] if gradient.size else np.zeros(3)


def rows_program(module: Any) -> Any:
    prog = module.MathematicalProgram()
    x = prog.NewContinuousVariables(3)
    prog.AddCost((x[0] - 2) ** 4 + x[1] ** 2 * x[2])
    prog.AddQuadraticCost(np.eye(2), np.ones(2), x[:2])
    prog.AddConstraint(x[0] ** 2 + x[1] ** 2 <= 3)
    prog.AddLinearConstraint(np.array([[1.0, 1, 0], [0, 1, 2]]), [2.5, -1], [4.0, INF], x)
    prog.AddLinearEqualityConstraint(np.array([[1.0, -1]]), [0.1], x[:2])
    prog.AddBoundingBoxConstraint([-1, 2], [3, 2], x[:2])
    prog.AddLorentzConeConstraint(np.array([x[0], x[1], x[2]]))
    prog.AddConstraint(x[0] * x[2] == 1)
    prog.AddConstraint(lambda z: [z[0] ** 3], [-INF], [1.0], x[:1])
    return prog


def test_augmented_lagrangians_are_those_of_pydrake() -> None:
    programs = [rows_program(module) for module in (ours, drake)]  # pydrake's do not keep their program
    rng = np.random.default_rng(0)
    for include in (False, True):
        kinked, smooth = (
            [getattr(m, f"AugmentedLagrangian{kind}")(prog, include) for m, prog in zip((ours, drake), programs)]
            for kind in ("Nonsmooth", "Smooth")
        )
        assert kinked[0].is_equality() == kinked[1].is_equality()
        for _ in range(5):
            x, price = rng.normal(size=3), 2.0 * rng.normal(size=kinked[0].lagrangian_size())
            s = rng.uniform(size=smooth[0].s_size())
            for mine, theirs in (
                [each.Eval(x, price, 0.7) for each in kinked],
                [each.Eval(x, s, price, 0.7) for each in smooth],
            ):
                for a, b in zip(mine, theirs):
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_costs_and_constraints_are_in_the_order_of_pydrake() -> None:
    mine, theirs = (rows_program(module) for module in (ours, drake))
    for name in ("GetAllConstraints", "GetLinearConstraints"):
        bounds = [[each.evaluator().upper_bound().tolist() for each in getattr(p, name)()] for p in (mine, theirs)]
        assert bounds[0] == bounds[1]


def test_projected_gradients_go_the_way_of_pydrake() -> None:
    ends = []
    for module in (ours, drake):
        prog = module.MathematicalProgram()
        x = prog.NewContinuousVariables(2)
        prog.AddCost(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)
        prog.AddBoundingBoxConstraint(-2.0, 2.0, x)
        solver, options = module.ProjectedGradientDescentSolver(), module.SolverOptions()
        options.SetOption(solver.id(), solver.MaxIterationsOptionName(), 20)
        ends.append(solver.Solve(prog, np.array([-1.2, 1.0]), options).get_x_val())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


def test_a_program_prints_as_that_of_pydrake() -> None:
    def text(module: Any, symbols: Any) -> str:
        prog = module.MathematicalProgram()
        x = prog.NewContinuousVariables(3, "x")
        prog.NewBinaryVariables(1, "b")
        costs = [x[0] + 2 * x[1], (x[0] - 1) ** 2 + x[1] * x[2], symbols.sin(x[0]) * x[1]]
        constraints = [
            x[0] + x[1] <= 1, x[2] - x[1] >= 0.5, x[0] == x[1], x[0] ** 2 + x[1] ** 2 <= 1, x[0] * x[1] >= 2,
            symbols.exp(x[0]) <= x[1], symbols.sqrt(x[0] ** 2 + x[1] ** 2) <= x[2], symbols.sin(x[0]) == x[1],
        ]  # fmt: skip
        for cost in costs:
            prog.AddCost(cost)
        prog.AddQuadraticCost(np.array([[2.0, 1.0], [1.0, 5.0]]), np.array([1.0, 2.0]), x[:2])
        prog.AddL2NormCost(np.eye(2), np.array([1.0, 2.0]), x[:2])
        for constraint in constraints:
            prog.AddConstraint(constraint)
        prog.AddBoundingBoxConstraint(0, 1, x)
        prog.AddRotatedLorentzConeConstraint(x)
        return str(prog)

    assert text(ours, our_symbols) == text(drake, drake_symbols)


def test_solvers_have_the_names_of_pydrake() -> None:
    everything = [getattr(drake, name) for name in dir(drake) if name.endswith("Solver")]
    kinds = [each for each in everything if hasattr(each, "id")]
    assert len(kinds) > 10
    for kind in kinds:
        mine = getattr(ours, kind.__name__)
        assert mine.id().name() == kind.id().name() and mine().solver_id().name() == kind().solver_id().name()
    for equations in (False, True):
        names = []
        for module in (ours, drake):
            prog = module.MathematicalProgram()
            x = prog.NewContinuousVariables(2)
            prog.AddLinearEqualityConstraint(np.eye(2), np.ones(2), x)
            if equations:
                prog.AddQuadraticCost(np.eye(2), np.zeros(2), x)
            names.append((module.ChooseBestSolver(prog).name(), module.Solve(prog).get_solver_id().name()))
        assert names[0] == names[1]
