"""Volumes by sampling: which part of the points of a box around a set is in it."""

from __future__ import annotations

__all__ = ["SampledVolume", "sampled_volume"]

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merganser.geometry.optimization.hyperrectangle import Hyperrectangle

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.geometry.optimization.convex_set import ConvexSet


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
