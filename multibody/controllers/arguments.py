"""Checks of what controllers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody.plant import MultibodyPlant

Array = NDArray[Any]


def require_fully_actuated(plant: MultibodyPlant, name: str) -> Array:
    """Returns the inverse of the actuation matrix, shape [n, n], of a plant with n positions, velocities and actuators.

    Raises:
        RuntimeError: the numbers differ.
    """
    numbers = plant.num_positions(), plant.num_velocities(), plant.num_actuated_dofs()
    if len(set(numbers)) > 1:
        raise RuntimeError(
            f"{name}: plant '{plant.GetSystemPathname()}' must have as many positions as velocities and actuated "
            f"degrees of freedom; it has {numbers[0]}, {numbers[1]} and {numbers[2]}."
        )
    B = plant.MakeActuationMatrix()
    if np.linalg.matrix_rank(B) < len(B):
        raise RuntimeError(
            f"{name}: some degree of freedom of plant '{plant.GetSystemPathname()}' has no actuator, and some has two."
        )
    return np.linalg.inv(B)


def checked_gains(gains: ArrayLike, size: int, what: str) -> Array:
    """Gains as a vector of `size` elements.

    Raises:
        RuntimeError: there are more or less of them, or one is not finite.
    """
    values = np.asarray(gains, dtype=float).reshape(-1)
    if values.size != size or not np.isfinite(values).all():
        raise RuntimeError(f"{what} must be {size} finite numbers, one for each position; got {values.tolist()}.")
    return values
