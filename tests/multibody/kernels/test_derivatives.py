"""Derivatives of dynamics in closed form equal those by the complex step, on random trees of all mobilizers.

The kernels run as plain Python here; tests/multibody/algorithms/test_derivatives.py runs them compiled.
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
    random_tree,
)

from merganser.multibody import kernels
from merganser.multibody.kernels.forward_dynamics_derivatives import (
    forward_dynamics_gradient,
    inverse_dynamics_gradient,
)
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype

STEP = 1e-100
TOLERANCE = 1e-12  # of the largest derivative


class Point:
    """A tree, a state of it, accelerations, and forces on bodies, in any scalar type."""

    def __init__(self, tree: Tree, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.tree = tree
        self.vdot = rng.normal(size=tree.num_v)
        self.F_applied = rng.normal(size=(len(tree.topology), 6))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """tau with damping, for complex arguments."""
        tree, tau = self._at(q, v), np.empty(self.tree.num_v, complex)
        kernels.inverse_dynamics.interpreted(
            tree.topology, tree.parameters, tree.gravity, tree.position, tree.velocity, vdot.astype(complex),
            self.F_applied.astype(complex), tree.scratch, tau,
        )  # fmt: skip
        return tau + self._damping() * v

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """vdot with damping, for complex arguments."""
        tree, vdot = self._at(q, v), np.empty(self.tree.num_v, complex)
        status = kernels.forward_dynamics.interpreted(
            tree.topology, tree.parameters, tree.gravity, tree.position, tree.velocity, tau - self._damping() * v,
            self.F_applied.astype(complex), np.zeros(self.tree.num_v, complex), tree.scratch, vdot,
        )  # fmt: skip
        assert status == 0
        return vdot

    def qdot(self, v: np.ndarray) -> np.ndarray:
        """N(q) v."""
        qdot = np.empty(self.tree.num_q)
        kernels.velocity_to_qdot.interpreted(self.tree.topology, self.tree.q, v, qdot)
        return qdot

    def _at(self, q: np.ndarray, v: np.ndarray) -> Tree:
        tree = self.tree.astype(complex)
        tree.q, tree.v = q.astype(complex), v.astype(complex)
        kernels.kinematics.interpreted(tree.topology, tree.parameters, tree.q, tree.v, tree.position, tree.velocity)
        return tree

    def _damping(self) -> np.ndarray:
        topology, parameters = self.tree.topology, self.tree.parameters
        return np.concatenate([p["damping"][: n["num_v"]] for n, p in zip(topology, parameters)])

    def closed_form(self, vdot: np.ndarray) -> list[np.ndarray]:
        """tau, dtau/dq, dtau/dv and M, over poison."""
        tree, n = self.tree, self.tree.num_v
        kernels.kinematics.interpreted(tree.topology, tree.parameters, tree.q, tree.v, tree.position, tree.velocity)
        results = [poisoned(n, float), *(poisoned((n, n), float) for _ in range(3))]
        kernels.inverse_dynamics_derivatives.interpreted(
            tree.topology, tree.parameters, tree.gravity, tree.position, tree.v, vdot, self.F_applied,
            poisoned(len(tree.topology), sensitivity_dtype()), *results,
        )  # fmt: skip
        return results

    def closed_form_of_forward_dynamics(self, vdot: np.ndarray) -> list[np.ndarray]:
        """dvdot/dq, dvdot/dv and dvdot/dtau, over poison."""
        _, dq, dv, M = self.closed_form(vdot)
        dtau = poisoned(M.shape, float)
        kernels.forward_dynamics_derivatives.interpreted(self.tree.topology, self.tree.parameters, M, dq, dv, dtau)
        return [dq, dv, dtau]


def columns(function, *arguments: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The derivatives of `function` by its first argument along the rows of `directions`, as columns."""
    first, *rest = arguments
    return np.array([function(first + 1j * STEP * d, *rest).imag / STEP for d in directions]).T


def assert_equal(actual: np.ndarray, expected: np.ndarray) -> None:
    scale = np.abs(expected).max()
    assert scale > 0.0
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0.0, atol=TOLERANCE)


def make_point(seed: int, kinds=ALL_KINDS) -> Point:
    point = Point(random_tree(seed, num_bodies=5, kinds=kinds), seed)
    point.tree.topology["is_weightless"][2] = 1
    return point


FAMILIES = [
    ALL_KINDS,
    (REVOLUTE, PRISMATIC),
    (QUATERNION_FLOATING, REVOLUTE),
    (RPY_FLOATING, PLANAR),
    (UNIVERSAL, SCREW, BALL_RPY),
    (BALL_QUATERNION, REVOLUTE),
]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kinds", FAMILIES)
def test_derivatives_of_inverse_dynamics_equal_the_complex_step(kinds, seed):
    point = make_point(seed, kinds)
    q, v, vdot = point.tree.q, point.tree.v, point.vdot
    unit = np.eye(len(v))
    tau, dtau_dq, dtau_dv, M = point.closed_form(vdot)

    assert_equal(tau, point.inverse_dynamics(q, v, vdot).real)
    tangents = np.array([point.qdot(e) for e in unit])
    assert_equal(dtau_dq, columns(lambda q: point.inverse_dynamics(q, v, vdot), q, directions=tangents))
    assert_equal(dtau_dv, columns(lambda v: point.inverse_dynamics(q, v, vdot), v, directions=unit))
    assert_equal(M, columns(lambda vdot: point.inverse_dynamics(q, v, vdot), vdot, directions=unit))


@pytest.mark.parametrize("kinds", FAMILIES[:3])
def test_derivatives_of_forward_dynamics_equal_the_complex_step(kinds):
    point = make_point(3, kinds)
    q, v = point.tree.q, point.tree.v
    tau = np.random.default_rng(3).normal(size=len(v))
    unit = np.eye(len(v))
    vdot = point.forward_dynamics(q, v, tau).real
    dvdot_dq, dvdot_dv, dvdot_dtau = point.closed_form_of_forward_dynamics(vdot)

    tangents = np.array([point.qdot(e) for e in unit])
    assert_equal(dvdot_dq, columns(lambda q: point.forward_dynamics(q, v, tau), q, directions=tangents))
    assert_equal(dvdot_dv, columns(lambda v: point.forward_dynamics(q, v, tau), v, directions=unit))
    assert_equal(dvdot_dtau, columns(lambda tau: point.forward_dynamics(q, v, tau), tau, directions=unit))


@pytest.mark.parametrize("kinds", FAMILIES[:2])
def test_gradients_are_the_closed_forms_times_the_derivatives_of_the_arguments(kinds):
    """One of them has rows of an identity matrix, one has zeros at both ends, one is missing."""
    point = make_point(6, kinds)
    tree, n = point.tree, point.tree.num_v
    model = tree.topology, tree.parameters, tree.gravity
    x = np.concatenate([tree.q, tree.v])
    D_s, D_v, nothing = np.eye(n, n + 3), np.zeros((n, n + 3)), np.zeros((0, n + 3))
    D_v[:, 2:n] = np.random.default_rng(6).normal(size=(n, n - 2))
    D_v[:, 3] = 0.0

    _, dq, dv, M = point.closed_form(point.vdot)
    tau, D_tau = poisoned(n, float), poisoned((n, n + 3), float)
    for seeds, expected in (((D_s, D_v, nothing), dq @ D_s + dv @ D_v), ((nothing, nothing, D_v), M @ D_v)):
        inverse_dynamics_gradient.interpreted(
            *model, x, point.vdot, point.F_applied, *seeds, tree.position,
            poisoned(len(tree.topology), sensitivity_dtype()), poisoned((4, n, n), float), tau, D_tau,
        )  # fmt: skip
        assert_equal(D_tau, expected)

    vdot = point.forward_dynamics(tree.q, tree.v, point.vdot).real
    dq, dv, dtau = point.closed_form_of_forward_dynamics(vdot)
    xdot, D_vdot = poisoned(len(x), float), poisoned((n, n + 3), float)
    status = forward_dynamics_gradient.interpreted(
        *model, x, point.vdot, point.F_applied, D_s, nothing, D_v, tree.position, tree.velocity, tree.scratch,
        poisoned(len(tree.topology), sensitivity_dtype()), poisoned(n, float), poisoned((4, n, n), float), xdot, D_vdot,
    )  # fmt: skip
    assert status == 0
    assert_equal(xdot[len(tree.q) :], vdot)
    assert_equal(D_vdot, dq @ D_s + dtau @ D_v)


def test_locked_velocities_have_no_derivatives_and_add_none_to_others():
    point = make_point(4, (REVOLUTE, PLANAR))
    tree = point.tree
    tree.parameters["is_locked"][3] = 1.0
    start, end = tree.topology["v_start"][3], tree.topology["v_start"][3] + tree.topology["num_v"][3]
    tau = np.random.default_rng(4).normal(size=tree.num_v)
    vdot = point.forward_dynamics(tree.q, tree.v, tau).real
    dvdot_dq, _, dvdot_dtau = point.closed_form_of_forward_dynamics(vdot)
    unit = np.eye(tree.num_v)
    tangents = np.array([point.qdot(e) for e in unit])
    expected = columns(lambda q: point.forward_dynamics(q, tree.v, tau), tree.q, directions=tangents)
    assert_equal(dvdot_dq, expected)
    assert end > start and not dvdot_dq[start:end].any()
    assert_equal(dvdot_dtau, columns(lambda tau: point.forward_dynamics(tree.q, tree.v, tau), tau, directions=unit))
