"""Postures that a mixed-integer program tries before it searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import MathematicalProgram
from merganser.multibody.plant import MultibodyPlant

Array = NDArray[np.float64]

_MARGIN = 1e-5  # [m], by which searches for postures stay inside


class ProgramWithPostures(MathematicalProgram):
    """A program that searches for an initial guess if none was set.

    Args:
        find_guess: returns values of all variables, or None.
    """

    def __init__(self, find_guess: Callable[[], Array | None]) -> None:
        super().__init__()
        self._find_guess = find_guess

    def _guess_to_begin_with(self) -> Array:
        guess = self.initial_guess()
        if not np.isnan(guess).all() or self.GetAllCosts():
            return guess
        found = self._find_guess()
        return guess if found is None else found


def inside_of(low: Any, high: Any) -> tuple[Array, Array]:
    """A box a little inside of another one [m], where that has an inside."""
    low, high = (np.asarray(each, dtype=np.float64).ravel() for each in (low, high))
    margin = np.minimum(_MARGIN, 0.25 * (high - low))
    return low + margin, high - margin


def postures_to_start_from(plant: MultibodyPlant, count: int) -> Iterator[Array]:
    """The default positions, and others within the limits of joints, by a fixed seed."""
    default = plant.GetPositions(plant.CreateDefaultContext())
    yield default
    low, high = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    is_limited, rng = np.isfinite(high - low), np.random.default_rng(0)
    low, high = (np.where(is_limited, each, default) for each in (low, high))
    for _ in range(1, count):
        yield rng.uniform(low, high)
