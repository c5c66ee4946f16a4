"""The templates `Foo_` of the spatial vectors: `SpatialVelocity_[AutoDiffXd].Zero()` has AutoDiffXd coefficients."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.multibody.math.spatial_force import SpatialForce, SpatialMomentum
from merganser.multibody.math.spatial_vector import SpatialVector
from merganser.multibody.math.spatial_velocity import SpatialAcceleration, SpatialVelocity


def _scalar_of(vector: SpatialVector) -> type[Any]:
    return scalar_of_array(vector._coeffs)


def _cast(vector: SpatialVector, T: type[Any]) -> SpatialVector:
    return type(vector)._from_coeffs(cast_array(vector._coeffs, T))


SpatialAcceleration_ = ValueTemplate(SpatialAcceleration, _scalar_of, _cast)
SpatialForce_ = ValueTemplate(SpatialForce, _scalar_of, _cast)
SpatialMomentum_ = ValueTemplate(SpatialMomentum, _scalar_of, _cast)
SpatialVelocity_ = ValueTemplate(SpatialVelocity, _scalar_of, _cast)
