"""What Iris and IrisNp can be told."""

from __future__ import annotations

__all__ = ["IrisOptions"]

from collections.abc import Callable
from dataclasses import dataclass, field

from merganser.framework.common.records import settings
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid


@settings
@dataclass(eq=False, kw_only=True)
class IrisOptions:
    """How regions grow, and when they are large enough.

    Attributes:
        require_sample_point_is_contained: whether to stop with the last region that has the sample, where the next one
            would lose it.
        iteration_limit: how many regions are made, each from the ellipsoid in the last; one at least.
        termination_threshold: growth ends if the volume of the ellipsoid grows by this at most; negative: never.
        relative_termination_threshold: the same in parts of the volume; negative: never.
        configuration_space_margin: IrisNp: how far the faces stay away from collisions, in units of positions; at
            least 1e-5.
        num_collision_infeasible_samples: IrisNp: so many searches in a row have to find no collision of a pair.
        configuration_obstacles: IrisNp: sets of positions to stay out of, beside collisions.
        starting_ellipse: whose tangents are the faces of the first region; by default a ball of radius 0.01 around the
            sample.
        bounding_region: the region stays in this, and in the domain.
        verify_domain_boundedness: whether to check that these are bounded together.
        num_additional_constraint_infeasible_samples: IrisNp: so many searches in a row have to find no violation of a
            constraint.
        prog_with_additional_constraints: IrisNp: a program of the positions, whose constraints hold in the region; its
            costs do not matter.
        random_seed: IrisNp: of where searches start.
        mixing_steps: IrisNp: steps of hit and run between two starts.
        solver_options: IrisNp: for the searches.
        termination_func: given a new region, shape of HPolyhedron, says whether to end with it. pydrake has this in C++
            only.
    """

    require_sample_point_is_contained: bool = False
    iteration_limit: int = 100
    termination_threshold: float = 2e-2
    relative_termination_threshold: float = 1e-3
    configuration_space_margin: float = 1e-2
    num_collision_infeasible_samples: int = 5
    configuration_obstacles: list[ConvexSet] = field(default_factory=list)
    starting_ellipse: Hyperellipsoid | None = None
    bounding_region: HPolyhedron | None = None
    verify_domain_boundedness: bool = True
    num_additional_constraint_infeasible_samples: int = 5
    prog_with_additional_constraints: MathematicalProgram | None = None
    random_seed: int = 1234
    mixing_steps: int = 10
    solver_options: SolverOptions | None = None
    termination_func: Callable[[HPolyhedron], bool] | None = None
