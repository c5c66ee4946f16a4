"""Rotations, poses and small matrix computations (pydrake.math and pydrake.common.eigen_geometry)."""

from merganser.framework.math.angle_axis import AngleAxis
from merganser.framework.math.quaternion import Quaternion
from merganser.framework.math.rigid_transform import RigidTransform
from merganser.framework.math.roll_pitch_yaw import RollPitchYaw
from merganser.framework.math.rotation_matrix import RotationMatrix

__all__ = [
    "AngleAxis",
    "Quaternion",
    "RigidTransform",
    "RollPitchYaw",
    "RotationMatrix",
]
