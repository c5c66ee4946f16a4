"""Derivatives of Jacobians and mass matrices in closed form equal the complex step, on random trees of all mobilizers.

The kernels run as plain Python here; tests/multibody/plant/scalars/test_gradients.py runs them compiled.
"""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import (
    ALL_KINDS,
    BALL_QUATERNION,
    BALL_RPY,
    PLANAR,
    PRISMATIC,
    QUATERNION_FLOATING,
    REVOLUTE,
    RPY_FLOATING,
    SCREW,
    UNIVERSAL,
    Tree,
    poisoned,
    random_rotation,
    random_tree,
)

from merganser.multibody import kernels
from merganser.multibody.kernels.configuration_derivatives import composite_dtype

STEP = 1e-100
FIRST = 2  # column of the derivatives
FAMILIES = [
    ALL_KINDS,
    (REVOLUTE, PRISMATIC),
    (QUATERNION_FLOATING, REVOLUTE),
    (RPY_FLOATING, PLANAR),
    (UNIVERSAL, SCREW, BALL_RPY),
    (BALL_QUATERNION, REVOLUTE),
]


def along_velocities(tree: Tree, function) -> np.ndarray:
    """Derivatives of function(tree of complex numbers) along each velocity, by the complex step; the last axis."""
    columns = []
    for direction in np.eye(tree.num_v):
        qdot = np.empty(tree.num_q)
        kernels.velocity_to_qdot.interpreted(tree.topology, tree.q, direction, qdot)
        moved = tree.astype(complex)
        moved.q = tree.q + 1j * STEP * qdot
        kernels.position_kinematics.interpreted(moved.topology, moved.parameters, moved.q, moved.position)
        columns.append(function(moved).imag.ravel() / STEP)
    return np.array(columns).T


def assert_derivatives(actual: np.ndarray, expected: np.ndarray) -> None:
    """Of an array that is wider than the derivatives."""
    assert not actual[:, :FIRST].any()
    end = FIRST + expected.shape[1]
    assert not actual[:, end:].any()
    np.testing.assert_allclose(actual[:, FIRST:end], expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max()))


def place_tree(seed: int, kinds) -> Tree:
    tree = random_tree(seed, num_bodies=6, kinds=kinds)
    kernels.position_kinematics.interpreted(tree.topology, tree.parameters, tree.q, tree.position)
    return tree


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kinds", FAMILIES)
def test_derivatives_of_the_mass_matrix_equal_the_complex_step(kinds, seed):
    tree = place_tree(seed, kinds)

    def mass_matrix(t):
        M = poisoned((t.num_v, t.num_v), t.scalar)
        kernels.mass_matrix.interpreted(t.topology, t.parameters, t.position, t.scratch, M)
        return M

    n = tree.num_v
    M, dM = np.zeros((n, n)), np.zeros((n * n, FIRST + n + 1))
    work = poisoned(len(tree.topology), composite_dtype()), poisoned((6, n), float)
    kernels.mass_matrix_derivatives.interpreted(tree.topology, tree.parameters, tree.position, FIRST, *work, M, dM)
    np.testing.assert_allclose(M, mass_matrix(tree), rtol=0.0, atol=1e-12 * np.abs(M).max())
    assert_derivatives(dM, along_velocities(tree, mass_matrix))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kinds", FAMILIES)
def test_derivatives_of_jacobians_between_any_frames_equal_the_complex_step(kinds, seed):
    tree = place_tree(seed, kinds)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=6)
    X_BF, X_DE = (np.column_stack([random_rotation(rng), rng.normal(size=3)]) for _ in range(2))
    largest = 0.0
    for mobods in [(len(tree.topology) - 1, 0, 0), *rng.integers(0, len(tree.topology), (5, 3))]:
        mobod_B, mobod_A, mobod_D = mobods

        def jacobian(t, mobods=mobods):
            J = poisoned((9, t.num_v), t.scalar)
            X_F, p, X_E = (a.astype(t.scalar) for a in (X_BF, points, X_DE))
            kernels.jacobian.interpreted(t.topology, t.position, mobods[0], X_F, p, *mobods[1:], X_E, J)
            return J

        n = tree.num_v
        J, dJ = poisoned((9, n), float), np.zeros((9 * n, FIRST + n + 1))
        kernels.jacobian_derivatives.interpreted(
            tree.topology, tree.position, mobod_B, X_BF, points, mobod_A, mobod_D, X_DE, FIRST, J, dJ
        )
        np.testing.assert_allclose(J, jacobian(tree), rtol=0.0, atol=1e-12)
        assert_derivatives(dJ, along_velocities(tree, jacobian))
        largest = max(largest, np.abs(dJ).max())
    assert largest > 0.1


def test_the_centre_of_mass_needs_poses_only():
    tree = place_tree(1, ALL_KINDS)
    members = np.array([1, 3, 4])
    expected = np.empty(4)
    kernels.total_inertia.interpreted(tree.position, members, np.zeros(3), tree.scratch, expected, np.empty((3, 3)))
    for name in ("H_PB_W", "I_BBo_W", "p_BoBcm_W", "mass"):
        tree.position[name] = np.nan
    actual = poisoned(4, float)
    kernels.center_of_mass.interpreted(tree.parameters, tree.position, members, actual)
    np.testing.assert_allclose(actual[:3] * actual[3], expected[:3], rtol=1e-13)
    assert actual[3] == pytest.approx(expected[3], rel=1e-14)
