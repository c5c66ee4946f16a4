"""Spatial vectors and inertias of several bodies about one point O, which add up without shifts.

Notation: see layout.py. O does not move in W. Numbers about O lose digits with the square of the distance to it. So for
a body B, and for all that is outboard of it, O is where the origin of a body is at the moment: that of the body next to
the world among B and the bodies inboard of it that have velocities. Bodies about different points never add up: nothing
moves them both.

S_k is row k of the hinge matrix of a mobilizer as a motion about O; X x Y is the cross product of motions, X x* F that
of a motion and a force:

    S_k = [w; v + p_OBo x w],   [w; v] = H_PB_W[k]                                  (1)
    X x Y  = [w_x x w_y; w_x x v_y + v_x x w_y]                                     (2)
    X x* F = [w_x x t + v_x x f; w_x x f]                                           (3)

Within a mobilizer, velocity l *carries* velocity k if S_k moves along S_l: dS_k/dl = S_l x S_k. (Translations carry
rotations, as the axes of the latter go through Mo; the first axis of a universal mobilizer carries the second.) Others
do not move each other, and all are carried by what is inboard of the mobilizer. Which carry which is part of the kind
of mobilizer (mobilizers/kind.py).
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.layout import MAX_VELOCITIES
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    rotate,
    rotational,
    scaled,
    set_spatial,
    set_vector,
    subtract,
    translational,
    vector,
)

__all__ = [
    "add_inertia",
    "carries",
    "composite_fields",
    "cross_force",
    "cross_motion",
    "motion_of_row",
    "set_inertia",
    "set_places",
    "set_rows",
    "times_inertia",
]


def composite_fields(scalar: Any) -> list[Any]:
    """Fields of a record of one mobod, in W."""
    return [
        ("p_OBo_W", scalar, (3,)),
        ("S", scalar, (MAX_VELOCITIES, 6)),  # about O, one row a velocity of the mobilizer
        # Inertia about O, of B and then of all bodies outboard of it, too.
        ("mass", scalar),
        ("mc", scalar, (3,)),  # mass times p_OCcm_W
        ("I", scalar, (3, 3)),
    ]


@device
def set_places(topology: Array, position_in: Array, works: Array) -> None:
    """p_OBo of all mobods but the world, without a way through Wo."""
    end = 0  # of the subtree of the last body next to the world that has velocities
    for i in range(1, topology.shape[0]):
        if i < end:
            p_OPo_W = vector(works[topology[i]["parent"]]["p_OBo_W"])
            set_vector(works[i]["p_OBo_W"], add(p_OPo_W, vector(position_in[i]["p_PoBo_W"])))
            continue
        set_vector(works[i]["p_OBo_W"], (0.0, 0.0, 0.0))
        if topology[i]["num_v"] > 0:
            end = topology[i]["subtree_end"]


@device
def carries(node: Array, l: int, k: int) -> bool:
    """Whether S_k moves along S_l, for two velocities of one mobilizer."""
    return (node["carries"] >> (6 * l + k)) & 1 != 0


@device
def motion_of_row(body: Array, k: int, p_OBo_W: Vector3) -> tuple[Vector3, Vector3]:
    """S_k about any point O, equation (1)."""
    w = rotational(body["H_PB_W"][k])
    return w, add(translational(body["H_PB_W"][k]), cross(p_OBo_W, w))


@device
def set_rows(node: Array, body: Array, work: Array) -> None:
    """S of one mobod, whose place is set."""
    for k in range(node["num_v"]):
        w, v = motion_of_row(body, k, vector(work["p_OBo_W"]))
        set_spatial(work["S"][k], w, v)


@device
def cross_motion(w_x: Vector3, v_x: Vector3, w_y: Vector3, v_y: Vector3) -> tuple[Vector3, Vector3]:
    """X x Y, equation (2)."""
    return cross(w_x, w_y), add(cross(w_x, v_y), cross(v_x, w_y))


@device
def cross_force(w_x: Vector3, v_x: Vector3, t: Vector3, f: Vector3) -> tuple[Vector3, Vector3]:
    """X x* [t; f], equation (3)."""
    return add(cross(w_x, t), cross(v_x, f)), cross(w_x, f)


@device
def set_inertia(body: Array, work: Array) -> None:
    """Mass, first moment and inertia of one body about O; its place is set."""
    m = body["mass"]
    p = vector(work["p_OBo_W"])
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
def add_inertia(work: Array, parent: Array) -> None:
    """Adds the inertia of a mobod to that of its parent.

    What a parent without velocities inboard of it collects may be about several points; nobody asks it.
    """
    parent["mass"] += work["mass"]
    for r in range(3):
        parent["mc"][r] += work["mc"][r]
        for c in range(3):
            parent["I"][r, c] += work["I"][r, c]


@device
def times_inertia(work: Array, w: Vector3, v: Vector3) -> tuple[Vector3, Vector3]:
    """[I w + m c x v; m v - m c x w], the inertia in a record times a motion about O."""
    mc = vector(work["mc"])
    return add(rotate(work["I"], w), cross(mc, v)), subtract(scaled(work["mass"], v), cross(mc, w))
