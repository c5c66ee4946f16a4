"""Room for the kernels that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels.loops import loop_constraint_dtype
from merganser.multibody.plant.workspace import Workspace

__all__ = ["LoopArrays"]

Array = NDArray[Any]


class LoopArrays:
    """Constraints of one plant in one Context, and workspace of kernels/loop_dynamics.py.

    Args:
        w: the other arrays of the plant in the Context.
        rows: constraint records of the plant, shape [num_rows].

    Attributes:
        rows: as given.
        constraints: errors, rates, forces and multipliers of the constraints, shape [num_rows].
        K: the matrix of the constraints, K vdot = b, shape [num_rows, num_v].
        kept: which rows velocities can change, shape [num_rows].
        F: spatial forces on bodies in the order of mobods, those of the constraints included, shape [num_mobods, 6].
        work: arguments of the kernels between `scratch` and `constraints`.
    """

    __slots__ = ("F", "K", "constraints", "kept", "rows", "work")

    def __init__(self, w: Workspace, rows: Array) -> None:
        num_rows, num_v = len(rows), len(w.v)
        self.rows = rows
        self.constraints = w.make_records(num_rows, loop_constraint_dtype)
        self.K = np.zeros((num_rows, num_v), w.dtype)
        self.kept = np.zeros(num_rows, np.int64)
        M, Y = np.zeros((num_v, num_v), w.dtype), np.zeros((num_rows + 1, num_v), w.dtype)
        C, order = np.zeros((num_rows, num_rows), w.dtype), np.zeros((2, num_rows), np.int64)
        self.F = np.zeros((len(w.topology), 6), w.dtype)
        self.work = (M, Y, C, order)
