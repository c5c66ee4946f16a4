"""From frame poses in their parents to poses in the world, in one compiled pass; notation as in pose_layout.py."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel

Array = NDArray[np.float64]


@device
def _multiply_poses(
    # In:
    X_AB_in: Array,  # shape [.., 4, 4]
    a: int,  # which of them
    X_BC_in: Array,  # shape [.., 4, 4]
    b: int,
    # Out:
    X_AC_out: Array,  # shape [.., 4, 4]
    c: int,
) -> None:
    for i in range(3):
        for j in range(4):
            X_AC_out[c, i, j] = (
                X_AB_in[a, i, 0] * X_BC_in[b, 0, j]
                + X_AB_in[a, i, 1] * X_BC_in[b, 1, j]
                + X_AB_in[a, i, 2] * X_BC_in[b, 2, j]
            )
        X_AC_out[c, i, 3] += X_AB_in[a, i, 3]
        X_AC_out[c, 3, i] = 0.0
    X_AC_out[c, 3, 3] = 1.0


@kernel
def world_poses(
    # Model:
    parents: NDArray[np.intp],  # row of the parent of each frame, shape [num_frames]; that of the world is not read
    geometry_frames: NDArray[np.intp],  # row of the frame of each geometry, shape [num_geometries]
    X_FG: Array,  # pose of each geometry in its frame, shape [num_geometries, 4, 4]
    # In:
    X_PF_in: Array,  # pose of each frame in its parent, shape [num_frames, 4, 4]
    # Out:
    X_WF_out: Array,  # shape [num_frames, 4, 4]
    X_WG_out: Array,  # shape [num_geometries, 4, 4]
) -> None:
    for i in range(4):
        for j in range(4):
            X_WF_out[0, i, j] = X_PF_in[0, i, j]
    for frame in range(1, X_PF_in.shape[0]):
        # X_WF = X_WP X_PF    (1)
        _multiply_poses(X_WF_out, parents[frame], X_PF_in, frame, X_WF_out, frame)
    for geometry in range(X_FG.shape[0]):
        # X_WG = X_WF X_FG    (2)
        _multiply_poses(X_WF_out, geometry_frames[geometry], X_FG, geometry, X_WG_out, geometry)


@kernel
def place_frames(
    # Model:
    rows: NDArray[np.intp],  # of the frames of one source, shape [num_source_frames]
    # In:
    X_PF_in: Array,  # what the source gives, shape [num_source_frames, 4, 4]
    # Out:
    X_PF_out: Array,  # shape [num_frames, 4, 4]
) -> bool:
    """Takes the poses of one source to their places among those of all; returns whether they are finite."""
    total = 0.0
    for k in range(rows.shape[0]):
        for i in range(4):
            for j in range(4):
                X_PF_out[rows[k], i, j] = X_PF_in[k, i, j]
                total += 0.0 * X_PF_in[k, i, j]
    return total == 0.0


@kernel
def select_poses(
    # Model:
    rows: NDArray[np.intp],  # of the geometries that are asked for, shape [n]
    # In:
    X_WG_in: Array,  # of all geometries, shape [num_geometries, 4, 4]
    # Out:
    X_WG_out: Array,  # shape [>= n, 4, 4]
) -> bool:
    """Takes the poses of some geometries out of those of all; returns whether they are finite."""
    total = 0.0
    for k in range(rows.shape[0]):
        for i in range(4):
            for j in range(4):
                X_WG_out[k, i, j] = X_WG_in[rows[k], i, j]
                total += 0.0 * X_WG_in[rows[k], i, j]
    return total == 0.0
