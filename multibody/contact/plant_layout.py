"""The arrays in which a plant says what holds it together, and those of its contact problem: see plant_problem.py."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from merganser.framework.native.records_of_arrays import FLOAT, INTEGER, ArrayOf
from merganser.multibody.contact.layout import Array, constraint_dtype, row_dtype, tree_dtype
from merganser.multibody.kernels.constraints import constraint_value_dtype
from merganser.multibody.kernels.layout import topology_dtype

__all__ = [
    "APPROACH",
    "NUM_FORCE_VALUES",
    "POINT",
    "SLIP",
    "ConstraintSources",
    "PlantTrees",
    "ProblemArrays",
    "drive_dtype",
    "limit_dtype",
]

# What a plant learns about a contact: the force on body A in W [N], then
APPROACH = 3  # the speed at which the bodies approach [m/s],
SLIP = 4  # the speed at which they slip,
POINT = 5  # and the point p_WC at which the force acts [m].
NUM_FORCE_VALUES = 8

limit_dtype = np.dtype(
    [
        ("q", np.int64),  # which position
        ("v", np.int64),  # and its velocity
        ("lower", np.float64),
        ("upper", np.float64),
    ]
)

drive_dtype = np.dtype(
    [
        ("v", np.int64),  # which velocity
        ("p", np.float64),  # gains
        ("d", np.float64),
        ("error", np.float64),  # q - q_d
        ("v_desired", np.float64),
        ("feedforward", np.float64),
        ("limit", np.float64),  # of the effort
    ]
)


class PlantTrees(NamedTuple):
    """The bodies of a plant, and the trees of the contact problem.

    Attributes:
        topology: of the bodies, shape [num_mobods], see kernels/layout.py.
        trees: records of tree_dtype.
        of_mobod: the tree of each body, -1 of those that cannot move; shape [num_mobods].
        of_velocity: the tree of each velocity, shape [num_v].
    """

    topology: Annotated[Array, ArrayOf(topology_dtype)]
    trees: Annotated[Array, ArrayOf(tree_dtype)]
    of_mobod: Annotated[Array, ArrayOf(INTEGER)]
    of_velocity: Annotated[Array, ArrayOf(INTEGER)]


class ConstraintSources(NamedTuple):
    """Of what the constraints of a step are made.

    Attributes:
        contact_pairs: records of contact_pair_dtype.
        limits: of joints, records of limit_dtype.
        rows: of constraints between bodies and coordinates, see kernels/constraints/records.py.
        drives: records of drive_dtype.
    """

    contact_pairs: Array
    limits: Array
    rows: Array
    drives: Array


class ProblemArrays(NamedTuple):
    """The constraints of a step, as the solver takes them; see layout.py. Contacts come first, in the order of pairs.

    Attributes:
        constraints: records of constraint_dtype.
        rows: records of row_dtype.
        jacobian: blocks of J.
        counts: numbers of constraints, rows, numbers of the Jacobian, contacts, and of these and limits; shape [5].
        values: of each of the ConstraintSources.rows, records of constraint_value_dtype.
    """

    constraints: Annotated[Array, ArrayOf(constraint_dtype)]
    rows: Annotated[Array, ArrayOf(row_dtype)]
    jacobian: Annotated[Array, ArrayOf(FLOAT)]
    counts: Annotated[Array, ArrayOf(INTEGER)]
    values: Annotated[Array, ArrayOf(constraint_value_dtype())]
