"""One attempt of CenicIntegrator, with the words of analysis/integrators/problem.py.

While the length of steps is not 0, the derivatives that plants give are slopes of steps of that length
(plant/step/motion.py), so that x + h xdot is the state after a step of all that moves: plants, and by an explicit
Euler step all other continuous state.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators import step_fields as f
from merganser.analysis.integrators.problem import (
    Problem,
    add,
    copy,
    derivatives_change,
    evaluate,
    go_to,
    integer_vector,
    integers_of,
    largest,
    multiply,
    reals_of,
    state_changes,
    state_of,
    subtract,
    vector,
)
from merganser.analysis.integrators.stepping import scale_quaternions
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED

__all__ = ["SHORTEST_ERROR", "SHORTEST_H", "SHORTEST_PLACE", "SHORTEST_TIME", "try_contact_step"]

# The arrays of an attempt.
(
    COUNTS,  # how many plants there are
    WEIGHTS,  # of the numbers of a state in the norm, and
    RATE_WEIGHTS,  # those that are multiplied by h
    START,  # the state at the start
    WHOLE,  # after one step; all with quaternions of length 1
    MIDDLE,  # after half of it
    END,
    BLAMES,  # how often each number of the state had the largest error of an attempt that was refused
    SHORTEST,  # of these attempts: see below
    LENGTHS,  # of steps and of the last one; first of the first plant
) = range(10)
# What SHORTEST holds.
SHORTEST_H, SHORTEST_TIME, SHORTEST_ERROR, SHORTEST_PLACE = range(4)


@kernel
def try_contact_step(p: Problem) -> int:
    """Equations (1) to (4) of CenicIntegrator."""
    s, r = integers_of(p), reals_of(p)
    start, whole, middle, end = vector(p, START), vector(p, WHOLE), vector(p, MIDDLE), vector(p, END)
    time, h = r[f.START], r[f.H]
    copy(start, state_of(p))
    end[0] = math.nan  # nothing has been brought anywhere as long as this attempt lasts,
    state_changes(p)  # so that what blocks ask of plants is the same whether somebody has asked before
    r[f.ERROR] = 0.0
    status = _advance(p, h, start, whole)
    if s[f.IS_FIXED_STEP]:
        copy(end, whole)
    elif status == SUCCEEDED:
        status = _advance(p, 0.5 * h, start, middle)
        if status == SUCCEEDED:
            go_to(p, time + 0.5 * h, middle)
            status = _advance(p, 0.5 * h, middle, end)
        if status == SUCCEEDED:
            _compare(p, h, whole, end)
    _set_lengths(p, 0.0)
    if status == SUCCEEDED:
        if not math.isfinite(largest(end)):
            r[f.ERROR] = math.inf  # the equations of a step were not solved
        go_to(p, time + h, end)
    return status


@device
def _compare(p: Problem, h: float, whole: Any, end: Any) -> None:
    """Equations (3) and (4) of CenicIntegrator, of the states after one step and after two halves of it."""
    r, place = reals_of(p), _place_of_largest(p, h, end, whole)
    r[f.ERROR] = _part(p, h, end, whole, place)
    if r[f.ERROR] > r[f.ACCURACY]:
        _blame(p, place)
    multiply(end, 2.0, end)
    subtract(end, end, whole)
    if integers_of(p)[f.NUM_QUATERNIONS]:
        scale_quaternions(p, end)


@device
def _advance(p: Problem, h: float, x: Any, x_next: Any) -> int:
    """A step of length h from where the Context is, x; leaves the state after it in x_next."""
    _set_lengths(p, h)
    derivatives_change(p)
    status = evaluate(p, x_next)
    multiply(x_next, h, x_next)
    add(x_next, x, x_next)
    if integers_of(p)[f.NUM_QUATERNIONS]:
        scale_quaternions(p, x_next)
    return status


@device
def _set_lengths(p: Problem, h: float) -> None:
    for n in range(integer_vector(p, COUNTS)[0]):
        vector(p, LENGTHS + n)[0] = h


@device
def _part(p: Problem, h: float, x: Any, y: Any, k: int) -> float:
    """What a number of two states after a step of length h [s] contributes to (3) of CenicIntegrator."""
    part: float = abs(x[k] - y[k]) * (vector(p, WEIGHTS)[k] + h * vector(p, RATE_WEIGHTS)[k])
    return part


@device
def _place_of_largest(p: Problem, h: float, x: Any, y: Any) -> int:
    """Which number contributes most, or is no number."""
    place, most = 0, -1.0
    for k in range(len(x)):
        part = _part(p, h, x, y, k)
        if part != part:
            return k
        if part > most:
            place, most = k, part
    return place


@device
def _blame(p: Problem, place: int) -> None:
    """Notes of an attempt that will be refused which number has the largest error."""
    r, shortest = reals_of(p), vector(p, SHORTEST)
    integer_vector(p, BLAMES)[place] += 1
    if shortest[SHORTEST_H] == 0.0 or r[f.H] < shortest[SHORTEST_H]:
        shortest[SHORTEST_H], shortest[SHORTEST_TIME] = r[f.H], r[f.START]
        shortest[SHORTEST_ERROR], shortest[SHORTEST_PLACE] = r[f.ERROR], place
