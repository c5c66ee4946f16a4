"""What comes through the ports of a plant, and what the actuators make of it.

With the sum u_ff of what comes for each actuator, effort limits e, and for those with PD control the gains Kp and Kd
and the desired state q_d, v_d,

    u   = max(-e, min(e, u_ff + Kp (q_d - q) + Kd (v_d - v)))                                             (1)
    tau = B u + tau_applied                                                                               (2)

In a discrete step, q and v in (1) are those at its end: these efforts are found with the motion (drives.py), and count
as zero in (2). Each actuator drives one velocity.
"""

from __future__ import annotations

from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, GAIN, OFFSET, VELOCITY_TARGET
from merganser.multibody.kernels.layout import Parameters
from merganser.multibody.kernels.scalars import clamped, equals, is_finite_number, is_set

__all__ = [
    "IS_LOCKED",
    "NOT_FINITE",
    "add_input",
    "apply_actuation",
    "calc_efforts",
    "copy_actuation_input",
    "put_desired_state",
    "store_efforts",
]

# Why there are no efforts.
IS_LOCKED = 1  # a controller's joint is locked
NOT_FINITE = 2


@kernel
def copy_actuation_input(
    given_in: Floats,  # of all actuators, or nothing
    u_out: Floats,  # the same, or zeros
) -> None:
    """Begins the sum of what comes for the actuators."""
    for k in range(u_out.shape[0]):
        u_out[k] = 0.0
    for k in range(given_in.shape[0]):
        u_out[k] = given_in[k]


@kernel
def add_input(
    places: Integers,  # which actuators of all, shape [num_given]
    given_in: Floats,
    u_io: Floats,  # of all actuators
) -> None:
    """Adds what comes for some actuators."""
    for k in range(places.shape[0]):
        u_io[places[k]] += given_in[k]


@kernel
def put_desired_state(
    places: Integers,  # which actuators of all, shape [num_given]
    given_in: Floats,  # their positions, then their velocities, shape [2 num_given]
    desired_out: FloatTable,  # of all actuators, shape [2, num_u]
) -> None:
    """Puts the desired state of a model instance where it belongs."""
    size = places.shape[0]
    for k in range(size):
        desired_out[0, places[k]] = given_in[k]
        desired_out[1, places[k]] = given_in[size + k]


@kernel
def calc_efforts(
    # Model: of the PD controllers, shape [num_controllers]
    actuators: Integers,  # which actuator each controls
    mobods: Integers,  # whose joints they drive
    positions: Integers,  # which position and velocity these are
    velocities: Integers,
    p_gains: Floats,
    d_gains: Floats,
    time_step: float,  # 0 for a continuous plant
    parameters: Parameters,  # records of the mobods, see layout.py
    # In:
    q_in: Floats,
    v_in: Floats,
    feedforward_in: Floats,  # u_ff, shape [num_u]
    desired_in: FloatTable,  # q_d and v_d, shape [2, num_u]
    # Out:
    u_out: Floats,  # (1) without limits, shape [num_u]; in a discrete step zero where there are controllers
    drives_out: FloatTable,  # of each controller, its effort at zero velocity and the parts of that, see drives.py
) -> int:
    """Computes what the actuators exert, or in a discrete step what the controllers are to do in it.

    Returns:
        0, or why the results are not to be used.
    """
    for k in range(u_out.shape[0]):
        u_out[k] = feedforward_in[k]
    is_complete = True
    for n in range(actuators.shape[0]):
        k = actuators[n]
        if is_set(parameters[mobods[n]]["is_locked"]):
            return IS_LOCKED
        error = desired_in[0, k] - q_in[positions[n]]
        offset = feedforward_in[k] + p_gains[n] * error + d_gains[n] * desired_in[1, k]
        drives_out[n, FEEDFORWARD], drives_out[n, ERROR] = feedforward_in[k], error
        drives_out[n, VELOCITY_TARGET], drives_out[n, OFFSET] = desired_in[1, k], offset
        drives_out[n, GAIN] = time_step * p_gains[n] + d_gains[n]
        u_out[k] = 0.0 * offset if time_step > 0.0 else offset - d_gains[n] * v_in[velocities[n]]
        is_complete = is_complete and is_finite_number(offset)
    return 0 if is_complete else NOT_FINITE


@kernel
def apply_actuation(
    driven: Integers,  # for each actuator, the velocity that it drives, shape [num_u]
    limits: Floats,  # of the efforts, not negative
    u_in: Floats,  # (1) without limits
    applied_in: Floats,  # generalized forces, shape [num_v], or an empty vector
    effort_out: Floats,  # u, shape [num_u]
    tau_out: Floats,  # shape [num_v]
) -> bool:
    """Computes (2); returns whether it is finite."""
    for k in range(tau_out.shape[0]):
        tau_out[k] = 0.0
    for k in range(driven.shape[0]):
        effort, j = clamped(u_in[k], limits[k]), driven[k]
        effort_out[k] = effort
        tau_out[j] = effort if equals(tau_out[j], 0.0) else tau_out[j] + effort  # sums with zero make new objects
    for k in range(applied_in.shape[0]):
        tau_out[k] += applied_in[k]
    is_complete = True
    for k in range(tau_out.shape[0]):
        is_complete = is_complete and is_finite_number(tau_out[k])
    return is_complete


@kernel
def store_efforts(
    actuators: Integers,  # which actuator each controller controls
    efforts_in: Floats,
    u_io: Floats,  # of all actuators
) -> None:
    """Puts the efforts of controllers, which a step has found, among those of all actuators."""
    for n in range(actuators.shape[0]):
        u_io[actuators[n]] = efforts_in[n]
