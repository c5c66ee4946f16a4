"""Regions of a robot's positions without collisions, by a collision checker alone."""

from __future__ import annotations

__all__ = ["IrisZo"]

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
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
        return _begins(space, points[:, ~is_free], region, ellipsoid, num_steps)

    return growth.region(search)


class _Rays:
    """Ways from the center of an ellipsoid to points in collision, each with the part where a collision begins.

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
        """Finds out in which half of their parts the collisions of some ways begin."""
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
    """Points in collision next to free ones on the ways from the center, the nearest to it first.

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
