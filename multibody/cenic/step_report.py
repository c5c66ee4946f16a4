"""What made steps short, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.cenic.arrays import SHORTEST_ERROR, SHORTEST_H, SHORTEST_PLACE, SHORTEST_TIME
from merganser.multibody.cenic.moved_plants import MovedPlant

__all__ = ["describe_step_sizes"]

_MOST_NAMED = 3  # coordinates


def describe_step_sizes(moved: list[MovedPlant], blames: NDArray[Any], shortest: NDArray[Any], num_steps: int) -> str:
    """Says how many attempts were refused, because of which coordinates, and which was the shortest of them.

    Args:
        moved: the plants.
        blames: for each number of the state, how often its error was the largest of an attempt that was refused.
        shortest: of these attempts, see attempt.py.
        num_steps: steps taken.
    """
    total = int(blames.sum())
    if not total:
        return f"{num_steps} steps were taken, and none was refused."
    worst = [place for place in np.argsort(-blames, kind="stable")[:_MOST_NAMED].tolist() if blames[place]]
    causes = "; ".join(f"{blames[place]} times {_name_of(moved, place)}" for place in worst)
    others = total - int(blames[worst].sum())
    more = f"; {others} times others" if others else ""
    return (
        f"{num_steps} steps were taken, {total} attempts were refused. The largest error was {causes}{more}. The "
        f"shortest was one of {shortest[SHORTEST_H]:.3g} s at time {shortest[SHORTEST_TIME]:.6g} s, with the error "
        f"{shortest[SHORTEST_ERROR]:.3g} in {_name_of(moved, int(shortest[SHORTEST_PLACE]))}."
    )


def _name_of(moved: list[MovedPlant], place: int) -> str:
    for plant in moved:
        if plant.state.start <= place < plant.state.stop:
            return plant.name_of(place)
    return f"number {place} of the continuous state"
