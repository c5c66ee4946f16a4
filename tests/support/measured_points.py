"""Frames, points and sets of bodies of random trees, and the kernels about them, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_trees import Tree, poisoned, random_rotation

from merganser.multibody import kernels

NUM_POINTS = 3


class Measured:
    """Points fixed to a frame F of body B, measured in body A, expressed in frame E of body D, all of them random.

    Args:
        tree: only its size matters: the methods take the tree, in any scalar type.
        seed: of what is random.
    """

    def __init__(self, tree: Tree, seed: int) -> None:
        self.rng = np.random.default_rng(1000 + seed)
        self.B, self.A, self.D = (int(i) for i in self.rng.integers(len(tree.topology), size=3))
        self.X_BF, self.X_AA, self.X_DE = (self._random_pose() for _ in range(3))
        self.points = self.rng.normal(size=3 * NUM_POINTS)
        self.members = 1 + np.flatnonzero(self.rng.random(len(tree.topology) - 1) < 0.6)
        self.members = self.members if len(self.members) else np.array([1])

    def _random_pose(self) -> np.ndarray:
        return np.column_stack([random_rotation(self.rng), self.rng.normal(size=3)])

    def expressed_in_A(self) -> Measured:
        """The derivatives of coordinates are those of the vector if the frame of expression is that of measurement."""
        self.D, self.X_DE = self.A, self.X_AA
        return self

    def _arrays(self, tree: Tree, *names: str) -> list[Any]:
        return [a if isinstance(a := getattr(self, name), int) else tree.array(a) for name in names]

    def positions(self, tree: Tree) -> np.ndarray:
        """p_AoQi_A, shape [3, NUM_POINTS]."""
        out = tree.out(3, NUM_POINTS)
        frames = self._arrays(tree, "B", "X_BF", "points", "A", "X_AA")
        tree.call(kernels.point_positions, tree.position, *frames, out)
        return out

    def relative_pose(self, tree: Tree) -> np.ndarray:
        """X_AF, shape [3, 4]."""
        R, p = tree.out(3, 3), tree.out(3)
        tree.call(kernels.relative_pose, tree.position, *self._arrays(tree, "A", "X_AA", "B", "X_BF"), R, p)
        return np.column_stack([R, p])

    def velocities(self, tree: Tree) -> np.ndarray:
        """v_AQi_E, shape [3, NUM_POINTS]."""
        out = tree.out(3, NUM_POINTS)
        frames = self._arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        tree.call(kernels.point_velocities, tree.position, tree.velocity, *frames, out)
        return out

    def accelerations(self, tree: Tree, vdot: np.ndarray) -> np.ndarray:
        """alpha_AF_E and a_AQi_E, shape [1 + NUM_POINTS, 3]."""
        out = tree.out(1 + NUM_POINTS, 3)
        frames = self._arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        state = tree.topology, tree.position, tree.velocity, tree.array(vdot)
        tree.call(kernels.point_accelerations, *state, *frames, tree.out(len(tree.topology), 6), out)
        return out

    def frame_velocity(self, tree: Tree) -> np.ndarray:
        """V_AF_E, shape [6]."""
        out = tree.out(6)
        frames = self._arrays(tree, "B", "X_BF", "A", "D", "X_DE")
        tree.call(kernels.frame_velocity, tree.position, tree.velocity, *frames, out)
        return out

    def frame_acceleration(self, tree: Tree, vdot: np.ndarray) -> np.ndarray:
        """A_AF_E, shape [6]."""
        out = tree.out(6)
        frames = self._arrays(tree, "B", "X_BF", "A", "D", "X_DE")
        state = tree.position, tree.velocity, spatial_accelerations(tree, vdot)
        tree.call(kernels.frame_acceleration, *state, *frames, out)
        return out

    def jacobian(self, tree: Tree) -> np.ndarray:
        """[J_w; J_v0; J_v1 ...], shape [3 + 3 NUM_POINTS, num_v]."""
        out = tree.out(3 + 3 * NUM_POINTS, tree.num_v)
        frames = self._arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        tree.call(kernels.jacobian, tree.topology, tree.position, *frames, out)
        return out

    def jacobian_derivatives(self, tree: Tree) -> np.ndarray:
        """What is measured and its derivatives along the velocities, as one vector."""
        J = tree.out(3 + 3 * NUM_POINTS, tree.num_v)
        dJ = tree.array(np.zeros((J.size, tree.num_v)))
        frames = self._arrays(tree, "B", "X_BF", "points", "A", "D", "X_DE")
        tree.call(kernels.jacobian_derivatives, tree.topology, tree.position, *frames, 0, J, dJ)
        return np.concatenate([J.ravel(), dJ.ravel()])

    def pose_matrices(self, tree: Tree) -> np.ndarray:
        """X_WB of the members, shape [num_members, 4, 4]."""
        X_WB = tree.out(len(self.members), 4, 4)
        tree.call(kernels.pose_matrices, tree.position, self.members, X_WB)
        return X_WB

    def body_jacobians(self, tree: Tree) -> np.ndarray:
        """J_V_WB_W of the members, shape [num_members, 6, num_v]."""
        J = tree.out(len(self.members), 6, tree.num_v)
        tree.call(kernels.body_jacobians, tree.topology, tree.position, self.members, J)
        return J

    def center_of_mass(self, tree: Tree) -> np.ndarray:
        """p_WoScm_W and the mass of the members, shape [4]."""
        out = tree.out(4)
        tree.call(kernels.center_of_mass, tree.parameters, tree.position, self.members, out)
        return out

    def center_of_mass_jacobian(self, tree: Tree) -> np.ndarray:
        """J_v_AScm_E of the members, shape [3, num_v]."""
        J, mass = tree.out(3, tree.num_v), tree.out(1)
        frames = self._arrays(tree, "A", "D", "X_DE")
        tree.call(
            kernels.center_of_mass_jacobian, tree.topology, tree.position, self.members, *frames, tree.scratch, J, mass
        )
        return J

    def center_of_mass_acceleration(self, tree: Tree, vdot: np.ndarray) -> np.ndarray:
        """a_AScm_E and the mass of the members, shape [4]."""
        out = tree.out(4)
        state = tree.position, tree.velocity, spatial_accelerations(tree, vdot)
        frames = self._arrays(tree, "A", "D", "X_DE")
        tree.call(kernels.center_of_mass_acceleration, *state, self.members, *frames, out)
        return out


def qdot_jacobian(tree: Tree, J_v: np.ndarray) -> np.ndarray:
    out = tree.out(len(J_v), tree.num_q)
    work = tree.out(tree.num_q), tree.out(tree.num_v)
    tree.call(kernels.qdot_jacobian, tree.topology, tree.q, J_v, *work, out)
    return out


def spatial_accelerations(tree: Tree, vdot: np.ndarray) -> np.ndarray:
    """A_WB_W, shape [num_mobods, 6]."""
    A_WB_W = tree.out(len(tree.topology), 6)
    state = tree.topology, tree.position, tree.velocity, tree.array(vdot)
    tree.call(kernels.spatial_accelerations, *state, A_WB_W)
    return A_WB_W


def reaction_forces(tree: Tree, F_Bo_W: np.ndarray) -> np.ndarray:
    """F_CJc_Jc of every inboard joint, each other one taken for reversed, shape [num_mobods - 1, 6]."""
    mobods = np.arange(1, len(tree.topology))
    X_FJc = np.tile(np.eye(4)[:3], (len(mobods), 1, 1))
    X_FJc[:, :, 3] = [0.1, -0.2, 0.3]
    out = tree.out(len(mobods), 6)
    tree.call(
        kernels.reaction_forces, tree.topology, tree.parameters, mobods, mobods % 2, tree.array(X_FJc), tree.position,
        tree.array(F_Bo_W), out,
    )  # fmt: skip
    return out


def momentum(tree: Tree, members: np.ndarray, p_WoP_W: np.ndarray) -> np.ndarray:
    """L_WSP_W and the mass, shape [7]."""
    L_and_mass = tree.out(7)
    tree.call(kernels.momentum, tree.position, tree.velocity, members, tree.array(p_WoP_W), L_and_mass)
    return L_and_mass


def total_inertia(tree: Tree, members: np.ndarray, p_WoP_W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First moment and mass, shape [4], and rotational inertia, shape [3, 3]."""
    mp_and_mass, I_SP_W = tree.out(4), tree.out(3, 3)
    tree.call(kernels.total_inertia, tree.position, members, tree.array(p_WoP_W), tree.scratch, mp_and_mass, I_SP_W)
    return mp_and_mass, I_SP_W


def generalized_forces(tree: Tree, F: np.ndarray) -> np.ndarray:
    tau = tree.out(tree.num_v)
    tree.call(kernels.generalized_forces, tree.topology, tree.position, tree.array(F), tree.out(*F.shape), tau)
    return tau


def mass_matrix_by_columns(tree: Tree) -> np.ndarray:
    M = tree.out(tree.num_v, tree.num_v)
    tree.call(
        kernels.mass_matrix_by_columns, tree.topology, tree.parameters, tree.position, tree.array(np.zeros(3)),
        tree.zero_force, poisoned(tree.velocity.shape, tree.velocity.dtype), tree.scratch, tree.out(tree.num_v),
        tree.out(tree.num_v), M,
    )  # fmt: skip
    return M
