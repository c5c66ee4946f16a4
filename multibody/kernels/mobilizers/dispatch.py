"""The one place that looks which kind a mobilizer is: a function for each role of MobilizerKind."""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, inlined
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.table import TABLE, carries_mask


def set_kind(node: Any, kind: MobilizerKind) -> None:
    """Writes the kind of a mobilizer into its topology record: number, sizes, and addresses of its kernels.

    Raises:
        TypeError: it is no MobilizerKind.
    """
    TABLE.set_kind(node, kind)
    node["num_q"], node["num_v"] = len(kind.positions), len(kind.velocities)
    node["carries"] = carries_mask(kind)


set_pose = inlined(TABLE.branches("set_pose"))
set_axes = inlined(TABLE.branches("set_axes"))
add_bias = device(TABLE.branches("add_bias"))
set_rates = device(TABLE.branches("set_rates"))
set_velocities = device(TABLE.branches("set_velocities"))
