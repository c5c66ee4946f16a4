"""Points of bodies, lines between them, and what velocities make of the length of a line.

Of a line from P on body A to Q on body B, with the unit vector u along it,

    l = |p_PQ|,   ldot = u . (v_WQ - v_WP) = J v                                          (1)

and a force [t; f] on a body at C has the power (t . w_k + f . (v_k + w_k x p_AoC)) v_k by each velocity of the bodies A
inboard of it, with row [w_k; v_k] of their hinge matrices (2).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.frames import arm_to, velocity_of
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    dot,
    rotate,
    rotational,
    scaled,
    subtract,
    vector,
)
from merganser.multibody.kernels.transmissions.records import Node


@device
def node_point(node: Node, position_in: Array) -> Vector3:
    """p_WN of the origin of a node's frame."""
    X_BN, body = node["X_BN"], position_in[node["mobod"]]
    return add(vector(body["p_WoBo_W"]), rotate(body["R_WB"], (X_BN[0, 3], X_BN[1, 3], X_BN[2, 3])))


@device
def node_axis(node: Node, position_in: Array, k: int) -> Vector3:
    """Axis k of a node's frame, in W."""
    X_BN = node["X_BN"]
    return rotate(position_in[node["mobod"]]["R_WB"], (X_BN[0, k], X_BN[1, k], X_BN[2, k]))


@device
def add_force_arms(
    topology: Array, position_in: Array, mobod: int, p_WC: Vector3, t: Vector3, f: Vector3, last: int, arms_out: Array
) -> None:
    """Adds what a force [t; f] on a body at C has for the velocities of it and all inboard of it, up to `last` (2)."""
    while mobod != last:
        body, start = position_in[mobod], topology[mobod]["v_start"]
        arm = arm_to(body, p_WC)
        for k in range(topology[mobod]["num_v"]):
            H = body["H_PB_W"][k]
            arms_out[start + k] += dot(t, rotational(H)) + dot(f, velocity_of(H, arm))
        mobod = topology[mobod]["parent"]


@device
def common_ancestor(topology: Array, mobod_A: int, mobod_B: int) -> int:
    """The outermost body that is inboard of both bodies, or one of them; parents have smaller numbers."""
    while mobod_A != mobod_B:
        if mobod_A > mobod_B:
            mobod_A = topology[mobod_A]["parent"]
        else:
            mobod_B = topology[mobod_B]["parent"]
    return mobod_A


@device
def add_line(
    topology: Array, position_in: Array, mobod_P: int, p_WP: Vector3, mobod_Q: int, p_WQ: Vector3, scale: float,
    length_out: Array, arms_out: Array,
) -> None:  # fmt: skip
    """Adds a multiple of the length of a line and of its moment arms (1); a line without length has none.

    Bodies inboard of both ends turn a straight line as a whole, which leaves its length.
    """
    p_PQ = subtract(p_WQ, p_WP)
    square = dot(p_PQ, p_PQ)
    if not exceeds(square, 0.0):
        return
    length = np.sqrt(square)
    length_out[0] += scale * length
    if mobod_P != mobod_Q:
        last, zero = common_ancestor(topology, mobod_P, mobod_Q), (0.0, 0.0, 0.0)
        u = scaled(scale / length, p_PQ)
        add_force_arms(topology, position_in, mobod_Q, p_WQ, zero, u, last, arms_out)
        add_force_arms(topology, position_in, mobod_P, p_WP, zero, scaled(-1.0, u), last, arms_out)
