"""Forward dynamics of mechanisms, with loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.algorithms.inverse_dynamics import (
    Wrenches,
    accelerations_about_root,
    applied_forces,
    dynamics_bias,
    mass_matrix,
    wrenches_about_root,
)
from merganser.multibody.algorithms.state import MechanismState, output
from merganser.multibody.kernels.constraints import constraint_number_of
from merganser.multibody.kernels.constraints.translation import KIND as TRANSLATION
from merganser.multibody.kernels.transmissions import transmission_dtype
from merganser.multibody.plant.step.failures import describe_singularity
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Joint


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


Array = NDArray[Any]
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
