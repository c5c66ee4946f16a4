"""Ends: points of bodies between which contacts, constraints and force elements act.

Of an end C on body B, p_BoC (the arm), all in W:

    v_WC = v_WBo + w_WB x p_BoC                                                           (1)
    a_WC = a_WBo + alpha_WB x p_BoC + w_WB x (w_WB x p_BoC)                               (2)
    F_Bo = [t + p_BoC x f; f], of a moment t and a force f at C                           (3)
    dv_WC/dv_k = v_k + w_k x p_BoC, with row [w_k; v_k] of the hinge matrix H_PB_W        (4)
                 of B or a body inboard of it, and its own arm to C
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    rotate,
    rotational,
    subtract,
    translational,
    vector,
)

__all__ = [
    "acceleration_of",
    "arm_of",
    "arm_to",
    "axis_of",
    "point_of",
    "push",
    "velocity_of",
]

# ---------------------------------------------------------------------- frames fixed to a body


@device
def arm_of(pose: Array, X_BF: Array) -> Vector3:
    """p_BoFo_W of a frame F fixed to body B, from the position record of B and [R p]."""
    return rotate(pose["R_WB"], (X_BF[0, 3], X_BF[1, 3], X_BF[2, 3]))


@device
def point_of(pose: Array, X_BF: Array) -> Vector3:
    """p_WFo_W of a frame F fixed to body B."""
    return add(vector(pose["p_WoBo_W"]), arm_of(pose, X_BF))


@device
def axis_of(pose: Array, X_BF: Array, c: int) -> Vector3:
    """Axis c of a frame F fixed to body B, in W."""
    return rotate(pose["R_WB"], (X_BF[0, c], X_BF[1, c], X_BF[2, c]))


# ---------------------------------------------------------------------- by arms


@device
def arm_to(pose: Array, p_WC: Vector3) -> Vector3:
    """p_BoC_W of a point C."""
    return subtract(p_WC, vector(pose["p_WoBo_W"]))


@device
def velocity_of(V_WB_W: Array, arm: Vector3) -> Vector3:
    """Equation (1); with a row of a hinge matrix in place of V_WB_W, equation (4)."""
    return add(translational(V_WB_W), cross(rotational(V_WB_W), arm))


@device
def acceleration_of(A_WB_W: Array, V_WB_W: Array, arm: Vector3) -> Vector3:
    """Equation (2)."""
    w = rotational(V_WB_W)
    return add(translational(A_WB_W), add(cross(rotational(A_WB_W), arm), cross(w, cross(w, arm))))


@device
def push(F_Bo_W_io: Array, arm: Vector3, t: Vector3, f: Vector3) -> None:
    """Adds a moment and a force at the end of an arm to those on a body, equation (3)."""
    add_spatial(F_Bo_W_io, add(t, cross(arm, f)), f)
