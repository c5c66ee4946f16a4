"""The arrays of a contact problem: record types, codes, settings and the sizes of the workspace.

A step of length h looks for the velocities v after the step, which minimize the convex function

    l(v) = 1/2 (v - v*)^T A (v - v*) + sum_c l_c(J_c v + b_c)                             (1)

with A = M + h D, v* the velocities of the step without constraints, and one potential l_c for each constraint c, whose
impulse is gamma_c = -dl_c/dv_c at v_c = J_c v + b_c. A is dense for each tree and zero between trees.

======================= ======================================================================================
array                   holds
======================= ======================================================================================
trees                   records of tree_dtype: where the velocities and the block of A of a tree are
matrix                  the blocks of A one after the other, each [num_v, num_v] by rows
constraints             records of constraint_dtype: kind, trees, rows, numbers of the law
rows                    records of row_dtype, num_rows of one constraint after the other: g and b
jacobian                blocks by rows, one or two for each constraint, at the velocities of its trees
======================= ======================================================================================

Rows of a contact are [t1, t2, n]: velocities of body B relative to body A in a frame whose third axis n points from A
into B, so that v_n < 0 is approach, and gamma_n > 0 pushes B. Other constraints have g(q) with gdot = J v + b.

Units: SI; impulses are N s (N m s for angular rows).
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np

from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf

__all__ = [
    "CONTACT",
    "CONVERGED",
    "DRIVE",
    "FELL_BACK",
    "HOLONOMIC",
    "LAGGED",
    "NOT_A_NUMBER",
    "NOT_CONVERGED",
    "NO_CAPACITY",
    "SAP",
    "SIMILAR",
    "SINGULAR_MATRIX",
    "TAMSI",
    "Array",
    "Constraints",
    "Count",
    "Problem",
    "Rows",
    "Settings",
    "Solution",
    "SolverWork",
    "Statistics",
    "StepProblem",
    "Trees",
    "constraint_dtype",
    "result_dtype",
    "row_dtype",
    "settings_dtype",
    "tree_dtype",
]

Array: TypeAlias = Any  # an array or a record
Count: TypeAlias = int  # what a kernel returns that counts, and is no status

# Kinds of constraint.
CONTACT = 0  # three rows; by `approximation` of the settings
HOLONOMIC = 1  # any number of rows: spring and damper with bounds of the impulse, nearly rigid if stiff
DRIVE = 2  # one row: PD-controlled actuator with an effort limit

# Approximations of contact, in the order of pydrake's DiscreteContactApproximation.
TAMSI = 0
SAP = 1
SIMILAR = 2
LAGGED = 3

# Status of a solution.
CONVERGED = 0
FELL_BACK = 1  # a warning: TAMSI found no solution of some island, which got that of LAGGED instead
NOT_CONVERGED = -1  # the last iterate is returned
NO_CAPACITY = -2  # the workspace is too small; the result says how large it must be
NOT_A_NUMBER = -3  # NaN or infinity came in or up
SINGULAR_MATRIX = -4  # a block of A is not positive definite

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

row_dtype = np.dtype(
    [
        ("g", np.float64),  # value of the constraint at the start of the step; phi < 0 is overlap; of a drive q - q_d
        ("bias", np.float64),  # b
    ]
)

settings_dtype = np.dtype(
    [
        ("approximation", np.int64),
        ("stiction_tolerance", np.float64),  # v_s [m/s], of all approximations but SAP
        ("sigma", np.float64),  # R_t = sigma w_t
        ("absolute_tolerance", np.float64),  # [sqrt(J)]
        ("relative_tolerance", np.float64),
        ("max_iterations", np.int64),
        ("shortest_relaxation", np.float64),  # [s], of rigid constraints; twice the step if that is longer
    ]
)

result_dtype = np.dtype(
    [
        ("num_islands", np.int64),
        ("iterations", np.int64),  # of the island that took most
        ("total_iterations", np.int64),
        ("line_search_iterations", np.int64),  # in all
        ("num_fallbacks", np.int64),  # islands where TAMSI gave up
        ("residual", np.float64),  # greatest, relative to the momentum scale of its island
        ("factor_needed", np.int64),  # numbers that the greatest factorization takes
        ("blocks_needed", np.int64),  # blocks off the diagonal that it has
    ]
)


# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
Trees = Annotated[Array, ArrayOf(tree_dtype)]
Constraints = Annotated[Array, ArrayOf(constraint_dtype)]
Rows = Annotated[Array, ArrayOf(row_dtype)]
Settings = Annotated[Any, RecordOf(settings_dtype)]
Statistics = Annotated[Any, RecordOf(result_dtype)]


class StepProblem(NamedTuple):
    """What the solver is told.

    Attributes:
        time_step: h [s].
        settings: record of settings_dtype.
        trees: shape [num_trees].
        matrix: blocks of A.
        is_locked: of each velocity, whether it keeps its value in v_star; shape [num_v].
        v: before the step, where the search starts, shape [num_v].
        v_star: without constraints.
        constraints, rows, jacobian: see above.
    """

    time_step: float
    settings: Settings
    trees: Trees
    matrix: Floats
    is_locked: Integers
    v: Floats
    v_star: Floats
    constraints: Constraints
    rows: Rows
    jacobian: Floats


class SolverWork(NamedTuple):
    """Room for the solver, see work_arrays.py.

    Attributes:
        block_capacity: for how many blocks off the diagonal there is room.
        numbers, integers: the room.
    """

    block_capacity: int
    numbers: Floats
    integers: Integers


class Solution(NamedTuple):
    """What the solver finds.

    Attributes:
        v: velocities after the step, shape [num_v].
        impulses: gamma, shape [num_rows].
        statistics: record of result_dtype.
    """

    v: Floats
    impulses: Floats
    statistics: Statistics


class Problem(NamedTuple):
    """The arrays above, as kernels hand them on; A and J may be those of the velocities that are not locked."""

    settings: Array
    trees: Array
    matrix: Array
    constraints: Array
    jacobian: Array
