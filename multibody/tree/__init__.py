"""Elements and topology of multibody models."""

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
    Joint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    WeldJoint,
)
from merganser.multibody.tree.multibody_forces import MultibodyForces
from merganser.multibody.tree.rigid_body import RigidBody
from merganser.multibody.tree.scoped_name import ScopedName
from merganser.multibody.tree.tree import MultibodyTree

__all__ = [
    "BodyIndex",
    "CalcSpatialInertia",
    "FixedOffsetFrame",
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
    "PrismaticJoint",
    "QuaternionFloatingJoint",
    "RevoluteJoint",
    "RigidBody",
    "RigidBodyFrame",
    "RotationalInertia",
    "ScopedName",
    "SpatialInertia",
    "UniformGravityFieldElement",
    "UnitInertia",
    "WeldJoint",
    "default_model_instance",
    "world_frame_index",
    "world_index",
    "world_model_instance",
]
