"""Jacobians, velocities and accelerations of points on random trees with all kinds of mobilizer.

The reference is the complex step: the derivative of a position or velocity along a direction, exact to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from measured_points import (
    NUM_POINTS,
    Measured,
    generalized_forces,
    mass_matrix_by_columns,
    momentum,
    qdot_jacobian,
    total_inertia,
)
from random_trees import QUATERNION_FLOATING, Tree, make_topology, random_parameters, random_tree

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff

STEP = 1e-100  # of the complex step: no truncation error is left, no digit is lost
SEEDS = range(6)


def random_case(seed: int, num_bodies: int = 9) -> tuple[Tree, Measured]:
    tree = random_tree(seed, num_bodies)
    return tree, Measured(tree, seed)


def along(tree: Tree, qdot: np.ndarray, vdot: np.ndarray | None = None) -> Tree:
    """The tree, one complex step further."""
    vdot = np.zeros(tree.num_v) if vdot is None else vdot
    return tree.astype(complex).update(q=tree.q + 1j * STEP * qdot, v=tree.v + 1j * STEP * vdot)


def spin_of(R: np.ndarray, Rdot: np.ndarray) -> np.ndarray:
    """w_AF_A from Rdot = [w]x R."""
    S = Rdot @ R.T
    return np.array([S[2, 1], S[0, 2], S[1, 0]])


def close(actual, expected, tolerance=1e-11):
    """Relative to the largest element, or to 1."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_times_velocities_is_the_derivative_of_positions(seed):
    tree, case = random_case(seed)
    case.expressed_in_A()
    moved = along(tree, tree.qdot())
    J = case.jacobian(tree)
    close((J[3:] @ tree.v).reshape(-1, 3).T, case.positions(moved).imag / STEP)
    R, Rdot = case.relative_pose(tree)[:, :3], case.relative_pose(moved).imag[:, :3] / STEP
    close(J[:3] @ tree.v, spin_of(R, Rdot))


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_for_qdot_holds_the_partial_derivatives_of_positions(seed):
    """Quaternions are not of unit length."""
    tree, case = random_case(seed)
    case.expressed_in_A()
    J_q = qdot_jacobian(tree, case.jacobian(tree))
    for i, e_i in enumerate(np.eye(tree.num_q)):
        close(J_q[3:, i].reshape(-1, 3).T, case.positions(along(tree, e_i)).imag / STEP)
    close(J_q @ tree.qdot(), case.jacobian(tree) @ tree.v)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_times_velocities_is_the_velocity_in_any_frame(seed):
    tree, case = random_case(seed)
    close((case.jacobian(tree)[3:] @ tree.v).reshape(-1, 3).T, case.velocities(tree))


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_are_the_derivatives_of_velocities(seed):
    tree, case = random_case(seed)
    case.expressed_in_A()
    vdot = case.rng.normal(size=tree.num_v)
    A = case.accelerations(tree, vdot)
    moved = along(tree, tree.qdot(), vdot)
    close(A[1:].T, case.velocities(moved).imag / STEP)
    close(A[0], (case.jacobian(moved)[:3] @ moved.v).imag / STEP)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_is_the_acceleration_without_that_of_the_jacobian(seed):
    tree, case = random_case(seed)
    vdot = case.rng.normal(size=tree.num_v)
    bias = case.accelerations(tree, np.zeros(tree.num_v))
    close(bias.ravel(), case.accelerations(tree, vdot).ravel() - case.jacobian(tree) @ vdot)


# -- sums over bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_of_the_centre_of_mass_is_the_mean_of_those_of_the_bodies(seed):
    tree, case = random_case(seed)
    expected, mass = np.zeros((3, tree.num_v)), tree.parameters["mass"]
    J = case.center_of_mass_jacobian(tree)
    case.X_BF = np.eye(3, 4)
    for i in case.members:
        case.B, case.points = int(i), np.repeat(tree.parameters["p_BoBcm_B"][i], NUM_POINTS)
        expected += mass[i] * case.jacobian(tree)[3:6]
    close(J, expected / mass[case.members].sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_acceleration_of_the_centre_of_mass_is_the_derivative_of_its_velocity(seed):
    tree, case = random_case(seed)
    case.expressed_in_A()
    vdot = case.rng.normal(size=tree.num_v)
    a_and_mass = case.center_of_mass_acceleration(tree, vdot)
    moved = along(tree, tree.qdot(), vdot)
    close(a_and_mass[:3], (case.center_of_mass_jacobian(moved) @ moved.v).imag / STEP)
    assert a_and_mass[3] == pytest.approx(tree.parameters["mass"][case.members].sum(), rel=1e-14)


def floating_tree(seed: int) -> Tree:
    """A random tree whose base bodies float, without rotors, whose momentum is not that of bodies."""
    tree = random_tree(seed, 6)
    kinds = np.where(tree.topology["parent"] == 0, QUATERNION_FLOATING, tree.topology["mobilizer"])
    topology = make_topology(tree.topology["parent"].tolist(), kinds.tolist())
    rng = np.random.default_rng(seed)
    parameters = random_parameters(rng, topology)
    parameters["reflected_inertia"] = 0.0
    q, v = (rng.uniform(-1, 1, topology[size].sum()) for size in ("num_q", "num_v"))
    return Tree(topology, parameters, q, v).update()


@pytest.mark.parametrize("seed", SEEDS)
def test_only_gravity_changes_the_momentum_of_bodies_that_nothing_holds(seed):
    """d/dt of the momentum about Wo = moment and force of gravity."""
    tree = floating_tree(seed)
    members = np.arange(1, len(tree.topology))
    _, vdot = tree.forward_dynamics(np.zeros(tree.num_v))
    L = momentum(along(tree, tree.qdot(), vdot), members, np.zeros(3))
    masses = tree.parameters["mass"][members]
    p_WoBcm_W = tree.position["p_WoBo_W"][members] + tree.position["p_BoBcm_W"][members]
    moment = np.cross(p_WoBcm_W, tree.gravity).T @ masses
    close(L.imag[:6] / STEP, np.concatenate([moment, masses.sum() * tree.gravity]), 1e-9)
    assert L[6].real == pytest.approx(masses.sum(), rel=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_inertia_of_all_bodies_gives_the_momentum_of_a_rigid_motion(seed):
    tree = random_tree(seed, 5)
    members, rng = np.arange(1, 6), np.random.default_rng(seed)
    w, v, p = rng.normal(size=(3, 3))
    for i in range(6):  # every body turns and moves as one with point P
        tree.velocity["V_WB_W"][i] = np.concatenate([w, v + np.cross(w, tree.position["p_WoBo_W"][i] - p)])
    L = momentum(tree, members, p)
    mp_and_mass, I_SP_W = total_inertia(tree, members, p)
    close(L[:3], I_SP_W @ w + np.cross(mp_and_mass[:3], v))
    close(L[3:6], mp_and_mass[3] * v + np.cross(w, mp_and_mass[:3]))


@pytest.mark.parametrize("seed", SEEDS)
def test_generalized_forces_have_the_power_of_the_forces_on_bodies(seed):
    tree = random_tree(seed, 8)
    F = np.random.default_rng(seed).normal(size=(9, 6))
    power = np.sum(F[1:] * tree.velocity["V_WB_W"][1:])
    assert generalized_forces(tree, F) @ tree.v == pytest.approx(power, rel=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_by_columns_is_that_of_composite_bodies(seed):
    tree = random_tree(seed, 8)
    close(mass_matrix_by_columns(tree), tree.mass_matrix())


# -- other scalars -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_derivatives_of_jacobians_by_autodiff_are_those_of_the_complex_step(seed):
    tree, case = random_case(seed, num_bodies=4)
    objects = tree.astype(object).update(q=InitializeAutoDiff(tree.q).ravel())
    gradient = ExtractGradient(case.jacobian(objects).ravel())
    for i, e_i in enumerate(np.eye(tree.num_q)):
        close(gradient[:, i], case.jacobian(along(tree, e_i)).imag.ravel() / STEP)
