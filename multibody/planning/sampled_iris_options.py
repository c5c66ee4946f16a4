"""What IrisZo and IrisNp2 can be told."""

from __future__ import annotations

__all__ = ["CommonSampledIrisOptions", "IrisNp2Options", "IrisZoOptions", "RaySamplerOptions"]

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Parallelism
from merganser.framework.common.records import settings
from merganser.framework.optimization import MathematicalProgram, SolverInterface, SolverOptions
from merganser.multibody.planning.iris_parameterization import IrisParameterizationFunction


@settings
@dataclass(eq=False, kw_only=True)
class CommonSampledIrisOptions:
    """How regions grow whose freedom is tested by samples.

    A region is accepted if few enough of its random points are in collision. With probability 1 - delta the part of its
    volume that is in collision is then at most epsilon.

    Attributes:
        num_particles: how many points are drawn at least, each time that faces are looked for.
        tau: 0 to 1; the part of epsilon that may be in collision in a test is 1 - tau. A small tau takes more points,
            and accepts more.
        delta: how probable it may be that a region is accepted wrongly; 0 to 1.
        epsilon: part of the volume that may be in collision; 0 to 1.
        containment_points: points in columns, shape [n, m], that stay in the region if their hull is free; they come
            before the margin.
        max_iterations: how many regions are made, each from the ellipsoid in the last.
        max_iterations_separating_planes: how often faces are looked for in each.
        max_separating_planes_per_iteration: how many faces are added each time at most; -1 for no limit.
        parallelism: how many threads check for collisions.
        verbose: whether to log how it goes, at level INFO.
        require_sample_point_is_contained: whether to stop with the last region that has the center of the first
            ellipsoid.
        configuration_space_margin: how far faces stay away from collisions, in units of positions.
        relax_margin: whether a margin that would cut off the center is halved until it does not; otherwise that is an
            error.
        termination_threshold: growth ends if the volume of the ellipsoid grows by this at most; negative: never.
        relative_termination_threshold: the same in parts of the volume; negative: never.
        remove_all_collisions_possible: whether collisions among the points of the test that accepts get faces, too.
        random_seed: of the random points.
        mixing_steps: steps of hit and run between draws.
        prog_with_additional_constraints: a program of the positions (or of what they are parameterized by) whose
            constraints hold in the region, as far as collisions do not occur.
        sample_particles_in_parallel: of no effect: points are drawn together in any case, each by a walk of its own.
    """

    num_particles: int = 1000
    tau: float = 0.5
    delta: float = 5e-2
    epsilon: float = 1e-2
    containment_points: NDArray[np.float64] | None = None
    max_iterations: int = 3
    max_iterations_separating_planes: int = 20
    max_separating_planes_per_iteration: int = 10
    parallelism: Parallelism = field(default_factory=Parallelism.Max)
    verbose: bool = False
    require_sample_point_is_contained: bool = True
    configuration_space_margin: float = 1e-2
    relax_margin: bool = False
    termination_threshold: float = 2e-2
    relative_termination_threshold: float = 1e-3
    remove_all_collisions_possible: bool = True
    random_seed: int = 1234
    mixing_steps: int = 50
    prog_with_additional_constraints: MathematicalProgram | None = None
    sample_particles_in_parallel: bool = False


@settings
@dataclass(eq=False, kw_only=True)
class RaySamplerOptions:
    """How rays from the center of the ellipsoid find collisions that are near to it.

    Attributes:
        only_walk_toward_collisions: whether only the rays towards points in collision are searched.
        ray_search_num_steps: in how many steps from the center to a point; at least 1.
        num_particles_to_walk_towards: how many rays, if they go to any points; at least 1.
    """

    only_walk_toward_collisions: bool = False
    ray_search_num_steps: int = 10
    num_particles_to_walk_towards: int = 200


@settings
@dataclass(eq=False, kw_only=True)
class IrisZoOptions:
    """What IrisZo can be told.

    Attributes:
        sampled_iris_options: how regions grow, and are tested.
        bisection_steps: how often the way from the center to a collision is halved.
        parameterization: of the positions; by default they are the coordinates of the region themselves.
    """

    sampled_iris_options: CommonSampledIrisOptions = field(default_factory=CommonSampledIrisOptions)
    bisection_steps: int = 10
    parameterization: IrisParameterizationFunction = field(default_factory=IrisParameterizationFunction)


@settings
@dataclass(eq=False, kw_only=True)
class IrisNp2Options:
    """What IrisNp2 can be told.

    Attributes:
        sampled_iris_options: how regions grow, and are tested.
        parameterization: of the positions; by default they are the coordinates of the region themselves.
        sampling_strategy: "greedy" for random points of the region, "ray" for the first collisions on ways to such.
        ray_sampler_options: of the latter.
        add_hyperplane_if_solve_fails: whether a point in collision gets a face itself where the search from it fails.
        solver: for these searches; by default SLSQP.
        solver_options: for it.
    """

    sampled_iris_options: CommonSampledIrisOptions = field(default_factory=CommonSampledIrisOptions)
    parameterization: IrisParameterizationFunction = field(default_factory=IrisParameterizationFunction)
    sampling_strategy: str = "greedy"
    ray_sampler_options: RaySamplerOptions = field(default_factory=RaySamplerOptions)
    add_hyperplane_if_solve_fails: bool = False
    solver: SolverInterface | None = None
    solver_options: SolverOptions = field(default_factory=SolverOptions)
