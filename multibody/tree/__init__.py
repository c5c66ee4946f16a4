"""Elements and topology of multibody models."""

from merganser.multibody.tree.base_body_joint_type import BaseBodyJointType
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_element import ForceElement, UniformGravityFieldElement
from merganser.multibody.tree.frame import FixedOffsetFrame, Frame, RigidBodyFrame
from merganser.multibody.tree.indices import (
    BodyIndex,
    ForceElementIndex,
    FrameIndex,
    JointActuatorIndex,
    JointIndex,
    ModelInstanceIndex,
    default_model_instance,
    world_frame_index,
    world_index,
    world_model_instance,
)
from merganser.multibody.tree.inertia import CalcSpatialInertia, RotationalInertia, SpatialInertia, UnitInertia
from merganser.multibody.tree.joint_actuator import JointActuator
from merganser.multibody.tree.joints import (
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
from merganser.multibody.tree.multibody_forces import MultibodyForces
from merganser.multibody.tree.rigid_body import RigidBody
from merganser.multibody.tree.scoped_name import ScopedName
from merganser.multibody.tree.tree import MultibodyTree

__all__ = [
    "BallRpyJoint",
    "BaseBodyJointType",
    "BodyIndex",
    "CalcSpatialInertia",
    "CurvilinearJoint",
    "FixedOffsetFrame",
    "FloatingJoint",
    "ForceElement",
    "ForceElementIndex",
    "Frame",
    "FrameIndex",
    "Joint",
    "JointActuator",
    "JointActuatorIndex",
    "JointIndex",
    "ModelInstanceIndex",
    "MultibodyElement",
    "MultibodyForces",
    "MultibodyTree",
    "PlanarJoint",
    "PrismaticJoint",
    "QuaternionFloatingJoint",
    "RevoluteJoint",
    "RigidBody",
    "RigidBodyFrame",
    "RotationalInertia",
    "RpyFloatingJoint",
    "ScopedName",
    "ScrewJoint",
    "SpatialInertia",
    "UniformGravityFieldElement",
    "UnitInertia",
    "UniversalJoint",
    "WeldJoint",
    "default_model_instance",
    "world_frame_index",
    "world_index",
    "world_model_instance",
]
