"""Regions of a robot's positions without collisions, by nonlinear programs.

Source: Petersen and Tedrake, Growing convex collision-free regions in configuration space using nonlinear programming,
2023. It takes turns as `Iris` does; as obstacles have no convex sets in the space of positions, where the ellipsoid
first touches one is a local solution of a program (`counterexamples.py`).

Which positions of a plant are angles without limits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.geometry import GeometryId
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid, IrisOptions
from merganser.geometry.optimization.iris import (
    EllipsoidGrowth,
    GrowingRegion,
    bounded_domain,
    cut_obstacles,
    in_ellipsoid,
    starting_ellipsoid,
    tangent,
)
from merganser.geometry.optimization.sets.inscribed import RegionSampler
from merganser.multibody.inverse_kinematics.distance_constraints import DistanceConstraint
from merganser.multibody.inverse_kinematics.posture_functions import query_of
from merganser.multibody.planning.limits import position_box
from merganser.multibody.planning.regions.counterexamples import (
    AdditionalConstraints,
    Condition,
    nearest_counterexample,
)
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import (
    BallRpyJoint,
    Joint,
    PlanarJoint,
    RevoluteJoint,
    RpyFloatingJoint,
    UniversalJoint,
)

_ANGLES: dict[type[Joint], tuple[int, ...]] = {
    RevoluteJoint: (0,),
    UniversalJoint: (0, 1),
    PlanarJoint: (2,),
    BallRpyJoint: (0, 1, 2),
    RpyFloatingJoint: (0, 1, 2),
}


def GetContinuousRevoluteJointIndices(plant: MultibodyPlant) -> list[int]:
    """Returns the places in the positions of a plant of the angles that have no limits, in ascending order.

    Raises:
        RuntimeError: the plant is not finalized.
    """
    require_plant(plant, "GetContinuousRevoluteJointIndices()")
    low, high = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    found = []
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        for offset in _ANGLES.get(type(joint), ()):
            place = joint.position_start() + offset
            if np.isinf(low[place]) and np.isinf(high[place]):
                found.append(place)
    return sorted(found)


Array = NDArray[np.float64]

_WHERE = "IrisNp"
_LEAST_MARGIN = 1e-5  # more than what solvers allow for, so that a point is not found again and again
_CONVEX = 0.5 * np.pi - 1e-5  # how far angles without limits go from the seed: shortest ways between two stay inside


def IrisNp(plant: MultibodyPlant, context: Context, options: IrisOptions | None = None) -> HPolyhedron:
    """A region of the positions of a plant without collisions, which grows from those of a Context.

    For each pair of geometries that may collide, searches from random positions of the region look for a collision, and
    each that is found gets a face. A pair is done when `num_collision_infeasible_samples` searches in a row have found
    none: so the probability that the region is free is not known. `IrisNp2` and `IrisZo` test it.

    Args:
        plant: registered with a SceneGraph, in a diagram.
        context: of the plant, in that of the diagram. Its positions are the seed; they are as before afterwards.
        options: by default IrisOptions(). The domain is what the limits of the joints leave. Angles without limits stay
            within pi/2 of the seed.

    Returns:
        The rows of the domain and of the faces, of positions in the plant's order.

    Raises:
        ValueError: the options have a number out of its range.
        RuntimeError: the plant has no SceneGraph; the domain is unbounded; the seed is outside of it, in collision, in
            an obstacle of the options, in conflict with a constraint of them, or within the margin of any of these.

    Source: Petersen and Tedrake 2023.
    """
    options = options or IrisOptions()
    growth = _Growth(plant, context, options)
    try:
        return growth.region()
    finally:
        plant.SetPositions(context, growth.seed)


class _Growth:
    """One region as it grows.

    Attributes:
        seed: shape [n].
    """

    def __init__(self, plant: MultibodyPlant, context: Context, options: IrisOptions) -> None:
        self.seed: Array = plant.GetPositions(context)
        self._options = options
        additional = AdditionalConstraints(options.prog_with_additional_constraints, self.seed.size, _WHERE)
        self._domain = additional.within(bounded_domain(_limits(plant, self.seed), options, _WHERE))
        if not self._domain.PointInSet(self.seed, 1e-9):
            raise RuntimeError(
                f"{_WHERE}: the seed {self.seed} is outside of the domain: limits of the joints, "
                "options.bounding_region or linear constraints. Set the positions of the plant in the Context to some "
                "that are inside."
            )
        pairs = _pairs_by_distance(plant, context)
        self._check_seed(additional)
        places = np.arange(self.seed.size)
        self._collisions = [
            Condition(name, DistanceConstraint(plant, pair, context, -np.inf, 0.0), places) for name, pair in pairs
        ]
        self._violations = additional.violations
        self._sampler = RegionSampler(options.random_seed, options.mixing_steps)
        self._known: dict[int, list[Array]] = {}  # counterexamples of former regions, by conditions

    def _check_seed(self, additional: AdditionalConstraints) -> None:
        for i, obstacle in enumerate(self._options.configuration_obstacles):
            if obstacle.PointInSet(self.seed):
                raise RuntimeError(f"{_WHERE}: the seed {self.seed} is in configuration obstacle {i}.")
        if not additional.hold_at(self.seed):
            raise RuntimeError(
                f"{_WHERE}: options.prog_with_additional_constraints does not hold at the seed {self.seed}."
            )

    def region(self) -> HPolyhedron:
        """The region after the last turn."""
        options = self._options
        ellipsoid = starting_ellipsoid(options, self.seed, _WHERE)
        growth = EllipsoidGrowth(options.termination_threshold, options.relative_termination_threshold, ellipsoid)
        last: HPolyhedron | None = None
        for iteration in range(max(options.iteration_limit, 1)):
            growing = GrowingRegion(self._domain)
            if not self._cut_all(growing, ellipsoid):
                if last is None:
                    raise RuntimeError(self._no_room(ellipsoid))
                return last
            last = growing.polyhedron()
            if options.termination_func is not None and options.termination_func(last):
                break
            following = in_ellipsoid(last) if iteration + 1 < options.iteration_limit else None
            if following is None or growth.has_ended(following):
                break
            ellipsoid = following
        assert last is not None
        return last

    def _no_room(self, ellipsoid: Hyperellipsoid) -> str:
        return (
            f"{_WHERE}: the center {ellipsoid.center()} of the ellipsoid, or a seed that is to be contained, is within "
            f"configuration_space_margin = {self._options.configuration_space_margin} of a collision, an obstacle or "
            "the bound of a constraint. Choose a seed with more room around it, or a smaller margin."
        )

    def _cut_all(self, region: GrowingRegion, ellipsoid: Hyperellipsoid) -> bool:
        """Adds faces for all that is in the region and should not be; False if they cut off what is to stay."""
        options = self._options
        cut_obstacles(region, options.configuration_obstacles, ellipsoid, _WHERE, options.configuration_space_margin)
        if not self._has_room(region, ellipsoid):
            return False
        for conditions, count in (
            (self._collisions, options.num_collision_infeasible_samples),
            (self._violations, options.num_additional_constraint_infeasible_samples),
        ):
            for condition in conditions:
                if not self._cut(region, ellipsoid, condition, count):
                    return False
        return True

    def _has_room(self, region: GrowingRegion, ellipsoid: Hyperellipsoid) -> bool:
        if self._options.require_sample_point_is_contained and not region.contains(self.seed, 1e-12):
            return False
        return region.contains(ellipsoid.center())

    def _cut(self, region: GrowingRegion, ellipsoid: Hyperellipsoid, condition: Condition, count: int) -> bool:
        """Adds faces until enough searches in a row find nothing."""
        known = self._known.setdefault(id(condition.constraint), [])
        guesses = [q for q in known if region.contains(q)]
        num_failed = 0
        while num_failed < count:
            if not guesses:
                drawn = self._sampler.draw(region.A, region.b, ellipsoid.center(), count - num_failed)
                guesses = list(drawn.T)
            q = nearest_counterexample(condition, region, ellipsoid, guesses.pop(), self._options.solver_options)
            if q is None:
                num_failed += 1
                continue
            face = tangent(ellipsoid, q, max(self._options.configuration_space_margin, _LEAST_MARGIN))
            if face is None:
                return False
            region.cut(face)
            if not self._has_room(region, ellipsoid):
                return False
            known.append(q)
            num_failed, guesses = 0, [each for each in guesses if region.contains(each)]
        return True


def _limits(plant: MultibodyPlant, seed: Array) -> HPolyhedron:
    """The box of joint limits; angles without limits stay near the seed."""
    angles = GetContinuousRevoluteJointIndices(plant)
    return position_box(plant, {i: (seed[i] - _CONVEX, seed[i] + _CONVEX) for i in angles})


def _pairs_by_distance(plant: MultibodyPlant, context: Context) -> Sequence[tuple[str, tuple[GeometryId, GeometryId]]]:
    """Pairs of geometries that may collide, the nearest first, with what to call them.

    Raises:
        RuntimeError: there is no SceneGraph, or a pair is in collision.
    """
    query = query_of(plant, context, _WHERE)
    inspector = query.inspector()
    found = []
    for a, b in inspector.GetCollisionCandidates():
        distance = query.ComputeSignedDistancePairClosestPoints(a, b).distance
        name = f"geometries '{inspector.GetName(a)}' and '{inspector.GetName(b)}'"
        if distance < 0.0:
            raise RuntimeError(f"{_WHERE}: the seed is in collision: {name} penetrate by {-distance:.3g} m.")
        found.append((distance, a.get_value(), b.get_value(), name, (a, b)))
    return [(name, pair) for *_, name, pair in sorted(found, key=lambda each: each[:3])]
