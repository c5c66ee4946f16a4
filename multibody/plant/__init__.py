"""MultibodyPlant and what belongs to it: the names of pydrake.multibody.plant."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.garbage import garbage_waits as _garbage_waits
from merganser.framework.common.lazy_names import lazy_names as _lazy_names

with _garbage_waits():  # a tenth of the time of the imports
    from merganser.multibody.plant.geometry_registration import (
        CalcContactFrictionFromSurfaceProperties,
        CoulombFriction,
    )
    from merganser.multibody.plant.multibody_plant import MultibodyPlant
    from merganser.multibody.plant.multibody_plant_config import (
        AddMultibodyPlantSceneGraph,
        AddMultibodyPlantSceneGraphResult,
    )

if _TYPE_CHECKING:
    from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
    from merganser.multibody.deformable.model import DeformableModel, PhysicalModel
    from merganser.multibody.plant.contact_results import (
        ContactResults,
        DeformableContactInfo,
        HydroelasticContactInfo,
        PointPairContactInfo,
    )
    from merganser.multibody.plant.input_ports import ExternallyAppliedSpatialForce
    from merganser.multibody.plant.model import (
        ContactModel,
        DiscreteContactApproximation,
        DiscreteContactSolver,
    )
    from merganser.multibody.plant.multibody_plant_config import (
        AddMultibodyPlant,
        ApplyMultibodyPlantConfig,
        MultibodyPlantConfig,
    )
    from merganser.multibody.plant.scratch_plant import MultibodyPositionToGeometryPose
    from merganser.multibody.plant.topology_graph import plot_topology
    from merganser.multibody.systems.applied_forces import (
        ExternallyAppliedSpatialForceMultiplexer,
        Propeller,
        PropellerInfo,
        Wing,
    )
    from merganser.multibody.systems.contact_results_to_lcm import (
        ConnectContactResultsToDrakeVisualizer,
        ContactResultsToLcmSystem,
    )
    from merganser.multibody.tree import BaseBodyJointType
    from merganser.multibody.tree.constraints import DistanceConstraintParams

    ContactResults_ = _ValueTemplate(ContactResults)
    CoulombFriction_ = _ValueTemplate(CoulombFriction)
    DeformableContactInfo_ = _ValueTemplate(DeformableContactInfo)
    ExternallyAppliedSpatialForce_ = _ValueTemplate(ExternallyAppliedSpatialForce)
    ExternallyAppliedSpatialForceMultiplexer_ = _SystemTemplate(ExternallyAppliedSpatialForceMultiplexer)
    HydroelasticContactInfo_ = _ValueTemplate(HydroelasticContactInfo)
    MultibodyPlant_ = _SystemTemplate(MultibodyPlant)
    PointPairContactInfo_ = _ValueTemplate(PointPairContactInfo)
    Propeller_ = _SystemTemplate(Propeller)
    Wing_ = _SystemTemplate(Wing)
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AddMultibodyPlant",
    "AddMultibodyPlantSceneGraph",
    "AddMultibodyPlantSceneGraphResult",
    "ApplyMultibodyPlantConfig",
    "BaseBodyJointType",
    "CalcContactFrictionFromSurfaceProperties",
    "ConnectContactResultsToDrakeVisualizer",
    "ContactModel",
    "ContactResults",
    "ContactResultsToLcmSystem",
    "ContactResults_",
    "CoulombFriction",
    "CoulombFriction_",
    "DeformableContactInfo",
    "DeformableContactInfo_",
    "DeformableModel",
    "DiscreteContactApproximation",
    "DiscreteContactSolver",
    "DistanceConstraintParams",
    "ExternallyAppliedSpatialForce",
    "ExternallyAppliedSpatialForceMultiplexer",
    "ExternallyAppliedSpatialForceMultiplexer_",
    "ExternallyAppliedSpatialForce_",
    "HydroelasticContactInfo",
    "HydroelasticContactInfo_",
    "MultibodyPlant",
    "MultibodyPlantConfig",
    "MultibodyPlant_",
    "MultibodyPositionToGeometryPose",
    "PhysicalModel",
    "PointPairContactInfo",
    "PointPairContactInfo_",
    "Propeller",
    "PropellerInfo",
    "Propeller_",
    "Wing",
    "Wing_",
    "plot_topology",
]
