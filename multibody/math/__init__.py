"""Spatial vectors: velocity, acceleration, force and momentum, [rotational; translational]."""

from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
from merganser.multibody.math.spatial_vector import SpatialAcceleration, SpatialForce, SpatialMomentum, SpatialVelocity

SpatialAcceleration_ = _ValueTemplate(SpatialAcceleration)
SpatialForce_ = _ValueTemplate(SpatialForce)
SpatialMomentum_ = _ValueTemplate(SpatialMomentum)
SpatialVelocity_ = _ValueTemplate(SpatialVelocity)


__all__ = [
    "SpatialAcceleration",
    "SpatialAcceleration_",
    "SpatialForce",
    "SpatialForce_",
    "SpatialMomentum",
    "SpatialMomentum_",
    "SpatialVelocity",
    "SpatialVelocity_",
]
