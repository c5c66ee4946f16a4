"""Whether values of the variables are an answer to the program as it is posed: what all solvers are judged by.

A row lower <= g_i(x) <= upper with derivatives J_ij holds, if small changes of its own variables can bring it back:

    outside_i <= 1e-6 max_j |J_ij| size_j,   size_j = max(unit_j, |x_j| / 10)                                     (1)

so variables may be wrong by 1e-6 of their units or 1e-7 of their values, whatever the size of other rows and variables.
The unit is 1, or the scale that was set, or the largest bound of a variable that is less, but at least 1e-3. Where the
derivatives of a nonlinear row vanish with it, as at double roots, those nearby count as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.evaluators.function_evaluators import ExpressionConstraint, ExpressionCost
from merganser.framework.optimization.forms.quadratic_form import LINEAR, LinearRows, joined, places_of_boxes
from merganser.framework.optimization.interior_point.form import nearby
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.program_bindings import CONSTRAINTS, COSTS

KEPT = 1e-6  # tolerance of (1)
_LEAST_UNIT = 1e-3
_OF_VALUES = 0.1  # the tolerance of values is this part of that of units
_ROUNDING = 1e-13  # of bounds and values of rows
_MEETS = 1e-9  # by how much bounds may cross and still count as equal
_OTHERS = tuple(name for name in CONSTRAINTS if name not in LINEAR)


def box_of(prog: MathematicalProgram) -> tuple[Array, Array]:
    """The tightest bounds of all variables, shape [num_vars], not to be changed; of binary ones, 0 and 1."""
    boxes = prog._placed("bounding_box_constraints")
    lows, highs = [box._lower for _, box, _ in boxes], [box._upper for _, box, _ in boxes]
    box: tuple[Array, Array] = prog._remembered(box_of, lows + highs, lambda: _box(prog, lows, highs))
    return box


def _box(prog: MathematicalProgram, lows: list[Array], highs: list[Array]) -> tuple[Array, Array]:
    lower, upper = np.full(prog.num_vars(), -np.inf), np.full(prog.num_vars(), np.inf)
    if prog._num_integers:
        is_binary = prog._are("BINARY")
        lower[is_binary], upper[is_binary] = 0.0, 1.0
    if lows:
        places = places_of_boxes(prog)[0]
        np.maximum.at(lower, places, joined(lows))
        np.minimum.at(upper, places, joined(highs))
    crossed = np.flatnonzero(lower > upper) if lows else ()
    if len(crossed):
        middle = 0.5 * (lower[crossed] + upper[crossed])
        meets = lower[crossed] - upper[crossed] <= _MEETS * np.maximum(1.0, np.abs(middle))
        lower[crossed[meets]] = upper[crossed[meets]] = middle[meets]
    lower.flags.writeable = upper.flags.writeable = False
    return lower, upper


def crosses(prog: MathematicalProgram) -> bool:
    """Whether bounds of one variable, each of which can be kept, exclude each other."""
    if not prog._bindings["bounding_box_constraints"] or (not prog._num_integers and places_of_boxes(prog)[1]):
        return False
    lower, upper = box_of(prog)
    return bool((lower > upper).any())


def check_bounds(prog: MathematicalProgram) -> None:
    """Raises ValueError where a lower bound is above the upper one, or no number can be between them."""
    bindings = prog._placed(*CONSTRAINTS)
    lows, highs = [rows._lower for _, rows, _ in bindings], [rows._upper for _, rows, _ in bindings]
    row = prog._remembered(check_bounds, lows + highs, lambda: _first_wrong(joined(lows), joined(highs)))
    for binding, constraint, _ in bindings if row >= 0 else ():
        if row < constraint._lower.size:
            raise ValueError(
                f"Solve: {binding.brief()}: nothing is between the lower bound {constraint._lower[row]} and the upper "
                f"bound {constraint._upper[row]} of row {row}."
            )
        row -= constraint._lower.size


def _first_wrong(low: Array, high: Array) -> int:
    is_right = (low <= high) & (low < np.inf) & (high > -np.inf)
    return -1 if np.count_nonzero(is_right) == low.size else int(is_right.argmin())


def cost_at(prog: MathematicalProgram, x: Array) -> float:
    """The sum of all costs; NaN where one that is given by an expression is not defined."""
    total = 0.0
    for _, cost, places in prog._placed(*COSTS):
        try:
            total += float(cost._values(x[places])[0])
        except (ArithmeticError, RuntimeError, ValueError):
            if isinstance(cost, ExpressionCost):
                return np.nan
            raise
    return total


def units(prog: MathematicalProgram, box: tuple[Array, Array], least: float = _LEAST_UNIT) -> Array:
    """The sizes of changes of the variables that count, shape [num_vars]."""
    largest = np.maximum(-box[0], box[1])
    if largest.min(initial=np.inf) == np.inf and not prog._scaling:
        return np.ones(largest.size)
    largest = np.maximum(largest, np.maximum(box[0], -box[1]))
    result = np.where(largest > 0.0, np.minimum(np.maximum(largest, least), 1.0), 1.0)
    for place, scale in prog._scaling.items():
        result[place] = max(min(abs(scale), result[place]), least)
    return result


def sizes_of(x: Array, unit: Array) -> Array:
    """size_j of (1)."""
    return np.maximum(unit, _OF_VALUES * np.abs(x))


def is_solution(prog: MathematicalProgram, x: Array) -> bool:
    """Whether a program without costs needs no search, as these values keep all constraints."""
    return not prog.GetAllCosts() and keeps_constraints(prog, x)


def keeps_constraints(
    prog: MathematicalProgram, x: Array, box: tuple[Array, Array] | None = None, kept: float = KEPT, slack: float = 0.0
) -> bool:
    """Whether all rows hold by (1), all variables are in their boxes, and integers are whole numbers.

    `kept` is the tolerance in (1), where options ask for less accuracy, and `slack` what any row may be wrong by.
    """
    if not np.isfinite(x).all():
        return False
    if prog._num_integers:
        if (np.abs(x - np.round(x))[prog._are("BINARY", "INTEGER")] > KEPT).any():
            return False
        box = box_of(prog)  # binary variables have bounds of their own
        if (np.maximum(box[0] - x, x - box[1]) > KEPT).any():
            return False
    unit = None
    rows = LinearRows.of(prog, *LINEAR)
    with np.errstate(all="ignore"):
        y = rows.at(x)
        outside = np.maximum(rows.lower - y, y - rows.upper)
        if not _holds(outside, y, slack):
            box = box_of(prog) if box is None else box
            unit = units(prog, box)
            if (outside > np.maximum(kept * rows.sizes(sizes_of(x, unit)), slack)).any():
                return False
        for _, evaluator, places in prog._placed(*_OTHERS):
            try:
                y = evaluator._values(x[places])
            except (ArithmeticError, RuntimeError, ValueError):
                if isinstance(evaluator, ExpressionConstraint):  # which is not defined there
                    return False
                raise
            outside = np.maximum(evaluator._lower - y, y - evaluator._upper)
            if _holds(outside, y, slack):
                continue
            if unit is None or box is None:
                box = box_of(prog) if box is None else box
                unit = units(prog, box)
            if not _is_close(evaluator, x, places, outside, unit, box, kept):
                return False
    return True


def _holds(outside: Array, y: Array, slack: float = 0.0) -> bool:
    """Whether rows with the values y hold but for rounding, or are wrong by the slack at most."""
    return bool(outside.max(initial=0.0) <= 0.0 or (outside <= np.maximum(_ROUNDING * np.abs(y), slack)).all())


def _is_close(
    evaluator: Any, x: Array, places: Any, outside: Array, unit: Array, box: tuple[Array, Array], kept: float
) -> bool:
    """Whether rows of variables with the given places in x that do not hold exactly hold by (1)."""
    x, unit = x[places], unit[places]
    size = sizes_of(x, unit)
    if (outside <= kept * _sizes_of_rows(evaluator, x, size)).all():
        return True
    if evaluator._is_at_rim(x):
        return True
    try:
        sizes = _sizes_of_rows(evaluator, nearby(x, unit, box[0][places], box[1][places]), size)
        return bool((outside <= kept * np.minimum(sizes, 1.0)).all())
    except (ArithmeticError, RuntimeError, ValueError):  # not defined there
        return bool((outside <= KEPT * KEPT).all())


def _sizes_of_rows(evaluator: Any, x: Array, size: Array) -> Array:
    """max_j |J_ij| size_j, shape [num_constraints]."""
    return np.asarray((np.abs(evaluator._value_and_jacobian(x)[1]) * size).max(axis=1, initial=0.0))
