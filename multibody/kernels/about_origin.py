"""Spatial vectors and inertias about the origin Wo of the world, which add up without shifts.

Notation: see layout.py. S_k is row k of the hinge matrix of a mobilizer as a motion about Wo; X x Y is the cross
product of motions, X x* F that of a motion and a force:

    S_k = [w; v + p_WoBo x w],   [w; v] = H_PB_W[k]                                 (1)
    X x Y  = [w_x x w_y; w_x x v_y + v_x x w_y]                                     (2)
    X x* F = [w_x x t + v_x x f; w_x x f]                                           (3)

Within a mobilizer, velocity l *carries* velocity k if S_k moves along S_l: dS_k/dl = S_l x S_k. (Translations carry
rotations, as the axes of the latter go through Mo; the first axis of a universal mobilizer carries the second.) Others
do not move each other, and all are carried by what is inboard of the mobilizer.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import PLANAR, QUATERNION_FLOATING, RPY_FLOATING, UNIVERSAL
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    set_vector,
    subtract,
    translational,
    vector,
)

__all__ = ["carries", "cross_force", "cross_motion", "motion_of_row", "set_inertia_about_origin", "times_inertia"]


@device
def carries(mobilizer: int, l: int, k: int) -> bool:
    """Whether S_k moves along S_l, for two velocities of one mobilizer."""
    if mobilizer in (QUATERNION_FLOATING, RPY_FLOATING):
        return l >= 3 and k < 3
    if mobilizer == PLANAR:
        return l < 2 and k == 2
    return mobilizer == UNIVERSAL and l == 0 and k == 1


@device
def motion_of_row(body: Array, k: int) -> tuple[Vector3, Vector3]:
    """S_k, equation (1)."""
    w = rotational(body["H_PB_W"][k])
    return w, add(translational(body["H_PB_W"][k]), cross(vector(body["p_WoBo_W"]), w))


@device
def cross_motion(w_x: Vector3, v_x: Vector3, w_y: Vector3, v_y: Vector3) -> tuple[Vector3, Vector3]:
    """X x Y, equation (2)."""
    return cross(w_x, w_y), add(cross(w_x, v_y), cross(v_x, w_y))


@device
def cross_force(w_x: Vector3, v_x: Vector3, t: Vector3, f: Vector3) -> tuple[Vector3, Vector3]:
    """X x* [t; f], equation (3)."""
    return add(cross(w_x, t), cross(v_x, f)), cross(w_x, f)


@device
def set_inertia_about_origin(body: Array, work: Array) -> None:
    """Mass, first moment and inertia of one body about Wo."""
    m = body["mass"]
    p = vector(body["p_WoBo_W"])
    h = scaled(m, vector(body["p_BoBcm_W"]))
    mc = add(h, scaled(m, p))
    work["mass"] = m
    set_vector(work["mc"], mc)
    diagonal = dot(p, add(h, mc))
    for r in range(3):
        for c in range(3):
            work["I"][r, c] = body["I_BBo_W"][r, c] - p[r] * h[c] - mc[r] * p[c]
        work["I"][r, r] += diagonal


@device
def times_inertia(work: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """[I w + m c x v; m v - m c x w], the inertia in a record times a motion about Wo."""
    mc = vector(work["mc"])
    return add(rotate(work["I"], w), cross(mc, v)), subtract(scaled(work["mass"], v), cross(mc, w))
