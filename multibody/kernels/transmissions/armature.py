"""Armature of tendons: an inertia a that moves with the rate of their length, with the kinetic energy a ldot^2 / 2.

    M_total = M + J^T a J,   (C v)_total = C v + J^T a Jdot v                             (1)

so that the products a Jdot v are a force along the tendon, and a alone adds to M. Fixed tendons and ball joints have
none: Jdot v = 0, of a ball as its axis turns with w x a at a right angle to w. Of a spatial tendon, with the bias
accelerations A of bodies (vdot = 0), a line from P to Q has

    Jdot v = u . (a_Q - a_P) + |v_PQ - u ldot|^2 / l,   v_PQ = v_Q - v_P,   ldot = u . v_PQ          (2)

Where lines wrap around surfaces, tangent points move as well: such tendons have no armature here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.frames import acceleration_of, arm_to, velocity_of
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    add,
    cross,
    dot,
    rotational,
    scaled,
    set_spatial,
    subtract,
    translational,
    vector,
)
from merganser.multibody.kernels.transmissions.arms import node_point
from merganser.multibody.kernels.transmissions.records import PULLEY, SITE, Nodes, Transmission, Transmissions
from merganser.multibody.kernels.velocity import calc_velocity_kinematics


@device
def set_bias_accelerations(
    topology: Topology, position_in: Positions, velocity_in: Velocities, scratch_out: Scratch
) -> None:
    """A_WB_W of all bodies with vdot = 0: A_WB_W = Phi(A_WP_W) + Ab_WB_W, as in velocity.py."""
    set_spatial(scratch_out[0]["A_WB_W"], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(1, topology.shape[0]):
        A_WP_W, Ab_WB_W = scratch_out[topology[i]["parent"]]["A_WB_W"], velocity_in[i]["Ab_WB_W"]
        alpha = rotational(A_WP_W)
        a = add(translational(A_WP_W), cross(alpha, vector(position_in[i]["p_PoBo_W"])))
        set_spatial(scratch_out[i]["A_WB_W"], add(alpha, rotational(Ab_WB_W)), add(a, translational(Ab_WB_W)))


@device
def rate_products(
    tendon: Transmission, nodes: Array, position_in: Positions, velocity_in: Velocities, scratch_in: Scratch
) -> Any:
    """Jdot v of a tendon (2)."""
    scale, total = 1.0, 0.0 * position_in[0]["p_WoBo_W"][0]
    for n in range(tendon["first"], tendon["end"] - 1):
        P, Q = nodes[n], nodes[n + 1]
        if P["what"] == PULLEY:
            scale = 1.0 / P["number"]
        if P["what"] != SITE or Q["what"] != SITE:
            continue
        p_WP, p_WQ, A, B = node_point(P, position_in), node_point(Q, position_in), P["mobod"], Q["mobod"]
        p_PQ = subtract(p_WQ, p_WP)
        square = dot(p_PQ, p_PQ)
        if A == B or not exceeds(square, 0.0):
            continue
        length = np.sqrt(square)
        u, arm_P, arm_Q = scaled(1.0 / length, p_PQ), arm_to(position_in[A], p_WP), arm_to(position_in[B], p_WQ)
        V_A, V_B = velocity_in[A]["V_WB_W"], velocity_in[B]["V_WB_W"]
        a_P = acceleration_of(scratch_in[A]["A_WB_W"], V_A, arm_P)
        a_Q = acceleration_of(scratch_in[B]["A_WB_W"], V_B, arm_Q)
        v_PQ = subtract(velocity_of(V_B, arm_Q), velocity_of(V_A, arm_P))
        across = subtract(v_PQ, scaled(dot(u, v_PQ), u))
        total = total + scale * (dot(u, subtract(a_Q, a_P)) + dot(across, across) / length)
    return total


@kernel
def armature_products(
    # Model:
    topology: Topology,
    parameters: Parameters,
    transmissions: Transmissions,
    nodes: Nodes,
    # In:
    x_in: Floats,  # [q; v] before the step
    position_in: Positions,
    arms_in: FloatTable,  # J
    v_next_in: Floats,  # after the last pass, see velocity_products.py
    # Work:
    velocity_work: Velocities,
    scratch_work: Scratch,
    # Out:
    rates_io: Floats,  # see motion.py; its v becomes u
    tau_io: Floats,  # generalized forces, with -J^T a Jdot v of the pass before
) -> None:
    """Replaces the products in tau by those for u = (v + v_next) / 2."""
    num_v, num_t = tau_io.shape[0], transmissions.shape[0]
    q = x_in[: x_in.shape[0] - num_v]
    for k in range(num_v):
        rates_io[k] = 0.5 * (x_in[q.shape[0] + k] + v_next_in[k])
    calc_velocity_kinematics(topology, parameters, position_in, q, rates_io[:num_v], velocity_work)
    set_bias_accelerations(topology, position_in, velocity_work, scratch_work)
    for i in range(num_t):
        a, place = transmissions[i]["armature"], num_v + num_t + i
        if a > 0.0:
            products = rate_products(transmissions[i], nodes, position_in, velocity_work, scratch_work)
            for k in range(num_v):
                tau_io[k] -= a * arms_in[i, k] * (products - rates_io[place])
            rates_io[place] = products


@device
def has_armature(transmissions: Transmissions) -> bool:
    """Whether any transmission has armature."""
    count = 0
    for i in range(transmissions.shape[0]):
        count += int(transmissions[i]["armature"] > 0.0)
    return count > 0


@device
def add_armature(transmissions: Transmissions, arms_in: FloatTable, M_io: FloatTable) -> None:
    """M += J^T a J (1)."""
    for i in range(transmissions.shape[0]):
        a, J = transmissions[i]["armature"], arms_in[i]
        if a > 0.0:
            for k in range(M_io.shape[0]):
                for l in range(M_io.shape[0]):
                    M_io[k, l] += a * J[k] * J[l]
