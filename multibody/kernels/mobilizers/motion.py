"""Common code of mobilizers: rotations R_FM, and rows of the hinge matrix.

    R = cos q 1 + sin q [a]x + (1 - cos q) a a^T                                    (1)   (Rodrigues)
    R = Rz(yaw) Ry(pitch) Rx(roll)                                                  (2)

Rows of the hinge matrix, V_PB_W = sum_k H_PB_W[k] v_k, have the velocity of B at Bo: if velocity k contributes w and v
at Mo,

    H_PB_W[k] = [w; v + w x p_MoBo_W]                                               (3)

and so does the bias, [alpha; a + alpha x p_MoBo_W], but for the centripetal term, which velocity.py has.

Source: A. Jain, Robot and Multibody Dynamics (2010), chapter 3 (hinge map matrices).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    rotate,
    set_spatial,
    set_vector,
    vector,
)

ORIGIN = (0.0, 0.0, 0.0)


@inlined
def set_no_rotation(R: Array) -> None:
    """R = 1."""
    for r in range(3):
        for c in range(3):
            R[r, c] = 1.0 if r == c else 0.0


@inlined
def set_rotation_about_axis(a: Vector3, q: Any, R: Array) -> None:
    """Rotation by the angle q about a unit vector a, equation (1)."""
    sin_q, cos_q = np.sin(q), np.cos(q)
    s = (sin_q * a[0], sin_q * a[1], sin_q * a[2])
    d = ((1.0 - cos_q) * a[0], (1.0 - cos_q) * a[1], (1.0 - cos_q) * a[2])
    R[0, 0] = cos_q + d[0] * a[0]
    R[0, 1] = d[0] * a[1] - s[2]
    R[0, 2] = d[0] * a[2] + s[1]
    R[1, 0] = d[1] * a[0] + s[2]
    R[1, 1] = cos_q + d[1] * a[1]
    R[1, 2] = d[1] * a[2] - s[0]
    R[2, 0] = d[2] * a[0] - s[1]
    R[2, 1] = d[2] * a[1] + s[0]
    R[2, 2] = cos_q + d[2] * a[2]


@device
def set_rotation_of_rpy(roll: Any, pitch: Any, yaw: Any, R: Array) -> None:
    """Equation (2)."""
    sr, cr, sp, cp, sy, cy = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch), np.sin(yaw), np.cos(yaw)
    set_vector(R[0], (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr))
    set_vector(R[1], (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr))
    set_vector(R[2], (-sp, cp * sr, cp * cr))


@inlined
def set_rotation_row(body: Array, k: int, w_W: Vector3) -> None:
    """Row k of the hinge matrix of B, for a velocity that turns M about Mo."""
    set_spatial(body["H_PB_W"][k], w_W, cross(w_W, vector(body["p_MoBo_W"])))


@inlined
def set_translation_row(body: Array, k: int, v_W: Vector3) -> None:
    """Row k of the hinge matrix of B, for a velocity that moves M without turning it."""
    set_spatial(body["H_PB_W"][k], ORIGIN, v_W)


@inlined
def set_row(body: Array, k: int, w_W: Vector3, v_W: Vector3) -> None:
    """Row k of the hinge matrix of B, equation (3)."""
    set_spatial(body["H_PB_W"][k], w_W, add(cross(w_W, vector(body["p_MoBo_W"])), v_W))


@inlined
def add_bias_at_Mo(body: Array, alpha_W: Vector3, a_W: Vector3, Ab_WB_W: Array) -> None:
    """Adds the spatial acceleration [alpha; a] of M at Mo to that of B at Bo."""
    add_spatial(Ab_WB_W, alpha_W, add(cross(alpha_W, vector(body["p_MoBo_W"])), a_W))


@device
def axis_of_M(k: int, fixed: Array, body: Array) -> Vector3:
    """The k-th axis of M in W: column k of R_WM = R_WB R_MB^T."""
    return rotate(body["R_WB"], vector(fixed["R_MB"][k]))
