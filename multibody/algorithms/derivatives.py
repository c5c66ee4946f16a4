"""Derivatives of inverse and forward dynamics in closed form."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyForces

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]

Array = NDArray[Any]


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of the generalized forces tau(q, v, vdot).

    Attributes:
        dtau_dq: shape [nv, nq]; or along the velocities, shape [nv, nv].
        dtau_dv: shape [nv, nv].
        M: mass matrix, which is dtau/dvdot, shape [nv, nv].
    """

    dtau_dq: Array
    dtau_dv: Array
    M: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """The generalized accelerations vdot(q, v, tau), and their derivatives.

    Attributes:
        vdot: shape [nv].
        dvdot_dq: shape [nv, nq]; or along the velocities, shape [nv, nv].
        dvdot_dv: shape [nv, nv].
        dvdot_dtau: by generalized forces, the inverse of the mass matrix, shape [nv, nv]; zero in the rows of locked
            joints.
    """

    vdot: Array
    dvdot_dq: Array
    dvdot_dv: Array
    dvdot_dtau: Array


def inverse_dynamics_derivatives(
    plant: MultibodyPlant,
    context: Any,
    known_vdot: ArrayLike,
    external_forces: MultibodyForces | None = None,
    *,
    along_velocities: bool = False,
) -> InverseDynamicsDerivatives:
    """Computes the derivatives of the generalized forces that given accelerations need.

        tau = M(q) vdot + C(q, v) v + D v - tau_g(q) - tau_app - sum_B J_B^T F_app_B

    with gravity and the damping of the joints; tau_app and the components in W of F_app_B, which acts at Bo, do not
    change with q and v.

    Derivatives by q are partial derivatives, with the components of v and vdot kept. Those *along the velocities* are
    derivatives for q moving with qdot = N(q) e_k, so that dtau/dq = (dtau along the velocities) N+(q): for a floating
    joint, whose q has a quaternion, they are derivatives by displacements of the body, and there is one column less.

    Args:
        plant: a finalized plant, of any scalar type.
        context: of the plant.
        known_vdot: generalized accelerations, shape [nv].
        external_forces: F_app and tau_app; none by default.
        along_velocities: whether the derivatives by positions are wanted along the velocities.

    Raises:
        ValueError: known_vdot or the forces are of wrong size, or known_vdot is not finite.
        RuntimeError: the plant has loop joints, or force elements other than gravity.

    By the closed form of Carpentier and Mansard (2018): kernels/inverse_dynamics_derivatives.py.
    """
    caller = "inverse_dynamics_derivatives"
    _check_plant(caller, plant)
    w = plant._eval_position(context)
    num_v = len(w.v)
    F_app, _ = _forces(caller, plant, w, external_forces)
    vdot = plant._checked_vector(caller, known_vdot, num_v, w.dtype)
    dtau_dq, dtau_dv, M = _inverse(w, vdot, F_app)
    if not along_velocities:
        dtau_dq = _by_positions(plant, context, dtau_dq)
    return InverseDynamicsDerivatives(dtau_dq, dtau_dv, M)


def forward_dynamics_derivatives(
    plant: MultibodyPlant,
    context: Any,
    external_forces: MultibodyForces | None = None,
    *,
    along_velocities: bool = False,
) -> ForwardDynamicsDerivatives:
    """Computes the generalized accelerations that given forces cause, and their derivatives.

        M(q) vdot + C(q, v) v = tau_g(q) - D v + tau_app + sum_B J_B^T F_app_B

    Forces and derivatives as in inverse_dynamics_derivatives(); actuation is part of tau_app, and what is at the input
    ports of the plant is not read. Velocities of locked joints do not change.

    Args:
        plant: a finalized plant, of any scalar type.
        context: of the plant.
        external_forces: F_app and tau_app; none by default.
        along_velocities: whether the derivatives by positions are wanted along the velocities.

    Raises:
        ValueError: the forces are of wrong size.
        RuntimeError: the mass matrix is singular; the plant has loop joints, or force elements other than gravity.

    By the closed form of Carpentier and Mansard (2018): kernels/forward_dynamics_derivatives.py.
    """
    caller = "forward_dynamics_derivatives"
    _check_plant(caller, plant)
    w = plant._workspace(context)
    num_v = len(w.v)
    F_app, tau_app = _forces(caller, plant, w, external_forces)
    xdot = np.empty(len(w.x), w.dtype)
    status = w.call(
        kernels.state_derivatives, w.topology, w.parameters, w.gravity, w.x, tau_app, F_app, w.position, w.velocity,
        w.scratch, xdot,
    )  # fmt: skip
    plant._conclude(context, w, status, xdot)
    vdot = xdot[len(w.q) :].copy()
    dvdot_dq, dvdot_dv, M = _inverse(w, vdot, F_app)
    dvdot_dtau = np.empty((num_v, num_v), w.dtype)
    w.call(kernels.forward_dynamics_derivatives, w.topology, w.parameters, M, dvdot_dq, dvdot_dv, dvdot_dtau)
    if not along_velocities:
        dvdot_dq = _by_positions(plant, context, dvdot_dq)
    return ForwardDynamicsDerivatives(vdot, dvdot_dq, dvdot_dv, dvdot_dtau)


def _check_plant(caller: str, plant: MultibodyPlant) -> None:
    tree = plant._tree
    if not len(tree.loop_joints) and tree.num_force_elements() == 1:
        return
    others = "loop joints" if len(tree.loop_joints) else "force elements other than gravity"
    raise RuntimeError(
        f"{caller}(): plant '{plant.GetSystemPathname()}' has {others}, which the closed form does not know. Use "
        "plant.ToAutoDiffXd() for derivatives of all that the plant computes."
    )


def _forces(caller: str, plant: MultibodyPlant, w: Workspace, forces: MultibodyForces | None) -> tuple[Array, Array]:
    """F_app_Bo_W in the order of mobods, and tau_app."""
    if forces is None:
        return w.zeros_F, w.zeros_v
    plant._check_forces(caller, forces)
    if w.is_numeric and forces._F_Bo_W.dtype is not w.dtype:
        return forces._F_Bo_W.astype(w.dtype), forces._tau.astype(w.dtype)
    return forces._F_Bo_W, forces._tau


def _inverse(w: Workspace, vdot: Array, F_app: Array) -> Array:
    """dtau/dq along the velocities, dtau/dv and M, from position kinematics that are up to date."""
    if w.sensitivity is None:
        w.sensitivity = w.make_records(len(w.topology), sensitivity_dtype)
    num_v = len(vdot)
    derivatives = np.empty((3, num_v, num_v), w.dtype)
    w.call(
        kernels.inverse_dynamics_derivatives, w.topology, w.parameters, w.gravity, w.position, w.v, vdot, F_app,
        w.sensitivity, w.tau, *derivatives,
    )  # fmt: skip
    return derivatives


def _by_positions(plant: MultibodyPlant, context: Any, along_velocities: Array) -> Array:
    """Derivatives by q: those along the velocities times N+(q)."""
    if not plant._quaternions and not plant._pitches:  # then qdot = v
        return along_velocities
    if along_velocities.dtype != object:
        by_positions: Array = along_velocities @ plant.MakeQDotToVelocityMap(context)
        return by_positions
    num_q = plant.num_positions()
    columns = [plant.MapQDotToVelocity(context, column) for column in np.eye(num_q)]
    return along_velocities @ np.array(columns).T
