"""Regions of a robot's positions without collisions, by a collision checker alone."""

from __future__ import annotations

__all__ = ["IrisZo"]

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.arguments import checked_size
from merganser.geometry.optimization import HPolyhedron, Hyperellipsoid
from merganser.geometry.optimization.growing_region import GrowingRegion
from merganser.multibody.planning.sampled_growth import FreeSpace, SampledGrowth
from merganser.multibody.planning.sampled_iris_options import IrisZoOptions

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
        return _begins(space, points[:, ~is_free], ellipsoid, num_steps)

    return growth.region(search)


def _begins(space: FreeSpace, collisions: Array, ellipsoid: Hyperellipsoid, num_steps: int) -> Iterable[Array]:
    """Points in collision next to free ones on the ways from the center, the nearest to it first."""
    center = ellipsoid.center()[:, np.newaxis]
    free, hit = np.repeat(center, collisions.shape[1], axis=1), collisions.copy()
    for _ in range(num_steps):
        middle = 0.5 * (free + hit)
        is_free = space.has(middle)
        free[:, is_free], hit[:, ~is_free] = middle[:, is_free], middle[:, ~is_free]
    order = np.argsort(np.linalg.norm(ellipsoid.A() @ (hit - center), axis=0), kind="stable")
    return iter(hit.T[order])
