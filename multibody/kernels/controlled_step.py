"""The discrete step of a tree with PD-controlled actuators, whose efforts follow the velocities after the step.

Notation: see layout.py, step.py and drives.py. With u(v+), diag(K) and c as in drives.py and D = diag(damping),

    (M + h D) (v+ - v) = h (tau - D v - C v + tau_g + J^T F_applied + B u(v+))                            (1)

Where S are the actuators between their limits and u_T the efforts of the others, at theirs, (1) is linear:

    (M + h D + h diag(h K_S)) vdot = tau - D v - C v + tau_g + J^T F_applied + B_S (c - K v)_S + B_T u_T  (2)

with v+ = v + h vdot: a forward dynamics in time proportional to the number of bodies. It is solved until the choice
of S is confirmed, in most steps at once.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, IntegerTable
from merganser.multibody.kernels.drives import add_drives, guess_saturation, revise_saturation
from merganser.multibody.kernels.fast_spin import add_fast_spins
from merganser.multibody.kernels.forward_dynamics import calc_forward_dynamics
from merganser.multibody.kernels.kinematics import calc_kinematics
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.step import advance_positions, calc_damping, end_velocities, take_mean_velocities
from merganser.multibody.kernels.velocity_products import start_products

__all__ = [
    "NOT_CONVERGED",
    "calc_controlled_step",
    "calc_controlled_step_from_kinematics",
    "controlled_step",
    "controlled_step_from_kinematics",
]

NOT_CONVERGED = -1
_MOST_SOLUTIONS = 100


@device
def calc_controlled_step(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping and drives, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    drives: IntegerTable,  # shape [num_drives, NUM_DRIVE_NUMBERS], see drives.py; their second column is workspace
    drive_values_in: FloatTable,  # shape [num_drives, NUM_DRIVE_VALUES]
    # Work:
    position_work: Positions,  # shape [num_mobods]; holds the position kinematics of x_in afterwards
    velocity_work: Velocities,  # shape [num_mobods]; holds the velocity kinematics of x_in afterwards
    scratch_work: Scratch,  # shape [num_mobods]
    drives_work: FloatTable,  # shape [num_drives, NUM_WORK_VALUES]
    # Out:
    effort_out: Floats,  # u(v+) of the drives [N m or N], shape [num_drives]
    x_next_out: Floats,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equation (1), and q+ = q + h N(q) v+.

    Returns:
        0; or the number of the mobod whose hinge inertia is singular or NaN; or NOT_CONVERGED if no choice of S was
        confirmed. The results are then not computed.
    """
    num_q = x_in.shape[0] - tau_in.shape[0]
    calc_kinematics(topology, parameters, x_in[:num_q], x_in[num_q:], position_work, velocity_work)
    status: int = calc_controlled_step_from_kinematics(
        topology, parameters, gravity_in, time_step, x_in, tau_in, F_applied_in, drives, drive_values_in,
        position_work, velocity_work, scratch_work, drives_work, effort_out, x_next_out,
    )  # fmt: skip
    return status


@device
def calc_controlled_step_from_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    time_step: float,  # h [s]
    x_in: Floats,  # state [q; v], shape [num_q + num_v]
    tau_in: Floats,  # generalized forces but damping and drives, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    drives: IntegerTable,  # shape [num_drives, NUM_DRIVE_NUMBERS], see drives.py; their second column is workspace
    drive_values_in: FloatTable,  # shape [num_drives, NUM_DRIVE_VALUES]
    # In and out:
    position_io: Positions,  # shape [num_mobods]; the position kinematics of x_in, before and after
    velocity_io: Velocities,  # shape [num_mobods]; the velocity kinematics of x_in, before and after
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    drives_work: FloatTable,  # shape [num_drives, NUM_WORK_VALUES]
    # Out:
    effort_out: Floats,  # u(v+) of the drives [N m or N], shape [num_drives]
    x_next_out: Floats,  # next state [q+; v+], shape [num_q + num_v]
) -> int:
    """Computes the state one time step later, equation (1), and q+ = q + h N(q) v+, where its kinematics are known.

    Returns:
        0; or the number of the mobod whose hinge inertia is singular or NaN; or NOT_CONVERGED if no choice of S was
        confirmed. The results are then not computed.
    """
    num_v = tau_in.shape[0]
    num_q = x_in.shape[0] - num_v
    q, v = x_in[:num_q], x_in[num_q:]
    q_next, v_next = x_next_out[:num_q], x_next_out[num_q:]
    guess_saturation(drives, drive_values_in, v)
    for count in range(_MOST_SOLUTIONS):
        evaluations = start_products(topology, parameters, time_step, position_io, velocity_io, scratch_work)
        for n in range(evaluations + 1):
            if n > 0:
                is_fast = n == 1 and evaluations > 1
                take_mean_velocities(
                    topology, parameters, time_step, is_fast, q, v, v_next, position_io, scratch_work, q_next,
                    velocity_io,
                )  # fmt: skip
            # Right and left side of (2); q_next serves as the extra diagonal, as num_q >= num_v.
            calc_damping(topology, parameters, time_step, v, tau_in, q_next, v_next)
            if n == evaluations:  # as where something holds: products are those of motion without drives
                add_drives(time_step, drives, drive_values_in, v, q_next, v_next)
            add_fast_spins(topology, time_step, position_io, velocity_io, v_next)
            status = calc_forward_dynamics(
                topology, parameters, gravity_in, position_io, velocity_io, v_next, F_applied_in,
                q_next, scratch_work, v_next,
            )  # fmt: skip
            if status != 0:
                return status
        end_velocities(
            topology, parameters, gravity_in, time_step, evaluations, q, v, position_io, velocity_io,
            scratch_work, q_next, v_next,
        )  # fmt: skip
        if revise_saturation(time_step, count == 0, drives, drive_values_in, v_next, drives_work, effort_out):
            advance_positions(topology, time_step, q, v_next, q_next)
            return 0
    return NOT_CONVERGED


controlled_step = kernel(calc_controlled_step)
controlled_step_from_kinematics = kernel(calc_controlled_step_from_kinematics)
