"""Forces per volume that act on deformable bodies from outside, as gravity does."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.templates import ValueTemplate


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


ForceDensityFieldBase_ = ValueTemplate(ForceDensityFieldBase)  # type: ignore[type-abstract]
