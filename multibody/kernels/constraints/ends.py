"""Points and axes of the frames P and Q, and how they move."""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    rotate,
    rotational,
    set_spatial,
    set_vector,
    translational,
    vector,
)

__all__ = ["acceleration_of", "arm_of", "axis_of", "point_of", "set_force", "velocity_of"]


@device
def arm_of(pose: Array, X_BF: Array) -> Vector3:
    """p_BoFo_W of a frame F fixed to body B."""
    return rotate(pose["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]))


@device
def point_of(pose: Array, X_BF: Array) -> Vector3:
    """p_WFo_W of a frame F fixed to body B."""
    return add(vector(pose["p_WoBo_W"]), arm_of(pose, X_BF))


@device
def axis_of(pose: Array, X_BF: Array, c: int) -> Vector3:
    """Axis c of a frame F fixed to body B, in W."""
    return rotate(pose["R_WB"], (X_BF[0, c], X_BF[1, c], X_BF[2, c]))


@device
def velocity_of(V_WB_W: Array, arm: Vector3) -> Vector3:
    """v + w x r, of the point of B at r from Bo."""
    return add(translational(V_WB_W), cross(rotational(V_WB_W), arm))


@device
def acceleration_of(A_WB_W: Array, V_WB_W: Array, arm: Vector3) -> Vector3:
    """a + alpha x r + w x (w x r), of the point of B at r from Bo."""
    w = rotational(V_WB_W)
    return add(translational(A_WB_W), add(cross(rotational(A_WB_W), arm), cross(w, cross(w, arm))))


@device
def set_force(value_out: Array, t: Vector3, f: Vector3, p_WP: Vector3, p_WQ: Vector3) -> None:
    """Writes the spatial force of a row, and where it acts."""
    set_spatial(value_out["F_W"], t, f)
    set_vector(value_out["p_WP"], p_WP)
    set_vector(value_out["p_WQ"], p_WQ)
