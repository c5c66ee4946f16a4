"""How far configurations are apart, and what lies between them."""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.optimization.arrays import vector
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import JointIndex

Array = NDArray[Any]
_NAME = "LinearDistanceAndInterpolationProvider()"
_SMALL = 1e-8  # [rad], below which interpolation is linear


class DistanceAndInterpolationProvider(abc.ABC):
    """The distance of two configurations, and an interpolation between them.

    Derived classes define `DoComputeConfigurationDistance(q1, q2)` and
    `DoInterpolateBetweenConfigurations(q1, q2, ratio)`.
    """

    def ComputeConfigurationDistance(self, from_: ArrayLike, to: ArrayLike) -> float:
        """Distance from one configuration to another, not negative, and 0 from each to itself.

        Raises:
            ValueError: they have different sizes, or numbers that are not finite; or the result is no distance.
        """
        q1, q2 = _both(from_, to, "ComputeConfigurationDistance")
        distance = float(self.DoComputeConfigurationDistance(q1, q2))
        if not distance >= 0.0:
            raise ValueError(f"{type(self).__name__} gives the distance {distance}, which must not be negative.")
        return distance

    def InterpolateBetweenConfigurations(self, from_: ArrayLike, to: ArrayLike, ratio: float) -> Array:
        """The configuration at a fraction of the path from one to another.

        Raises:
            ValueError: as above, or the ratio is not between 0 and 1.
        """
        q1, q2 = _both(from_, to, "InterpolateBetweenConfigurations")
        if not 0.0 <= ratio <= 1.0:
            raise ValueError(f"InterpolateBetweenConfigurations(): ratio must be between 0 and 1, got {ratio}.")
        between = np.asarray(self.DoInterpolateBetweenConfigurations(q1, q2, float(ratio)), dtype=float)
        if between.shape != q1.shape:
            raise ValueError(
                f"{type(self).__name__} gives a configuration of shape {between.shape}, expected {q1.shape}."
            )
        return between

    def _samples(self, from_: ArrayLike, to: ArrayLike, ratios: Array) -> Array:
        """The configurations at several fractions, shape [N, nq], as `InterpolateBetweenConfigurations`."""
        return np.array([self.InterpolateBetweenConfigurations(from_, to, ratio) for ratio in ratios.tolist()])

    def _has_quick_samples(self) -> bool:
        """Whether many samples take little longer than one."""
        return False

    @abc.abstractmethod
    def DoComputeConfigurationDistance(self, from_: Array, to: Array) -> float:
        """The distance, of vectors that have been checked."""

    @abc.abstractmethod
    def DoInterpolateBetweenConfigurations(self, from_: Array, to: Array, ratio: float) -> Array:
        """Interpolates checked vectors."""


class FunctionsProvider(DistanceAndInterpolationProvider):
    """Two functions as a provider; linear if not given.

    Args:
        linear: what takes the place of what is not given.
        distance: of (q1, q2), or None.
        interpolation: of (q1, q2, ratio), or None.
    """

    def __init__(
        self,
        linear: LinearDistanceAndInterpolationProvider,
        distance: Callable[[Array, Array], float] | None,
        interpolation: Callable[[Array, Array, float], Array] | None,
    ) -> None:
        self._linear, self._distance, self._interpolation = linear, distance, interpolation

    def with_distance(self, distance: Callable[[Array, Array], float]) -> FunctionsProvider:
        """The same with another distance."""
        return FunctionsProvider(self._linear, distance, self._interpolation)

    def with_interpolation(self, interpolation: Callable[[Array, Array, float], Array] | None) -> FunctionsProvider:
        """The same with another interpolation."""
        return FunctionsProvider(self._linear, self._distance, interpolation)

    def _samples(self, from_: ArrayLike, to: ArrayLike, ratios: Array) -> Array:
        """See the base class."""
        if self._interpolation is None:
            return self._linear._samples(from_, to, ratios)
        return super()._samples(from_, to, ratios)

    def _has_quick_samples(self) -> bool:
        """See the base class."""
        return self._interpolation is None and self._linear._has_quick_samples()

    def DoComputeConfigurationDistance(self, from_: Array, to: Array) -> float:
        if self._distance is None:
            return self._linear.DoComputeConfigurationDistance(from_, to)
        return self._distance(from_, to)

    def DoInterpolateBetweenConfigurations(self, from_: Array, to: Array, ratio: float) -> Array:
        if self._interpolation is None:
            return self._linear.DoInterpolateBetweenConfigurations(from_, to, ratio)
        return self._interpolation(from_, to, ratio)


class LinearDistanceAndInterpolationProvider(DistanceAndInterpolationProvider):
    """The length of weighted differences, and straight lines between; of quaternions the angle, and the great circle.

    Quaternions of any length but 0 are taken for the rotations that they have at length 1.

    Args:
        plant: a finalized plant.
        distance_weights: of all positions, not negative, shape [nq]; those of a quaternion are (weight, 0, 0, 0). By
            default 1. Or
        joint_distance_weights: of the positions of some joints, by JointIndex; 1 for all others.

    Raises:
        ValueError: a weight is negative or not finite, or not of the form above.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        distance_weights: ArrayLike | Mapping[JointIndex, ArrayLike] | None = None,
        joint_distance_weights: Mapping[JointIndex, ArrayLike] | None = None,
    ) -> None:
        require_plant(plant, _NAME)
        self._quaternions = sorted(plant._model.quaternions)  # of floating and ball joints
        if isinstance(distance_weights, Mapping):
            joint_distance_weights, distance_weights = distance_weights, None
        weights = self._default_weights(plant) if distance_weights is None else distance_weights
        weights = vector(weights, _NAME, "distance_weights", plant.num_positions()).copy()
        for index, of_joint in (joint_distance_weights or {}).items():
            joint = plant.get_joint(index)
            start, num_q = joint.position_start(), joint.num_positions()
            weights[start : start + num_q] = vector(of_joint, _NAME, f"weights of joint {joint.name()!r}", num_q)
        self._weights = weights
        self._check()

    def _default_weights(self, plant: MultibodyPlant) -> Array:
        weights = np.ones(plant.num_positions())
        for q in self._quaternions:
            weights[q + 1 : q + 4] = 0.0
        return weights

    def _check(self) -> None:
        if not (np.isfinite(self._weights).all() and (self._weights >= 0.0).all()):
            raise ValueError(f"distance_weights must be finite and not negative, got {self._weights.tolist()}.")
        for q in self._quaternions:
            if self._weights[q + 1 : q + 4].any():
                raise ValueError(
                    f"distance_weights of the quaternion at position {q} must be (weight, 0, 0, 0), got "
                    f"{self._weights[q : q + 4].tolist()}."
                )

    def distance_weights(self) -> Array:
        """The weights, shape [nq]."""
        return self._weights.copy()

    def quaternion_dof_start_indices(self) -> list[int]:
        """Where quaternions begin in q."""
        return list(self._quaternions)

    def _samples(self, from_: ArrayLike, to: ArrayLike, ratios: Array) -> Array:
        """See the base class."""
        q1, q2 = _both(from_, to, "InterpolateBetweenConfigurations")
        between: Array = q1 + ratios[:, np.newaxis] * (q2 - q1)
        for q in self._quaternions:
            rotations = _rotations(q1, q2, q)
            for row, ratio in zip(between, ratios.tolist()):
                row[q : q + 4] = _on_great_circle(*rotations, ratio)
        return between

    def _has_quick_samples(self) -> bool:
        """See the base class."""
        return not self._quaternions

    def DoComputeConfigurationDistance(self, from_: Array, to: Array) -> float:
        difference = to - from_
        for q in self._quaternions:
            a, b = _rotations(from_, to, q)
            difference[q] = 2.0 * math.acos(min(1.0, abs(float(a @ b))))
        weighted = difference * self._weights
        return math.sqrt(float(weighted @ weighted))

    def DoInterpolateBetweenConfigurations(self, from_: Array, to: Array, ratio: float) -> Array:
        between: Array = from_ + ratio * (to - from_)
        for q in self._quaternions:
            between[q : q + 4] = _on_great_circle(*_rotations(from_, to, q), ratio)
        return between


def _both(from_: ArrayLike, to: ArrayLike, caller: str) -> tuple[Array, Array]:
    q1, q2 = np.asarray(from_, dtype=float).ravel(), np.asarray(to, dtype=float).ravel()
    if q1.shape != q2.shape:
        raise ValueError(f"{caller}(): the configurations have {len(q1)} and {len(q2)} positions.")
    if not (np.isfinite(q1).all() and np.isfinite(q2).all()):
        raise ValueError(f"{caller}(): the configurations must be finite, got {q1.tolist()} and {q2.tolist()}.")
    return q1, q2


def _rotations(from_: Array, to: Array, q: int) -> tuple[Array, Array]:
    """Two quaternions at length 1, which that of samples and of steps of a search seldom is."""
    result = []
    for numbers in (from_[q : q + 4], to[q : q + 4]):
        length = math.sqrt(float(numbers @ numbers))
        if not length > 0.0:
            raise ValueError(f"The quaternion at position {q} must not be 0, got {numbers.tolist()}.")
        result.append(numbers / length)
    return result[0], result[1]


def _on_great_circle(from_: Array, to: Array, ratio: float) -> Array:
    """Spherical linear interpolation by the shorter way.

    Source: K. Shoemake, Animating Rotation with Quaternion Curves (1985).
    """
    cosine = float(from_ @ to)
    sign = 1.0 if cosine >= 0.0 else -1.0
    half = math.acos(min(1.0, abs(cosine)))
    if half < _SMALL:
        between = (1.0 - ratio) * from_ + sign * ratio * to
    else:
        between = (math.sin((1.0 - ratio) * half) * from_ + sign * math.sin(ratio * half) * to) / math.sin(half)
    unit: Array = between / np.linalg.norm(between)
    return unit
