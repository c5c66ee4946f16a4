"""Nonlinear programs in standard form: minimize f(x) so that lower <= g(x) <= upper and x is in a box.

This is what solvers of nonlinear programs take. Costs and constraints that are one function of different variables, as
those at all times of a motion are, are evaluated in one call; linear constraints and quadratic costs are arrays.
Derivatives are entries of sparse matrices, in an order that does not change.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.forms.quadratic_form import BoxPrices, LinearRows, QuadraticCosts, joined
from merganser.framework.optimization.interior_point.form import nearby
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_bindings import CONSTRAINTS, COSTS
from merganser.framework.optimization.solvers.damped_steps import call, set_gaps
from merganser.framework.optimization.solvers.judgement import KEPT, box_of, keeps_constraints, sizes_of, units

NARROW = 1e-2  # bounds that are nearer than this are as good as an equation, for a search
_SMALL = 1e-3  # sizes of variables and rows below this, or above its inverse, are brought to 1
_SMALL_COST = 0.1  # and of costs, whose decrease is what searches end by
_WIDE = 30.0  # and boxes wider than this
_NEAR = 1e-6  # violations below this are compared with sizes of rows
_VANISHING = 1e-9  # sizes of rows too small to compare with
_INSIDE = 0.05  # the part of their distance by which a search aims to be inside
_LINEAR, _QUADRATIC = ("linear_constraints", "linear_equality_constraints"), ("linear_costs", "quadratic_costs")
_OTHER_COSTS = tuple(name for name in COSTS if name not in _QUADRATIC)
_OTHER_CONSTRAINTS = tuple(name for name in CONSTRAINTS if name not in (*_LINEAR, "bounding_box_constraints"))
_Index = npt.NDArray[np.intp]


@functools.cache
def _all_entries(m: int, p: int) -> _Index:
    """Rows and columns of a Jacobian, row by row."""
    return np.indices((m, p)).reshape(2, -1)


_lower_triangle = functools.cache(np.tril_indices)


class _Function:
    """N costs or constraints that are one function with m values of p variables.

    Attributes:
        evaluator: of the function.
        places: of the variables, shape [N, p].
        rows: of the values, shape [N, m].
        entries: rows and columns of the derivatives, one after the other.
        curved: rows and columns of the second derivatives of a weighted sum, those of the lower triangle.
    """

    def __init__(self, evaluators: list[Any], places: _Index, rows: _Index) -> None:
        self._evaluators, self.places, self.rows = evaluators, places, rows
        self.evaluator = evaluator = evaluators[0]
        self._is_unique = len(set(places[0].tolist())) == places.shape[1]
        self._last: tuple[bytes, Array, Array]  # point, values and derivatives
        self.forget()
        (count, p), m = places.shape, rows.shape[1]
        pattern = evaluator._sparsity
        own = _all_entries(m, p) if pattern is None else np.array(pattern, np.intp).reshape(-1, 2).T
        self._pattern = None if pattern is None else own[0] * p + own[1]
        self.entries = rows[:, own[0]].ravel(), places[:, own[1]].ravel()
        first, second = _lower_triangle(p)
        self._lower = first * p + second
        i, j = places[:, first].ravel(), places[:, second].ravel()
        self.curved = np.maximum(i, j), np.minimum(i, j)
        self._doubled = np.where((i == j) & np.tile(first != second, count), 2.0, 1.0)  # of a variable given twice

    def add_columns(self, target: Array, block: Array) -> None:
        """Adds derivatives by the variables of the first to rows of the whole Jacobian, which are 0."""
        if self._is_unique:
            target[:, self.places[0]] = block
        else:
            everywhere: Any = (slice(None), self.places[0])
            np.add.at(target, everywhere, block)

    def values(self, x: Array, is_known: bool) -> Array:
        """Of all, shape [N, m]; NaN where expressions are not defined, which is an error unless they are known."""
        if self.evaluator._is_fast_without_slopes(len(self.places)):
            each = [self.evaluator._values(x[places]) for places in self.places]
            return each[0][np.newaxis] if len(each) == 1 else np.array(each)
        return self.slopes(x, is_known)[0]

    def slopes(self, x: Array, is_known: bool) -> tuple[Array, Array]:
        """The same values, and the derivatives in the order of `entries`; those at the last point are remembered."""
        at = x[self.places]
        key, last = at.tobytes(), self._last
        if key == last[0]:
            return last[1:]
        if len(at) == 1:
            y, J = self.evaluator._value_or_nan(at[0], is_known)
        else:
            y, J = self.evaluator._stacked(at)
            y = y if is_known else self._checked(y, x)
        if self._pattern is not None:
            J = J.reshape(len(at), -1)[:, self._pattern]
        self._last = key, y, J.ravel()
        return y, J.ravel()

    def forget(self) -> None:
        """Forgets the last point, as what evaluators depend on may have changed."""
        self._last = b"", np.zeros(0), np.zeros(0)

    def _checked(self, y: Array, x: Array) -> Array:
        for row in np.flatnonzero(~np.isfinite(y).all(axis=1)):
            self._evaluators[row]._value_or_nan(x[self.places[row]], False)  # which raises what it raises
        return y

    def curvature(self, x: Array, weights: Array) -> Array:
        """The second derivatives of the sum of all values times weights, shape [N, m], as `curved` has them.

        Of a function with gaps there may be weights of these, too, behind the others.
        """
        H = self.evaluator._curvature(x[self.places], weights)
        return H.reshape(len(self.places), -1)[:, self._lower].ravel() * self._doubled


def _functions(prog: MathematicalProgram, names: tuple[str, ...]) -> tuple[list[Any], list[_Function]]:
    """Bindings of some lists in the order of their rows, and their functions, which are kept with the program."""
    placed = prog._placed(*names)
    keys = [_key(evaluator, places, number) for number, (_, evaluator, places) in enumerate(placed)]
    known = prog._derived.get((_functions, names))
    if known is None or known[0] != keys:
        known = prog._derived[_functions, names] = keys, *_grouped(placed, keys)
    for function in known[2]:
        function.forget()
    return list(known[1]), known[2]


def _key(evaluator: Any, places: _Index, number: int) -> Any:
    """Equal for evaluators that are one function, or are evaluated together; else a number of its own."""
    sparsity = None if evaluator._sparsity is None else tuple(evaluator._sparsity)
    together = evaluator._merge_key()
    if together is not None and sparsity is None:
        return together, places.tobytes()
    alike = evaluator._stack_key()
    return (number, sparsity) if alike is None else (alike, places.size, sparsity)


def _grouped(placed: list[Any], keys: list[Any]) -> tuple[list[Any], list[_Function]]:
    groups: dict[Any, list[Any]] = {}
    for key, each in zip(keys, placed):
        groups.setdefault(key, []).append(each)
    ordered, functions, row = [], [], 0
    for group in groups.values():
        evaluators, places = [evaluator for _, evaluator, _ in group], np.array([each for _, _, each in group], np.intp)
        if len(group) > 1 and evaluators[0]._merge_key() is not None:
            evaluators, places = [evaluators[0]._merged(evaluators)], places[:1]
        m = evaluators[0].num_outputs()
        rows = row + np.arange(len(evaluators) * m).reshape(len(evaluators), m)
        functions.append(_Function(evaluators, places, rows))
        ordered += group
        row += rows.size
    return ordered, functions


def is_curved_without_equations(prog: MathematicalProgram) -> bool:
    """Whether second derivatives of all costs and constraints are known, and only linear constraints are equations."""
    rows = [constraint for _, constraint, _ in prog._placed(*_OTHER_CONSTRAINTS)]
    functions = [*(cost for _, cost, _ in prog._placed(*_OTHER_COSTS)), *rows]
    return not any((each._lower == each._upper).any() for each in rows) and all(e._has_curvature() for e in functions)


class NonlinearForm:
    """A program as functions of x, the scaled variables: variable i is scale[i] x[i].

    f is cost_scale times the cost, and g_i row_scale[i] times a row: 1, but after `rescale`.

    Attributes:
        entries: rows and columns of the derivatives of g.
        has_hessian: whether second derivatives are known.
        hessian_entries: their rows and columns, of the lower triangle; several with the same places add up.
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
        self._costs = _functions(prog, _OTHER_COSTS)[1]
        self._quadratic = QuadraticCosts.of(prog)
        self.has_cost = any(prog._bindings[name] for name in COSTS)
        placed, self._constraints = _functions(prog, _OTHER_CONSTRAINTS)
        self._linear = LinearRows.of(prog, *_LINEAR)
        placed += prog._placed(*_LINEAR)
        self.bindings = [binding for binding, _, _ in placed]
        self._callbacks = [(callback, places) for _, callback, places in prog._placed("visualization_callbacks")]
        self.g_lower = np.concatenate([np.zeros(0), *(constraint._lower for _, constraint, _ in placed)])
        self.g_upper = np.concatenate([np.zeros(0), *(constraint._upper for _, constraint, _ in placed)])
        self.row_scale = np.ones(self.g_lower.size)
        self._num_curved = self.g_lower.size - self._linear.shape[0]  # rows that are not linear, which come first
        rows, columns = zip(
            *(function.entries for function in self._constraints),
            (self._num_curved + self._linear.rows, self._linear.columns),
        )
        self.entries = np.concatenate(rows), np.concatenate(columns)
        self._place = self.entries[0] * self.num_vars + self.entries[1]  # in the whole Jacobian
        self._set_scale_of_entries()

    # ------------------------------------------------------------------ sizes

    def _set_scale_of_entries(self) -> None:
        self._entry_scale = self.row_scale[self.entries[0]] * self.scale[self.entries[1]]
        self.__dict__.pop("_curvature_scale", None)

    def rescale(self, x: Array) -> bool:
        """Brings the sizes of variables, cost and rows to about 1, where they are far from it; whether any was.

        Sizes are estimated from derivatives at x and nearby; `x` has values of the program's own variables.
        """
        scale = self.scale * self.weight()
        of_cost, of_rows = 0.0, np.zeros(self.g_lower.size)
        for point, most in ((x, np.inf), (nearby(x, self.unit, *self.box), 1.0)):
            try:
                _, gradient = self.cost(point / self.scale)
                J = self.constraints(point / self.scale)[1]
            except (ArithmeticError, RuntimeError, ValueError):  # not defined there
                continue
            of_cost = max(of_cost, min(most, float(np.abs(gradient * scale / self.scale).max(initial=0.0))))
            with np.errstate(invalid="ignore"):
                sizes = np.minimum(np.abs(J * (scale / self.scale)[self.entries[1]]), most)
                np.maximum.at(of_rows, self.entries[0], sizes)
        rows = np.where((of_rows < _SMALL) | (of_rows > 1.0 / _SMALL), of_rows, 1.0)
        rows = np.where((rows > 0.0) & np.isfinite(rows), rows, 1.0)
        cost = of_cost if 0.0 < of_cost < _SMALL_COST or 1.0 / _SMALL < of_cost < np.inf else 1.0
        if cost == 1.0 and (rows == 1.0).all() and (scale == self.scale).all():
            return False
        self.scale, self.cost_scale, self.row_scale = scale, self.cost_scale / cost, self.row_scale / rows
        self._set_scale_of_entries()
        self.x_lower, self.x_upper = self.box[0] / scale, self.box[1] / scale
        self.g_lower, self.g_upper = self.g_lower / rows, self.g_upper / rows
        self.__dict__.pop("_aims", None), self.__dict__.pop("guards", None)
        return True

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

    # ------------------------------------------------------------------ values and derivatives

    def cost_value(self, x: Array) -> float:
        """f."""
        values = x * self.scale
        total = self._quadratic.at(values)[0]
        for function in self._costs:
            total += float(function.values(values, self._cost_is_known).sum())
        self._cost_is_known = True
        return total * self.cost_scale

    def cost(self, x: Array) -> tuple[float, Array]:
        """f and its gradient, shape [num_vars]."""
        values = x * self.scale
        total, gradient = self._quadratic.at(values)
        for function in self._costs:
            y, slopes = function.slopes(values, self._cost_is_known)
            total += float(y.sum())
            gradient = gradient + np.bincount(function.entries[1], slopes, self.num_vars)
        self._cost_is_known = True
        return total * self.cost_scale, gradient * (self.cost_scale * self.scale)

    def constraint_values(self, x: Array) -> Array:
        """g, shape [m]."""
        values = x * self.scale
        parts = [function.values(values, self._rows_are_known).ravel() for function in self._constraints]
        self._rows_are_known = True
        return self.row_scale * np.concatenate([*parts, self._linear.at(values)])

    def constraints(self, x: Array) -> tuple[Array, Array]:
        """g, shape [m], and its derivatives, see `entries`."""
        values, parts, slopes = x * self.scale, [], []
        for function in self._constraints:
            y, J = function.slopes(values, self._rows_are_known)
            parts.append(y.ravel())
            slopes.append(J)
        self._rows_are_known = True
        if self._linear.shape[0]:
            parts.append(self._linear.at(values))
            slopes.append(self._linear.values)
        return self.row_scale * joined(parts), self._entry_scale * joined(slopes)

    def keeps_constraints(self, x: Array, kept: float = KEPT) -> bool:
        """Whether g and the box hold by (1) of judgement.py, from values and derivatives that a search has mostly had.

        Where the derivatives do not say so, other rules there may.
        """
        g, entries = self.constraints(x)
        outside, most = np.maximum(self.g_lower - g, g - self.g_upper), np.zeros(g.size)
        sizes = sizes_of(x * self.scale, self._least_sizes) / self.scale
        with np.errstate(invalid="ignore"):  # where a value is NaN
            np.maximum.at(most, self.entries[0], np.abs(entries) * sizes[self.entries[1]])
        is_kept = (outside <= kept * most).all() and (self.x_lower <= x).all() and (x <= self.x_upper).all()
        return bool(is_kept) or keeps_constraints(self.prog, x * self.scale, self.box, kept)

    def dense(self, entries: Array) -> Array:
        """The Jacobian of g as an array, shape [m, num_vars]."""
        shape = self.g_lower.size, self.num_vars
        return np.bincount(self._place, entries, shape[0] * shape[1]).astype(float, copy=False).reshape(shape)

    @functools.cached_property
    def has_hessian(self) -> bool:
        """Whether all costs and constraints have second derivatives."""
        return all(function.evaluator._has_curvature() for function in (*self._costs, *self._constraints))

    @functools.cached_property
    def hessian_entries(self) -> tuple[_Index, _Index]:
        """Rows and columns of the second derivatives, see `hessian`."""
        curved = [self._quadratic.lower_triangle[:2]]
        curved += [function.curved for function in (*self._costs, *self._constraints)]
        rows, columns = zip(*curved)
        return np.concatenate(rows), np.concatenate(columns)

    @functools.cached_property
    def _curvature_scale(self) -> Array:
        i, j = self.hessian_entries
        return self.scale[i] * self.scale[j]

    def hessian(self, x: Array, of_cost: float, of_rows: Array) -> Array:
        """The second derivatives of of_cost f + of_rows . g, see `hessian_entries`; g may be `guarded`."""
        values, start = x * self.scale, self.g_lower.size
        of_cost, of_rows, of_gaps = of_cost * self.cost_scale, of_rows[:start] * self.row_scale, of_rows[start:]
        parts = [of_cost * self._quadratic.lower_triangle[2]]
        parts += [function.curvature(values, np.full(function.rows.shape, of_cost)) for function in self._costs]
        for function in self._constraints:
            weights = of_rows[function.rows]
            if of_gaps.size and function in self._with_gaps:
                size = function.evaluator._gap_bounds().size
                weights, of_gaps = np.append(weights, of_gaps[:size])[np.newaxis], of_gaps[size:]
            parts.append(function.curvature(values, weights))
        return np.concatenate(parts) * self._curvature_scale

    # ------------------------------------------------------------------ least squares

    def gaps(self, x: Array) -> tuple[float, Array, Array]:
        """The worst violation of g, gaps r, which are 0 where g is where it should, and dr/dx, for least squares.

        A violation is relative to what a change of a variable by its size changes the row by, see judgement.py.

        That is a little inside of the bounds, or in the middle of narrow ones, so that a search arrives; or what the
        evaluator says, see Constraint._gaps. Shapes [k] and [k, num_vars]; NaN where a value is.
        """
        g, entries = self.constraints(x)
        size = self.guards[0].size
        r, J = np.zeros(size), np.zeros((size, self.num_vars))
        sizes = sizes_of(x * self.scale, self._least_sizes) / self.scale
        violation = call(set_gaps, g, entries, self._place, *self._aims, sizes, _NEAR, _VANISHING, r, J)
        self._add_gaps(x, r, J)
        return violation, r, J

    def guarded(self, x: Array) -> tuple[Array, Array]:
        """g and its Jacobian, and below them gaps that stand for rows whose derivatives vanish, see `guards`."""
        g, entries = self.constraints(x)
        if not self._with_gaps:
            return g, self.dense(entries)
        size = self.guards[0].size
        all_rows, J = np.empty(size), np.zeros((size, self.num_vars))
        all_rows[: g.size] = g
        J[: g.size] = self.dense(entries)
        self._add_gaps(x, all_rows, J)
        return all_rows, J

    def guarded_values(self, x: Array) -> Array:
        """The values of `guarded` alone."""
        return self.guarded(x)[0] if self._with_gaps else self.constraint_values(x)

    def _add_gaps(self, x: Array, rows_out: Array, J_out: Array) -> None:
        """Writes the gaps that evaluators know behind the rows, and their derivatives."""
        start = self.g_lower.size
        for function in self._with_gaps:
            gap, block = function.evaluator._gaps((x * self.scale)[function.places[0]])
            rows_out[start : start + gap.size] = gap
            function.add_columns(J_out[start : start + gap.size], block * self.scale[function.places[0]])
            start += gap.size

    @functools.cached_property
    def guards(self) -> Array:
        """Lower and upper bounds of `guarded`, shape [2, k].

        Those of a length squared do not let a step that goes by its vector go all the way.
        """
        upper, bounds = self.g_upper.copy(), [np.zeros(0)]
        for function in self._with_gaps:
            of_gaps = function.evaluator._gap_bounds()
            upper[function.rows[0, function.evaluator._gapped_rows()]] = np.inf
            bounds.append(of_gaps)
        most = np.concatenate(bounds)
        return np.array((np.concatenate((self.g_lower, -most)), np.concatenate((upper, most))))

    @functools.cached_property
    def _least_sizes(self) -> Array:
        return np.maximum(self.unit, _SMALL)

    @functools.cached_property
    def _with_gaps(self) -> list[_Function]:
        return [function for function in self._constraints if function.evaluator._gapped_rows()]

    @functools.cached_property
    def _aims(self) -> tuple[Array, Array]:
        """Bounds and kinds of rows as set_gaps() takes them."""
        width = self.g_upper - self.g_lower
        is_narrow = width <= NARROW
        margin = np.where(is_narrow, 0.5, _INSIDE) * width
        margin[np.isinf(width)] = 0.0
        kinds = np.where(is_narrow, 2, 1)
        for function in self._with_gaps:
            kinds[function.rows[0, function.evaluator._gapped_rows()]] = 0
        return np.array([self.g_lower, self.g_upper, self.g_lower + margin, self.g_upper - margin]), kinds

    # ------------------------------------------------------------------

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
