"""Whole steps of a tree: the derivatives of its state, and its discrete update, in one call each.

The state is x = [q; v]. Notation: see layout.py and the files of the algorithms. With D = diag(damping):

    M vdot = tau - D v - C v + tau_g + J^T F_applied,   xdot = [N(q) v; vdot]                             (1)

In the discrete update of time step h, damping is implicit (linear and dissipative, so stable for every h),
forces of velocity products keep the energy (velocity_products.py), the rest is explicit, and the positions follow the
new velocities:

    (M + h D) (v+ - v) = h (tau - D v - C v + tau_g + J^T F_applied)                                      (2)
    q+ = q + h N(q) v+                                                                                    (3)

Quaternions are not normalized, as no result depends on the length of a quaternion, which (3) lets grow by the factor
sqrt(1 + (h w / 2)^2) a step: only one longer than 1e6 is, lest it overflow.

Source of (2), (3): A. Castro et al., An Unconstrained Convex Formulation of Compliant Contact, IEEE T-RO
(2023), section II, where no contact occurs.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.coordinates import calc_velocity_to_qdot
from merganser.multibody.kernels.fast_spin import add_fast_spins, add_spin_forces
from merganser.multibody.kernels.forward_dynamics import calc_forward_dynamics
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.kinematics import calc_kinematics
from merganser.multibody.kernels.layout import (
    BALL_QUATERNION,
    QUATERNION_FLOATING,
    Parameters,
    Positions,
    Scratch,
    Topology,
    Velocities,
)
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.velocity import calc_velocity_kinematics
from merganser.multibody.kernels.velocity_products import (
    calc_mean_velocities,
    limit_shares,
    scale_to_goals,
    set_energies,
    set_forces,
    set_goals,
    start_products,
)

__all__ = [
    "advance_positions",
    "calc_damping",
    "calc_discrete_step",
    "calc_kinematics_of_step",
    "calc_state_derivatives",
    "calc_state_inverse_dynamics",
    "calc_step_from_kinematics",
    "discrete_step",
    "end_velocities",
    "kinematics_of_step",
    "state_derivatives",
    "state_inverse_dynamics",
    "step_from_kinematics",
    "take_mean_velocities",
]

_LONG_QUATERNION = 1e6
_MOST_SCALINGS = 24


@device
def calc_state_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    xdot_out: Floats,  # [qdot; vdot], shape [num_q + num_v]
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
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    x_next_out: Floats,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equations (2) and (3).

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; x_next_out is then not computed.
    """
    num_q = x_in.shape[0] - tau_in.shape[0]
    calc_kinematics(topology, parameters, x_in[:num_q], x_in[num_q:], position_work, velocity_work)
    status: int = calc_step_from_kinematics(
        topology, parameters, gravity_in, time_step, x_in, tau_in, F_applied_in, position_work, velocity_work,
        scratch_work, x_next_out,
    )  # fmt: skip
    return status


@device
def calc_step_from_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # In and out:
    position_io: Positions,  # shape [num_mobods]; the position kinematics of x_in, before and after
    velocity_io: Velocities,  # shape [num_mobods]; the velocity kinematics of x_in, before and after
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    x_next_out: Floats,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equations (2) and (3), where its kinematics are known.

    Returns:
        0, or the number of the mobod whose hinge inertia is singular or NaN; x_next_out is then not computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    q_next, v_next = x_next_out[:num_q], x_next_out[num_q:]
    count = start_products(topology, parameters, time_step, position_io, velocity_io, scratch_work)
    status = 0
    for n in range(count + 1):
        if n > 0:
            is_fast = n == 1 and count > 1
            take_mean_velocities(
                topology, parameters, time_step, is_fast, q, v, v_next, position_io, scratch_work, q_next,
                velocity_io,
            )  # fmt: skip
        # v+ = v + h vdot  (2); q_next serves as the extra diagonal, as num_q >= num_v.
        calc_damping(topology, parameters, time_step, v, tau_in, q_next, v_next)
        add_fast_spins(topology, time_step, position_io, velocity_io, v_next)
        status = calc_forward_dynamics(
            topology, parameters, gravity_in, position_io, velocity_io, v_next, F_applied_in,
            q_next, scratch_work, v_next,
        )  # fmt: skip
        if status != 0:
            return status
    end_velocities(
        topology, parameters, gravity_in, time_step, count, q, v, position_io, velocity_io, scratch_work,
        q_next, v_next,
    )  # fmt: skip
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
        if topology[i]["mobilizer"] in (QUATERNION_FLOATING, BALL_QUATERNION):
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
def take_mean_velocities(
    topology: Array,
    parameters: Array,
    time_step: float,
    has_new_shares: bool,  # whether vdot is that of explicit forces, from which s follows
    q_in: Array,
    v_in: Array,
    vdot_in: Array,
    position_in: Array,
    scratch_io: Array,
    mean_work: Array,  # shape [num_v] or longer
    velocity_out: Array,
) -> None:
    """Velocity kinematics of the velocities in the middle of the step, of which forces of their products are taken."""
    if has_new_shares:
        calc_velocity_kinematics(topology, parameters, position_in, q_in, vdot_in, velocity_out)
        limit_shares(topology, parameters, time_step, position_in, velocity_out, scratch_io)
    calc_mean_velocities(topology, time_step, v_in, vdot_in, scratch_io, mean_work)
    mean = mean_work[: v_in.shape[0]]
    calc_velocity_kinematics(topology, parameters, position_in, q_in, mean, velocity_out)


@device
def end_velocities(
    topology: Array,
    parameters: Array,
    gravity_in: Array,
    time_step: float,
    count: int,  # of evaluations, from start_products()
    q_in: Array,
    v_in: Array,
    position_io: Array,
    velocity_io: Array,
    scratch_io: Array,
    q_work: Array,  # shape [num_q]
    v_io: Array,  # vdot, then v+
) -> None:
    """v+ = v + h vdot, of the right energy where there were several evaluations; kinematics are as before them."""
    num_v = v_in.shape[0]
    is_kept = count > 1
    if is_kept:
        set_forces(topology, gravity_in, position_io, velocity_io, scratch_io)
        mean = q_work[:num_v]
        for k in range(num_v):
            mean[k] = v_in[k] + 0.5 * time_step * v_io[k]
        calc_velocity_kinematics(topology, parameters, position_io, q_in, mean, velocity_io)
        set_goals(topology, parameters, time_step, v_io, position_io, velocity_io, scratch_io)
    for k in range(num_v):
        v_io[k] = v_in[k] + time_step * v_io[k]
    if is_kept:
        calc_velocity_kinematics(topology, parameters, position_io, q_in, v_io, velocity_io)
        set_energies(topology, parameters, position_io, velocity_io, scratch_io)
        for n in range(_MOST_SCALINGS):
            advance_positions(topology, time_step, q_in, v_io, q_work)
            calc_kinematics(topology, parameters, q_work, v_io, position_io, velocity_io)
            stage = 2 if n == _MOST_SCALINGS - 1 else 2 * n // _MOST_SCALINGS
            if scale_to_goals(topology, parameters, position_io, velocity_io, scratch_io, stage, v_io):
                break
        calc_kinematics(topology, parameters, q_in, v_in, position_io, velocity_io)
    elif count > 0:
        calc_velocity_kinematics(topology, parameters, position_io, q_in, v_in, velocity_io)


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
def calc_kinematics_of_step(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    time_step: float,  # h [s]
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    vdot_in: Array,  # generalized accelerations of the step, shape [num_v]
    # Work:
    scratch_work: Array,  # shape [num_mobods]
    u_work: Array,  # shape [num_v]
    # Out:
    position_out: Array,  # shape [num_mobods]
    velocity_out: Array,  # shape [num_mobods]; of u, where the step has taken forces of velocity products
    # In and out:
    F_applied_io: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]; see fast_spin.py
) -> None:
    """Computes that with which inverse dynamics give the forces in a step, see velocity_products.py."""
    calc_kinematics(topology, parameters, q_in, v_in, position_out, velocity_out)
    count = start_products(topology, parameters, time_step, position_out, velocity_out, scratch_work)
    if count > 0:
        take_mean_velocities(
            topology, parameters, time_step, count > 1, q_in, v_in, vdot_in, position_out, scratch_work, u_work,
            velocity_out,
        )  # fmt: skip
    add_spin_forces(topology, time_step, position_out, velocity_out, F_applied_io)


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
step_from_kinematics = kernel(calc_step_from_kinematics)
kinematics_of_step = kernel(calc_kinematics_of_step)
state_inverse_dynamics = kernel(calc_state_inverse_dynamics)
