"""The block elimination of TAMSI's matrix solves what a dense solution solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contact_problem import ContactProblem
from numpy.typing import NDArray

from merganser.multibody.contact import integer_workspace_size
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.linear.ordering import carve_islands, carve_pattern, order_trees
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem
from merganser.multibody.linear.unsymmetric import assemble_panels, factor_panels, solve_panels

Array = NDArray[np.float64]


def random_problem(seed: int) -> tuple[Problem, Array, Array]:
    """Trees in a row that touch each other, with limits; A, by its blocks; and Hessians of contacts that slide."""
    rng = np.random.default_rng(seed)
    sizes = [6, 6, 1, 6, 3, 6, 7][: rng.integers(2, 8)]
    problem = ContactProblem(sizes, 1e-2, TAMSI)
    for t in rng.permutation(len(sizes)):
        others = [int(s) for s in (t, (t + 1) % len(sizes)) if s == t or rng.random() < 0.8]
        J = {s: rng.normal(size=(3, sizes[s])) for s in {int(t), *others}}
        problem.add_contact(J, friction=0.5, stiffness=1e4, phi=-1e-3)
    problem.add_limit(0, 2, 0.0)
    settings, trees, constraints, _, jacobian = problem.arrays()
    blocks = []
    for n in sizes:
        B = rng.normal(size=(n, n))
        blocks.append((B @ B.T + np.eye(n)).ravel())
    hessian = np.zeros(HESSIAN_SIZE * (3 * len(sizes) + 1))
    for c in constraints:
        row = HESSIAN_SIZE * int(c["row_start"])
        if c["kind"] == CONTACT:
            G = rng.normal(size=(2, 2))
            G = G @ G.T
            hessian[row : row + 6] = [G[0, 0], G[0, 1], G[1, 1], *rng.normal(size=2), 10.0 ** rng.uniform(-2.0, 3.0)]
        else:
            hessian[row] = 5.0
    return Problem(settings, trees, np.concatenate(blocks), constraints, jacobian), hessian, rng.normal(size=sum(sizes))


def dense_matrix(problem: Problem, hessian: Array, num_v: int) -> Array:
    K = np.zeros((num_v, num_v))
    for tree in problem.trees:
        n, first, start = tree["num_v"], tree["v_start"], tree["matrix_start"]
        K[first : first + n, first : first + n] = problem.matrix[start : start + n * n].reshape(n, n)
    for c in problem.constraints:
        rows, row = int(c["num_rows"]), HESSIAN_SIZE * int(c["row_start"])
        J = np.zeros((rows, num_v))
        for t, start in ((c["tree_0"], c["jacobian_0"]), (c["tree_1"], c["jacobian_1"])):
            if t >= 0:
                n, first = int(problem.trees[t]["num_v"]), int(problem.trees[t]["v_start"])
                J[:, first : first + n] = problem.jacobian[start : start + rows * n].reshape(rows, n)
        G: Any = hessian[row : row + 1].reshape(1, 1)
        if c["kind"] == CONTACT:
            g = hessian[row : row + 6]
            G = np.array([[g[0], g[1], g[3]], [g[1], g[2], g[4]], [0.0, 0.0, g[5]]])
        K += J.T @ G @ J
    return K


@pytest.mark.parametrize("seed", range(8))
def test_elimination_by_blocks_solves_as_a_dense_one(seed: int) -> None:
    problem, hessian, b = random_problem(seed)
    num_trees, num_constraints = len(problem.trees), len(problem.constraints)
    capacity = num_trees * (num_trees - 1) // 2
    integers = np.zeros(integer_workspace_size(len(b), num_trees, num_constraints, capacity), np.int64)
    islands = carve_islands(num_trees, num_constraints, integers)
    pattern = carve_pattern(len(b), num_trees, num_constraints, integers)
    every = np.arange(num_trees), np.arange(num_constraints)
    order_trees(problem.trees, problem.constraints, *every, islands.weight, islands.bits, pattern)
    panels, x, pivots = np.full(2 * pattern.panel_start[num_trees], np.nan), b.copy(), np.full(len(b), np.nan)
    assemble_panels(problem, num_trees, every[1], pattern, hessian, panels)
    assert factor_panels(problem.trees, pattern, num_trees, panels, pivots)
    solve_panels(problem.trees, pattern, num_trees, panels, pivots, x)
    K = dense_matrix(problem, hessian, len(b))
    np.testing.assert_allclose(K @ x, b, atol=1e-9 * np.abs(K).max() * np.abs(x).max())
    assert (pivots != np.arange(len(b))).any()  # rows were exchanged


def test_a_block_without_anything_in_it_is_singular() -> None:
    problem, hessian, b = random_problem(0)
    problem.matrix[:], hessian[:] = 0.0, 0.0
    num_trees, num_constraints = len(problem.trees), len(problem.constraints)
    integers = np.zeros(integer_workspace_size(len(b), num_trees, num_constraints, 99), np.int64)
    islands = carve_islands(num_trees, num_constraints, integers)
    pattern = carve_pattern(len(b), num_trees, num_constraints, integers)
    every = np.arange(num_trees), np.arange(num_constraints)
    order_trees(problem.trees, problem.constraints, *every, islands.weight, islands.bits, pattern)
    panels = np.zeros(2 * pattern.panel_start[num_trees])
    assemble_panels(problem, num_trees, every[1], pattern, hessian, panels)
    assert not factor_panels(problem.trees, pattern, num_trees, panels, np.zeros(len(b)))
