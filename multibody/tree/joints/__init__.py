"""Joints, one type a file."""

from merganser.multibody.tree.joints.ball_joint import BallQuaternionJoint, BallRpyJoint
from merganser.multibody.tree.joints.curvilinear_joint import CurvilinearJoint
from merganser.multibody.tree.joints.floating_joint import FloatingJoint, QuaternionFloatingJoint, RpyFloatingJoint
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.one_dof_joint import PrismaticJoint, RevoluteJoint
from merganser.multibody.tree.joints.planar_joint import PlanarJoint
from merganser.multibody.tree.joints.screw_joint import ScrewJoint
from merganser.multibody.tree.joints.universal_joint import UniversalJoint
from merganser.multibody.tree.joints.weld_joint import WeldJoint

__all__ = [
    "BallQuaternionJoint",
    "BallRpyJoint",
    "CurvilinearJoint",
    "FloatingJoint",
    "Joint",
    "PlanarJoint",
    "PrismaticJoint",
    "QuaternionFloatingJoint",
    "RevoluteJoint",
    "RpyFloatingJoint",
    "ScrewJoint",
    "UniversalJoint",
    "WeldJoint",
]
