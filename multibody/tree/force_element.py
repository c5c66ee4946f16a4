"""Force elements: what acts on the bodies besides joints and actuators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.indices import ForceElementIndex, world_model_instance

__all__ = ["ForceElement", "UniformGravityFieldElement"]


class ForceElement(MultibodyElement):
    """Abstract element that applies forces to bodies."""

    _index_type = ForceElementIndex


class UniformGravityFieldElement(ForceElement):
    """The same acceleration of gravity everywhere; every tree has one.

    Args:
        g_W: acceleration of gravity in the world frame [m/s^2], shape [3]; by default 9.81 downwards (-z).
    """

    kDefaultStrength = 9.81

    def __init__(self, g_W: npt.ArrayLike | None = None) -> None:
        super().__init__(world_model_instance())
        self.set_gravity_vector([0.0, 0.0, -self.kDefaultStrength] if g_W is None else g_W)

    def gravity_vector(self) -> npt.NDArray[np.float64]:
        """Returns a copy of g_W, the acceleration of gravity in the world frame [m/s^2], shape [3]."""
        return self._g_W.copy()

    def set_gravity_vector(self, g_W: npt.ArrayLike) -> None:
        """Sets the acceleration of gravity in the world frame [m/s^2], shape [3].

        Raises:
            ValueError: if g_W has not three finite entries.
        """
        g = as_vector(g_W, 3, "set_gravity_vector: g_W").astype(np.float64)
        if not np.isfinite(g).all():
            raise ValueError(f"set_gravity_vector(): g_W must be finite, but is {g}.")
        self._g_W = g
