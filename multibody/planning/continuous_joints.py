"""Which positions of a plant are angles without limits."""

from __future__ import annotations

import numpy as np

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

__all__ = ["GetContinuousRevoluteJointIndices"]

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
