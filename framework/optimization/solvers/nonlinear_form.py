"""Nonlinear programs in standard form: minimize f(x) so that lower <= g(x) <= upper and x is in a box.

This is what solvers of nonlinear programs take; the Jacobian of g is given as a list of dense blocks, one for each
constraint, with the places of its variables.
"""

from __future__ import annotations

__all__ = ["NonlinearForm", "Remembered"]

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.highs_solver import box_of
from merganser.framework.optimization.solvers.linear_rows import Triplets

NARROW = 1e-2  # bounds that are nearer than this are as good as an equation, for a search
_INSIDE = 0.05  # the part of their distance by which a search aims to be inside
_Blocks = list[tuple[int, npt.NDArray[np.intp], Array]]


class NonlinearForm:
    """A program as functions of x, the scaled variables: variable i is scale[i] x[i]."""

    def __init__(self, prog: MathematicalProgram) -> None:
        self.num_vars = prog.num_vars()
        self.scale = np.ones(self.num_vars)
        for place, scale in prog.GetVariableScaling().items():
            self.scale[place] = scale
        lower, upper = box_of(prog)
        self.x_lower, self.x_upper = lower / self.scale, upper / self.scale
        self._costs = [(binding.evaluator(), prog._places_of(binding._variables)) for binding in prog.GetAllCosts()]
        self.has_cost = bool(self._costs)
        boxes = set(map(id, prog.bounding_box_constraints()))
        self.bindings = [binding for binding in prog.GetAllConstraints() if id(binding) not in boxes]
        self._constraints = [(binding.evaluator(), prog._places_of(binding._variables)) for binding in self.bindings]
        self._stacks = self._stacked_constraints()
        self._callbacks = [(b.evaluator(), prog._places_of(b._variables)) for b in prog.visualization_callbacks()]
        nothing = np.zeros(0)
        self.g_lower = np.concatenate([nothing, *(constraint._lower for constraint, _ in self._constraints)])
        self.g_upper = np.concatenate([nothing, *(constraint._upper for constraint, _ in self._constraints)])
        self._boxes = [(binding, prog._places_of(binding._variables)) for binding in prog.bounding_box_constraints()]

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
            value, jacobian = evaluator._value_and_jacobian(values[places])
            total += float(value[0])
            np.add.at(gradient, places, jacobian[0])
        return total, gradient * self.scale

    def constraints(self, x: Array) -> tuple[Array, _Blocks]:
        """g, shape [m], and the blocks (first row, places of the columns, derivatives) of its Jacobian."""
        values = x * self.scale
        parts, blocks, row = [np.zeros(0)], [], 0
        known: dict[int, tuple[Array, Array]] = {}
        for evaluator, places_of_all, numbers in self._stacks:
            known.update(zip(numbers, zip(*evaluator._stacked(values[places_of_all]))))
        for number, (evaluator, places) in enumerate(self._constraints):
            value, jacobian = known.get(number) or evaluator._value_and_jacobian(values[places])
            parts.append(value)
            blocks.append((row, places, jacobian * self.scale[places]))
            row += value.size
        return np.concatenate(parts), blocks

    def jacobian(self, blocks: _Blocks) -> Array:
        """The Jacobian of g as an array, shape [m, num_vars]."""
        result = np.zeros((self.g_lower.size, self.num_vars))
        for row, places, block in blocks:
            np.add.at(result, (row + np.arange(block.shape[0])[:, np.newaxis], places), block)
        return result

    def sparse_jacobian(self, blocks: _Blocks) -> Triplets:
        """The Jacobian of g as triplets; entries that are always 0 by the sparsity of an evaluator are left out."""
        result = Triplets()
        for (evaluator, _), (row, places, block) in zip(self._constraints, blocks):
            pattern = evaluator.gradient_sparsity_pattern()
            if pattern is None:
                rows, columns = (each.ravel() for each in np.indices(block.shape))
            else:
                rows, columns = np.array(pattern, dtype=np.intp).reshape(-1, 2).T
            result.add(rows + row, places[columns], block[rows, columns])
        return result

    def violation(self, x: Array, g: Array) -> float:
        """By how much the worst bound does not hold."""
        gaps = (self.g_lower - g, g - self.g_upper, self.x_lower - x, x - self.x_upper)
        return max(float(np.max(gap, initial=0.0)) for gap in gaps)

    def gaps(self, x: Array) -> tuple[float, Array, Array]:
        """The worst violation of g, gaps r, which are 0 where g is where it should, and dr/dx, for least squares.

        That is a little inside of the bounds, or in the middle of narrow ones, so that a search arrives; or what the
        evaluator says, see Constraint._gaps. Shapes [k] and [k, num_vars]; NaN where a value is.
        """
        values, size = x * self.scale, self.g_lower.size
        g, J, is_plain = np.empty(size), np.zeros((size, self.num_vars)), np.ones(size, dtype=bool)
        gaps, slopes, row = [], [], 0
        for (evaluator, _), columns in zip(self._constraints, self._columns):
            own = evaluator._gaps(values[columns])
            value, *gap, block = own or evaluator._value_and_jacobian(values[columns])
            rows = slice(row, row + value.size)
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
        aim = np.minimum(np.maximum(g, self._aims[0]), self._aims[1])
        is_plain &= (aim != g) | self._is_narrow
        r = np.concatenate([(g - aim)[is_plain], *gaps])
        outside = np.maximum(self.g_lower - g, g - self.g_upper)
        return float(outside.max(initial=0.0)), r, np.concatenate([J[is_plain], *slopes]) * self.scale

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
        """Prices of the constraints, of those of g and of the box (of x); one of several equal boxes has them."""
        result, row = {}, 0
        for binding in self.bindings:
            size = binding.evaluator().num_constraints()
            result[binding] = of_rows[row : row + size]
            row += size
        left = of_box / self.scale
        for binding, places in self._boxes:
            box = binding.evaluator()
            lower, upper = self.x_lower * self.scale, self.x_upper * self.scale
            is_tight = np.where(left[places] > 0.0, box._lower == lower[places], box._upper == upper[places])
            result[binding] = np.where(is_tight, left[places], 0.0)
            left[places[is_tight]] = 0.0
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
