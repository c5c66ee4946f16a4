"""Configurations of deformable geometries on their way to a SceneGraph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.ids import GeometryId

__all__ = ["GeometryConfigurationVector"]


class GeometryConfigurationVector:
    """The positions of all vertices of each deformable geometry of one source, by GeometryId."""

    __slots__ = ("_configurations",)

    def __init__(self) -> None:
        self._configurations: dict[GeometryId, NDArray[Any]] = {}

    def set_value(self, id: GeometryId, value: ArrayLike) -> None:
        """Sets the configuration of a geometry; a copy is kept.

        Args:
            id: the geometry.
            value: coordinates of its vertices, one after the other, of any scalar type, shape [3 num_vertices].

        Raises:
            TypeError: `id` is not a GeometryId, or the value does not consist of numbers.
            ValueError: `id` is invalid, or the value is no vector.
        """
        if not isinstance(id, GeometryId):
            raise TypeError(f"GeometryConfigurationVector.set_value() takes a GeometryId; given {id!r}.")
        if not id.is_valid():
            raise ValueError("GeometryConfigurationVector.set_value() was given an invalid GeometryId.")
        q = np.array(value)
        q = q if q.dtype == object else q.astype(np.float64)
        if q.ndim == 2 and q.shape[1] == 1:
            q = q.ravel()
        if q.ndim != 1:
            raise ValueError(f"The configuration of {id!r} must be a vector; given an array of shape {q.shape}.")
        self._configurations[id] = q

    def value(self, id: GeometryId) -> NDArray[Any]:
        """Returns a copy of the configuration of a geometry.

        Raises:
            RuntimeError: the vector has none for this geometry.
        """
        if id not in self._configurations:
            raise RuntimeError(
                f"This GeometryConfigurationVector has no configuration for {id!r}; it has some for {self.ids()}."
            )
        return self._configurations[id].copy()

    def has_id(self, id: GeometryId) -> bool:
        """Whether the vector has a configuration for this geometry."""
        return id in self._configurations

    def ids(self) -> list[GeometryId]:
        """The geometries that have a configuration, in the order in which they were first set."""
        return list(self._configurations)

    def size(self) -> int:
        """The number of geometries that have a configuration."""
        return len(self._configurations)

    def clear(self) -> None:
        """Forgets all configurations."""
        self._configurations.clear()

    def __repr__(self) -> str:
        return f"<GeometryConfigurationVector of {self.size()} geometries>"
