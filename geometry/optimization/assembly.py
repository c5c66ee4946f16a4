"""Programs of many small blocks, put together fast: all linear rows become one sparse constraint."""

from __future__ import annotations

__all__ = ["Assembly", "Index"]

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.program import MathematicalProgram
from merganser.framework.symbolic import MakeVectorContinuousVariable
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.perspective import Block, add_block

Index = npt.NDArray[np.intp]


class Assembly:
    """Variables, rows and cones of a program to be; variables go by their numbers, called columns."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        self._num_rows = 0
        self._triplets: list[tuple[Index, Index, Array]] = []
        self._lower: list[Array] = []
        self._upper: list[Array] = []
        self._cones: list[tuple[Block, Index]] = []

    def add_variables(self, variables: Objects) -> Index:
        """Adds variables, shape [n], that are not there yet; returns their columns."""
        first = len(self._variables)
        self._variables += variables.tolist()
        return np.arange(first, len(self._variables))

    def add_new(self, n: int) -> Index:
        """Adds n new variables; returns their columns."""
        return self.add_variables(MakeVectorContinuousVariable(n, "w")) if n else np.zeros(0, np.intp)

    def add_rows(self, A: Array, columns: Index, lower: float, upper: float) -> None:
        """Adds lower <= A w <= upper of the variables w in some columns, the same bounds for all rows."""
        rows, places = np.nonzero(A)
        self._triplets.append((rows + self._num_rows, columns[places], A[rows, places]))
        self._num_rows += A.shape[0]
        self._lower.append(np.full(A.shape[0], lower))
        self._upper.append(np.full(A.shape[0], upper))

    def add(self, block: Block, columns: Index) -> None:
        """Adds A w in a cone, of the variables w in some columns."""
        self.add_each(block, columns[np.newaxis])

    def add_each(self, block: Block, columns: Index) -> None:
        """Adds A w in a cone for each of several w, in the rows of columns, shape [k, size of w]."""
        cone, A = block
        if cone not in ("zero", "at most zero"):
            self._cones += [(block, each) for each in columns]
            return
        rows, places = np.nonzero(A)
        k, m = columns.shape[0], A.shape[0]
        starts = self._num_rows + m * np.arange(k)
        self._triplets.append(
            ((starts[:, np.newaxis] + rows).ravel(), columns[:, places].ravel(), np.tile(A[rows, places], k))
        )
        self._num_rows += k * m
        self._lower.append(np.full(k * m, 0.0 if cone == "zero" else -np.inf))
        self._upper.append(np.zeros(k * m))

    def program(self) -> MathematicalProgram:
        """The program, without costs."""
        from scipy.sparse import csc_matrix

        prog = MathematicalProgram()
        variables = objects(self._variables)
        prog.AddDecisionVariables(variables)
        if self._num_rows:
            rows, columns, values = (np.concatenate(each) for each in zip(*self._triplets))
            A = csc_matrix((values, (rows, columns)), shape=(self._num_rows, variables.size))
            prog.AddLinearConstraint(A, np.concatenate(self._lower), np.concatenate(self._upper), variables)
        for block, columns in self._cones:
            add_block(prog, block, np.zeros(block.A.shape[0]), variables[columns])
        return prog
