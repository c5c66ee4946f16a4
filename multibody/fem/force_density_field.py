"""Forces per volume that act on deformable bodies from outside: those of programs, and gravity."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.templates import ValueTemplate

if TYPE_CHECKING:
    from merganser.framework import AbstractValue, BasicVector, CacheEntry, InputPort, LeafSystem, ValueProducer


class ForceDensityType(Enumeration):
    """Which volume a density is of."""

    kPerCurrentVolume = 0  # as it is deformed
    kPerReferenceVolume = 1  # as it was at rest


class ForceDensityFieldBase(abc.ABC):
    """Where in the world which force per volume acts; derive from `multibody.tree.ForceDensityField`.

    Args:
        density_type: which volume the density is of.

    Raises:
        TypeError: `density_type` is no ForceDensityType.
    """

    def __init__(self, density_type: ForceDensityType = ForceDensityType.kPerCurrentVolume) -> None:
        if not isinstance(density_type, ForceDensityType):
            raise TypeError(f"{type(self).__name__}() takes a ForceDensityType; given {density_type!r}.")
        self._density_type = density_type

    def EvaluateAt(self, context: Any, p_WQ: ArrayLike) -> NDArray[Any]:
        """Returns the density of force at a point Q, in W [N/m³], shape [3].

        Args:
            context: of the plant.
            p_WQ: position of Q in W [m], shape [3].

        Raises:
            RuntimeError: DoEvaluateAt() returns something else than three finite numbers.
        """
        density = np.asarray(self.DoEvaluateAt(context, np.asarray(p_WQ, np.float64).reshape(3)))
        if density.size != 3 or (density.dtype != object and not np.isfinite(density).all()):
            raise RuntimeError(
                f"{type(self).__name__}.DoEvaluateAt() must return three finite numbers, a density in N/m³; it "
                f"returned {density!r}."
            )
        return density.reshape(3)

    def density_type(self) -> ForceDensityType:
        """Which volume the density is of."""
        return self._density_type

    @abc.abstractmethod
    def DoEvaluateAt(self, context: Any, p_WQ: NDArray[Any]) -> ArrayLike:
        """Returns the density of force at a point [N/m³], shape [3]; for derived classes, see EvaluateAt()."""

    def DoClone(self) -> ForceDensityFieldBase:
        """Returns a copy; for derived classes that need another one than copy.copy() makes."""
        clone: ForceDensityFieldBase = type(self).__new__(type(self))
        clone.__dict__.update(self.__dict__)
        return clone

    def Clone(self) -> ForceDensityFieldBase:
        """Returns a copy."""
        return self.DoClone()

    def __copy__(self) -> ForceDensityFieldBase:
        return self.DoClone()

    def __deepcopy__(self, memo: Any) -> ForceDensityFieldBase:
        return self.DoClone()


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


ForceDensityFieldBase_ = ValueTemplate(ForceDensityFieldBase)  # type: ignore[type-abstract]
ForceDensityField_ = ValueTemplate(ForceDensityField)  # type: ignore[type-abstract]
GravityForceField_ = ValueTemplate(GravityForceField)
