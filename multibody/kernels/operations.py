"""The plant as operations of the native plan (framework/native/operations.py): state derivatives and discrete steps.

They do what `MultibodyPlant._advance` does, with the same kernels in the same order, so to the last bit. An operation
finds in its list of integers, by the numbers of operation_fields.py, sizes, addresses of kernels and arrays, and places
in the flat array of the Context. Where Python would raise an exception, it sets the integer at FAILURE to 1 and its
result to nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.addresses import array_at, doubles, place_at
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import call_kernel, call_quiet_kernel, doubles_at, integers_at
from merganser.multibody.contact.plant_layout import limit_dtype
from merganser.multibody.kernels import layout
from merganser.multibody.kernels import operation_fields as o

__all__ = [
    "DERIVATIVES",
    "GATHER",
    "STEP",
    "add_element_forces",
    "conclude",
    "count_limits",
    "has_singular_pitch",
    "model",
    "motion",
    "read_actuation",
    "spread_forces",
    "take_sample",
]

SMALLEST_COSINE = 1e-3  # of a pitch angle

_TOPOLOGY = layout.topology_dtype
_PARAMETERS = layout.parameter_dtype()
_POSITION = layout.position_dtype()
_VELOCITY = layout.velocity_dtype()
_SCRATCH = layout.scratch_dtype()
_ELEMENTS = layout.element_dtype
_CONSTANTS = layout.constant_dtype()
_LIMITS = limit_dtype


_FLOAT = np.dtype(np.float64)


@device
def read_actuation(values: Any, f: Any, u: Any) -> None:
    """u: what comes through the port of the plant and those of the model instances."""
    for k in range(f[o.NUM_INPUTS]):
        u[k] = 0.0
    at_source = o.NUM_FIELDS
    for _ in range(f[o.NUM_SOURCES]):
        inputs, place = integers_at(f[at_source + 1]), f[at_source + 2]
        for k in range(f[at_source]):
            u[inputs[k]] += values[place + k]
        at_source += 3


@device
def spread_forces(values: Any, f: Any) -> bool:
    """tau = B u + applied, with u within the effort limits; returns whether it is finite."""
    tau, u, limits, driven = doubles_at(f[o.TAU]), doubles_at(f[o.U]), doubles_at(f[o.LIMITS]), integers_at(f[o.DRIVEN])
    for k in range(f[o.NUM_V]):
        tau[k] = 0.0
    for k in range(f[o.NUM_INPUTS]):
        u[k] = min(max(u[k], -limits[k]), limits[k])
        tau[driven[k]] += u[k]
    if f[o.APPLIED] >= 0:
        for k in range(f[o.NUM_V]):
            tau[k] += values[f[o.APPLIED] + k]
    total = 0.0
    for k in range(f[o.NUM_V]):
        total += tau[k] * 0.0
    return total == 0.0


@device
def has_singular_pitch(values: Any, f: Any) -> bool:
    pitches = integers_at(f[o.PITCHES])
    is_singular = False
    for n in range(f[o.NUM_PITCHES]):
        is_singular = is_singular or abs(math.cos(values[f[o.STATE] + pitches[n]])) < SMALLEST_COSINE
    return is_singular


@device
def add_element_forces(values: Any, f: Any) -> int:
    """Forces of springs and their like into tau and F_applied; returns the number of an element that has none, or 0."""
    n = f[o.NUM_MOBODS]
    q = doubles(place_at(values, f[o.STATE]), f[o.NUM_Q])
    v = doubles(place_at(values, f[o.STATE] + f[o.NUM_Q]), f[o.NUM_V])
    tau, F_applied = doubles(f[o.TAU], f[o.NUM_V]), array_at(f[o.F_APPLIED], (n, 6), _FLOAT)
    position, velocity = array_at(f[o.POSITION], (n,), _POSITION), array_at(f[o.VELOCITY], (n,), _VELOCITY)
    parameters = array_at(place_at(values, f[o.PARAMETERS]), (f[o.NUM_PARAMETERS],), _PARAMETERS)
    topology = array_at(f[o.TOPOLOGY], (n,), _TOPOLOGY)
    call_quiet_kernel(f[o.KINEMATICS], (topology, parameters, q, v, position, velocity))
    for i in range(n):
        for k in range(6):
            F_applied[i, k] = 0.0
    elements = array_at(f[o.ELEMENTS], (f[o.NUM_ELEMENTS],), _ELEMENTS)
    constants = array_at(place_at(values, f[o.CONSTANTS]), (f[o.NUM_ELEMENTS],), _CONSTANTS)
    forces = (tau, F_applied, tau, F_applied)
    every = (elements, constants, 0, f[o.NUM_ELEMENTS], q, v, position, velocity, *forces)
    status: int = call_kernel(f[o.FORCE_ELEMENTS], every)
    return status


@device
def conclude(values: Any, f: Any, status: int) -> bool:
    """Says so if there is no finite result; returns whether there is."""
    size, result = f[o.NUM_Q] + f[o.NUM_V], f[o.RESULT]
    total = 0.0 if status == 0 else math.nan
    for k in range(size):
        total += values[result + k] * 0.0
    if total == 0.0:
        return True
    for k in range(size):
        values[result + k] = math.nan
    integers_at(f[o.FAILURE])[0] = 1
    return False


@device
def _prepare(values: Any, f: Any) -> int:
    """Everything before the dynamics; returns 0, or something else if there are none."""
    read_actuation(values, f, doubles_at(f[o.U]))
    if has_singular_pitch(values, f) or not spread_forces(values, f):
        return -1
    return add_element_forces(values, f) if f[o.NUM_ELEMENTS] > 0 else 0


@device
def _add_limit_forces(values: Any, f: Any) -> None:
    """The forces of joint limits in continuous time, into tau."""
    n = f[o.NUM_LIMITS]
    if n > 0:
        q = doubles(place_at(values, f[o.STATE]), f[o.NUM_Q])
        v = doubles(place_at(values, f[o.STATE] + f[o.NUM_Q]), f[o.NUM_V])
        limits = array_at(f[o.JOINT_LIMITS], (n,), _LIMITS)
        springs = doubles(f[o.LIMIT_STIFFNESS], n), doubles(f[o.LIMIT_DISSIPATION], n)
        call_kernel(f[o.FIND_LIMITS], (limits, *springs, q, v, doubles(f[o.TAU], f[o.NUM_V])))


@device
def count_limits(values: Any, numbers: Any, f: Any) -> int:
    """How many joints a step has to hold at their limits."""
    n = f[o.NUM_LIMITS]
    if n == 0:
        return 0
    q = doubles(place_at(values, f[o.STATE]), f[o.NUM_Q])
    v = doubles(place_at(values, f[o.STATE] + f[o.NUM_Q]), f[o.NUM_V])
    v_next = doubles(place_at(values, f[o.RESULT] + f[o.NUM_Q]), f[o.NUM_V])
    limits = array_at(f[o.JOINT_LIMITS], (n,), _LIMITS)
    count: int = call_kernel(f[o.FIND_LIMITS], (limits, numbers[f[o.TIME_STEP]], q, v, v_next))
    return count


@device
def model(values: Any, f: Any) -> Any:
    """The first arguments of the dynamics: topology, parameters and gravity."""
    return (
        array_at(f[o.TOPOLOGY], (f[o.NUM_MOBODS],), _TOPOLOGY),
        array_at(place_at(values, f[o.PARAMETERS]), (f[o.NUM_PARAMETERS],), _PARAMETERS),
        doubles(place_at(values, f[o.GRAVITY]), 3),
    )


@device
def motion(values: Any, f: Any) -> Any:
    """The last ones: the state, forces, room for work and the result."""
    n, size = f[o.NUM_MOBODS], f[o.NUM_Q] + f[o.NUM_V]
    return (
        doubles(place_at(values, f[o.STATE]), size),
        doubles(f[o.TAU], f[o.NUM_V]),
        array_at(f[o.F_APPLIED], (n, 6), _FLOAT),
        array_at(f[o.POSITION], (n,), _POSITION),
        array_at(f[o.VELOCITY], (n,), _VELOCITY),
        array_at(f[o.SCRATCH], (n,), _SCRATCH),
        doubles(place_at(values, f[o.RESULT]), size),
    )


@device
def take_sample(values: Any, f: Any) -> None:
    """Keeps a copy of the state before and after the step, and of the forces applied in it, where that is wanted."""
    if f[o.SAMPLE] != 0:
        sample, size, u = doubles_at(f[o.SAMPLE]), f[o.NUM_Q] + f[o.NUM_V], doubles_at(f[o.U])
        for k in range(size):
            sample[k] = values[f[o.STATE] + k]
            sample[size + k] = values[f[o.RESULT] + k]
        for k in range(f[o.NUM_INPUTS]):
            sample[2 * size + k] = u[k]
        if f[o.NUM_ELEMENTS] > 0:
            first, F_applied = 2 * size + f[o.NUM_INPUTS], doubles_at(f[o.F_APPLIED])
            for k in range(6 * f[o.NUM_MOBODS]):
                sample[first + k] = F_applied[k]
        integers_at(f[o.COUNT])[0] += 1


def plant_derivatives(values: Any, numbers: Any, f: Any) -> None:
    """xdot of a continuous plant; integers: see above."""
    status = _prepare(values, f)
    if status == 0:
        _add_limit_forces(values, f)
        status = call_kernel(f[o.DYNAMICS], (*model(values, f), *motion(values, f)))
    conclude(values, f, status)


def plant_step(values: Any, numbers: Any, f: Any) -> None:
    """The next state of a discrete plant, and a sample of its dynamics; integers: see above."""
    status = _prepare(values, f)
    if status == 0:
        status = call_kernel(f[o.DYNAMICS], (*model(values, f), numbers[f[o.TIME_STEP]], *motion(values, f)))
    if status == 0 and count_limits(values, numbers, f) > 0:
        status = -1  # that is left to Python
    if conclude(values, f, status):
        take_sample(values, f)


def gather(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[index[i]]; integers: n, address of index, u, y."""
    index, u, y = integers_at(integers[1]), integers[2], integers[3]
    for i in range(integers[0]):
        values[y + i] = values[u + index[i]]


DERIVATIVES = CompiledOperation(plant_derivatives)
STEP = CompiledOperation(plant_step)
GATHER = CompiledOperation(gather)
