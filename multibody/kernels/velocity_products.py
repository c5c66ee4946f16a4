"""Forces of velocity products in discrete steps, C(q, u) u with the velocities u in the middle of the step.

At the velocities before the step, these forces feed energy into what turns: a share x^2 of it a step for bodies that
turn by the angle x. At the mean velocities they do not,

    M (v' - v) = h (tau - C(q, u) u) + J^T gamma,   u = (v + v') / 2                      (1)

where v' is what contacts, constraints, limits, friction and drives leave. Each of a fixed number of passes solves (1)
with the forces of the last u: a step is a sequence of problems that differ in the free motion only,

    u_0 = v,   u_n = (v + v'_(n-1)) / 2,   v'_n from C(q, u_n) u_n,   n = 0 .. NUM_PASSES                  (2)

For a gyroscopic mode that turns by x in a step, n passes after the first change its energy by the shares x^2, x^4 / 4,
-x^4 / 4 and -x^6 / 16 for n = 0 to 3: with three it loses a little up to x = 2, beyond which passes do not come nearer
to (1). With q' = q + h N(q) v', (1) is the leapfrog rule: v belongs to the time h / 2 before q, and in this sense
errors are of second order. It is symmetric in time, not symplectic: over 1e5 steps, the energy of what tumbles in space
on a free base by 0.05, 0.1 and 0.2 rad a step grows by 4e-4, 0.02 and 1 of its value; what is held loses a little.

A free rigid body starts with the mean m of its own spin, for which the passes then change nothing but where something
touches it,

    I (m - w) + s m x I m = 0,   w' = 2 m - w,   s = h / 2                                (3)

with the inertia I about its centre of mass in W. That is Euler's equation by the midpoint rule, whose w' keeps the
energy w . I w and the length of I w. Its centre goes straight on: the arm c = p_BoBcm_W turns with q' to c', so that
v_WBo + w x c stays with w' x (c' - c) / h, and not u x (u x c), as the acceleration of the arm,

    c' - c = (a x c + a x (a x c) / 2) / (1 + |a|^2 / 4),   a = h w'                      (4)

Faster precession than a step resolves is slowed down: products of such a body are taken
r = (1 + (h |w| / X)^8)^(-1/8) times, X = RESOLVED_ANGLE, in (3) by s, in (2) by the factor r^(1/2) of u.

Symbols take explicit forces, as Drake does, and so do plants set so (`has_explicit_products`): no passes.

Sources: A. Stuart, A. Humphries, Dynamical Systems and Numerical Analysis (1996), section 5.6, on the midpoint rule and
quadratic invariants; E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration (2006), section I.1.4, on the
leapfrog rule; J. Austin, P. Krishnaprasad, L.-S. Wang, Almost Poisson Integration of Rigid Body Systems (1993), section
4, for (3); E. Catto, Numerical Methods (Game Developers Conference, 2015), for Newton's method on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.kernels.layout import QUATERNION_FLOATING, Parameters, Positions, Topology, Velocities
from merganser.multibody.kernels.scalars import equals
from merganser.multibody.kernels.spatial import (
    Array,
    Matrix3,
    Vector3,
    add,
    column,
    cross,
    dot,
    matrix,
    rotational,
    scaled,
    set_spatial,
    subtract,
    transform,
    translational,
    vector,
)
from merganser.multibody.kernels.velocity import calc_velocity_kinematics

NUM_PASSES = 3
RESOLVED_ANGLE = 1.0  # X, in a step [rad]
_NUM_NEWTON_STEPS = 4


@device
def num_passes(topology: Array) -> int:
    """How many passes (2) follow the first solution of a step."""
    count: int = 0 if topology[0]["has_explicit_products"] else NUM_PASSES
    return count


@device
def start_mean_velocities(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    time_step: float,  # h [s]
    position_in: Positions,  # shape [num_mobods]
    velocity_in: Velocities,  # shape [num_mobods], of v
    v_in: Floats,  # shape [num_v]
    # Out:
    mean_out: Floats,  # u_0, shape [num_v]
) -> bool:
    """Computes u_0; returns whether there are free bodies that turn."""
    for k in range(v_in.shape[0]):
        mean_out[k] = v_in[k]
    is_other, i = False, 1
    while i < topology.shape[0]:
        if is_free_body(topology, time_step, velocity_in, i):
            w, share = rotational(velocity_in[i]["V_WB_W"]), _share(topology, time_step, velocity_in, i)
            _, _, I = _whole(topology, i, position_in)
            m = midpoint_spin(I, w, 0.5 * time_step * share * share)
            for k in range(3):
                mean_out[topology[i]["v_start"] + k] = share * dot(column(position_in[i]["R_WF"], k), m)
            is_other = True
        i = topology[i]["subtree_end"]
    return is_other


@device
def take_mean_velocities(
    # Model:
    topology: Topology,  # shape [num_mobods]
    # In:
    time_step: float,
    velocity_in: Velocities,  # shape [num_mobods], of v
    v_in: Floats,  # shape [num_v]
    v_next_in: Floats,  # v' of the last pass, shape [num_v]
    # Out:
    mean_out: Floats,  # u of the next pass, shape [num_v]
) -> None:
    """Computes u_n, equation (2)."""
    i = 1
    while i < topology.shape[0]:
        half = 0.5 * _share(topology, time_step, velocity_in, i)
        for k in range(i, topology[i]["subtree_end"]):
            for l in range(topology[k]["v_start"], topology[k]["v_start"] + topology[k]["num_v"]):
                mean_out[l] = half * (v_in[l] + v_next_in[l])
        i = topology[i]["subtree_end"]


@device
def calc_mean_kinematics(
    # Model:
    topology: Topology,  # shape [num_mobods]
    parameters: Parameters,  # shape [num_mobods]
    # In:
    time_step: float,
    position_in: Positions,  # shape [num_mobods]
    velocity_in: Velocities,  # shape [num_mobods], of v
    q_in: Floats,  # shape [num_q]
    mean_in: Floats,  # u, shape [num_v]
    # Out:
    mean_velocity_out: Velocities,  # shape [num_mobods], of u, with (4) in Fb_Bo_W of free bodies
) -> None:
    """Computes how bodies move with u."""
    calc_velocity_kinematics(topology, parameters, position_in, q_in, mean_in, mean_velocity_out)
    i = 1
    while i < topology.shape[0]:
        if is_free_body(topology, time_step, velocity_in, i):
            share, out = _share(topology, time_step, velocity_in, i), mean_velocity_out[i]
            mass, c, _ = _whole(topology, i, position_in)
            u = rotational(out["V_WB_W"])
            w_next = subtract(scaled(2.0 / share, u), rotational(velocity_in[i]["V_WB_W"]))
            # w' x (c' - c) / h - u x (u x c)  (4)
            a = scaled(time_step, w_next)
            a_x_c = cross(a, c)
            turn = scaled(1.0 / (1.0 + 0.25 * dot(a, a)), add(a_x_c, scaled(0.5, cross(a, a_x_c))))
            change = subtract(scaled(1.0 / time_step, cross(w_next, turn)), cross(u, cross(u, c)))
            force, F_b = scaled(mass, change), out["Fb_Bo_W"]
            set_spatial(F_b, add(rotational(F_b), cross(c, force)), add(translational(F_b), force))
        i = topology[i]["subtree_end"]


mean_kinematics = kernel(calc_mean_kinematics)


@device
def is_free_body(topology: Array, time_step: float, velocity: Array, i: int) -> bool:
    """Whether mobod i floats by a quaternion, all bodies outboard of it are welded to it, and it turns."""
    if topology[0]["has_explicit_products"] != 0 or topology[i]["mobilizer"] != QUATERNION_FLOATING:
        return False
    num_v = 0
    for k in range(i + 1, topology[i]["subtree_end"]):
        num_v += topology[k]["num_v"]
    w = rotational(velocity[i]["V_WB_W"])
    return num_v == 0 and not equals(time_step * dot(w, w), 0.0)


@device
def _share(topology: Array, time_step: float, velocity: Array, i: int) -> Any:
    """r^(1/2) of a free body; 1 of other trees."""
    w = rotational(velocity[i]["V_WB_W"])
    x_2 = time_step * time_step / (RESOLVED_ANGLE * RESOLVED_ANGLE) * dot(w, w)
    if not is_free_body(topology, time_step, velocity, i):
        return 1.0 + 0.0 * x_2
    x_4 = x_2 * x_2
    return 1.0 / np.sqrt(np.sqrt(np.sqrt(np.sqrt(1.0 + x_4 * x_4))))


@device
def _whole(topology: Array, i: int, position: Array) -> tuple[Any, Vector3, Matrix3]:
    """Mass, p_BoBcm_W and inertia about there in W, of mobod i with all that is welded to it."""
    p_WoBo_W = vector(position[i]["p_WoBo_W"])
    mass, I = position[i]["mass"], matrix(position[i]["I_BBo_W"])
    h = scaled(mass, vector(position[i]["p_BoBcm_W"]))
    for k in range(i + 1, topology[i]["subtree_end"]):
        body = position[k]
        arm, c = subtract(vector(body["p_WoBo_W"]), p_WoBo_W), vector(body["p_BoBcm_W"])
        about_center = _shifted(matrix(body["I_BBo_W"]), -body["mass"], c)
        moved = _shifted(about_center, body["mass"], add(arm, c))
        mass, h = mass + body["mass"], add(h, scaled(body["mass"], add(arm, c)))
        I = add(I[0], moved[0]), add(I[1], moved[1]), add(I[2], moved[2])
    c = scaled(1.0 / mass, h)  # a body without mass does not get here: its dynamics are refused
    return mass, c, _shifted(I, -mass, c)


@device
def _shifted(I: Matrix3, mass: Any, p: Vector3) -> Matrix3:
    """I + mass (|p|^2 1 - p p^T), the parallel axis theorem."""
    square = dot(p, p)
    return (
        add(I[0], scaled(mass, (square - p[0] * p[0], -p[0] * p[1], -p[0] * p[2]))),
        add(I[1], scaled(mass, (-p[1] * p[0], square - p[1] * p[1], -p[1] * p[2]))),
        add(I[2], scaled(mass, (-p[2] * p[0], -p[2] * p[1], square - p[2] * p[2]))),
    )


@device
def midpoint_spin(I: Matrix3, w: Vector3, share: Any) -> Vector3:
    """m of equation (3), by Newton's method; `share` is s [s]."""
    m, I_w = w, transform(I, w)
    for _ in range(_NUM_NEWTON_STEPS):
        I_m = transform(I, m)
        residual = add(subtract(I_m, I_w), scaled(share, cross(m, I_m)))
        # Columns of the derivative I + s ([m]x I - [I m]x); I is symmetric, so that its rows are its columns.
        column_0 = add(I[0], scaled(share, subtract(cross(m, I[0]), cross(I_m, (1.0, 0.0, 0.0)))))
        column_1 = add(I[1], scaled(share, subtract(cross(m, I[1]), cross(I_m, (0.0, 1.0, 0.0)))))
        column_2 = add(I[2], scaled(share, subtract(cross(m, I[2]), cross(I_m, (0.0, 0.0, 1.0)))))
        # Cramer's rule.
        normal = cross(column_1, column_2)
        factor = 1.0 / dot(column_0, normal)
        change = (
            dot(residual, normal),
            dot(column_0, cross(residual, column_2)),
            dot(column_0, cross(column_1, residual)),
        )
        m = subtract(m, scaled(factor, change))
    return m
