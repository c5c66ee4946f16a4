"""The workspace of the solver: two flat arrays that the caller owns, and the views that kernels take of the
first one, of floats; those of the integers are in linear/ordering.py.

Nothing is allocated in a step. How much the factorization takes depends on which trees touch: if its part is too small,
the solver says so, and how much it needs, and the caller tries again with a larger array.
"""

from __future__ import annotations

from typing import NamedTuple

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.views import as_matrix
from merganser.multibody.contact.layout import Laws, SolverWork
from merganser.multibody.linear.records import HESSIAN_SIZE

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

_ROW_SIZE = 4 + HESSIAN_SIZE
_CONTACT_SIZE = 12  # v_c, gamma and G of one contact


class Workspace(NamedTuple):
    """Numbers of the search; few arrays, as compilation takes longer with each."""

    contact: Floats  # v_c, gamma and G of one contact on the way, shape [12]
    velocities: FloatTable  # shape [8, num_v], see above
    velocity: Floats  # v_c, shape [num_rows]
    velocity_step: Floats  # J dv, shape [num_rows]
    compliance: Floats  # w of each constraint, at its first row, shape [num_rows]
    laws: Laws  # shape [num_rows]
    hessian: Floats  # G, shape [HESSIAN_SIZE num_rows]
    factor: Floats  # panels of U, shape [factor capacity]


class Reduction(NamedTuple):
    """Numbers that are set once, before the search."""

    velocity_guess: Floats  # v_c where TAMSI starts, shape [num_rows]
    matrix: Floats  # as `matrix`, without what belongs to locked velocities
    jacobian: Floats  # as `jacobian`, without the columns of locked velocities


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
    of_rows = _CONTACT_SIZE + _NUM_VELOCITY_ARRAYS * num_velocities + _ROW_SIZE * num_rows
    return of_rows + matrix_size + jacobian_size + factor_capacity


@device
def carve_workspace(num_v: int, num_rows: int, matrix_size: int, jacobian_size: int, room: SolverWork) -> Workspace:
    """Views of the first and of the last numbers; the factorization gets what others leave."""
    work = room.numbers
    rows = _CONTACT_SIZE + _NUM_VELOCITY_ARRAYS * num_v
    hessian = rows + 3 * num_rows
    others = hessian + HESSIAN_SIZE * num_rows
    return Workspace(
        work[:_CONTACT_SIZE],
        as_matrix(work[_CONTACT_SIZE:rows], _NUM_VELOCITY_ARRAYS, num_v),
        work[rows : rows + num_rows],
        work[rows + num_rows : rows + 2 * num_rows],
        work[rows + 2 * num_rows : hessian],
        room.laws,
        work[hessian:others],
        work[others + num_rows + matrix_size + jacobian_size :],
    )


@device
def carve_reduction(num_v: int, num_rows: int, matrix_size: int, jacobian_size: int, work: Floats) -> Reduction:
    """Views of the middle part of `work`."""
    start = _CONTACT_SIZE + _NUM_VELOCITY_ARRAYS * num_v + (_ROW_SIZE - 1) * num_rows
    matrix = start + num_rows
    jacobian = matrix + matrix_size
    return Reduction(work[start:matrix], work[matrix:jacobian], work[jacobian : jacobian + jacobian_size])
