"""Constraints between joints and bodies: what they hold together, as data from which rows are made."""

from merganser.multibody.tree.constraints.constraint_collection import ConstraintCollection
from merganser.multibody.tree.constraints.distance_constraint_params import DistanceConstraintParams
from merganser.multibody.tree.constraints.specs import (
    BallConstraintSpec,
    ConstraintOfKind,
    ConstraintSpec,
    CouplerConstraintSpec,
    DistanceConstraintSpec,
    MultibodyConstraintId,
    WeldConstraintSpec,
)

__all__ = [
    "BallConstraintSpec",
    "ConstraintCollection",
    "ConstraintOfKind",
    "ConstraintSpec",
    "CouplerConstraintSpec",
    "DistanceConstraintParams",
    "DistanceConstraintSpec",
    "MultibodyConstraintId",
    "WeldConstraintSpec",
]
