"""Spatial vectors: velocity, acceleration, force and momentum, [rotational; translational]."""

from merganser.multibody.math.spatial_force import SpatialForce, SpatialMomentum
from merganser.multibody.math.spatial_velocity import SpatialAcceleration, SpatialVelocity

__all__ = ["SpatialAcceleration", "SpatialForce", "SpatialMomentum", "SpatialVelocity"]
