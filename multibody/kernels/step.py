"""Whole steps of a tree: the derivatives of its state, and its discrete update, in one call each.

The state is x = [q; v]. Notation: see layout.py and the files of the algorithms. With D = diag(damping):

    M vdot = tau - D v - C v + tau_g + J^T F_applied,   xdot = [N(q) v; vdot]                             (1)

In the discrete update of time step h, damping is implicit (linear and dissipative, so stable for every h),
the rest explicit, and the positions follow the new velocities:

    (M + h D) (v+ - v) = h (tau - D v - C v + tau_g + J^T F_applied)                                      (2)
    q+ = q + h N(q) v+                                                                                    (3)

Quaternions are not normalized, as no result depends on the length of a quaternion, which (3) lets grow by the factor
sqrt(1 + (h w / 2)^2) a step: only one longer than 1e6 is, lest it overflow. Free bodies that turn fast do not go by
(2), which would feed energy into them, see fast_spin.py.

Source of (2), (3): A. Castro et al., An Unconstrained Convex Formulation of Compliant Contact, IEEE T-RO
(2023), section II, where no contact occurs.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.coordinates import calc_velocity_to_qdot
from merganser.multibody.kernels.fast_spin import add_fast_spins
from merganser.multibody.kernels.forward_dynamics import calc_forward_dynamics
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.kinematics import calc_kinematics
from merganser.multibody.kernels.layout import QUATERNION_FLOATING
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array

__all__ = [
    "advance_positions",
    "calc_damping",
    "calc_discrete_step",
    "calc_state_derivatives",
    "calc_state_inverse_dynamics",
    "discrete_step",
    "state_derivatives",
    "state_inverse_dynamics",
]

_LONG_QUATERNION = 1e6


@device
def calc_state_derivatives(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Array,  # state [q; v], shape [num_q + num_v]
    tau_in: Array,  # generalized forces but damping, shape [num_v]
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Array,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Array,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    xdot_out: Array,  # [qdot; vdot], shape [num_q + num_v]
) -> int:
    """Computes xdot, equation (1).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; xdot_out is then not computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    # Without what only steps need, a third of the code; qdot is room for work until the end, as num_q >= num_v.
    extra_diagonal, tau_and_vdot = xdot_out[:num_v], xdot_out[num_q:]
    calc_kinematics(topology, parameters, q, v, position_work, velocity_work)
    calc_damping(topology, parameters, 0.0, v, tau_in, extra_diagonal, tau_and_vdot)
    status: int = calc_forward_dynamics(
        topology, parameters, gravity_in, position_work, velocity_work, tau_and_vdot, F_applied_in,
        extra_diagonal, scratch_work, tau_and_vdot,
    )  # fmt: skip
    calc_velocity_to_qdot(topology, q, v, xdot_out[:num_q])
    return status


@device
def calc_discrete_step(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Array,  # state [q; v], shape [num_q + num_v]
    tau_in: Array,  # generalized forces but damping, shape [num_v]
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Array,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Array,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    x_next_out: Array,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equations (2) and (3).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; x_next_out is then not computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    q_next, v_next = x_next_out[:num_q], x_next_out[num_q:]
    # v+ = v + h vdot  (2)
    status = _accelerate(
        topology, parameters, gravity_in, time_step, x_in, tau_in, F_applied_in,
        position_work, velocity_work, scratch_work, x_next_out,
    )  # fmt: skip
    for k in range(num_v):
        v_next[k] = v[k] + time_step * v_next[k]
    advance_positions(topology, time_step, q, v_next, q_next)
    return status


@device
def advance_positions(
    topology: Array,  # shape [num_mobods]
    time_step: float,  # h [s]
    q_in: Array,  # shape [num_q]
    v_next_in: Array,  # v+, shape [num_v]
    q_next_out: Array,  # q+, shape [num_q]
) -> None:
    """Computes q+, equation (3)."""
    calc_velocity_to_qdot(topology, q_in, v_next_in, q_next_out)
    for k in range(q_in.shape[0]):
        q_next_out[k] = q_in[k] + time_step * q_next_out[k]
    for i in range(1, topology.shape[0]):
        if topology[i]["mobilizer"] == QUATERNION_FLOATING:
            _bound_quaternion(q_next_out[topology[i]["q_start"] : topology[i]["q_start"] + 4])


@device
def _bound_quaternion(quaternion: Array) -> None:
    """Normalizes a quaternion that has become long; not a symbolic one."""
    square = quaternion[0] * quaternion[0] + quaternion[1] * quaternion[1]
    square += quaternion[2] * quaternion[2] + quaternion[3] * quaternion[3]
    if not exceeds(_LONG_QUATERNION * _LONG_QUATERNION, square):
        scale = square**-0.5
        for k in range(4):
            quaternion[k] = scale * quaternion[k]


@device
def _accelerate(
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    implicit_time: float,  # the matrix of the equations is M + implicit_time D
    x_in: Array,
    tau_in: Array,
    F_applied_in: Array,
    position_work: Array,
    velocity_work: Array,
    scratch_work: Array,
    x_out: Array,  # vdot in its second part; its first part is workspace, large enough as num_q >= num_v
) -> int:
    """Kinematics, damping and forward dynamics."""
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    vdot = x_out[num_q:]
    diagonal = x_out[:num_v]  # implicit_time D
    calc_kinematics(topology, parameters, q, v, position_work, velocity_work)
    calc_damping(topology, parameters, implicit_time, v, tau_in, diagonal, vdot)
    if implicit_time > 0.0:
        add_fast_spins(topology, implicit_time, position_work, velocity_work, vdot)
    status: int = calc_forward_dynamics(
        topology, parameters, gravity_in, position_work, velocity_work, vdot, F_applied_in, diagonal, scratch_work, vdot
    )
    return status


@device
def calc_damping(
    topology: Array,
    parameters: Array,
    implicit_time: float,  # the matrix of the equations is M + implicit_time D
    v_in: Array,
    tau_in: Array,
    extra_diagonal_out: Array,
    tau_out: Array,
) -> None:
    """Computes implicit_time D and tau - D v, both of shape [num_v]."""
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            s = topology[i]["v_start"] + k
            damping = parameters[i]["damping"][k]
            tau_out[s] = tau_in[s] - damping * v_in[s]
            extra_diagonal_out[s] = implicit_time * damping


@device
def calc_state_inverse_dynamics(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    gravity_in: Array,  # g_W [m/s^2], shape [3]
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    vdot_in: Array,  # generalized accelerations, shape [num_v]
    F_applied_in: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Array,  # shape [num_mobods]; holds the position kinematics of q_in afterwards
    velocity_work: Array,  # shape [num_mobods]; holds the velocity kinematics of q_in and v_in afterwards
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    tau_out: Array,  # generalized forces, shape [num_v]
) -> None:
    """Computes kinematics and inverse dynamics of a new state: 0.5 us less than in two calls."""
    calc_kinematics(topology, parameters, q_in, v_in, position_work, velocity_work)
    calc_inverse_dynamics(
        topology, parameters, gravity_in, position_work, velocity_work, vdot_in, F_applied_in, scratch_work, tau_out
    )


state_derivatives = kernel(calc_state_derivatives)
discrete_step = kernel(calc_discrete_step)
state_inverse_dynamics = kernel(calc_state_inverse_dynamics)
