"""Quaternion floating: M moves freely.

    R_FM = 1 + 2/|Q|^2 (w [e]x + [e]x^2),   Q = (w, e) = q[:4],   p_FoMo_F = q[4:]  (1)
    w_FM = v[:3],   v_FMo = v[3:]                                                   (2)

q is a quaternion of any length but zero, which yields NaN, and a position [m]; v are w_FM_F and v_FMo_F.

    Qdot = 1/2 (0, w_FM_F) * Q,   pdot = v_FMo_F                                    (3)
    (0, w_FM_F) = 2 Qdot * conj(Q) / |Q|^2                                          (4)   (the vector part)

(3) keeps the length of Q. (4) undoes (3) for every Q but zero, and ignores the part of Qdot along Q.

Source: J. Diebel, Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors (2006).
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import QUATERNION_FLOATING
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import set_rotation_row, set_translation_row
from merganser.multibody.kernels.spatial import Array, column

__all__ = ["KIND", "set_floating_axes"]


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    q = node["q_start"]
    w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
    two = 2.0 / (w * w + x * x + y * y + z * z)
    sx, sy, sz = two * x, two * y, two * z
    R_FM[0, 0] = 1.0 - (sy * y + sz * z)
    R_FM[0, 1] = sx * y - sz * w
    R_FM[0, 2] = sx * z + sy * w
    R_FM[1, 0] = sx * y + sz * w
    R_FM[1, 1] = 1.0 - (sx * x + sz * z)
    R_FM[1, 2] = sy * z - sx * w
    R_FM[2, 0] = sx * z - sy * w
    R_FM[2, 1] = sy * z + sx * w
    R_FM[2, 2] = 1.0 - (sx * x + sy * y)
    for r in range(3):
        p_FoMo_F[r] = q_in[q + 4 + r]


@device
def set_floating_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    for k in range(3):
        F_k = column(body["R_WF"], k)
        set_rotation_row(body, k, F_k)
        set_translation_row(body, k + 3, F_k)


@device
def set_rates(node: Array, q_in: Array, v_in: Array, qdot_out: Array) -> None:
    """Equation (3)."""
    q, v = node["q_start"], node["v_start"]
    w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
    w_x, w_y, w_z = 0.5 * v_in[v], 0.5 * v_in[v + 1], 0.5 * v_in[v + 2]
    qdot_out[q] = -w_x * x - w_y * y - w_z * z
    qdot_out[q + 1] = w_x * w + w_y * z - w_z * y
    qdot_out[q + 2] = w_y * w + w_z * x - w_x * z
    qdot_out[q + 3] = w_z * w + w_x * y - w_y * x
    for k in range(3):
        qdot_out[q + 4 + k] = v_in[v + 3 + k]


@device
def set_velocities(node: Array, q_in: Array, qdot_in: Array, v_out: Array) -> None:
    """Equation (4)."""
    q, v = node["q_start"], node["v_start"]
    w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
    wd, xd, yd, zd = qdot_in[q], qdot_in[q + 1], qdot_in[q + 2], qdot_in[q + 3]
    two = 2.0 / (w * w + x * x + y * y + z * z)
    v_out[v] = two * (xd * w - wd * x - yd * z + zd * y)
    v_out[v + 1] = two * (yd * w - wd * y - zd * x + xd * z)
    v_out[v + 2] = two * (zd * w - wd * z - xd * y + yd * x)
    for k in range(3):
        v_out[v + 3 + k] = qdot_in[q + 4 + k]


FLOATING_VELOCITIES = ("wx", "wy", "wz", "vx", "vy", "vz")
# Translations carry rotations, as the axes of the latter go through Mo.
FLOATING_CARRIES = tuple((l, k) for l in (3, 4, 5) for k in (0, 1, 2))

KIND = MobilizerKind(
    "quaternion_floating", ("qw", "qx", "qy", "qz", "x", "y", "z"), FLOATING_VELOCITIES, set_pose, set_floating_axes,
    set_rates=set_rates, set_velocities=set_velocities, carries=FLOATING_CARRIES,
    quaternion_start=0, number=QUATERNION_FLOATING,
)  # fmt: skip
