"""Descriptions of what made steps short."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.multibody.cenic.moved_plants import MovedPlant
from merganser.multibody.cenic.refused_attempt import describe_contact

Array = NDArray[Any]

_MOST_NAMED = 3  # coordinates


def describe_step_sizes(
    moved: list[MovedPlant], context: Context, blames: Array, shortest: Array, start: Array, num_steps: int
) -> str:
    """Says how many attempts were refused, because of which coordinates, and which was the shortest of them.

    That one is made once more in a copy of the Context, to find the contact that acted most on its worst coordinate.

    Args:
        moved: the plants.
        context: of the whole.
        blames: for each number of the state, how often its error was the largest of an attempt that was refused.
        shortest: of these attempts, see attempt.py.
        start: the state at the start of the shortest one.
        num_steps: steps taken.
    """
    total = int(blames.sum())
    if not total:
        return f"{num_steps} steps were taken, and none was refused."
    worst = [place for place in np.argsort(-blames, kind="stable")[:_MOST_NAMED].tolist() if blames[place]]
    causes = "; ".join(f"{blames[place]} times {_name_of(moved, place)}" for place in worst)
    others = total - int(blames[worst].sum())
    more = f"; {others} times others" if others else ""
    h, time, place = float(shortest["h"]), float(shortest["time"]), int(shortest["place"])
    return (
        f"{num_steps} steps were taken, {total} attempts were refused. The largest error was {causes}{more}. The "
        f"shortest was one of {h:.3g} s at time {time:.6g} s, with the error {shortest['error']:.3g} in "
        f"{_name_of(moved, place)}{_cause_of(moved, context, h, time, start, place)}."
    )


def _cause_of(moved: list[MovedPlant], context: Context, h: float, time: float, start: Array, place: int) -> str:
    """The contact that acted on a coordinate in a step."""
    plant = _plant_of(moved, place)
    if plant is None:
        return ""
    context = context.Clone()
    context.SetTime(time)
    context.SetContinuousState(start)
    return f"; {describe_contact(plant.moved_in(context), context, h, place)}"


def _name_of(moved: list[MovedPlant], place: int) -> str:
    plant = _plant_of(moved, place)
    return f"number {place} of the continuous state" if plant is None else plant.name_of(place)


def _plant_of(moved: list[MovedPlant], place: int) -> MovedPlant | None:
    return next((plant for plant in moved if plant.state.start <= place < plant.state.stop), None)
