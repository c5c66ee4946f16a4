"""Mass matrix, dynamics bias and inverse dynamics."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.algorithms.root_frame import (
    Wrenches,
    accelerations_about_root,
    applied_forces,
    wrenches_about_root,
)
from merganser.multibody.algorithms.state import MechanismState, output, per_body_output

Array = NDArray[Any]


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
