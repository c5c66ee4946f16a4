"""Elements and topology of multibody models."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
from merganser.multibody.tree.actuator import Actuator, JointActuator, PdControllerGains
from merganser.multibody.tree.actuator_law import (
    ActuatorLaw,
    ControlDelay,
    DcMotor,
    LawForm,
    MuscleCurves,
    OrientationServo,
    ServoIntegral,
)
from merganser.multibody.tree.base_bodies import BaseBodyJointType
from merganser.multibody.tree.computations import (
    AccelerationKinematicsCache,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from merganser.multibody.tree.constraints import MultibodyConstraintId
from merganser.multibody.tree.element import MultibodyElement, ScopedName
from merganser.multibody.tree.force_elements import (
    BallSpring,
    DoorHinge,
    DoorHingeConfig,
    FluidForceOnBox,
    FluidForceOnEllipsoid,
    ForceElement,
    GravityCompensation,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    PolynomialSpring,
    PrismaticSpring,
    RevoluteSpring,
    UniformGravityFieldElement,
)
from merganser.multibody.tree.frame import FixedOffsetFrame, Frame, RigidBodyFrame
from merganser.multibody.tree.indices import (
    BodyIndex,
    DeformableBodyIndex,
    ForceElementIndex,
    FrameIndex,
    JacobianWrtVariable,
    JointActuatorIndex,
    JointIndex,
    MobilizerIndex,
    ModelInstanceIndex,
    TransmissionIndex,
    default_model_instance,
    world_frame_index,
    world_index,
    world_model_instance,
)
from merganser.multibody.tree.inertia import CalcSpatialInertia, RotationalInertia, SpatialInertia, UnitInertia
from merganser.multibody.tree.joints import (
    BallQuaternionJoint,
    BallRpyJoint,
    CurvilinearJoint,
    FloatingJoint,
    Joint,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RpyFloatingJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)
from merganser.multibody.tree.mobilizers import (
    BallQuaternionMobilizer,
    CurvilinearMobilizer,
    Mobilizer,
    PlanarMobilizer,
    PrismaticMobilizer,
    QuaternionFloatingMobilizer,
    RevoluteMobilizer,
    RpyFloatingMobilizer,
    ScrewMobilizer,
    SpaceXYZMobilizer,
    UniversalMobilizer,
    WeldMobilizer,
)
from merganser.multibody.tree.multibody_forces import MultibodyForces
from merganser.multibody.tree.rigid_body import Body, RigidBody
from merganser.multibody.tree.transmission import (
    AdhesionTransmission,
    BallTransmission,
    FixedTendon,
    JointTerm,
    SiteTransmission,
    SliderCrankTransmission,
    SpatialTendon,
    TendonPulley,
    TendonSite,
    TendonWrap,
    Transmission,
)
from merganser.multibody.tree.tree import MultibodyTree

BallQuaternionJoint_ = _ValueTemplate(BallQuaternionJoint)
BallRpyJoint_ = _ValueTemplate(BallRpyJoint)
Body_ = _ValueTemplate(RigidBody)
DoorHinge_ = _ValueTemplate(DoorHinge)
FixedOffsetFrame_ = _ValueTemplate(FixedOffsetFrame)
ForceElement_ = _ValueTemplate(ForceElement)
Frame_ = _ValueTemplate(Frame)  # type: ignore[type-abstract]
Joint_ = _ValueTemplate(Joint)
JointActuator_ = _ValueTemplate(JointActuator)
LinearBushingRollPitchYaw_ = _ValueTemplate(LinearBushingRollPitchYaw)
LinearSpringDamper_ = _ValueTemplate(LinearSpringDamper)
MultibodyForces_ = _ValueTemplate(MultibodyForces)
PlanarJoint_ = _ValueTemplate(PlanarJoint)
PrismaticJoint_ = _ValueTemplate(PrismaticJoint)
PrismaticSpring_ = _ValueTemplate(PrismaticSpring)
QuaternionFloatingJoint_ = _ValueTemplate(QuaternionFloatingJoint)
RevoluteJoint_ = _ValueTemplate(RevoluteJoint)
RevoluteSpring_ = _ValueTemplate(RevoluteSpring)
RigidBody_ = _ValueTemplate(RigidBody)
RigidBodyFrame_ = _ValueTemplate(RigidBodyFrame)
RotationalInertia_ = _ValueTemplate(RotationalInertia)
RpyFloatingJoint_ = _ValueTemplate(RpyFloatingJoint)
ScrewJoint_ = _ValueTemplate(ScrewJoint)
SpatialInertia_ = _ValueTemplate(SpatialInertia)
UniformGravityFieldElement_ = _ValueTemplate(UniformGravityFieldElement)
UnitInertia_ = _ValueTemplate(UnitInertia)
UniversalJoint_ = _ValueTemplate(UniversalJoint)
WeldJoint_ = _ValueTemplate(WeldJoint)

if _TYPE_CHECKING:
    from merganser.multibody.deformable.body import DeformableBody, DeformableBodyId
    from merganser.multibody.fem.force_density_field import (
        ForceDensityField,
        ForceDensityField_,
        GravityForceField,
        GravityForceField_,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AccelerationKinematicsCache",
    "Actuator",
    "ActuatorLaw",
    "AdhesionTransmission",
    "BallQuaternionJoint",
    "BallQuaternionJoint_",
    "BallQuaternionMobilizer",
    "BallRpyJoint",
    "BallRpyJoint_",
    "BallSpring",
    "BallTransmission",
    "BaseBodyJointType",
    "Body",
    "BodyIndex",
    "Body_",
    "CalcSpatialInertia",
    "ControlDelay",
    "CurvilinearJoint",
    "CurvilinearMobilizer",
    "DcMotor",
    "DeformableBody",
    "DeformableBodyId",
    "DeformableBodyIndex",
    "DoorHinge",
    "DoorHingeConfig",
    "DoorHinge_",
    "FixedOffsetFrame",
    "FixedOffsetFrame_",
    "FixedTendon",
    "FloatingJoint",
    "FluidForceOnBox",
    "FluidForceOnEllipsoid",
    "ForceDensityField",
    "ForceDensityField_",
    "ForceElement",
    "ForceElementIndex",
    "ForceElement_",
    "Frame",
    "FrameIndex",
    "Frame_",
    "GravityCompensation",
    "GravityForceField",
    "GravityForceField_",
    "JacobianWrtVariable",
    "Joint",
    "JointActuator",
    "JointActuatorIndex",
    "JointActuator_",
    "JointIndex",
    "JointTerm",
    "Joint_",
    "LawForm",
    "LinearBushingRollPitchYaw",
    "LinearBushingRollPitchYaw_",
    "LinearSpringDamper",
    "LinearSpringDamper_",
    "Mobilizer",
    "MobilizerIndex",
    "ModelInstanceIndex",
    "MultibodyConstraintId",
    "MultibodyElement",
    "MultibodyForces",
    "MultibodyForces_",
    "MultibodyTree",
    "MuscleCurves",
    "OrientationServo",
    "PdControllerGains",
    "PlanarJoint",
    "PlanarJoint_",
    "PlanarMobilizer",
    "PolynomialSpring",
    "PositionKinematicsCache",
    "PrismaticJoint",
    "PrismaticJoint_",
    "PrismaticMobilizer",
    "PrismaticSpring",
    "PrismaticSpring_",
    "QuaternionFloatingJoint",
    "QuaternionFloatingJoint_",
    "QuaternionFloatingMobilizer",
    "RevoluteJoint",
    "RevoluteJoint_",
    "RevoluteMobilizer",
    "RevoluteSpring",
    "RevoluteSpring_",
    "RigidBody",
    "RigidBodyFrame",
    "RigidBodyFrame_",
    "RigidBody_",
    "RotationalInertia",
    "RotationalInertia_",
    "RpyFloatingJoint",
    "RpyFloatingJoint_",
    "RpyFloatingMobilizer",
    "ScopedName",
    "ScrewJoint",
    "ScrewJoint_",
    "ScrewMobilizer",
    "ServoIntegral",
    "SiteTransmission",
    "SliderCrankTransmission",
    "SpaceXYZMobilizer",
    "SpatialInertia",
    "SpatialInertia_",
    "SpatialTendon",
    "TendonPulley",
    "TendonSite",
    "TendonWrap",
    "Transmission",
    "TransmissionIndex",
    "UniformGravityFieldElement",
    "UniformGravityFieldElement_",
    "UnitInertia",
    "UnitInertia_",
    "UniversalJoint",
    "UniversalJoint_",
    "UniversalMobilizer",
    "VelocityKinematicsCache",
    "WeldJoint",
    "WeldJoint_",
    "WeldMobilizer",
    "default_model_instance",
    "world_frame_index",
    "world_index",
    "world_model_instance",
]
