"""Transmissions along coordinates: sums of positions of joints, and the turning of a ball joint.

    l = a_1 q_1 + a_2 q_2 + ...,   J = [a_1, a_2, ...]                                    (1)

Of a ball joint with a rotation vector theta (|theta| <= pi) from F to M, and a vector a fixed in M or, where the first
constant is not 0, in F,

    l = a . theta,   J = a_F^T                                                            (2)

As turns do not commute, J is not the derivative of l where theta is along another axis than a.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import Array, add, cross, dot, scaled
from merganser.multibody.kernels.transmissions.kind import TransmissionKind


@device
def set_fixed_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Equation (1)."""
    for n in range(transmission["first"], transmission["end"]):
        a = nodes[n]["number"]
        length_out[0] += a * q_in[nodes[n]["q"]]
        arms_out[nodes[n]["v"]] += a


@device
def set_ball_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Equation (2); constants are [whether a is fixed in F, a]. The quaternion need not have length 1."""
    node, c = nodes[transmission["first"]], transmission["constants"]
    i, j, a = node["q"], node["v"], (c[1], c[2], c[3])
    w, e = q_in[i], (q_in[i + 1], q_in[i + 2], q_in[i + 3])
    square = dot(e, e)
    if c[0] == 0.0:  # a_F = R_FM a_M
        twice = scaled(2.0 / (w * w + square), cross(e, add(scaled(w, a), cross(e, a))))
        a_F = add(a, twice)
    else:
        a_F = add(a, scaled(0.0 * w, a))
    if exceeds(square, 0.0):
        sine = np.sqrt(square)
        angle = 2.0 * (arctangent(sine, w) if exceeds(w, 0.0) else -arctangent(sine, -w))
        length_out[0] += angle / sine * dot(a, e)
    for k in range(3):
        arms_out[j + k] += a_F[k]


FIXED = TransmissionKind("fixed tendon", set_fixed_length)
BALL = TransmissionKind("ball joint", set_ball_length)
