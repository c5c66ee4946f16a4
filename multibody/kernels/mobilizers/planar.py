"""Planar: Mo moves in the x-y plane of F, and M turns about Fz.

    R_FM = Rz(q_2),   p_FoMo_F = [q_0, q_1, 0]                                      (1)
    w_FM = F_2 v_2,   v_FMo = F_0 v_0 + F_1 v_1                                     (2)

q are two displacements [m] and the angle [rad]; F_k is the k-th axis of F.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import PLANAR
from merganser.multibody.kernels.mobilizers.kind import Closing, MobilizerKind, X, Y, Z
from merganser.multibody.kernels.mobilizers.motion import (
    set_rotation_about_axis,
    set_rotation_row,
    set_translation_row,
)
from merganser.multibody.kernels.spatial import Array, column, set_vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equation (1)."""
    q = node["q_start"]
    set_rotation_about_axis((0.0, 0.0, 1.0), q_in[q + 2], R_FM)
    set_vector(p_FoMo_F, (q_in[q], q_in[q + 1], 0.0))


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (2)."""
    set_translation_row(body, 0, column(body["R_WF"], 0))
    set_translation_row(body, 1, column(body["R_WF"], 1))
    set_rotation_row(body, 2, column(body["R_WF"], 2))


KIND = MobilizerKind(
    "planar", ("x", "y", "qz"), ("vx", "vy", "wz"), set_pose, set_axes,
    carries=((0, 2), (1, 2)),  # the axis of rotation goes through Mo
    closing=lambda axis: Closing((Z,), ((X, Z), (Y, Z)), (Z,)), number=PLANAR,
)  # fmt: skip
