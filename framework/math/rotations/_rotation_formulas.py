"""Formulas between the representations of an orientation, as functions on plain arrays.

Notation: R_AB is the 3x3 rotation matrix whose columns are Bx, By, Bz expressed in A; q_AB = [w, x, y, z] the
unit quaternion of the same orientation; r, p, y the roll, pitch and yaw angles [rad] with
R_AB = Rz(y) Ry(p) Rx(r).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.math._scalars import (
    Array,
    cos,
    is_finite,
    real_part,
    refuse_complex,
    sin,
    sqrt,
)
from merganser.framework.math.arrays import all_hold, choice, has_symbols
from merganser.framework.math.elementwise import atan2

ORTHONORMALITY_TOLERANCE = 128 * np.finfo(float).eps
"""Largest element of R Rᵀ - I that a float64 rotation matrix may have, as in pydrake."""

# sin and cos of half the sum and half the difference of roll and yaw below this are round-off.
_GIMBAL_LOCK_ROUND_OFF = 4 * np.finfo(float).eps


def rotation_defect(R: Array, tolerance: float = ORTHONORMALITY_TOLERANCE) -> str:
    """Why the float matrix `R`, shape [3, 3], is not a rotation matrix; empty when it is one."""
    if not is_finite(R):
        return "it contains a NaN or infinity"
    x, y, z = R.tolist()  # plain numbers: this check runs in a quarter of the time it takes on arrays
    deviation = max(
        abs(_dot(x, x) - 1),
        abs(_dot(y, y) - 1),
        abs(_dot(z, z) - 1),
        abs(_dot(x, y)),
        abs(_dot(y, z)),
        abs(_dot(z, x)),
    )
    if deviation > tolerance:
        return f"its largest deviation |R Rᵀ - I| is {deviation:.3g}, allowed is {tolerance:.3g}"
    determinant = (
        x[0] * (y[1] * z[2] - y[2] * z[1]) + x[1] * (y[2] * z[0] - y[0] * z[2]) + x[2] * (y[0] * z[1] - y[1] * z[0])
    )
    if determinant < 0:
        return f"its determinant is {determinant:.3g}, expected +1: the columns make a left-handed basis"
    return ""


def _dot(u: list[float], v: list[float]) -> float:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def matrix_from_rpy(rpy: Array) -> Array:
    """R_AB = Rz(y) Ry(p) Rx(r), shape [3, 3], of the angles [r, p, y] [rad]."""
    r, p, y = rpy.tolist()
    sr, cr = sin(r), cos(r)
    sp, cp = sin(p), cos(p)
    sy, cy = sin(y), cos(y)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_from_quaternion(wxyz: Array) -> Array:
    """R_AB, shape [3, 3], of a nonzero quaternion q_AB, shape [4], that need not have unit length.

    With s = 2 / |q|², R = I + s (w [v]x + [v]x [v]x), v = [x, y, z].
    """
    w, x, y, z = wxyz.tolist()
    s = 2 / (w * w + x * x + y * y + z * z)
    sx, sy, sz = s * x, s * y, s * z
    swx, swy, swz = sx * w, sy * w, sz * w
    sxx, sxy, sxz = sx * x, sy * x, sz * x
    syy, syz, szz = sy * y, sz * y, sz * z
    return np.array(
        [
            [1 - syy - szz, sxy - swz, sxz + swy],
            [sxy + swz, 1 - sxx - szz, syz - swx],
            [sxz - swy, syz + swx, 1 - sxx - syy],
        ]
    )


def matrix_from_angle_axis(angle: Any, axis: Array) -> Array:
    """R_AB, shape [3, 3], of a rotation by `angle` [rad] about `axis`, shape [3], of any length but zero.

    Rodrigues' formula with the unit vector u of the axis: R = cos(a) I + sin(a) [u]x + (1 - cos(a)) u uᵀ.
    """
    x, y, z = (axis / sqrt(axis.dot(axis))).tolist()
    s, c = sin(angle), cos(angle)
    t = 1 - c
    return np.array(
        [
            [c + t * x * x, t * x * y - s * z, t * x * z + s * y],
            [t * x * y + s * z, c + t * y * y, t * y * z - s * x],
            [t * x * z - s * y, t * y * z + s * x, c + t * z * z],
        ]
    )


def quaternion_from_matrix(R: Array) -> Array:
    """The unit quaternion [w, x, y, z], w >= 0, of the rotation matrix `R`, shape [3, 3].

    Four formulas hold, each dividing by one component; the largest component is the divisor. (Shepperd, 1978,
    "Quaternion from rotation matrix", J. Guidance and Control 1(3).)
    """
    if has_symbols(R):
        return _symbolic_quaternion(R)
    (xx, _, _), (_, yy, _), (_, _, zz) = R.tolist()
    # Which of w, x, y, z is largest follows from which of the trace and the diagonal elements is.
    parts = (xx + yy + zz, xx, yy, zz)
    if R.dtype.kind == "O":
        parts = tuple(real_part(np.array(parts), "ToQuaternion").tolist())
    candidates = [part.real for part in parts]
    q = np.array(_QUATERNION_TIMES_COMPONENT[candidates.index(max(candidates))](R.tolist()))
    norm = sqrt(q.dot(q))
    return q / (-norm if q[0].real < 0 else norm)


# 4 w q, 4 x q, 4 y q and 4 z q of a rotation matrix given by its rows.
_QUATERNION_TIMES_COMPONENT: tuple[Callable[[Any], list[Any]], ...] = (
    lambda R: [1 + (R[0][0] + R[1][1] + R[2][2]), R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]],
    lambda R: [R[2][1] - R[1][2], 1 + R[0][0] - R[1][1] - R[2][2], R[0][1] + R[1][0], R[0][2] + R[2][0]],
    lambda R: [R[0][2] - R[2][0], R[0][1] + R[1][0], 1 + R[1][1] - R[0][0] - R[2][2], R[1][2] + R[2][1]],
    lambda R: [R[1][0] - R[0][1], R[0][2] + R[2][0], R[1][2] + R[2][1], 1 + R[2][2] - R[0][0] - R[1][1]],
)


def _symbolic_quaternion(R: Array) -> Array:
    """The quaternion of a matrix of expressions: a choice among the four formulas."""
    trace, diagonal = R.trace(), R.diagonal().tolist()
    forms = [form(R.tolist()) for form in _QUATERNION_TIMES_COMPONENT]
    q = np.array(forms[3], dtype=object)
    for i in (2, 1, 0):
        rivals = (trace, *diagonal)[i + 1 :]
        is_largest = all_hold([(trace, *diagonal)[i] >= rival for rival in rivals])
        q = np.array([choice(is_largest, mine, other) for mine, other in zip(forms[i], q)], dtype=object)
    norm = sqrt(q.dot(q))
    return q / choice(q[0] < 0, -norm, norm)


def rpy_from_matrix(R: Array) -> Array:
    """The angles [r, p, y] [rad] of the rotation matrix `R`, shape [3, 3], of floats, AutoDiffXd or expressions.

    The pitch angle comes from R. Half the sum and half the difference of yaw and roll come from the
    quaternion, which stays accurate next to gimbal lock (p = ±π/2):

        (cos(p/2) - sin(p/2)) [sin, cos]((y + r)/2) = [x + z, w - y]    (1)
        (cos(p/2) + sin(p/2)) [sin, cos]((y - r)/2) = [z - x, w + y]    (2)

    In gimbal lock one of the left sides vanishes, only the other angle is defined, and the lost one is taken
    as zero. The pitch angle turns back there and has no derivative; zero, between those from both sides, is taken.
    (Bernardes and Viollet, 2022, "Quaternion to Euler angles conversion", PLoS ONE 17(11).)

    Returns:
        angles in [-π, π], [-π/2, π/2], [-π, π].
    """
    refuse_complex(R, "Roll, pitch and yaw of a rotation matrix")
    (xx, _, _), (yx, _, _), (zx, zy, zz) = R.tolist()
    square = (xx * xx + yx * yx + zy * zy + zz * zz) / 2  # cos(p)^2
    is_locked = not has_symbols(R) and square == 0
    pitch = atan2(-zx, square if is_locked else sqrt(square))

    w, x, y, z = quaternion_from_matrix(R).tolist()
    half_sum = _angle_unless_round_off(x + z, w - y)
    half_difference = _angle_unless_round_off(z - x, w + y)
    roll = _within_pi(half_sum - half_difference)
    yaw = _within_pi(half_sum + half_difference)
    return np.array([roll, pitch, yaw])


def _angle_unless_round_off(s: Any, c: Any) -> Any:
    is_round_off = all_hold([abs(s) <= _GIMBAL_LOCK_ROUND_OFF, abs(c) <= _GIMBAL_LOCK_ROUND_OFF])
    return 0.0 if is_round_off is True else choice(is_round_off, 0.0, atan2(s, c))


def _within_pi(angle: Any) -> Any:
    return choice(angle > math.pi, angle - 2 * math.pi, choice(angle < -math.pi, angle + 2 * math.pi, angle))


def angle_axis_from_quaternion(wxyz: Array) -> tuple[Any, Array]:
    """Angle in [0, π] [rad] and unit axis, shape [3], of a quaternion; about x when nothing turns.

    Where nothing turns, they have no derivatives: the angle is the length of a vector there, which points anywhere next
    to that. Those returned are zero. The vector 2 [x, y, z] of a quaternion with w > 0 has derivatives there, which are
    those of angle times axis.

    Raises:
        TypeError: it consists of expressions, or of complex numbers.
    """
    what = "Angle and axis of a rotation"
    refuse_complex(wxyz, what)
    values = real_part(wxyz, what)
    if not values[1:].any():
        return 0.0 * wxyz[0], np.array([1.0, 0.0, 0.0]) + 0.0 * wxyz[1:]
    w, v = wxyz.tolist()[0], wxyz[1:]
    length = math.hypot(*v.tolist()) if wxyz.dtype.kind == "f" else sqrt(v.dot(v))
    return 2 * atan2(length, abs(w)), v / (-length if values[0] < 0 else length)
