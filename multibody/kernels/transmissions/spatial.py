"""A tendon through sites, over pulleys, and around spheres and cylinders (wrapping.py).

Its length is that of the straight lines between neighbours, and of the arcs on surfaces; behind a pulley all is divided
by its divisor, and a new branch begins.

    l = sum_b (|p_P1 P2| + arc + ...) / d_b,   J = sum_b (u . (J_Q - J_P)) / d_b                          (1)

with the sum over the straight lines from P to Q: an arc lies on one body, and its tangent points are where the length
is stationary.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import Array
from merganser.multibody.kernels.transmissions.arms import add_line, node_point
from merganser.multibody.kernels.transmissions.kind import TransmissionKind
from merganser.multibody.kernels.transmissions.records import PULLEY, SITE
from merganser.multibody.kernels.transmissions.wrapping import wrap


@device
def set_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Equation (1)."""
    scale, n, end = 1.0, transmission["first"], transmission["end"]
    while n + 1 < end:
        if nodes[n]["what"] == PULLEY:
            scale = 1.0 / nodes[n]["number"]
        if nodes[n]["what"] == PULLEY or nodes[n + 1]["what"] == PULLEY:
            n += 1
            continue
        has_surface = nodes[n + 1]["what"] != SITE
        P, Q = nodes[n], nodes[n + 2] if has_surface else nodes[n + 1]
        p_WP, p_WQ = node_point(P, position_in), node_point(Q, position_in)
        wraps = False
        if has_surface:
            wraps, arc, p_WA, p_WB = wrap(nodes[n + 1], position_in, p_WP, p_WQ)
            if wraps:
                on, lines = nodes[n + 1]["mobod"], (length_out, arms_out)
                length_out[0] += scale * arc
                add_line(topology, position_in, P["mobod"], p_WP, on, p_WA, scale, *lines)
                add_line(topology, position_in, on, p_WB, Q["mobod"], p_WQ, scale, *lines)
        if not wraps:
            add_line(topology, position_in, P["mobod"], p_WP, Q["mobod"], p_WQ, scale, length_out, arms_out)
        n += 2 if has_surface else 1


SPATIAL = TransmissionKind("spatial tendon", set_length)
