"""The workspace of the solver: two flat arrays that the caller owns, and the views that kernels take of them.

Nothing is allocated in a step. How much the factorization takes depends on which trees touch: if its part is too small,
the solver says so, and how much it needs, and the caller tries again with a larger array.
"""

from __future__ import annotations

from typing import NamedTuple

from merganser.framework.native import device
from merganser.framework.native.memory.views import as_matrix
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.ordering import Pattern
from merganser.multibody.contact.regularization import LAW_SIZE

__all__ = [
    "GUESS",
    "HESSIAN_SIZE",
    "IMPULSE",
    "MOMENTUM",
    "MOMENTUM_STAR",
    "MOMENTUM_STEP",
    "SCALE",
    "SCRATCH",
    "STEP",
    "Islands",
    "Reduction",
    "Workspace",
    "carve_islands",
    "carve_pattern",
    "carve_reduction",
    "carve_workspace",
    "integer_workspace_size",
    "workspace_size",
]

HESSIAN_SIZE = 3  # numbers of G for each row; of a contact 9 in all, of which six are used

# Rows of Workspace.velocities.
STEP = 0  # dv
MOMENTUM = 1  # A v
MOMENTUM_STAR = 2  # A v*
MOMENTUM_STEP = 3  # A dv
IMPULSE = 4  # J^T gamma
SCALE = 5  # diag(A)^-1/2
SCRATCH = 6
GUESS = 7  # where TAMSI starts
_NUM_VELOCITY_ARRAYS = 8

_ROW_SIZE = 4 + LAW_SIZE + HESSIAN_SIZE
_NUM_ISLAND_ARRAYS = 6  # with a number for each tree, as all but the blocks of a pattern have
_NUM_PANEL_ARRAYS = 5


class Workspace(NamedTuple):
    """Numbers of the search; few arrays, as compilation takes longer with each."""

    velocities: Array  # shape [8, num_v], see above
    velocity: Array  # v_c, shape [num_rows]
    velocity_step: Array  # J dv, shape [num_rows]
    compliance: Array  # w of each constraint, at its first row, shape [num_rows]
    law: Array  # shape [LAW_SIZE num_rows]
    hessian: Array  # G, shape [HESSIAN_SIZE num_rows]
    factor: Array  # panels of U, shape [factor capacity]


class Reduction(NamedTuple):
    """Numbers that are set once, before the search."""

    velocity_guess: Array  # v_c where TAMSI starts, shape [num_rows]
    matrix: Array  # as `matrix`, without what belongs to locked velocities
    jacobian: Array  # as `jacobian`, without the columns of locked velocities


class Islands(NamedTuple):
    """Trees and constraints, sorted by island."""

    parent: Array  # of the union-find forest, shape [num_trees]
    island_of: Array  # of each tree, or -1, shape [num_trees]
    tree_order: Array  # the trees of island 0, then of island 1 ..., shape [num_trees]
    tree_start: Array  # where island i starts in tree_order, then where the last one ends, shape [num_trees + 2]
    constraint_start: Array  # shape [num_trees + 2]
    constraint_order: Array  # shape [num_constraints]
    weight: Array  # scratch, shape [num_trees]
    bits: Array  # scratch, a row of bits for each tree, shape [num_trees * words]


@device
def workspace_size(
    num_velocities: int, num_rows: int, matrix_size: int, jacobian_size: int, factor_capacity: int
) -> int:
    """How many float64 the workspace takes.

    Args:
        num_velocities: of all trees.
        num_rows: of all constraints.
        matrix_size: numbers in the blocks of A.
        jacobian_size: numbers in the blocks of J.
        factor_capacity: numbers of a factorization; 2 n^2 for n velocities is always enough.
    """
    return _NUM_VELOCITY_ARRAYS * num_velocities + _ROW_SIZE * num_rows + matrix_size + jacobian_size + factor_capacity


@device
def integer_workspace_size(num_velocities: int, num_trees: int, num_constraints: int, block_capacity: int) -> int:
    """How many int64 the workspace takes.

    Args:
        num_velocities: of all trees.
        num_trees: of the problem.
        num_constraints: of the problem.
        block_capacity: blocks off the diagonal of a factorization; n (n - 1) / 2 for n trees is always enough.
    """
    return _first_block(num_velocities, num_trees, num_constraints) + 2 * block_capacity


@device
def _first_block(num_velocities: int, num_trees: int, num_constraints: int) -> int:
    """Where the blocks of the pattern start."""
    return _first_way(num_trees, num_constraints) + 2 * num_velocities


@device
def _first_way(num_trees: int, num_constraints: int) -> int:
    """Where the ways of velocities start."""
    words = (num_trees + 31) // 32
    return (_NUM_ISLAND_ARRAYS + _NUM_PANEL_ARRAYS) * (num_trees + 2) + num_trees * words + num_constraints


@device
def carve_workspace(num_v: int, num_rows: int, matrix_size: int, jacobian_size: int, work: Array) -> Workspace:
    """Views of the first and of the last part of `work`; the factorization gets what others leave."""
    rows = _NUM_VELOCITY_ARRAYS * num_v
    law = rows + 3 * num_rows
    hessian = law + LAW_SIZE * num_rows
    others = hessian + HESSIAN_SIZE * num_rows
    return Workspace(
        as_matrix(work[:rows], _NUM_VELOCITY_ARRAYS, num_v),
        work[rows : rows + num_rows],
        work[rows + num_rows : rows + 2 * num_rows],
        work[rows + 2 * num_rows : law],
        work[law:hessian],
        work[hessian:others],
        work[others + num_rows + matrix_size + jacobian_size :],
    )


@device
def carve_reduction(num_v: int, num_rows: int, matrix_size: int, jacobian_size: int, work: Array) -> Reduction:
    """Views of the middle part of `work`."""
    start = _NUM_VELOCITY_ARRAYS * num_v + (_ROW_SIZE - 1) * num_rows
    matrix = start + num_rows
    jacobian = matrix + matrix_size
    return Reduction(work[start:matrix], work[matrix:jacobian], work[jacobian : jacobian + jacobian_size])


@device
def carve_islands(num_trees: int, num_constraints: int, integer_work: Array) -> Islands:
    """Views of the first part of `integer_work`."""
    n, words = num_trees + 2, (num_trees + 31) // 32
    scratch = _NUM_ISLAND_ARRAYS * n + num_constraints
    return Islands(
        integer_work[:n],
        integer_work[n : 2 * n],
        integer_work[2 * n : 3 * n],
        integer_work[3 * n : 4 * n],
        integer_work[4 * n : 5 * n],
        integer_work[6 * n : scratch],
        integer_work[5 * n : 6 * n],
        integer_work[scratch : scratch + num_trees * words],
    )


@device
def carve_pattern(
    num_velocities: int, num_trees: int, num_constraints: int, block_capacity: int, integer_work: Array
) -> Pattern:
    """Views of the second part of `integer_work`."""
    n = num_trees + 2
    ways = _first_way(num_trees, num_constraints)
    blocks = ways + 2 * num_velocities
    start = ways - _NUM_PANEL_ARRAYS * n
    return Pattern(
        integer_work[start : start + n],
        integer_work[start + n : start + 2 * n],
        integer_work[start + 2 * n : start + 3 * n],
        integer_work[start + 3 * n : start + 4 * n],
        integer_work[start + 4 * n : start + 5 * n],
        integer_work[blocks : blocks + block_capacity],
        integer_work[blocks + block_capacity : blocks + 2 * block_capacity],
        integer_work[ways : ways + num_velocities],
        integer_work[ways + num_velocities : blocks],
    )
