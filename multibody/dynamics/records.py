"""What a step of a plant works on, as records of arrays (framework/native/memory/records_of_arrays.py): see step.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from merganser.framework.native.memory.hinted_types import (
    Floats,
    FloatsInContext,
    FloatTable,
    Integers,
    IntegerTable,
    Poses,
)
from merganser.framework.native.memory.records_of_arrays import ONE_VALUE, SAME_VALUE, ArrayOf, RecordOf
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.layout import Bodies, Meshes
from merganser.geometry.proximity.layout import Contacts, Geometries, Hulls, SearchWork
from merganser.multibody.contact.contact_kinds import ContactSources
from merganser.multibody.contact.contact_pairs import ContactPairs, Materials
from merganser.multibody.contact.layout import Settings, SolverWork, Statistics
from merganser.multibody.contact.plant_layout import (
    Drives,
    Frictions,
    Limits,
    PlantTrees,
    ProblemArrays,
    ProblemTrees,
)
from merganser.multibody.dynamics.step_kernels import StepCode
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.constraints import ConstraintRecords, ConstraintValues
from merganser.multibody.kernels.laws import Laws
from merganser.multibody.kernels.layout import Elements, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.transmissions import Nodes, Transmissions

# What a step has found: how many elements of the arrays of StepResults with the same names hold something, and more.
found_dtype = np.dtype(
    [
        ("candidates", np.int64),
        ("contacts", np.int64),
        ("contact_pairs", np.int64),
        ("surface_pairs", np.int64),
        ("faces", np.int64),  # of contact surfaces
        ("is_constrained", np.int64),  # whether there was any constraint
        ("outcome", np.int64),  # what the solver said, or which contact of a kind is not valid
        # Of deformable bodies:
        ("deformable_faces", np.int64),  # of contact surfaces
        ("deformable_pairs", np.int64),  # contacts of which a side can move
        ("matrix", np.int64),  # numbers in the blocks of A,
        ("jacobian", np.int64),  # and of J, with those of rigid bodies
        ("schur", np.int64),  # numbers that a body needs for fem/schur.py
        ("failed_body", np.int64),  # one without free motion,
        ("reason", np.int64),  # and its status of fem/layout.py
    ]
)
Found = Annotated[Any, RecordOf(found_dtype)]

# Why a step is not taken; a positive status is the number of a mobod whose hinge has no inertia, and -1 what
# kernels/step.py says.
SINGULAR_PITCH = -2  # of a joint with roll, pitch and yaw
BAD_INPUT = -3  # an input is not finite
LOCKED = -4  # a joint with a PD controller is locked
LACKS_CAPACITY = -5  # for candidates or contacts, as many as `found` says
NOT_SOLVED = -6  # the contact problem; `found` says why
NOT_COMPILED = -7  # of constraints
BAD_POSE = -8  # the pose of a geometry is not finite
NOT_FINITE = -9  # the next state, or the derivatives
NO_SURFACE = -10  # of geometries that overlap, where contact is to be surfaces alone
BAD_PAIR = -11  # a contact of a kind is not valid, see contact_kinds.py
NO_FREE_MOTION = -12  # of a deformable body; `found` says of which one, and why
ADHESIVE_SURFACE = -13  # what adheres touches on a surface; `found` says which transmission, or how many
NO_FORCE = -14  # less the number of a force element: it has no force


class Actuators(NamedTuple):
    """The actuators, and the PD controllers that some of them have.

    Attributes:
        driven: for each actuator, the velocity or transmission that it drives, shape [num_u]; here and below
            transmissions are numbered behind all coordinates.
        limits: of the efforts, see ../kernels/actuators.py, shape [2 num_u].
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
        contact: whether there are contact surfaces, and points for what has none: see contact_pairs.py.
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
    hulls: Annotated[Hulls, SAME_VALUE]
    frames: Integers
    filtered: Integers
    boxes: FloatTable
    grid: Integers
    work: SearchWork
    materials: Materials
    contact: int
    margin: float
    points: int
    bodies: Bodies
    meshes: Annotated[Meshes, SAME_VALUE]
    clipping: Annotated[Buffers, SAME_VALUE]


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
        holds_transmissions: whether tendons or controllers along transmissions constrain every step.
        adheres: whether there is adhesion, of actuators or of materials, see contact/adhesion.py.
        looks_ahead: whether steps see what the fastest body may meet within them, see contact/contact_pairs.py.
        drives: room for records of drive_dtype, one for each PD controller.
        room: of the solver, see layout.py.
    """

    is_complete: int
    geometry: Geometry
    sources: ContactSources
    source_numbers: Floats
    trees: Annotated[PlantTrees, ONE_VALUE]
    settings: Settings
    near_rigid_threshold: float
    constraint_rows: ConstraintRecords
    holds_transmissions: int
    adheres: int
    looks_ahead: int
    drives: Drives
    room: Annotated[SolverWork, ONE_VALUE]


class Model(NamedTuple):
    """A plant.

    Attributes:
        code: the kernels.
        is_continuous: whether it moves in continuous time, and not by steps.
        topology, parameters, gravity: of the bodies, see kernels/layout.py.
        elements, constants: force elements, see kernels/force_elements.py.
        transmissions, nodes: see kernels/transmissions/records.py.
        pitches: which positions are pitch angles, whose cosines must not vanish.
        actuators: and their PD controllers.
        laws: of actuators that have some, see kernels/laws.
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
    transmissions: Transmissions
    nodes: Nodes
    pitches: Integers
    actuators: Actuators
    laws: Laws
    limits: Limits
    limit_stiffness: Floats
    limit_dissipation: Floats
    frictions: Frictions
    stiction_velocity: float
    can_constrain: int
    has_multipliers: int
    contact: ConstraintModel


class State(NamedTuple):
    """x = [q; v], and the activations of actuators."""

    x: FloatsInContext
    q: FloatsInContext
    v: FloatsInContext
    activations: FloatsInContext


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
        mean, mean_velocity: u, of which a step takes products, shape [num_v]; and records of its kinematics.
        tau: generalized forces, shape [num_v].
        F_applied: forces on the bodies, where there are force elements or adhesion, shape [num_mobods, 6].
        F_contact, F_total: those of contacts, and all together, in continuous time.
        feedforward: u_ff, shape [num_u].
        desired: q_d and v_d, and what is made of them, see ../kernels/actuators.py, shape [NUM_DESIRED_ROWS, num_u].
        u: what the actuators exert, shape [num_u].
        controls, law_step: of laws of actuators; the time step, and speeds of belts, see kernels/laws.
        commands, activations: what laws of actuators make, see kernels/laws.
        lengths, rates, arms, forces: q, v and tau with those of transmissions behind them, and their moment arms; see
            kernels/transmissions/motion.py. Empty without transmissions.
        drives, drive_values, drive_work, efforts: of the PD controllers, see kernels/actuators.py.
        multipliers: of constraints in continuous time.
    """

    velocity: Velocities
    scratch: Scratch
    mean: Floats
    mean_velocity: Velocities
    tau: Floats
    F_applied: FloatTable
    F_contact: FloatTable
    F_total: FloatTable
    feedforward: Floats
    desired: FloatTable
    u: Floats
    controls: Floats
    law_step: Floats
    commands: Floats
    activations: Floats
    lengths: Floats
    rates: Floats
    arms: FloatTable
    forces: Floats
    drives: IntegerTable
    drive_values: FloatTable
    drive_work: FloatTable
    efforts: Floats
    multipliers: Multipliers


class StepResults(NamedTuple):
    """What a step leaves: the next state, and what its sample is made of when it is read.

    Attributes:
        x_next: the next state, or in continuous time the derivatives.
        activations: of actuators, after the step, or in continuous time their rates; empty where nothing takes them.
        position: kinematics at the start of the step.
        found: record of found_dtype.
        candidates: pairs of geometries that may touch, shape [capacity, 2].
        contacts: points where they do, or may within the step, records of contact_dtype.
        surface_pairs: pairs of geometries that may have a contact surface, shape [capacity, 2].
        corners, faces, owners: of the faces of these, see geometry/hydroelastic/engine.py.
        contact_pairs: records of contact_pair_dtype: those of points, of faces, of kinds.
        contact_forces: of each pair, see plant_layout.py; in continuous time.
        trees, problem: the trees of the contact problem, and its constraints, see plant_layout.py.
        v_next, impulses, statistics: from the solver, see layout.py.
        passes: what v_next was after the first solution and after each pass, shape [num_passes + 1, num_v]; without
            rows where nothing asks for it.
    """

    x_next: FloatsInContext
    activations: FloatsInContext
    position: Positions
    found: Found
    candidates: IntegerTable
    contacts: Contacts
    surface_pairs: IntegerTable
    corners: Poses
    faces: FloatTable
    owners: IntegerTable
    contact_pairs: ContactPairs
    contact_forces: FloatTable
    trees: Annotated[ProblemTrees, ONE_VALUE]
    problem: Annotated[ProblemArrays, ONE_VALUE]
    v_next: Floats
    impulses: Floats
    statistics: Statistics
    passes: FloatTable
