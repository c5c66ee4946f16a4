"""MultibodyPlant and what belongs to it: the names of pydrake.multibody.plant."""

from merganser.multibody.plant.add_multibody_plant import (
    AddMultibodyPlantSceneGraph,
    AddMultibodyPlantSceneGraphResult,
)
from merganser.multibody.plant.coulomb_friction import (
    CalcContactFrictionFromSurfaceProperties,
    CoulombFriction,
)
from merganser.multibody.plant.externally_applied_spatial_force import ExternallyAppliedSpatialForce
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.tree import BaseBodyJointType

__all__ = [
    "AddMultibodyPlantSceneGraph",
    "AddMultibodyPlantSceneGraphResult",
    "BaseBodyJointType",
    "CalcContactFrictionFromSurfaceProperties",
    "CoulombFriction",
    "ExternallyAppliedSpatialForce",
    "MultibodyPlant",
]
