"""Screw: M turns about an axis a through Fo and Mo, and moves along it by the pitch h for each radian.

    R_FM = cos q 1 + sin q [a]x + (1 - cos q) a a^T,   p_FoMo_F = h a q             (1)
    w_FM = a v,   v_FMo = h a v                                                     (2)

q is the angle [rad].
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import SCREW
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import set_rotation_about_axis, set_row
from merganser.multibody.kernels.spatial import Array, rotate, scaled, set_vector, vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    a, q = vector(fixed["axis_F"]), q_in[node["q_start"]]
    set_rotation_about_axis(a, q, R_FM)
    set_vector(p_FoMo_F, scaled(fixed["pitch"] * q, a))


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    a_W = rotate(body["R_WF"], vector(fixed["axis_F"]))
    set_row(body, 0, a_W, scaled(fixed["pitch"], a_W))


KIND = MobilizerKind("screw", ("q",), ("w",), set_pose, set_axes, number=SCREW)
