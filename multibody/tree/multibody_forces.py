"""Forces on bodies and generalized forces, gathered for a call of the dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.scalars import ScalarArray, cast_array, scalar_of_array


class MultibodyForces:
    """Spatial forces on the bodies of a plant and generalized forces, both starting at zero.

    Args:
        plant: a finalized MultibodyPlant, for the sizes; or the number of bodies `nb`, then `nv`.
        nb: number of bodies, the world included.
        nv: number of velocities.

    Raises:
        TypeError: if neither a plant nor both sizes are given.
    """

    def __init__(self, plant: Any = None, nv: int | None = None, *, nb: int | None = None) -> None:
        T: Any = float
        if isinstance(plant, (int, np.integer)):
            nb = int(plant)
        elif plant is not None:
            nb, nv, T = plant.num_bodies(), plant.num_velocities(), scalar_of(plant)
        if nb is None or nv is None:
            raise TypeError("MultibodyForces() takes a finalized plant, or the sizes (nb, nv).")
        # F_Bo_W of every body, in the order of mobilized bodies [N m, N]; tau, in the order of v.
        self._F_Bo_W = np.zeros((nb, 6)) if T is float else ScalarArray.of((nb, 6), T)
        self._tau = np.zeros(nv) if T is float else ScalarArray.of(nv, T)
        # Of other scalars than floats all elements are one object at first; kept alive, as its address is compared.
        self._zero = None if T is float else np.array([T(0.0)])
        if self._zero is not None:
            self._F_Bo_W.fill(self._zero[0])
            self._tau.fill(self._zero[0])

    def num_bodies(self) -> int:
        """Returns the number of bodies, the world included."""
        return len(self._F_Bo_W)

    def num_velocities(self) -> int:
        """Returns the number of generalized forces."""
        return len(self._tau)

    def SetZero(self) -> MultibodyForces:
        """Makes all forces zero, and returns this object."""
        self._F_Bo_W[:] = 0.0
        self._tau[:] = 0.0
        return self

    def generalized_forces(self) -> npt.NDArray[Any]:
        """Returns a copy of the generalized forces, in the order of v, shape [nv]."""
        return self._tau.copy()

    def mutable_generalized_forces(self) -> npt.NDArray[Any]:
        """Returns a view of the generalized forces, in the order of v, shape [nv]."""
        return self._tau

    def _is_fresh(self, forces: npt.NDArray[Any]) -> bool:
        """Whether its forces on bodies, or its generalized forces, all still are the object that they started as."""
        if self._zero is None or forces.dtype != object:
            return False
        return forces.tobytes() == forces.size * self._zero.tobytes()

    def AddInForces(self, addend: MultibodyForces) -> None:
        """Adds the forces of `addend` to these.

        Raises:
            ValueError: if `addend` is for a plant of other size.
        """
        if addend._F_Bo_W.shape != self._F_Bo_W.shape or addend._tau.shape != self._tau.shape:
            raise ValueError(
                f"AddInForces(): the addend is for {addend.num_bodies()} bodies and "
                f"{addend.num_velocities()} "
                f"velocities, but these forces are for {self.num_bodies()} and {self.num_velocities()}."
            )
        self._F_Bo_W += addend._F_Bo_W
        self._tau += addend._tau

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._F_Bo_W)

    def _cast(self, T: Any) -> MultibodyForces:
        result = MultibodyForces(nb=self.num_bodies(), nv=self.num_velocities())
        result._F_Bo_W, result._tau = cast_array(self._F_Bo_W, T), cast_array(self._tau, T)
        return result
