"""Comparisons of quaternions, their rates, and random rotations.

Notation: q_AB = [w, x, y, z] is the orientation of B in A, q̇_AB its time derivative [1/s] and w_AB_B the
angular velocity of B in A expressed in B [rad/s]. With the product of quaternions,

    q̇_AB = q_AB [0, w_AB_B] / 2    (1)

(Kane, Likins and Levinson, 1983, "Spacecraft Dynamics", section 1.13.)

Random rotations are distributed uniformly: every orientation of a body is equally likely (K. Shoemake, 1992, "Uniform
Random Rotations", Graphics Gems III, pages 124-132).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.math import elementwise
from merganser.framework.math._scalars import Array, owned_vector, real_part, sqrt
from merganser.framework.math.rotations.angle_axis import AngleAxis
from merganser.framework.math.rotations.quaternion import Quaternion, quaternion_product
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix


def ClosestQuaternion(quat1: Quaternion, quat2: Quaternion) -> Quaternion:
    """Of the two unit quaternions with the orientation of `quat2`, the one nearer to `quat1`."""
    q1, q2 = quat1._wxyz, quat2._wxyz
    length = sqrt(q2.dot(q2))
    opposed = real_part(q1, "ClosestQuaternion").dot(real_part(q2, "ClosestQuaternion")) < 0
    return Quaternion._from_array(q2 / (-length if opposed else length))


def QuaternionToCanonicalForm(quat: Quaternion) -> Quaternion:
    """Of `quat` and its negative, the one with w >= 0."""
    q = quat._wxyz
    return Quaternion._from_array(-q if real_part(q, "QuaternionToCanonicalForm")[0] < 0 else q.copy())


def is_quaternion_in_canonical_form(quat: Quaternion) -> Any:
    """Whether w >= 0: a bool, or a Formula for a quaternion of expressions."""
    w = quat.w()
    result = w.real >= 0 if isinstance(w, complex) else w >= 0
    return bool(result) if isinstance(result, np.bool_) else result


def AreQuaternionsEqualForOrientation(quat1: Quaternion, quat2: Quaternion, tolerance: float) -> bool:
    """Whether no component of the canonical forms differs by more than `tolerance`."""
    q1, q2 = QuaternionToCanonicalForm(quat1)._wxyz, QuaternionToCanonicalForm(quat2)._wxyz
    return bool(np.abs(q1 - q2).max() <= tolerance)


def IsQuaternionValid(quat: Quaternion, tolerance: float) -> bool:
    """Whether the length of `quat` is one within `tolerance`."""
    return bool(abs(np.linalg.norm(real_part(quat._wxyz, "IsQuaternionValid")) - 1) <= tolerance)


def CalculateQuaternionDtConstraintViolation(quat: Quaternion, quatDt: Any) -> Any:
    """d|q|²/dt = 2 q · q̇ [1/s], which is zero for a quaternion that keeps its length.

    Args:
        quat: quaternion q_AB.
        quatDt: time derivative q̇_AB [1/s], shape [4].
    """
    return 2 * quat._wxyz.dot(owned_vector(quatDt, 4, "quatDt"))


def IsBothQuaternionAndQuaternionDtOK(quat: Quaternion, quatDt: Any, tolerance: float) -> bool:
    """Whether |q| is one and d|q|²/dt [1/s] is zero within `tolerance`."""
    violation = abs(CalculateQuaternionDtConstraintViolation(quat, quatDt))
    return IsQuaternionValid(quat, tolerance) and bool(violation <= tolerance)


def CalculateQuaternionDtFromAngularVelocityExpressedInB(quat_AB: Quaternion, w_AB_B: Any) -> Array:
    """q̇_AB [1/s], shape [4], from the angular velocity w_AB_B [rad/s], shape [3]; equation (1)."""
    x, y, z = owned_vector(w_AB_B, 3, "w_AB_B") / 2
    return quaternion_product(quat_AB._wxyz, np.array([0, x, y, z]))


def CalculateAngularVelocityExpressedInBFromQuaternionDt(quat_AB: Quaternion, quatDt: Any) -> Array:
    """w_AB_B [rad/s], shape [3], from q̇_AB [1/s], shape [4]: equation (1) times the conjugate of q_AB."""
    quatDt = owned_vector(quatDt, 4, "quatDt")
    return 2 * quaternion_product(quat_AB.conjugate()._wxyz, quatDt)[1:]


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
