"""Discrete steps as pydrake takes them."""

from __future__ import annotations

from typing import Any


def as_pydrake(plant: Any) -> Any:
    """Returns a plant of either library whose steps take forces of velocity products at their beginning."""
    if hasattr(plant, "SetUseExplicitVelocityProducts") and not plant.is_finalized():
        plant.SetUseExplicitVelocityProducts(True)
    return plant
