"""What a step of a plant works on, as records of arrays (framework/native/memory/records_of_arrays.py): see step.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from merganser.framework.native.memory.hinted_types import (
    Flags,
    Floats,
    FloatsInContext,
    FloatTable,
    Integers,
    IntegerTable,
    Poses,
)
from merganser.framework.native.memory.records_of_arrays import ONE_VALUE, ArrayOf, Code
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.layout import Bodies, Meshes
from merganser.geometry.proximity.layout import Contacts, Geometries, Hulls, SearchWork
from merganser.multibody.contact.contact_kinds import ContactSources
from merganser.multibody.contact.contact_pairs import ContactPairs, Materials
from merganser.multibody.contact.layout import Settings, SolverWork, Statistics
from merganser.multibody.contact.plant_layout import Drives, Frictions, Limits, PlantTrees, ProblemArrays
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.constraints import ConstraintRecords, ConstraintValues
from merganser.multibody.kernels.layout import Elements, Positions, Scratch, Topology, Velocities

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
    "Multipliers",
    "Part",
    "State",
    "StepCode",
    "StepResults",
    "Work",
]

# What StepResults.found holds.
NUM_CANDIDATES, NUM_CONTACTS, NUM_PAIRS = 0, 1, 2
SOLVED = 3  # whether there was any constraint
OUTCOME = 4  # what the solver said
NUM_SURFACES, NUM_FACES = 5, 6  # of contact surfaces
NUM_FOUND = 7

# How geometries touch.
POINTS_ALONE, POINTS_FOR_OTHERS, SURFACES_ALONE = range(3)


class StepCode(NamedTuple):
    """The kernels of a step; those of contact may be 0 where they are not compiled yet."""

    kinematics: Code
    force_elements: Code
    copy_actuation_input: Code
    add_input: Code
    put_desired_state: Code
    efforts: Code
    apply_actuation: Code
    store_efforts: Code
    is_finite: Code
    dynamics: Code  # discrete_step, step_from_kinematics, or in continuous time state_derivatives
    constrained_dynamics: Code  # in continuous time
    controlled_step: Code
    are_resolved: Code
    joint_friction: Code  # in continuous time
    limits: Code  # find_limits, or in continuous time limit_forces
    geometry_poses: Code
    find_candidates: Code
    contact_manifolds: Code
    make_contact_pairs: Code
    split_candidates: Code
    contact_surfaces: Code
    make_hydroelastic_pairs: Code
    make_pairs_of_kinds: Code
    drop_distant_pairs: Code
    penalty_forces: Code  # in continuous time
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
    geometries: Geometries
    hulls: Annotated[Hulls, ONE_VALUE]
    frames: Integers
    filtered: Flags
    boxes: FloatTable
    grid: Integers
    work: SearchWork
    materials: Materials
    contact: int
    margin: float
    points: int
    bodies: Bodies
    meshes: Annotated[Meshes, ONE_VALUE]
    clipping: Annotated[Buffers, ONE_VALUE]


class ConstraintModel(NamedTuple):
    """What may constrain a step, and buffers of the solver.

    Attributes:
        is_complete: whether there are kernels for it.
        geometry: what may touch, perhaps nothing.
        sources: contacts of kinds that a program brings, see contact_kinds.py.
        source_numbers: the numbers of these.
        trees: see plant_layout.py.
        settings: record of settings_dtype.
        near_rigid_threshold: beta of contacts.
        constraint_rows: of constraints between bodies and coordinates, see kernels/constraints/records.py.
        looks_ahead: whether steps see what the fastest body may meet within them, see impending.py.
        drives: room for records of drive_dtype, one for each PD controller.
        matrix, is_locked, room: see layout.py.
    """

    is_complete: int
    geometry: Geometry
    sources: ContactSources
    source_numbers: Floats
    trees: Annotated[PlantTrees, ONE_VALUE]
    settings: Settings
    near_rigid_threshold: float
    constraint_rows: ConstraintRecords
    looks_ahead: int
    drives: Drives
    matrix: Floats
    is_locked: Integers
    room: Annotated[SolverWork, ONE_VALUE]


class Model(NamedTuple):
    """A plant.

    Attributes:
        code: the kernels.
        is_continuous: whether it moves in continuous time, and not by steps.
        topology, parameters, gravity: of the bodies, see kernels/layout.py.
        elements, constants: force elements, see kernels/force_elements.py.
        pitches: which positions are pitch angles, whose cosines must not vanish.
        actuators: and their PD controllers.
        limits: of joints, records of limit_dtype.
        limit_stiffness, limit_dissipation: of these, in continuous time.
        frictions: dry friction of joints, records of friction_dtype.
        stiction_velocity: of that, in continuous time [rad/s or m/s].
        can_constrain: whether there may be any constraint in a step, or in continuous time anything may touch.
        has_multipliers: whether constraints hold in continuous time.
        contact: what that is.
    """

    code: StepCode
    is_continuous: int
    topology: Topology
    parameters: Annotated[Any, ArrayOf(layout.parameter_dtype(), 1, True)]
    gravity: FloatsInContext
    elements: Elements
    constants: Annotated[Any, ArrayOf(layout.constant_dtype(), 1, True)]
    pitches: Integers
    actuators: Actuators
    limits: Limits
    limit_stiffness: Floats
    limit_dissipation: Floats
    frictions: Frictions
    stiction_velocity: float
    can_constrain: int
    has_multipliers: int
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


class Multipliers(NamedTuple):
    """Room for what constraints hold in continuous time, see kernels/constrained_dynamics.py.

    Attributes:
        rows: the constraints that hold, records of kernels/constraints/records.py.
        M, Y, C, order: for the solution.
        values: errors, rates, forces and multipliers of the rows.
        K: their matrix, shape [num_rows, num_v].
        F: all forces on the bodies, shape [num_mobods, 6].
    """

    rows: ConstraintRecords
    M: FloatTable
    Y: FloatTable
    C: FloatTable
    order: IntegerTable
    values: ConstraintValues
    K: FloatTable
    F: FloatTable


class Work(NamedTuple):
    """Room for the dynamics.

    Attributes:
        velocity, scratch: records, see kernels/layout.py.
        tau: generalized forces, shape [num_v].
        F_applied: forces on the bodies, where there are force elements, shape [num_mobods, 6].
        F_contact, F_total: those of contacts, and all together, in continuous time.
        feedforward: u_ff, shape [num_u].
        desired: q_d and v_d, shape [2, num_u].
        u: what the actuators exert, shape [num_u].
        drives, drive_values, drive_work, efforts: of the PD controllers, see kernels/drives.py.
        multipliers: of constraints in continuous time.
    """

    velocity: Velocities
    scratch: Scratch
    tau: Floats
    F_applied: FloatTable
    F_contact: FloatTable
    F_total: FloatTable
    feedforward: Floats
    desired: FloatTable
    u: Floats
    drives: IntegerTable
    drive_values: FloatTable
    drive_work: FloatTable
    efforts: Floats
    multipliers: Multipliers


class StepResults(NamedTuple):
    """What a step leaves: the next state, and what its sample is made of when somebody looks.

    Attributes:
        x_next: the next state, or in continuous time the derivatives.
        position: kinematics at the start of the step.
        found: see above.
        candidates: pairs of geometries that may touch, shape [capacity, 2].
        contacts: points where they do, or may within the step, records of contact_dtype.
        surface_pairs: pairs of geometries that may have a contact surface, shape [capacity, 2].
        corners, faces, owners: of the faces of these, see geometry/hydroelastic/engine.py.
        contact_pairs: records of contact_pair_dtype: those of points, of faces, of kinds.
        contact_forces: of each pair, see plant_layout.py; in continuous time.
        problem: the constraints, see plant_layout.py.
        v_next, impulses, statistics: from the solver, see layout.py.
    """

    x_next: FloatsInContext
    position: Positions
    found: Integers
    candidates: IntegerTable
    contacts: Contacts
    surface_pairs: IntegerTable
    corners: Poses
    faces: FloatTable
    owners: IntegerTable
    contact_pairs: ContactPairs
    contact_forces: FloatTable
    problem: Annotated[ProblemArrays, ONE_VALUE]
    v_next: Floats
    impulses: Floats
    statistics: Statistics
