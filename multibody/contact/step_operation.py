"""The step of a discrete plant with PD controllers, contact, joint limits and constraints, as an operation of the plan.

It does what `MultibodyPlant._advance` does, with the same kernels in the same order, so to the last bit; what stands
where in its list of integers is told in kernels/operation_fields.py. The kernels are called by their addresses: they
are compiled already, as Python calls them too. Steps that are out of the ordinary fail here and are left to Python,
among them those for which arrays are too small: `LACK` says what is lacking.

Arrays of which samples are made there are twice, and steps write to those that do not hold the last one that has
succeeded: so that outlasts any step that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.addresses import array_at, doubles, place_at
from merganser.framework.native.operations import CompiledOperation
from merganser.framework.native.tape import (
    call_asking_kernel,
    call_kernel,
    call_quiet_kernel,
    doubles_at,
    integers_at,
)
from merganser.geometry.proximity.layout import Hulls, contact_dtype, geometry_dtype, work_dtype
from merganser.multibody.contact.layout import (
    CONVERGED,
    NO_CAPACITY,
    constraint_dtype,
    result_dtype,
    row_dtype,
    settings_dtype,
    tree_dtype,
)
from merganser.multibody.contact.plant_forces import calc_generalized_contact_forces
from merganser.multibody.contact.plant_layout import (
    drive_dtype,
    limit_dtype,
    link_dtype,
    material_dtype,
)
from merganser.multibody.kernels import layout
from merganser.multibody.kernels import operation_fields as o
from merganser.multibody.kernels.drives import (
    ERROR,
    FEEDFORWARD,
    NUM_DRIVE_NUMBERS,
    NUM_DRIVE_VALUES,
    NUM_WORK_VALUES,
    VELOCITY_TARGET,
)
from merganser.multibody.kernels.operations import (
    add_element_forces,
    conclude,
    count_limits,
    has_singular_pitch,
    model,
    motion,
    read_actuation,
    spread_forces,
    take_sample,
)

__all__ = ["CONTACT_FORCES", "HELD_STEP", "NOTHING_HELD"]

NOTHING_HELD = -1
_FAILED = -1

_PARAMETERS, _POSITION, _SCRATCH = layout.parameter_dtype(), layout.position_dtype(), layout.scratch_dtype()
_GEOMETRY, _CONTACT, _PROXIMITY_WORK = geometry_dtype, contact_dtype, work_dtype
_TREE, _MATERIAL, _LIMIT, _LINK, _DRIVE = tree_dtype, material_dtype, limit_dtype, link_dtype, drive_dtype
_SETTINGS, _CONSTRAINT, _ROW, _RESULT = settings_dtype, constraint_dtype, row_dtype, result_dtype
_FLOAT, _INTEGER, _BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


@device
def _integers(address: int, size: int) -> Any:
    return array_at(address, (size,), _INTEGER)


@device
def _table(address: int, num_rows: int, num_columns: int) -> Any:
    return array_at(address, (num_rows, num_columns), _FLOAT)


# ---------------------------------------------------------------------- controllers


@device
def _control(values: Any, f: Any) -> bool:
    """Feedforward and desired states into u and the values of the drives; returns whether all of it is usual."""
    n, num_u = f[o.NUM_CONTROLLERS], f[o.NUM_INPUTS]
    read_actuation(values, f, doubles_at(f[o.FEEDFORWARD]))
    desired = _table(f[o.DESIRED], 2, num_u)
    source, is_usual = o.NUM_FIELDS + 3 * f[o.NUM_SOURCES], True
    for _ in range(f[o.NUM_DESIRED_SOURCES]):
        size, inputs, place = f[source], f[source + 1], f[source + 2]
        given = doubles(place_at(values, place), 2 * size)
        is_usual = call_asking_kernel(f[o.PUT_DESIRED_STATE], (_integers(inputs, size), given, desired)) and is_usual
        source += 3
    controllers = _integers(f[o.CONTROLLED_INPUTS], n), _integers(f[o.CONTROLLED_POSITIONS], n)
    gains = doubles(f[o.PROPORTIONAL_GAINS], n), doubles(f[o.DERIVATIVE_GAINS], n)
    parameters = array_at(place_at(values, f[o.PARAMETERS]), (f[o.NUM_PARAMETERS],), _PARAMETERS)
    state = parameters, doubles(place_at(values, f[o.STATE]), f[o.NUM_Q])
    given_and_made = doubles(f[o.FEEDFORWARD], num_u), desired, doubles(f[o.U], num_u)
    mobods, limits = _integers(f[o.ACTUATED_MOBODS], num_u), doubles(f[o.LIMITS], num_u)
    drives = _table(f[o.DRIVE_VALUES], n, NUM_DRIVE_VALUES)
    every = (mobods, limits, *controllers, *gains, *state, *given_and_made, drives)
    return call_asking_kernel(f[o.CONTROL], every) and is_usual


@device
def _controlled_step(values: Any, numbers: Any, f: Any) -> int:
    """The step with controllers alone."""
    n = f[o.NUM_CONTROLLERS]
    x, tau, F_applied, position, velocity, scratch, result = motion(values, f)
    drives = (
        array_at(f[o.DRIVE_NUMBERS], (n, NUM_DRIVE_NUMBERS), _INTEGER),
        _table(f[o.DRIVE_VALUES], n, NUM_DRIVE_VALUES),
    )
    work = _table(f[o.DRIVE_WORK], n, NUM_WORK_VALUES), doubles(f[o.DRIVE_EFFORT], n)
    given = x, tau, F_applied, *drives, position, velocity, scratch
    every = (*model(values, f), numbers[f[o.TIME_STEP]], *given, *work, result)
    status: int = call_kernel(f[o.CONTROLLED_STEP], every)
    u, inputs, effort = doubles_at(f[o.U]), integers_at(f[o.CONTROLLED_INPUTS]), doubles_at(f[o.DRIVE_EFFORT])
    for k in range(n):
        u[inputs[k]] = effort[k]
    return status


# ---------------------------------------------------------------------- geometry


@device
def _hull_doubles(f: Any, number: int, columns: int) -> Any:
    return _table(f[o.HULLS + 2 * number + 1], f[o.HULLS + 2 * number], columns)


@device
def _hull_integers(f: Any, number: int) -> Any:
    return _integers(f[o.HULLS + 2 * number + 1], f[o.HULLS + 2 * number])


@device
def _hulls(f: Any) -> Any:
    edges = array_at(f[o.HULLS + 13], (f[o.HULLS + 12], 4), _INTEGER)
    return Hulls(
        _hull_doubles(f, 0, 3), _hull_integers(f, 1), _hull_integers(f, 2), _hull_doubles(f, 3, 4),
        _hull_integers(f, 4), _hull_integers(f, 5), edges,
    )  # fmt: skip


@device
def _find_candidates(f: Any) -> int:
    """How many pairs may meet; their poses are computed first; negative if there is no answer."""
    n, size = f[o.NUM_GEOMETRIES], f[o.FILTER_SIZE]
    X_WG, X_BG = array_at(f[o.X_WG], (n, 4, 4), _FLOAT), array_at(f[o.X_BG], (n, 4, 4), _FLOAT)
    position = array_at(f[o.POSITION], (f[o.NUM_MOBODS],), _POSITION)
    if not call_asking_kernel(f[o.GEOMETRY_POSES], (_integers(f[o.GEOMETRY_MOBODS], n), X_BG, position, X_WG)):
        return _FAILED
    geometries = array_at(f[o.GEOMETRIES], (n,), _GEOMETRY)
    filtered = array_at(f[o.FILTERED], (size, size), _BOOL)
    work = _table(f[o.BOXES], n, 6), _integers(f[o.GRID], f[o.GRID_SIZE])
    pairs = array_at(f[o.PAIRS], (f[o.PAIR_CAPACITY], 2), _INTEGER)
    frames = _integers(f[o.FRAMES], n)
    count: int = call_kernel(f[o.FIND_CANDIDATES], (geometries, frames, filtered, X_WG, 0.0, *work, pairs))
    if count > f[o.PAIR_CAPACITY]:
        integers_at(f[o.LACK])[0] = count
        return _FAILED
    return count


@device
def _find_contacts(f: Any, num_pairs: int) -> int:
    """How many points touch; negative if there is no answer."""
    if num_pairs <= 0:
        return num_pairs
    n, capacity = f[o.NUM_GEOMETRIES], f[o.CONTACT_CAPACITY]
    geometries, X_WG = array_at(f[o.GEOMETRIES], (n,), _GEOMETRY), array_at(f[o.X_WG], (n, 4, 4), _FLOAT)
    pairs = array_at(f[o.PAIRS], (num_pairs, 2), _INTEGER)
    work, contacts = (
        array_at(f[o.PROXIMITY_WORK], (1,), _PROXIMITY_WORK),
        array_at(f[o.CONTACTS], (capacity,), _CONTACT),
    )
    every = (geometries, _hulls(f), X_WG, pairs, num_pairs, 0.0, work, contacts)
    count: int = call_kernel(f[o.CONTACT_MANIFOLDS], every)
    if count > capacity:
        integers_at(f[o.LACK])[1] = count
        return _FAILED
    return count


# ---------------------------------------------------------------------- the contact problem


@device
def _drives(values: Any, f: Any) -> Any:
    """Records of the controllers, with what they are to do in this step."""
    drives = array_at(f[o.DRIVES], (f[o.NUM_CONTROLLERS],), _DRIVE)
    wanted = _table(f[o.DRIVE_VALUES], f[o.NUM_CONTROLLERS], NUM_DRIVE_VALUES)
    for k in range(f[o.NUM_CONTROLLERS]):
        drives[k]["error"] = -wanted[k, ERROR]
        drives[k]["v_desired"] = wanted[k, VELOCITY_TARGET]
        drives[k]["feedforward"] = wanted[k, FEEDFORWARD]
    return drives


@device
def _trees(f: Any) -> Any:
    return array_at(f[o.TREES], (f[o.NUM_TREES],), _TREE), _integers(f[o.TREE_OF_MOBOD], f[o.NUM_MOBODS])


@device
def _limits_and_links(f: Any) -> Any:
    return (
        array_at(f[o.JOINT_LIMITS], (f[o.NUM_LIMITS],), _LIMIT),
        array_at(f[o.LINKS], (f[o.NUM_LINKS],), _LINK),
    )


@device
def _found(f: Any, num_pairs: int, num_contacts: int) -> Any:
    """Pairs of geometries and contacts."""
    return (
        array_at(f[o.PAIRS], (num_pairs, 2), _INTEGER),
        array_at(f[o.CONTACTS], (num_contacts,), _CONTACT),
    )


@device
def _frames_and_sources(f: Any) -> Any:
    capacity = f[o.CONTACT_CAPACITY]
    return _table(f[o.CONTACT_FRAMES], capacity, 9), _integers(f[o.SOURCE], capacity), _integers(f[o.COUNTS], 5)


@device
def _materials(f: Any) -> Any:
    return array_at(f[o.MATERIALS], (f[o.NUM_GEOMETRIES],), _MATERIAL)


@device
def _settings(f: Any) -> Any:
    return array_at(f[o.SETTINGS], (1,), _SETTINGS)[0]


@device
def _start(values: Any, numbers: Any, f: Any, found: Any) -> None:
    """Writes the problem."""
    topology, parameters, _ = model(values, f)
    x, _, _, position, _, scratch, x_star = motion(values, f)
    num_q = f[o.NUM_Q]
    trees, tree_of_mobod = _trees(f)
    limits, links = _limits_and_links(f)
    known = (
        topology, parameters, trees, tree_of_mobod, _integers(f[o.TREE_OF_VELOCITY], f[o.NUM_V]), _materials(f), limits,
        links, _drives(values, f), _settings(f), numbers[f[o.NEAR_RIGID_THRESHOLD]],
    )  # fmt: skip
    masses = doubles(f[o.MATRIX], f[o.MATRIX_SIZE]), _integers(f[o.IS_LOCKED], f[o.NUM_V])
    problem = (
        array_at(f[o.CONSTRAINTS], (f[o.CONSTRAINT_CAPACITY],), _CONSTRAINT),
        array_at(f[o.ROWS], (f[o.ROW_CAPACITY],), _ROW),
        doubles(f[o.JACOBIAN], f[o.JACOBIAN_CAPACITY]),
    )
    state = x[:num_q], x[num_q:], x_star, position
    every = (*known, *state, *found, scratch, *masses, *problem, *_frames_and_sources(f))
    call_quiet_kernel(f[o.START_STEP], every)


@device
def _solve(values: Any, f: Any) -> int:
    """Velocities after the step, and impulses."""
    counts, num_q, num_v = integers_at(f[o.COUNTS]), f[o.NUM_Q], f[o.NUM_V]
    trees, _ = _trees(f)
    masses = doubles(f[o.MATRIX], f[o.MATRIX_SIZE]), _integers(f[o.IS_LOCKED], num_v)
    speeds = doubles(place_at(values, f[o.STATE] + num_q), num_v), doubles(place_at(values, f[o.RESULT] + num_q), num_v)
    problem = (
        array_at(f[o.CONSTRAINTS], (counts[0],), _CONSTRAINT),
        array_at(f[o.ROWS], (counts[1],), _ROW),
        doubles(f[o.JACOBIAN], counts[2]),
    )
    work = f[o.BLOCK_CAPACITY], doubles(f[o.WORK], f[o.WORK_SIZE]), _integers(f[o.INTEGER_WORK], f[o.INTEGER_WORK_SIZE])
    made = doubles(f[o.V_NEXT], num_v), doubles(f[o.IMPULSES], counts[1]), array_at(f[o.STATISTICS], (1,), _RESULT)[0]
    status: int = call_kernel(f[o.SOLVER], (_settings(f), trees, *masses, *speeds, *problem, *work, *made))
    if status == NO_CAPACITY:
        integers_at(f[o.LACK])[2] = 1
    return status


@device
def _end(values: Any, numbers: Any, f: Any, num_pairs: int, num_contacts: int) -> None:
    """The next state. What there is to tell about contacts is only computed when somebody looks."""
    topology, _, _ = model(values, f)
    x, _, _, _, _, _, result = motion(values, f)
    h = numbers[f[o.TIME_STEP]]
    call_quiet_kernel(f[o.NEXT_STATE], (topology, h, x[: f[o.NUM_Q]], doubles(f[o.V_NEXT], f[o.NUM_V]), result))
    held = integers_at(f[o.HELD])
    held[0], held[1] = num_pairs, num_contacts
    u, inputs, impulses = doubles_at(f[o.U]), integers_at(f[o.CONTROLLED_INPUTS]), doubles_at(f[o.IMPULSES])
    first = integers_at(f[o.COUNTS])[1] - f[o.NUM_CONTROLLERS]
    for k in range(f[o.NUM_CONTROLLERS]):
        u[inputs[k]] = impulses[first + k] / h


@device
def _hold(values: Any, numbers: Any, f: Any) -> int:
    """Changes the free step to one that holds what is to be held; returns 0 if that is done."""
    num_pairs = _find_candidates(f) if f[o.NUM_GEOMETRIES] > 0 else 0
    num_contacts = _find_contacts(f, num_pairs)
    if num_contacts < 0:
        return _FAILED
    if num_contacts > 0 or count_limits(values, numbers, f) > 0 or f[o.NUM_LINKS] > 0:
        num_pairs = num_pairs if num_contacts > 0 else 0
        _start(values, numbers, f, _found(f, num_pairs, num_contacts))
        status = _solve(values, f)
        if status == CONVERGED:
            _end(values, numbers, f, num_pairs, num_contacts)
        return 0 if status == CONVERGED else _FAILED
    return _controlled_step(values, numbers, f) if f[o.NUM_CONTROLLERS] > 0 else 0


def held_step(values: Any, numbers: Any, integers: Any) -> None:
    """The next state, and a sample of its dynamics; integers: see kernels/operation_fields.py."""
    turn = integers_at(integers[o.TURN])
    f = integers_at(place_at(integers, (1 - turn[0]) * integers[o.LENGTH]))
    integers_at(f[o.HELD])[0] = NOTHING_HELD
    num_controllers = f[o.NUM_CONTROLLERS]
    is_usual = not has_singular_pitch(values, f)
    if num_controllers > 0:
        is_usual = _control(values, f) and is_usual
    else:
        read_actuation(values, f, doubles_at(f[o.U]))
    status = 0 if spread_forces(values, f) and is_usual else _FAILED
    if status == 0 and f[o.NUM_ELEMENTS] > 0:
        status = add_element_forces(values, f)
    if status == 0 and num_controllers > 0 and not f[o.CAN_HOLD]:
        status = _controlled_step(values, numbers, f)
    elif status == 0:
        status = call_kernel(f[o.DYNAMICS], (*model(values, f), numbers[f[o.TIME_STEP]], *motion(values, f)))
        if status == 0:
            status = _hold(values, numbers, f)
    if conclude(values, f, status):
        turn[0], turn[1] = 1 - turn[0], 0
        take_sample(values, f)


@device
def _find_contact_forces(f: Any, time_step: float, tau: Any) -> None:
    """tau: generalized forces of the contacts of the last step."""
    if integers_at(f[o.HELD])[0] == NOTHING_HELD:
        for k in range(tau.shape[0]):
            tau[k] = 0.0
        return
    constraints = array_at(f[o.CONSTRAINTS], (f[o.CONSTRAINT_CAPACITY],), _CONSTRAINT)
    jacobian, counts = doubles(f[o.JACOBIAN], f[o.JACOBIAN_CAPACITY]), _integers(f[o.COUNTS], 5)
    impulses, trees = doubles(f[o.IMPULSES], f[o.ROW_CAPACITY]), array_at(f[o.TREES], (f[o.NUM_TREES],), _TREE)
    calc_generalized_contact_forces(trees, time_step, constraints, jacobian, counts, impulses, tau)


def contact_forces(values: Any, numbers: Any, integers: Any) -> None:
    """The generalized forces of all contacts in the last step; computed when they are first asked for, and kept.

    Integers: their number, the address at TURN, that of two lists of those integers of `held_step` that tell of its
    contact problem, the address where the forces are kept, h among the constants, and the place of the result.
    """
    n, turn, result = integers[0], integers_at(integers[1]), integers[5]
    tau = doubles(integers[3], n)
    if turn[1] == 0:
        f = array_at(integers[2], (2, o.NUM_FIELDS), _INTEGER)[turn[0]]
        _find_contact_forces(f, numbers[integers[4]], tau)
        turn[1] = 1
    for k in range(n):
        values[result + k] = tau[k]


CONTACT_FORCES = CompiledOperation(contact_forces)
HELD_STEP = CompiledOperation(held_step)
