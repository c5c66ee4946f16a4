"""Random points of polyhedra by hit and run.

Each step draws a direction d, finds where the line x + t d through the last point leaves the polyhedron, and takes a
point between, each as probable as another. The points tend to the uniform distribution whatever the first one was
(Lovasz, Hit-and-run mixes fast, 1999).

One step of hit and run for many points. With numpy it takes 20 times as long.

Volumes by sampling: which part of the points of a box around a set is in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.system.random_values import RandomDistribution, draw
from merganser.framework.native import kernel
from merganser.geometry.optimization.sets.arguments import points_of
from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.geometry.optimization.sets.convex_set import ConvexSet


def sample(
    A: Array, b: Array, x: Array, generator: RandomGenerator, steps: int, subspace: Any, tol: float, where: str
) -> Array:
    """The point after some steps from x in A x <= b, shape [n].

    Raises:
        ValueError: x is not in the polyhedron.
        RuntimeError: the polyhedron has no end in a direction.
    """
    excess = float((A @ x - b).max(initial=-np.inf))
    if excess > max(tol, 1e-8):
        raise ValueError(f"{where}: previous_sample is not in the set: it violates a row of A x <= b by {excess:.6g}.")
    basis = np.eye(x.size) if subspace is None else points_of(subspace, where, "subspace", x.size)
    if not basis.shape[1]:
        return x.copy()
    slopes = A @ basis
    crossed = np.abs(slopes).max(axis=1) > tol  # other faces stay as far away as they are
    A, b = A[crossed], b[crossed]
    for _ in range(steps):
        direction = basis @ draw(RandomDistribution.kGaussian, basis.shape[1], generator)
        low, high = _chord(A @ direction, b - A @ x, where)
        x = x + (low + generator.uniform() * (high - low)) * direction
    return x


def _chord(slopes: Array, room: Array, where: str) -> tuple[float, float]:
    """The t with slopes t <= room, where t = 0 is one of them but for rounding."""
    room = np.maximum(room, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        limits = room / slopes
    low = float(limits[slopes < 0.0].max(initial=-np.inf))
    high = float(limits[slopes > 0.0].min(initial=np.inf))
    if not np.isfinite(high - low):
        raise RuntimeError(f"{where}: expected a bounded polyhedron; this one has no end in a direction.")
    return low, high


def sample_many(A: Array, b: Array, points: Array, rng: np.random.Generator, steps: int) -> Array:
    """Points after some steps each from points in a bounded polyhedron A x <= b, all at once.

    Args:
        A: shape [m, n].
        b: shape [m].
        points: where they begin, shape [n, N]; none is far outside.
        rng: where randomness comes from.
        steps: how many.

    Returns:
        Shape [n, N].
    """
    from merganser.framework.native import Given, bind  # loads the compiler

    rows = np.array(points.T, dtype=float, order="C")
    room = np.maximum(b - rows @ A.T, 0.0)
    columns, work = np.ascontiguousarray(A.T), np.zeros(b.size)
    given = Given(np.zeros((1, 1))), Given(np.zeros(1))
    step = bind(step_all, columns, *given, work, rows, room)
    for _ in range(steps):
        step(rng.standard_normal(rows.T.shape), rng.random(len(rows)))
    return rows.T


class RegionSampler:
    """Random points of a polyhedron that gets smaller.

    Points of the last call that are still in it are where the next ones begin: they are as random in what is left as
    they were before.

    Args:
        seed: of the random numbers.
        steps: of hit and run between two calls.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._steps = steps
        self._points: Array | None = None

    def draw(self, A: Array, b: Array, center: Array, count: int) -> Array:
        """Points of A x <= b, shape [n, count].

        Args:
            A: shape [m, n].
            b: shape [m].
            center: a point of the polyhedron, shape [n], for want of others.
            count: how many.
        """
        known = center[:, np.newaxis] if self._points is None else self._points
        known = known[:, (A @ known <= b[:, np.newaxis]).all(axis=0)]
        if not known.shape[1]:
            known = center[:, np.newaxis]
        places = np.arange(count) if known.shape[1] >= count else self._rng.integers(known.shape[1], size=count)
        self._points = sample_many(A, b, known[:, places], self._rng, self._steps)
        return self._points


Array = NDArray[np.float64]


@kernel
def step_all(
    # Model:
    A_columns: Array,  # A of A x <= b, transposed, shape [n, m]
    # In:
    directions_in: Array,  # shape [n, N]
    shares_in: Array,  # where on the chord, 0 to 1, shape [N]
    # Work:
    slopes_work: Array,  # shape [m]
    # Out:
    points_io: Array,  # shape [N, n]
    room_io: Array,  # b - A x of each, shape [N, m]
) -> None:
    for i in range(points_io.shape[0]):
        # slopes = A d, the t with t slopes <= room are the chord
        for j in range(slopes_work.shape[0]):
            slopes_work[j] = 0.0
        for k in range(A_columns.shape[0]):
            d = directions_in[k, i]
            for j in range(slopes_work.shape[0]):
                slopes_work[j] += A_columns[k, j] * d
        low, high = -math.inf, math.inf
        for j in range(slopes_work.shape[0]):
            slope = slopes_work[j]
            if slope > 0.0:
                high = min(high, room_io[i, j] / slope)
            elif slope < 0.0:
                low = max(low, room_io[i, j] / slope)
        t = low + shares_in[i] * (high - low)
        for k in range(A_columns.shape[0]):
            points_io[i, k] += t * directions_in[k, i]
        for j in range(slopes_work.shape[0]):
            room_io[i, j] = max(room_io[i, j] - t * slopes_work[j], 0.0)


@dataclass(eq=False)
class SampledVolume:
    """An estimate of a volume.

    Attributes:
        volume: the estimate.
        rel_accuracy: standard deviation of the estimate, relative to it; NaN where nothing had to be estimated.
        num_samples: how many points it took.
    """

    volume: float
    rel_accuracy: float
    num_samples: int


def sampled_volume(
    set: ConvexSet, generator: RandomGenerator, accuracy: float, max_num_samples: int, where: str
) -> SampledVolume:
    """Points of the box until the estimate is accurate enough, or there have been as many as are allowed.

    Of N points of a box of volume V, k are in the set. With p = (k + 1) / (N + 2), which is never 0 or 1,

        volume = V k / N,    rel_accuracy = sqrt((1 - p) / (p N))

    Raises:
        RuntimeError: there is no box: the set is empty or unbounded.
    """
    box = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(set)
    if box is None:
        raise RuntimeError(f"{where}: expected a set that is bounded and not empty; there is no box around this one.")
    whole = box.CalcVolume()
    if whole == 0.0:
        return SampledVolume(0.0, math.nan, 0)
    margin = 1e-8 * max(1e-2, float((box.ub() - box.lb()).max()))  # what a program finds is not exact
    inside, count, error = 0, 0, math.inf
    while count < max_num_samples and error > accuracy:
        inside += set.PointInSet(box.UniformSample(generator), margin)
        count += 1
        p = (inside + 1) / (count + 2)
        error = math.sqrt((1.0 - p) / (p * count))
    return SampledVolume(whole * inside / count, error, count)
