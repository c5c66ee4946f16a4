"""Weld: M is fixed in F.

    R_FM = 1,   p_FoMo_F = 0,   V_FM = 0

The pose of a weld joint is part of that of F.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import WELD
from merganser.multibody.kernels.mobilizers.kind import ALL_AXES, ORIENTATION, Closing, MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import ORIGIN, set_no_rotation
from merganser.multibody.kernels.spatial import Array, set_vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    set_no_rotation(R_FM)
    set_vector(p_FoMo_F, ORIGIN)


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Does nothing: a weld has no axes."""


KIND = MobilizerKind(
    "weld", (), (), set_pose, set_axes,
    can_rotate=False, can_translate=False, is_reversible=True,
    closing=lambda axis: Closing(ALL_AXES, ORIENTATION, ALL_AXES), number=WELD,
)  # fmt: skip
