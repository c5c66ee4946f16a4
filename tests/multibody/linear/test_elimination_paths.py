"""The factor of a tree's block has entries only where a velocity is on the path of another one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from contact_problem import ContactProblem
from numpy.typing import NDArray

from merganser.multibody.contact import SAP, integer_workspace_size
from merganser.multibody.linear.factorization import factor, solve
from merganser.multibody.linear.hessian import assemble_hessian
from merganser.multibody.linear.ordering import Pattern, carve_islands, carve_pattern, order_trees
from merganser.multibody.linear.paths import find_paths, join_paths
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem

Array = NDArray[np.float64]
RNG = np.random.default_rng(8)
NUM_BASE, LEG = 6, 4
# A base of six velocities with three legs of four: the velocity inboard of each, as the depth-first numbers say.
INBOARD = [*range(-1, NUM_BASE - 1)]
for _leg in range(3):
    INBOARD += [NUM_BASE - 1, *range(len(INBOARD), len(INBOARD) + LEG - 1)]
SIZE = len(INBOARD)


def on_path(k: int, inboard: Any = INBOARD) -> list[int]:
    """k and all velocities inboard of it."""
    found = []
    while k >= 0:
        found.append(int(k))
        k = inboard[k]
    return found


def mass_matrix() -> Array:
    """A positive definite matrix with the zeros of the tree."""
    A = np.eye(SIZE)
    for k in range(SIZE):
        row = np.zeros(SIZE)
        row[on_path(k)] = RNG.normal(size=len(on_path(k)))
        A += np.outer(row, row)
    return A


def columns(*tips: int) -> Array:
    """Three rows of J of a contact that the paths of some velocities take part in."""
    J = np.zeros((3, SIZE))
    for k in tips:
        J[:, on_path(k)] = RNG.normal(size=(3, len(on_path(k))))
    return J


def factored(
    problem: ContactProblem, blocks: list[Array], is_narrow: bool = False
) -> tuple[Pattern, Array, Array, Array]:
    """Paths and factor of the Hessian of a problem with one island; H itself, and H^-1 b for b of ones.

    Args:
        problem: of contacts.
        blocks: of A.
        is_narrow: whether blocks of J have only the columns that are not zero, and those between.
    """
    settings, trees, constraints, _, jacobian = problem.arrays()
    given, J_given = (narrowed if is_narrow else lambda *same: same)(constraints, jacobian)
    arrays = Problem(settings, trees, np.concatenate([A.ravel() for A in blocks]), given, J_given)
    num_v, num_trees, num_constraints = sum(len(A) for A in blocks), len(blocks), len(constraints)
    integers = np.zeros(integer_workspace_size(num_v, num_trees, num_constraints, num_trees**2), np.int64)
    islands = carve_islands(num_trees, num_constraints, integers)
    pattern = carve_pattern(num_v, num_trees, num_constraints, integers)
    every = np.arange(num_trees), np.arange(num_constraints)
    order_trees(trees, constraints, *every, islands.weight, islands.bits, pattern)
    find_paths(arrays, *every, pattern.path, pattern.run)
    G = np.zeros(HESSIAN_SIZE * 3 * num_constraints)
    H = np.zeros((num_v, num_v))
    for t, A in zip(trees, blocks):
        part = slice(t["v_start"], t["v_start"] + t["num_v"])
        H[part, part] = A
    for c in constraints:
        assert c["kind"] == CONTACT
        row = HESSIAN_SIZE * int(c["row_start"])
        G[row : row + 6] = [2.0, 0.3, 3.0, 0.1, 0.2, 4.0]
        J = np.zeros((3, num_v))
        for t, start in ((c["tree_0"], c["jacobian_0"]), (c["tree_1"], c["jacobian_1"])):
            if t >= 0:
                n, first = int(trees[t]["num_v"]), int(trees[t]["v_start"])
                J[:, first : first + n] = jacobian[start : start + 3 * n].reshape(3, n)
        H += J.T @ np.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]]) @ J
    U, x = np.full(pattern.panel_start[num_trees], np.nan), np.ones(num_v)
    assemble_hessian(arrays, *every, pattern, 1.0, G, U)
    assert factor(trees, pattern, num_trees, U)
    solve(trees, pattern, num_trees, U, x)
    return pattern, U, H, x


def narrowed(constraints: Any, jacobian: Array) -> tuple[Any, Array]:
    """The same without the columns of J before the first and behind the last that is not zero."""
    constraints, parts = constraints.copy(), [np.zeros(0)]
    for c in constraints:
        for end in range(2 if c["tree_1"] >= 0 else 1):
            start, n = int(c[f"jacobian_{end}"]), int(c[f"num_columns_{end}"])
            J = jacobian[start : start + 3 * n].reshape(3, n)
            used = np.flatnonzero(J.any(axis=0))
            J = J[:, used[0] : used[-1] + 1]
            c[f"column_{end}"], c[f"num_columns_{end}"] = used[0], J.shape[1]
            c[f"jacobian_{end}"] = sum(map(len, parts))
            parts.append(J.ravel())
    return constraints, np.concatenate(parts)


def problem_of(contacts: list[dict[int, Array]], sizes: list[int]) -> ContactProblem:
    problem = ContactProblem(sizes, 1e-2, SAP)
    for J in contacts:
        problem.add_contact(J, friction=0.5, stiffness=1e4, phi=-1e-3)
    return problem


@pytest.mark.parametrize("tips", [(9,), (17, 9), (9, 13, 17)])
def test_contacts_with_the_world_fill_nothing(tips: tuple[int, ...]) -> None:
    problem = problem_of([{0: columns(k)} for k in tips], [SIZE])
    pattern, U, H, x = factored(problem, [mass_matrix()])
    assert pattern.path[:SIZE].tolist() == INBOARD
    np.testing.assert_allclose(H @ x, np.ones(SIZE), atol=1e-12 * np.abs(H).max())
    L = U.reshape(SIZE, SIZE)
    for k in range(SIZE):
        assert set(np.flatnonzero(L[k, : k + 1])) <= set(on_path(k))


def test_contact_of_two_legs_makes_their_paths_one_and_leaves_the_third_alone() -> None:
    pattern, _, H, x = factored(problem_of([{0: columns(9, 17)}], [SIZE]), [mass_matrix()])
    np.testing.assert_allclose(H @ x, np.ones(SIZE), atol=1e-12 * np.abs(H).max())
    path = pattern.path
    assert on_path(17, path) == [17, 16, 15, 14, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert on_path(13, path) == on_path(13)
    assert pattern.run[14] == 14
    assert pattern.run[9] == 0


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_kinds_that_touch_are_solved_as_densely(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [SIZE, 6, 1, SIZE, 6, 2]
    blocks = []
    for n in sizes:
        root = rng.normal(size=(n, n))
        blocks.append(mass_matrix() if n == SIZE else root @ root.T + np.eye(n))
    contacts = []
    for t in range(len(sizes)):
        ends = {t, int(rng.integers(len(sizes))), (t + 1) % len(sizes)} if t % 2 else {t, (t + 1) % len(sizes)}
        for other in ends - {t}:
            tips = {s: [int(k) for k in rng.integers(0, SIZE, rng.integers(1, 3))] for s in (t, other)}
            contacts.append(
                {s: columns(*tips[s]) if sizes[s] == SIZE else rng.normal(size=(3, sizes[s])) for s in tips}
            )
    _, _, H, x = factored(problem_of(contacts, sizes), blocks)
    np.testing.assert_allclose(H @ x, np.ones(len(x)), atol=1e-11 * np.abs(H).max())


@pytest.mark.parametrize("sizes", [[6, 6, 6, 6], [6, 6, 2, 6, 6], [6, 6, SIZE, 6, 7]])
def test_free_bodies_that_all_touch_each_other_are_solved_as_densely(sizes: list[int]) -> None:
    roots = [RNG.normal(size=(n, n)) for n in sizes]
    blocks = [mass_matrix() if n == SIZE else root @ root.T + np.eye(n) for n, root in zip(sizes, roots)]
    contacts = [
        {t: columns(9, 17) if sizes[t] == SIZE else RNG.normal(size=(3, sizes[t])) for t in pair}
        for pair in itertools.combinations(range(len(sizes)), 2)
    ]
    _, _, H, x = factored(problem_of(contacts, sizes), blocks)
    np.testing.assert_allclose(H @ x, np.ones(len(x)), atol=1e-11 * np.abs(H).max())


def test_full_matrix_has_one_path_and_a_diagonal_one_none() -> None:
    root = RNG.normal(size=(4, 4))
    pattern, _, _, _ = factored(problem_of([{0: np.eye(3, 4)}], [4]), [root @ root.T])
    assert pattern.path.tolist() == [-1, 0, 1, 2]
    assert pattern.run.tolist() == [0, 0, 0, 0]
    pattern, _, _, _ = factored(problem_of([{0: np.zeros((3, 4))}], [4]), [np.eye(4)])
    assert pattern.path.tolist() == [-1] * 4
    assert pattern.run.tolist() == [0, 1, 2, 3]


def test_paths_that_have_met_stay_as_they_are() -> None:
    path = np.array([-1, 0, 1, 0, 3, 0])
    join_paths(4, 2, path)  # 4 3 0 and 2 1 0
    assert path.tolist() == [-1, 0, 1, 2, 3, 0]
    before = path.copy()
    for a, b in ((4, 0), (4, 3), (2, 1), (5, 0)):
        join_paths(a, b, path)
    assert path.tolist() == before.tolist()


@pytest.mark.parametrize("size", [3, 6, 9])
def test_blocks_of_some_columns_of_a_tree_act_on_just_these(size: int) -> None:
    """As vertices of deformable bodies do: of six columns in a tree of more velocities, or three in a tree of six."""
    rng = np.random.default_rng(size)
    sizes = [15, 6, 12]
    contacts = []
    for a, first in ((0, 0), (0, 3), (0, 6), (1, 0), (1, 3), (2, 3)):
        J = {t: np.zeros((3, n)) for t, n in ((a, sizes[a]), ((a + 1) % 3, sizes[(a + 1) % 3]))}
        for t, block in J.items():
            n = min(size, sizes[t] - min(first, sizes[t] - 3))
            block[:, min(first, sizes[t] - 3) :][:, :n] = rng.normal(size=(3, n))
        contacts.append(J)
    squares = [rng.normal(size=(n, n)) for n in sizes]
    _, _, H, x = factored(problem_of(contacts, sizes), [B @ B.T + np.eye(len(B)) for B in squares], is_narrow=True)
    np.testing.assert_allclose(H @ x, np.ones(sum(sizes)), atol=1e-11 * np.abs(H).max())
