"""The templates `Foo_` of the classes of this package: `RotationMatrix_[AutoDiffXd]()` has AutoDiffXd entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.core.scalars.scalars import scalar_of_array
from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.framework.math._scalars import cast_entries
from merganser.framework.math.bspline_basis import BsplineBasis
from merganser.framework.math.rotations.angle_axis import AngleAxis
from merganser.framework.math.rotations.isometry3 import Isometry3
from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.rigid_transform import RigidTransform
from merganser.framework.math.rotations.roll_pitch_yaw import RollPitchYaw
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix


def _cast(thing: Any, T: type[Any]) -> Any:
    return thing.cast[T]()


def _cast_angles(rpy: RollPitchYaw, T: type[Any]) -> RollPitchYaw:
    return RollPitchYaw._from_array(cast_entries(rpy._rpy, T))


def _cast_isometry(X_AB: Isometry3, T: type[Any]) -> Isometry3:
    result = Isometry3()
    result._R, result._p = cast_entries(X_AB._R, T), cast_entries(X_AB._p, T)
    return result


AngleAxis_ = ValueTemplate(AngleAxis, lambda pair: scalar_of_array(np.asarray([pair._angle, *pair._axis])), _cast)
BsplineBasis_ = ValueTemplate(BsplineBasis, lambda basis: basis._scalar_type(), lambda basis, T: basis._cast(T))
Isometry3_ = ValueTemplate(Isometry3, lambda pose: scalar_of_array(pose._R), _cast_isometry)
Quaternion_ = ValueTemplate(Quaternion, lambda quaternion: scalar_of_array(quaternion._wxyz), _cast)
RigidTransform_ = ValueTemplate(RigidTransform, lambda pose: scalar_of_array(pose._R_AB), _cast)
RollPitchYaw_ = ValueTemplate(RollPitchYaw, lambda rpy: scalar_of_array(rpy._rpy), _cast_angles)
RotationMatrix_ = ValueTemplate(RotationMatrix, lambda rotation: scalar_of_array(rotation._R_AB), _cast)
