"""Prismatic: M slides along an axis a, without turning.

    R_FM = 1,   p_FoMo_F = a q                                                      (1)
    w_FM = 0,   v_FMo = a v                                                         (2)

q is the displacement [m].
"""

from __future__ import annotations

from merganser.framework.native import inlined
from merganser.multibody.kernels.layout import PRISMATIC
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, ORIENTATION, Closing, MobilizerKind, across
from merganser.multibody.kernels.mobilizers.motion import set_no_rotation, set_translation_row
from merganser.multibody.kernels.spatial import Array, rotate, scaled, set_vector, vector


@inlined
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    set_no_rotation(R_FM)
    set_vector(p_FoMo_F, scaled(q_in[node["q_start"]], vector(fixed["axis_F"])))


@inlined
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    set_translation_row(body, 0, rotate(body["R_WF"], vector(fixed["axis_F"])))


KIND = MobilizerKind(
    "prismatic", ("x",), ("v",), set_pose, set_axes,
    can_rotate=False, is_reversible=True,
    closing=lambda axis: Closing(across(axis), ORIENTATION, ALL_AXES), number=PRISMATIC,
)  # fmt: skip
