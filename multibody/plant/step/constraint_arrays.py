"""Room for dynamics with constraints in continuous time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.dynamics.records import Multipliers
from merganser.multibody.kernels.constraints import constraint_value_dtype
from merganser.multibody.plant.workspace import Workspace

Array = NDArray[Any]


class ConstraintArrays:
    """Rows of constraints of a plant in a Context, and workspace of kernels/constrained_dynamics.py.

    Args:
        w: the other arrays of the plant in the Context.
        rows: records of kernels/constraints/records.py, shape [num_rows].

    Attributes:
        rows: as given.
        values: errors, rates, forces and multipliers of the rows, shape [num_rows].
        K: the matrix of the constraints, K vdot = b, shape [num_rows, num_v].
        kept: which rows velocities can change, shape [num_rows].
        F: spatial forces on bodies in the order of mobods, those of the constraints included, shape [num_mobods, 6].
        record: all that the dynamics take of it.
    """

    __slots__ = ("F", "K", "kept", "record", "rows", "values")

    def __init__(self, w: Workspace, rows: Array) -> None:
        num_rows, num_v = len(rows), len(w.v)
        self.rows = rows
        self.values = w.make_records(num_rows, constraint_value_dtype)
        self.K = np.zeros((num_rows, num_v), w.dtype)
        self.kept = np.zeros(num_rows, np.int64)
        M, Y = np.zeros((num_v, num_v), w.dtype), np.zeros((num_rows + 1, num_v), w.dtype)
        C, order = np.zeros((num_rows, num_rows), w.dtype), np.zeros((2, num_rows), np.int64)
        self.F = np.zeros((len(w.topology), 6), w.dtype)
        self.record = Multipliers(rows, M, Y, C, order, self.values, self.K, self.F)
