"""Identities of mechanics that the kernels satisfy on random trees."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import ALL_KINDS, SIMPLE_KINDS, Tree, poisoned, random_tree

from merganser.multibody import kernels
from merganser.multibody.kernels.layout import CURVILINEAR, QUATERNION_FLOATING
from merganser.multibody.kernels.mass_matrix import factorize, multiply_by_inverse

STEP = 1e-100  # imaginary, so that derivatives are exact to rounding
SIZES = [(1, 3), (2, 5), (3, 8), (4, 12), (5, 15), (6, 15)]  # (seed, number of bodies)


@pytest.fixture(params=SIZES, ids=lambda size: f"seed{size[0]}-{size[1]}bodies")
def tree(request: pytest.FixtureRequest) -> Tree:
    return random_tree(*request.param)


def normal(tree: Tree, *shape: int) -> np.ndarray:
    return np.random.default_rng(tree.num_v).normal(size=shape)


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float = 1e-12) -> None:
    """Rounding errors grow with the size of the terms (1 to 100 here) and the depth of the tree."""
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)


def along(tree: Tree, vdot: np.ndarray) -> Tree:
    """The tree an infinitesimal (imaginary) time later, under the accelerations vdot."""
    qdot = tree.qdot()
    return tree.astype(complex).update(tree.q + 1j * STEP * qdot, tree.v + 1j * STEP * vdot)


def rate(values: np.ndarray) -> np.ndarray:
    return np.asarray(values).imag / STEP


def test_trees_cover_every_mobilizer() -> None:
    kinds = {int(kind) for size in SIZES for kind in random_tree(*size).topology["mobilizer"]}
    assert kinds == set(ALL_KINDS)


def test_velocities_are_the_rates_of_poses(tree: Tree) -> None:
    later = along(tree, np.zeros(tree.num_v))
    for i in range(len(tree.topology)):
        V_WB_W = tree.velocity["V_WB_W"][i]
        assert_close(rate(later.position["p_WoBo_W"][i]), V_WB_W[3:])
        w_x = np.cross(V_WB_W[:3], np.eye(3)).T  # [w]x: column k is w x e_k
        assert_close(rate(later.position["R_WB"][i]), w_x @ tree.position["R_WB"][i])


def test_rotations_are_orthonormal_even_of_quaternions_of_any_length(tree: Tree) -> None:
    for R in tree.position["R_WB"]:
        assert_close(R @ R.T, np.eye(3))
        assert np.linalg.det(R) > 0


def test_accelerations_are_the_rates_of_velocities(tree: Tree) -> None:
    vdot = normal(tree, tree.num_v)
    later = along(tree, vdot)
    tree.inverse_dynamics(vdot, gravity=np.zeros(3))
    assert_close(tree.scratch["A_WB_W"], rate(later.velocity["V_WB_W"]))


def test_inverse_dynamics_undoes_forward_dynamics(tree: Tree) -> None:
    tau, F = normal(tree, tree.num_v), normal(tree, len(tree.topology), 6)
    status, vdot = tree.forward_dynamics(tau, F)
    assert status == 0
    assert_close(tree.inverse_dynamics(vdot, F), tau)


def test_extra_diagonal_acts_like_inertia_of_the_hinge(tree: Tree) -> None:
    tau, extra = normal(tree, tree.num_v), np.abs(normal(tree, tree.num_v))
    _, vdot = tree.forward_dynamics(tau, extra=extra)
    assert_close(tree.inverse_dynamics(vdot) + extra * vdot, tau)


def test_poses_and_then_the_rest_are_the_position_kinematics_to_the_bit(tree: Tree) -> None:
    whole = tree.position.copy()
    tree.position[:] = poisoned(tree.position.shape, tree.position.dtype)
    tree.call(kernels.poses, tree.topology, tree.parameters, tree.q, tree.position)
    for name in ("R_WB", "p_WoBo_W", "p_PoBo_W"):
        np.testing.assert_array_equal(tree.position[name], whole[name])
    tree.call(kernels.hinges_and_inertias, tree.topology, tree.parameters, tree.q, tree.position)
    for name in whole.dtype.names:
        np.testing.assert_array_equal(tree.position[name][1:], whole[name][1:], err_msg=name)


def test_factors_of_the_mass_matrix_have_its_zeros_and_invert_it(tree: Tree) -> None:
    M = tree.mass_matrix()
    factors, Y = M.copy(), normal(tree, tree.num_v, 3)
    factorize(tree.topology, factors)
    X = Y.copy()
    multiply_by_inverse(tree.topology, factors, -1.0, X)
    assert_close(M @ X, -Y, 1e-10)
    L = np.tril(factors, -1) + np.eye(tree.num_v)
    assert_close(L.T @ np.diag(1.0 / np.diag(factors)) @ L, M)
    related = inboard_velocities(tree)
    assert not factors[np.tril(~related, -1)].any()


def inboard_velocities(tree: Tree) -> np.ndarray:
    """Whether velocity l is inboard of velocity k or of the same mobilizer, for all [k, l]."""
    related = np.zeros((tree.num_v, tree.num_v), bool)
    for node in tree.topology[1:]:
        rows, ancestor = slice(node["v_start"], node["v_start"] + node["num_v"]), node
        while ancestor["parent"] >= 0:
            related[rows, ancestor["v_start"] : ancestor["v_start"] + ancestor["num_v"]] = True
            ancestor = tree.topology[ancestor["parent"]]
    return related


def test_mass_matrix_is_symmetric_positive(tree: Tree) -> None:
    M = tree.mass_matrix()
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_columns_of_mass_matrix_are_inverse_dynamics_of_unit_accelerations(tree: Tree) -> None:
    M, bias = tree.mass_matrix(), tree.bias()
    for k, e_k in enumerate(np.eye(tree.num_v)):
        assert_close(tree.inverse_dynamics(e_k, gravity=np.zeros(3)) - bias, M[:, k])


def test_gravity_is_inverse_dynamics_at_rest(tree: Tree) -> None:
    tree.update(v=np.zeros(tree.num_v))
    assert_close(tree.gravity_forces(), -tree.inverse_dynamics(np.zeros(tree.num_v)))


def test_gravity_forces_are_the_descent_of_potential_energy(tree: Tree) -> None:
    later = along(tree, np.zeros(tree.num_v))
    assert_close(-rate(later.energies()[1]), tree.gravity_forces() @ tree.v)


def test_kinetic_energy_is_half_v_M_v(tree: Tree) -> None:
    assert_close(tree.energies()[0], 0.5 * tree.v @ tree.mass_matrix() @ tree.v)


def test_energy_grows_by_the_power_of_applied_forces(tree: Tree) -> None:
    tau, F = normal(tree, tree.num_v), normal(tree, len(tree.topology), 6)
    _, vdot = tree.forward_dynamics(tau, F)
    power = tau @ tree.v + np.sum(F[1:] * tree.velocity["V_WB_W"][1:])
    assert_close(rate(along(tree, vdot).energies()).sum(), power)


def test_mass_matrix_rate_less_twice_coriolis_does_no_work(tree: Tree) -> None:
    M_rate = rate(along(tree, np.zeros(tree.num_v)).mass_matrix())
    assert_close(tree.v @ M_rate @ tree.v, 2.0 * tree.v @ tree.bias())


@pytest.mark.parametrize("seed", range(10, 13))
def test_bias_obeys_lagrange(seed: int) -> None:
    """C v = Mdot v - 1/2 d(v^T M v)/dq where qdot = v: rejection leaves trees without floating bodies."""
    trees = (random_tree(seed + 100 * k, 6, SIMPLE_KINDS) for k in range(100))
    tree = next(t for t in trees if t.num_q == t.num_v > 3)
    M_by_q = [
        rate(tree.astype(complex).update(tree.q + 1j * STEP * e_k).mass_matrix())
        for e_k in np.eye(tree.num_q)
    ]
    M_rate = sum(dM * v_k for dM, v_k in zip(M_by_q, tree.v))
    assert_close(tree.bias(), M_rate @ tree.v - 0.5 * np.array([tree.v @ dM @ tree.v for dM in M_by_q]))


def momentum_about_world_origin(tree: Tree) -> np.ndarray:
    """[angular about Wo; linear] momentum, shape [6]."""
    total = np.zeros(6, dtype=tree.velocity["V_WB_W"].dtype)
    for body, V in zip(tree.position[1:], tree.velocity["V_WB_W"][1:]):
        w, v, mc = V[:3], V[3:], body["mass"] * body["p_BoBcm_W"]
        linear = body["mass"] * v + np.cross(w, mc)
        total[:3] += body["I_BBo_W"] @ w + np.cross(mc, v) + np.cross(body["p_WoBo_W"], linear)
        total[3:] += linear
    return total


def test_momentum_of_a_floating_tree_changes_only_by_gravity_and_applied_forces() -> None:
    trees = (random_tree(seed, 9) for seed in range(1000))
    tree = next(t for t in trees if all(t.topology["mobilizer"][t.topology["parent"] == 0] == 3))
    tau, F = normal(tree, tree.num_v), normal(tree, len(tree.topology), 6)
    for node in tree.topology[tree.topology["mobilizer"] == QUATERNION_FLOATING]:
        tau[node["v_start"] : node["v_start"] + 6] = 0.0
    _, vdot = tree.forward_dynamics(tau, F)
    expected = np.zeros(6)
    for body, F_Bo_W in zip(tree.position[1:], F[1:]):
        weight = body["mass"] * tree.gravity
        expected[3:] += F_Bo_W[3:] + weight
        expected[:3] += F_Bo_W[:3] + np.cross(body["p_WoBo_W"], F_Bo_W[3:])
        expected[:3] += np.cross(body["p_WoBo_W"] + body["p_BoBcm_W"], weight)
    assert_close(rate(momentum_about_world_origin(along(tree, vdot))), expected)


def test_qdot_to_velocity_undoes_velocity_to_qdot(tree: Tree) -> None:
    assert_close(tree.velocity_of(tree.qdot()), tree.v)


def test_length_of_quaternion_does_not_change_and_its_own_rate_is_no_velocity() -> None:
    tree = next(t for t in (random_tree(s, 3) for s in range(100)) if t.num_q > t.num_v)
    start = tree.topology["q_start"][list(tree.topology["mobilizer"]).index(QUATERNION_FLOATING)]
    Q = tree.q[start : start + 4]
    assert abs(Q @ tree.qdot()[start : start + 4]) < 1e-14
    along_Q = np.zeros(tree.num_q)
    along_Q[start : start + 4] = Q
    assert_close(tree.velocity_of(along_Q), np.zeros(tree.num_v))


def test_locked_mobilizers_keep_their_velocities_and_act_as_welds(tree: Tree) -> None:
    """With the locked joints' accelerations zero, the other rows of the equations of motion hold."""
    locked = np.arange(len(tree.topology)) % 3 == 1
    tree.parameters["is_locked"][: len(locked)] = locked
    is_free = np.ones(tree.num_v, dtype=bool)
    for node in tree.topology[locked]:
        is_free[node["v_start"] : node["v_start"] + node["num_v"]] = False
    tau = normal(tree, tree.num_v)
    status, vdot = tree.forward_dynamics(tau)
    assert status == 0 and not np.any(vdot[~is_free])
    assert_close(tree.inverse_dynamics(vdot)[is_free], tau[is_free])


def test_a_path_that_closes_on_itself_repeats() -> None:
    tree = next(t for t in (random_tree(s, 3) for s in range(100)) if CURVILINEAR in t.topology["mobilizer"])
    i = list(tree.topology["mobilizer"]).index(CURVILINEAR)
    tree.parameters["pitch"][i] = 2.5
    q = tree.q.copy()
    pose = tree.update(q).position["R_WB"][i].copy()
    q[tree.topology["q_start"][i]] -= 3 * 2.5
    assert_close(tree.update(q).position["R_WB"][i], pose)
