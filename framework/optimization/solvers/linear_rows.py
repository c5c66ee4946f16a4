"""Linear constraints of a program as equations and inequalities, and their prices back from those of the rows."""

from __future__ import annotations

__all__ = ["LinearRows", "Triplets"]

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.programs.binding import Binding

_Index = npt.NDArray[np.intp]


class Triplets:
    """A sparse matrix in the making: rows, columns and values of entries, which add up."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.columns: list[Any] = []
        self.values: list[Any] = []

    def add(self, rows: Any, columns: Any, values: Any) -> None:
        """Adds entries."""
        self.rows.append(rows)
        self.columns.append(columns)
        self.values.append(values)

    def csc(self, shape: tuple[int, int]) -> Any:
        """The matrix as a scipy.sparse.csc_matrix."""
        from scipy.sparse import csc_matrix

        if not self.rows:
            return csc_matrix(shape)
        values, rows, columns = (np.concatenate(each) for each in (self.values, self.rows, self.columns))
        place = columns.astype(np.int64) * shape[0] + rows  # column by column
        order = np.argsort(place, kind="stable")
        place, values = place[order], values[order]
        is_new = place[1:] != place[:-1]
        if not is_new.all():
            starts = np.concatenate(([0], np.flatnonzero(is_new) + 1))
            place, values = place[starts], np.add.reduceat(values, starts)
        first_of_column = np.searchsorted(place, shape[0] * np.arange(shape[1] + 1))
        index = np.int32 if max(shape[0], values.size) < 2**31 else np.int64
        rows = (place % max(shape[0], 1)).astype(index)
        # Half of the time that scipy takes to sort the entries of a program of ten variables, a tenth of its solution.
        return csc_matrix((values, rows, first_of_column.astype(index)), shape=shape)


class LinearRows:
    """Equations E x = e and inequalities G x <= h of linear constraints lb <= A x <= ub, row by row."""

    def __init__(self) -> None:
        self.equations = Triplets()
        self.inequalities = Triplets()
        self.num_equations = 0
        self.num_inequalities = 0
        self._right: list[Array] = []  # e
        self._limits: list[Array] = []  # h
        # of each binding, its rows that are equations, upper and lower bounds, and where these begin
        self._kept: list[tuple[Binding, _Index, int, _Index, int, _Index, int]] = []

    def add(self, binding: Binding, places: _Index) -> None:
        """Adds a linear constraint whose variables have the given places in x."""
        constraint = binding.evaluator()
        low, high = constraint._lower, constraint._upper
        is_between = low != high
        equal = (~is_between).nonzero()[0]
        upper = (is_between & (high < np.inf)).nonzero()[0]
        lower = (is_between & (low > -np.inf)).nonzero()[0]
        starts = (self.num_equations, self.num_inequalities, self.num_inequalities + upper.size)
        self._kept.append((binding, equal, starts[0], upper, starts[1], lower, starts[2]))
        rows, columns, values = constraint._entries()
        columns = places[columns]
        for chosen, start, target, sign in (
            (equal, starts[0], self.equations, 1.0),
            (upper, starts[1], self.inequalities, 1.0),
            (lower, starts[2], self.inequalities, -1.0),
        ):
            if chosen.size == low.size:
                target.add(start + rows, columns, sign * values)
            elif chosen.size:
                new_row = np.full(low.size, -1)
                new_row[chosen] = start + np.arange(chosen.size)
                kept = new_row[rows] >= 0
                target.add(new_row[rows[kept]], columns[kept], sign * values[kept])
        if equal.size:
            self._right.append(low[equal])
        self._limits += [high[upper], -low[lower]]
        self.num_equations += equal.size
        self.num_inequalities += upper.size + lower.size

    def num_entries(self) -> int:
        """The number of entries of E and G."""
        return sum(len(values) for part in (self.equations, self.inequalities) for values in part.values)

    def right(self) -> Array:
        """e, shape [num_equations]."""
        return np.concatenate([np.zeros(0), *self._right])

    def limits(self) -> Array:
        """h, shape [num_inequalities]."""
        return np.concatenate([np.zeros(0), *self._limits])

    def duals(self, of_equations: Array, of_inequalities: Array) -> dict[Binding, Array]:
        """Prices of the constraints, of those of the rows: derivatives of the least cost by e and by h."""
        result: dict[Binding, Array] = {}
        for binding, equal, first, upper, second, lower, third in self._kept:
            dual = np.zeros(binding.evaluator().num_constraints())
            dual[equal] = of_equations[first : first + equal.size]
            dual[upper] += of_inequalities[second : second + upper.size]
            dual[lower] -= of_inequalities[third : third + lower.size]
            result[binding] = dual
        return result
