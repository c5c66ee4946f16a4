"""Force densities that belong to a plant, and gravity as one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.multibody.fem.force_density_field import ForceDensityFieldBase, ForceDensityType

if TYPE_CHECKING:
    from merganser.framework import AbstractValue, BasicVector, CacheEntry, InputPort, LeafSystem, ValueProducer

class ForceDensityField(ForceDensityFieldBase):
    """A density of force on deformable bodies, which may follow from values in the Context of a plant.

    Derive from it, define DoEvaluateAt(context, p_WQ), and add it by DeformableModel.AddExternalForce().

    Args:
        density_type: which volume the density is of.
    """

    def __init__(self, density_type: ForceDensityType = ForceDensityType.kPerCurrentVolume) -> None:
        super().__init__(density_type)
        self._system: LeafSystem | None = None

    def has_parent_system(self) -> bool:
        """Whether a plant has this field: from Finalize() on."""
        return self._system is not None

    def parent_system_or_throw(self) -> LeafSystem:
        """Returns the plant.

        Raises:
            RuntimeError: it has no plant yet.
        """
        if self._system is None:
            raise RuntimeError(
                f"This {type(self).__name__} belongs to no plant. Add it by DeformableModel.AddExternalForce(), and "
                "call Finalize()."
            )
        return self._system

    def DeclareSystemResources(self, plant: LeafSystem) -> None:
        """Makes a plant the owner; called by Finalize()."""
        self._system = plant
        self.DoDeclareInputPorts(plant)
        self.DoDeclareCacheEntries(plant)

    def DoDeclareCacheEntries(self, plant: LeafSystem) -> None:
        """For derived classes: declares cache entries of the plant, by DeclareCacheEntry()."""

    def DoDeclareInputPorts(self, plant: LeafSystem) -> None:
        """For derived classes: declares input ports of the plant, by DeclareVectorInputPort() and so on."""

    @staticmethod
    def DeclareCacheEntry(
        plant: LeafSystem, description: str, value_producer: ValueProducer, prerequisites_of_calc: set[Any]
    ) -> CacheEntry:
        """Declares a cache entry of the plant."""
        return plant.DeclareCacheEntry(description, value_producer, prerequisites_of_calc)

    @staticmethod
    def DeclareAbstractInputPort(plant: LeafSystem, name: str, model_value: AbstractValue) -> InputPort:
        """Declares an abstract input port of the plant."""
        return plant.DeclareAbstractInputPort(name, model_value)

    @staticmethod
    def DeclareVectorInputPort(plant: LeafSystem, name: str, model_vector: BasicVector) -> InputPort:
        """Declares a vector input port of the plant."""
        return plant.DeclareVectorInputPort(name, model_vector)


class GravityForceField(ForceDensityField):
    """Gravity on bodies of one density at rest.

    Args:
        gravity_vector: acceleration of gravity in W [m/s²], shape [3].
        mass_density: of the body at rest [kg/m³].

    Raises:
        ValueError: the vector has another shape, or a number is not finite.
    """

    def __init__(self, gravity_vector: ArrayLike, mass_density: float) -> None:
        super().__init__(ForceDensityType.kPerReferenceVolume)
        g = np.array(gravity_vector, np.float64)
        if g.size != 3 or not np.isfinite([*g.ravel(), mass_density]).all():
            raise ValueError(
                "GravityForceField() takes a vector of three finite numbers and a finite density; given "
                f"{gravity_vector!r} and {mass_density!r}."
            )
        self._density = g.reshape(3) * float(mass_density)

    def DoEvaluateAt(self, context: Any, p_WQ: NDArray[Any]) -> NDArray[Any]:
        """The same everywhere [N/m³]."""
        return self._density.copy()


ForceDensityField_ = ValueTemplate(ForceDensityField)  # type: ignore[type-abstract]
GravityForceField_ = ValueTemplate(GravityForceField)
