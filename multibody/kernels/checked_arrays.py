"""Copies and short checked operations of floats, which take numpy calls two or three times as long.

A vector is finite if the sum of its elements times zero is zero. These are not laws of mechanics and have no complex or
symbolic form: plants of other scalars check their vectors in Python.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.drives import ERROR, FEEDFORWARD, OFFSET, VELOCITY_TARGET
from merganser.multibody.kernels.spatial import Array

__all__ = [
    "control",
    "copy_pose",
    "is_finite",
    "put_desired_state",
    "spread_forces",
    "subtract_checked",
    "write_checked",
]


@device
def _is_finite(values: Array) -> bool:
    total = 0.0
    for k in range(values.shape[0]):
        total += values[k] * 0.0
    return total == 0.0


@kernel
def is_finite(values_in: Array) -> bool:
    """Whether all elements are finite numbers."""
    return _is_finite(values_in)


@kernel
def copy_pose(R_AB_in: Array, p_AoBo_A_in: Array, R_AB_out: Array, p_AoBo_A_out: Array) -> None:
    """Copies an orientation, shape [3, 3], and a position, shape [3]."""
    for r in range(3):
        for c in range(3):
            R_AB_out[r, c] = R_AB_in[r, c]
        p_AoBo_A_out[r] = p_AoBo_A_in[r]


@kernel
def write_checked(
    quaternion_starts: Array,  # where in `given` quaternions start
    room_out: Array,
    given_in: Array,  # as long as room_out
) -> bool:
    """Writes a vector of coordinates, unless it is not finite or a quaternion is zero: then nothing is written.

    Returns:
        Whether it was written.
    """
    if not _is_finite(given_in):
        return False
    for k in range(quaternion_starts.shape[0]):
        s = quaternion_starts[k]
        if given_in[s] == 0.0 and given_in[s + 1] == 0.0 and given_in[s + 2] == 0.0 and given_in[s + 3] == 0.0:
            return False
    for k in range(room_out.shape[0]):
        room_out[k] = given_in[k]
    return True


@kernel
def subtract_checked(values_out: Array, other_in: Array) -> bool:
    """Subtracts a vector from another in place; returns whether the result is finite."""
    for k in range(values_out.shape[0]):
        values_out[k] -= other_in[k]
    return _is_finite(values_out)


@kernel
def spread_forces(
    places: Array,  # for each input, the velocity that it drives
    limits: Array,  # of the efforts, not negative
    effort_out: Array,  # inputs within their limits
    tau_out: Array,  # generalized forces, shape [num_v]
    u_in: Array,  # inputs
    applied_in: Array,  # generalized forces, shape [num_v], or an empty vector
) -> bool:
    """Computes tau = B u + applied, with inputs that drive one velocity each, within their limits.

    Returns:
        Whether the result is finite.
    """
    for k in range(tau_out.shape[0]):
        tau_out[k] = 0.0
    for k in range(places.shape[0]):
        effort = u_in[k]  # may be nan, and then stays so
        if effort > limits[k]:
            effort = limits[k]
        if effort < -limits[k]:
            effort = -limits[k]
        effort_out[k] = effort
        tau_out[places[k]] += effort
    for k in range(applied_in.shape[0]):
        tau_out[k] += applied_in[k]
    return _is_finite(tau_out)


@kernel
def put_desired_state(
    places: Array,  # of the inputs of a model instance among all inputs
    desired_in: Array,  # positions, then velocities, of the instance
    desired_out: Array,  # of all inputs, shape [2, num_inputs]
) -> bool:
    """Puts the desired state of a model instance where it belongs; returns whether it is finite."""
    size = places.shape[0]
    for k in range(size):
        desired_out[0, places[k]] = desired_in[k]
        desired_out[1, places[k]] = desired_in[size + k]
    return _is_finite(desired_in)


@kernel
def control(
    # Model:
    mobods: Array,  # which mobod each actuator drives
    effort_limits: Array,  # of all actuators, not negative
    inputs: Array,  # which actuators have PD controllers
    positions: Array,  # for each of these, which position it drives
    p_in: Array,  # and its gains
    d_in: Array,
    # In:
    parameters_in: Array,  # records of the mobods, see layout.py
    q_in: Array,
    feedforward_in: Array,  # of all actuators
    desired_in: Array,  # states, shape [2, num_inputs]
    # Out:
    u_out: Array,  # feedforward within the limits, zero for actuators with controllers
    drives_out: Array,  # of each controller c, its effort at zero velocity, and the parts of c, see drives.py
) -> bool:
    """What controllers are to do in a discrete step (drives.py), and the other actuators do.

    Returns:
        Whether no driven joint is locked, and all numbers are finite; otherwise the results are not to be used.
    """
    is_locked, total = False, 0.0
    for k in range(u_out.shape[0]):
        is_locked = is_locked or parameters_in[mobods[k]]["is_locked"] > 0.5
        effort = feedforward_in[k]
        if effort > effort_limits[k]:
            effort = effort_limits[k]
        if effort < -effort_limits[k]:
            effort = -effort_limits[k]
        u_out[k] = effort
    for n in range(inputs.shape[0]):
        k = inputs[n]
        u_out[k] = 0.0 * u_out[k]
        error = desired_in[0, k] - q_in[positions[n]]
        drives_out[n, FEEDFORWARD], drives_out[n, ERROR] = feedforward_in[k], error
        drives_out[n, VELOCITY_TARGET] = desired_in[1, k]
        drives_out[n, OFFSET] = feedforward_in[k] + p_in[n] * error + d_in[n] * desired_in[1, k]
        total += drives_out[n, OFFSET] * 0.0
    return not is_locked and _is_finite(u_out) and total == 0.0
