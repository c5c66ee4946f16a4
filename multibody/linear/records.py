"""Records of trees and constraints: where their velocities, rows, and blocks of A and J are.

A is dense for each tree and zero between trees; J has one or two blocks for each constraint, at the velocities of its
trees. All blocks are by rows. What else a constraint says is for the laws of contact (contact/layout.py).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.framework.native.memory.simd import varying

HESSIAN_SIZE = 3  # numbers of G for each row; of a contact 9 in all, of which six are used

# Kinds of constraint.
CONTACT = 0  # three rows; by `approximation` of the settings
HOLONOMIC = 1  # any number of rows: spring and damper with bounds of the impulse, nearly rigid if stiff
DRIVE = 2  # one row: PD-controlled actuator with an effort limit

tree_dtype = np.dtype(
    [
        ("v_start", np.int64),
        ("num_v", np.int64),
        ("matrix_start", np.int64),  # where its block starts in `matrix`
    ]
)

constraint_dtype = np.dtype(
    [
        ("kind", np.int64),
        ("tree_0", np.int64),
        ("tree_1", np.int64),  # -1 if there is one tree only; otherwise not tree_0
        ("row_start", np.int64),
        ("num_rows", np.int64),
        ("jacobian_0", np.int64),  # where the block of tree_0 starts in `jacobian`
        ("jacobian_1", np.int64),
        ("column_0", np.int64),  # which velocity of tree_0 has the first column of its block
        ("num_columns_0", np.int64),  # and how many columns there are
        ("column_1", np.int64),  # the same of tree_1
        ("num_columns_1", np.int64),
        ("stiffness", np.float64),  # [N/m, N m/rad]; of a drive Kp; inf is nearly rigid
        ("relaxation_time", np.float64),  # tau [s] of SAP contacts and holonomic constraints
        ("damping", np.float64),  # of Hunt and Crossley d [s/m]; of a drive Kd
        ("friction", np.float64),  # mu, of a contact
        ("elastic_force", np.float64),  # of Hunt and Crossley: at the start of the step, k (-phi) or 0 [N]
        ("beta", np.float64),  # near-rigid threshold: stiffer than a period of beta h is not resolved
        ("lower", np.float64),  # bounds of each row's impulse, of a holonomic constraint; of a drive the effort's
        ("upper", np.float64),
        ("velocity_target", np.float64),  # v_d of a drive
        ("feedforward", np.float64),  # effort u_ff of a drive [N m or N]
    ]
)
varying(constraint_dtype)

# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
Tree = Annotated[Any, RecordOf(tree_dtype)]
Trees = Annotated[NDArray[Any], ArrayOf(tree_dtype)]
Constraint = Annotated[Any, RecordOf(constraint_dtype)]
Constraints = Annotated[NDArray[Any], ArrayOf(constraint_dtype)]


class Problem(NamedTuple):
    """A problem, as kernels hand it on; A and J may be those of the velocities that are not locked.

    Attributes:
        settings: of its solver.
        trees, constraints: records as above.
        matrix, jacobian: blocks of A and J, see contact/layout.py.
    """

    settings: Any
    trees: Trees
    matrix: Floats
    constraints: Constraints
    jacobian: Floats
