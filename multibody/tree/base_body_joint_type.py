"""How Finalize() connects a body to the world that no joint connects to anything nearer."""

from __future__ import annotations

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.math import RigidTransform
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints import Joint, QuaternionFloatingJoint, RpyFloatingJoint, WeldJoint

__all__ = ["BaseBodyJointType", "make_base_joint"]


class BaseBodyJointType(Enumeration):
    """The joint of a base body."""

    kQuaternionFloatingJoint = 0  # six degrees of freedom, seven positions
    kRpyFloatingJoint = 1  # six degrees of freedom, six positions, singular at a pitch of a quarter turn
    kWeldJoint = 2  # none: the body frame coincides with that of the world


def make_base_joint(joint_type: BaseBodyJointType, name: str, frame_W: Frame, frame_B: Frame) -> Joint:
    """The joint between the world frame and the frame of a base body."""
    if joint_type is BaseBodyJointType.kWeldJoint:
        return WeldJoint(name, frame_W, frame_B, RigidTransform())
    if joint_type is BaseBodyJointType.kRpyFloatingJoint:
        return RpyFloatingJoint(name, frame_W, frame_B)
    return QuaternionFloatingJoint(name, frame_W, frame_B)
