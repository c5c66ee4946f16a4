"""What a step of a plant works on, as records of arrays (framework/native/records_of_arrays.py): see step.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.records_of_arrays import FLOAT, INTEGER, ONE_VALUE, ArrayOf, Code, RecordOf
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.layout import Meshes, body_dtype
from merganser.geometry.proximity.layout import Hulls, contact_dtype, geometry_dtype, work_dtype
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, material_dtype
from merganser.multibody.contact.layout import result_dtype, settings_dtype
from merganser.multibody.contact.plant_layout import PlantTrees, ProblemArrays, drive_dtype, limit_dtype
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.constraints import constraint_row_dtype

__all__ = [
    "NUM_CANDIDATES",
    "NUM_CONTACTS",
    "NUM_FACES",
    "NUM_FOUND",
    "NUM_PAIRS",
    "NUM_SURFACES",
    "OUTCOME",
    "POINTS_ALONE",
    "POINTS_FOR_OTHERS",
    "SOLVED",
    "SURFACES_ALONE",
    "Actuators",
    "ConstraintModel",
    "Geometry",
    "Inputs",
    "Model",
    "Part",
    "State",
    "StepCode",
    "StepResults",
    "Work",
]

Array = NDArray[Any]
Integers = Annotated[Array, ArrayOf(INTEGER)]
Floats = Annotated[Array, ArrayOf(FLOAT)]
FloatTable = Annotated[Array, ArrayOf(FLOAT, 2)]
Poses = Annotated[Array, ArrayOf(FLOAT, 3)]
FloatsInContext = Annotated[Any, ArrayOf(FLOAT, 1, True)]  # an array in Python, for compiled code a Placed

# What StepResults.found holds.
NUM_CANDIDATES, NUM_CONTACTS, NUM_PAIRS = 0, 1, 2
SOLVED = 3  # whether there was anything to hold
OUTCOME = 4  # what the solver said
NUM_SURFACES, NUM_FACES = 5, 6  # of contact surfaces
NUM_FOUND = 7

# How geometries touch.
POINTS_ALONE, POINTS_FOR_OTHERS, SURFACES_ALONE = range(3)


class StepCode(NamedTuple):
    """The kernels of a step; those of contact may be 0 where they are not compiled yet."""

    kinematics: Code
    force_elements: Code
    take_input: Code
    add_input: Code
    put_desired_state: Code
    efforts: Code
    spread_forces: Code
    put_efforts: Code
    is_finite: Code
    dynamics: Code  # discrete_step, or in continuous time state_derivatives
    controlled_step: Code
    are_resolved: Code
    limits: Code  # find_limits, or in continuous time limit_forces
    geometry_poses: Code
    find_candidates: Code
    contact_manifolds: Code
    make_contact_pairs: Code
    split_candidates: Code
    contact_surfaces: Code
    make_hydroelastic_pairs: Code
    start_step: Code
    solve: Code
    end_step: Code


class Actuators(NamedTuple):
    """The actuators, and the PD controllers that some of them have.

    Attributes:
        driven: for each actuator, the velocity that it drives, shape [num_u].
        limits: of the efforts, shape [num_u].
        controlled: for each controller, its actuator, shape [num_controllers].
        mobods, positions, velocities: what each drives.
        p, d: gains.
    """

    driven: Integers
    limits: Floats
    controlled: Integers
    mobods: Integers
    positions: Integers
    velocities: Integers
    p: Floats
    d: Floats


class Geometry(NamedTuple):
    """The geometries that may touch, see geometry/proximity/layout.py.

    Attributes:
        is_moved_by_plant: whether they are all fixed to bodies of the plant, at X_BG to mobods; else X_WG is given.
        hulls: of the convex ones.
        filtered, frames, boxes, grid: for the broad phase.
        materials: records of material_dtype.
        contact: whether there are contact surfaces, and points for what has none: see above.
        margin: at which distance surfaces may begin [m].
        points: at which points of faces there are contact pairs, see hydroelastic_pairs.py.
        bodies, meshes: of contact surfaces, see geometry/hydroelastic/layout.py.
        clipping: work arrays of these.
    """

    is_moved_by_plant: int
    mobods: Integers
    X_BG: Poses
    X_WG: Poses
    geometries: Annotated[Array, ArrayOf(geometry_dtype)]
    hulls: Annotated[Hulls, ONE_VALUE]
    frames: Integers
    filtered: Annotated[Array, ArrayOf(np.dtype(np.bool_), 2)]
    boxes: FloatTable
    grid: Integers
    work: Annotated[Array, ArrayOf(work_dtype)]
    materials: Annotated[Array, ArrayOf(material_dtype)]
    contact: int
    margin: float
    points: int
    bodies: Annotated[Array, ArrayOf(body_dtype)]
    meshes: Annotated[Meshes, ONE_VALUE]
    clipping: Annotated[Buffers, ONE_VALUE]


class ConstraintModel(NamedTuple):
    """What a step may have to hold, and room for the solver.

    Attributes:
        is_complete: whether there are kernels for it.
        geometry: what may touch, perhaps nothing.
        trees: see plant_layout.py.
        settings: record of settings_dtype.
        near_rigid_threshold: beta of contacts.
        constraint_rows: of constraints between bodies and coordinates, see kernels/constraints/records.py.
        drives: room for records of drive_dtype, one for each PD controller.
        matrix, is_locked, rows, block_capacity, work, integer_work: see layout.py.
    """

    is_complete: int
    geometry: Geometry
    trees: Annotated[PlantTrees, ONE_VALUE]
    settings: Annotated[Any, RecordOf(settings_dtype)]
    near_rigid_threshold: float
    constraint_rows: Annotated[Array, ArrayOf(constraint_row_dtype)]
    drives: Annotated[Array, ArrayOf(drive_dtype)]
    matrix: Floats
    is_locked: Integers
    block_capacity: int
    work: Floats
    integer_work: Integers


class Model(NamedTuple):
    """A plant.

    Attributes:
        code: the kernels.
        time_step: h [s]; 0 in continuous time.
        topology, parameters, gravity: of the bodies, see kernels/layout.py.
        elements, constants: force elements, see kernels/force_elements.py.
        pitches: which positions are pitch angles, whose cosines must not vanish.
        actuators: and their PD controllers.
        limits: of joints, records of limit_dtype.
        limit_stiffness, limit_dissipation: of these, in continuous time.
        can_constrain: whether a step may have anything to hold.
        contact: what that is.
    """

    code: StepCode
    time_step: float
    topology: Annotated[Array, ArrayOf(layout.topology_dtype)]
    parameters: Annotated[Any, ArrayOf(layout.parameter_dtype(), 1, True)]
    gravity: FloatsInContext
    elements: Annotated[Array, ArrayOf(layout.element_dtype)]
    constants: Annotated[Any, ArrayOf(layout.constant_dtype(), 1, True)]
    pitches: Integers
    actuators: Actuators
    limits: Annotated[Array, ArrayOf(limit_dtype)]
    limit_stiffness: Floats
    limit_dissipation: Floats
    can_constrain: int
    contact: ConstraintModel


class State(NamedTuple):
    """x = [q; v]."""

    x: FloatsInContext
    q: FloatsInContext
    v: FloatsInContext


class Part(NamedTuple):
    """What a port of a model instance carries, and for which actuators."""

    actuators: Integers
    values: FloatsInContext


class Inputs(NamedTuple):
    """What the input ports carry.

    Attributes:
        u: the port of the plant, empty if it is not connected.
        parts: those of model instances.
        desired: desired states, of model instances with PD controllers.
        tau: applied generalized forces, or an empty vector.
        F_Bo_W: applied forces on the bodies, shape [num_mobods, 6].
    """

    u: FloatsInContext
    parts: tuple[Part, ...]
    desired: tuple[Part, ...]
    tau: FloatsInContext
    F_Bo_W: FloatTable


class Work(NamedTuple):
    """Room for the dynamics.

    Attributes:
        velocity, scratch: records, see kernels/layout.py.
        tau: generalized forces, shape [num_v].
        F_applied: forces on the bodies, where there are force elements, shape [num_mobods, 6].
        feedforward: u_ff, shape [num_u].
        desired: q_d and v_d, shape [2, num_u].
        u: what the actuators exert, shape [num_u].
        drives, drive_values, drive_work, efforts: of the PD controllers, see kernels/drives.py.
    """

    velocity: Annotated[Array, ArrayOf(layout.velocity_dtype())]
    scratch: Annotated[Array, ArrayOf(layout.scratch_dtype())]
    tau: Floats
    F_applied: FloatTable
    feedforward: Floats
    desired: FloatTable
    u: Floats
    drives: Annotated[Array, ArrayOf(INTEGER, 2)]
    drive_values: FloatTable
    drive_work: FloatTable
    efforts: Floats


class StepResults(NamedTuple):
    """What a step leaves: the next state, and what its sample is made of when somebody looks.

    Attributes:
        x_next: the next state, or in continuous time the derivatives.
        position: kinematics at the start of the step.
        found: see above.
        candidates: pairs of geometries that may touch, shape [capacity, 2].
        contacts: points where they do, records of contact_dtype.
        surface_pairs: pairs of geometries that may have a contact surface, shape [capacity, 2].
        corners, faces, owners: of the faces of these, see geometry/hydroelastic/engine.py.
        contact_pairs: records of contact_pair_dtype, those of points first.
        problem: the constraints, see plant_layout.py.
        v_next, impulses, statistics: from the solver, see layout.py.
    """

    x_next: FloatsInContext
    position: Annotated[Array, ArrayOf(layout.position_dtype())]
    found: Integers
    candidates: Annotated[Array, ArrayOf(INTEGER, 2)]
    contacts: Annotated[Array, ArrayOf(contact_dtype)]
    surface_pairs: Annotated[Array, ArrayOf(INTEGER, 2)]
    corners: Annotated[Array, ArrayOf(FLOAT, 3)]
    faces: FloatTable
    owners: Annotated[Array, ArrayOf(INTEGER, 2)]
    contact_pairs: Annotated[Array, ArrayOf(contact_pair_dtype)]
    problem: Annotated[ProblemArrays, ONE_VALUE]
    v_next: Floats
    impulses: Floats
    statistics: Annotated[Any, RecordOf(result_dtype)]
