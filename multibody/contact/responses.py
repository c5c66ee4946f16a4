"""How what comes through the inputs of a plant follows its state in a step: controllers and springs of programs.

With the force F(q, v) that comes for velocity i, the step of length h takes (Kurtz, Castro 2025, section VI)

    F_i(v+) = F_i(q + h N v, v) - K_i (v+_i - v_i),                                        (1)
    K_i = max(0, -(dF_i/dv_i + h (dF_i/dq N)_i)),                                          (2)

the diagonal of the linearization at the end of the step, as far as it holds the motion back. So a stiff spring or PD
controller of a program acts as damping at the end of the step, as those of the plant do, and what drives the motion
acts as it is at the start, with positions that have moved on.

What comes for actuators is cut off at their effort limits: (1) is then a PD controller of the step with the gain
Kd = K and the desired velocity v, a constraint of its problem (../kernels/drives.py). An actuator with controller of
its own, gain d and desired velocity v_d, gets

    d' = d + K,   v_d' = (d v_d + K v) / d'.                                               (3)

What comes as generalized or spatial forces has no limit: damping D' = D + K, and the force F_i + K_i v_i.

Before a step the plant only listens: `hear` notes what comes through the inputs where an integrator has put it, and
N v. From what was heard there the integrator makes (2); `respond` puts it into the records of the step.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import ArrayOf, Code
from merganser.framework.native.memory.tape import call_quiet_kernel
from merganser.multibody.contact.plant_layout import Drives
from merganser.multibody.contact.step import add_up_inputs
from merganser.multibody.contact.step_records import Inputs, Model, State, Work
from merganser.multibody.kernels.coordinates import calc_velocity_to_qdot
from merganser.multibody.kernels.layout import Parameters, Topology, parameter_dtype

__all__ = [
    "ALL",
    "ALONE",
    "BEFORE",
    "BY_POSITION",
    "BY_VELOCITY",
    "DRIVEN",
    "FIRST",
    "GAIN",
    "HEARD",
    "NUM_PLACES",
    "NUM_Q",
    "NUM_ROWS",
    "NUM_V",
    "WHAT_FOLLOWS",
    "Responses",
    "hear_inputs",
    "listen",
    "respond",
    "respond_to_inputs",
]

# Rows of a table of what is known of the inputs; columns are actuators, then velocities.
HEARD = 0  # what comes through the inputs now [N or N m]
BEFORE = 1  # the same at the start of a step
BY_VELOCITY = 2  # dF_i/dv_i there
BY_POSITION = 3  # (dF_i/dq N)_i
GAIN = 4  # K_i of the step
NUM_ROWS = 5

# The places of a plant, integers: what whoever makes the table has to know.
WHAT_FOLLOWS = 0  # the state, of the inputs: one of the three below
FIRST = 1  # where the plant's state begins in that of the whole
NUM_Q, NUM_V = 2, 3
NUM_PLACES = 4  # from here on: the velocity that each column of the table acts on

ALONE, DRIVEN, ALL = range(3)  # nothing; what comes for actuators; generalized or spatial forces, too


class Responses(NamedTuple):
    """What follows the state in the steps of a plant, for compiled code.

    Attributes:
        is_used: whether anything does. If not, steps take the inputs as they are at the start.
        hear, respond: the kernels below.
        inputs: what the input ports carry.
        parameters: of the plant; the step has its own.
        gains: d of the controllers of the step, without (3).
        heard, gain: rows of the table above.
        tau, desired: what came last as generalized forces, and for PD controllers, shape [2, num_u].
        tau_of_step, desired_of_step: the same for the step, with (1) and (3).
    """

    is_used: int
    hear: Code
    respond: Code
    inputs: Inputs
    parameters: Annotated[Any, ArrayOf(parameter_dtype(), 1, True)]
    gains: Floats
    heard: Floats
    gain: Floats
    tau: Floats
    desired: FloatTable
    tau_of_step: Floats
    desired_of_step: FloatTable


@device
def listen(model: Model, state: State, inputs: Inputs, work: Work, responses: Responses, xdot_out: Any) -> None:
    """Notes what comes through the inputs now; xdot_out = [N(q) v; 0]."""
    u = add_up_inputs(model, inputs, work)
    if model.actuators.controlled.shape[0] > 0:
        for n in range(len(inputs.desired)):
            part = inputs.desired[n]
            call_quiet_kernel(model.code.put_desired_state, (part.actuators, part.values, responses.desired))
    call_quiet_kernel(responses.hear, (
        model.topology, state.q, state.v, u, inputs.tau, responses.heard, responses.tau, xdot_out,
    ))  # fmt: skip


@device
def respond(model: Model, state: State, responses: Responses) -> None:
    """Lets the next step follow the state by (1), with what was heard and the gains (2)."""
    actuators = model.actuators
    call_quiet_kernel(responses.respond, (
        model.topology, responses.parameters, actuators.controlled, actuators.velocities, responses.gains,
        state.v, responses.gain, responses.tau, responses.desired, model.parameters, actuators.d, model.contact.drives,
        responses.tau_of_step, responses.desired_of_step,
    ))  # fmt: skip


@kernel
def hear_inputs(
    # Model:
    topology: Topology,
    # In:
    q_in: Floats,
    v_in: Floats,
    u_in: Floats,  # for each actuator, shape [num_u]
    applied_in: Floats,  # generalized forces, shape [num_v], or an empty vector
    # Out:
    heard_out: Floats,  # both, shape [num_u + num_v]
    tau_out: Floats,  # the second, shape [num_v]
    xdot_out: Floats,  # [N(q) v; 0], shape [num_q + num_v]
) -> None:
    """Notes what comes through the inputs."""
    num_u, num_q = u_in.shape[0], q_in.shape[0]
    for k in range(num_u):
        heard_out[k] = u_in[k]
    for k in range(tau_out.shape[0]):
        tau_out[k] = applied_in[k] if applied_in.shape[0] > 0 else 0.0
        heard_out[num_u + k] = tau_out[k]
        xdot_out[num_q + k] = 0.0
    calc_velocity_to_qdot(topology, q_in, v_in, xdot_out)


@kernel
def respond_to_inputs(
    # Model:
    topology: Topology,
    parameters_in: Parameters,  # shape [num_mobods]
    controlled: Integers,  # actuators that are PD controllers of the step
    velocities: Integers,  # that these drive
    gains_in: Floats,  # d of these
    # In:
    v_in: Floats,
    gain_in: Floats,  # K, shape [num_u + num_v]
    tau_in: Floats,  # generalized forces, shape [num_v]
    desired_in: FloatTable,  # shape [2, num_u]
    # Out:
    parameters_out: Parameters,  # with D' in place of D
    d_out: Floats,  # d' of the PD controllers
    drives_out: Drives,  # the same in the contact problem, or none
    tau_out: Floats,  # with K v
    desired_out: FloatTable,  # with v_d' in place of v_d
) -> None:
    """Puts (1) and (3) into the arrays of a step."""
    num_u = desired_in.shape[1]
    for i in range(topology.shape[0]):
        parameters_out[i] = parameters_in[i]
        for k in range(topology[i]["num_v"]):
            j = topology[i]["v_start"] + k
            K = gain_in[num_u + j]
            parameters_out[i]["damping"][k] += K
            tau_out[j] = tau_in[j] + K * v_in[j]
    for k in range(num_u):
        desired_out[0, k], desired_out[1, k] = desired_in[0, k], desired_in[1, k]
    for n in range(controlled.shape[0]):
        k = controlled[n]
        d_out[n] = gains_in[n] + gain_in[k]
        if gain_in[k] > 0.0:  # (3)
            desired_out[1, k] = (gains_in[n] * desired_in[1, k] + gain_in[k] * v_in[velocities[n]]) / d_out[n]
        if n < drives_out.shape[0]:
            drives_out[n]["d"] = d_out[n]
