"""Inputs of a plant, and the efforts of its actuators.

With the sum u_ff of what comes for each actuator, effort limits e, and for those with PD control the gains Kp and Kd
and the desired state q_d, v_d,

    u   = max(-e, min(e, u_ff + Kp (q_d - q) + Kd (v_d - v)))                                             (1)
    tau = B u + tau_applied                                                                               (2)

In a discrete step, q and v in (1) are those at its end: these efforts are found with the motion (drives.py), and count
as zero in (2). Each actuator drives one velocity.

Limits m - e and m + e of an effort about a middle m, a constant effort b of a controller, and its limits r - h and
r + h and scale s of a desired position q_g that is given, come to

    u   = max(-e, min(e, u_ff + b - m + Kp (q_d - q) + Kd (v_d - v))),   tau = B (u + m) + tau_applied    (3)
    q_d = s (r + max(-h, min(h, q_g - r)))                                                                (4)

Efforts of PD-controlled actuators in a discrete step, and the search for those that reach their limits.

Actuator i drives velocity v_j of a joint with one velocity. With the position at the end of the step,
q+ = q + h v+, its effort is a line in v+, cut off at the effort limit e:

    u(v+) = max(-e, min(e, c - K v+))                                                 (1)
    c = u_ff + Kp (q_d - q) + Kd v_d,   K = h Kp + Kd                                 (2)

so that the step A (v+ - v*) = h B u(v+), with A = M + h D and v* the velocities without these actuators, is where
the convex function

    l(v) = 1/2 (v - v*)^T A (v - v*) - h sum_i int u_i dv_j                           (3)

has its minimum. Newton's method solves the step for a guess of which actuators are saturated, and takes the others as
c - K v+ (dynamics/step.py). If the result confirms the guess, it is exact. Otherwise the next guess is taken from the
minimum of l on the way from the last point to the result, where along a direction d

    dl/d alpha = d^T (p + alpha (p_new - p)) - h sum_i d_j u_i(v_j + alpha d_j)       (4)

increases with alpha. p = A (v - v*) is known at the result of a solution, where it is h u, and in between by
interpolation. l decreases from guess to guess, so none occurs twice as long as full steps are taken.

Sources: the model (1), (2) is the PD control of SAP, A. Castro et al., An Unconstrained Convex Formulation of
Compliant Contact, IEEE T-RO (2023), where (3) is its equation (15) for these constraints; exact line search: section
V.B there.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.by_value import select
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.kernels.layout import Parameters
from merganser.multibody.kernels.scalars import clamped, equals, is_finite_number, is_set, real_part
from merganser.multibody.kernels.spatial import Array

# Columns of drives: integers, shape [num_drives, NUM_DRIVE_NUMBERS].
DOF = 0  # which velocity j the actuator drives
NUM_DRIVE_NUMBERS = 1

# Columns of drive values: scalars, shape [num_drives, NUM_DRIVE_VALUES].
OFFSET = 0  # c [N m or N]
GAIN = 1  # K
LIMIT = 2  # e, possibly infinite
FEEDFORWARD = 3  # u_ff, and the other parts of c, for the contact solver, which may soften the gains
ERROR = 4  # q_d - q
VELOCITY_TARGET = 5  # v_d
NUM_DRIVE_VALUES = 6

# Columns of the workspace, shape [num_drives, NUM_WORK_VALUES].
_VELOCITY = 0  # v_j at the present point
_IMPULSE = 1  # h times its effort there, of which p is made
_RESULT = 2  # v_j at the result of the last solution
_GUESS = 3  # 1 at the upper limit, -1 at the lower, 0 between
NUM_WORK_VALUES = 4

_SLACK = 1e-12  # by how much of the limit an effort may miss it
_BISECTIONS = 60


@device
def guess_saturation(drives: Array, values_in: Array, v_in: Array, work_out: Array) -> None:
    """Guesses from the velocities before the step, shape [num_v], which drives are saturated."""
    for i in range(drives.shape[0]):
        work_out[i, _GUESS] = _saturation(values_in[i], v_in[drives[i, DOF]])


@device
def add_drives(
    time_step: float,
    drives: Array,
    values_in: Array,
    v_in: Array,
    work_in: Array,
    diagonal_out: Array,
    tau_out: Array,
) -> None:
    """Adds the drives, as they are guessed, to M vdot = tau with v+ = v + h vdot; both results have the shape [num_v].

    Between the limits, c - K (v + h vdot) adds h K to the diagonal of M and c - K v to tau.
    """
    for i in range(drives.shape[0]):
        j, value = drives[i, DOF], values_in[i]
        diagonal_out[j] += select(real_part(work_in[i, _GUESS]) == 0.0, time_step * value[GAIN], 0.0 * value[GAIN])
        tau_out[j] += _guessed_effort(work_in[i], value, v_in[j])


@device
def _guessed_effort(point: Array, value: Array, v: Any) -> Any:
    guess = real_part(point[_GUESS])
    at_limit = select(guess > 0.0, value[LIMIT], -value[LIMIT])
    return select(guess == 0.0, value[OFFSET] - value[GAIN] * v, at_limit)


@device
def revise_saturation(
    time_step: float,
    is_first: bool,
    drives: Array,
    values_in: Array,
    v_next_in: Array,
    work: Array,
    effort_out: Array,
) -> bool:
    """Looks at the result of a solution, shape [num_v]: whether it confirms the guess. If not, makes the next guess.

    Lanes whose guess is confirmed keep it, so that further solutions change nothing in them.
    effort_out, shape [num_drives], are the efforts with which it was solved.
    """
    if drives.shape[0] == 0:
        return True
    missed = 0.0 * real_part(values_in[0, GAIN])  # so that it is of lanes from the beginning
    for i in range(drives.shape[0]):
        value, v = values_in[i], v_next_in[drives[i, DOF]]
        work[i, _RESULT] = v
        effort_out[i] = _guessed_effort(work[i], value, v)
        missed = select(_misses(work[i], value, v) > 0.0, 1.0, missed)
    if not any_of(missed > 0.0):
        return True
    alpha = _find_minimum(time_step, is_first, values_in, work, effort_out)
    for i in range(drives.shape[0]):
        point, impulse = work[i], time_step * effort_out[i]
        v = point[_VELOCITY] + alpha * (point[_RESULT] - point[_VELOCITY])
        v = select(alpha == 1.0, point[_RESULT], v)
        impulse = select(alpha == 1.0, impulse, point[_IMPULSE] + alpha * (impulse - point[_IMPULSE]))
        point[_VELOCITY] = select(missed > 0.0, v, point[_VELOCITY])
        point[_IMPULSE] = select(missed > 0.0, impulse, point[_IMPULSE])
        point[_GUESS] = select(missed > 0.0, _saturation(values_in[i], v), real_part(point[_GUESS]))
    return False


@device
def _saturation(value: Array, v: Any) -> float:
    """Where in (1) a velocity lies."""
    effort, limit = real_part(value[OFFSET] - value[GAIN] * v), real_part(value[LIMIT])
    where_it_lies: float = select(effort > limit, 1.0, select(effort < -limit, -1.0, 0.0))
    return where_it_lies


@device
def _misses(point: Array, value: Array, v: Any) -> float:
    """By how much an effort c - K v is not where it was guessed to be; not positive, or NaN, if it is."""
    effort, limit = real_part(value[OFFSET] - value[GAIN] * v), real_part(value[LIMIT])
    guess = real_part(point[_GUESS])
    by: float = select(guess == 0.0, abs(effort) - (1.0 + _SLACK) * limit, (1.0 - _SLACK) * limit - guess * effort)
    return by


@device
def _find_minimum(time_step: float, is_first: bool, values_in: Array, work_in: Array, effort_in: Array) -> float:
    """alpha in (0, 1] where (4) is zero, or 1 if it is not positive there; 1 as long as there is no point before."""
    last = _slope(time_step, values_in, work_in, effort_in, 1.0)
    low, high = 0.0, 1.0
    for _ in range(0 if is_first or not any_of(last > 0.0) else _BISECTIONS):
        middle = 0.5 * (low + high)
        is_beyond = _slope(time_step, values_in, work_in, effort_in, middle) > 0.0
        low, high = select(is_beyond, low, middle), select(is_beyond, middle, high)
    minimum: float = select(last > 0.0, high, 1.0)
    return minimum


@device
def _slope(time_step: float, values_in: Array, work_in: Array, effort_in: Array, alpha: float) -> float:
    """dl/d alpha, equation (4)."""
    slope = 0.0
    for i in range(values_in.shape[0]):
        v, impulse = real_part(work_in[i, _VELOCITY]), real_part(work_in[i, _IMPULSE])
        d = real_part(work_in[i, _RESULT]) - v
        limit = real_part(values_in[i, LIMIT])
        effort = real_part(values_in[i, OFFSET]) - real_part(values_in[i, GAIN]) * (v + alpha * d)
        effort = max(-limit, min(limit, effort))
        slope += d * (impulse + alpha * (time_step * real_part(effort_in[i]) - impulse) - time_step * effort)
    return slope


# Why there are no efforts.
IS_LOCKED = 1  # a controller's joint is locked
NOT_FINITE = 2

# Rows of desired states after q_d and v_d, constants: r, h, s, b and m of (3) and (4).
RANGE_MIDDLE, HALF_RANGE, SCALE, BIAS, MIDDLE = 2, 3, 4, 5, 6
NUM_DESIRED_ROWS = 7


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
    desired_io: FloatTable,  # of all actuators, shape [NUM_DESIRED_ROWS, num_u]; or [2, num_u], where (4) comes later
) -> None:
    """Puts the desired state of a model instance where it belongs, equation (4)."""
    size = places.shape[0]
    for k in range(size):
        i, q_g = places[k], given_in[k]
        if desired_io.shape[0] > 2:
            r = desired_io[RANGE_MIDDLE, i]
            q_g = desired_io[SCALE, i] * (r + clamped(q_g - r, real_part(desired_io[HALF_RANGE, i])))
        desired_io[0, i] = q_g
        desired_io[1, i] = given_in[size + k]


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
    desired_in: FloatTable,  # q_d and v_d, and constants, shape [NUM_DESIRED_ROWS, num_u]
    # Out:
    u_out: Floats,  # (1) without limits, shape [num_u]; in a discrete step m where there are controllers
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
        m, feedforward = desired_in[MIDDLE, k], feedforward_in[k] + desired_in[BIAS, k]
        offset = feedforward + p_gains[n] * error + d_gains[n] * desired_in[1, k]
        drives_out[n, FEEDFORWARD], drives_out[n, ERROR] = feedforward - m, error
        drives_out[n, VELOCITY_TARGET], drives_out[n, OFFSET] = desired_in[1, k], offset - m
        drives_out[n, GAIN] = time_step * p_gains[n] + d_gains[n]
        u_out[k] = 0.0 * offset + m if time_step > 0.0 else offset - d_gains[n] * v_in[velocities[n]]
        is_complete = is_complete and is_finite_number(offset)
    return 0 if is_complete else NOT_FINITE


@kernel
def apply_actuation(
    driven: Integers,  # for each actuator, the velocity that it drives, shape [num_u]
    limits: Floats,  # e of all actuators, not negative, then m, shape [2 num_u]
    u_in: Floats,  # (1) without limits
    applied_in: Floats,  # generalized forces, shape [num_v], or an empty vector
    effort_out: Floats,  # u of (3), shape [num_u]
    tau_out: Floats,  # shape [num_v]
) -> bool:
    """Computes (2) or (3); returns whether it is finite."""
    num_u = driven.shape[0]
    for k in range(tau_out.shape[0]):
        tau_out[k] = 0.0
    for k in range(num_u):
        j, m, effort = driven[k], limits[num_u + k], u_in[k]
        if m != 0.0:
            effort_out[k] = clamped(effort - m, limits[k])
            effort = effort_out[k] + m
        else:
            effort = clamped(effort, limits[k])
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
