"""Solvers that programs name: those that stand for what there is, and those that take a licence."""

from __future__ import annotations

__all__ = [
    "ClpSolver",
    "CsdpSolver",
    "GurobiSolver",
    "IpoptSolver",
    "MosekSolver",
    "NloptSolver",
    "OsqpSolver",
    "ScsSolver",
    "SnoptSolver",
]

import time
import warnings
from dataclasses import fields
from typing import Any, ClassVar

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.interior_point import Settings
from merganser.framework.optimization.kinds import ProgramAttribute, SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import CONVEX, ClarabelSolver, convexity_objection
from merganser.framework.optimization.solvers.highs_solver import HighsSolver
from merganser.framework.optimization.solvers.interior_point_solver import InteriorPointSolver
from merganser.framework.optimization.solvers.local_search import LocalSearch
from merganser.framework.optimization.solvers.slsqp_solver import SlsqpSolver
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_details import (
    ClpSolverDetails,
    CsdpSolverDetails,
    IpoptSolverDetails,
    NloptSolverDetails,
    OsqpSolverDetails,
    ScsSolverDetails,
    SnoptSolverDetails,
)
from merganser.framework.optimization.solvers.solver_options import SolverOptions

_A = ProgramAttribute
_LINEAR = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint})


class StandIn(SolverInterface):
    """A solver of pydrake's that another one stands for; get_solver_id() of the result tells which.

    OPTIONS are the names of options that are understood, and their names there; of others there is one warning.
    """

    BY: ClassVar[type[SolverInterface]]
    DETAILS: ClassVar[Any]  # the class of what get_solver_details() of the result returns
    OPTIONS: ClassVar[dict[str, str]] = {}
    _warned: ClassVar[set[tuple[str, str]]] = set()

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog) if self._taken() <= CONVEX else ""

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        translated = SolverOptions(options=options.options)
        for name, value in options.of(self.NAME).items():
            if name in self.OPTIONS:
                translated.SetOption(SolverId(self.BY.NAME), self.OPTIONS[name], value)
            elif (self.NAME, name) not in self._warned:
                self._warned.add((self.NAME, name))
                warnings.warn(
                    f"{self.SolverName()}: the option {name!r} is not used: {self.BY.NAME} solves in its place.",
                    stacklevel=4,
                )
        start = time.perf_counter()
        outcome = self.BY()._solve(prog, guess, translated)
        outcome.solver = outcome.solver or self.BY.NAME
        outcome.details = self.DETAILS._of(prog, outcome, time.perf_counter() - start)
        return outcome


class ClpSolver(StandIn):
    """Linear programs, by HiGHS."""

    NAME, TAKES, BY, DETAILS = "Clp", _LINEAR, HighsSolver, ClpSolverDetails


class OsqpSolver(StandIn):
    """Quadratic programs, by Clarabel."""

    NAME, TAKES, BY = "OSQP", _LINEAR | {_A.kQuadraticCost}, ClarabelSolver
    DETAILS = OsqpSolverDetails
    OPTIONS = {"max_iter": "max_iter", "time_limit": "time_limit", "eps_abs": "tol_gap_abs", "eps_rel": "tol_gap_rel"}


class ScsSolver(StandIn):
    """Conic programs, by Clarabel."""

    NAME, TAKES, BY = "SCS", CONVEX - {_A.kQuadraticConstraint}, ClarabelSolver
    DETAILS = ScsSolverDetails
    OPTIONS = {
        "max_iters": "max_iter",
        "time_limit_secs": "time_limit",
        "eps_abs": "tol_gap_abs",
        "eps_rel": "tol_gap_rel",
    }


class CsdpSolver(StandIn):
    """Semidefinite programs, by Clarabel."""

    NAME, BY, DETAILS = "CSDP", ClarabelSolver, CsdpSolverDetails
    TAKES = CONVEX - {_A.kQuadraticConstraint, _A.kQuadraticCost, _A.kExponentialConeConstraint, _A.kL2NormCost}


class SnoptSolver(StandIn):
    """Nonlinear programs, by SLSQP, or the interior-point method where that finds nothing."""

    NAME, TAKES, BY, DETAILS = "SNOPT", LocalSearch.TAKES, LocalSearch, SnoptSolverDetails
    OPTIONS = {"Major iterations limit": "maxiter", "Major optimality tolerance": "ftol"}


class IpoptSolver(StandIn):
    """Nonlinear programs, by an interior-point method of the same kind."""

    NAME, TAKES, BY, DETAILS = "Ipopt", InteriorPointSolver.TAKES, InteriorPointSolver, IpoptSolverDetails
    OPTIONS = {each.name: each.name for each in fields(Settings)}


class NloptSolver(StandIn):
    """Nonlinear programs, by SLSQP."""

    NAME, TAKES, BY, DETAILS = "NLopt", SlsqpSolver.TAKES, SlsqpSolver, NloptSolverDetails
    OPTIONS = {"max_eval": "maxiter", "xtol_rel": "ftol"}

    @staticmethod
    def XRelativeToleranceName() -> str:
        """Name of the option for the relative tolerance of x."""
        return "xtol_rel"

    @staticmethod
    def XAbsoluteToleranceName() -> str:
        """Name of the option for the absolute tolerance of x."""
        return "xtol_abs"

    @staticmethod
    def MaxEvalName() -> str:
        """Name of the option for the number of evaluations."""
        return "max_eval"

    @staticmethod
    def MaxTimeName() -> str:
        """Name of the option for the time."""
        return "max_time"

    @staticmethod
    def ConstraintToleranceName() -> str:
        """Name of the option for the tolerance of constraints."""
        return "constraint_tol"

    @staticmethod
    def AlgorithmName() -> str:
        """Name of the option for the algorithm."""
        return "algorithm"


class _Licensed(SolverInterface):
    """A solver that is not there."""

    def available(self) -> bool:
        """Whether it is here: not yet."""
        return False


class MosekSolver(_Licensed):
    """Conic programs with integers; not available."""

    NAME = "MOSEK"
    REMEDY = "merganser has no interface to MOSEK yet; ClarabelSolver takes conic programs."

    @staticmethod
    def AcquireLicense() -> Any:
        """Nothing: there is no licence to hold."""
        return None


class GurobiSolver(_Licensed):
    """Quadratic programs with integers; not available."""

    NAME = "Gurobi"
    REMEDY = "merganser has no interface to Gurobi yet; HighsSolver takes linear programs with integers."

    @staticmethod
    def AcquireLicense() -> Any:
        """Nothing: there is no licence to hold."""
        return None
