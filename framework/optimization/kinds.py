"""Parts of programs, names of solvers, and statuses of solutions."""

from __future__ import annotations

from merganser.framework.common.enumeration import Enumeration


class SolutionResult(Enumeration):
    """How a solution ended."""

    kSolutionResultNotSet = -1
    kSolutionFound = 0
    kInvalidInput = 1
    kInfeasibleConstraints = 2
    kUnbounded = 3
    kSolverSpecificError = 4
    kInfeasibleOrUnbounded = 5
    kIterationLimit = 6
    kDualInfeasible = 7


class ProgramAttribute(Enumeration):
    """Kinds of costs and constraints that a program has, or a solver takes."""

    kGenericCost = 0
    kGenericConstraint = 1
    kQuadraticCost = 2
    kQuadraticConstraint = 3
    kLinearCost = 4
    kLinearConstraint = 5
    kLinearEqualityConstraint = 6
    kLinearComplementarityConstraint = 7
    kLorentzConeConstraint = 8
    kRotatedLorentzConeConstraint = 9
    kPositiveSemidefiniteConstraint = 10
    kExponentialConeConstraint = 11
    kL2NormCost = 12
    kBinaryVariable = 13
    kCallback = 14


class ProgramType(Enumeration):
    """The classes of programs, from linear to nonlinear."""

    kLP = 0
    kQP = 1
    kSOCP = 2
    kSDP = 3
    kGP = 4
    kCGP = 5
    kMILP = 6
    kMIQP = 7
    kMISOCP = 8
    kMISDP = 9
    kQuadraticCostConicConstraint = 10
    kNLP = 11
    kLCP = 12
    kUnknown = 13


class SolverType(Enumeration):
    """Solvers by number, for old programs."""

    kClp = 0
    kCsdp = 1
    kEqualityConstrainedQP = 2
    kGurobi = 3
    kIpopt = 4
    kLinearSystem = 5
    kMobyLCP = 6
    kMosek = 7
    kNlopt = 8
    kOsqp = 9
    kScs = 10
    kSnopt = 11
    kUnrevisedLemke = 12


class CommonSolverOption(Enumeration):
    """Options that all solvers understand."""

    kPrintFileName = 0
    kPrintToConsole = 1
    kStandaloneReproductionFileName = 2
    kMaxThreads = 3


class SolverId:
    """The name of a solver."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = str(name)

    def name(self) -> str:
        """The name."""
        return self._name

    def __eq__(self, other: object) -> bool:
        return self._name == other._name if isinstance(other, SolverId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._name)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<SolverId '{self._name}'>"
