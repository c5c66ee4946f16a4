"""Regions that cover most of a robot's free positions.

Source: Werner, Amice, Marcucci, Rus and Tedrake, Approximating robot configuration spaces with few convex sets using
clique covers of visibility graphs, 2024.

VisibilityGraph: which points see each other.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Parallelism, RandomGenerator
from merganser.framework.common.records import settings
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid, IrisOptions
from merganser.geometry.optimization.iris import ball_around
from merganser.geometry.optimization.sets.inscribed import sample_many
from merganser.multibody.planning.checking.collision_checker import CollisionChecker
from merganser.multibody.planning.limits import position_box
from merganser.multibody.planning.regions.cliques import (
    MaxCliqueSolverBase,
    MaxCliqueSolverViaGreedy,
    MinCliqueCoverSolverViaGreedy,
)
from merganser.multibody.planning.regions.iris_np import IrisNp
from merganser.multibody.planning.regions.iris_options import IrisNp2Options, IrisZoOptions
from merganser.multibody.planning.regions.sampled_iris import IrisNp2, IrisZo


def VisibilityGraph(checker: CollisionChecker, points: ArrayLike, parallelize: Parallelism | bool = True) -> Any:
    """Which of some configurations have a free edge between them.

    Args:
        checker: checks edges, with equal results in both directions.
        points: configurations as columns, shape [nq, n].
        parallelize: how many threads to use.

    Returns:
        A symmetric scipy.sparse.csc_matrix of truth values, shape [n, n]; a free point sees itself.

    Raises:
        ValueError: the points have another number of rows than the plant positions.
    """
    from scipy.sparse import csc_matrix

    columns = np.atleast_2d(np.asarray(points, dtype=float))
    num_q = checker.plant().num_positions()
    if columns.shape[0] != num_q:
        raise ValueError(f"VisibilityGraph(): points has shape {columns.shape}, expected ({num_q}, n).")
    is_free = checker.CheckConfigsCollisionFree(columns.T, parallelize)
    sees = np.diag(np.array(is_free, dtype=bool))
    free = np.flatnonzero(is_free).tolist()
    for place, i in enumerate(free):
        others = free[place + 1 :]
        edges = [(columns[:, i], columns[:, j]) for j in others]
        sees[i, others] = sees[others, i] = checker.CheckEdgesCollisionFree(edges, parallelize)
    return csc_matrix(sees)


Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

_WHERE = "IrisInConfigurationSpaceFromCliqueCover"
_MIXING_STEPS = 50
_MOST_DRAWS = 100  # times the points that are wanted, before free space counts as too small to be found
_logger = logging.getLogger("merganser.planning")


@settings
@dataclass(eq=False, kw_only=True)
class IrisFromCliqueCoverOptions:
    """Options of the cover of free positions by regions.

    Attributes:
        iris_options: how each region grows; an IrisOptions for IrisNp, IrisZoOptions or IrisNp2Options for the function
            of that name. One iteration keeps the shape of the clique that the region begins with.
        coverage_termination_threshold: which part of the free positions is to be covered.
        iteration_limit: how many rounds there are at most.
        num_points_per_coverage_check: how many free positions the part that is covered is estimated by.
        parallelism: how many threads check for collisions; in place of that of iris_options.
        minimum_clique_size: how many points a region begins with at least; one more than there are positions, at least.
        num_points_per_visibility_round: how many free positions outside of all regions each round begins with; twice as
            many as the smallest clique has, at least. It is doubled after a round without cliques.
        rank_tol_for_minimum_volume_circumscribed_ellipsoid: when a clique counts as flat, see Hyperellipsoid.
        point_in_set_tol: by how much positions may be outside of a region that count as inside.
    """

    iris_options: IrisOptions | IrisZoOptions | IrisNp2Options = field(
        default_factory=lambda: IrisOptions(iteration_limit=1)
    )
    coverage_termination_threshold: float = 0.7
    iteration_limit: int = 100
    num_points_per_coverage_check: int = 1000
    parallelism: Parallelism = field(default_factory=Parallelism.Max)
    minimum_clique_size: int = 3
    num_points_per_visibility_round: int = 200
    rank_tol_for_minimum_volume_circumscribed_ellipsoid: float = 1e-6
    point_in_set_tol: float = 1e-6


def IrisInConfigurationSpaceFromCliqueCover(
    checker: Any,
    options: IrisFromCliqueCoverOptions,
    generator: RandomGenerator,
    sets: Sequence[HPolyhedron],
    max_clique_solver: MaxCliqueSolverBase | None = None,
) -> list[HPolyhedron]:
    """Regions without collisions that together cover most of the free positions of a robot.

    In each round, free random positions that no region has are the vertices of a graph, whose edges are the straight
    ways between two that are free. Positions of a clique see each other, so that around them there is likely a large
    convex region: it grows from the smallest ellipsoid around them.

    Args:
        checker: a CollisionChecker; a SceneGraphCollisionChecker for IrisNp2. Its paddings count for IrisZo and IrisNp2
            only.
        options: when to end, and how regions grow.
        generator: where randomness comes from.
        sets: regions that are there already.
        max_clique_solver: finds cliques; by default MaxCliqueSolverViaGreedy.

    Returns:
        The given regions and new ones.

    Raises:
        ValueError: an option is out of its range.
        TypeError: options.iris_options is of another class.
        RuntimeError: positions have no limits; the options have additional constraints or a parameterization; or no
            free positions are found.

    Source: Werner and others 2024, algorithm 1.
    """
    cover = _Cover(checker, options, generator, list(sets))
    solver = MinCliqueCoverSolverViaGreedy(max_clique_solver or MaxCliqueSolverViaGreedy(), cover.min_clique_size)
    for _ in range(options.iteration_limit):
        if cover.part_covered() >= options.coverage_termination_threshold:
            break
        cover.add_round(solver)
    return cover.regions


class _Cover:
    """A growing set of regions.

    Attributes:
        regions: what there is.
        min_clique_size: how many points a region begins with at least.
    """

    def __init__(
        self, checker: Any, options: IrisFromCliqueCoverOptions, generator: RandomGenerator, regions: list[HPolyhedron]
    ) -> None:
        self.regions = regions
        self._checker, self._options = checker, options
        self._rng = np.random.default_rng(generator())
        self._iris = _checked_iris_options(options)
        self._domain = self._bounded_domain()
        n = self._domain.ambient_dimension()
        self.min_clique_size = max(options.minimum_clique_size, n + 1)
        self._num_points = max(options.num_points_per_visibility_round, 2 * self.min_clique_size)
        self._walkers = self._domain.ChebyshevCenter()[:, np.newaxis]

    def _bounded_domain(self) -> HPolyhedron:
        domain = position_box(self._checker.plant())
        region = getattr(self._iris, "bounding_region", None)
        if region is not None:
            domain = domain.Intersection(region)
        if not domain.IsBounded():
            raise RuntimeError(
                f"{_WHERE}: expected limits of all positions of the plant, or options.iris_options.bounding_region."
            )
        return domain

    def part_covered(self) -> float:
        """Which part of free positions is in a region, by samples."""
        if not self.regions:
            return 0.0
        points = self._free_points(self._options.num_points_per_coverage_check, outside=False)
        return float(self._are_covered(points).mean())

    def add_round(self, solver: MinCliqueCoverSolverViaGreedy) -> None:
        """Adds regions that grow from cliques of one graph."""
        points = self._free_points(self._num_points, outside=True)
        graph = VisibilityGraph(self._checker, points, self._options.parallelism)
        cliques = solver.SolveMinCliqueCover(graph, partition=True)
        if not cliques:
            self._num_points *= 2
            return
        for clique in cliques:
            members = points[:, sorted(clique)]
            if not self._are_covered(members).all():
                self._add_region(members)

    def _free_points(self, count: int, outside: bool) -> Array:
        """Free positions in columns, shape [n, count]; if there are few outside of all regions, as many as are found.

        Raises:
            RuntimeError: no seed is free.
        """
        found, num_found = [np.zeros((self._domain.ambient_dimension(), 0))], 0
        A, b = self._domain.A(), self._domain.b()
        for _ in range(_MOST_DRAWS):
            begin = self._walkers[:, self._rng.integers(self._walkers.shape[1], size=count)]
            self._walkers = sample_many(A, b, begin, self._rng, _MIXING_STEPS)
            points = self._walkers[:, ~self._are_covered(self._walkers)] if outside else self._walkers
            free = self._checker.CheckConfigsCollisionFree(list(points.T), parallelize=self._options.parallelism)
            found.append(points[:, np.array(free, dtype=bool)])
            num_found += found[-1].shape[1]
            if num_found >= count:
                break
        if not num_found:
            raise RuntimeError(f"{_WHERE}: found no free positions within the limits that are not covered yet.")
        return np.hstack(found)[:, :count]

    def _are_covered(self, points: Array) -> Bools:
        tol = self._options.point_in_set_tol
        covered = np.zeros(points.shape[1], bool)
        for region in self.regions:
            covered |= (region.A() @ points <= region.b()[:, np.newaxis] + tol).all(axis=0)
        return covered

    def _add_region(self, members: Array) -> None:
        """Adds a region that grows from the smallest ellipsoid around free points in columns, if one can."""
        ellipsoid = self._ellipsoid_around(members)
        try:
            self.regions.append(self._grown(ellipsoid))
        except RuntimeError as error:
            _logger.info("%s: no region from the clique around %s: %s", _WHERE, ellipsoid.center(), error)

    def _ellipsoid_around(self, members: Array) -> Hyperellipsoid:
        tol = self._options.rank_tol_for_minimum_volume_circumscribed_ellipsoid
        try:
            ellipsoid = Hyperellipsoid.MinimumVolumeCircumscribedEllipsoid(members, tol)
        except RuntimeError:  # the points are in a flat
            ellipsoid = ball_around(members.mean(axis=1))
        center = ellipsoid.center()
        if self._checker.CheckConfigCollisionFree(center):
            return ellipsoid
        nearest = np.linalg.norm(ellipsoid.A() @ (members - center[:, np.newaxis]), axis=0).argmin()
        return Hyperellipsoid(ellipsoid.A(), members[:, nearest])

    def _grown(self, ellipsoid: Hyperellipsoid) -> HPolyhedron:
        if isinstance(self._iris, IrisZoOptions):
            return IrisZo(self._checker, ellipsoid, self._domain, self._iris)
        if isinstance(self._iris, IrisNp2Options):
            return IrisNp2(self._checker, ellipsoid, self._domain, self._iris)
        plant, model = self._checker.plant(), self._checker.model()
        root = model.CreateDefaultContext()
        context = model.plant_context(root)
        plant.SetPositions(context, ellipsoid.center())
        self._iris.starting_ellipse, self._iris.bounding_region = ellipsoid, self._domain
        return IrisNp(plant, context, self._iris)


def _checked_iris_options(options: IrisFromCliqueCoverOptions) -> IrisOptions | IrisZoOptions | IrisNp2Options:
    """A copy of the options for regions, with what each call sets.

    Raises:
        ValueError: an option is out of its range.
        TypeError: they are of another class.
        RuntimeError: they have additional constraints, or a parameterization.
    """
    if not 0.0 <= options.coverage_termination_threshold <= 1.0:
        raise ValueError(
            f"{_WHERE}: expected coverage_termination_threshold from 0 to 1, got "
            f"{options.coverage_termination_threshold}."
        )
    for name in ("num_points_per_coverage_check", "minimum_clique_size", "num_points_per_visibility_round"):
        if not getattr(options, name) >= 1:
            raise ValueError(f"{_WHERE}: expected {name} of at least 1, got {getattr(options, name)}.")
    given = options.iris_options
    if not isinstance(given, (IrisOptions, IrisZoOptions, IrisNp2Options)):
        raise TypeError(
            f"{_WHERE}: expected iris_options to be IrisOptions, IrisZoOptions or IrisNp2Options, got "
            f"{type(given).__name__}."
        )
    iris = copy.copy(given)
    if isinstance(iris, IrisOptions):
        prog = iris.prog_with_additional_constraints
    else:
        if iris.parameterization.get_parameterization_dimension() is not None:
            raise RuntimeError(f"{_WHERE}: expected no parameterization in options.iris_options.")
        iris.sampled_iris_options = copy.copy(iris.sampled_iris_options)
        iris.sampled_iris_options.parallelism = options.parallelism
        prog = iris.sampled_iris_options.prog_with_additional_constraints
    if prog is not None:
        raise RuntimeError(f"{_WHERE}: expected no prog_with_additional_constraints in options.iris_options.")
    return iris
