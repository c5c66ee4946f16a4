"""A slider-crank: a rod of length r from a crank C to a slider, which moves along z of a site S.

With r_SC = p_WC - p_WS, the axis a = Sz, and x = a . r_SC,

    l = x - sqrt(x^2 + r^2 - |r_SC|^2)                                                    (1)

and x where the rod does not reach. J follows from dl = (dl/dr_SC) . (v_C - v_S) + (dl/da) . (w_S x a).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import Array, add, cross, dot, scaled, subtract
from merganser.multibody.kernels.transmissions.arms import add_force_arms, node_axis, node_point
from merganser.multibody.kernels.transmissions.kind import TransmissionKind


@device
def set_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Equation (1); the first node is the crank, the second one the slider, and constants are [r, scale]."""
    C, S = nodes[transmission["first"]], nodes[transmission["first"] + 1]
    rod, scale = transmission["constants"][0], transmission["constants"][1]
    p_WC, p_WS, a = node_point(C, position_in), node_point(S, position_in), node_axis(S, position_in, 2)
    r = subtract(p_WC, p_WS)
    x = dot(a, r)
    square = x * x + rod * rod - dot(r, r)
    length, by_r, by_a = x, a, r
    if exceeds(square, 0.0):
        root = np.sqrt(square)
        share = 1.0 - x / root
        length, by_r, by_a = x - root, add(scaled(share, a), scaled(1.0 / root, r)), scaled(share, r)
    length_out[0] += scale * length
    f, t = scaled(scale, by_r), scaled(scale, cross(a, by_a))
    zero = (0.0, 0.0, 0.0)
    add_force_arms(topology, position_in, C["mobod"], p_WC, zero, f, 0, arms_out)
    add_force_arms(topology, position_in, S["mobod"], p_WS, t, scaled(-1.0, f), 0, arms_out)


SLIDER_CRANK = TransmissionKind("slider-crank", set_length)
