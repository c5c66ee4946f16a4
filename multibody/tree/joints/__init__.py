"""Joints, one type a file."""

from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.prismatic_joint import PrismaticJoint
from merganser.multibody.tree.joints.quaternion_floating_joint import QuaternionFloatingJoint
from merganser.multibody.tree.joints.revolute_joint import RevoluteJoint
from merganser.multibody.tree.joints.weld_joint import WeldJoint

__all__ = ["Joint", "PrismaticJoint", "QuaternionFloatingJoint", "RevoluteJoint", "WeldJoint"]
