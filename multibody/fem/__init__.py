"""Deformable bodies by finite elements: see README.md."""

from merganser.multibody.fem.config import DeformableBodyConfig, DeformableBodyConfig_, MaterialModel
from merganser.multibody.fem.force_density_field import (
    ForceDensityFieldBase,
    ForceDensityFieldBase_,
    ForceDensityType,
)

__all__ = [
    "DeformableBodyConfig",
    "DeformableBodyConfig_",
    "ForceDensityFieldBase",
    "ForceDensityFieldBase_",
    "ForceDensityType",
    "MaterialModel",
]
