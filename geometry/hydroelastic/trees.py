"""Whether boxes of trees overlap: those of two meshes under a relative pose, and those of a mesh and a plane."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.geometry.hydroelastic.buffers import Buffers
from merganser.geometry.proximity.vectors import Vector3

Array = NDArray[Any]

_AXIS_MARGIN = 1e-12  # added to |R|, as parallel edges give an axis of no length


@device
def set_poses(X_WV: Array, X_WO: Array, buffers: Buffers) -> None:
    """Puts X_VO and X_WV into the work arrays."""
    V_to_O, W_to_V = buffers.poses[0], buffers.poses[1]
    for i in range(3):
        for j in range(3):
            W_to_V[3 * i + j] = X_WV[i, j]
            # R_VO = R_WV^T R_WO
            V_to_O[3 * i + j] = X_WV[0, i] * X_WO[0, j] + X_WV[1, i] * X_WO[1, j] + X_WV[2, i] * X_WO[2, j]
        W_to_V[9 + i] = X_WV[i, 3]
        # p_VoOo_V = R_WV^T (p_WoOo_W - p_WoVo_W)
        V_to_O[9 + i] = (
            X_WV[0, i] * (X_WO[0, 3] - X_WV[0, 3])
            + X_WV[1, i] * (X_WO[1, 3] - X_WV[1, 3])
            + X_WV[2, i] * (X_WO[2, 3] - X_WV[2, 3])
        )
    for i in range(12):
        buffers.pose[i] = V_to_O[i].real
        buffers.place[i] = buffers.pose[i]
    for i in range(9):
        buffers.pose[12 + i] = abs(buffers.pose[i]) + _AXIS_MARGIN


@device
def boxes_overlap(a: Array, b: Array, slack: float, pose: Array) -> bool:
    """Whether two boxes overlap: no axis separates them (Gottschalk, Lin, Manocha 1996, OBBTree).

    Args:
        a: center and half sizes in V, shape [6].
        b: center and half sizes in O, shape [6].
        slack: by how much the first one is larger on all sides [m].
        pose: see `Buffers.pose`.
    """
    # Center of b from that of a, in V.
    t0 = pose[0] * b[0] + pose[1] * b[1] + pose[2] * b[2] + pose[9] - a[0]
    t1 = pose[3] * b[0] + pose[4] * b[1] + pose[5] * b[2] + pose[10] - a[1]
    t2 = pose[6] * b[0] + pose[7] * b[1] + pose[8] * b[2] + pose[11] - a[2]
    x, y, z = a[3] + slack, a[4] + slack, a[5] + slack
    # Axes of a.
    if abs(t0) > x + pose[12] * b[3] + pose[13] * b[4] + pose[14] * b[5]:
        return False
    if abs(t1) > y + pose[15] * b[3] + pose[16] * b[4] + pose[17] * b[5]:
        return False
    if abs(t2) > z + pose[18] * b[3] + pose[19] * b[4] + pose[20] * b[5]:
        return False
    # Axes of b.
    for j in range(3):
        along = t0 * pose[j] + t1 * pose[3 + j] + t2 * pose[6 + j]
        if abs(along) > b[3 + j] + pose[12 + j] * x + pose[15 + j] * y + pose[18 + j] * z:
            return False
    # Cross products of an axis of each.
    for j in range(3):
        k, m = (j + 1) % 3, (j + 2) % 3
        if abs(t2 * pose[3 + j] - t1 * pose[6 + j]) > (
            y * pose[18 + j] + z * pose[15 + j] + b[3 + k] * pose[12 + m] + b[3 + m] * pose[12 + k]
        ):
            return False
        if abs(t0 * pose[6 + j] - t2 * pose[j]) > (
            x * pose[18 + j] + z * pose[12 + j] + b[3 + k] * pose[15 + m] + b[3 + m] * pose[15 + k]
        ):
            return False
        if abs(t1 * pose[j] - t0 * pose[3 + j]) > (
            x * pose[15 + j] + y * pose[12 + j] + b[3 + k] * pose[18 + m] + b[3 + m] * pose[18 + k]
        ):
            return False
    return True


@device
def box_across_plane(box: Array, n: Vector3, d: Any, slack: float) -> int:
    """1 if a box lies where n . p + d > slack, -1 if where it is below -slack, 0 otherwise; n is a unit normal."""
    n_x, n_y, n_z = n[0].real, n[1].real, n[2].real
    center = n_x * box[0] + n_y * box[1] + n_z * box[2] + d.real
    reach = abs(n_x) * box[3] + abs(n_y) * box[4] + abs(n_z) * box[5] + slack
    if center > reach:
        return 1
    return -1 if center < -reach else 0
