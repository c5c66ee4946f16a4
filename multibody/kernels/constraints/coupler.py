"""Two coordinates in a fixed ratio: q_0 = gear_ratio q_1 + offset, with constants [gear_ratio, offset].

    g = q_0 - gear_ratio q_1 - offset,   K = [1, -gear_ratio],   k = 0
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.constraints.kind import ConstraintKind
from merganser.multibody.kernels.spatial import Array


@device
def set_row(row: Array, q_in: Array, pose_A: Array, pose_B: Array, value_out: Array) -> None:
    """g and K."""
    gear_ratio = row["constants"][0]
    value_out["error"] = q_in[row["q_0"]] - gear_ratio * q_in[row["q_1"]] - row["constants"][1]
    value_out["slopes"][0], value_out["slopes"][1] = 1.0, -gear_ratio


KIND = ConstraintKind("coupler", set_row, acts_on_coordinates=True)
