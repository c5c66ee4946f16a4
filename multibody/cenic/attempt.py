"""One attempt of CenicIntegrator, with the words of analysis/integrators/problem.py.

Plants give the slopes of steps of length h (plant/step/variable_steps.py), so that x plus h times that is the state
after it; all other continuous state takes an explicit Euler step.

For the gain K_i of (2) in dynamics/linearized_inputs.py, of each input F_i on velocity i, it takes differences

    dF_i/dv_i        by another velocity v_i,                                              (1)
    (dF_i/dq N)_i    by other positions, moved along N e_i,                                (2)

at the start of the step: once for its three solutions and for all attempts, as neither depends on h. For that it
samples the inputs of the plant where it puts it; what makes them may be of any kind.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.analysis.integrators.problem import (
    Problem,
    add,
    compute,
    copy,
    go_to,
    largest,
    multiply,
    state_changes,
    state_of,
    step_of,
    subtract,
    take_derivatives,
    time_of,
)
from merganser.analysis.integrators.stepping import scale_quaternions
from merganser.framework.native import device, kernel
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.multibody.cenic.arrays import INPUTS, STEP, arrays_of

_DIFFERENCE = 1e-7  # of positions and velocities, of these relative


@kernel
def try_contact_step(p: Problem) -> int:
    """Equations (1) to (4) of CenicIntegrator."""
    s, a = step_of(p), arrays_of(p)
    start, whole, middle, end = a.start, a.whole, a.middle, a.end
    time, h = s.start, s.h
    copy(start, state_of(p))
    for n in range(len(a.plants)):
        end[a.plants[n].first] = math.nan  # nothing has been moved yet in this attempt,
    state_changes(p)  # so blocks get the same values from plants whether or not they were read before
    s.error = 0.0
    status = _know_slopes(p, start)
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
def _know_slopes(p: Problem, start: Any) -> int:
    """Linearizes, once in a step, the inputs of plants that depend on their state."""
    s, status = step_of(p), SUCCEEDED
    if arrays_of(p).num_following[0] > 0 and not s.knows_start:
        status = _differentiate_inputs(p, start)
        go_to(p, step_of(p).start, start)
        s.knows_start = status == SUCCEEDED
    return status


@device
def _advance(p: Problem, h: float, x: Any, x_next: Any, is_start: bool) -> int:
    """Takes a step of length h from the state x of the Context; writes the result to x_next."""
    plants = arrays_of(p).plants
    if arrays_of(p).num_following[0] > 0:
        status = _predict_inputs(p, h, x, is_start)
        if status != SUCCEEDED:
            return status
    for n in range(len(plants)):
        arguments = plants[n].arguments
        arguments[0] = h
    status = compute(p, STEP)
    take_derivatives(p, x_next)
    for n in range(len(plants)):
        slopes, first = plants[n].slopes, plants[n].first
        copy(x_next[first : first + len(slopes)], slopes)
    multiply(x_next, h, x_next)
    add(x_next, x, x_next)
    if step_of(p).num_quaternions:
        scale_quaternions(p, x_next)
    return status


@device
def _part(p: Problem, h: float, x: Any, y: Any, k: int) -> float:
    """The contribution to (3) of CenicIntegrator of one element of two states after a step of length h [s]."""
    a = arrays_of(p)
    part: float = abs(x[k] - y[k]).real * (a.weights[k] + h * a.rate_weights[k])
    return part


@device
def _place_of_largest(p: Problem, h: float, x: Any, y: Any) -> int:
    """The index of the element that contributes most, or is NaN."""
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
    """Notes the element with the largest error of an attempt that will be refused."""
    s, a = step_of(p), arrays_of(p)
    blames, shortest = a.blames, a.shortest
    blames[place] += 1
    if shortest["h"] == 0.0 or s.h < shortest["h"]:
        shortest["h"], shortest["time"] = s.h, s.start
        shortest["error"], shortest["place"] = s.error, place
        copy(a.shortest_start, a.start)


# ---------------------------------------------------------------------- inputs that follow the state


@device
def _sample_at(p: Problem, x: Any) -> int:
    """Samples the inputs of all plants in a state."""
    go_to(p, time_of(p), x)
    return compute(p, INPUTS)


@device
def _differentiate_inputs(p: Problem, start: Any) -> int:
    """Computes (1) and (2) at the start of the step."""
    plants = arrays_of(p).plants
    status = _sample_at(p, start)
    for n in range(len(plants)):
        copy(plants[n].before, plants[n].sample)
    for n in range(len(plants)):
        if status == SUCCEEDED:
            status = _differentiate(p, start, plants[n])
    return status


@device
def _differentiate(p: Problem, start: Any, plant: Any) -> int:
    """Computes (1) and (2) of one plant, by its PlantArrays."""
    x, before, sample = arrays_of(p).predicted, plant.before, plant.sample
    first, num_q, acted_on, status = plant.first, plant.num_q, plant.acted_on, SUCCEEDED
    for i in range(len(acted_on)):
        if status == SUCCEEDED and acted_on[i]:
            place = first + num_q + i
            difference = _DIFFERENCE * max(1.0, abs(start[place]))
            copy(x, start)
            x[place] += difference
            status = _sample_at(p, x)
            _note(plant, i, plant.by_velocity, difference)
            copy(x, start)
            for k in range(num_q):
                x[first + k] += _DIFFERENCE / difference * (sample[k] - before[k])
            if status == SUCCEEDED:
                status = _sample_at(p, x)
                _note(plant, i, plant.by_position, _DIFFERENCE)
    return status


@device
def _note(plant: Any, i: int, slopes: Any, difference: float) -> None:
    """Writes the finite differences of the inputs that act on velocity i."""
    columns, before, sample, num_q = plant.columns, plant.before, plant.sample, plant.num_q
    for k in range(len(columns)):
        if columns[k] == i:
            slopes[k] = (sample[num_q + k] - before[num_q + k]) / difference


@device
def _predict_inputs(p: Problem, h: float, x: Any, is_start: bool) -> int:
    """Samples the inputs of all plants with positions moved on for h [s], and computes K: arguments of steps.

    Args:
        p: the problem.
        h: as given.
        x: the state in the Context, to which it returns.
        is_start: whether it is that at the start of the step, where the rates are known.
    """
    predicted, plants, status = arrays_of(p).predicted, arrays_of(p).plants, SUCCEEDED
    if not is_start:
        status = _sample_at(p, x)
    copy(predicted, x)
    for n in range(len(plants)):
        plant = plants[n]
        first, rates, arguments = plant.first, plant.before if is_start else plant.sample, plant.arguments
        by_velocity, by_position = plant.by_velocity, plant.by_position
        for k in range(plant.num_q):
            predicted[first + k] += h * rates[k]
        for k in range(len(by_velocity)):
            K = -(by_velocity[k] + h * by_position[k])
            arguments[1 + k] = K if K > 0.0 else 0.0
    if step_of(p).num_quaternions:
        scale_quaternions(p, predicted)
    if status == SUCCEEDED:
        status = _sample_at(p, predicted)
    for n in range(len(plants)):
        copy(plants[n].arguments[1 + len(plants[n].columns) :], plants[n].sample)
    go_to(p, time_of(p), x)
    return status
