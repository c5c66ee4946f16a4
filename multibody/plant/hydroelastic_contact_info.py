"""HydroelasticContactInfo: a contact surface of two bodies, and what it exerts."""

from __future__ import annotations

from typing import Any

from merganser.geometry.hydroelastic.contact_surface import ContactSurface
from merganser.multibody.math import SpatialForce

__all__ = ["HydroelasticContactInfo"]


class HydroelasticContactInfo:
    """The contact of geometries M and N, fixed to bodies A and B, on a surface.

    Args:
        contact_surface: with its pressures.
        F_Ac_W: spatial force of the surface on body A [N m, N], at the centroid C of the surface, in W.
    """

    def __init__(self, contact_surface: ContactSurface, F_Ac_W: SpatialForce) -> None:
        self._contact_surface, self._F_Ac_W = contact_surface, F_Ac_W

    def contact_surface(self) -> ContactSurface:
        """Returns the surface."""
        return self._contact_surface

    def F_Ac_W(self) -> SpatialForce:
        """Returns the spatial force on body A, to which geometry M is fixed, at the centroid of the surface, in W."""
        return self._F_Ac_W

    def Save(self, path: Any) -> None:
        """Writes the surface with its pressures to a file, see `ContactSurface.Save`, which pydrake has not."""
        self._contact_surface.Save(path)

    def __repr__(self) -> str:
        return f"HydroelasticContactInfo({self._contact_surface!r}, F_Ac_W={self._F_Ac_W!r})"
