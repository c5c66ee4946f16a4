"""Coulomb friction coefficients of a surface, which are part of its contact material."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["CoulombFriction"]


class CoulombFriction:
    """Static and dynamic coefficients of friction, without unit; it never changes.

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

    def __deepcopy__(self, memo: dict[int, Any]) -> CoulombFriction:
        return self

    def __repr__(self) -> str:
        return f"CoulombFriction(static_friction={self._static}, dynamic_friction={self._dynamic})"
