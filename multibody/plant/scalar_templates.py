"""The templates `Foo_` of the plant: `MultibodyPlant_[AutoDiffXd]`."""

from __future__ import annotations

from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.multibody.plant.contact_results import (
    ContactResults,
    DeformableContactInfo,
    HydroelasticContactInfo,
    PointPairContactInfo,
)
from merganser.multibody.plant.geometry_registration import CoulombFriction
from merganser.multibody.plant.input_ports import ExternallyAppliedSpatialForce
from merganser.multibody.plant.multibody_plant import MultibodyPlant

MultibodyPlant_ = SystemTemplate(MultibodyPlant)
CoulombFriction_ = ValueTemplate(CoulombFriction)
ContactResults_ = ValueTemplate(ContactResults)
DeformableContactInfo_ = ValueTemplate(DeformableContactInfo)
HydroelasticContactInfo_ = ValueTemplate(HydroelasticContactInfo)
PointPairContactInfo_ = ValueTemplate(PointPairContactInfo)
ExternallyAppliedSpatialForce_ = ValueTemplate(
    ExternallyAppliedSpatialForce, lambda force: scalar_of_array(force.F_Bq_W.get_coeffs())
)
