"""Samples of an edge between two configurations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from merganser.multibody.planning.collision_results import EdgeMeasure

if TYPE_CHECKING:
    from merganser.multibody.planning.collision_checker import CollisionChecker

__all__ = ["is_edge_free", "measure_edge"]


def is_edge_free(checker: CollisionChecker, context: Any, q1: ArrayLike, q2: ArrayLike) -> bool:
    """Whether no sample of an edge is in collision: first its end, then others from its start on."""
    distance = checker.ComputeConfigurationDistance(q1, q2)
    if not checker.CheckContextConfigCollisionFree(context, q2):
        return False
    return _first_in_collision(checker, context, q1, q2, _num_steps(checker, distance)) is None


def measure_edge(checker: CollisionChecker, context: Any, q1: ArrayLike, q2: ArrayLike) -> EdgeMeasure:
    """How far an edge is free."""
    distance = checker.ComputeConfigurationDistance(q1, q2)
    num_steps = _num_steps(checker, distance)
    step = _first_in_collision(checker, context, q1, q2, num_steps)
    if step is None:
        if checker.CheckContextConfigCollisionFree(context, q2):
            return EdgeMeasure(distance, 1.0)
        step = num_steps
    return EdgeMeasure(distance, (step - 1) / num_steps if step > 0 else -1.0)


def _num_steps(checker: CollisionChecker, distance: float) -> int:
    return max(1, math.ceil(distance / checker.edge_step_size()))


def _first_in_collision(
    checker: CollisionChecker, context: Any, q1: ArrayLike, q2: ArrayLike, num_steps: int
) -> int | None:
    """The first sample but the end that is in collision; None if all are free."""
    for step in range(num_steps):
        q = checker.InterpolateBetweenConfigurations(q1, q2, step / num_steps)
        if not checker.CheckContextConfigCollisionFree(context, q):
            return step
    return None
