"""Every public name of the package, for interactive work: `from merganser.all import *`.

The names of merganser.framework.symbolic are among them where sympy is installed. As sympy takes
0.3 s to import, that only happens when one of them is asked for; so it is with merganser.framework.optimization,
merganser.analysis.trajectory_optimization, merganser.geometry.optimization, merganser.multibody.cenic,
merganser.multibody.fem, merganser.multibody.inverse_kinematics, merganser.multibody.optimization,
merganser.multibody.planning, merganser.multibody.rational and merganser.multibody.visualization.
Functions that both have (sin, sqrt, max, ...) are those of merganser.framework.math, which take floats, AutoDiffXd and
Expression; `Polynomial` is the symbolic one.
"""

import importlib.util
from typing import TYPE_CHECKING, Any

from merganser.analysis import *  # noqa: F403
from merganser.analysis.controllers import *  # noqa: F403
from merganser.analysis.estimators import *  # noqa: F403
from merganser.examples import *  # noqa: F403
from merganser.framework import *  # noqa: F403
from merganser.framework.autodiff import *  # noqa: F403
from merganser.framework.lcm import *  # noqa: F403
from merganser.framework.math import *  # noqa: F403
from merganser.framework.primitives import *  # noqa: F403
from merganser.framework.schema import *  # noqa: F403
from merganser.framework.trajectories import *  # noqa: F403
from merganser.framework.yaml import *  # noqa: F403
from merganser.geometry import *  # noqa: F403
from merganser.geometry.perception import *  # noqa: F403
from merganser.geometry.sensors import *  # noqa: F403
from merganser.multibody.controllers import *  # noqa: F403
from merganser.multibody.manipulation import *  # noqa: F403
from merganser.multibody.math import *  # noqa: F403
from merganser.multibody.parsing import *  # noqa: F403
from merganser.multibody.plant import *  # noqa: F403
from merganser.multibody.sensors import *  # noqa: F403
from merganser.multibody.tree import *  # noqa: F403

if TYPE_CHECKING:
    from merganser.framework.symbolic import *  # type: ignore[assignment]  # noqa: F403  # isort: skip
    from merganser.framework.optimization import *  # noqa: F403  # isort: skip
    from merganser.geometry.optimization import *  # noqa: F403  # isort: skip
    from merganser.multibody.cenic import *  # noqa: F403  # isort: skip
    from merganser.multibody.fem import *  # noqa: F403  # isort: skip
    from merganser.multibody.inverse_kinematics import *  # noqa: F403  # isort: skip
    from merganser.multibody.optimization import *  # noqa: F403  # isort: skip
    from merganser.multibody.planning import *  # noqa: F403  # isort: skip
    from merganser.multibody.rational import *  # noqa: F403  # isort: skip
    from merganser.multibody.visualization import *  # noqa: F403  # isort: skip
    from merganser.framework.math import *  # noqa: F403  # isort: skip

_SYMBOLIC = (
    "CalcMonomialBasisOrderUpToOne", "CalcPolynomialWLowerTriangularPart", "DecomposeAffineExpression",
    "DecomposeAffineExpressions", "DecomposeL2NormExpression", "DecomposeLinearExpressions",
    "DecomposeLumpedParameters", "DecomposeQuadraticPolynomial", "Evaluate", "EvenDegreeMonomialBasis",
    "Expression", "ExpressionKind", "ExtractVariablesFromExpression", "Formula", "FormulaKind",
    "GetVariableVector", "IsAffine", "Jacobian", "MakeMatrixBinaryVariable", "MakeMatrixBooleanVariable",
    "MakeMatrixContinuousVariable", "MakeMatrixVariable", "MakeVectorBinaryVariable",
    "MakeVectorBooleanVariable", "MakeVectorContinuousVariable", "MakeVectorVariable", "Monomial",
    "MonomialBasis", "OddDegreeMonomialBasis", "Polynomial", "RationalFunction", "ReplaceBilinearTerms",
    "SinCos", "SinCosSubstitutionType", "Substitute", "SubstituteAndExpandCacheData",
    "SubstituteStereographicProjection", "TaylorExpand", "ToLatex", "Variable", "Variables", "forall",
    "from_sympy", "if_then_else", "intersect", "logical_and", "logical_not", "logical_or",
    "positive_semidefinite", "to_sympy", "uninterpreted_function",
)  # fmt: skip
_VISUALIZATION = (
    "ActuatorSliders", "AddDefaultVisualization", "AddFrameTriadIllustration", "ApplyVisualizationConfig",
    "ContactVisualizer", "ContactVisualizerParams", "ContactVisualizer_", "DragSpring", "InertiaVisualizer",
    "JointSliders", "JointSliders_", "ModelVisualizer", "SimulationControls", "StressVisualizer",
    "StressVisualizerParams", "VisualizationConfig",
)  # fmt: skip
_OPTIMIZATION = (
    "AddBilinearProductMcCormickEnvelopeSos2", "AddLogarithmicSos1Constraint", "AddLogarithmicSos2Constraint",
    "AddSos2Constraint", "AdjustableConstraint", "AugmentedLagrangianNonsmooth", "AugmentedLagrangianSmooth",
    "Binding", "BoundingBoxConstraint", "ChooseBestSolver", "ClarabelSolver", "ClarabelSolverDetails",
    "ClpSolver", "ClpSolverDetails", "CommonSolverOption", "Constraint", "Cost", "CsdpSolver",
    "CsdpSolverDetails", "EqualityConstrainedQPSolver", "EvaluatorBase", "ExponentialConeConstraint",
    "ExpressionConstraint", "ExpressionCost", "GenerateSDPA", "GetAvailableSolvers", "GetProgramType",
    "GurobiSolver", "GurobiSolverDetails", "HighsSolver", "HighsSolverDetails", "InteriorPointSolver",
    "InteriorPointSolverDetails", "IntervalBinning", "IpoptSolver", "IpoptSolverDetails", "L1NormCost",
    "L2NormCost", "LInfNormCost", "LinearComplementarityConstraint", "LinearConstraint", "LinearCost",
    "LinearEqualityConstraint", "LinearMatrixInequalityConstraint", "LinearSystemSolver",
    "LorentzConeConstraint", "MakeFirstAvailableSolver", "MakeSemidefiniteRelaxation", "MakeSolver",
    "MathematicalProgram", "MathematicalProgramResult", "MinimumValueLowerBoundConstraint",
    "MinimumValueUpperBoundConstraint", "MixedIntegerBranchAndBound", "MixedIntegerRotationConstraintGenerator",
    "MobyLcpSolver", "MosekSolver", "MosekSolverDetails", "NloptSolver", "NloptSolverDetails", "OsqpSolver",
    "OsqpSolverDetails", "OuterApproximationSolver", "OuterApproximationSolverDetails",
    "PerspectiveQuadraticCost", "PositiveSemidefiniteConstraint", "ProgramAttribute", "ProgramType",
    "ProjectedGradientDescentSolver", "PyFunctionConstraint", "PyFunctionCost", "QuadraticConstraint",
    "QuadraticCost", "RemoveFreeVariableMethod", "RotatedLorentzConeConstraint", "ScsSolver",
    "ScsSolverDetails", "SemidefiniteRelaxationOptions", "SlsqpSolver", "SlsqpSolverDetails", "SnoptSolver",
    "SnoptSolverDetails", "SolutionResult", "Solve", "SolveInParallel", "SolverId", "SolverInterface",
    "SolverOptions", "SolverType", "UnrevisedLemkeSolver", "VisualizationCallback",
)  # fmt: skip
_POSTURES = (
    "AddMultibodyPlantConstraints", "AddUnitQuaternionConstraintOnPlant", "AngleBetweenVectorsConstraint",
    "AngleBetweenVectorsCost", "ComInPolyhedronConstraint", "ComPositionConstraint",
    "DifferentialInverseKinematicsController", "DifferentialInverseKinematicsIntegrator",
    "DifferentialInverseKinematicsParameters", "DifferentialInverseKinematicsResult",
    "DifferentialInverseKinematicsStatus", "DifferentialInverseKinematicsSystem", "DistanceConstraint",
    "DoDifferentialInverseKinematics", "GazeTargetConstraint", "GlobalInverseKinematics", "InverseKinematics",
    "MinimumDistanceLowerBoundConstraint", "MinimumDistanceUpperBoundConstraint", "OrientationConstraint",
    "OrientationCost", "PointToLineDistanceConstraint", "PointToPointDistanceConstraint",
    "PolyhedronConstraint", "PositionConstraint", "PositionCost", "UnitQuaternionConstraint",
)  # fmt: skip
_TRAJECTORIES = (
    "AddDirectCollocationConstraint", "DirectCollocation", "DirectCollocationConstraint", "DirectTranscription",
    "MultipleShooting", "ZmpPlanner",
)  # fmt: skip
_PLANNING = (
    "BodyShapeDescription", "CIrisCollisionGeometry", "CIrisGeometryType", "CSpaceSeparatingPlane",
    "CSpaceSeparatingPlane_", "CalcGridPointsOptions", "CollisionChecker", "CollisionCheckerContext",
    "CollisionCheckerParams", "CommonSampledIrisOptions", "CspaceFreePolytope", "CspaceFreePolytopeBase",
    "DistanceAndInterpolationProvider", "DofMask", "EdgeMeasure", "FindSeparationCertificateOptions",
    "GcsTrajectoryOptimization", "GetContinuousRevoluteJointIndices", "IrisFromCliqueCoverOptions",
    "IrisInConfigurationSpaceFromCliqueCover", "IrisNp", "IrisNp2", "IrisNp2Options",
    "IrisParameterizationFunction", "IrisZo", "IrisZoOptions", "JointLimits", "KinematicTrajectoryOptimization",
    "LinearDistanceAndInterpolationProvider", "MakeBodyShapeDescription", "MaxCliqueSolverBase",
    "MaxCliqueSolverViaGreedy", "MaxCliqueSolverViaMip", "MinCliqueCoverSolverBase",
    "MinCliqueCoverSolverViaGreedy", "PathResult", "PlanRrtConnect", "PlaneSide", "RaySamplerOptions",
    "RobotClearance", "RobotCollisionType", "RobotDiagram", "RobotDiagramBuilder", "RobotDiagramBuilder_",
    "RobotDiagram_", "SceneGraphCollisionChecker", "SeparatingPlaneOrder", "SeparationCertificateProgramBase",
    "SeparationCertificateResultBase", "ShortcutPath", "Toppra", "ToppraDiscretization",
    "UnimplementedCollisionChecker", "VisibilityGraph",
)  # fmt: skip
_RATIONAL = ("RationalForwardKinematics", "RationalForwardKinematicsPose", "RationalForwardKinematicsPose_")
_CENIC = ("CenicIntegrator", "CenicIntegrator_", "IcfSolverParameters")
_WRENCHES = (
    "CentroidalMomentumConstraint", "ContactWrench", "ContactWrenchFromForceInWorldFrameEvaluator",
    "QuaternionEulerIntegrationConstraint", "SpatialVelocityConstraint", "StaticEquilibriumProblem",
)  # fmt: skip
_SETS = (
    "AffineBall", "AffineSubspace", "CartesianProduct", "CheckIfSatisfiesConvexityRadius",
    "ComputePairwiseIntersections", "ConvexHull", "ConvexSet", "GcsGraphvizOptions", "GraphOfConvexSets",
    "GraphOfConvexSetsOptions", "HPolyhedron", "Hyperellipsoid", "Hyperrectangle", "ImplicitGraphOfConvexSets",
    "ImplicitGraphOfConvexSetsFromExplicit", "Intersection", "Iris", "IrisOptions", "LoadIrisRegionsYamlFile",
    "MakeIrisObstacles", "MinkowskiSum", "PartitionConvexSet", "Point", "SampledVolume",
    "SaveIrisRegionsYamlFile", "Spectrahedron", "VPolytope",
)  # fmt: skip
_DEFORMABLES = (
    "DeformableBodyConfig", "DeformableBodyConfig_", "ForceDensityFieldBase", "ForceDensityFieldBase_",
    "ForceDensityType", "MaterialDerivatives", "MaterialModel", "differentiate_equilibrium", "differentiate_motion",
)  # fmt: skip
_LATER: dict[str, tuple[str, ...]] = {
    "merganser.analysis.trajectory_optimization": _TRAJECTORIES,
    "merganser.framework.optimization": _OPTIMIZATION,
    "merganser.framework.symbolic": _SYMBOLIC,
    "merganser.geometry.optimization": _SETS,
    "merganser.multibody.cenic": _CENIC,
    "merganser.multibody.fem": _DEFORMABLES,
    "merganser.multibody.inverse_kinematics": _POSTURES,
    "merganser.multibody.optimization": _WRENCHES,
    "merganser.multibody.planning": _PLANNING,
    "merganser.multibody.rational": _RATIONAL,
    "merganser.multibody.visualization": _VISUALIZATION,
}
_has_sympy = importlib.util.find_spec("sympy") is not None
if _has_sympy:
    del Polynomial  # noqa: F821  of one variable, in trajectories; symbolic's is the one of this name

__all__ = sorted({name for name in globals() if not name.startswith("_")} - {"TYPE_CHECKING", "Any", "importlib"})
__all__ += (
    *_CENIC, *_DEFORMABLES, *_OPTIMIZATION, *_PLANNING, *_POSTURES, *_RATIONAL, *_SETS, *_TRAJECTORIES,
    *_VISUALIZATION, *_WRENCHES,
)  # fmt: skip
if _has_sympy:
    __all__ += _SYMBOLIC


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        for module, names in _LATER.items():
            if name in names and name in __all__:
                home = importlib.import_module(module)
                globals().update((each, getattr(home, each)) for each in names)
                return globals()[name]
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
