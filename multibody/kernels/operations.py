"""The plant as operations of the native plan (framework/native/operations.py): state derivatives and discrete steps.

They do what `MultibodyPlant._advance` does, with the same kernels in the same order, so to the last bit. An operation
finds in its list of integers, by the numbers below, sizes, addresses of kernels and arrays, and places in the flat
array of the Context. Where Python would raise an exception, it sets the integer at FAILURE to 1 and its result to nan.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from merganser.framework.native import device
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import call_kernel, call_quiet_kernel, doubles_at, integers_at
from merganser.multibody.contact.plant_layout import limit_dtype
from merganser.multibody.kernels import layout

__all__ = ["DERIVATIVES", "GATHER", "NUM_FIELDS", "STEP"]

SMALLEST_COSINE = 1e-3  # of a pitch angle

_number = itertools.count()
FAILURE = next(_number)  # address
DYNAMICS = next(_number)  # addresses of kernels: state_derivatives, or discrete_step
KINEMATICS = next(_number)  # kinematics, where there are force elements
FORCE_ELEMENTS = next(_number)  # force_elements, the same
FIND_LIMITS = next(_number)  # find_limits, or in continuous time limit_forces, where joints have limits
NUM_MOBODS = next(_number)
NUM_PARAMETERS = next(_number)  # records, those of path segments included
NUM_Q = next(_number)
NUM_V = next(_number)
STATE = next(_number)  # place of x
RESULT = next(_number)  # place of xdot, or of the next x
TIME_STEP = next(_number)  # place among the constants
PARAMETERS = next(_number)  # place
GRAVITY = next(_number)  # place
TOPOLOGY = next(_number)  # from here on addresses
POSITION = next(_number)
VELOCITY = next(_number)
SCRATCH = next(_number)
TAU = next(_number)
F_APPLIED = next(_number)  # shape [num_mobods, 6], kept at zero where there are no force elements
NUM_PITCHES = next(_number)
PITCHES = next(_number)  # which positions are pitch angles
NUM_ELEMENTS = next(_number)
ELEMENTS = next(_number)
CONSTANTS = next(_number)  # place
NUM_INPUTS = next(_number)  # of actuation u
DRIVEN = next(_number)  # the velocity that each drives
LIMITS = next(_number)  # effort limits
U = next(_number)  # what the actuators exert
APPLIED = next(_number)  # place of generalized forces, or -1
NUM_LIMITS = next(_number)  # of joints
JOINT_LIMITS = next(_number)
LIMIT_STIFFNESS = next(_number)  # of each limit, in continuous time
LIMIT_DISSIPATION = next(_number)
SAMPLE = next(_number)  # where a copy of the last x and result goes, or 0
COUNT = next(_number)  # how many samples there were
NUM_SOURCES = next(_number)  # of actuation; then for each: number of inputs, address of which they are, place
NUM_FIELDS = next(_number)

_TOPOLOGY = layout.topology_dtype
_PARAMETERS = layout.parameter_dtype()
_POSITION = layout.position_dtype()
_VELOCITY = layout.velocity_dtype()
_SCRATCH = layout.scratch_dtype()
_ELEMENTS = layout.element_dtype
_CONSTANTS = layout.constant_dtype()
_LIMITS = limit_dtype


_FLOAT = np.dtype(np.float64)


def _at(typingctx: Any, address: Any) -> Any:
    """What stands at an address, as `carray` takes it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


def _place(typingctx: Any, values: Any, place: Any) -> Any:
    """The address of a place in the flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(arguments[0], [arguments[1]])
        return builder.ptrtoint(pointer, context.get_value_type(types.int64))

    return types.int64(types.CPointer(types.float64), types.int64), generate


at: Any = intrinsic(_at)
address_of_place: Any = intrinsic(_place)


@device
def _doubles(address: int, size: int) -> Any:
    return carray(at(address), (size,), _FLOAT)


@device
def _read_actuation(values: Any, f: Any) -> None:
    """u: what comes through the port of the plant and those of the model instances, within the effort limits."""
    u, limits = doubles_at(f[U]), doubles_at(f[LIMITS])
    for k in range(f[NUM_INPUTS]):
        u[k] = 0.0
    at_source = NUM_FIELDS
    for _ in range(f[NUM_SOURCES]):
        inputs, place = integers_at(f[at_source + 1]), f[at_source + 2]
        for k in range(f[at_source]):
            u[inputs[k]] += values[place + k]
        at_source += 3
    for k in range(f[NUM_INPUTS]):
        u[k] = min(max(u[k], -limits[k]), limits[k])


@device
def _gather_forces(values: Any, f: Any) -> bool:
    """tau = B u + applied; returns whether it is finite."""
    _read_actuation(values, f)
    tau, u, driven = doubles_at(f[TAU]), doubles_at(f[U]), integers_at(f[DRIVEN])
    for k in range(f[NUM_V]):
        tau[k] = 0.0
    for k in range(f[NUM_INPUTS]):
        tau[driven[k]] += u[k]
    if f[APPLIED] >= 0:
        for k in range(f[NUM_V]):
            tau[k] += values[f[APPLIED] + k]
    total = 0.0
    for k in range(f[NUM_V]):
        total += tau[k] * 0.0
    return total == 0.0


@device
def _has_singular_pitch(values: Any, f: Any) -> bool:
    pitches = integers_at(f[PITCHES])
    is_singular = False
    for n in range(f[NUM_PITCHES]):
        is_singular = is_singular or abs(math.cos(values[f[STATE] + pitches[n]])) < SMALLEST_COSINE
    return is_singular


@device
def _add_element_forces(values: Any, f: Any) -> int:
    """Forces of springs and their like into tau and F_applied; returns the number of an element that has none, or 0."""
    n = f[NUM_MOBODS]
    q = _doubles(address_of_place(values, f[STATE]), f[NUM_Q])
    v = _doubles(address_of_place(values, f[STATE] + f[NUM_Q]), f[NUM_V])
    tau, F_applied = _doubles(f[TAU], f[NUM_V]), carray(at(f[F_APPLIED]), (n, 6), _FLOAT)
    position, velocity = carray(at(f[POSITION]), (n,), _POSITION), carray(at(f[VELOCITY]), (n,), _VELOCITY)
    parameters = carray(at(address_of_place(values, f[PARAMETERS])), (f[NUM_PARAMETERS],), _PARAMETERS)
    topology = carray(at(f[TOPOLOGY]), (n,), _TOPOLOGY)
    call_quiet_kernel(f[KINEMATICS], (topology, parameters, q, v, position, velocity))
    for i in range(n):
        for k in range(6):
            F_applied[i, k] = 0.0
    elements = carray(at(f[ELEMENTS]), (f[NUM_ELEMENTS],), _ELEMENTS)
    constants = carray(at(address_of_place(values, f[CONSTANTS])), (f[NUM_ELEMENTS],), _CONSTANTS)
    forces = (tau, F_applied, tau, F_applied)
    every = (elements, constants, 0, f[NUM_ELEMENTS], q, v, position, velocity, *forces)
    status: int = call_kernel(f[FORCE_ELEMENTS], every)
    return status


@device
def _conclude(values: Any, f: Any, status: int) -> bool:
    """Says so if there is no finite result; returns whether there is."""
    size, result = f[NUM_Q] + f[NUM_V], f[RESULT]
    total = 0.0 if status == 0 else math.nan
    for k in range(size):
        total += values[result + k] * 0.0
    if total == 0.0:
        return True
    for k in range(size):
        values[result + k] = math.nan
    integers_at(f[FAILURE])[0] = 1
    return False


@device
def _prepare(values: Any, f: Any) -> int:
    """Everything before the dynamics; returns 0, or something else if there are none."""
    if _has_singular_pitch(values, f) or not _gather_forces(values, f):
        return -1
    return _add_element_forces(values, f) if f[NUM_ELEMENTS] > 0 else 0


@device
def _add_limit_forces(values: Any, f: Any) -> None:
    """The forces of joint limits in continuous time, into tau."""
    n = f[NUM_LIMITS]
    if n > 0:
        q = _doubles(address_of_place(values, f[STATE]), f[NUM_Q])
        v = _doubles(address_of_place(values, f[STATE] + f[NUM_Q]), f[NUM_V])
        limits = carray(at(f[JOINT_LIMITS]), (n,), _LIMITS)
        springs = _doubles(f[LIMIT_STIFFNESS], n), _doubles(f[LIMIT_DISSIPATION], n)
        call_kernel(f[FIND_LIMITS], (limits, *springs, q, v, _doubles(f[TAU], f[NUM_V])))


@device
def _reaches_limit(values: Any, numbers: Any, f: Any) -> bool:
    """Whether a step has to hold a joint at its limit, which is left to Python."""
    n = f[NUM_LIMITS]
    if n == 0:
        return False
    q = _doubles(address_of_place(values, f[STATE]), f[NUM_Q])
    v = _doubles(address_of_place(values, f[STATE] + f[NUM_Q]), f[NUM_V])
    v_next = _doubles(address_of_place(values, f[RESULT] + f[NUM_Q]), f[NUM_V])
    limits = carray(at(f[JOINT_LIMITS]), (n,), _LIMITS)
    count: int = call_kernel(f[FIND_LIMITS], (limits, numbers[f[TIME_STEP]], q, v, v_next))
    return count > 0


@device
def _model(values: Any, f: Any) -> Any:
    """The first arguments of the dynamics: topology, parameters and gravity."""
    return (
        carray(at(f[TOPOLOGY]), (f[NUM_MOBODS],), _TOPOLOGY),
        carray(at(address_of_place(values, f[PARAMETERS])), (f[NUM_PARAMETERS],), _PARAMETERS),
        _doubles(address_of_place(values, f[GRAVITY]), 3),
    )


@device
def _motion(values: Any, f: Any) -> Any:
    """The last ones: the state, forces, room for work and the result."""
    n, size = f[NUM_MOBODS], f[NUM_Q] + f[NUM_V]
    return (
        _doubles(address_of_place(values, f[STATE]), size),
        _doubles(f[TAU], f[NUM_V]),
        carray(at(f[F_APPLIED]), (n, 6), _FLOAT),
        carray(at(f[POSITION]), (n,), _POSITION),
        carray(at(f[VELOCITY]), (n,), _VELOCITY),
        carray(at(f[SCRATCH]), (n,), _SCRATCH),
        _doubles(address_of_place(values, f[RESULT]), size),
    )


def plant_derivatives(values: Any, numbers: Any, f: Any) -> None:
    """xdot of a continuous plant; integers: see above."""
    status = _prepare(values, f)
    if status == 0:
        _add_limit_forces(values, f)
        status = call_kernel(f[DYNAMICS], (*_model(values, f), *_motion(values, f)))
    _conclude(values, f, status)


def plant_step(values: Any, numbers: Any, f: Any) -> None:
    """The next state of a discrete plant, and a sample of its dynamics; integers: see above."""
    status, size = _prepare(values, f), f[NUM_Q] + f[NUM_V]
    if status == 0:
        status = call_kernel(f[DYNAMICS], (*_model(values, f), numbers[f[TIME_STEP]], *_motion(values, f)))
    if status == 0 and _reaches_limit(values, numbers, f):
        status = -1
    if _conclude(values, f, status) and f[SAMPLE] != 0:
        sample = doubles_at(f[SAMPLE])
        for k in range(size):
            sample[k] = values[f[STATE] + k]
            sample[size + k] = values[f[RESULT] + k]
        integers_at(f[COUNT])[0] += 1


def gather(values: Any, numbers: Any, integers: Any) -> None:
    """y[i] = u[index[i]]; integers: n, address of index, u, y."""
    index, u, y = integers_at(integers[1]), integers[2], integers[3]
    for i in range(integers[0]):
        values[y + i] = values[u + index[i]]


DERIVATIVES = CompiledOperation(plant_derivatives)
STEP = CompiledOperation(plant_step)
GATHER = CompiledOperation(gather)
