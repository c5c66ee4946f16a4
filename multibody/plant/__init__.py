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
from merganser.multibody.plant.scalar_templates import CoulombFriction_, ExternallyAppliedSpatialForce_, MultibodyPlant_
from merganser.multibody.plant.topology_graph import plot_topology
from merganser.multibody.tree import BaseBodyJointType

__all__ = [
    "AddMultibodyPlantSceneGraph",
    "AddMultibodyPlantSceneGraphResult",
    "BaseBodyJointType",
    "CalcContactFrictionFromSurfaceProperties",
    "CoulombFriction",
    "CoulombFriction_",
    "ExternallyAppliedSpatialForce",
    "ExternallyAppliedSpatialForce_",
    "MultibodyPlant",
    "MultibodyPlant_",
    "plot_topology",
]
