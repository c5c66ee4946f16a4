"""What a constraint holds together: indices of joints or bodies, and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.tree.constraints.constraint_id import MultibodyConstraintId
from merganser.multibody.tree.constraints.distance_constraint_params import DistanceConstraintParams
from merganser.multibody.tree.indices import BodyIndex, JointIndex

__all__ = [
    "BallConstraintSpec",
    "ConstraintSpec",
    "CouplerConstraintSpec",
    "DistanceConstraintSpec",
    "WeldConstraintSpec",
]

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CouplerConstraintSpec:
    """Two joints of one velocity each with q0 = gear_ratio q1 + offset.

    Attributes:
        gear_ratio: [unit of q0 over unit of q1].
        offset: [unit of q0].
    """

    id: MultibodyConstraintId
    joint0: JointIndex
    joint1: JointIndex
    gear_ratio: float
    offset: float


@dataclass(frozen=True)
class DistanceConstraintSpec:
    """A rod between points of two bodies; by default, for a Context may have other parameters."""

    id: MultibodyConstraintId
    params: DistanceConstraintParams


@dataclass(frozen=True, eq=False)
class BallConstraintSpec:
    """A point P of body A that coincides with a point Q of body B.

    Attributes:
        p_AP: P in A [m], shape [3].
        p_BQ: Q in B [m], shape [3]; until Finalize() None for: where P is in the default configuration.
    """

    id: MultibodyConstraintId
    body_A: BodyIndex
    p_AP: Vector
    body_B: BodyIndex
    p_BQ: Vector | None


@dataclass(frozen=True, eq=False)
class WeldConstraintSpec:
    """A frame P of body A that coincides with a frame Q of body B."""

    id: MultibodyConstraintId
    body_A: BodyIndex
    X_AP: RigidTransform
    body_B: BodyIndex
    X_BQ: RigidTransform


ConstraintSpec: TypeAlias = CouplerConstraintSpec | DistanceConstraintSpec | BallConstraintSpec | WeldConstraintSpec
