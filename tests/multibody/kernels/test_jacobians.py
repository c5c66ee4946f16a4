"""Jacobians, velocities and accelerations of points on random trees with all kinds of mobilizer.

The reference is the complex step: the derivative of a position or velocity along a direction, exact to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import (
    QUATERNION_FLOATING,
    Tree,
    make_topology,
    random_parameters,
    random_rotation,
    random_tree,
)

from merganser.framework.autodiff import ExtractGradient, InitializeAutoDiff
from merganser.multibody import kernels

STEP = 1e-100  # of the complex step: no truncation error is left, no digit is lost
NUM_POINTS = 3
SEEDS = range(6)


class Measured:
    """Points fixed to a random frame of a random body, measured in another body A, expressed in a frame of a third."""

    def __init__(self, seed: int, num_bodies: int = 9) -> None:
        self.rng = np.random.default_rng(1000 + seed)
        self.tree = random_tree(seed, num_bodies)
        self.B, self.A, self.D = (int(i) for i in self.rng.integers(num_bodies + 1, size=3))
        self.X_BF, self.X_AA, self.X_DE = (self.random_pose() for _ in range(3))
        self.points = self.rng.normal(size=3 * NUM_POINTS)

    def random_pose(self) -> np.ndarray:
        return np.column_stack([random_rotation(self.rng), self.rng.normal(size=3)])

    def expressed_in_A(self) -> Measured:
        """The derivatives of coordinates are those of the vector if the frame of expression is that of measurement."""
        self.D, self.X_DE = self.A, self.X_AA
        return self

    def arrays(self, tree: Tree, *names: str) -> list:
        return [a if isinstance(a := getattr(self, name), int) else tree.array(a) for name in names]

    def positions(self, tree: Tree) -> np.ndarray:
        """p_AoQi_A, shape [3, NUM_POINTS]."""
        out = tree.out(3, NUM_POINTS)
        frames = self.arrays(tree, "B", "X_BF", "points", "A", "X_AA")
        tree.call(kernels.point_positions, tree.position, *frames, out)
        return out

    def velocities(self, tree: Tree) -> np.ndarray:
        """v_AQi_E, shape [3, NUM_POINTS]."""
        out = tree.out(3, NUM_POINTS)
        frames = self.arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        tree.call(kernels.point_velocities, tree.position, tree.velocity, *frames, out)
        return out

    def accelerations(self, tree: Tree, vdot: np.ndarray) -> np.ndarray:
        """alpha_AF_E and a_AQi_E, shape [1 + NUM_POINTS, 3]."""
        out = tree.out(1 + NUM_POINTS, 3)
        frames = self.arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        state = tree.topology, tree.position, tree.velocity, tree.array(vdot)
        tree.call(kernels.point_accelerations, *state, *frames, tree.out(len(tree.topology), 6), out)
        return out

    def jacobian(self, tree: Tree) -> np.ndarray:
        """[J_w; J_v0; J_v1 ...], shape [3 + 3 NUM_POINTS, num_v]."""
        out = tree.out(3 + 3 * NUM_POINTS, tree.num_v)
        frames = self.arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        tree.call(kernels.jacobian, tree.topology, tree.position, *frames, out)
        return out

    def relative_rotation(self, tree: Tree) -> np.ndarray:
        """R_AF."""
        R, p = tree.out(3, 3), tree.out(3)
        frames = self.arrays(tree, "A", "X_AA", "B", "X_BF")
        tree.call(kernels.relative_pose, tree.position, *frames, R, p)
        return R


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


def qdot_jacobian(tree: Tree, J_v: np.ndarray) -> np.ndarray:
    out = tree.out(len(J_v), tree.num_q)
    work = tree.out(tree.num_q), tree.out(tree.num_v)
    tree.call(kernels.qdot_jacobian, tree.topology, tree.q, J_v, *work, out)
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_times_velocities_is_the_derivative_of_positions(seed):
    case = Measured(seed).expressed_in_A()
    tree = case.tree
    moved = along(tree, tree.qdot())
    J = case.jacobian(tree)
    close((J[3:] @ tree.v).reshape(-1, 3).T, case.positions(moved).imag / STEP)
    R = case.relative_rotation(tree)
    close(J[:3] @ tree.v, spin_of(R, case.relative_rotation(moved).imag / STEP))


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_for_qdot_holds_the_partial_derivatives_of_positions(seed):
    """Quaternions are not of unit length."""
    case = Measured(seed).expressed_in_A()
    tree = case.tree
    J_q = qdot_jacobian(tree, case.jacobian(tree))
    for i, e_i in enumerate(np.eye(tree.num_q)):
        close(J_q[3:, i].reshape(-1, 3).T, case.positions(along(tree, e_i)).imag / STEP)
    close(J_q @ tree.qdot(), case.jacobian(tree) @ tree.v)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_times_velocities_is_the_velocity_in_any_frame(seed):
    case = Measured(seed)
    velocities = case.velocities(case.tree)
    close((case.jacobian(case.tree)[3:] @ case.tree.v).reshape(-1, 3).T, velocities)


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_are_the_derivatives_of_velocities(seed):
    case = Measured(seed).expressed_in_A()
    tree = case.tree
    vdot = case.rng.normal(size=tree.num_v)
    A = case.accelerations(tree, vdot)
    moved = along(tree, tree.qdot(), vdot)
    close(A[1:].T, case.velocities(moved).imag / STEP)
    close(A[0], (case.jacobian(moved)[:3] @ moved.v).imag / STEP)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_is_the_acceleration_without_that_of_the_jacobian(seed):
    case = Measured(seed)
    tree = case.tree
    vdot = case.rng.normal(size=tree.num_v)
    bias = case.accelerations(tree, np.zeros(tree.num_v))
    close(bias.ravel(), case.accelerations(tree, vdot).ravel() - case.jacobian(tree) @ vdot)


# -- sums over bodies --------------------------------------------------------------------------------------


def center_of_mass_jacobian(tree: Tree, members: np.ndarray, A: int, D: int, X_DE: np.ndarray):
    J, mass = tree.out(3, tree.num_v), tree.out(1)
    frames = A, D, tree.array(X_DE)
    tree.call(kernels.center_of_mass_jacobian, tree.topology, tree.position, members, *frames, tree.scratch, J, mass)
    return J, mass[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_of_the_centre_of_mass_is_the_mean_of_those_of_the_bodies(seed):
    case = Measured(seed)
    tree = case.tree
    members = np.flatnonzero(case.rng.random(len(tree.topology)) < 0.6)
    members = members[members > 0]
    J, mass = center_of_mass_jacobian(tree, members, case.A, case.D, case.X_DE)
    expected = np.zeros((3, tree.num_v))
    for i in members:
        body = Measured(seed)
        body.B, body.X_BF = int(i), np.eye(3, 4)
        body.points[:] = np.repeat(tree.parameters["p_BoBcm_B"][i], NUM_POINTS)
        expected += tree.parameters["mass"][i] * body.jacobian(tree)[3:6]
    assert mass == pytest.approx(tree.parameters["mass"][members].sum(), rel=1e-14)
    close(J, expected / mass)


@pytest.mark.parametrize("seed", SEEDS)
def test_acceleration_of_the_centre_of_mass_is_the_derivative_of_its_velocity(seed):
    case = Measured(seed).expressed_in_A()
    tree = case.tree
    members, vdot = np.arange(1, len(tree.topology)), case.rng.normal(size=tree.num_v)
    A_WB_W, a_and_mass = tree.out(len(tree.topology), 6), tree.out(4)
    tree.call(kernels.spatial_accelerations, tree.topology, tree.position, tree.velocity, vdot, A_WB_W)
    frame = case.arrays(tree, "A", "D", "X_DE")
    tree.call(kernels.center_of_mass_acceleration, tree.position, tree.velocity, A_WB_W, members, *frame, a_and_mass)
    moved = along(tree, tree.qdot(), vdot)
    J, _ = center_of_mass_jacobian(moved, members, case.A, case.D, case.X_DE)
    close(a_and_mass[:3], (J @ moved.v).imag / STEP)


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
    moved = along(tree, tree.qdot(), vdot)
    L = moved.out(7)
    moved.call(kernels.momentum, moved.position, moved.velocity, members, moved.array(np.zeros(3)), L)
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
    L, mp_and_mass, I_SP_W = tree.out(7), tree.out(4), tree.out(3, 3)
    tree.call(kernels.momentum, tree.position, tree.velocity, members, p, L)
    tree.call(kernels.total_inertia, tree.position, members, p, tree.scratch, mp_and_mass, I_SP_W)
    mp, mass = mp_and_mass[:3], mp_and_mass[3]
    close(L[:3], I_SP_W @ w + np.cross(mp, v))
    close(L[3:6], mass * v + np.cross(w, mp))


@pytest.mark.parametrize("seed", SEEDS)
def test_generalized_forces_have_the_power_of_the_forces_on_bodies(seed):
    tree = random_tree(seed, 8)
    F = np.random.default_rng(seed).normal(size=(9, 6))
    tau = tree.out(tree.num_v)
    tree.call(kernels.generalized_forces, tree.topology, tree.position, F, tree.out(9, 6), tau)
    assert tau @ tree.v == pytest.approx(np.sum(F[1:] * tree.velocity["V_WB_W"][1:]), rel=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_by_columns_is_that_of_composite_bodies(seed):
    tree = random_tree(seed, 8)
    M, n = tree.out(tree.num_v, tree.num_v), len(tree.topology)
    other = random_tree(seed, 8)
    tree.call(
        kernels.mass_matrix_by_columns, tree.topology, tree.parameters, tree.position, np.zeros(3), np.zeros((n, 6)),
        other.velocity, tree.scratch, tree.out(tree.num_v), tree.out(tree.num_v), M,
    )  # fmt: skip
    close(M, tree.mass_matrix())


# -- other scalars -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_derivatives_of_jacobians_by_autodiff_are_those_of_the_complex_step(seed):
    case = Measured(seed, num_bodies=4)
    tree = case.tree
    objects = tree.astype(object).update(q=InitializeAutoDiff(tree.q).ravel())
    gradient = ExtractGradient(case.jacobian(objects).ravel())
    for i, e_i in enumerate(np.eye(tree.num_q)):
        close(gradient[:, i], case.jacobian(along(tree, e_i)).imag.ravel() / STEP)
