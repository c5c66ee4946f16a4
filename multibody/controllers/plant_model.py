"""PlantModel: a plant that a controller asks about its dynamics, at states that come from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import AbstractValue, Context, LeafSystem, later_code
from merganser.framework.core.cache import CacheEntry
from merganser.framework.core.inside import declare_storage
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces

__all__ = ["PlantModel", "checked_gains", "require_fully_actuated", "require_plant"]

Array = NDArray[Any]


class _Bench(AbstractValue):
    """The box of a context to compute in, of which files need nothing: its state is set before each computation."""

    __slots__ = ()

    def _plain_state(self) -> None:
        return None

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        """There is nothing to restore."""


class PlantModel:
    """A plant, and in each Context of a controller a context of that plant to compute in.

    So a controller may be evaluated in several Contexts at a time, in threads too.

    Args:
        owner: the controller; called while it is being made.
        plant: finalized; it is shared, not copied.
        plant_context: its parameters, copied; the default ones if None.

    Raises:
        TypeError: there is no plant.
        RuntimeError: it is not finalized.
        ValueError: the context belongs to another system.
    """

    def __init__(self, owner: LeafSystem, plant: MultibodyPlant, plant_context: Context | None) -> None:
        require_plant(plant, type(owner).__name__)
        self.plant = plant
        if plant_context is not None:
            plant.ValidateContext(plant_context)
        self._parameters = plant.CreateDefaultContext()
        if plant_context is not None:
            self._parameters.SetTimeStateAndParametersFrom(plant_context)
        self._entry: CacheEntry = declare_storage(owner, "plant context", self._new_context)

    def _new_context(self) -> AbstractValue:
        return _Bench(self._parameters.Clone())

    def context(self, context: Context) -> Context:
        """The plant's context in a context of the controller."""
        plant_context: Context = self._entry.get_cache_entry_value(context).GetMutableValueOrThrow()
        return plant_context

    def at(self, context: Context, x: Array) -> Context:
        """The plant's context with positions and velocities x, shape [num_multibody_states]."""
        later_code.note_call()
        plant_context = self.context(context)
        self.plant.SetPositionsAndVelocities(plant_context, x)
        return plant_context

    def force_elements(self, plant_context: Context) -> MultibodyForces:
        """The forces of all force elements, gravity and damping included."""
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(plant_context, forces)
        return forces


def require_plant(plant: Any, name: str) -> None:
    """Raises a TypeError unless there is a plant, and a RuntimeError unless it is finalized."""
    if not isinstance(plant, MultibodyPlant):
        raise TypeError(f"{name}: expected a MultibodyPlant, got {type(plant).__name__}.")
    if not plant.is_finalized():
        raise RuntimeError(f"{name}: plant '{plant.GetSystemPathname()}' is not finalized; call Finalize() first.")


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
