"""Ball: M turns freely about Fo = Mo, without a place where its coordinates are singular.

    R_FM = 1 + 2/|Q|^2 (w [e]x + [e]x^2),   Q = (w, e) = q,   p_FoMo_F = 0          (1)
    w_FM = v,   v_FMo = 0                                                           (2)

q is a quaternion of any length but zero, which yields NaN; v is w_FM_F.

    Qdot = 1/2 (0, w_FM_F) * Q                                                      (3)
    (0, w_FM_F) = 2 Qdot * conj(Q) / |Q|^2                                          (4)   (the vector part)

(3) keeps the length of Q. (4) undoes (3) for every Q but zero, and ignores the part of Qdot along Q.

Source: J. Diebel, Representing Attitude: Euler Angles, Unit Quaternions, and Rotation Vectors (2006).
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import BALL_QUATERNION
from merganser.multibody.kernels.mobilizers.ball_rpy import set_axes
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, Closing, MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import ORIGIN
from merganser.multibody.kernels.spatial import Array, set_vector


@device
def set_rotation(node: Array, q_in: Array, R_FM: Array) -> None:
    """R_FM of equation (1)."""
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


@device
def set_quaternion_rates(node: Array, q_in: Array, v_in: Array, qdot_out: Array) -> None:
    """Equation (3)."""
    q, v = node["q_start"], node["v_start"]
    w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
    w_x, w_y, w_z = 0.5 * v_in[v], 0.5 * v_in[v + 1], 0.5 * v_in[v + 2]
    qdot_out[q] = -w_x * x - w_y * y - w_z * z
    qdot_out[q + 1] = w_x * w + w_y * z - w_z * y
    qdot_out[q + 2] = w_y * w + w_z * x - w_x * z
    qdot_out[q + 3] = w_z * w + w_x * y - w_y * x


@device
def set_angular_velocity(node: Array, q_in: Array, qdot_in: Array, v_out: Array) -> None:
    """Equation (4)."""
    q, v = node["q_start"], node["v_start"]
    w, x, y, z = q_in[q], q_in[q + 1], q_in[q + 2], q_in[q + 3]
    wd, xd, yd, zd = qdot_in[q], qdot_in[q + 1], qdot_in[q + 2], qdot_in[q + 3]
    two = 2.0 / (w * w + x * x + y * y + z * z)
    v_out[v] = two * (xd * w - wd * x - yd * z + zd * y)
    v_out[v + 1] = two * (yd * w - wd * y - zd * x + xd * z)
    v_out[v + 2] = two * (zd * w - wd * z - xd * y + yd * x)


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    set_rotation(node, q_in, R_FM)
    set_vector(p_FoMo_F, ORIGIN)


KIND = MobilizerKind(
    "ball_quaternion", ("qw", "qx", "qy", "qz"), ("wx", "wy", "wz"), set_pose, set_axes,
    set_rates=set_quaternion_rates, set_velocities=set_angular_velocity, can_translate=False, quaternion_start=0,
    closing=lambda axis: Closing(ALL_AXES, ()), number=BALL_QUATERNION,
)  # fmt: skip
