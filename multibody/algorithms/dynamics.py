"""Dynamics of mechanisms, with loops: mass matrix, bias, inverse and forward dynamics.

Wrenches and accelerations are about the origin of the root frame, as RigidBodyDynamics.jl has them, or about bodies.
The kernels work with spatial vectors about the origin Bo of each body, expressed in W. With p = p_WoBo_W:

    wrench                [t; f] about Bo     ->  [t + p x f; f] about Wo                     (1)
    spatial acceleration  [alpha; a] of Bo    ->  [alpha; a - alpha x p - w x v] about Wo     (2)

(2) is the rate of the twist [w; v - w x p], the velocity field of the body at the fixed point Wo.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 2.2 to 2.4 and 2.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.algorithms.state import MechanismState, output, per_body_output
from merganser.multibody.kernels.constraints import constraint_number_of
from merganser.multibody.kernels.constraints.translation import KIND as TRANSLATION
from merganser.multibody.kernels.transmissions import transmission_dtype
from merganser.multibody.math import SpatialForce
from merganser.multibody.math.spatial_vector import cross
from merganser.multibody.plant.arguments import mobod_of
from merganser.multibody.plant.step.failures import describe_singularity
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Joint, RigidBody

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


@dataclass(frozen=True)
class PDGains:
    """Gains of gddot = -k g - d gdot.

    Attributes:
        k: [1/s^2].
        d: [1/s].
    """

    k: float
    d: float


@dataclass(frozen=True)
class SE3PDGains:
    """Gains of the errors of a joint.

    Attributes:
        angular: of angles.
        linear: of displacements.
    """

    angular: PDGains
    linear: PDGains


def default_constraint_stabilization_gains() -> SE3PDGains:
    """Returns gains of critical damping with a stabilization time of 0.1 s (Featherstone 2008, section 8.3)."""
    return SE3PDGains(PDGains(100.0, 20.0), PDGains(100.0, 20.0))


Gains: TypeAlias = SE3PDGains | Mapping[Joint, SE3PDGains] | None


class DynamicsResult:
    """The results of a mechanism's dynamics in one state.

    Args:
        state: gives the sizes and the scalar type; the result can be used for other states of the same mechanism.

    Attributes:
        massmatrix: M, shape [nv, nv].
        dynamicsbias: c(q, v, externalwrenches), gravity included, shape [nv].
        constraintjacobian: K of K vdot = -k, one row a constraint of the loop joints, shape [num_rows, nv].
        constraintbias: k, stabilization included, shape [num_rows].
        constraintrowranges: by number of the loop joint, its rows of K.
        qdot: rates of the positions, shape [nq].
        vdot: generalized accelerations, shape [nv].
        lambda_: Lagrange multipliers, shape [num_rows]: K^T lambda is subtracted from the forces.
        accelerations: spatial accelerations of the bodies about the origin of the world, gravity not included, shape
            [num_bodies, 6].
        jointwrenches: wrench that the inboard joint of each body exerts on it, [moment; force] about the origin of the
            world; zero for the world, shape [num_bodies, 6].
    """

    def __init__(self, state: MechanismState) -> None:
        w = state.mechanism._views.workspace(state.context)
        num_v, num_bodies = len(w.v), len(w.topology)
        self._mechanism = state.mechanism
        self._rows = state.mechanism._tree.loop_rows.copy()  # their gains are set for each call
        self._loops = w.make_multipliers(self._rows)
        numbers = self._rows["joint"]
        self.massmatrix = np.zeros((num_v, num_v), w.dtype)
        self.dynamicsbias = np.zeros(num_v, w.dtype)
        self.constraintjacobian = self._loops.K
        self.constraintbias = np.zeros(len(self._rows), w.dtype)
        self.constraintrowranges = [
            slice(int(np.searchsorted(numbers, k)), int(np.searchsorted(numbers, k, side="right")))
            for k in range(state.mechanism.num_loop_joints())
        ]
        self.qdot = np.zeros(len(w.q), w.dtype)
        self.vdot = np.zeros(num_v, w.dtype)
        self.lambda_ = np.zeros(len(self._rows), w.dtype)
        self.accelerations = np.zeros((num_bodies, 6), w.dtype)
        self.jointwrenches = np.zeros((num_bodies, 6), w.dtype)


def dynamics(
    state: MechanismState,
    torques: ArrayLike | None = None,
    externalwrenches: Wrenches | None = None,
    *,
    stabilization_gains: Gains = default_constraint_stabilization_gains(),  # noqa: B008 (it is immutable)
    x: ArrayLike | None = None,
    out: DynamicsResult | None = None,
    xdot_out: Array | None = None,
) -> DynamicsResult:
    """Computes accelerations and Lagrange multipliers of a mechanism.

        M(q) vdot + c(q, v, externalwrenches) = torques - K(q)^T lambda,   K(q) vdot = -k

    Where constraints follow from others, only a sufficient set gets multipliers. Of the forces of a plant, gravity is
    part of c; joint damping, actuation and force elements are not: pass them as torques (Featherstone 2008, chapter 8).

    Args:
        state: of the mechanism.
        torques: generalized forces, by default none, shape [nv].
        externalwrenches: wrenches on bodies, [moment; force] about the origin of the world, in the world frame.
        stabilization_gains: gains of all loop joints; or of each, by joint, those left out having none; or None for no
            stabilization.
        x: [q; v] to put into the state first, shape [nq + nv].
        out: where to write the result.
        xdot_out: where to write [qdot; vdot], as integrators want it, shape [nq + nv].

    Returns:
        The result; `out`, if given.

    Raises:
        RuntimeError: the inertia of a joint and all that it carries is singular, or `out` is of another mechanism.
        ValueError, TypeError: an argument is of wrong shape or type, or not finite.
    """
    mechanism = state.mechanism
    result = DynamicsResult(state) if out is None else out
    if result._mechanism is not mechanism:
        raise RuntimeError("dynamics(): the result to write to was made for another mechanism.")
    _set_gains(result._rows, mechanism, stabilization_gains)
    if x is not None:
        mechanism.SetPositionsAndVelocities(state.context, x)
    w = state._velocity()
    room = _checked_buffers(result, w)
    xdot = None if xdot_out is None else output("dynamics", "xdot_out", xdot_out, (len(w.x),), w, room)
    tau = w.zeros_v if torques is None else state._vector("dynamics: torques", torques, len(w.v))
    if any(np.may_share_memory(tau, array) for array in room.values()):
        tau = tau.copy()
    F_applied = applied_forces("dynamics", state, w, externalwrenches)
    mass_matrix(state, out=result.massmatrix)
    dynamics_bias(state, externalwrenches, out=result.dynamicsbias)
    w.call(kernels.velocity_to_qdot, w.topology, w.q, w.v, result.qdot)
    loops = result._loops
    status = w.call(
        kernels.constrained_forward_dynamics, w.topology, w.parameters, w.gravity, result._rows,
        np.zeros(0, transmission_dtype), np.zeros((0, len(w.v)), w.dtype), w.q, w.v, w.position, w.velocity, tau,
        F_applied, w.scratch, *loops[1:], result.vdot,
    )  # fmt: skip
    if status:
        raise RuntimeError(describe_singularity(mechanism._model, state.context, w, status))
    _read_constraints(result)
    accelerations_about_root(state, w, result.accelerations)
    wrenches_about_root(state, w, result.jointwrenches)
    if xdot is not None:
        xdot[: len(w.q)], xdot[len(w.q) :] = result.qdot, result.vdot
    return result


def _checked_buffers(result: DynamicsResult, w: Workspace) -> dict[str, Array]:
    """The arrays of a result by name, checked as output() does since users may have replaced them."""
    num_v, num_bodies = len(w.v), len(w.topology)
    room: dict[str, Array] = {}
    for name, shape in (
        ("massmatrix", (num_v, num_v)), ("dynamicsbias", (num_v,)), ("qdot", (len(w.q),)), ("vdot", (num_v,)),
        ("accelerations", (num_bodies, 6)), ("jointwrenches", (num_bodies, 6)),
    ):  # fmt: skip
        array = getattr(result, name)
        room[f"out.{name}"] = output("dynamics", f"out.{name}", array, shape, w, room)
    return room


def _read_constraints(result: DynamicsResult) -> None:
    constraints, rows = result._loops.values, result._rows
    result.constraintbias[:] = (
        constraints["bias"] + rows["damping"] * constraints["rate"] + rows["stiffness"] * constraints["error"]
    )
    result.lambda_[:] = -constraints["multiplier"]


def _set_gains(rows: Array, mechanism: Any, gains: Gains) -> None:
    """Writes the gains of each constraint.

    Raises:
        TypeError: they are no gains.
        RuntimeError: a joint is not a loop joint of the mechanism.
    """
    by_number: dict[int, Any] = {}
    if isinstance(gains, Mapping):
        caller, loops = "dynamics: stabilization_gains", mechanism._loops
        by_number = {loops.number_of(caller, joint): g for joint, g in gains.items()}
    elif gains is not None:
        by_number = dict.fromkeys(range(mechanism.num_loop_joints()), gains)
    for g in by_number.values():
        if not isinstance(g, SE3PDGains):
            raise TypeError(
                "dynamics(): stabilization_gains must be SE3PDGains, a mapping from loop joints to SE3PDGains, or "
                f"None, got a {type(g).__name__}."
            )
    rows["stiffness"] = rows["damping"] = 0.0
    for number, g in by_number.items():
        of_joint = rows["joint"] == number
        is_linear = rows["kind"] == constraint_number_of(TRANSLATION)
        for chosen, pd in ((of_joint & is_linear, g.linear), (of_joint & ~is_linear, g.angular)):
            rows["stiffness"][chosen], rows["damping"][chosen] = pd.k, pd.d
