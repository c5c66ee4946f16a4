"""Constraints on distances between geometries.

The signed distance d of two bodies with witness points Ca and Cb and the normal n from B to A has the derivatives

    dd/dq = n . (dp_WCa/dq - dp_WCb/dq),   Ca fixed to A and Cb to B                                         (1)

The least of all distances is bounded by one smooth number, see minimum_value_constraints.py of optimization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.minimum_value_constraints import (
    Penalty,
    maximum_from_above,
    maximum_from_below,
    smoothed_hinge,
)
from merganser.geometry import GeometryId, QueryObject, SignedDistancePair
from merganser.multibody.inverse_kinematics.posture_functions import PostureFunction, query_of
from merganser.multibody.plant import MultibodyPlant

if TYPE_CHECKING:
    from merganser.multibody.planning import CollisionChecker, CollisionCheckerContext

Array = NDArray[np.float64]


class _OfDistances(PostureFunction):
    """Computes distances of a SceneGraph at q."""

    def _set_up(self, plant: MultibodyPlant, plant_context: Context) -> None:
        self._take(plant, plant_context)
        self._query()  # there must be one

    def _query(self) -> QueryObject:
        return query_of(self._plant, self._context, type(self).__name__)

    def _distance(self, query: QueryObject, pair: SignedDistancePair) -> tuple[float, Array]:
        """The distance and its derivatives by q, shape [num_positions]: (1)."""
        J = np.zeros((3, self._plant.num_positions()))
        world = self._plant.world_frame()
        for id, p_GC, sign in ((pair.id_A, pair.p_ACa, 1.0), (pair.id_B, pair.p_BCb, -1.0)):
            assert id is not None  # it is one of a query
            body = self._plant.GetBodyFromFrameId(query.inspector().GetFrameId(id))
            if body is None or body.index() == self._plant.world_body().index():
                continue
            p_BC = query.inspector().GetPoseInFrame(id).multiply(p_GC)
            J += sign * self._plant.CalcJacobianPositionVector(self._context, body.body_frame(), p_BC, world, world)
        return pair.distance, pair.nhat_BA_W @ J


class DistanceConstraint(_OfDistances, Constraint):
    """The signed distance of two geometries is within bounds [m].

    Args:
        plant: the plant.
        geometry_pair: two geometries, of which one at least can move.
        plant_context: of the plant, in that of a diagram with the SceneGraph; it is moved.
        distance_lower: the least distance.
        distance_upper: the greatest.

    Raises:
        ValueError: distance_lower is above distance_upper.
        RuntimeError: there is no SceneGraph.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        geometry_pair: tuple[GeometryId, GeometryId],
        plant_context: Context,
        distance_lower: float,
        distance_upper: float,
    ) -> None:
        self._set_up(plant, plant_context)
        self._pair = tuple(geometry_pair)
        if not distance_lower <= distance_upper:
            raise ValueError(
                f"DistanceConstraint: distance_lower must not be above distance_upper; got {distance_lower} and "
                f"{distance_upper}."
            )
        Constraint.__init__(self, plant.num_positions(), [distance_lower], [distance_upper])

    def _at(self, x: Array) -> tuple[Array, Array]:
        query = self._query()
        distance, J = self._distance(query, query.ComputeSignedDistancePairClosestPoints(*self._pair))
        return np.array([distance]), J[np.newaxis]


class _LeastDistance(_OfDistances, Constraint):
    """A bound of the least distance of all pairs that may collide, as one number."""

    _checker: Any = None  # a CollisionChecker, if distances come from one
    _checker_context: Any = None

    def _set_up_bound(
        self,
        places: tuple[Any, Any, Any, Any],
        bound: float | None,
        penalty_function: Penalty | None,
        influence_distance_offset: float | None,
        is_lower: bool,
    ) -> None:
        """Takes a plant and its Context, or a collision checker and its Context: the first two places or the others."""
        name = type(self).__name__
        plant, plant_context, checker, checker_context = places
        if plant is not None and not isinstance(plant, MultibodyPlant) and hasattr(plant, "CalcContextRobotClearance"):
            plant, plant_context, checker, checker_context = None, None, plant, plant_context or checker_context
        if (plant is None) == (checker is None) or bound is None or influence_distance_offset is None:
            raise TypeError(
                f"{name}() takes plant, bound and plant_context, or collision_checker, bound and "
                "collision_checker_context."
            )
        if checker is None:
            self._set_up(plant, plant_context)
        else:
            self._checker, self._checker_context = checker, checker_context
            self._take(checker.plant(), checker_context.plant_context())
        if not np.isfinite(bound):
            raise ValueError(f"{name}: bound must be finite, got {bound}.")
        if not 0.0 < influence_distance_offset < np.inf:
            raise ValueError(
                f"{name}: influence_distance_offset must be positive and finite, got {influence_distance_offset}."
            )
        self._bound, self._influence = float(bound), float(bound + influence_distance_offset)
        self._penalty = penalty_function or smoothed_hinge
        self._scale = self._penalty(-1.0, False)[0]
        self._is_lower = is_lower
        bounds = ([-np.inf], [1.0]) if is_lower else ([1.0], [np.inf])
        Constraint.__init__(self, self._plant.num_positions(), *bounds)

    def distance_bound(self) -> float:
        """The bound [m]."""
        return self._bound

    def influence_distance(self) -> float:
        """The distance below which a pair counts [m]."""
        return self._influence

    def _distances(self, x: Array) -> list[tuple[float, Array]]:
        """Distances that count, and their derivatives by q, shape [num_positions]."""
        if self._checker is not None:
            clearance = self._checker.CalcContextRobotClearance(self._checker_context, x, max(self._influence, 0.0))
            return [
                (distance, slope)
                for distance, slope in zip(clearance.distances().tolist(), clearance.jacobians())
                if distance <= self._influence
            ]
        query = self._query()
        pairs = query.ComputeSignedDistancePairwiseClosestPoints(self._influence)
        return [self._distance(query, pair) for pair in pairs]

    def _at(self, x: Array) -> tuple[Array, Array]:
        room = self._influence - self._bound
        penalties, slopes = [], []
        for distance, J in self._distances(x):
            penalty, slope = self._penalty((distance - self._influence) / room, True)
            penalties.append(penalty / self._scale)
            slopes.append(slope / (self._scale * room) * J)
        if not penalties:
            return np.zeros(1), np.zeros((1, self._plant.num_positions()))
        maximum = maximum_from_above if self._is_lower else maximum_from_below
        value, weights = maximum(np.array(penalties))
        return np.array([value]), (weights @ np.array(slopes))[np.newaxis]


class MinimumDistanceLowerBoundConstraint(_LeastDistance):
    """No two geometries that may collide are nearer than `bound` [m].

    Takes (plant, bound, plant_context, ...), or (collision_checker, bound, collision_checker_context, ...), where
    distances are those of the robot from the checker, less paddings.

    Args:
        plant: the plant.
        bound: the least signed distance that is allowed [m].
        plant_context: of the plant, in that of a diagram with the SceneGraph; it is moved.
        penalty_function: takes x and whether the slope is wanted, and returns phi(x) and the slope, in place of that.
        influence_distance_offset: how much above the bound distances count [m].
        collision_checker: in place of the plant.
        collision_checker_context: of the checker; it is moved.

    Raises:
        ValueError: a number is out of range.
        RuntimeError: there is no SceneGraph.
        TypeError: there is neither a plant nor a checker, or both.
    """

    def __init__(
        self,
        plant: MultibodyPlant | CollisionChecker | None = None,
        bound: float | None = None,
        plant_context: Context | CollisionCheckerContext | None = None,
        penalty_function: Penalty | None = None,
        influence_distance_offset: float = 0.01,
        *,
        collision_checker: CollisionChecker | None = None,
        collision_checker_context: CollisionCheckerContext | None = None,
    ) -> None:
        places = plant, plant_context, collision_checker, collision_checker_context
        self._set_up_bound(places, bound, penalty_function, influence_distance_offset, True)


class MinimumDistanceUpperBoundConstraint(_LeastDistance):
    """Two geometries that may collide, at least, are as near as `bound` [m]; arguments as of the lower bound's class.

    Raises:
        ValueError: a number is out of range.
        RuntimeError: there is no SceneGraph.
        TypeError: there is neither a plant nor a checker, or both.
    """

    def __init__(
        self,
        plant: MultibodyPlant | CollisionChecker | None = None,
        bound: float | None = None,
        plant_context: Context | CollisionCheckerContext | None = None,
        influence_distance_offset: float | None = None,
        penalty_function: Penalty | None = None,
        *,
        collision_checker: CollisionChecker | None = None,
        collision_checker_context: CollisionCheckerContext | None = None,
    ) -> None:
        places = plant, plant_context, collision_checker, collision_checker_context
        self._set_up_bound(places, bound, penalty_function, influence_distance_offset, False)
