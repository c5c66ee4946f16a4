"""Mathematical programs and their solvers: the names of pydrake.solvers."""

from merganser.framework.optimization.evaluators.cone_constraints import (
    ExponentialConeConstraint,
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
    PositiveSemidefiniteConstraint,
    RotatedLorentzConeConstraint,
)
from merganser.framework.optimization.evaluators.costs import (
    L1NormCost,
    L2NormCost,
    LinearCost,
    LInfNormCost,
    PerspectiveQuadraticCost,
    QuadraticCost,
)
from merganser.framework.optimization.evaluators.evaluators import (
    AdjustableConstraint,
    Constraint,
    Cost,
    EvaluatorBase,
    VisualizationCallback,
)
from merganser.framework.optimization.evaluators.function_evaluators import (
    ExpressionConstraint,
    ExpressionCost,
    PyFunctionConstraint,
    PyFunctionCost,
)
from merganser.framework.optimization.evaluators.linear_constraints import (
    BoundingBoxConstraint,
    LinearConstraint,
    LinearEqualityConstraint,
)
from merganser.framework.optimization.evaluators.minimum_value_constraints import (
    MinimumValueLowerBoundConstraint,
    MinimumValueUpperBoundConstraint,
)
from merganser.framework.optimization.evaluators.quadratic_constraints import (
    LinearComplementarityConstraint,
    QuadraticConstraint,
)
from merganser.framework.optimization.formulations.bilinear_products import AddBilinearProductMcCormickEnvelopeSos2
from merganser.framework.optimization.formulations.rotation_constraints import MixedIntegerRotationConstraintGenerator
from merganser.framework.optimization.formulations.sdpa_format import GenerateSDPA, RemoveFreeVariableMethod
from merganser.framework.optimization.formulations.semidefinite_relaxation import (
    MakeSemidefiniteRelaxation,
    SemidefiniteRelaxationOptions,
)
from merganser.framework.optimization.formulations.special_ordered_sets import (
    AddLogarithmicSos1Constraint,
    AddLogarithmicSos2Constraint,
    AddSos2Constraint,
    IntervalBinning,
)
from merganser.framework.optimization.kinds import (
    CommonSolverOption,
    ProgramAttribute,
    ProgramType,
    SolutionResult,
    SolverId,
    SolverType,
)
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.augmented_lagrangian import (
    AugmentedLagrangianNonsmooth,
    AugmentedLagrangianSmooth,
)
from merganser.framework.optimization.solvers.branch_and_bound import MixedIntegerBranchAndBound
from merganser.framework.optimization.solvers.choose import (
    ChooseBestSolver,
    GetAvailableSolvers,
    GetProgramType,
    MakeFirstAvailableSolver,
    MakeSolver,
    Solve,
    SolveInParallel,
)
from merganser.framework.optimization.solvers.clarabel_solver import ClarabelSolver, ClarabelSolverDetails
from merganser.framework.optimization.solvers.daqp_solver import DaqpSolver, DaqpSolverDetails
from merganser.framework.optimization.solvers.equality_solvers import EqualityConstrainedQPSolver, LinearSystemSolver
from merganser.framework.optimization.solvers.first_order_solvers import OsqpSolver, ScsSolver
from merganser.framework.optimization.solvers.highs_solver import HighsSolver, HighsSolverDetails
from merganser.framework.optimization.solvers.interior_point_solver import (
    InteriorPointSolver,
    InteriorPointSolverDetails,
)
from merganser.framework.optimization.solvers.lemke_solver import MobyLcpSolver, UnrevisedLemkeSolver
from merganser.framework.optimization.solvers.other_solvers import (
    ClpSolver,
    CsdpSolver,
    GurobiSolver,
    IpoptSolver,
    MosekSolver,
    NloptSolver,
    SnoptSolver,
)
from merganser.framework.optimization.solvers.outer_approximation_solver import (
    OuterApproximationSolver,
    OuterApproximationSolverDetails,
)
from merganser.framework.optimization.solvers.projected_gradient_solver import ProjectedGradientDescentSolver
from merganser.framework.optimization.solvers.slsqp_solver import SlsqpSolver, SlsqpSolverDetails
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_details import (
    ClpSolverDetails,
    CsdpSolverDetails,
    GurobiSolverDetails,
    IpoptSolverDetails,
    MosekSolverDetails,
    NloptSolverDetails,
    OsqpSolverDetails,
    ScsSolverDetails,
    SnoptSolverDetails,
)
from merganser.framework.optimization.solvers.solver_options import SolverOptions

__all__ = [
    "AddBilinearProductMcCormickEnvelopeSos2",
    "AddLogarithmicSos1Constraint",
    "AddLogarithmicSos2Constraint",
    "AddSos2Constraint",
    "AdjustableConstraint",
    "AugmentedLagrangianNonsmooth",
    "AugmentedLagrangianSmooth",
    "Binding",
    "BoundingBoxConstraint",
    "ChooseBestSolver",
    "ClarabelSolver",
    "ClarabelSolverDetails",
    "ClpSolver",
    "ClpSolverDetails",
    "CommonSolverOption",
    "Constraint",
    "Cost",
    "CsdpSolver",
    "CsdpSolverDetails",
    "DaqpSolver",
    "DaqpSolverDetails",
    "EqualityConstrainedQPSolver",
    "EvaluatorBase",
    "ExponentialConeConstraint",
    "ExpressionConstraint",
    "ExpressionCost",
    "GenerateSDPA",
    "GetAvailableSolvers",
    "GetProgramType",
    "GurobiSolver",
    "GurobiSolverDetails",
    "HighsSolver",
    "HighsSolverDetails",
    "InteriorPointSolver",
    "InteriorPointSolverDetails",
    "IntervalBinning",
    "IpoptSolver",
    "IpoptSolverDetails",
    "L1NormCost",
    "L2NormCost",
    "LInfNormCost",
    "LinearComplementarityConstraint",
    "LinearConstraint",
    "LinearCost",
    "LinearEqualityConstraint",
    "LinearMatrixInequalityConstraint",
    "LinearSystemSolver",
    "LorentzConeConstraint",
    "MakeFirstAvailableSolver",
    "MakeSemidefiniteRelaxation",
    "MakeSolver",
    "MathematicalProgram",
    "MathematicalProgramResult",
    "MinimumValueLowerBoundConstraint",
    "MinimumValueUpperBoundConstraint",
    "MixedIntegerBranchAndBound",
    "MixedIntegerRotationConstraintGenerator",
    "MobyLcpSolver",
    "MosekSolver",
    "MosekSolverDetails",
    "NloptSolver",
    "NloptSolverDetails",
    "OsqpSolver",
    "OsqpSolverDetails",
    "OuterApproximationSolver",
    "OuterApproximationSolverDetails",
    "PerspectiveQuadraticCost",
    "PositiveSemidefiniteConstraint",
    "ProgramAttribute",
    "ProgramType",
    "ProjectedGradientDescentSolver",
    "PyFunctionConstraint",
    "PyFunctionCost",
    "QuadraticConstraint",
    "QuadraticCost",
    "RemoveFreeVariableMethod",
    "RotatedLorentzConeConstraint",
    "ScsSolver",
    "ScsSolverDetails",
    "SemidefiniteRelaxationOptions",
    "SlsqpSolver",
    "SlsqpSolverDetails",
    "SnoptSolver",
    "SnoptSolverDetails",
    "SolutionResult",
    "Solve",
    "SolveInParallel",
    "SolverId",
    "SolverInterface",
    "SolverOptions",
    "SolverType",
    "UnrevisedLemkeSolver",
    "VisualizationCallback",
]
