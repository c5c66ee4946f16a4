"""Mass matrix, dynamics bias and inverse dynamics.

Wrenches and accelerations are about the origin of the root frame, as RigidBodyDynamics.jl has them, or about bodies.
The kernels work with spatial vectors about the origin Bo of each body, expressed in W. With p = p_WoBo_W:

    wrench                [t; f] about Bo     ->  [t + p x f; f] about Wo                     (1)
    spatial acceleration  [alpha; a] of Bo    ->  [alpha; a - alpha x p - w x v] about Wo     (2)

(2) is the rate of the twist [w; v - w x p], the velocity field of the body at the fixed point Wo.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.2 to 2.4 and 2.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.algorithms.state import MechanismState, output, per_body_output
from merganser.multibody.math import SpatialForce
from merganser.multibody.math.vectors import cross
from merganser.multibody.plant.arguments import mobod_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody

Array = NDArray[Any]
Wrenches: TypeAlias = Mapping[RigidBody, SpatialForce | ArrayLike]


def applied_forces(caller: str, state: MechanismState, w: Workspace, wrenches: Wrenches | None) -> Array:
    """Spatial forces on bodies about Bo in W, in the order of mobods, from wrenches about Wo, equation (1).

    Raises:
        TypeError: a key is not a body, or a value not a wrench.
        RuntimeError: a body is not of the plant.
        ValueError: a wrench is not finite, or of wrong size.
    """
    if not wrenches:
        return w.zeros_F
    F_Bo_W = w.zeros_F.copy()
    for body, wrench in wrenches.items():
        mobod = mobod_of(state.mechanism._model, caller, body)
        coefficients = wrench.get_coeffs() if isinstance(wrench, SpatialForce) else wrench
        F_Wo = state._vector(caller, coefficients, 6)
        F_Bo_W[mobod, :3] += F_Wo[:3] - cross(w.position[mobod]["p_WoBo_W"], F_Wo[3:])
        F_Bo_W[mobod, 3:] += F_Wo[3:]
    return F_Bo_W


def wrenches_about_root(state: MechanismState, w: Workspace, out: Array) -> Array:
    """Writes wrenches of inboard joints about Wo, by body, from the forces that inverse dynamics left, equation (1)."""
    mobods = state.mechanism._tree.mobod_of_body
    F = w.scratch["F_Bo_W"][mobods]
    F[mobods == 0] = 0.0
    out[:, :3] = F[:, :3] + _cross_rows(w.position["p_WoBo_W"][mobods], F[:, 3:])
    out[:, 3:] = F[:, 3:]
    return out


def accelerations_about_root(state: MechanismState, w: Workspace, out: Array) -> Array:
    """Writes spatial accelerations about Wo, by body, from those that inverse dynamics left, equation (2).

    Inverse dynamics let the world accelerate by -g, which is taken back.
    """
    mobods = state.mechanism._tree.mobod_of_body
    A, V = w.scratch["A_WB_W"][mobods], w.velocity["V_WB_W"][mobods]
    p = w.position["p_WoBo_W"][mobods]
    out[:, :3] = A[:, :3]
    out[:, 3:] = A[:, 3:] + w.gravity - _cross_rows(A[:, :3], p) - _cross_rows(V[:, :3], V[:, 3:])
    out[mobods == 0] = 0.0
    return out


def _cross_rows(a: Array, b: Array) -> Array:
    """a x b of every row; numpy's own does not take objects of all kinds."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )


def mass_matrix(state: MechanismState, *, out: Array | None = None) -> Array:
    """Computes the mass matrix M(q), by the composite rigid body algorithm (Featherstone 2008, section 6.2).

    Args:
        state: of the mechanism.
        out: where to write it, shape [nv, nv].

    Returns:
        M, both triangles; `out`, if given.
    """
    w = state._position()
    num_v = len(w.v)
    M = output("mass_matrix", "out", out, (num_v, num_v), w)
    w.call(kernels.mass_matrix, w.topology, w.parameters, w.position, w.scratch, M)
    return M


def inverse_dynamics(
    state: MechanismState,
    vdot: ArrayLike,
    externalwrenches: Wrenches | None = None,
    *,
    out: Array | None = None,
    jointwrenches_out: Array | None = None,
    accelerations_out: Array | None = None,
) -> Array:
    """Computes tau of M(q) vdot + c(q, v, externalwrenches) = tau, by the recursive Newton-Euler algorithm.

    c holds gravity; joint damping and force elements take no part (Featherstone 2008, section 5.3).

    Args:
        state: of the mechanism.
        vdot: generalized accelerations, shape [nv].
        externalwrenches: wrenches on bodies, [moment; force] about the origin of the world, in the world frame.
        out: where to write tau, shape [nv].
        jointwrenches_out: where to write, for each body, the wrench that its inboard joint exerts on it, as
            externalwrenches are given, shape [num_bodies, 6]; zero for the world.
        accelerations_out: where to write the spatial accelerations of the bodies, shape [num_bodies, 6]: the rates of
            their twists about the origin of the world, gravity not included.

    Returns:
        tau, shape [nv]; `out`, if given.

    Raises:
        RuntimeError: the mechanism has loop joints.
        ValueError, TypeError: an argument is of wrong shape or type, or not finite.
    """
    caller = "inverse_dynamics"
    loops = list(state.mechanism._tree.loop_joints)
    if loops:
        raise RuntimeError(
            f"{caller}(): plant '{state.mechanism.GetSystemPathname()}' has loop joints ('{loops[0].name()}'), whose "
            "forces do not follow from the accelerations. Use mass_matrix(), dynamics_bias() and the constraint "
            "jacobian of dynamics()."
        )
    w = state._velocity()
    given = state._vector(f"{caller}: vdot", vdot, len(w.v))
    tau = output(caller, "out", out, (len(w.v),), w, {"vdot": given})
    wrenches = per_body_output(caller, "jointwrenches_out", jointwrenches_out, w, {"vdot": given, "out": tau})
    others = {"vdot": given, "out": tau, "jointwrenches_out": wrenches}
    accelerations = per_body_output(caller, "accelerations_out", accelerations_out, w, others)
    return _newton_euler(caller, state, given, externalwrenches, tau, wrenches, accelerations)


def dynamics_bias(
    state: MechanismState,
    externalwrenches: Wrenches | None = None,
    *,
    out: Array | None = None,
    biasaccelerations_out: Array | None = None,
    wrenches_out: Array | None = None,
) -> Array:
    """Computes c(q, v, externalwrenches) of M(q) vdot + c = tau: inverse dynamics for vdot = 0.

    Args:
        state: of the mechanism; loop joints take no part.
        externalwrenches: as those of inverse_dynamics.
        out: where to write c, shape [nv].
        biasaccelerations_out: where to write the accelerations for vdot = 0, as those of inverse_dynamics.
        wrenches_out: where to write the joint wrenches for vdot = 0, as those of inverse_dynamics.

    Returns:
        c, shape [nv]; `out`, if given.

    Raises:
        ValueError, TypeError: an argument is of wrong shape or type, or not finite.
    """
    w = state._velocity()
    caller = "dynamics_bias"
    c = output(caller, "out", out, (len(w.v),), w)
    wrenches = per_body_output(caller, "wrenches_out", wrenches_out, w, {"out": c})
    others = {"out": c, "wrenches_out": wrenches}
    accelerations = per_body_output(caller, "biasaccelerations_out", biasaccelerations_out, w, others)
    return _newton_euler(caller, state, w.zeros_v, externalwrenches, c, wrenches, accelerations)


def _newton_euler(
    caller: str,
    state: MechanismState,
    vdot: Array,
    externalwrenches: Wrenches | None,
    tau_out: Array,
    wrenches_out: Array | None,
    accelerations_out: Array | None,
) -> Array:
    """Inverse dynamics, and what is wanted beside tau."""
    w = state._velocity()
    F_applied = applied_forces(caller, state, w, externalwrenches)
    w.call(
        kernels.inverse_dynamics, w.topology, w.parameters, w.gravity, w.position, w.velocity, vdot, F_applied,
        w.scratch, tau_out,
    )  # fmt: skip
    if wrenches_out is not None:
        wrenches_about_root(state, w, wrenches_out)
    if accelerations_out is not None:
        accelerations_about_root(state, w, accelerations_out)
    return tau_out
