"""Robots ready for planning: see README.md."""

from merganser.multibody.inverse_kinematics.joint_limits import DofMask, JointLimits
from merganser.multibody.planning.checking.collision_checker import CollisionChecker
from merganser.multibody.planning.checking.distance_and_interpolation import (
    DistanceAndInterpolationProvider,
    LinearDistanceAndInterpolationProvider,
)
from merganser.multibody.planning.checking.records import (
    BodyShapeDescription,
    CollisionCheckerContext,
    CollisionCheckerParams,
    EdgeMeasure,
    MakeBodyShapeDescription,
    RobotClearance,
    RobotCollisionType,
)
from merganser.multibody.planning.checking.scene_graph_collision_checker import (
    SceneGraphCollisionChecker,
    UnimplementedCollisionChecker,
)
from merganser.multibody.planning.gcs.trajectory_optimization import GcsTrajectoryOptimization
from merganser.multibody.planning.paths.kinematic_trajectory_optimization import KinematicTrajectoryOptimization
from merganser.multibody.planning.paths.rrt_connect import PathResult, PlanRrtConnect, ShortcutPath
from merganser.multibody.planning.paths.toppra import CalcGridPointsOptions, Toppra, ToppraDiscretization
from merganser.multibody.planning.regions.cliques import (
    MaxCliqueSolverBase,
    MaxCliqueSolverViaGreedy,
    MaxCliqueSolverViaMip,
    MinCliqueCoverSolverBase,
    MinCliqueCoverSolverViaGreedy,
)
from merganser.multibody.planning.regions.cspace_free_polytope import CspaceFreePolytope, CspaceFreePolytopeBase
from merganser.multibody.planning.regions.iris_from_clique_cover import (
    IrisFromCliqueCoverOptions,
    IrisInConfigurationSpaceFromCliqueCover,
    VisibilityGraph,
)
from merganser.multibody.planning.regions.iris_np import GetContinuousRevoluteJointIndices, IrisNp
from merganser.multibody.planning.regions.iris_options import (
    CommonSampledIrisOptions,
    IrisNp2Options,
    IrisParameterizationFunction,
    IrisZoOptions,
    RaySamplerOptions,
)
from merganser.multibody.planning.regions.sampled_iris import IrisNp2, IrisZo
from merganser.multibody.planning.regions.separating_planes import (
    CIrisCollisionGeometry,
    CIrisGeometryType,
    CSpaceSeparatingPlane,
    CSpaceSeparatingPlane_,
    PlaneSide,
    SeparatingPlaneOrder,
)
from merganser.multibody.planning.regions.separation_certificates import (
    FindSeparationCertificateOptions,
    SeparationCertificateProgramBase,
    SeparationCertificateResultBase,
)
from merganser.multibody.planning.robot_diagram import (
    RobotDiagram,
    RobotDiagram_,
    RobotDiagramBuilder,
    RobotDiagramBuilder_,
)

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
