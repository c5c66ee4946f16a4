"""Random rotations, distributed uniformly: every orientation of a body is equally likely.

K. Shoemake, 1992, "Uniform Random Rotations", Graphics Gems III, pages 124-132.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.math import elementwise
from merganser.framework.math._scalars import Array
from merganser.framework.math.rotations.angle_axis import AngleAxis
from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix


def UniformlyRandomQuaternion(generator: RandomGenerator) -> Quaternion:
    """A random unit quaternion [w, x, y, z], of three random numbers."""
    return quaternion_of_numbers(generator.uniform(), generator.uniform(), generator.uniform())


def quaternion_of_numbers(split: Any, first: Any, second: Any) -> Quaternion:
    """The unit quaternion of three numbers in [0, 1), of any scalar type."""
    a, b = elementwise.sqrt(1.0 - split), elementwise.sqrt(split)
    first, second = 2.0 * math.pi * first, 2.0 * math.pi * second
    sin, cos = elementwise.sin, elementwise.cos
    return Quaternion(w=a * sin(first), x=a * cos(first), y=b * sin(second), z=b * cos(second))


def UniformlyRandomAngleAxis(generator: RandomGenerator) -> AngleAxis:
    """A random rotation as an angle [rad] and an axis."""
    return AngleAxis(quaternion=UniformlyRandomQuaternion(generator))


def UniformlyRandomRotationMatrix(generator: RandomGenerator) -> RotationMatrix:
    """A random rotation matrix."""
    return RotationMatrix(quaternion=UniformlyRandomQuaternion(generator))


def UniformlyRandomRPY(generator: RandomGenerator) -> Array:
    """A random rotation as roll, pitch and yaw angles [rad], shape [3]."""
    return UniformlyRandomRotationMatrix(generator).ToRollPitchYaw().vector()
