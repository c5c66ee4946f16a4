"""Placeholders for solvers of pydrake that merganser lacks: another solver runs, or a licence is missing."""

from __future__ import annotations

import time
import warnings
from dataclasses import fields
from typing import Any, ClassVar

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.interior_point import Settings
from merganser.framework.optimization.kinds import ProgramAttribute, SolverId
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.clarabel_solver import (
    CONVEX,
    ClarabelSolver,
    convexity_objection,
)
from merganser.framework.optimization.solvers.highs_solver import HighsSolver
from merganser.framework.optimization.solvers.interior_point_solver import InteriorPointSolver
from merganser.framework.optimization.solvers.slsqp_solver import LocalSearch, SlsqpSolver
from merganser.framework.optimization.solvers.solver import Outcome, SolverInterface
from merganser.framework.optimization.solvers.solver_details import (
    ClpSolverDetails,
    CsdpSolverDetails,
    IpoptSolverDetails,
    NloptSolverDetails,
    Run,
    SnoptSolverDetails,
)
from merganser.framework.optimization.solvers.solver_options import SolverOptions, option_name

_A = ProgramAttribute
_LINEAR = frozenset({_A.kLinearCost, _A.kLinearConstraint, _A.kLinearEqualityConstraint})


class StandIn(SolverInterface):
    """A solver of pydrake for which another one runs; get_solver_id() of the result names it.

    OPTIONS are the names of options that are understood, and their names there; of others there is one warning.
    """

    BY: ClassVar[type[SolverInterface]]
    DETAILS: ClassVar[Any]  # the class of what get_solver_details() of the result returns
    OPTIONS: ClassVar[dict[str, str]] = {}
    _warned: ClassVar[set[tuple[str, str]]] = set()

    def _objection(self, prog: MathematicalProgram) -> str:
        return convexity_objection(prog) if self.TAKES <= CONVEX else ""

    def _crossed(self, prog: MathematicalProgram, guess: Array) -> Outcome:
        return self._translated(prog, self.BY()._crossed(prog, guess), 0.0)

    def _solve(self, prog: MathematicalProgram, guess: Array, options: SolverOptions) -> Outcome:
        translated = SolverOptions(options=options.options)
        for name, value in options.of(self.NAME).items():
            if name in self.OPTIONS:
                translated.SetOption(SolverId(self.BY.NAME), self.OPTIONS[name], value)
            elif (self.NAME, name) not in self._warned:
                self._warned.add((self.NAME, name))
                warnings.warn(
                    f"{type(self).__name__}: the option {name!r} is not used: {self.BY.NAME} solves in its place.",
                    stacklevel=4,
                )
        start = time.perf_counter()
        outcome = self.BY()._solve(prog, guess, translated)
        return self._translated(prog, outcome, time.perf_counter() - start)

    def _translated(self, prog: MathematicalProgram, outcome: Outcome, seconds: float) -> Outcome:
        """The outcome with details as those of the solver that was asked for, where they are known."""
        outcome.solver = outcome.solver or self.BY.NAME
        details = self.DETAILS._of(Run(prog, outcome, seconds))
        if details.is_known():
            details.by, outcome.details = outcome.details, details
        return outcome


class ClpSolver(StandIn):
    """Linear programs, by HiGHS."""

    NAME, TAKES, BY, DETAILS = "Clp", _LINEAR, HighsSolver, ClpSolverDetails


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
    OPTIONS = {"max_eval": "maxiter", "xtol_rel": "ftol", "ftol_abs": "ftol"}

    XRelativeToleranceName = option_name("xtol_rel", "the relative tolerance of x")
    XAbsoluteToleranceName = option_name("xtol_abs", "the absolute tolerance of x")
    MaxEvalName = option_name("max_eval", "the number of evaluations")
    MaxTimeName = option_name("max_time", "the time")
    ConstraintToleranceName = option_name("constraint_tol", "the tolerance of constraints")
    AlgorithmName = option_name("algorithm", "the algorithm")
    FRelativeToleranceName = option_name("ftol_rel", "the relative tolerance of the cost")
    FAbsoluteToleranceName = option_name("ftol_abs", "the absolute tolerance of the cost")
    StopValName = option_name("stopval", "the cost that is good enough")
    LocalOptimizerAlgorithmName = option_name("local_optimizer_algorithm", "the algorithm of the inner optimizer")
    LocalOptimizerXRelativeToleranceName = option_name("local_optimizer_xtol_rel", "its relative tolerance of x")
    LocalOptimizerXAbsoluteToleranceName = option_name("local_optimizer_xtol_abs", "its absolute tolerance of x")
    LocalOptimizerFRelativeToleranceName = option_name("local_optimizer_ftol_rel", "its relative tolerance of the cost")
    LocalOptimizerFAbsoluteToleranceName = option_name("local_optimizer_ftol_abs", "its absolute tolerance of the cost")
    LocalOptimizerMaxEvalName = option_name("local_optimizer_max_eval", "its number of evaluations")
    LocalOptimizerMaxTimeName = option_name("local_optimizer_max_time", "its time")
    ParamPrefix = option_name("nlopt_param:", "a parameter of the algorithm, before the parameter's name")
    LocalOptimizerParamPrefix = option_name("local_optimizer_param:", "one of the inner optimizer's, likewise")


class _License:
    """The result of AcquireLicense(): `with MosekSolver.AcquireLicense():` goes on without a licence."""

    def is_valid(self) -> bool:
        """Always False: no licence."""
        return False

    def __enter__(self) -> _License:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Licensed(SolverInterface):
    """A solver that is not available."""

    License = _License

    @staticmethod
    def AcquireLicense() -> _License:
        """Does nothing: no licence is needed."""
        return _License()

    def available(self) -> bool:
        """Whether it is here: not yet."""
        return False


class MosekSolver(_Licensed):
    """Conic programs with integers; not available."""

    NAME = "MOSEK"
    REMEDY = "merganser has no interface to MOSEK yet; ClarabelSolver takes conic programs."


class GurobiSolver(_Licensed):
    """Quadratic programs with integers; not available."""

    NAME = "Gurobi"
    REMEDY = "merganser has no interface to Gurobi yet; HighsSolver takes linear programs with integers."
