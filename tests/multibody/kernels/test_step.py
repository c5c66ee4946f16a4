"""The fused kernels agree with the algorithms they are made of, and with the equations they solve."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import Tree, random_tree

SEEDS = [(21, 4), (22, 9), (23, 15)]


@pytest.fixture(params=SEEDS, ids=lambda size: f"seed{size[0]}-{size[1]}bodies")
def tree(request: pytest.FixtureRequest) -> Tree:
    return random_tree(*request.param)


def damping_of(tree: Tree) -> np.ndarray:
    damping = np.zeros(tree.num_v)
    for node, fixed in zip(tree.topology, tree.parameters):
        for k in range(node["num_v"]):
            damping[node["v_start"] + k] = fixed["damping"][k]
    return damping


def forces(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=tree.num_v), rng.normal(size=(len(tree.topology), 6))


def test_state_derivatives_are_qdot_and_damped_forward_dynamics(tree: Tree) -> None:
    tau, F = forces(tree)
    _, vdot = tree.forward_dynamics(tau - damping_of(tree) * tree.v, F)
    status, xdot = tree.derivatives(tau, F)
    assert status == 0
    np.testing.assert_array_equal(xdot, np.concatenate([tree.qdot(), vdot]))


def test_discrete_step_solves_the_momentum_balance_with_implicit_damping(tree: Tree) -> None:
    tau, F = forces(tree)
    h = 0.02
    tree.topology["has_explicit_products"][0] = 1
    status, x_next, *_ = tree.step(tau, F, h)
    assert status == 0
    q_next, v_next = x_next[: tree.num_q], x_next[tree.num_q :]
    # M (v+ - v) = h (tau - D v+ - C v + tau_g + J^T F): damping at the new velocity.
    balance = tree.inverse_dynamics((v_next - tree.v) / h, F) - (tau - damping_of(tree) * v_next)
    np.testing.assert_allclose(balance, 0.0, atol=1e-11)
    q = tree.q.copy()
    tree.v = v_next
    np.testing.assert_allclose(q_next, q + h * tree.qdot(), rtol=1e-15, atol=1e-15)


def test_discrete_step_is_stable_under_strong_damping() -> None:
    """h D / M is 1e4 and more here, where an explicit step would multiply the velocity by it."""
    tree = random_tree(22, 9)
    tree.parameters["damping"] = 1e7
    tree.gravity[:] = 0.0
    _, x_next, *_ = tree.step(np.zeros(tree.num_v), tree.zero_force, 0.01)
    assert np.abs(x_next[tree.num_q :]).max() < 1e-2 * np.abs(tree.v).max()


def test_discrete_step_converges_to_state_derivatives(tree: Tree) -> None:
    """The error of (x+ - x)/h is of order h."""
    tau, F = forces(tree)
    x = np.concatenate([tree.q, tree.v])
    _, xdot = tree.derivatives(tau, F)
    errors = [np.abs((tree.step(tau, F, h)[1] - x) / h - xdot).max() for h in (1e-4, 0.5e-4)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)


def test_kinematics_of_the_given_state_remain_in_the_work_arrays(tree: Tree) -> None:
    tau, F = forces(tree)
    p_WoBo_W, V_WB_W = tree.position["p_WoBo_W"].copy(), tree.velocity["V_WB_W"].copy()
    tree.position["p_WoBo_W"] = tree.velocity["V_WB_W"] = np.nan
    tree.step(tau, F, 0.1)
    np.testing.assert_array_equal(tree.position["p_WoBo_W"], p_WoBo_W)
    np.testing.assert_array_equal(tree.velocity["V_WB_W"], V_WB_W)


def test_singular_hinge_is_reported_by_number(tree: Tree) -> None:
    leaf = len(tree.topology) - 1
    tree.parameters["mass"][leaf] = np.nan
    tau, F = forces(tree)
    assert tree.derivatives(tau, F)[0] > 0
    assert tree.step(tau, F, 0.1)[0] > 0
