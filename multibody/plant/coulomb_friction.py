"""Coulomb friction coefficients of surfaces and of pairs of surfaces."""

from __future__ import annotations

from merganser.geometry.coulomb_friction import CoulombFriction

__all__ = ["CalcContactFrictionFromSurfaceProperties", "CoulombFriction"]


def CalcContactFrictionFromSurfaceProperties(
    surface_properties1: CoulombFriction, surface_properties2: CoulombFriction
) -> CoulombFriction:
    """Combines the friction of two surfaces: 2 mu1 mu2 / (mu1 + mu2), zero if both are zero."""

    def combine(mu1: float, mu2: float) -> float:
        return 2.0 * mu1 * mu2 / (mu1 + mu2) if mu1 + mu2 > 0.0 else 0.0

    return CoulombFriction(
        combine(surface_properties1.static_friction(), surface_properties2.static_friction()),
        combine(surface_properties1.dynamic_friction(), surface_properties2.dynamic_friction()),
    )
