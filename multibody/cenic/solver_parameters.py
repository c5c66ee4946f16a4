"""IcfSolverParameters: the numbers of the solver of contact steps."""

from __future__ import annotations

import dataclasses
import math

from merganser.framework.common.records import settings


@settings
@dataclasses.dataclass(kw_only=True)
class IcfSolverParameters:
    """The parameters of the convex solver of `CenicIntegrator`.

    The solver is that of discrete plants, which always searches exactly along a direction, takes the Hessian of each
    point, and factors it along the trees. So only the first two numbers have an effect; the others are there because
    programs for pydrake set them.

    Attributes:
        max_iterations: of Newton's method, of each island of bodies that touch.
        min_tolerance: of the momentum, relative; the tolerance in use follows the accuracy, and is no less than this.
        enable_hessian_reuse: no effect.
        hessian_reuse_target_iterations: no effect.
        use_dense_algebra: no effect.
        max_linesearch_iterations: no effect.
        linesearch_tolerance: no effect.
        alpha_max: no effect.
        print_solver_stats: no effect; see `IntegratorBase.GetStatisticsSummary` for counts.
    """

    max_iterations: int = 100
    min_tolerance: float = 1e-8
    enable_hessian_reuse: bool = False
    hessian_reuse_target_iterations: int = 10
    use_dense_algebra: bool = False
    max_linesearch_iterations: int = 100
    linesearch_tolerance: float = 1e-8
    alpha_max: float = 1.0
    print_solver_stats: bool = False

    def check(self) -> None:
        """Raises ValueError if a number that has an effect is out of range."""
        if not self.max_iterations >= 1:
            raise ValueError(f"IcfSolverParameters: max_iterations must be at least 1, got {self.max_iterations}.")
        if not (self.min_tolerance > 0.0 and math.isfinite(self.min_tolerance)):
            raise ValueError(f"IcfSolverParameters: min_tolerance must be positive, got {self.min_tolerance}.")
