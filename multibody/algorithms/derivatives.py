"""Derivatives of inverse and forward dynamics in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.native import Given, Result
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.force_elements import force_element_derivatives
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.mobilizers import kinds_in
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.arguments import check_forces, checked, checked_vector
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import MultibodyForces

if TYPE_CHECKING:
    from merganser.framework import Context

Array = NDArray[Any]
_new: Any = tuple.__new__  # of a NamedTuple takes half the time of its constructor


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
    context: Context,
    known_vdot: ArrayLike,
    external_forces: MultibodyForces | None = None,
    *,
    along_velocities: bool = False,
) -> InverseDynamicsDerivatives:
    """Computes the derivatives of the generalized forces that given accelerations need.

        tau = M(q) vdot + C(q, v) v + D v - tau_g(q) - tau_e(q, v) - tau_app - sum_B J_B^T F_app_B

    with gravity, the damping of the joints and the other force elements, tau_e; tau_app and the components in W of
    F_app_B, which acts at Bo, do not change with q and v.

    Derivatives by q are partial derivatives, with the components of v and vdot kept. Those *along the velocities* are
    derivatives for q moving with qdot = N(q) e_k, so that dtau/dq = (dtau along the velocities) N+(q): for a floating
    joint, whose q has a quaternion, they are derivatives by displacements of the body, and there is one column less.

    Args:
        plant: a finalized plant, of any scalar type; of floats if it has force elements other than gravity.
        context: of the plant.
        known_vdot: generalized accelerations, shape [nv].
        external_forces: F_app and tau_app; none by default.
        along_velocities: whether the derivatives by positions are wanted along the velocities.

    Raises:
        ValueError: known_vdot or the forces are of wrong size, or known_vdot is not finite.
        RuntimeError: the plant has loop joints; it has force elements other than gravity and is not of floats; or
            one of them has no force.

    By the closed form of Carpentier and Mansard (2018): kernels/inverse_dynamics_derivatives.py.
    """
    caller = "inverse_dynamics_derivatives"
    w = plant._kinematics.eval_position(context)
    work = w.sensitivity or _make_work(caller, plant, w)
    F_app, _ = _forces(caller, plant, w, external_forces)
    vdot: Any = known_vdot
    is_array = type(vdot) is np.ndarray and vdot.dtype is w.dtype and vdot.shape == w.v_shape
    if not (is_array and w.is_float and vdot.flags.c_contiguous and checked.is_finite(vdot)):
        vdot = checked_vector(plant._model, caller, known_vdot, len(w.v), w.dtype)
    if work.elements is not None:
        _, F_app = _add_elements(plant, context, w, w.zeros_v, F_app)
    dtau_dq, dtau_dv, M = _inverse(w, work, vdot, F_app)
    if not (along_velocities or work.has_simple_rates):
        dtau_dq = _by_positions(w, dtau_dq)
    return _new(InverseDynamicsDerivatives, (dtau_dq, dtau_dv, M))


def forward_dynamics_derivatives(
    plant: MultibodyPlant,
    context: Context,
    external_forces: MultibodyForces | None = None,
    *,
    along_velocities: bool = False,
) -> ForwardDynamicsDerivatives:
    """Computes the generalized accelerations that given forces cause, and their derivatives.

        M(q) vdot + C(q, v) v = tau_g(q) - D v + tau_e(q, v) + tau_app + sum_B J_B^T F_app_B

    Forces and derivatives as in inverse_dynamics_derivatives(); actuation is part of tau_app, and what is at the input
    ports of the plant is not read. Velocities of locked joints do not change.

    Args:
        plant: a finalized plant, of any scalar type; of floats if it has force elements other than gravity.
        context: of the plant.
        external_forces: F_app and tau_app; none by default.
        along_velocities: whether the derivatives by positions are wanted along the velocities.

    Raises:
        ValueError: the forces are of wrong size.
        RuntimeError: the mass matrix is singular; or as inverse_dynamics_derivatives().

    By the closed form of Carpentier and Mansard (2018): kernels/forward_dynamics_derivatives.py.
    """
    caller = "forward_dynamics_derivatives"
    w = plant._views.workspace(context)
    work = w.sensitivity or _make_work(caller, plant, w)
    F_app, tau_app = _forces(caller, plant, w, external_forces)
    if work.elements is None:
        run = work.run_state_forward or work.bind_state_forward(w)
        status, xdot, dvdot_dq, dvdot_dv, _, dvdot_dtau = run(tau_app, F_app)
        plant._dynamics.finish_step(context, w, status, xdot)
        vdot = xdot[len(w.q) :]
    else:
        xdot, rooms = np.empty(w.x_shape, w.dtype), (w.position, w.velocity, w.scratch)
        tau_app, F_app = _add_elements(plant, context, w, tau_app, F_app)
        status = w.call(kernels.state_derivatives, *work.dynamics, tau_app, F_app, *rooms, xdot)
        plant._dynamics.finish_step(context, w, status, xdot)
        vdot = xdot[len(w.q) :]
        dvdot_dq, dvdot_dv, M = _inverse(w, work, vdot, F_app)
        dvdot_dtau = np.empty(w.M_shape, w.dtype)
        factors = M, dvdot_dq, dvdot_dv, dvdot_dtau
        w.call(kernels.forward_dynamics_derivatives, w.topology, w.parameters, *factors)
    if not (along_velocities or work.has_simple_rates):
        dvdot_dq = _by_positions(w, dvdot_dq)
    return _new(ForwardDynamicsDerivatives, (vdot, dvdot_dq, dvdot_dv, dvdot_dtau))


class _Work:
    """Room for the derivatives in one workspace, and the kernels with those arguments that always are the same.

    Attributes:
        sensitivity: records of kernels/inverse_dynamics_derivatives.py.
        elements: the table of the force elements; None if gravity is the only one.
        room_for_elements: for kernels/force_elements.py.
        has_simple_rates: whether qdot = v.
        run_inverse: the kernel, of vdot and F_app; returns dtau_dq, dtau_dv and M; None until it is bound.
        run_state_forward: the kernel, of tau_app and F_app; returns the status, xdot, and what it computes; None until
            it is bound.
        dynamics: the arguments of dynamics up to the state.
    """

    def __init__(self, plant: MultibodyPlant, w: Workspace) -> None:
        self.has_simple_rates = plant.IsVelocityEqualToQDot()
        self.sensitivity = w.make_records(len(w.topology), sensitivity_dtype)
        self.elements = plant._tree.elements if len(plant._tree.elements) else None
        self.room_for_elements = () if self.elements is None else _room_for_elements(w)
        self.dynamics = (w.topology, w.parameters, w.gravity, w.x)
        self.run_inverse: Callable[[Array, Array], tuple[Array, Array, Array]] | None = None
        self.run_state_forward: Callable[[Array, Array], tuple[int, Array, Array, Array, Array, Array]] | None = None

    def bind_inverse(self, w: Workspace) -> Callable[[Array, Array], tuple[Array, Array, Array]]:
        square = Result(w.M_shape)
        call = self.run_inverse = w.bound(
            kernels.inverse_dynamics_derivatives, topology=w.topology, parameters=w.parameters, gravity_in=w.gravity,
            position_in=w.position, v_in=w.v, vdot_in=Given(w.zeros_v), F_applied_in=Given(w.zeros_F),
            sensitivity_work=self.sensitivity, tau_out=w.tau, dtau_dq_out=square, dtau_dv_out=square, M_out=square,
        )  # fmt: skip
        return call

    def bind_state_forward(
        self, w: Workspace
    ) -> Callable[[Array, Array], tuple[int, Array, Array, Array, Array, Array]]:
        square = Result(w.M_shape)
        call = self.run_state_forward = w.bound(
            kernels.state_forward_dynamics_derivatives, topology=w.topology, parameters=w.parameters,
            gravity_in=w.gravity, x_in=w.x, tau_in=Given(w.zeros_v), F_applied_in=Given(w.zeros_F),
            position_work=w.position, velocity_work=w.velocity, scratch_work=w.scratch,
            sensitivity_work=self.sensitivity, tau_work=w.tau, xdot_out=Result(w.x_shape), dvdot_dq_out=square,
            dvdot_dv_out=square, M_out=square, dvdot_dtau_out=square,
        )  # fmt: skip
        return call


def _room_for_elements(w: Workspace) -> tuple[Array, ...]:
    """The arguments of kernels/force_elements.py that are work."""
    num_mobods, num_q, num_v = len(w.topology), len(w.q), len(w.v)
    return (
        np.zeros(num_mobods, layout.position_dtype(np.complex128)),
        np.zeros(num_mobods, layout.velocity_dtype(np.complex128)),
        np.zeros((2, num_q), np.complex128),
        np.zeros((2, num_v), np.complex128),
        np.zeros((2, num_mobods, 6), np.complex128),
        np.zeros((2, num_mobods, 6)),
        np.zeros(num_v),
    )


def _make_work(caller: str, plant: MultibodyPlant, w: Workspace) -> _Work:
    """The scratch arrays of a workspace, made on first use.

    Raises:
        RuntimeError: the closed form does not serve this plant.
    """
    tree = plant._tree
    reason = None
    if plant._dynamics.has_multipliers:
        reason = "loop joints or constraints in continuous time, which the closed form does not know"
    elif tree.has_armature():
        reason = "armature of tendons, which the closed form does not know"
    elif bent := [kind.name for kind in kinds_in(w.topology) if kind.carries is None]:
        reason = f"joints of type {', '.join(bent)}, whose axes move as the closed form does not know"
    elif len(tree.elements) and not w.is_float:
        reason = "force elements other than gravity, and only of floats the closed form knows those"
    if reason:
        raise RuntimeError(
            f"{caller}(): plant '{plant.GetSystemPathname()}' has {reason}. Use plant.ToAutoDiffXd() for derivatives "
            "of all that the plant computes."
        )
    w.sensitivity = _Work(plant, w)
    return w.sensitivity


def _forces(caller: str, plant: MultibodyPlant, w: Workspace, forces: MultibodyForces | None) -> tuple[Array, Array]:
    """F_app_Bo_W in the order of mobods, and tau_app."""
    if forces is None:
        return w.zeros_F, w.zeros_v
    check_forces(plant._model, caller, forces)
    if w.is_numeric and forces._F_Bo_W.dtype is not w.dtype:
        return forces._F_Bo_W.astype(w.dtype), forces._tau.astype(w.dtype)
    return forces._F_Bo_W, forces._tau


def _add_elements(
    plant: MultibodyPlant, context: Context, w: Workspace, tau_app: Array, F_app: Array
) -> tuple[Array, Array]:
    """tau_app and F_app with the forces of all elements but gravity."""
    plant._kinematics.eval_velocity(context)
    tau, F = tau_app.copy(), F_app.copy()
    plant._force_elements.sum_up_forces(context, w, (0, len(plant._tree.elements)), tau, F)
    return tau, F


def _inverse(w: Workspace, work: _Work, vdot: Array, F_app: Array) -> tuple[Array, Array, Array]:
    """dtau/dq along the velocities, dtau/dv and M, from kinematics that are up to date.

    F_app are all spatial forces on the bodies, those of force elements included.
    """
    dq, dv, M = (work.run_inverse or work.bind_inverse(w))(vdot, F_app)
    if work.elements is not None:
        by_elements, constants = np.empty((2, *w.M_shape)), w.constants.astype(layout.constant_dtype(np.complex128))
        w.call(
            force_element_derivatives, w.topology, work.elements, constants, w.q, w.v, w.position,
            w.velocity, work.sensitivity, *work.room_for_elements, *by_elements,
        )  # fmt: skip
        dq -= by_elements[0]
        dv -= by_elements[1]
    return dq, dv, M


def _by_positions(w: Workspace, along_velocities: Array) -> Array:
    """Derivatives by q: those along the velocities times N+(q)."""
    by_positions = np.empty((len(along_velocities), len(w.q)), w.dtype)
    room = np.empty(len(w.q), w.dtype), w.zeros_v.copy()
    w.call(kernels.qdot_jacobian, w.topology, w.q, along_velocities, *room, by_positions)
    return by_positions
