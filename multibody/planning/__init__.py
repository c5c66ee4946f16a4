"""Robots ready for planning: see README.md."""

from merganser.multibody.planning.cliques import (
    MaxCliqueSolverBase,
    MaxCliqueSolverViaGreedy,
    MaxCliqueSolverViaMip,
    MinCliqueCoverSolverBase,
    MinCliqueCoverSolverViaGreedy,
)
from merganser.multibody.planning.continuous_joints import GetContinuousRevoluteJointIndices
from merganser.multibody.planning.dof_mask import DofMask
from merganser.multibody.planning.grid_points import CalcGridPointsOptions
from merganser.multibody.planning.iris_from_clique_cover import (
    IrisFromCliqueCoverOptions,
    IrisInConfigurationSpaceFromCliqueCover,
)
from merganser.multibody.planning.iris_np import IrisNp
from merganser.multibody.planning.iris_np2 import IrisNp2
from merganser.multibody.planning.iris_parameterization import IrisParameterizationFunction
from merganser.multibody.planning.iris_zo import IrisZo
from merganser.multibody.planning.joint_limits import JointLimits
from merganser.multibody.planning.kinematic_trajectory_optimization import KinematicTrajectoryOptimization
from merganser.multibody.planning.robot_diagram import (
    RobotDiagram,
    RobotDiagram_,
    RobotDiagramBuilder,
    RobotDiagramBuilder_,
)
from merganser.multibody.planning.sampled_iris_options import (
    CommonSampledIrisOptions,
    IrisNp2Options,
    IrisZoOptions,
    RaySamplerOptions,
)
from merganser.multibody.planning.toppra import Toppra, ToppraDiscretization

__all__ = [
    "CalcGridPointsOptions",
    "CommonSampledIrisOptions",
    "DofMask",
    "GetContinuousRevoluteJointIndices",
    "IrisFromCliqueCoverOptions",
    "IrisInConfigurationSpaceFromCliqueCover",
    "IrisNp",
    "IrisNp2",
    "IrisNp2Options",
    "IrisParameterizationFunction",
    "IrisZo",
    "IrisZoOptions",
    "JointLimits",
    "KinematicTrajectoryOptimization",
    "MaxCliqueSolverBase",
    "MaxCliqueSolverViaGreedy",
    "MaxCliqueSolverViaMip",
    "MinCliqueCoverSolverBase",
    "MinCliqueCoverSolverViaGreedy",
    "RaySamplerOptions",
    "RobotDiagram",
    "RobotDiagramBuilder",
    "RobotDiagramBuilder_",
    "RobotDiagram_",
    "Toppra",
    "ToppraDiscretization",
]
