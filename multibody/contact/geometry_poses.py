"""Where the geometries of a plant are, from the poses of its bodies: X_WG = X_WB X_BG."""

from __future__ import annotations

from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Integers, Poses
from merganser.multibody.kernels.layout import Positions


@kernel
def geometry_poses(
    mobods: Integers,  # to which each geometry is fixed, shape [num_geometries]
    X_BG: Poses,  # shape [num_geometries, 4, 4]
    position_in: Positions,  # position records, shape [num_mobods]
    X_WG_out: Poses,  # shape [num_geometries, 4, 4]
) -> bool:
    """Computes the poses of geometries in the world; returns whether all are finite."""
    total = 0.0
    for g in range(mobods.shape[0]):
        body = position_in[mobods[g]]
        for r in range(3):
            for c in range(4):
                x = body["p_WoBo_W"][r] if c == 3 else 0.0
                for k in range(3):
                    x += body["R_WB"][r, k] * X_BG[g, k, c]
                X_WG_out[g, r, c] = x
                total += x * 0.0
        X_WG_out[g, 3, 0], X_WG_out[g, 3, 1], X_WG_out[g, 3, 2], X_WG_out[g, 3, 3] = 0.0, 0.0, 0.0, 1.0
    return total == 0.0
