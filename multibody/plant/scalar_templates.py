"""The templates `Foo_` of the plant: `MultibodyPlant_[AutoDiffXd]`."""

from __future__ import annotations

from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.multibody.plant.contact_results import ContactResults, PointPairContactInfo
from merganser.multibody.plant.coulomb_friction import CoulombFriction
from merganser.multibody.plant.deformable_contact_info import DeformableContactInfo
from merganser.multibody.plant.externally_applied_spatial_force import ExternallyAppliedSpatialForce
from merganser.multibody.plant.externally_applied_spatial_force_multiplexer import (
    ExternallyAppliedSpatialForceMultiplexer,
)
from merganser.multibody.plant.hydroelastic_contact_info import HydroelasticContactInfo
from merganser.multibody.plant.multibody_plant import MultibodyPlant
from merganser.multibody.plant.propeller import Propeller
from merganser.multibody.plant.wing import Wing

__all__ = [
    "ContactResults_",
    "CoulombFriction_",
    "DeformableContactInfo_",
    "ExternallyAppliedSpatialForceMultiplexer_",
    "ExternallyAppliedSpatialForce_",
    "HydroelasticContactInfo_",
    "MultibodyPlant_",
    "PointPairContactInfo_",
    "Propeller_",
    "Wing_",
]

MultibodyPlant_ = SystemTemplate(MultibodyPlant)
ExternallyAppliedSpatialForceMultiplexer_ = SystemTemplate(ExternallyAppliedSpatialForceMultiplexer)
Propeller_ = SystemTemplate(Propeller)
Wing_ = SystemTemplate(Wing)
CoulombFriction_ = ValueTemplate(CoulombFriction)
ContactResults_ = ValueTemplate(ContactResults)
DeformableContactInfo_ = ValueTemplate(DeformableContactInfo)
HydroelasticContactInfo_ = ValueTemplate(HydroelasticContactInfo)
PointPairContactInfo_ = ValueTemplate(PointPairContactInfo)
ExternallyAppliedSpatialForce_ = ValueTemplate(
    ExternallyAppliedSpatialForce, lambda force: scalar_of_array(force.F_Bq_W.get_coeffs())
)
