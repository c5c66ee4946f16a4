"""Spatial vectors: velocity, acceleration, force and momentum, [rotational; translational]."""

from merganser.multibody.math.scalar_templates import (
    SpatialAcceleration_,
    SpatialForce_,
    SpatialMomentum_,
    SpatialVelocity_,
)
from merganser.multibody.math.spatial_force import SpatialForce, SpatialMomentum
from merganser.multibody.math.spatial_velocity import SpatialAcceleration, SpatialVelocity

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
