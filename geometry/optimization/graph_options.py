"""Settings of graphs of convex sets."""

from __future__ import annotations

__all__ = ["GcsGraphvizOptions", "GraphOfConvexSetsOptions", "Transcription"]

from dataclasses import dataclass, field

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.parallelism import Parallelism
from merganser.framework.common.records import settings
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions


class Transcription(Enumeration):
    """The programs that a cost or constraint may be part of."""

    kMIP = 0
    kRelaxation = 1
    kRestriction = 2


@settings
@dataclass(eq=False, kw_only=True)
class GraphOfConvexSetsOptions:
    """How paths in graphs of convex sets are found.

    Attributes:
        convex_relaxation: whether flows are real numbers in place of binary ones; None: what suits the method.
        preprocessing: whether edges that no path from the source to the target has are left out at first, as far as a
            linear program for each tells; None: what suits the method.
        max_rounded_paths: how many different paths are drawn from the flows of the relaxation and solved; the best one
            is the result. None: what suits the method.
        max_rounding_trials: how many random walks at most for these.
        flow_tolerance: flows up to this are none for them.
        rounding_seed: of the random walks.
        solver: what solves the program, and those of rounding and preprocessing that have no solver of their own; by
            default what suits them best.
        restriction_solver: what solves programs of one path.
        preprocessing_solver: what solves the programs of preprocessing.
        solver_options: of the solver.
        restriction_solver_options: of the restriction's; by default those of the solver.
        preprocessing_solver_options: of that of preprocessing; by default those of the solver.
        parallelism: how many threads rounding uses.
    """

    convex_relaxation: bool | None = None
    preprocessing: bool | None = None
    max_rounded_paths: int | None = None
    max_rounding_trials: int = 100
    flow_tolerance: float = 1e-5
    rounding_seed: int = 0
    solver: SolverInterface | None = None
    restriction_solver: SolverInterface | None = None
    preprocessing_solver: SolverInterface | None = None
    solver_options: SolverOptions = field(default_factory=SolverOptions)
    restriction_solver_options: SolverOptions | None = None
    preprocessing_solver_options: SolverOptions | None = None
    parallelism: Parallelism = field(default_factory=Parallelism.Max, repr=False)


@settings
@dataclass(eq=False, kw_only=True)
class GcsGraphvizOptions:
    """What GetGraphvizString shows of a result.

    Attributes:
        show_slacks: flows times vectors.
        show_vars: the vector of each vertex.
        show_flows: the flow of each edge, as a number and as how dark the edge is.
        show_costs: costs of vertices and edges.
        scientific: numbers with exponents.
        precision: how many digits after the point.
    """

    show_slacks: bool = True
    show_vars: bool = True
    show_flows: bool = True
    show_costs: bool = True
    scientific: bool = False
    precision: int = 3
