"""The pose of one frame in another, and positions of points.

Frames A and B are fixed to any two bodies (see frames.py):

    R_AB = R_WA^T R_WB                                                              (1)
    p_AoQ_A = R_WA^T (p_WoQ_W - p_WoAo_W)                                           (2)
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.frames import axes_of, express, locate, point
from merganser.multibody.kernels.spatial import Array, subtract

__all__ = ["calc_point_positions", "calc_relative_pose", "point_positions", "relative_pose"]


@device
def calc_relative_pose(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    mobod_A: int,  # of the body of frame A
    X_A_in: Array,  # frame A in its body, shape [3, 4]
    mobod_B: int,  # of the body of frame B
    X_B_in: Array,  # frame B in its body, shape [3, 4]
    # Out:
    R_AB_out: Array,  # shape [3, 3]
    p_AoBo_A_out: Array,  # [m], shape [3]
) -> None:
    """Computes X_AB, equations (1) and (2)."""
    origin = 0.0, 0.0, 0.0
    axes_A, axes_B = axes_of(position_in[mobod_A], X_A_in), axes_of(position_in[mobod_B], X_B_in)
    for c in range(3):
        R_AB_out[0, c], R_AB_out[1, c], R_AB_out[2, c] = express(axes_A, axes_B[c])
    p_WoAo_W = locate(position_in[mobod_A], X_A_in, origin)
    p_AoBo_W = subtract(locate(position_in[mobod_B], X_B_in, origin), p_WoAo_W)
    p_AoBo_A_out[0], p_AoBo_A_out[1], p_AoBo_A_out[2] = express(axes_A, p_AoBo_W)


@device
def calc_point_positions(
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    mobod_B: int,  # of the body of frame B, to which the points are fixed
    X_B_in: Array,  # frame B in its body, shape [3, 4]
    points_in: Array,  # p_BoQi_B [m], shape [3 num_points], see frames.py
    mobod_A: int,  # of the body of frame A
    X_A_in: Array,  # frame A in its body, shape [3, 4]
    # Out:
    p_AoQi_A_out: Array,  # [m], shape [3, num_points]
) -> None:
    """Computes the positions of points in another frame, equation (2)."""
    axes_A = axes_of(position_in[mobod_A], X_A_in)
    p_WoAo_W = locate(position_in[mobod_A], X_A_in, (0.0, 0.0, 0.0))
    for j in range(points_in.shape[0] // 3):
        p_AoQ_W = subtract(locate(position_in[mobod_B], X_B_in, point(points_in, j)), p_WoAo_W)
        p_AoQi_A_out[0, j], p_AoQi_A_out[1, j], p_AoQi_A_out[2, j] = express(axes_A, p_AoQ_W)


relative_pose = kernel(calc_relative_pose)
point_positions = kernel(calc_point_positions)
