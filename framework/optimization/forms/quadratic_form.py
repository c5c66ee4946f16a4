"""Linear constraints and quadratic costs of a program as arrays, and prices back from those of their rows.

Where entries are in these arrays follows from the variables of costs and constraints: that is found once, and kept with
the program until it changes. Arrays are made again where numbers have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram

LINEAR = ("linear_constraints", "linear_equality_constraints", "bounding_box_constraints")
_Index = npt.NDArray[np.intp]


def joined(parts: list[Any], dtype: Any = np.float64) -> Any:
    """The parts, one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, dtype)


class _Sums:
    """An array of a size, each element of which is the sum of those of some values that have its place."""

    def __init__(self, places: _Index, size: int) -> None:
        self._places, self._size = places, size
        self._is_whole = size == places.size and bool((places == np.arange(size)).all())

    def of(self, values: Array) -> Array:
        """The sums; the values themselves where there is one for each element, in order."""
        if self._is_whole:
            return values
        if not values.size:
            return np.zeros(self._size)
        sums: Any = np.bincount(self._places, values, self._size)
        return np.asarray(sums, np.float64)


@dataclass(slots=True)
class Compressed:
    """The arrays of a csc_matrix, as Clarabel reads them: scipy's checks of two take a tenth of a small program."""

    data: Array
    indices: npt.NDArray[Any]
    indptr: npt.NDArray[Any]
    shape: tuple[int, int]
    has_canonical_format: ClassVar[bool] = True

    def matrix(self) -> Any:
        """The same as a scipy.sparse.csc_matrix."""
        from scipy.sparse import csc_matrix

        return csc_matrix((self.data, self.indices, self.indptr), shape=self.shape)


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
        return self.compressed(shape).matrix()

    def compressed(self, shape: tuple[int, int]) -> Compressed:
        """The matrix, its entries column by column."""
        if not any(map(np.size, self.values)):
            return Compressed(np.zeros(0), np.zeros(0, np.int32), np.zeros(shape[1] + 1, np.int32), shape)
        values, rows, columns = (joined(each) for each in (self.values, self.rows, self.columns))
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
        return Compressed(values, rows, first_of_column.astype(index), shape)


class _Places:
    """Rows and columns of the entries of linear constraints, one below the other, and where each begins."""

    def __init__(self, placed: list[Any], patterns: list[Any], num_vars: int) -> None:
        self.patterns = patterns
        counts = [evaluator.num_constraints() for _, evaluator, _ in placed]
        self.starts: list[int] = np.concatenate(([0], np.cumsum(counts, dtype=np.intp))).tolist()
        own = [evaluator._places_of_entries() for _, evaluator, _ in placed]
        self.rows: _Index = joined([start + rows for start, (rows, _) in zip(self.starts, own)], np.intp)
        self.columns: _Index = joined([places[columns] for (_, columns), (_, _, places) in zip(own, placed)], np.intp)
        self.shape = m, n = self.starts[-1], num_vars
        self.sums, self.dense_sums = _Sums(self.rows, m), _Sums(n * self.rows + self.columns, m * n)


class LinearRows:
    """Rows lower <= A x <= upper of some lists of linear constraints of a program."""

    def __init__(self, prog: MathematicalProgram, names: tuple[str, ...]) -> None:
        self._prog, self._names, self._placed = prog, names, prog._placed(*names)
        evaluators = [evaluator for _, evaluator, _ in self._placed]
        patterns = [evaluator._pattern for evaluator in evaluators]
        places = prog._derived.get((_Places, names))
        if places is None or places.patterns != patterns:
            places = prog._derived[_Places, names] = _Places(self._placed, patterns, prog.num_vars())
        self.places, self.rows, self.columns, self.shape = places, places.rows, places.columns, places.shape
        self._entries = [evaluator._entries for evaluator in evaluators]
        self.values: Array = joined(self._entries)
        self.lower: Array = joined([evaluator._lower for evaluator in evaluators])
        self.upper: Array = joined([evaluator._upper for evaluator in evaluators])

    @classmethod
    def of(cls, prog: MathematicalProgram, *names: str) -> LinearRows:
        """The rows of some lists of constraints; the same object as before, if their numbers are the same."""
        rows: LinearRows = prog._remembered((cls, names), prog._numbers(*names), lambda: cls(prog, names))
        return rows

    def dense(self) -> Array:
        """A as an array."""
        return self.below_identity()[self.shape[1] :]

    def csc(self) -> Any:
        """A as a scipy.sparse.csc_matrix."""
        entries = Triplets()
        entries.add(self.rows, self.columns, self.values)
        return entries.csc(self.shape)

    def below_identity(self) -> Array:
        """[I; A] as an array."""
        m, n = self.shape
        both: Array = self._prog._remembered(
            ("[I; A]", self._names), self._entries,
            lambda: np.concatenate((np.eye(n).ravel(), self.places.dense_sums.of(self.values))).reshape(m + n, n),
        )  # fmt: skip
        return both

    def at(self, x: Array) -> Array:
        """A x."""
        return self.places.sums.of(self.values * x[self.columns])

    def sizes(self, changes: Array) -> Array:
        """The most that each row changes as one variable changes by the given size, shape [m]."""
        result = np.zeros(self.shape[0])
        np.maximum.at(result, self.rows, np.abs(self.values) * changes[self.columns])
        return result

    def by_binding(self, prices: Array) -> dict[Binding, Array]:
        """Prices of the constraints, of those of the rows."""
        starts = self.places.starts
        return {each[0]: prices[starts[i] : starts[i + 1]] for i, each in enumerate(self._placed)}


class OneSidedRows:
    """The same rows as equations E x = e and inequalities G x <= h: first those of upper bounds, then of lower ones."""

    def __init__(self, rows: LinearRows) -> None:
        self._rows, low, high = rows, rows.lower, rows.upper
        is_between = low != high
        self._equal = (~is_between).nonzero()[0]
        self._upper = (is_between & (high < np.inf)).nonzero()[0]
        self._lower = (is_between & (low > -np.inf)).nonzero()[0]
        self.num_equations, self.num_inequalities = self._equal.size, self._upper.size + self._lower.size
        self.right, self.limits = low[self._equal], np.concatenate((high[self._upper], -low[self._lower]))
        self._entries = rows.values.nonzero()[0]
        self.num_entries = int(self._entries.size)

    def equations(self) -> Triplets:
        """E."""
        result = Triplets()
        self._add(result, self._equal, 0, 1.0)
        return result

    def inequalities(self) -> Triplets:
        """G."""
        result = Triplets()
        self._add(result, self._upper, 0, 1.0)
        self._add(result, self._lower, self._upper.size, -1.0)
        return result

    def _add(self, target: Triplets, chosen: _Index, start: int, sign: float) -> None:
        new_row = np.full(self._rows.shape[0], -1)
        new_row[chosen] = np.arange(start, start + chosen.size)
        rows = new_row[self._rows.rows[self._entries]]
        is_chosen = rows >= 0
        entries = self._entries[is_chosen]
        target.add(rows[is_chosen], self._rows.columns[entries], sign * self._rows.values[entries])

    def duals(self, of_equations: Array, of_inequalities: Array) -> dict[Binding, Array]:
        """Prices of the constraints, of those of the rows: derivatives of the least cost by e and by h."""
        prices = np.zeros(self._rows.shape[0])
        prices[self._equal] = of_equations
        prices[self._upper] = of_inequalities[: self._upper.size]
        prices[self._lower] -= of_inequalities[self._upper.size :]
        return self._rows.by_binding(prices)


class QuadraticCosts:
    """The sum 0.5 x'H x + f'x + constant of the linear and quadratic costs of a program."""

    def __init__(self, prog: MathematicalProgram) -> None:
        linear, quadratic = prog._placed("linear_costs"), prog._placed("quadratic_costs")
        self._prog, self._n = prog, prog.num_vars()
        known: Any = prog._derived.get("places of costs")
        if known is None:
            n, slopes = self._n, joined([places for _, _, places in quadratic + linear], np.intp)
            rows = joined([np.repeat(places, places.size) for _, _, places in quadratic], np.intp)
            columns = joined([np.tile(places, places.size) for _, _, places in quadratic], np.intp)
            known = _Sums(slopes, n), rows, columns, _Sums(n * rows + columns, n * n)
            prog._derived["places of costs"] = known
        self._rows, self._columns = known[1:3]
        self._sums: _Sums = known[3]
        self._quadratic = [cost for _, cost, _ in quadratic]
        slopes, self.constant = [cost._b for cost in self._quadratic], 0.0
        for cost in self._quadratic:
            self.constant += cost._c
        for _, cost, _ in linear:
            slopes.append(cost._a)
            self.constant += cost._b
        self.f: Array = known[0].of(joined(slopes))

    @classmethod
    def of(cls, prog: MathematicalProgram) -> QuadraticCosts:
        """The costs of a program; the same object as before, if their numbers are the same."""
        numbers = prog._numbers("linear_costs", "quadratic_costs")
        costs: QuadraticCosts = prog._remembered(cls, numbers, lambda: cls(prog))
        return costs

    def at(self, x: Array) -> tuple[float, Array]:
        """The sum at x, and its gradient, shape [n]; whatever H is."""
        if not self._quadratic:
            return float(self.f @ x) + self.constant, self.f
        i, j, H = self._rows, self._columns, self._entries
        Hx = np.bincount(i, H * x[j], self._n)
        return float(x @ (0.5 * Hx + self.f)) + self.constant, Hx + self.f

    @cached_property
    def lower_triangle(self) -> tuple[_Index, _Index, Array]:
        """Rows, columns and values of the entries of H, of its lower triangle."""
        chosen = ((self._entries != 0.0) & (self._rows >= self._columns)).nonzero()[0]
        return self._rows[chosen], self._columns[chosen], self._entries[chosen]

    @cached_property
    def _entries(self) -> Array:
        return joined([cost._Q.ravel() for cost in self._quadratic])

    @cached_property
    def _values(self) -> Array:
        """Entries of H; a cost that was said to be convex and is not is an error."""
        for cost in self._quadratic:
            cost.check_convexity()
        return self._entries

    def hessian(self) -> Array:
        """H as an array."""
        n = self._n
        H: Array = self._prog._remembered(
            "H", [cost._Q for cost in self._quadratic],
            lambda: self._sums.of(self._values).reshape(n, n),
        )  # fmt: skip
        return H

    def upper_triangle(self) -> Triplets:
        """The entries of H that are not 0, of its upper triangle."""
        result = Triplets()
        chosen = ((self._values != 0.0) & (self._rows <= self._columns)).nonzero()[0]
        result.add(self._rows[chosen], self._columns[chosen], self._values[chosen])
        return result


def places_of_boxes(prog: MathematicalProgram) -> tuple[_Index, bool]:
    """Indices of the variables of all boxes, and whether no variable occurs twice."""
    known = prog._derived.get(places_of_boxes)
    if known is None:
        places = joined([each for _, _, each in prog._placed("bounding_box_constraints")], np.intp)
        known = prog._derived[places_of_boxes] = places, np.unique(places).size == places.size
    return known[0], known[1]


class BoxPrices:
    """Prices of the boxes of a program, of those of bounds of the variables; of several boxes the tightest has them."""

    def __init__(self, prog: MathematicalProgram, box: tuple[Array, Array]) -> None:
        self._box, self._is_unique = box, places_of_boxes(prog)[1]
        boxes = prog._placed("bounding_box_constraints")
        self._boxes = [(binding, places, each._lower, each._upper) for binding, each, places in boxes]

    def by_binding(self, prices: Array) -> dict[Binding, Array]:
        """Prices of the boxes, of those of bounds, shape [num_vars]."""
        if self._is_unique:
            return {binding: prices[places] for binding, places, _, _ in self._boxes}
        left, result = prices.copy(), {}
        for binding, places, low, high in self._boxes:
            of_bounds = left[places]
            is_tight = np.where(of_bounds > 0.0, low == self._box[0][places], high == self._box[1][places])
            chosen = is_tight.nonzero()[0]
            chosen = chosen[np.unique(places[chosen], return_index=True)[1]]
            result[binding] = np.zeros(places.size)
            result[binding][chosen] = of_bounds[chosen]
            left[places[chosen]] = 0.0
        return result
