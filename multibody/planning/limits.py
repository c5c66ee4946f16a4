"""Limits and other numbers that come in, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_number
from merganser.framework.optimization.arrays import vector
from merganser.geometry.optimization import HPolyhedron
from merganser.multibody.plant import MultibodyPlant

Array = NDArray[np.float64]


def checked_limits(
    caller: str, lower: Any, upper: Any, size: int, names: tuple[str, str] = ("lower_limit", "upper_limit")
) -> tuple[Array, Array]:
    """Two vectors of limits, infinite ones among them, shape [size] each.

    Raises:
        ValueError: one is NaN, there are more or fewer of them, or a lower one is above its upper one.
        TypeError: one is not a number.
    """
    low, high = vector(lower, caller, names[0], size), vector(upper, caller, names[1], size)
    require_order(caller, low, high, names)
    return low, high


def require_order(
    caller: str, lower: Array, upper: Array, names: tuple[str, str] = ("lower_limit", "upper_limit")
) -> None:
    """Raises a ValueError if a lower limit is above its upper one, shape [..., size] each."""
    if (lower > upper).any():
        place = tuple(np.argwhere(lower > upper)[0])
        raise ValueError(
            f"{caller}: {names[0]} must not be above {names[1]}; element {int(place[-1])} is {lower[place]} and "
            f"{upper[place]}."
        )


def positive_number(value: Any, what: str) -> float:
    """A finite float above 0.

    Raises:
        ValueError: it is out of range.
        TypeError: it is not a number.
    """
    number = checked_number(value, what)
    if not 0.0 < number < np.inf:
        raise ValueError(f"{what}: expected a finite number above 0, got {number}.")
    return number


def nonnegative_number(value: Any, what: str) -> float:
    """A finite float, at least 0.

    Raises:
        ValueError: it is out of range.
        TypeError: it is not a number.
    """
    number = checked_number(value, what)
    if not 0.0 <= number < np.inf:
        raise ValueError(f"{what}: expected a finite number, at least 0, got {number}.")
    return number


def position_box(plant: MultibodyPlant, other_limits: dict[int, tuple[float, float]] | None = None) -> HPolyhedron:
    """The polytope of position limits, with rows for finite ones; other limits replace those of some positions."""
    lower, upper = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    for place, (low, high) in (other_limits or {}).items():
        lower[place], upper[place] = low, high
    eye, has_upper, has_lower = np.eye(lower.size), np.isfinite(upper), np.isfinite(lower)
    rows = np.vstack((eye[has_upper], -eye[has_lower]))
    return HPolyhedron(rows, np.concatenate((upper[has_upper], -lower[has_lower])))
