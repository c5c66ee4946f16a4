"""The solver finds the minimum, whatever the problem, and says what is wrong with one it cannot solve."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from contact_problem import ContactProblem, ContactSolverError
from numpy.typing import NDArray

from merganser.multibody.contact import LAGGED, SAP, SIMILAR, TAMSI

CONVEX = [SAP, SIMILAR, LAGGED]
Array = NDArray[np.float64]
Step = tuple[ContactProblem, list[Array], Array, Array]


def matrix_of(rng: np.random.Generator, n: int, mass: float) -> Array:
    root = rng.normal(size=(n, n))
    return mass * (root @ root.T + 0.1 * np.eye(n))


def random_step(seed: int, approximation: int, *, is_extreme: bool, **settings: Any) -> Step:
    """Trees, contacts, limits, welds and drives; extreme ones have mass ratios of 1e6 and stiffnesses of 0 and 1e12."""
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 8, rng.integers(1, 7))]
    h = 10 ** rng.uniform(-4, -1.5) if is_extreme else 1e-2
    problem = ContactProblem(sizes, h, approximation, **settings)
    masses = 10 ** (rng.uniform(-3, 3, len(sizes)) if is_extreme else rng.uniform(-0.5, 0.5, len(sizes)))
    A = [matrix_of(rng, n, mass) for n, mass in zip(sizes, masses)]
    for _ in range(rng.integers(1, 12)):
        chosen = [int(t) for t in rng.permutation(len(sizes))[: rng.integers(1, 3)]]
        kind = rng.integers(0, 4)
        if kind <= 1:
            stiffness = float(rng.choice([0.0, 1e12, 10 ** rng.uniform(1, 9)])) if is_extreme else 1e3
            friction = float(rng.choice([0.0, 10.0, rng.uniform(0, 2)])) if is_extreme else rng.uniform(0, 1)
            J = {t: rng.normal(size=(3, sizes[t])) for t in chosen}
            for _ in range(rng.choice([1, 1, 1, 3])):  # the same contact three times is redundant
                problem.add_contact(
                    J, friction=friction, stiffness=stiffness, phi=-(10 ** rng.uniform(-6, -1)),
                    dissipation=rng.choice([0.0, 10.0]), relaxation_time=rng.choice([0.0, 0.1]),
                )  # fmt: skip
        elif kind == 2:
            rows = int(rng.integers(1, 7))
            J = {t: rng.normal(size=(rows, sizes[t])) for t in chosen}
            stiffness = math.inf if is_extreme else 1e3
            problem.add_holonomic(
                J, 1e-3 * rng.normal(size=rows), stiffness=stiffness, lower=rng.choice([-math.inf, 0])
            )
        else:
            dof = int(rng.integers(sizes[chosen[0]]))
            Kp = 1e6 if is_extreme else 10.0
            problem.add_drive(chosen[0], dof, rng.normal(), Kp=Kp, Kd=1.0, effort_limit=10 ** rng.uniform(-1, 2))
    v = rng.normal(size=sum(sizes))
    return problem, A, v, v + 10.0 * h * rng.normal(size=len(v))


def dense(problem: ContactProblem, A: list[Array]) -> tuple[Array, Array]:
    """A and J as one matrix each."""
    _, trees, constraints, rows, blocks = problem.arrays()
    num_v = int(sum(trees["num_v"]))
    matrix, J = np.zeros((num_v, num_v)), np.zeros((len(rows), num_v))
    for tree, block in zip(trees, A):
        columns = slice(tree["v_start"], tree["v_start"] + tree["num_v"])
        matrix[columns, columns] = block
    for c in constraints:
        for t, start in ((c["tree_0"], c["jacobian_0"]), (c["tree_1"], c["jacobian_1"])):
            if t >= 0:
                n, v_start = trees[t]["num_v"], trees[t]["v_start"]
                block = blocks[start : start + c["num_rows"] * n].reshape(c["num_rows"], n)
                J[c["row_start"] : c["row_start"] + c["num_rows"], v_start : v_start + n] = block
    return matrix, J


def lagged_cost(problem: ContactProblem, A: list[Array], v_before: Array, v_star: Array) -> Any:
    """l(v) of soft contacts, springs and drives with the Lagged law, as the papers write it."""
    settings, _, constraints, rows, _ = problem.arrays()
    h = problem.time_step
    matrix, J = dense(problem, A)
    inverse = np.diag(1.0 / np.diag(matrix))  # of the diagonal only, see regularization.py

    def compliance(c: Any) -> float:
        block = J[c["row_start"] : c["row_start"] + c["num_rows"]]
        return float(np.linalg.norm(block @ inverse @ block.T) / c["num_rows"])

    w = [compliance(c) for c in constraints]

    def normal(v: float, c: Any) -> float:
        return max(0.0, h * (c["elastic_force"] - h * c["stiffness"] * v)) * max(0.0, 1.0 - c["damping"] * v)

    def contact(c: Any, w: float, u: Array, u_before: Array) -> float:
        mu, d, k, f = c["friction"], c["damping"], c["stiffness"], c["elastic_force"]
        n_0 = max(0.0, h * f) * max(0.0, 1.0 - d * u_before[2])
        eps = max(settings["stiction_tolerance"], mu * settings["sigma"] * w * n_0)
        v = min(u[2], f / (h * k), 1.0 / d if d > 0.0 else math.inf)
        impulse = h * (v * (f - h * k * v / 2) - d * v**2 / 2 * (f - 2 / 3 * h * k * v))
        return float(-impulse + mu * n_0 * (math.sqrt(u[0] ** 2 + u[1] ** 2 + eps**2) - eps))

    def line(gain: float, offset: float, lower: float, upper: float, v: float) -> float:
        y = offset - gain * v
        if y > upper:
            return (upper * y - upper**2 / 2) / gain
        if y < lower:
            return (lower * y - lower**2 / 2) / gain
        return y**2 / (2 * gain)

    def cost(v: Array) -> float:
        total = 0.5 * (v - v_star) @ matrix @ (v - v_star)
        for c, w_c in zip(constraints, w):
            part = slice(c["row_start"], c["row_start"] + c["num_rows"])
            u = J[part] @ v
            limit = 4 * math.pi**2 / (c["beta"] ** 2 * w_c)
            if c["kind"] == 0:
                total += contact(c, w_c, u, J[part] @ v_before)
            elif c["kind"] == 1:
                tau = c["relaxation_time"]
                gain = h * c["stiffness"] * (h + tau)
                assert gain < limit
                for value, g in zip(u, rows["g"][part]):
                    total += line(gain, -gain * g / (h + tau), c["lower"], c["upper"], value)
            else:
                Kp, Kd = c["stiffness"], c["damping"]
                assert h * (h * Kp + Kd) < limit
                offset = h * (Kd * c["velocity_target"] + c["feedforward"] - Kp * rows["g"][part][0])
                total += line(h * (h * Kp + Kd), offset, h * c["lower"], h * c["upper"], u[0])
        return float(total)

    return cost


@pytest.mark.parametrize("seed", range(6))
def test_solution_is_the_minimum_of_the_potential_as_the_papers_write_it(seed: int) -> None:
    problem, A, v, v_star = random_step(
        seed, LAGGED, is_extreme=False, stiction_tolerance=0.1, relative_tolerance=1e-13
    )
    cost = lagged_cost(problem, A, v, v_star)
    solution = problem.solve(A, v, v_star).v
    # The potential is convex: its minimum is where no way leads down, whose error is quadratic in that of v.
    found = scipy.optimize.minimize(cost, v_star, method="BFGS", options={"gtol": 1e-9}).x
    assert cost(solution) <= cost(found) + 1e-12 * abs(cost(found))
    np.testing.assert_allclose(solution, found, atol=1e-5)
    # Derivatives by central differences are good to some 1e-10 here, and the least eigenvalue of A is about 0.1.
    gradient = scipy.optimize.approx_fprime(solution, lambda x: 0.5 * (cost(x) - cost(2 * solution - x)), 1e-6)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-8)


@pytest.mark.parametrize("approximation", CONVEX)
def test_momentum_changes_by_the_impulses(approximation: int) -> None:
    for seed in range(20):
        problem, A, v, v_star = random_step(seed, approximation, is_extreme=False, relative_tolerance=1e-14)
        solution = problem.solve(A, v, v_star)
        matrix, J = dense(problem, A)
        momentum = J.T @ np.concatenate(solution.impulses)
        np.testing.assert_allclose(matrix @ (solution.v - v_star), momentum, atol=1e-12 * (1 + abs(momentum).max()))


@pytest.mark.parametrize("approximation", [TAMSI, SIMILAR, LAGGED])
def test_squeezed_light_body_keeps_its_momentum_beyond_the_last_bits_of_impulses(approximation: int) -> None:
    mass = 1e-4
    for seed in range(6):
        rng = np.random.default_rng(seed)
        directions = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        problem = ContactProblem([3], 1e-3, approximation)
        for side in (1.0, -1.0):
            J = {0: directions * [[1.0], [side], [side]]}
            problem.add_contact(J, friction=1.0, stiffness=1e9, phi=-0.1)
        v_star = 1e-9 * rng.normal(size=3)
        solution = problem.solve([mass * np.eye(3)], np.zeros(3), v_star)
        J, gamma = exact(dense(problem, [mass * np.eye(3)])[1]), exact(np.concatenate(solution.impulses))
        momentum = Fraction(mass) * (exact(solution.v) - exact(v_star))
        error, scale = momentum - J.T @ gamma, max(abs(J.T @ gamma))
        assert abs(gamma).max() > 1e4 and scale < 1e-10
        assert mass**-0.5 * np.linalg.norm(error.astype(float)) <= 1e-14 + 1e-6 * mass**-0.5 * scale


def exact(values: Array) -> Any:
    """These numbers as fractions."""
    return np.vectorize(Fraction, otypes=[object])(values)


@pytest.mark.parametrize("approximation", CONVEX)
def test_all_convex_problems_are_solved(approximation: int) -> None:
    for seed in range(250):
        problem, A, v, v_star = random_step(seed, approximation, is_extreme=True, stiction_tolerance=1e-4)
        solution = problem.solve(A, v, v_star)
        assert np.all(np.isfinite(solution.v))


def test_tamsi_solves_its_equation_or_says_that_it_fell_back() -> None:
    num_fallbacks = 0
    for seed in range(100):
        problem, A, v, v_star = random_step(seed, TAMSI, is_extreme=False, relative_tolerance=1e-12)
        solution = problem.solve(A, v, v_star)
        num_fallbacks += solution.has_fallen_back
        matrix, J = dense(problem, A)
        np.testing.assert_allclose(matrix @ (solution.v - v_star), J.T @ np.concatenate(solution.impulses), atol=1e-9)
        for c, impulse in zip(problem.arrays()[2], solution.impulses):
            if c["kind"] == 0 and not solution.has_fallen_back:
                assert math.hypot(*impulse[:2]) <= c["friction"] * impulse[2] + 1e-12
    assert num_fallbacks < 10


@pytest.mark.parametrize("approximation", [*CONVEX, TAMSI])
def test_warm_start_at_the_solution_takes_no_iteration(approximation: int) -> None:
    problem = ContactProblem([3], 1e-2, approximation)
    problem.add_contact({0: np.eye(3)}, friction=0.5, stiffness=1e3, phi=-1e-3)
    v_star = np.array([0.1, 0.0, -0.1])
    v = v_star
    for _ in range(60):  # the Lagged law changes with the velocity before the step
        v = problem.solve([np.eye(3)], v, v_star).v
    assert problem.solve([np.eye(3)], v, v_star).iterations == 0


def test_islands_do_not_feel_each_other_and_free_trees_keep_their_velocities() -> None:
    rng = np.random.default_rng(3)
    A = [matrix_of(rng, 3, 1.0) for _ in range(4)]
    v = rng.normal(size=12)
    J = [rng.normal(size=(3, 3)) for _ in range(4)]
    numbers = {"friction": 0.5, "stiffness": 1e4, "phi": -1e-2}
    whole = ContactProblem([3, 3, 3, 3], 1e-2, SAP)
    whole.add_contact({0: J[0], 3: J[3]}, **numbers)
    whole.add_contact({1: J[1]}, **numbers)
    solution = whole.solve(A, v, v)
    assert solution.statistics["num_islands"] == 2
    np.testing.assert_array_equal(solution.v[6:9], v[6:9])
    part = ContactProblem([3, 3], 1e-2, SAP)
    part.add_contact({0: J[0], 1: J[3]}, **numbers)
    alone = np.concatenate([v[:3], v[9:]])
    np.testing.assert_allclose(
        part.solve([A[0], A[3]], alone, alone).v, np.concatenate([solution.v[:3], solution.v[9:]]), atol=1e-14
    )


def test_many_trees_in_a_ring_need_more_room_and_get_it() -> None:
    """Trees in random order, each in contact with three others: the answer is that of one dense tree."""
    rng = np.random.default_rng(5)
    n = 60
    A = [matrix_of(rng, 2, 1.0) for _ in range(n)]
    order, v = rng.permutation(n), rng.normal(size=2 * n)
    sparse, full = ContactProblem([2] * n, 1e-2, SAP), ContactProblem([2 * n], 1e-2, SAP)
    for i in range(n):
        for step in (1, 7, 25):
            a, b = int(order[i]), int(order[(i + step) % n])
            J = {a: rng.normal(size=(3, 2)), b: rng.normal(size=(3, 2))}
            row = np.zeros((3, 2 * n))
            for t, block in J.items():
                row[:, 2 * t : 2 * t + 2] = block
            sparse.add_contact(J, friction=0.5, stiffness=1e4, phi=-1e-3)
            full.add_contact({0: row}, friction=0.5, stiffness=1e4, phi=-1e-3)
    solution = sparse.solve(A, v, v)
    assert solution.statistics["blocks_needed"] > 4 * n
    expected = full.solve([scipy.linalg.block_diag(*A)], v, v)
    assert solution.statistics["factor_needed"] < (2 * n) ** 2
    np.testing.assert_allclose(solution.v, expected.v, atol=1e-7)


@pytest.mark.parametrize("approximation", CONVEX)
def test_locked_velocities_stay_and_the_others_solve_the_reduced_problem(approximation: int) -> None:
    rng = np.random.default_rng(9)
    A, J, v = matrix_of(rng, 4, 1.0), rng.normal(size=(3, 4)), rng.normal(size=4)
    v_star = v + 0.1
    numbers = {"friction": 0.5, "stiffness": 1e4, "phi": -1e-2}
    problem = ContactProblem([4], 1e-2, approximation, relative_tolerance=1e-12)
    problem.add_contact({0: J}, **numbers)
    solution = problem.solve([A], v, v_star, [0, 1, 0, 0])
    assert solution.v[1] == v_star[1]
    free = [0, 2, 3]
    reduced = ContactProblem([3], 1e-2, approximation, relative_tolerance=1e-12)
    before = J[:, 1] * v_star[1]
    reduced.add_contact({0: J[:, free]}, **numbers, bias=before)
    if approximation == LAGGED:  # n_0 takes the velocity before the step, where the locked one is v
        v[1] = v_star[1]
        solution = problem.solve([A], v, v_star, [0, 1, 0, 0])
    expected = reduced.solve([A[np.ix_(free, free)]], v[free], v_star[free])
    np.testing.assert_allclose(solution.v[free], expected.v, atol=1e-10)


def test_problem_that_is_not_solved_names_the_reason() -> None:
    problem = ContactProblem([1], 1e-2, SAP, max_iterations=0)
    problem.add_limit(0, 0, -0.1)
    with pytest.raises(ContactSolverError, match=r"1 trees and 1 constraints.*no convergence in 0 iterations"):
        problem.solve([np.eye(1)], [0.0], [0.0])
    with pytest.raises(ContactSolverError, match="not positive definite"):
        problem.solve([-np.eye(1)], [0.0], [0.0])
    with pytest.raises(ContactSolverError, match="NaN or infinity"):
        problem.solve([np.eye(1)], [0.0], [math.nan])


@pytest.mark.parametrize("approximation", [*CONVEX, TAMSI])
@pytest.mark.parametrize("touching", [0, 1])
def test_a_tree_without_mass_is_an_error_with_and_without_contact(approximation: int, touching: int) -> None:
    problem = ContactProblem([3, 6], 1e-2, approximation)
    J = np.random.default_rng(3).normal(size=(3, problem.arrays()[1][touching]["num_v"]))
    problem.add_contact({touching: J}, friction=0.5, stiffness=1e4, phi=-1e-2)
    for massless in (0, 1):
        A = [np.eye(3), np.eye(6)]
        A[massless][2, 2] = 0.0
        with pytest.raises(ContactSolverError, match="not positive definite"):
            problem.solve(A, np.zeros(9), np.full(9, -0.1))


@pytest.mark.parametrize("approximation", CONVEX)
def test_masses_that_contradict_each_other_are_errors(approximation: int) -> None:
    problem = ContactProblem([2], 1e-2, approximation)
    problem.add_drive(0, 0, 1.0, Kp=1.0, Kd=0.1)
    with pytest.raises(ContactSolverError, match="not positive definite"):
        problem.solve([np.array([[1.0, 2.0], [2.0, 1.0]])], np.zeros(2), np.ones(2))


def test_bad_constraints_are_refused_and_leave_no_trace() -> None:
    problem = ContactProblem([2, 3], 1e-2, LAGGED)
    contact = {"friction": 0.5, "stiffness": 1e4, "phi": 0.0}
    with pytest.raises(ValueError, match=r"Constraint 0 \(contact\).*tree 1 must have shape \(3, 3\), got \(3, 2\)"):
        problem.add_contact({1: np.zeros((3, 2))}, **contact)
    with pytest.raises(ValueError, match="there is no tree 2, the problem has 2"):
        problem.add_contact({2: np.zeros((3, 2))}, **contact)
    with pytest.raises(ValueError, match="friction must be finite and not negative, got -1"):
        problem.add_contact({0: np.zeros((3, 2))}, **{**contact, "friction": -1.0})
    with pytest.raises(ValueError, match="only SAP takes an infinite stiffness"):
        problem.add_contact({0: np.zeros((3, 2))}, **{**contact, "stiffness": math.inf})
    with pytest.raises(ValueError, match="infinite stiffness needs beta > 0"):
        problem.add_holonomic({0: np.zeros((1, 2))}, [0.0], beta=0.0)
    with pytest.raises(ValueError, match="there is no velocity 2 of tree 0"):
        problem.add_drive(0, 2, 0.0, Kp=1.0, Kd=0.0)
    with pytest.raises(ValueError, match="time_step of a contact problem must be positive"):
        ContactProblem([1], 0.0)
    assert problem.num_constraints == 0
    with pytest.raises(ValueError, match=r"v must have shape \(5,\), got \(4,\)"):
        problem.solve([np.eye(2), np.eye(3)], np.zeros(4), np.zeros(5))
