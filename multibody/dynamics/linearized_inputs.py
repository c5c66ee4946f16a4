"""How forces that follow the state act in a step of any length: controllers and springs of programs, at input ports.

With the force F(q, v) that comes for velocity i, the step of length h takes (Kurtz, Castro 2025, section VI)

    F_i(v+) = F_i(q + h N v, v) - K_i (v+_i - v_i),                                        (1)
    K_i = max(0, -(dF_i/dv_i + h (dF_i/dq N)_i)),                                          (2)

the diagonal of the linearization at the end of the step, as far as it holds the motion back. So a stiff spring or PD
controller of a program acts as damping at the end of the step, as those of the plant do, and what drives the motion
acts as it is at the start, with positions that have moved on.

What comes for actuators is cut off at their effort limits: (1) is then a PD controller of the step with the gain
Kd = K and the desired velocity v, a constraint of its problem (../kernels/actuators.py). An actuator with controller of
its own, gain d and desired velocity v_d, gets

    d' = d + K,   v_d' = (d v_d + K v) / d'.                                               (3)

What comes as generalized or spatial forces has no limit: damping D' = D + K, and the force F_i + K_i v_i.

An integrator samples the inputs of a plant in states of its choice (`sample`), and makes (2) of what it finds. K and
the inputs at the moved positions are arguments of the step (`linearize`).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatsInContext, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import FLOAT, ArrayOf, Code
from merganser.framework.native.memory.tape import call_quiet_kernel
from merganser.multibody.contact.plant_layout import Drives
from merganser.multibody.dynamics.records import Inputs, Model, State, Work
from merganser.multibody.dynamics.step import add_up_inputs
from merganser.multibody.kernels.layout import Parameters, Topology, parameter_dtype
from merganser.multibody.kernels.position import calc_velocity_to_qdot

FloatTableInContext = Annotated[Any, ArrayOf(FLOAT, 2, True)]


class InputSample(NamedTuple):
    """The inputs of a plant in one state.

    Attributes:
        qdot: N v, shape [num_q].
        forces: generalized and spatial forces on the velocities, shape [num_v].
        u: what comes for actuators, shape [num_u].
        tau: generalized forces alone, shape [num_v].
        desired: states for PD controllers, shape [2, num_u].
        F_Bo_W: spatial forces on the bodies, shape [num_mobods, 6].
    """

    qdot: FloatsInContext
    forces: FloatsInContext
    u: FloatsInContext
    tau: FloatsInContext
    desired: FloatTableInContext
    F_Bo_W: FloatTableInContext


class Linearization(NamedTuple):
    """What puts (1) into the records of a step.

    Attributes:
        is_used: whether any input follows the state. If not, steps take the inputs as they are at the start.
        linearize: the kernel below.
        gain: K, of velocities and then of actuators, shape [num_v + num_u].
        inputs: those at the moved positions.
        parameters: of the plant; the step has its own.
        gains: d of the controllers of the step, without (3).
        tau_of_step, desired_of_step: inputs of the step, with (1) and (3).
    """

    is_used: int
    linearize: Code
    gain: FloatsInContext
    inputs: InputSample
    parameters: Annotated[Any, ArrayOf(parameter_dtype(), 1, True)]
    gains: Floats
    tau_of_step: Floats
    desired_of_step: FloatTable


@device
def sample(model: Model, state: State, inputs: Inputs, work: Work, sample_inputs: Any, out: InputSample) -> None:
    """Notes what comes through the inputs, but for spatial forces."""
    given = model.topology, state.q, state.v, add_up_inputs(model, inputs, work), inputs.tau
    call_quiet_kernel(sample_inputs, (*given, out.qdot, out.forces, out.u, out.tau))
    if model.actuators.controlled.shape[0] > 0:
        for n in range(len(inputs.desired)):
            part = inputs.desired[n]
            call_quiet_kernel(model.code.put_desired_state, (part.actuators, part.values, out.desired))


@device
def linearize(model: Model, state: State, linearization: Linearization) -> None:
    """Lets the next step follow the state by (1)."""
    actuators, inputs = model.actuators, linearization.inputs
    call_quiet_kernel(linearization.linearize, (
        model.topology, linearization.parameters, actuators.controlled, actuators.velocities, linearization.gains,
        state.v, linearization.gain, inputs.tau, inputs.desired, model.parameters, actuators.d, model.contact.drives,
        linearization.tau_of_step, linearization.desired_of_step,
    ))  # fmt: skip


@kernel
def sample_inputs(
    # Model:
    topology: Topology,
    # In:
    q_in: Floats,
    v_in: Floats,
    u_in: Floats,  # for each actuator, shape [num_u]
    tau_in: Floats,  # generalized forces, shape [num_v], or an empty vector
    # Out, see InputSample:
    qdot_out: Floats,
    forces_out: Floats,
    u_out: Floats,
    tau_out: Floats,
) -> None:
    """Copies what comes through the inputs, and computes N(q) v."""
    for k in range(u_in.shape[0]):
        u_out[k] = u_in[k]
    for k in range(tau_out.shape[0]):
        forces_out[k] = tau_out[k] = tau_in[k] if tau_in.shape[0] > 0 else 0.0
    calc_velocity_to_qdot(topology, q_in, v_in, qdot_out)


@kernel
def linearize_inputs(
    # Model:
    topology: Topology,
    parameters_in: Parameters,  # shape [num_mobods]
    controlled: Integers,  # actuators that are PD controllers of the step
    velocities: Integers,  # that these drive
    gains_in: Floats,  # d of these
    # In:
    v_in: Floats,
    gain_in: Floats,  # K, shape [num_v + num_u]
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
    num_v, num_u = v_in.shape[0], desired_in.shape[1]
    for i in range(topology.shape[0]):
        parameters_out[i] = parameters_in[i]
        for k in range(topology[i]["num_v"]):
            j = topology[i]["v_start"] + k
            K = gain_in[j]
            parameters_out[i]["damping"][k] += K
            tau_out[j] = tau_in[j] + K * v_in[j]
    for k in range(num_u):
        desired_out[0, k], desired_out[1, k] = desired_in[0, k], desired_in[1, k]
    for n in range(controlled.shape[0]):
        k = controlled[n]
        K = gain_in[num_v + k]
        d_out[n] = gains_in[n] + K
        if K > 0.0:  # (3)
            desired_out[1, k] = (gains_in[n] * desired_in[1, k] + K * v_in[velocities[n]]) / d_out[n]
        if n < drives_out.shape[0]:
            drives_out[n]["d"] = d_out[n]
