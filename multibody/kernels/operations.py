"""Parts of vectors as an operation of the native plan (framework/native/operations/operations.py).

Controllers that know a plant, as an operation of the native plan (framework/native/operations/operations.py).

The operation does what the callbacks in multibody/controllers do, with the same kernels in the same order, so to the
last bit. Where Python would raise an exception, it sets a failure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from merganser.framework.native import device
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.hinted_types import Floats, FloatsInContext, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import Code, record_at
from merganser.framework.native.memory.tape import FAILED, call_kernel, call_quiet_kernel, integers_at
from merganser.framework.native.operations.operations import CompiledOperation
from merganser.multibody.kernels.layout import Constants, Elements, Parameters, Positions, Scratch, Topology, Velocities


def gather(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[index[i]]; integers: n, address of index, u, y."""
    index, u, y = integers_at(integers[1]), integers[2], integers[3]
    for i in range(integers[0]):
        values[y + i] = values[u + index[i]]


GATHER = CompiledOperation(gather)


# Modes.
INVERSE_DYNAMICS, GRAVITY_COMPENSATION, STIFFNESS = range(3)


class ControllerRecord(NamedTuple):
    """Arguments of the operation.

    Attributes:
        mode: one of the above.
        kinematics, force_elements: kernels; the second one is 0 where there are no elements.
        forces: the kernel of the mode: inverse_dynamics, gravity_forces or generalized_forces.
        topology, parameters, gravity, elements, constants: of the plant, in its own Context.
        quaternions: where these start in q.
        q, v: the estimated state.
        command: desired acceleration or state; empty for GRAVITY_COMPENSATION.
        result: what the controller exerts.
        position, velocity, scratch: scratch records for kinematics and algorithms.
        F_applied, F_work: for spatial forces, shape [num_mobods, 6].
        tau_applied, tau: for generalized forces, shape [num_v].
        no_gravity: zeros, shape [3].
        kp, kd: gains of STIFFNESS, shape [num_v].
        B_inverse: inverse of its actuation matrix, shape [num_v, num_v].
    """

    mode: int
    kinematics: Code
    force_elements: Code
    forces: Code
    topology: Topology
    parameters: Parameters
    gravity: Floats
    elements: Elements
    constants: Constants
    quaternions: Integers
    q: FloatsInContext
    v: FloatsInContext
    command: FloatsInContext
    result: FloatsInContext
    position: Positions
    velocity: Velocities
    scratch: Scratch
    F_applied: FloatTable
    F_work: FloatTable
    tau_applied: Floats
    tau: Floats
    no_gravity: Floats
    kp: Floats
    kd: Floats
    B_inverse: FloatTable


_record_at = record_at(ControllerRecord)


@device
def _is_state(c: Any) -> bool:
    """Whether the estimated state is finite, and no quaternion zero."""
    q, v, total = c.q, c.v, 0.0
    for k in range(q.shape[0]):
        total += q[k] * 0.0
    for k in range(v.shape[0]):
        total += v[k] * 0.0
    starts = c.quaternions
    for k in range(starts.shape[0]):
        size = 0.0
        for i in range(4):
            size += abs(q[starts[k] + i])
        if size == 0.0:
            return False
    return total == 0.0


@device
def _add_weights(c: Any) -> None:
    """F_Bo_W += [p_BoBcm_W x m g; m g] for all bodies on which gravity acts."""
    topology, position, F_applied, g = c.topology, c.position, c.F_applied, c.gravity
    for i in range(1, topology.shape[0]):
        if topology[i]["is_weightless"] == 0:
            mass, p = position[i]["mass"], position[i]["p_BoBcm_W"]
            x, y, z = mass * g[0], mass * g[1], mass * g[2]
            F_applied[i, 0] += p[1] * z - p[2] * y
            F_applied[i, 1] += p[2] * x - p[0] * z
            F_applied[i, 2] += p[0] * y - p[1] * x
            F_applied[i, 3] += x
            F_applied[i, 4] += y
            F_applied[i, 5] += z


@device
def _add_damping(c: Any) -> None:
    """tau -= damping v, joint by joint."""
    topology, parameters, tau, v = c.topology, c.parameters, c.tau_applied, c.v
    for i in range(1, topology.shape[0]):
        start = topology[i]["v_start"]
        for k in range(topology[i]["num_v"]):
            tau[start + k] -= parameters[i]["damping"][k] * v[start + k]


@device
def _find_applied_forces(c: Any) -> bool:
    """The forces of all force elements, gravity and damping included; returns whether they exist."""
    F_applied, tau = c.F_applied, c.tau_applied
    for i in range(F_applied.shape[0]):
        for k in range(6):
            F_applied[i, k] = 0.0
    for k in range(tau.shape[0]):
        tau[k] = 0.0
    _add_weights(c)
    count = c.elements.shape[0]
    if count > 0:
        motion, forces = (c.q, c.v, c.position, c.velocity), (tau, F_applied, tau, F_applied)
        if call_kernel(c.force_elements, (c.elements, c.constants, 0, count, *motion, *forces)) != 0:
            return False
    _add_damping(c)
    return True


@device
def _find_forces_for(c: Any) -> None:
    """Inverse dynamics: tau = M vd + C v - tau_app - J^T F_app."""
    known = c.topology, c.parameters, c.no_gravity, c.position, c.velocity, c.command, c.F_applied
    call_quiet_kernel(c.forces, (*known, c.scratch, c.tau))
    result, tau, applied = c.result, c.tau, c.tau_applied
    for k in range(tau.shape[0]):
        result[k] = tau[k] - applied[k]


@device
def _compensate_gravity(c: Any) -> None:
    call_quiet_kernel(c.forces, (c.topology, c.parameters, c.gravity, c.position, c.scratch, c.tau))
    result, tau = c.result, c.tau
    for k in range(tau.shape[0]):
        result[k] = -tau[k]


@device
def _stiffen(c: Any) -> None:
    """B^-1 (-J^T F_app - tau_app + kp (q_d - q) + kd (v_d - v))."""
    tau, applied, q, v, desired, num_v = c.tau, c.tau_applied, c.q, c.v, c.command, c.v.shape[0]
    kp, kd, B_inverse, result = c.kp, c.kd, c.B_inverse, c.result
    for k in range(num_v):
        tau[k] = 0.0
    call_quiet_kernel(c.forces, (c.topology, c.position, c.F_applied, c.F_work, tau))
    for k in range(num_v):
        spring = kp[k] * (desired[k] - q[k])
        damper = kd[k] * (desired[num_v + k] - v[k])
        tau[k] = -(tau[k] + applied[k]) + spring + damper
    for i in range(num_v):
        total = B_inverse[i, 0] * tau[0]
        for k in range(1, num_v):
            total += B_inverse[i, k] * tau[k]
        result[i] = total


def plant_controller(values: Any, numbers: Any, integers: Any) -> None:
    """The output of a controller; integers: address of its status, and a ControllerRecord."""
    c = _record_at(values, integers_at(place_at(integers, 1)))
    is_complete = _is_state(c)
    if is_complete:
        call_quiet_kernel(c.kinematics, (c.topology, c.parameters, c.q, c.v, c.position, c.velocity))
        if c.mode == GRAVITY_COMPENSATION:
            _compensate_gravity(c)
        elif not _find_applied_forces(c):
            is_complete = False
        elif c.mode == INVERSE_DYNAMICS:
            _find_forces_for(c)
        else:
            _stiffen(c)
    total, result = 0.0, c.result
    for k in range(result.shape[0]):
        total += result[k] * 0.0
    if not (is_complete and total == 0.0):
        integers_at(integers[0])[0] = FAILED


CONTROLLER = CompiledOperation(plant_controller)
