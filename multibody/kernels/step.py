"""Whole steps of a tree: the derivatives of its state, and its discrete update, in one call each.

The state is x = [q; v]. Notation: see layout.py and the files of the algorithms. With D = diag(damping):

    M vdot = tau - D v - C(q, v) v + tau_g + J^T F_applied,   xdot = [N(q) v; vdot]                       (1)

In the discrete update of time step h, damping and PD-controlled actuators (drives.py) are implicit, forces of velocity
products are taken at u in the middle of the step (velocity_products.py), the rest is explicit, and the positions follow
the new velocities:

    (M + h D) (v+ - v) = h (tau - D v - C(q, u) u + tau_g + J^T F_applied + B e(v+))                      (2)
    q+ = q + h N(q) v+                                                                                    (3)

Where S are the actuators between their limits, with efforts e = c - K v+, and e_T the efforts of the others, at theirs,
(2) is linear in v+ = v + h vdot:

    (M + h D + h diag(h K_S)) vdot = tau - D v - C(q, u) u + ... + B_S (c - K v)_S + B_T e_T              (4)

a forward dynamics in time proportional to the number of bodies. It is solved until the choice of S is confirmed, in
most steps at once; for each pass of velocity_products.py again, with the inertias of the first.

Quaternions are not normalized, as no result depends on the length of a quaternion, which (3) lets grow by the factor
sqrt(1 + (h w / 2)^2) a step: only one longer than 1e6 is, to avoid overflow.

Source of (2), (3): A. Castro et al., An Unconstrained Convex Formulation of Compliant Contact, IEEE T-RO
(2023), section II, where no contact occurs.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, IntegerTable
from merganser.multibody.kernels.actuators import add_drives, guess_saturation, revise_saturation
from merganser.multibody.kernels.forward_dynamics import calc_forward_dynamics, calc_forward_dynamics_again
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.layout import (
    BALL_QUATERNION,
    QUATERNION_FLOATING,
    Parameters,
    Positions,
    Scratch,
    Topology,
    Velocities,
)
from merganser.multibody.kernels.position import calc_velocity_to_qdot
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.velocity import calc_kinematics
from merganser.multibody.kernels.velocity_products import (
    calc_mean_kinematics,
    start_mean_velocities,
    take_mean_velocities,
)

NOT_CONVERGED = -1
_MOST_SOLUTIONS = 100
_LONG_QUATERNION = 1e6


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
    # Without what only steps need, a third of the code; qdot is used as scratch until the end, as num_q >= num_v.
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
    num_passes: int,  # of velocity_products.py after the first solution
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping and drives, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    drives: IntegerTable,  # shape [num_drives, NUM_DRIVE_NUMBERS], see drives.py
    drive_values_in: FloatTable,  # shape [num_drives, NUM_DRIVE_VALUES]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    drives_work: FloatTable,  # shape [num_drives, NUM_WORK_VALUES]
    # Out:
    effort_out: Floats,  # e(v+) of the drives [N m or N], shape [num_drives]
    mean_out: Floats,  # u, shape [num_v]
    mean_velocity_out: Velocities,  # shape [num_mobods]; velocity kinematics of u, if that is not v
    x_next_out: Floats,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equations (2) and (3).

    Returns:
        0; or the number of the mobod whose hinge inertia is singular or NaN; or NOT_CONVERGED if no choice of S was
        confirmed. The results are then not computed.
    """
    num_q = x_in.shape[0] - tau_in.shape[0]
    calc_kinematics(topology, parameters, x_in[:num_q], x_in[num_q:], position_work, velocity_work)
    status: int = calc_step_from_kinematics(
        topology, parameters, gravity_in, time_step, num_passes, x_in, tau_in, F_applied_in, drives, drive_values_in,
        position_work, velocity_work, scratch_work, drives_work, effort_out, mean_out, mean_velocity_out, x_next_out,
    )  # fmt: skip
    return status


@device
def calc_step_from_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In: as above
    time_step: float,
    num_passes: int,
    x_in: Floats,
    tau_in: Floats,
    F_applied_in: FloatTable,
    drives: IntegerTable,
    drive_values_in: FloatTable,
    position_in: Positions,  # shape [num_mobods]; the position kinematics of x_in
    velocity_in: Velocities,  # shape [num_mobods]; the velocity kinematics of x_in
    # Work: as above
    scratch_work: Scratch,
    drives_work: FloatTable,
    # Out: as above
    effort_out: Floats,
    mean_out: Floats,
    mean_velocity_out: Velocities,
    x_next_out: Floats,
) -> int:
    """Does the same where the kinematics are known."""
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    q_next, v_next = x_next_out[:num_q], x_next_out[num_q:]
    is_other = start_mean_velocities(topology, time_step, position_in, velocity_in, v, mean_out)
    motion = velocity_in
    guess_saturation(drives, drive_values_in, v, drives_work)
    has_inertias = False
    for n in range(num_passes + 1):
        if n > 0:
            take_mean_velocities(topology, time_step, velocity_in, v, v_next, mean_out)
        if n > 0 or is_other:
            calc_mean_kinematics(
                topology, parameters, time_step, position_in, velocity_in, q, mean_out, mean_velocity_out
            )
            motion = mean_velocity_out
        # (4), until its solution confirms S; q_next serves as the extra diagonal, as num_q >= num_v.
        count, is_confirmed = 0, False
        while not is_confirmed:
            if count == _MOST_SOLUTIONS:
                return NOT_CONVERGED
            calc_damping(topology, parameters, time_step, v, tau_in, q_next, v_next)
            add_drives(time_step, drives, drive_values_in, v, drives_work, q_next, v_next)
            if has_inertias:
                calc_forward_dynamics_again(
                    topology, parameters, gravity_in, position_in, motion, v_next, F_applied_in, scratch_work, v_next
                )
            else:
                status = calc_forward_dynamics(
                    topology, parameters, gravity_in, position_in, motion, v_next, F_applied_in, q_next, scratch_work,
                    v_next,
                )  # fmt: skip
                if status != 0:
                    return status
            for k in range(num_v):
                v_next[k] = v[k] + time_step * v_next[k]
            is_confirmed = revise_saturation(
                time_step, count == 0, drives, drive_values_in, v_next, drives_work, effort_out
            )
            has_inertias, count = is_confirmed, count + 1
    advance_positions(topology, time_step, q, v_next, q_next)
    return 0


@device
def calc_next_pass(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    position_in: Positions,  # shape [num_mobods]
    velocity_in: Velocities,  # shape [num_mobods], of v
    v_next_in: Floats,  # v' of the last pass, shape [num_v]
    # In and out:
    scratch_io: Scratch,  # shape [num_mobods], as step_from_kinematics() without drives has left it
    # Out:
    mean_out: Floats,  # u of the next pass, shape [num_v]
    mean_velocity_out: Velocities,  # shape [num_mobods]; velocity kinematics of u
    x_star_out: Floats,  # in its last part v*, the velocities of the free motion with it, shape [num_q + num_v]
) -> None:
    """Computes the free motion of the next pass of a step that something constrains, see velocity_products.py."""
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    extra_diagonal, v_star = x_star_out[:num_v], x_star_out[num_q:]
    take_mean_velocities(topology, time_step, velocity_in, v, v_next_in, mean_out)
    calc_mean_kinematics(topology, parameters, time_step, position_in, velocity_in, q, mean_out, mean_velocity_out)
    calc_damping(topology, parameters, time_step, v, tau_in, extra_diagonal, v_star)
    calc_forward_dynamics_again(
        topology, parameters, gravity_in, position_in, mean_velocity_out, v_star, F_applied_in, scratch_io, v_star
    )
    for k in range(num_v):
        v_star[k] = v[k] + time_step * v_star[k]


@device
def advance_positions(
    topology: Topology,  # shape [num_mobods]
    time_step: float,  # h [s]
    q_in: Floats,  # shape [num_q]
    v_next_in: Floats,  # v+, shape [num_v]
    q_next_out: Floats,  # q+, shape [num_q]
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
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of q_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of q_in and v_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
) -> None:
    """Computes kinematics and inverse dynamics of a new state: 0.5 us less than in two calls."""
    calc_kinematics(topology, parameters, q_in, v_in, position_work, velocity_work)
    calc_inverse_dynamics(
        topology, parameters, gravity_in, position_work, velocity_work, vdot_in, F_applied_in, scratch_work, tau_out
    )


state_derivatives = kernel(calc_state_derivatives)
discrete_step = kernel(calc_discrete_step)
next_pass = kernel(calc_next_pass)
step_from_kinematics = kernel(calc_step_from_kinematics)
state_inverse_dynamics = kernel(calc_state_inverse_dynamics)
