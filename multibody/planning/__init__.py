"""Robots ready for planning: see README.md."""

from merganser.multibody.planning.continuous_joints import GetContinuousRevoluteJointIndices
from merganser.multibody.planning.dof_mask import DofMask
from merganser.multibody.planning.joint_limits import JointLimits
from merganser.multibody.planning.robot_diagram import (
    RobotDiagram,
    RobotDiagram_,
    RobotDiagramBuilder,
    RobotDiagramBuilder_,
)

__all__ = [
    "DofMask",
    "GetContinuousRevoluteJointIndices",
    "JointLimits",
    "RobotDiagram",
    "RobotDiagramBuilder",
    "RobotDiagramBuilder_",
    "RobotDiagram_",
]
