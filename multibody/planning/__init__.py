"""Robots ready for planning: see README.md."""

from merganser.multibody.planning.continuous_joints import GetContinuousRevoluteJointIndices
from merganser.multibody.planning.dof_mask import DofMask
from merganser.multibody.planning.gcs_trajectory_optimization import GcsTrajectoryOptimization
from merganser.multibody.planning.grid_points import CalcGridPointsOptions
from merganser.multibody.planning.joint_limits import JointLimits
from merganser.multibody.planning.kinematic_trajectory_optimization import KinematicTrajectoryOptimization
from merganser.multibody.planning.robot_diagram import (
    RobotDiagram,
    RobotDiagram_,
    RobotDiagramBuilder,
    RobotDiagramBuilder_,
)
from merganser.multibody.planning.toppra import Toppra, ToppraDiscretization

__all__ = [
    "CalcGridPointsOptions",
    "DofMask",
    "GcsTrajectoryOptimization",
    "GetContinuousRevoluteJointIndices",
    "JointLimits",
    "KinematicTrajectoryOptimization",
    "RobotDiagram",
    "RobotDiagramBuilder",
    "RobotDiagramBuilder_",
    "RobotDiagram_",
    "Toppra",
    "ToppraDiscretization",
]
