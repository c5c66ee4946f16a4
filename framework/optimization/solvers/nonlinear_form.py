"""Nonlinear programs in standard form: minimize f(x) so that lower <= g(x) <= upper and x is in a box.

This is what solvers of nonlinear programs take; the Jacobian of g is given as a list of dense blocks, one for each
constraint, with the places of its variables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.quadratic_form import BoxPrices
from merganser.framework.optimization.interior_point.form import nearby
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_bindings import CONSTRAINTS, COSTS
from merganser.framework.optimization.solvers.judgement import box_of, sizes_of, units

NARROW = 1e-2  # bounds that are nearer than this are as good as an equation, for a search
_SMALL = 1e-3  # sizes of variables and rows below this, or above its inverse, are brought to 1
_SMALL_COST = 0.1  # and of costs, whose decrease is what searches end by
_WIDE = 30.0  # and boxes wider than this
_NEAR = 1e-6  # violations below this are compared with sizes of rows
_VANISHING = 1e-9  # sizes of rows too small to compare with
_INSIDE = 0.05  # the part of their distance by which a search aims to be inside
_Blocks = list[tuple[int, npt.NDArray[np.intp], Array]]


class NonlinearForm:
    """A program as functions of x, the scaled variables: variable i is scale[i] x[i].

    f is cost_scale times the cost, and g_i row_scale[i] times a row: 1, but after `rescale`.
    """

    def __init__(self, prog: MathematicalProgram) -> None:
        self.prog, self.num_vars = prog, prog.num_vars()
        self.box = box_of(prog)
        self.unit = units(prog, self.box, 0.0)
        self.scale = np.where(self.unit < _SMALL, self.unit, 1.0)
        for place, scale in prog._scaling.items():
            self.scale[place] = scale
        self.x_lower, self.x_upper = self.box[0] / self.scale, self.box[1] / self.scale
        self.cost_scale = 1.0
        self._cost_is_known = self._rows_are_known = False  # to be defined at the guess, where they are evaluated first
        self._costs = [(evaluator, places) for _, evaluator, places in prog._placed(*COSTS)]
        self.has_cost = bool(self._costs)
        rows = prog._placed(*(name for name in CONSTRAINTS if name != "bounding_box_constraints"))
        self.bindings = [binding for binding, _, _ in rows]
        self._constraints = [(evaluator, places) for _, evaluator, places in rows]
        self._stacks = self._stacked_constraints()
        self._callbacks = [(callback, places) for _, callback, places in prog._placed("visualization_callbacks")]
        nothing = np.zeros(0)
        self.g_lower = np.concatenate([nothing, *(constraint._lower for constraint, _ in self._constraints)])
        self.g_upper = np.concatenate([nothing, *(constraint._upper for constraint, _ in self._constraints)])
        self.row_scale, self._has_row_scales = np.ones(self.g_lower.size), False

    def rescale(self, x: Array) -> bool:
        """Brings the sizes of variables, cost and rows to about 1, where they are far from it; whether any was.

        Sizes are estimated from derivatives at x and nearby; `x` has values of the program's own variables.
        """
        scale = self.scale * self.weight()
        of_cost, of_rows = 0.0, np.zeros(self.g_lower.size)
        for point, most in ((x, np.inf), (nearby(x, self.unit, *self.box), 1.0)):
            try:
                _, gradient = self.cost(point / self.scale)
                J = self.jacobian(self.constraints(point / self.scale)[1])
            except (ArithmeticError, RuntimeError, ValueError):  # not defined there
                continue
            of_cost = max(of_cost, min(most, float(np.abs(gradient * scale / self.scale).max(initial=0.0))))
            of_rows = np.maximum(of_rows, np.abs(J * scale / self.scale).max(axis=1, initial=0.0).clip(None, most))
        rows = np.where((of_rows < _SMALL) | (of_rows > 1.0 / _SMALL), of_rows, 1.0)
        rows = np.where((rows > 0.0) & np.isfinite(rows), rows, 1.0)
        cost = of_cost if 0.0 < of_cost < _SMALL_COST or 1.0 / _SMALL < of_cost < np.inf else 1.0
        if cost == 1.0 and (rows == 1.0).all() and (scale == self.scale).all():
            return False
        self.scale, self.cost_scale, self.row_scale = scale, self.cost_scale / cost, self.row_scale / rows
        self._has_row_scales = bool((self.row_scale != 1.0).any())
        self.x_lower, self.x_upper = self.box[0] / scale, self.box[1] / scale
        self.g_lower, self.g_upper = self.g_lower / rows, self.g_upper / rows
        self.__dict__.pop("_is_narrow", None), self.__dict__.pop("_aims", None)
        return True

    def _stacked_constraints(self) -> list[tuple[Any, npt.NDArray[np.intp], list[int]]]:
        """Of constraints that are one function: an evaluator, the places of the variables of each, their numbers."""
        by_key: dict[Any, list[int]] = {}
        for number, (evaluator, _) in enumerate(self._constraints):
            if evaluator._stack_key() is not None:
                by_key.setdefault(evaluator._stack_key(), []).append(number)
        return [
            (self._constraints[numbers[0]][0], np.array([self._constraints[number][1] for number in numbers]), numbers)
            for numbers in by_key.values()
        ]

    def cost(self, x: Array) -> tuple[float, Array]:
        """f and its gradient, shape [num_vars]."""
        values = x * self.scale
        total, gradient = 0.0, np.zeros(self.num_vars)
        for evaluator, places in self._costs:
            value, jacobian = evaluator._value_or_nan(values[places], self._cost_is_known)
            total += float(value[0])
            np.add.at(gradient, places, jacobian[0])
        self._cost_is_known = True
        return total * self.cost_scale, gradient * (self.cost_scale * self.scale)

    def weight(self) -> Array:
        """By how much x may change: the widths of wide boxes, otherwise 1."""
        width = (self.box[1] - self.box[0]) / self.scale
        is_wide = np.isfinite(width) & (width > _WIDE)
        is_wide[list(self.prog._scaling)] = False
        return np.where(is_wide, width, 1.0)

    def slope_nearby(self, x: Array) -> float:
        """The largest element of the gradient of f at a point beside x; 1 where it is not defined."""
        try:
            beside = nearby(x * self.scale, self.unit, *self.box) / self.scale
            slope = float(np.abs(self.cost(beside)[1]).max(initial=0.0))
        except (ArithmeticError, RuntimeError, ValueError):
            return 1.0
        return min(slope, 1.0) if np.isfinite(slope) else 1.0

    def constraints(self, x: Array) -> tuple[Array, _Blocks]:
        """g, shape [m], and the blocks (first row, places of the columns, derivatives) of its Jacobian."""
        values = x * self.scale
        parts, blocks, row = [np.zeros(0)], [], 0
        known: dict[int, tuple[Array, Array]] = {}
        for evaluator, places_of_all, numbers in self._stacks:
            known.update(zip(numbers, zip(*evaluator._stacked(values[places_of_all]))))
        for number, (evaluator, places) in enumerate(self._constraints):
            value, jacobian = known.get(number) or evaluator._value_or_nan(values[places], self._rows_are_known)
            jacobian = jacobian * self.scale[places]
            if self._has_row_scales:
                scale = self.row_scale[row : row + value.size]
                value, jacobian = scale * value, scale[:, np.newaxis] * jacobian
            parts.append(value)
            blocks.append((row, places, jacobian))
            row += value.size
        self._rows_are_known = True
        return np.concatenate(parts), blocks

    def jacobian(self, blocks: _Blocks) -> Array:
        """The Jacobian of g as an array, shape [m, num_vars]."""
        result = np.zeros((self.g_lower.size, self.num_vars))
        for row, places, block in blocks:
            np.add.at(result, (row + np.arange(block.shape[0])[:, np.newaxis], places), block)
        return result

    @functools.cached_property
    def entries(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Rows and columns of the entries of the Jacobian of g; those that an evaluator says are 0 are left out."""
        rows, columns, row = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)], 0
        for (evaluator, places), pattern in zip(self._constraints, self._patterns):
            rows.append(row + pattern[0])
            columns.append(places[pattern[1]])
            row += evaluator.num_constraints()
        return np.concatenate(rows), np.concatenate(columns)

    @functools.cached_property
    def _patterns(self) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
        """Rows and columns of these entries in the block of each constraint."""
        patterns = []
        for evaluator, places in self._constraints:
            given = evaluator.gradient_sparsity_pattern()
            if given is None:
                given = np.argwhere(np.ones((evaluator.num_constraints(), places.size), bool))
            rows, columns = np.array(given, dtype=np.intp).reshape(-1, 2).T
            patterns.append((rows, columns))
        return patterns

    def values_of_entries(self, blocks: _Blocks) -> Array:
        """The entries of the Jacobian of g, see `entries`."""
        return np.concatenate(
            [np.zeros(0), *(block[pattern] for (_, _, block), pattern in zip(blocks, self._patterns))]
        )

    def gaps(self, x: Array) -> tuple[float, Array, Array]:
        """The worst violation of g, gaps r, which are 0 where g is where it should, and dr/dx, for least squares.

        A violation is relative to what a change of a variable by its size changes the row by, see judgement.py.

        That is a little inside of the bounds, or in the middle of narrow ones, so that a search arrives; or what the
        evaluator says, see Constraint._gaps. Shapes [k] and [k, num_vars]; NaN where a value is.
        """
        values, size = x * self.scale, self.g_lower.size
        g, J, is_plain = np.empty(size), np.zeros((size, self.num_vars)), np.ones(size, dtype=bool)
        gaps, slopes, row = [], [], 0
        for (evaluator, _), columns in zip(self._constraints, self._columns):
            own = evaluator._gaps(values[columns])
            value, *gap, block = own or evaluator._value_or_nan(values[columns], self._rows_are_known)
            rows = slice(row, row + value.size)
            if self._has_row_scales:
                value = self.row_scale[rows] * value
                block = block if own else self.row_scale[rows, np.newaxis] * block
            g[rows] = value
            target = J[rows]
            if own is not None:
                is_plain[rows] = False
                gaps += gap
                target = np.zeros((block.shape[0], self.num_vars))
                slopes.append(target)
            if isinstance(columns, slice):
                target[:, columns] = block
            else:
                np.add.at(target, (np.arange(target.shape[0])[:, np.newaxis], columns), block)
            row += value.size
        self._rows_are_known = True
        aim = np.minimum(np.maximum(g, self._aims[0]), self._aims[1])
        is_plain &= (aim != g) | self._is_narrow
        r = np.concatenate([(g - aim)[is_plain], *gaps])
        outside = np.maximum(self.g_lower - g, g - self.g_upper)
        violation = float(outside.max(initial=0.0))
        if 0.0 < violation < _NEAR:
            sizes = (np.abs(J) * sizes_of(values, np.maximum(self.unit, _SMALL))).max(axis=1)
            violation = float((outside / np.where(sizes > _VANISHING, sizes, 1.0)).max())
        return violation, r, np.concatenate([J[is_plain], *slopes]) * self.scale

    @functools.cached_property
    def _columns(self) -> list[Any]:
        """The places of the variables of each constraint; a slice, which is faster, where they follow each other."""
        return [
            slice(places[0], places[-1] + 1) if _follow_each_other(places) else places
            for _, places in self._constraints
        ]

    @functools.cached_property
    def _is_narrow(self) -> npt.NDArray[np.bool_]:
        return self.g_upper - self.g_lower <= NARROW

    @functools.cached_property
    def _aims(self) -> tuple[Array, Array]:
        """Between what least squares want g to be."""
        width = self.g_upper - self.g_lower
        margin = np.where(self._is_narrow, 0.5, _INSIDE) * width
        margin[np.isinf(width)] = 0.0
        return self.g_lower + margin, self.g_upper - margin

    def show(self, x: Array) -> None:
        """Calls the visualization callbacks."""
        for callback, places in self._callbacks:
            callback.EvalCallback((x * self.scale)[places])

    def duals(self, of_rows: Array, of_box: Array) -> dict[Binding, Array]:
        """Prices of the constraints, of those of g and of the box (of x)."""
        row, of_box = 0, of_box / (self.cost_scale * self.scale)
        result = BoxPrices(self.prog, self.box).by_binding(of_box)
        of_rows = of_rows * (self.row_scale / self.cost_scale)
        for binding in self.bindings:
            size = binding.evaluator().num_constraints()
            result[binding] = of_rows[row : row + size]
            row += size
        return result


def _follow_each_other(places: npt.NDArray[np.intp]) -> bool:
    return bool(places.size) and places.tolist() == list(range(places[0], places[0] + places.size))


class Remembered:
    """A function of x that is evaluated once for each x."""

    def __init__(self, function: Callable[[Array], Any]) -> None:
        self._function = function
        self._x: Array | None = None
        self._value: Any = None

    def __call__(self, x: Array) -> Any:
        if self._x is None or not np.array_equal(x, self._x):
            self._value = self._function(x)
            self._x = x.copy()
        return self._value
