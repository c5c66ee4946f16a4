"""Controllers that know a plant, as an operation of the native plan (framework/native/operations.py).

The operation does what the callbacks in multibody/controllers do, with the same kernels in the same order, so to the
last bit. It finds in its list of integers, by the numbers below, sizes, addresses of kernels and arrays, and places in
the flat array of the Context of the controller. Where Python would raise an exception, it sets the integer at FAILURE.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.addresses import array_at, doubles, place_at
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import call_kernel, call_quiet_kernel, doubles_at, integers_at
from merganser.multibody.kernels import layout

__all__ = ["CONTROLLER", "NUM_FIELDS"]

# Modes.
INVERSE_DYNAMICS, GRAVITY_COMPENSATION, STIFFNESS = range(3)

_number = itertools.count()
FAILURE = next(_number)  # address
MODE = next(_number)
KINEMATICS = next(_number)  # addresses of kernels: kinematics,
FORCE_ELEMENTS = next(_number)  # force_elements, where there are any,
FORCES = next(_number)  # and, by mode: inverse_dynamics, gravity_forces, generalized_forces
NUM_MOBODS = next(_number)
NUM_PARAMETERS = next(_number)  # records, those of path segments included
NUM_Q = next(_number)
NUM_V = next(_number)
STATE = next(_number)  # places: of the estimated state,
COMMAND = next(_number)  # of the desired acceleration or state,
RESULT = next(_number)  # and of the result
TOPOLOGY = next(_number)  # addresses of arrays of the plant
PARAMETERS = next(_number)
GRAVITY = next(_number)
NUM_ELEMENTS = next(_number)
ELEMENTS = next(_number)
CONSTANTS = next(_number)
NUM_QUATERNIONS = next(_number)
QUATERNIONS = next(_number)  # where they start in q
POSITION = next(_number)  # addresses of room: for kinematics and algorithms,
VELOCITY = next(_number)
SCRATCH = next(_number)
F_APPLIED = next(_number)  # for spatial forces, shape [num_mobods, 6], twice
F_WORK = next(_number)
TAU_APPLIED = next(_number)  # for generalized forces, shape [num_v], twice
TAU = next(_number)
NO_GRAVITY = next(_number)  # address of zeros, shape [3]
KP = next(_number)  # places among the constants, shape [num_v], only for the mode STIFFNESS
KD = next(_number)
B_INVERSE = next(_number)  # by rows
NUM_FIELDS = next(_number)

_TOPOLOGY = layout.topology_dtype
_PARAMETERS = layout.parameter_dtype()
_POSITION = layout.position_dtype()
_VELOCITY = layout.velocity_dtype()
_SCRATCH = layout.scratch_dtype()
_ELEMENTS = layout.element_dtype
_CONSTANTS = layout.constant_dtype()
_FLOAT = np.dtype(np.float64)


@device
def _forces(f: Any, field: int) -> Any:
    return array_at(f[field], (f[NUM_MOBODS], 6), _FLOAT)


@device
def _model(f: Any) -> Any:
    """Topology and parameters, which come first for most kernels."""
    parameters = array_at(f[PARAMETERS], (f[NUM_PARAMETERS],), _PARAMETERS)
    return array_at(f[TOPOLOGY], (f[NUM_MOBODS],), _TOPOLOGY), parameters


@device
def _is_state(values: Any, f: Any) -> bool:
    """Whether the estimated state is finite, and no quaternion zero."""
    x, total = f[STATE], 0.0
    for k in range(f[NUM_Q] + f[NUM_V]):
        total += values[x + k] * 0.0
    starts = integers_at(f[QUATERNIONS])
    for k in range(f[NUM_QUATERNIONS]):
        size = 0.0
        for i in range(4):
            size += abs(values[x + starts[k] + i])
        if size == 0.0:
            return False
    return total == 0.0


@device
def _add_weights(f: Any) -> None:
    """F_Bo_W += [p_BoBcm_W x m g; m g] for all bodies on which gravity acts."""
    n = f[NUM_MOBODS]
    topology = array_at(f[TOPOLOGY], (n,), _TOPOLOGY)
    position = array_at(f[POSITION], (n,), _POSITION)
    F_applied, g = _forces(f, F_APPLIED), doubles_at(f[GRAVITY])
    for i in range(1, n):
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
def _add_damping(values: Any, f: Any) -> None:
    """tau -= damping v, joint by joint."""
    topology, parameters = _model(f)
    tau, v = doubles_at(f[TAU_APPLIED]), f[STATE] + f[NUM_Q]
    for i in range(1, f[NUM_MOBODS]):
        start = topology[i]["v_start"]
        for k in range(topology[i]["num_v"]):
            tau[start + k] -= parameters[i]["damping"][k] * values[v + start + k]


@device
def _find_applied_forces(values: Any, f: Any) -> bool:
    """The forces of all force elements, gravity and damping included; returns whether they exist."""
    n, num_v = f[NUM_MOBODS], f[NUM_V]
    F_applied, tau = _forces(f, F_APPLIED), doubles(f[TAU_APPLIED], num_v)
    for i in range(n):
        for k in range(6):
            F_applied[i, k] = 0.0
    for k in range(num_v):
        tau[k] = 0.0
    _add_weights(f)
    count = f[NUM_ELEMENTS]
    if count > 0:
        q = doubles(place_at(values, f[STATE]), f[NUM_Q])
        v = doubles(place_at(values, f[STATE] + f[NUM_Q]), num_v)
        motion = array_at(f[POSITION], (n,), _POSITION), array_at(f[VELOCITY], (n,), _VELOCITY)
        elements = array_at(f[ELEMENTS], (count,), _ELEMENTS)
        constants = array_at(f[CONSTANTS], (count,), _CONSTANTS)
        forces = (tau, F_applied, tau, F_applied)
        if call_kernel(f[FORCE_ELEMENTS], (elements, constants, 0, count, q, v, *motion, *forces)) != 0:
            return False
    _add_damping(values, f)
    return True


@device
def _find_forces_for(values: Any, f: Any) -> None:
    """Inverse dynamics: tau = M vd + C v - tau_app - J^T F_app."""
    n, num_v = f[NUM_MOBODS], f[NUM_V]
    records = array_at(f[POSITION], (n,), _POSITION), array_at(f[VELOCITY], (n,), _VELOCITY)
    vdot = doubles(place_at(values, f[COMMAND]), num_v)
    scratch, tau = array_at(f[SCRATCH], (n,), _SCRATCH), doubles(f[TAU], num_v)
    known = (*_model(f), doubles(f[NO_GRAVITY], 3), *records, vdot, _forces(f, F_APPLIED))
    call_quiet_kernel(f[FORCES], (*known, scratch, tau))
    applied = doubles_at(f[TAU_APPLIED])
    for k in range(num_v):
        values[f[RESULT] + k] = tau[k] - applied[k]


@device
def _compensate_gravity(values: Any, f: Any) -> None:
    n, num_v = f[NUM_MOBODS], f[NUM_V]
    position, scratch = array_at(f[POSITION], (n,), _POSITION), array_at(f[SCRATCH], (n,), _SCRATCH)
    tau = doubles(f[TAU], num_v)
    call_quiet_kernel(f[FORCES], (*_model(f), doubles(f[GRAVITY], 3), position, scratch, tau))
    for k in range(num_v):
        values[f[RESULT] + k] = -tau[k]


@device
def _stiffen(values: Any, numbers: Any, f: Any) -> None:
    """B^-1 (-J^T F_app - tau_app + kp (q_d - q) + kd (v_d - v))."""
    n, num_v = f[NUM_MOBODS], f[NUM_V]
    topology = array_at(f[TOPOLOGY], (n,), _TOPOLOGY)
    position, tau = array_at(f[POSITION], (n,), _POSITION), doubles(f[TAU], num_v)
    for k in range(num_v):
        tau[k] = 0.0
    call_quiet_kernel(f[FORCES], (topology, position, _forces(f, F_APPLIED), _forces(f, F_WORK), tau))
    applied, x, desired = doubles_at(f[TAU_APPLIED]), f[STATE], f[COMMAND]
    for k in range(num_v):
        spring = numbers[f[KP] + k] * (values[desired + k] - values[x + k])
        damper = numbers[f[KD] + k] * (values[desired + num_v + k] - values[x + num_v + k])
        tau[k] = -(tau[k] + applied[k]) + spring + damper
    for i in range(num_v):
        row = f[B_INVERSE] + num_v * i
        total = numbers[row] * tau[0]
        for k in range(1, num_v):
            total += numbers[row + k] * tau[k]
        values[f[RESULT] + i] = total


def plant_controller(values: Any, numbers: Any, f: Any) -> None:
    """The output of a controller; integers: see above."""
    is_complete = _is_state(values, f)
    if is_complete:
        n = f[NUM_MOBODS]
        q = doubles(place_at(values, f[STATE]), f[NUM_Q])
        v = doubles(place_at(values, f[STATE] + f[NUM_Q]), f[NUM_V])
        records = array_at(f[POSITION], (n,), _POSITION), array_at(f[VELOCITY], (n,), _VELOCITY)
        call_quiet_kernel(f[KINEMATICS], (*_model(f), q, v, *records))
        if f[MODE] == GRAVITY_COMPENSATION:
            _compensate_gravity(values, f)
        elif not _find_applied_forces(values, f):
            is_complete = False
        elif f[MODE] == INVERSE_DYNAMICS:
            _find_forces_for(values, f)
        else:
            _stiffen(values, numbers, f)
    total = 0.0
    for k in range(f[NUM_V]):
        total += values[f[RESULT] + k] * 0.0
    if not (is_complete and total == 0.0):
        integers_at(f[FAILURE])[0] = 1


CONTROLLER = CompiledOperation(plant_controller)
