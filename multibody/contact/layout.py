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

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.framework.native.memory.simd import varying
from merganser.multibody.linear.records import Constraints, Trees, tree_dtype

Count: TypeAlias = int  # what a kernel returns that counts, and is no status

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

row_dtype = np.dtype(
    [
        ("g", np.float64),  # value of the constraint at the start of the step; phi < 0 is overlap; of a drive q - q_d
        ("bias", np.float64),  # b
    ]
)

settings_dtype = np.dtype(
    [
        ("approximation", np.int64),  # the kind of the law of contact, see laws.py
        ("code", np.int64),  # addresses of the functions of a program's own law, see kernels/kind_table.py
        ("complex_code", np.int64),
        ("is_softened", np.int64),  # whether searches that linger make contacts softer, see newton.py
        ("stiction_tolerance", np.float64),  # v_s [m/s], of all approximations but SAP
        ("sigma", np.float64),  # R_t = sigma w_t
        ("absolute_tolerance", np.float64),  # [sqrt(J)]
        ("relative_tolerance", np.float64),
        ("max_iterations", np.int64),
        ("shortest_relaxation", np.float64),  # [s], of rigid constraints; twice the step if that is longer
    ]
)

law_dtype = np.dtype(
    [
        # What a law reads is together, so that rows of PD controllers touch less memory, 3 % of a hand's step.
        # hunt_crossley.py
        ("elastic", np.float64),  # a [N s]
        ("dissipation", np.float64),  # d [s/m]
        ("softness", np.float64),  # eps, v_s of TAMSI [m/s]
        ("lagged", np.float64),  # n_0 [N s]
        ("approximation", np.int64),  # of a contact, which kind its law is of, see laws.py
        ("friction", np.float64),  # mu of a contact
        # How steeply the impulse of a row, or of a contact along its normal, falls with the velocity: K of bounded.py,
        # 1 / R_n of friction_cone.py, where 0 switches the contact off, b of hunt_crossley.py [kg].
        ("gain", np.float64),
        # bounded.py
        ("offset", np.float64),  # c
        ("lower", np.float64),
        ("upper", np.float64),
        # friction_cone.py
        ("tangent_gain", np.float64),  # 1 / R_t
        ("normal_target", np.float64),  # v^_n
        ("cone_scale", np.float64),  # mu^
        ("factor", np.float64),  # f
        # What softer problems need of hunt_crossley.py:
        ("true_elastic", np.float64),  # a and b of the problem, when `elastic` and `gain` are those of a softer one
        ("true_gain", np.float64),
        ("rigid_gain", np.float64),  # 1 / w [kg], from which on the contact is rigid compared to what it touches
        # Of a contact, from before its law is set, see law_kind.py:
        ("time_step", np.float64),  # h [s]
        ("compliance", np.float64),  # w [1/kg]
        ("gap", np.float64),  # phi [m]
        ("code", np.int64),  # of a program's own law, as in the settings
        ("complex_code", np.int64),
    ]
)
varying(law_dtype)

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
varying(result_dtype)


# What kernels take, by the hints of their parameters (framework/native/memory/hinted_types.py).
Rows = Annotated[NDArray[Any], ArrayOf(row_dtype)]
Law = Annotated[Any, RecordOf(law_dtype)]
Laws = Annotated[NDArray[Any], ArrayOf(law_dtype)]  # of each row; of a contact in the place of its first one
Settings = Annotated[Any, RecordOf(settings_dtype)]
Statistics = Annotated[Any, RecordOf(result_dtype)]


class StepProblem(NamedTuple):
    """What the solver is given.

    Attributes:
        time_step: h [s].
        settings: record of settings_dtype.
        trees: shape [num_trees].
        matrix: blocks of A.
        is_locked: of each velocity, whether it keeps its value in v_star; shape [num_v].
        v: before the step, shape [num_v].
        v_star: without constraints.
        guess: where the search starts; may be longer, and the array that receives the result.
        is_again: whether the last problem with these work arrays was this one but for v_star: laws and islands are its.
        constraints, rows, jacobian: see above.
    """

    time_step: float
    settings: Settings
    trees: Trees
    matrix: Floats
    is_locked: Integers
    v: Floats
    v_star: Floats
    guess: Floats
    is_again: int
    constraints: Constraints
    rows: Rows
    jacobian: Floats


class SolverWork(NamedTuple):
    """Room for the solver, see work_arrays.py.

    Attributes:
        laws, numbers, integers: the room; the factorization gets what others leave.
    """

    laws: Laws
    numbers: Floats
    integers: Integers


class Solution(NamedTuple):
    """What the solver finds.

    Attributes:
        v: velocities after the step, shape [num_v]; may be longer.
        impulses: gamma, shape [num_rows].
        statistics: record of result_dtype.
    """

    v: Floats
    impulses: Floats
    statistics: Statistics


def make_trees(sizes: Sequence[int]) -> NDArray[Any]:
    """Records of trees with these numbers of velocities, one after the other, shape [num_trees]."""
    trees = np.zeros(len(sizes), tree_dtype)
    trees["num_v"] = sizes
    trees["v_start"] = np.cumsum(trees["num_v"]) - trees["num_v"]
    squares = trees["num_v"] ** 2
    trees["matrix_start"] = np.cumsum(squares) - squares
    return trees
