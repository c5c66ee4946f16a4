"""Deformable bodies by finite elements: see README.md."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
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
    from merganser.multibody.fem.materials.kind import MaterialKind
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "DeformableBodyConfig",
    "DeformableBodyConfig_",
    "ForceDensityFieldBase",
    "ForceDensityFieldBase_",
    "ForceDensityType",
    "MaterialDerivatives",
    "MaterialKind",
    "MaterialModel",
    "differentiate_equilibrium",
    "differentiate_motion",
]
