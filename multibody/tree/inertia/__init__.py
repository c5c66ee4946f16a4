"""Mass properties: rotational, unit and spatial inertia; those of shapes and meshes."""

from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia
from merganser.multibody.tree.inertia.shape_inertia import CalcSpatialInertia
from merganser.multibody.tree.inertia.spatial_inertia import SpatialInertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia

__all__ = ["CalcSpatialInertia", "RotationalInertia", "SpatialInertia", "UnitInertia"]
