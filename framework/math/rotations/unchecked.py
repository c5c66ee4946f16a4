"""Poses and orientations around arrays that are right, without a check and without a copy.

For the packages of this project, where a kernel has made the arrays and they are not written later; users have the
constructors, which check. Each is the alternative constructor of its class and documents its arguments there.
"""

from __future__ import annotations

from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.rigid_transform import RigidTransform
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix

rigid_transform = RigidTransform._from_parts  # of R_AB, shape [3, 3], and p_AoBo_A [m], shape [3]
rotation_matrix = RotationMatrix._from_array  # of R_AB, shape [3, 3]
quaternion = Quaternion._from_array  # of [w, x, y, z]
