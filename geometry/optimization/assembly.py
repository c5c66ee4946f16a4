"""Programs of many small blocks, put together fast: all linear rows become one sparse constraint."""

from __future__ import annotations

__all__ = ["Assembly", "Index"]

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.perspective import Block, evaluator_of

Index = npt.NDArray[np.intp]


class Assembly:
    """Variables, rows and cones of a program to be; variables go by their numbers, called columns."""

    def __init__(self) -> None:
        self._variables: list[Any] = []
        # linear rows by their bounds and the shape of A, so that all of a kind become entries at once
        self._rows: dict[tuple[float, float, tuple[int, ...]], tuple[list[Array], list[Index]]] = {}
        self._cones: list[tuple[Block, Index]] = []

    def add_variables(self, variables: Objects) -> Index:
        """Adds variables, shape [n], that are not there yet; returns their columns."""
        first = len(self._variables)
        self._variables += variables.tolist()
        return np.arange(first, len(self._variables))

    def add_new(self, n: int) -> Index:
        """Adds n new variables; returns their columns."""
        from merganser.framework.symbolic import MakeVectorContinuousVariable

        return self.add_variables(MakeVectorContinuousVariable(n, "w")) if n else np.zeros(0, np.intp)

    def add_rows(self, A: Array, columns: Index, lower: float, upper: float) -> None:
        """Adds lower <= A w <= upper of the variables w in some columns, the same bounds for all rows."""
        matrices, places = self._rows.setdefault((lower, upper, A.shape), ([], []))
        matrices.append(A)
        places.append(columns)

    def add(self, block: Block, columns: Index) -> None:
        """Adds A w in a cone, of the variables w in some columns."""
        if block.cone == "at most zero":
            self.add_rows(block.A, columns, -np.inf, 0.0)
        elif block.cone == "zero":
            self.add_rows(block.A, columns, 0.0, 0.0)
        else:
            self._cones.append((block, columns))

    def program(self) -> MathematicalProgram:
        """The program, without costs."""
        prog = MathematicalProgram()
        variables = objects(self._variables)
        prog.AddDecisionVariables(variables)
        if self._rows:
            prog.AddLinearConstraint(*self._linear(variables.size), variables)
        shared: dict[int, Any] = {}  # one constraint for all columns of a block
        for block, columns in self._cones:
            cone = shared.get(id(block))
            if cone is None:
                cone = shared[id(block)] = evaluator_of(block, np.zeros(block.A.shape[0]))
            prog.AddConstraint(Binding(cone, variables[columns]))
        return prog

    def _linear(self, size: int) -> tuple[Any, Array, Array]:
        """All linear rows: a sparse matrix, lower and upper bounds."""
        from scipy.sparse import csc_matrix

        triplets, lower, upper = [], [], []
        first = 0
        for (low, high, (m, _)), (matrices, places) in self._rows.items():
            A, columns = np.array(matrices), np.array(places, dtype=np.intp)
            which, row, place = np.nonzero(A)
            triplets.append((first + m * which + row, columns[which, place], A[which, row, place]))
            count = m * len(matrices)
            lower.append(np.full(count, low))
            upper.append(np.full(count, high))
            first += count
        rows, columns, values = (np.concatenate(each) for each in zip(*triplets))
        A = csc_matrix((values, (rows, columns)), shape=(first, size))
        return A, np.concatenate(lower), np.concatenate(upper)
