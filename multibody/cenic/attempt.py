"""One attempt of CenicIntegrator, with the words of analysis/integrators/problem.py.

While the length of steps is not 0, the derivatives that plants give are slopes of steps of that length
(plant/step/motion.py), so that x + h xdot is the state after a step of all that moves: plants, and by an explicit
Euler step all other continuous state.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.problem import (
    Problem,
    add,
    copy,
    derivatives_change,
    evaluate,
    go_to,
    largest,
    multiply,
    state_changes,
    state_of,
    step_of,
    subtract,
)
from merganser.analysis.integrators.stepping import scale_quaternions
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.multibody.cenic.arrays import arrays_of
from merganser.multibody.cenic.responses import learn_responses, listen_ahead, set_lengths

__all__ = ["try_contact_step"]


@kernel
def try_contact_step(p: Problem) -> int:
    """Equations (1) to (4) of CenicIntegrator."""
    s, a = step_of(p), arrays_of(p)
    start, whole, middle, end = a.start, a.whole, a.middle, a.end
    time, h = s.start, s.h
    copy(start, state_of(p))
    end[0] = math.nan  # nothing has been brought anywhere as long as this attempt lasts,
    state_changes(p)  # so that what blocks ask of plants is the same whether somebody has asked before
    s.error = 0.0
    status = _know_responses(p, start)
    if status == SUCCEEDED:
        status = _advance(p, h, start, whole, True)
    if s.is_fixed_step:
        copy(end, whole)
    elif status == SUCCEEDED:
        status = _advance(p, 0.5 * h, start, middle, True)
        if status == SUCCEEDED:
            go_to(p, time + 0.5 * h, middle)
            status = _advance(p, 0.5 * h, middle, end, False)
        if status == SUCCEEDED:
            _compare(p, h, whole, end)
    set_lengths(p, 0.0)
    if status == SUCCEEDED:
        if not math.isfinite(largest(end)):
            s.error = math.inf  # the equations of a step were not solved
        go_to(p, time + h, end)
    return status


@device
def _compare(p: Problem, h: float, whole: Any, end: Any) -> None:
    """Equations (3) and (4) of CenicIntegrator, of the states after one step and after two halves of it."""
    s, place = step_of(p), _place_of_largest(p, h, end, whole)
    s.error = _part(p, h, end, whole, place)
    if s.error > s.accuracy:
        _blame(p, place)
    multiply(end, 2.0, end)
    subtract(end, end, whole)
    if step_of(p).num_quaternions:
        scale_quaternions(p, end)


@device
def _know_responses(p: Problem, start: Any) -> int:
    """Learns once in a step how the inputs of plants follow their state, where they do."""
    s, status = step_of(p), SUCCEEDED
    if arrays_of(p).num_following[0] > 0 and not s.knows_start:
        status = learn_responses(p, start)
        go_to(p, step_of(p).start, start)
        s.knows_start = status == SUCCEEDED
    return status


@device
def _advance(p: Problem, h: float, x: Any, x_next: Any, is_start: bool) -> int:
    """A step of length h from where the Context is, x; leaves the state after it in x_next."""
    if arrays_of(p).num_following[0] > 0:
        status = listen_ahead(p, h, x, is_start)
        if status != SUCCEEDED:
            return status
    set_lengths(p, h)
    derivatives_change(p)
    status = evaluate(p, x_next)
    multiply(x_next, h, x_next)
    add(x_next, x, x_next)
    if step_of(p).num_quaternions:
        scale_quaternions(p, x_next)
    return status


@device
def _part(p: Problem, h: float, x: Any, y: Any, k: int) -> float:
    """What a number of two states after a step of length h [s] contributes to (3) of CenicIntegrator."""
    a = arrays_of(p)
    part: float = abs(x[k] - y[k]).real * (a.weights[k] + h * a.rate_weights[k])
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
    s, a = step_of(p), arrays_of(p)
    blames, shortest = a.blames, a.shortest
    blames[place] += 1
    if shortest["h"] == 0.0 or s.h < shortest["h"]:
        shortest["h"], shortest["time"] = s.h, s.start
        shortest["error"], shortest["place"] = s.error, place
        copy(a.shortest_start, a.start)
