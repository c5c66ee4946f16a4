"""What a step of a plant with deformable bodies works on, as records of arrays: see dynamics/deformable_step.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import (
    Floats,
    FloatsInContext,
    FloatTable,
    Integers,
    IntegerTable,
    Poses,
)
from merganser.framework.native.memory.records_of_arrays import ONE_VALUE, ArrayOf
from merganser.geometry.deformable.moving_meshes import MeshParts
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.hydroelastic.layout import Bodies, Meshes
from merganser.multibody.contact.contact_pairs import ContactPairs, Materials
from merganser.multibody.deformable.kernels.pairs import Ends, MeshRows
from merganser.multibody.fem.layout import BodyArrays, StepWork
from merganser.multibody.kernels.layout import Positions, Velocities

# A vertex P of a deformable body that is fixed to a point Q of a rigid body B that can move.
fixed_dtype = np.dtype(
    [
        ("number", np.int64),  # of the set that it belongs to
        ("body", np.int64),  # number of the deformable body
        ("vertex", np.int64),
        ("mobod", np.int64),  # of the rigid body
        ("p_BQ", np.float64, (3,)),
        ("p_WP", np.float64, (3,)),  # where both are before the step [m]
        ("p_WQ", np.float64, (3,)),
        ("p_WM", np.float64, (3,)),  # and Q in the middle of the step
        ("bias", np.float64, (3,)),  # of v_P, see motion.py [m/s]
    ]
)
Fixed = Annotated[NDArray[Any], ArrayOf(fixed_dtype)]
OF_FACES = "corners", "faces", "owners", "pairs", "ends"  # fields of Deformables as long as there may be faces


class SoftBody(NamedTuple):
    """A deformable body.

    Attributes:
        is_enabled: whether it moves.
        is_linear: whether free motion leaves the factor of its tangent matrix.
        first: its first vertex among those of all bodies.
        num_vertices: how many it has.
        num_unknowns: of its tangent matrix.
        arrays: at rest, see fem/layout.py.
        work: room for its motion.
        holders: of each vertex the mobod that holds it, the world's for those that stay; -1 of those that are free.
        p_held: where it is held, in the frame of that mobod [m], shape [num_vertices, 3].
        state: positions, velocities and accelerations of the vertices, shape [9 num_vertices].
        next_state: after the step.
    """

    is_enabled: int
    is_linear: int
    first: int
    num_vertices: int
    num_unknowns: int
    arrays: Annotated[BodyArrays, ONE_VALUE]
    work: Annotated[StepWork, ONE_VALUE]
    holders: Integers
    p_held: FloatTable
    state: FloatsInContext
    next_state: FloatsInContext


class Motion(NamedTuple):
    """Positions [m] and velocities [m/s] of all vertices of all bodies in W, shape [3 num_vertices] each.

    Attributes:
        q, v: before the step; v is zero where vertices are held.
        q_held: the same as q, but of held vertices where they are held.
        force: from outside [N].
        q_free, v_free: after free motion.
        v_next: after the step.
    """

    q: Floats
    v: Floats
    q_held: Floats
    force: Floats
    q_free: Floats
    v_free: Floats
    v_next: Floats


class DeformableGeometry(NamedTuple):
    """What deformable bodies may touch: see geometry/deformable/moving_meshes.py, whose rows these are.

    Attributes:
        parts: of the meshes that move.
        first_vertices: of the body of each part, among the vertices of all bodies.
        extent, opposite: see there.
        bodies, meshes: of contact surfaces.
        materials, rows: of each row, see pairs.py.
        X_WG: shape [num_rows, 4, 4]; those of the rigid geometries come first.
        candidates: pairs of rows that may touch, of bodies that move, shape [num_candidates, 2].
        clipping: work arrays of contact surfaces.
    """

    parts: MeshParts
    first_vertices: Integers
    extent: Floats
    opposite: Integers
    bodies: Bodies
    meshes: Annotated[Meshes, ONE_VALUE]
    materials: Materials
    rows: MeshRows
    X_WG: Poses
    candidates: IntegerTable
    clipping: Annotated[Buffers, ONE_VALUE]


class Participants(NamedTuple):
    """Vertices that take part in contacts or are fixed to rigid bodies.

    Attributes:
        first_vertices: of each body among those of all bodies, and behind them how many there are, shape
            [num_bodies + 1].
        order: of each body, all its vertices in an order in which neighbours are near each other.
        moves: whether vertices move, shape [num_vertices].
        tree_of_body: the tree of each body in the problem; -1 if it takes no part.
        columns: of each vertex, its first velocity in its tree; -1 if it takes no part or is held.
        vertices: those that take part, one body after the other.
        starts: where those of each body start, and where the last ones end, shape [num_bodies + 1].
    """

    first_vertices: Integers
    order: Integers
    moves: Integers
    tree_of_body: Integers
    columns: Integers
    vertices: Integers
    starts: Integers


class Middle(NamedTuple):
    """Coordinates and kinematics of the rigid bodies in the middle of a step, where vertices are fixed to them."""

    q: Floats
    position: Positions
    velocity: Velocities


class Deformables(NamedTuple):
    """The deformable bodies of a plant, with what a step leaves of them beside StepResults, and room for it.

    Attributes:
        bodies: all bodies.
        motion: of all of them.
        geometry: what they may touch.
        participants: see there.
        columns, W, S: room for fem/schur.py.
        middle: room for the rigid bodies in the middle of the step.
        corners, faces, owners: of contact surfaces, see geometry/hydroelastic/engine.py.
        pairs, ends: contacts, see pairs.py.
        fixed: vertices that are fixed to rigid bodies which can move, of bodies that move.
    """

    bodies: tuple[SoftBody, ...]
    motion: Annotated[Motion, ONE_VALUE]
    geometry: DeformableGeometry
    participants: Annotated[Participants, ONE_VALUE]
    columns: Integers
    W: Floats
    S: Floats
    middle: Annotated[Middle, ONE_VALUE]
    corners: Poses
    faces: FloatTable
    owners: IntegerTable
    pairs: ContactPairs
    ends: Ends
    fixed: Fixed
