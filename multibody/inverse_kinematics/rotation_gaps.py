"""By what rotation a frame is turned too far.

The rotation vector phi = theta a of R_AB = exp([phi]x) changes with the angular velocity w_AB_A by the inverse of the
left Jacobian of the exponential (J. Sola, J. Deray, D. Atchuthan, 2018, "A micro Lie theory", equation 146),

    dphi = (I - theta [a]x / 2 + (1 - theta cot(theta / 2) / 2) [a]x^2) w_AB_A,    [a]x^2 = a a^T - I            (1)

and phi - theta_0 a, what is to be taken away until the angle is theta_0, by

    dphi - theta_0 da,    theta da = dphi - (a . w_AB_A) a                                                       (2)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel

Array = np.ndarray[Any, Any]


@device
def calc_rotation_gap(
    # In:
    R_AB_in: Array,   # shape [3, 3]
    aim: float,       # theta_0 [rad], from 0 to pi
    # Out:
    gap_out: Array,   # phi - theta_0 a in A, or 0 where theta <= theta_0 [rad], shape [3]
    by_w_out: Array,  # its derivatives by w_AB_A, shape [3, 3]
) -> float:  # fmt: skip
    """Returns the trace of R_AB."""
    trace = R_AB_in[0, 0] + R_AB_in[1, 1] + R_AB_in[2, 2]
    theta = _angle_and_axis(R_AB_in, trace, gap_out)
    a0, a1, a2 = gap_out[0], gap_out[1], gap_out[2]
    is_over, is_turned = theta > aim, theta > 1e-9
    by_axis = 1.0 - 0.5 * theta / math.tan(0.5 * theta) if is_turned else 0.0  # of [a]x^2
    across = 0.5 * theta
    of_axis = aim / theta if is_turned else 0.0  # part of (1) that (2) takes away, but for what is along a
    for i in range(3):
        for j in range(3):
            along = gap_out[i] * gap_out[j]
            same = 1.0 if i == j else 0.0
            by_w_out[i, j] = (1.0 - of_axis) * (same + by_axis * (along - same)) + of_axis * along
            if not is_over and aim > 0.0:
                by_w_out[i, j] = 0.0
    if is_over:
        across *= 1.0 - of_axis
        by_w_out[0, 1] += across * a2
        by_w_out[1, 0] -= across * a2
        by_w_out[0, 2] -= across * a1
        by_w_out[2, 0] += across * a1
        by_w_out[1, 2] += across * a0
        by_w_out[2, 1] -= across * a0
    over = theta - aim if is_over else 0.0
    for i in range(3):
        gap_out[i] *= over
    return float(trace)


@device
def _angle_and_axis(R: Array, trace: float, axis_out: Array) -> float:
    """The angle in [0, pi] of a rotation; its axis, from the largest column of (1 - cos(theta)) a a^T near pi."""
    axis_out[0] = 0.5 * (R[2, 1] - R[1, 2])  # sin(theta) a
    axis_out[1] = 0.5 * (R[0, 2] - R[2, 0])
    axis_out[2] = 0.5 * (R[1, 0] - R[0, 1])
    sine = math.sqrt(axis_out[0] ** 2 + axis_out[1] ** 2 + axis_out[2] ** 2)
    cosine = 0.5 * (trace - 1.0)
    if cosine < -0.9:
        k = 0
        for i in range(1, 3):
            if R[i, i] > R[k, k]:
                k = i
        sign = -1.0 if axis_out[k] < 0.0 else 1.0
        for i in range(3):
            axis_out[i] = sign * (0.5 * (R[i, k] + R[k, i]) - (cosine if i == k else 0.0))
    length = math.sqrt(axis_out[0] ** 2 + axis_out[1] ** 2 + axis_out[2] ** 2)
    if length > 0.0:
        for i in range(3):
            axis_out[i] /= length
    return math.atan2(sine, cosine)


rotation_gap = kernel(calc_rotation_gap)
