"""The arrays in which a plant says what holds it together, and those of its contact problem: see plant_problem.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.framework.native.memory.simd import varying
from merganser.multibody.contact.contact_pairs import ContactPairs
from merganser.multibody.contact.layout import Rows
from merganser.multibody.kernels.constraints import ConstraintRecords, ConstraintValues
from merganser.multibody.kernels.layout import Topology
from merganser.multibody.kernels.transmissions.records import Transmissions
from merganser.multibody.linear.records import Constraints, Trees

# What a plant learns about a contact: the force on body A in W [N], then
APPROACH = 3  # the speed at which the bodies approach [m/s],
SLIP = 4  # the speed at which they slip,
POINT = 5  # and the point p_WC at which the force acts [m].
NUM_FORCE_VALUES = 8

MOST_TENDON_ROWS = 5  # of a tendon: its spring, its armature, its friction and two limits

limit_dtype = np.dtype(
    [
        ("q", np.int64),  # which position
        ("v", np.int64),  # and its velocity; of a ball the first of each
        ("num_v", np.int64),  # 1, or 3 of a ball, of which the angle of the rotation has limits
        ("lower", np.float64),
        ("upper", np.float64),
    ]
)

friction_dtype = np.dtype(
    [
        ("mobod", np.int64),  # whose joint has dry friction
        ("place", np.int64),  # which of its velocities
        ("v", np.int64),  # and which of all
    ]
)

drive_dtype = np.dtype(
    [
        ("v", np.int64),  # which velocity, or which transmission, behind all velocities
        ("p", np.float64),  # gains
        ("d", np.float64),
        ("error", np.float64),  # q - q_d
        ("v_desired", np.float64),
        ("feedforward", np.float64),
        ("limit", np.float64),  # of the effort
    ]
)
varying(drive_dtype)


# How much of the arrays of a problem is in use.
problem_counts_dtype = np.dtype(
    [
        ("constraints", np.int64),
        ("rows", np.int64),
        ("jacobian", np.int64),  # numbers
        ("contacts", np.int64),  # the first constraints
        ("contacts_and_joints", np.int64),  # these, and the limits and frictions of joints, which follow
    ]
)
tree_counts_dtype = np.dtype([("trees", np.int64), ("velocities", np.int64), ("matrix", np.int64)])


ProblemCounts = Annotated[NDArray[Any], ArrayOf(problem_counts_dtype)]
TreeCounts = Annotated[NDArray[Any], ArrayOf(tree_counts_dtype)]
Limit = Annotated[Any, RecordOf(limit_dtype)]
Limits = Annotated[NDArray[Any], ArrayOf(limit_dtype)]
Frictions = Annotated[NDArray[Any], ArrayOf(friction_dtype)]
Drive = Annotated[Any, RecordOf(drive_dtype)]
Drives = Annotated[NDArray[Any], ArrayOf(drive_dtype)]


class PlantTrees(NamedTuple):
    """The bodies of a plant, and the trees of the contact problem.

    Attributes:
        topology: of the bodies, shape [num_mobods], see kernels/layout.py.
        trees: records of tree_dtype.
        of_mobod: the tree of each body, -1 of those that cannot move; shape [num_mobods].
        of_velocity: the tree of each velocity, shape [num_v].
    """

    topology: Topology
    trees: Trees
    of_mobod: Integers
    of_velocity: Integers


class ConstraintSources(NamedTuple):
    """Of what the constraints of a step are made.

    Attributes:
        contact_pairs: records of contact_pair_dtype.
        limits: of joints, records of limit_dtype.
        frictions: dry friction of joints, records of friction_dtype.
        rows: of constraints between bodies and coordinates, see kernels/constraints/records.py.
        drives: records of drive_dtype.
        transmissions: see kernels/transmissions/records.py.
        lengths, arms: q with their lengths behind it, and their moment arms, see kernels/transmissions/motion.py.
    """

    contact_pairs: ContactPairs
    limits: Limits
    frictions: Frictions
    rows: ConstraintRecords
    drives: Drives
    transmissions: Transmissions
    lengths: Floats
    arms: FloatTable


class ProblemTrees(NamedTuple):
    """The trees of a step, as the solver takes them; see layout.py. Those of the plant come first.

    Deformable bodies that take part in contacts or constraints are behind them, one tree each.

    Attributes:
        trees: records of tree_dtype.
        matrix: blocks of A.
        is_locked, v: of each velocity.
        v_star: the same, where there are deformable bodies; else v* is that of the rigid ones alone.
        counts: one record of tree_counts_dtype; compiled code cannot return tuples of records.
    """

    trees: Trees
    matrix: Floats
    is_locked: Integers
    v: Floats
    v_star: Floats
    counts: TreeCounts


class ProblemArrays(NamedTuple):
    """The constraints of a step, as the solver takes them; see layout.py. Contacts come first, in the order of pairs.

    Those of deformable bodies come last: contacts, then fixed vertices.

    Attributes:
        constraints: records of constraint_dtype.
        rows: records of row_dtype.
        jacobian: blocks of J.
        counts: one record of problem_counts_dtype.
        values: of each of the ConstraintSources.rows, records of constraint_value_dtype.
    """

    constraints: Constraints
    rows: Rows
    jacobian: Floats
    counts: ProblemCounts
    values: ConstraintValues
