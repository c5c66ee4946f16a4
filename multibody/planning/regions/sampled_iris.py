"""Regions of a robot's positions without collisions, by a collision checker alone.

Regions of a robot's positions without collisions, by a collision checker and nonlinear programs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.function_evaluators import PyFunctionConstraint
from merganser.geometry import GeometryId
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.geometry.optimization.iris import GrowingRegion
from merganser.multibody.inverse_kinematics.distance_constraints import DistanceConstraint
from merganser.multibody.planning.regions.counterexamples import Condition, nearest_counterexample
from merganser.multibody.planning.regions.iris_options import IrisNp2Options, IrisZoOptions, RaySamplerOptions
from merganser.multibody.planning.regions.sampled_growth import FreeSpace, SampledGrowth
from merganser.multibody.tree import BodyIndex

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def IrisZo(
    checker: Any, starting_ellipsoid: Hyperellipsoid, domain: HPolyhedron, options: IrisZoOptions | None = None
) -> HPolyhedron:
    """A region of positions that grows around an ellipsoid, and is free of collisions with a given probability.

    Random points of the region that are in collision are moved towards the center of the ellipsoid, by bisection, to
    where the collision begins; there the tangents of the ellipsoid become faces (`sampled_growth.py`). With probability
    1 - delta, at most epsilon of the volume is in collision. If `max_iterations_separating_planes` tests do not accept
    a region, that is logged as a warning, and nothing is known of it.

    Args:
        checker: a CollisionChecker.
        starting_ellipsoid: around a center that is free, such as a small ball.
        domain: bounded; the region stays in it.
        options: by default IrisZoOptions().

    Returns:
        The rows of the domain and of the faces, of positions or of what they are parameterized by.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: sizes differ; the domain is unbounded; the center is outside of it, in collision, violates a
            constraint of the options, or is within the margin of a collision.

    Source: Werner and others, Faster algorithms for growing collision-free convex polytopes in robot configuration
    space, 2024, algorithm 2.
    """
    options = options or IrisZoOptions()
    num_steps = checked_size(options.bisection_steps, "IrisZo: bisection_steps")
    common = options.sampled_iris_options
    space = FreeSpace(checker, options.parameterization, common, "IrisZo")
    growth = SampledGrowth(space, starting_ellipsoid, domain, common, "IrisZo")

    def search(points: Array, is_free: Bools, region: GrowingRegion, ellipsoid: Hyperellipsoid) -> Iterable[Array]:
        return _begins(space, points[:, ~is_free], region, ellipsoid, num_steps)

    return growth.region(search)


class _Rays:
    """Rays from the center of an ellipsoid to points in collision, each with the part where a collision begins.

    Args:
        space: what is free.
        collisions: where the ways end, in columns, shape [n, N].
        ellipsoid: from whose center they go; lengths are in its measure.
    """

    def __init__(self, space: FreeSpace, collisions: Array, ellipsoid: Hyperellipsoid) -> None:
        self._space, self._center = space, ellipsoid.center()[:, np.newaxis]
        self._ways = collisions - self._center
        self._lengths = np.linalg.norm(ellipsoid.A() @ self._ways, axis=0)
        self._free, self._hit = np.zeros(self._lengths.size), np.ones(self._lengths.size)  # parts of the ways
        self.num_halved = np.zeros(self._lengths.size, int)

    def halve(self, which: Bools) -> None:
        """Finds the half of their parts in which the collisions of some rays begin."""
        places = np.flatnonzero(which)
        middle = 0.5 * (self._free[places] + self._hit[places])
        is_free = self._space.has(self._center + middle * self._ways[:, places])
        self._free[places[is_free]], self._hit[places[~is_free]] = middle[is_free], middle[~is_free]
        self.num_halved[places] += 1

    def bounds(self) -> tuple[Array, Array]:
        """How far the free ends and the ends in collision of the parts are from the center, shape [N] each."""
        return self._free * self._lengths, self._hit * self._lengths

    def end(self, i: int) -> Array:
        """The end in collision of a part, shape [n]."""
        return np.asarray(self._center[:, 0] + self._hit[i] * self._ways[:, i])

    def begin_in(self, region: GrowingRegion) -> Bools:
        """Whether the free ends are in a region, so that collisions may begin there."""
        ends = self._center + self._free * self._ways
        return np.asarray((region.A @ ends <= region.b[:, np.newaxis]).all(axis=0))


_AT_A_TIME = 10  # ways that are halved together


def _begins(
    space: FreeSpace, collisions: Array, region: GrowingRegion, ellipsoid: Hyperellipsoid, num_steps: int
) -> Iterable[Array]:
    """Points in collision next to free ones on the rays from the center, the nearest to it first.

    A way is halved only as long as it may be the next: so most of them are given up after one or two checks.
    """
    rays = _Rays(space, collisions, ellipsoid)
    left = np.ones(collisions.shape[1], bool)
    while left.any():
        low, high = rays.bounds()
        is_done = rays.num_halved >= num_steps
        nearest = np.partition(high[left], min(_AT_A_TIME, int(left.sum())) - 1)[: _AT_A_TIME].max()
        open_ones = left & ~is_done & (low <= nearest)
        done = np.flatnonzero(left & is_done)
        best = int(done[high[done].argmin()]) if done.size else -1
        if done.size and not (open_ones & (low < high[best])).any():
            left[best] = False
            yield rays.end(best)
            left &= rays.begin_in(region)
        else:
            rays.halve(open_ones)


_WHERE = "IrisNp2"


def IrisNp2(
    checker: Any, starting_ellipsoid: Hyperellipsoid, domain: HPolyhedron, options: IrisNp2Options | None = None
) -> HPolyhedron:
    """A region of positions that grows around an ellipsoid, and is free of collisions with a given probability.

    From random points of the region that are in collision, nonlinear programs search for the nearest point to the
    center, in the ellipsoid's measure, at which the same two geometries touch; there the tangents of the ellipsoid
    become faces (`sampled_growth.py`). There are fewer of them than IrisZo finds. With probability 1 - delta, at most
    epsilon of the volume is in collision. If `max_iterations_separating_planes` tests do not accept a region, that is
    logged as a warning, and nothing is known of it.

    Args:
        checker: a SceneGraphCollisionChecker; paddings are at least 0, and it has no shapes that were added.
        starting_ellipsoid: around a center that is free, such as a small ball.
        domain: bounded; the region stays in it.
        options: by default IrisNp2Options().

    Returns:
        The rows of the domain and of the faces, of positions or of what they are parameterized by.

    Raises:
        ValueError: an option is out of its range.
        RuntimeError: sizes differ; the domain is unbounded; the center is outside of it, in collision, violates a
            constraint of the options, or is within the margin of a collision; a padding is negative, or a shape was
            added.

    Source: Werner and others, Faster algorithms for growing collision-free convex polytopes in robot configuration
    space, 2024, algorithm 3.
    """
    options = options or IrisNp2Options()
    if options.sampling_strategy not in ("greedy", "ray"):
        raise ValueError(f"{_WHERE}: expected sampling_strategy 'greedy' or 'ray', got '{options.sampling_strategy}'.")
    rays = options.ray_sampler_options
    for name in ("ray_search_num_steps", "num_particles_to_walk_towards"):
        if checked_size(getattr(rays, name), f"{_WHERE}: {name}") < 1:
            raise ValueError(f"{_WHERE}: expected {name} of at least 1, got {getattr(rays, name)}.")
    common = options.sampled_iris_options
    space = FreeSpace(checker, options.parameterization, common, _WHERE)
    conditions = _Conditions(checker, space, options)
    growth = SampledGrowth(space, starting_ellipsoid, domain, common, _WHERE)

    def search(points: Array, is_free: Bools, region: GrowingRegion, ellipsoid: Hyperellipsoid) -> Iterable[Array]:
        if options.sampling_strategy == "ray":
            hits = _first_hits(space, points, is_free, ellipsoid.center(), rays)
        else:
            hits = points[:, ~is_free]
        order = np.argsort(np.linalg.norm(ellipsoid.A() @ (hits.T - ellipsoid.center()).T, axis=0), kind="stable")
        for p in hits.T[order]:
            if not region.contains(p):
                continue
            condition = conditions.at(p)
            q = None
            if condition is not None:
                q = nearest_counterexample(condition, region, ellipsoid, p, options.solver_options, options.solver)
            if q is not None:
                yield q
            elif options.add_hyperplane_if_solve_fails:
                yield p

    return growth.region(search)


def _first_hits(
    space: FreeSpace, points: Array, is_free: Bools, center: Array, options: RaySamplerOptions
) -> Array:
    """The first collisions on the lines from the center to points, in columns; lines without collision are left out."""
    if options.only_walk_toward_collisions:
        ends = points[:, ~is_free]
    else:
        ends = points[:, : options.num_particles_to_walk_towards]
    found = []
    for step in range(1, options.ray_search_num_steps + 1):
        here = center[:, np.newaxis] + (step / options.ray_search_num_steps) * (ends - center[:, np.newaxis])
        goes_on = space.has(here)
        found.append(here[:, ~goes_on])
        ends = ends[:, goes_on]
    return np.hstack(found)


class _Conditions:
    """Conditions of a point in collision, for programs.

    Args:
        checker: with the plant and its SceneGraph.
        space: of the points.
        options: with the parameterization.

    Raises:
        RuntimeError: a padding is negative, or a shape was added.
    """

    def __init__(self, checker: Any, space: FreeSpace, options: IrisNp2Options) -> None:
        self._checker, self._space = checker, space
        self._plant = checker.plant()
        model = checker.model()
        self._root = model.CreateDefaultContext()
        self._context = model.plant_context(self._root)
        self._known: dict[tuple[GeometryId, GeometryId], Condition] = {}
        self._function = options.parameterization
        if checker.GetAllAddedCollisionShapes():
            raise RuntimeError(
                f"{_WHERE}: the checker has shapes that were added to it, which no program has. Add them to the model, "
                "or use IrisZo."
            )
        self._furthest = float(np.max(checker.GetPaddingMatrix(), initial=0.0))
        if float(np.min(checker.GetPaddingMatrix(), initial=0.0)) < 0.0:
            raise RuntimeError(f"{_WHERE}: the checker has a negative padding; expected at least 0. Use IrisZo.")

    def at(self, point: Array) -> Condition | None:
        """The condition that the two most penetrating geometries touch, or a constraint is violated, or None."""
        q = self._space.positions(point[:, np.newaxis])[0]
        self._plant.SetPositions(self._context, q)
        query = self._plant.get_geometry_query_input_port().Eval(self._context)
        worst, chosen = 0.0, None
        for pair in query.ComputeSignedDistancePairwiseClosestPoints(self._furthest):
            padding = self._padding(query, pair.id_A, pair.id_B)
            if padding is not None and pair.distance - padding <= worst:
                worst, chosen = pair.distance - padding, ((pair.id_A, pair.id_B), padding)
        if chosen is not None:
            return self._touch(*chosen)
        for violation in self._space.additional.violations:
            if violation.constraint.CheckSatisfied(point[violation.places], 0.0):
                return violation
        return None

    def _padding(self, query: Any, a: GeometryId, b: GeometryId) -> float | None:
        """The padding between two geometries; None if the checker ignores them."""
        bodies: list[BodyIndex] = []
        for id in (a, b):
            body = self._plant.GetBodyFromFrameId(query.inspector().GetFrameId(id))
            if body is None:
                return None
            bodies.append(body.index())
        if not any(self._checker.IsPartOfRobot(index) for index in bodies):
            return None
        if bodies[0] == bodies[1] or self._checker.IsCollisionFilteredBetween(*bodies):
            return None
        return float(self._checker.GetPaddingBetween(*bodies))

    def _touch(self, pair: tuple[GeometryId, GeometryId], padding: float) -> Condition:
        if pair not in self._known:
            constraint: Constraint = DistanceConstraint(self._plant, pair, self._context, -np.inf, padding)
            if self._function.get_parameterization_dimension() is not None:
                constraint = self._parameterized(constraint)
            self._known[pair] = Condition("collision", constraint, np.arange(self._space.dimension))
        return self._known[pair]

    def _parameterized(self, of_positions: Constraint) -> Constraint:
        floats = self._function.get_parameterization_double()
        autodiff = self._function.get_parameterization_autodiff()

        def function(s: Any) -> Any:
            return of_positions.Eval(autodiff(s) if s.dtype == object else floats(s))

        lower, upper = of_positions.lower_bound(), of_positions.upper_bound()
        return PyFunctionConstraint(self._space.dimension, function, lower, upper)
