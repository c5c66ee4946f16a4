"""Mass properties: rotational, unit and spatial inertia."""

from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia
from merganser.multibody.tree.inertia.spatial_inertia import SpatialInertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia

__all__ = ["RotationalInertia", "SpatialInertia", "UnitInertia"]
