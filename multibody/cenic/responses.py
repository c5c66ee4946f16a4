"""How the inputs of plants follow their state: differences, before each step, with the words of problem.py.

Equations (1) and (2) of ../contact/responses.py need, of each input F_i that acts on velocity i,

    dF_i/dv_i        by another velocity v_i,                                              (3)
    (dF_i/dq N)_i    by other positions, moved along N e_i,                                (4)

at the start of the step: once for its three solutions and for all attempts, as neither depends on h. For that the
integrator puts the plant where it may be and lets it listen; what makes the inputs may be of any kind.
"""

from __future__ import annotations

from typing import Any

from merganser.analysis.integrators.problem import (
    Problem,
    copy,
    derivatives_change,
    evaluate,
    go_to,
    step_of,
    time_of,
)
from merganser.analysis.integrators.stepping import scale_quaternions
from merganser.framework.native import device
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.multibody.cenic.arrays import arrays_of
from merganser.multibody.contact.responses import (
    ALL,
    ALONE,
    BEFORE,
    BY_POSITION,
    BY_VELOCITY,
    FIRST,
    GAIN,
    HEARD,
    NUM_PLACES,
    NUM_Q,
    NUM_V,
    WHAT_FOLLOWS,
)
from merganser.multibody.contact.step_operation import LISTENING

__all__ = ["learn_responses", "listen_ahead", "set_lengths"]

_DIFFERENCE = 1e-7  # of positions and velocities, of these relative


@device
def set_lengths(p: Problem, h: float) -> None:
    """Tells all plants how long the next steps are, or what else they are to do."""
    plants = arrays_of(p).plants
    for n in range(len(plants)):
        lengths = plants[n].lengths
        lengths[0] = h


@device
def _listen_at(p: Problem, x: Any, xdot: Any) -> int:
    """Has all plants note what comes through their inputs in a state; xdot has N v of them."""
    set_lengths(p, LISTENING)
    go_to(p, time_of(p), x)
    derivatives_change(p)
    return evaluate(p, xdot)


@device
def learn_responses(p: Problem, start: Any) -> int:
    """Makes (3) and (4) where the step starts."""
    plants = arrays_of(p).plants
    status = _listen_at(p, start, arrays_of(p).rates)
    for n in range(len(plants)):
        table = plants[n].responses
        for k in range(table.shape[1]):
            table[BEFORE, k] = table[HEARD, k]
    for n in range(len(plants)):
        if status == SUCCEEDED and plants[n].places[WHAT_FOLLOWS] != ALONE:
            status = _learn(p, start, plants[n])
    return status


@device
def _learn(p: Problem, start: Any, plant: Any) -> int:
    """(3) and (4) of one plant, by its PlantArrays."""
    a, places = arrays_of(p), plant.places
    x, rates, xdot = a.predicted, a.rates, a.xdot
    first, num_q, status = places[FIRST], places[NUM_Q], SUCCEEDED
    for i in range(places[NUM_V]):
        if status == SUCCEEDED and _is_acted_on(places, i):
            place = first + num_q + i
            difference = _DIFFERENCE * max(1.0, abs(start[place]))
            copy(x, start)
            x[place] += difference
            status = _listen_at(p, x, xdot)
            _note(plant, i, BY_VELOCITY, difference)
            copy(x, start)
            for k in range(first, first + num_q):
                x[k] += _DIFFERENCE / difference * (xdot[k] - rates[k])
            if status == SUCCEEDED:
                status = _listen_at(p, x, xdot)
                _note(plant, i, BY_POSITION, _DIFFERENCE)
    return status


@device
def _is_acted_on(places: Any, i: int) -> bool:
    """Whether inputs that follow the state may act on a velocity."""
    is_acted_on: bool = places[WHAT_FOLLOWS] == ALL
    for k in range(NUM_PLACES, len(places) - places[NUM_V]):
        is_acted_on = is_acted_on or places[k] == i
    return is_acted_on


@device
def _note(plant: Any, i: int, row: int, difference: float) -> None:
    """How what acts on velocity i has changed since the start."""
    places, table = plant.places, plant.responses
    for k in range(table.shape[1]):
        if places[NUM_PLACES + k] == i:
            table[row, k] = (table[HEARD, k] - table[BEFORE, k]) / difference


@device
def listen_ahead(p: Problem, h: float, x: Any, is_start: bool) -> int:
    """Has all plants note what comes where positions have moved on for h [s], and makes (2); returns to x.

    Args:
        p: the problem.
        h: as given.
        x: the state in the Context.
        is_start: whether it is that at the start of the step, where the rates are known.
    """
    a, status = arrays_of(p), SUCCEEDED
    predicted, rates, plants = a.predicted, a.rates, a.plants
    if not is_start:
        rates = a.xdot
        status = _listen_at(p, x, rates)
    copy(predicted, x)
    for n in range(len(plants)):
        places, table = plants[n].places, plants[n].responses
        for k in range(places[FIRST], places[FIRST] + places[NUM_Q]):
            predicted[k] += h * rates[k]
        for k in range(table.shape[1]):
            K = -(table[BY_VELOCITY, k] + h * table[BY_POSITION, k])
            table[GAIN, k] = K if K > 0.0 else 0.0
    if step_of(p).num_quaternions:
        scale_quaternions(p, predicted)
    if status == SUCCEEDED:
        status = _listen_at(p, predicted, a.xdot)
    go_to(p, time_of(p), x)
    return status
