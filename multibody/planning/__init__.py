"""Robots ready for planning: see README.md."""

from merganser.multibody.planning.body_shape_description import BodyShapeDescription, MakeBodyShapeDescription
from merganser.multibody.planning.ciris_geometry import CIrisCollisionGeometry, CIrisGeometryType, PlaneSide
from merganser.multibody.planning.cliques import (
    MaxCliqueSolverBase,
    MaxCliqueSolverViaGreedy,
    MaxCliqueSolverViaMip,
    MinCliqueCoverSolverBase,
    MinCliqueCoverSolverViaGreedy,
)
from merganser.multibody.planning.collision_checker import CollisionChecker
from merganser.multibody.planning.collision_checker_params import CollisionCheckerContext, CollisionCheckerParams
from merganser.multibody.planning.collision_results import EdgeMeasure, RobotClearance, RobotCollisionType
from merganser.multibody.planning.continuous_joints import GetContinuousRevoluteJointIndices
from merganser.multibody.planning.cspace_free_polytope import CspaceFreePolytope, CspaceFreePolytopeBase
from merganser.multibody.planning.distance_and_interpolation import (
    DistanceAndInterpolationProvider,
    LinearDistanceAndInterpolationProvider,
)
from merganser.multibody.planning.dof_mask import DofMask
from merganser.multibody.planning.gcs_trajectory_optimization import GcsTrajectoryOptimization
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
from merganser.multibody.planning.rrt_connect import PathResult, PlanRrtConnect, ShortcutPath
from merganser.multibody.planning.sampled_iris_options import (
    CommonSampledIrisOptions,
    IrisNp2Options,
    IrisZoOptions,
    RaySamplerOptions,
)
from merganser.multibody.planning.scene_graph_collision_checker import (
    SceneGraphCollisionChecker,
    UnimplementedCollisionChecker,
)
from merganser.multibody.planning.separating_planes import (
    CSpaceSeparatingPlane,
    CSpaceSeparatingPlane_,
    SeparatingPlaneOrder,
)
from merganser.multibody.planning.separation_certificates import (
    FindSeparationCertificateOptions,
    SeparationCertificateProgramBase,
    SeparationCertificateResultBase,
)
from merganser.multibody.planning.toppra import Toppra, ToppraDiscretization
from merganser.multibody.planning.visibility_graph import VisibilityGraph

__all__ = [
    "BodyShapeDescription",
    "CIrisCollisionGeometry",
    "CIrisGeometryType",
    "CSpaceSeparatingPlane",
    "CSpaceSeparatingPlane_",
    "CalcGridPointsOptions",
    "CollisionChecker",
    "CollisionCheckerContext",
    "CollisionCheckerParams",
    "CommonSampledIrisOptions",
    "CspaceFreePolytope",
    "CspaceFreePolytopeBase",
    "DistanceAndInterpolationProvider",
    "DofMask",
    "EdgeMeasure",
    "FindSeparationCertificateOptions",
    "GcsTrajectoryOptimization",
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
    "LinearDistanceAndInterpolationProvider",
    "MakeBodyShapeDescription",
    "MaxCliqueSolverBase",
    "MaxCliqueSolverViaGreedy",
    "MaxCliqueSolverViaMip",
    "MinCliqueCoverSolverBase",
    "MinCliqueCoverSolverViaGreedy",
    "PathResult",
    "PlanRrtConnect",
    "PlaneSide",
    "RaySamplerOptions",
    "RobotClearance",
    "RobotCollisionType",
    "RobotDiagram",
    "RobotDiagramBuilder",
    "RobotDiagramBuilder_",
    "RobotDiagram_",
    "SceneGraphCollisionChecker",
    "SeparatingPlaneOrder",
    "SeparationCertificateProgramBase",
    "SeparationCertificateResultBase",
    "ShortcutPath",
    "Toppra",
    "ToppraDiscretization",
    "UnimplementedCollisionChecker",
    "VisibilityGraph",
]
