"""A force on a site of a body, fixed in that site, or in a reference site on another body.

A force F = [t; f] of constant components in a frame S has the moment arms of its power. Without reference the length is
0. With a reference R, components are those in R, and with p_RS and the rotation vector theta from R to S

    l = f . p_RS_R + t . theta_RS_R,   J v = f . (v_WS - v_WR) + t . (w_WS - w_WR)        (1)

where a reference that turns changes l by more than J v. Bodies inboard of both have no moment arms, so that the forces
on S and R do not turn a robot as a whole. Both is so in MuJoCo. A moment may be constant in S instead.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.frames import express, rotation_vector
from merganser.multibody.kernels.spatial import Array, Vector3, add, dot, scaled, subtract
from merganser.multibody.kernels.transmissions.arms import add_force_arms, common_ancestor, node_axis, node_point
from merganser.multibody.kernels.transmissions.kind import TransmissionKind
from merganser.multibody.kernels.transmissions.records import Node


@device
def _in_world(axes: tuple[Vector3, Vector3, Vector3], c: Array, first: int) -> Vector3:
    return add(add(scaled(c[first], axes[0]), scaled(c[first + 1], axes[1])), scaled(c[first + 2], axes[2]))


@device
def _axes(node: Node, position_in: Array) -> tuple[Vector3, Vector3, Vector3]:
    return node_axis(node, position_in, 0), node_axis(node, position_in, 1), node_axis(node, position_in, 2)


@device
def set_length(
    transmission: Array, nodes: Array, topology: Array, q_in: Array, position_in: Array, length_out: Array,
    arms_out: Array,
) -> None:  # fmt: skip
    """Equation (1); constants are [f, t, whether t is in S]. The first node is the site, the second the reference."""
    S, R, c = nodes[transmission["first"]], nodes[transmission["end"] - 1], transmission["constants"]
    axes_S, axes_R, p_WS = _axes(S, position_in), _axes(R, position_in), node_point(S, position_in)
    f, t = _in_world(axes_R, c, 0), _in_world(axes_S if c[6] != 0.0 else axes_R, c, 3)
    has_reference = transmission["end"] - transmission["first"] > 1
    last = common_ancestor(topology, S["mobod"], R["mobod"]) if has_reference else 0
    add_force_arms(topology, position_in, S["mobod"], p_WS, t, f, last, arms_out)
    if has_reference:
        p_WR = node_point(R, position_in)
        add_force_arms(topology, position_in, R["mobod"], p_WR, scaled(-1.0, t), scaled(-1.0, f), last, arms_out)
        p_RS_R = express(axes_R, subtract(p_WS, p_WR))
        theta_R = express(axes_R, rotation_vector(axes_R, axes_S))
        length_out[0] += dot((c[0], c[1], c[2]), p_RS_R) + dot((c[3], c[4], c[5]), theta_R)


SITE_FORCE = TransmissionKind("site", set_length)
