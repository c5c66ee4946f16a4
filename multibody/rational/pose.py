"""The pose of a body by RationalForwardKinematics."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars.templates import ClassTemplate

Objects = NDArray[np.object_]


class RationalForwardKinematicsPose:
    """The pose X_AB of a body, whose entries are of type Polynomial; `RationalForwardKinematics` makes it."""

    _rotation: Objects
    _position: Objects

    def __init__(self) -> None:
        raise TypeError(
            f"{type(self).__name__} has no constructor; "
            "RationalForwardKinematics.CalcBodyPoseAsMultilinearPolynomial() makes one."
        )

    def position(self) -> Objects:
        """p_AoBo_A: position of Bo from Ao, expressed in A [m], shape [3]."""
        return self._position.copy()

    def rotation(self) -> Objects:
        """R_AB, shape [3, 3]."""
        return self._rotation.copy()

    def __copy__(self) -> RationalForwardKinematicsPose:
        return make_pose(type(self), self._rotation.copy(), self._position.copy())

    def __deepcopy__(self, memo: Any) -> RationalForwardKinematicsPose:
        return make_pose(type(self), copy.deepcopy(self._rotation, memo), copy.deepcopy(self._position, memo))


class _PoseOfRationalFunctions(RationalForwardKinematicsPose):
    """The pose X_AB of a body, whose entries are of type RationalFunction."""


def make_pose(
    cls: type[RationalForwardKinematicsPose], R_AB: Objects, p_AoBo_A: Objects
) -> RationalForwardKinematicsPose:
    """A pose of the class, of a rotation matrix, shape [3, 3], and a position [m], shape [3]."""
    pose = cls.__new__(cls)
    pose._rotation, pose._position = R_AB, p_AoBo_A
    return pose


def _classes() -> dict[type[Any], type[Any]]:
    from merganser.framework.symbolic import Polynomial, RationalFunction

    return {Polynomial: RationalForwardKinematicsPose, RationalFunction: _PoseOfRationalFunctions}


RationalForwardKinematicsPose_: ClassTemplate[Any] = ClassTemplate("RationalForwardKinematicsPose_", _classes)
