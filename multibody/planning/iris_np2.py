"""Regions of a robot's positions without collisions, by a collision checker and nonlinear programs."""

from __future__ import annotations

__all__ = ["IrisNp2"]

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.function_evaluators import PyFunctionConstraint
from merganser.geometry import GeometryId
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.geometry.optimization.growing_region import GrowingRegion
from merganser.multibody.inverse_kinematics.distance_constraints import DistanceConstraint
from merganser.multibody.planning.counterexamples import Condition, nearest_counterexample
from merganser.multibody.planning.sampled_growth import FreeSpace, SampledGrowth
from merganser.multibody.planning.sampled_iris_options import IrisNp2Options, RaySamplerOptions
from merganser.multibody.tree import BodyIndex

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

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
    """The first collisions on the ways from the center to points, in columns; there is none on some of them."""
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
    """What a point in collision has, as conditions of programs.

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
        """That the two geometries touch that penetrate most, or that a constraint is violated; None for neither."""
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
        """The padding between two geometries; None if the checker does not look at them."""
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
