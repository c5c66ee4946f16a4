"""Coulomb friction coefficients of surfaces and of pairs of surfaces."""

from __future__ import annotations

import math

__all__ = ["CalcContactFrictionFromSurfaceProperties", "CoulombFriction"]


class CoulombFriction:
    """Static and dynamic coefficients of friction, without unit.

    Args:
        static_friction: ratio of the largest tangential to the normal force at rest.
        dynamic_friction: the same ratio when sliding, at most the static one.

    Raises:
        ValueError: a coefficient is negative or not finite, or the dynamic one is the larger.
    """

    __slots__ = ("_dynamic", "_static")

    def __init__(self, static_friction: float = 0.0, dynamic_friction: float = 0.0) -> None:
        for name, value in (("static", static_friction), ("dynamic", dynamic_friction)):
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"The {name} friction coefficient must be finite and not negative, got {value}.")
        if dynamic_friction > static_friction:
            raise ValueError(
                f"The dynamic friction coefficient ({dynamic_friction}) cannot exceed the static one "
                f"({static_friction})."
            )
        self._static, self._dynamic = float(static_friction), float(dynamic_friction)

    def static_friction(self) -> float:
        """The coefficient at rest."""
        return self._static

    def dynamic_friction(self) -> float:
        """The coefficient when sliding."""
        return self._dynamic

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoulombFriction):
            return NotImplemented
        return (self._static, self._dynamic) == (other._static, other._dynamic)

    def __hash__(self) -> int:
        return hash((self._static, self._dynamic))

    def __repr__(self) -> str:
        return f"CoulombFriction(static_friction={self._static}, dynamic_friction={self._dynamic})"


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
