"""Revolute: M turns about an axis a through Fo = Mo.

    R_FM = cos q 1 + sin q [a]x + (1 - cos q) a a^T,   p_FoMo_F = 0                 (1)
    w_FM = a v,   v_FMo = 0                                                         (2)

q is the angle [rad].
"""

from __future__ import annotations

from merganser.framework.native import inlined
from merganser.multibody.kernels.layout import REVOLUTE
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, Closing, MobilizerKind, across
from merganser.multibody.kernels.mobilizers.motion import ORIGIN, set_rotation_about_axis, set_rotation_row
from merganser.multibody.kernels.spatial import Array, rotate, set_vector, vector


@inlined
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    set_rotation_about_axis(vector(fixed["axis_F"]), q_in[node["q_start"]], R_FM)
    set_vector(p_FoMo_F, ORIGIN)


@inlined
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    set_rotation_row(body, 0, rotate(body["R_WF"], vector(fixed["axis_F"])))


KIND = MobilizerKind(
    "revolute", ("q",), ("w",), set_pose, set_axes,
    can_translate=False, is_reversible=True,
    closing=lambda axis: Closing(ALL_AXES, tuple((b, axis) for b in across(axis)), (axis,)), number=REVOLUTE,
)  # fmt: skip
