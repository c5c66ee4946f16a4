"""Deformable bodies by finite elements: see README.md."""

from merganser.multibody.fem.config import DeformableBodyConfig, DeformableBodyConfig_, MaterialModel
from merganser.multibody.fem.force_density_field import (
    ForceDensityFieldBase,
    ForceDensityFieldBase_,
    ForceDensityType,
)
from merganser.multibody.fem.material_derivatives import (
    MaterialDerivatives,
    differentiate_equilibrium,
    differentiate_motion,
)

__all__ = [
    "DeformableBodyConfig",
    "DeformableBodyConfig_",
    "ForceDensityFieldBase",
    "ForceDensityFieldBase_",
    "ForceDensityType",
    "MaterialDerivatives",
    "MaterialModel",
    "differentiate_equilibrium",
    "differentiate_motion",
]
