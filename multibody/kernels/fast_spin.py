"""Free bodies on which nothing hangs: their gyroscopic forces in discrete steps, by the midpoint rule.

Taken at the beginning of a step they feed energy into a body that tumbles, the faster it turns the more, until its
state overflows. So a step gets the forces that take its spin w, about its centre of mass, to w' instead, with

    I (m - w) + s m x I m = 0,   w' = 2 m - w,   s = h / 2                                (1)

The inertia I is that of the body before the step, in W: a rotation about w' leaves w' where it is in the body, so that
(1) is Euler's equation in axes of the body, by the midpoint rule, which keeps the energy w . I w and the length of the
angular momentum I w. h is cut off at 1 rad / |w|: faster precession is not resolved. The centre of mass goes straight
on: its velocity and w' tell v_WBo, with the arm c = p_BoBcm_W turned as the quaternion of q + h N(q) v is,

    v' = v + w x c - w' x c',   c' = c + (a x c + a x (a x c) / 2) / (1 + |a|^2 / 4),   a = h w'      (2)

and these are the velocities after a step with the spatial force M_BBo_W [w' - w; v' - v] / h about Bo. The explicit
forces are Fb_Bo_W of velocity.py.

Symbols keep explicit forces, and so do plants that are told to, as Drake's. Trees of bodies: velocity_products.py.

Sources: J. Austin, P. Krishnaprasad, L.-S. Wang, Almost Poisson Integration of Rigid Body Systems (1993), section 4,
for the midpoint rule; E. Catto, Numerical Methods (Game Developers Conference, 2015), for Newton's method on (1).
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.layout import QUATERNION_FLOATING
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Matrix3,
    Vector3,
    add,
    cross,
    dot,
    matrix,
    power,
    rotational,
    scaled,
    set_spatial,
    subtract,
    transform,
    translational,
    vector,
)

__all__ = ["add_fast_spins", "add_spin_forces", "composite_inertia", "is_rigid", "midpoint_spin", "shift"]

_NEGLIGIBLE_ANGLE = 1e-8  # in a step [rad]
_MOST_ANGLE = 1.0
_NUM_NEWTON_STEPS = 6


@device
def add_fast_spins(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    time_step: float,  # h [s]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods]
    # In and out:
    tau_io: Array,  # generalized forces, shape [num_v]
) -> None:
    """Adds, for each free body that turns fast, what takes its explicit gyroscopic forces to those of (1) and (2)."""
    i = 1 if topology[0]["has_explicit_products"] == 0 else topology.shape[0]
    while i < topology.shape[0]:
        if _spins_fast(topology, i, time_step, velocity_in):
            moment, force = _spin_force(topology, i, time_step, position_in, velocity_in[i]["V_WB_W"])
            for k in range(topology[i]["num_v"]):
                tau_io[topology[i]["v_start"] + k] += power(position_in[i]["H_PB_W"], k, moment, force)
        i = topology[i]["subtree_end"]


@device
def add_spin_forces(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    # In:
    time_step: float,  # h [s]
    position_in: Array,  # shape [num_mobods]
    velocity_in: Array,  # shape [num_mobods]
    # In and out:
    F_applied_io: Array,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
) -> None:
    """Adds the same to spatial forces, so that inverse dynamics find what else than that has moved the bodies."""
    i = 1 if topology[0]["has_explicit_products"] == 0 else topology.shape[0]
    while i < topology.shape[0]:
        if _spins_fast(topology, i, time_step, velocity_in):
            moment, force = _spin_force(topology, i, time_step, position_in, velocity_in[i]["V_WB_W"])
            F = F_applied_io[i]
            set_spatial(F, add(rotational(F), moment), add(translational(F), force))
        i = topology[i]["subtree_end"]


@device
def _spins_fast(topology: Array, i: int, time_step: float, velocity: Array) -> bool:
    """Whether mobod i is a free body on which nothing hangs, that turns, and is no symbol."""
    if topology[i]["parent"] != 0 or topology[i]["mobilizer"] != QUATERNION_FLOATING:
        return False
    angle_2 = _angle_squared(time_step, rotational(velocity[i]["V_WB_W"]))
    return not exceeds(_NEGLIGIBLE_ANGLE * _NEGLIGIBLE_ANGLE, angle_2) and is_rigid(topology, i)


@device
def _angle_squared(time_step: float, w: Vector3) -> Any:
    return time_step * time_step * dot(w, w)


@device
def is_rigid(topology: Array, i: int) -> bool:
    """Whether the bodies outboard of mobod i are all welded to it."""
    num_v = 0
    for k in range(i + 1, topology[i]["subtree_end"]):
        num_v += topology[k]["num_v"]
    return num_v == 0


@device
def _spin_force(topology: Array, i: int, time_step: float, position: Array, V_WB_W: Array) -> tuple[Vector3, Vector3]:
    """Moment and force about Bo that add to -Fb_Bo_W what (1) and (2) ask for."""
    mass, c, I_Bo = composite_inertia(topology, i, position)
    I_Bcm = shift(I_Bo, -mass, c)
    w, v = rotational(V_WB_W), translational(V_WB_W)
    angle_2 = _angle_squared(time_step, w)
    share = 0.5 * time_step
    if exceeds(angle_2, _MOST_ANGLE * _MOST_ANGLE):
        share = share * _MOST_ANGLE * angle_2**-0.5
    w_next = midpoint_spin(I_Bcm, w, share)  # (1)
    # v' = v + w x c - w' x c'  (2)
    a = scaled(time_step, w_next)
    a_x_c = cross(a, c)
    c_turn = scaled(1.0 / (1.0 + 0.25 * dot(a, a)), add(a_x_c, scaled(0.5, cross(a, a_x_c))))
    v_next = add(v, subtract(cross(w, c), cross(w_next, add(c, c_turn))))
    # F = M_BBo_W [w' - w; v' - v] / h + Fb_Bo_W
    alpha, acceleration = scaled(1.0 / time_step, subtract(w_next, w)), scaled(1.0 / time_step, subtract(v_next, v))
    force = scaled(mass, add(acceleration, add(cross(alpha, c), cross(w, cross(w, c)))))
    moment = add(transform(I_Bo, alpha), scaled(mass, cross(c, acceleration)))
    moment = add(moment, cross(w, transform(I_Bo, w)))
    return moment, force


@device
def midpoint_spin(I: Matrix3, w: Vector3, share: Any) -> Vector3:
    """w' of equation (1), by Newton's method; `share` is s [s]."""
    m = w
    for _ in range(_NUM_NEWTON_STEPS):
        I_m = transform(I, m)
        residual = add(subtract(I_m, transform(I, w)), scaled(share, cross(m, I_m)))
        # Columns of the derivative I + s ([m]x I - [I m]x); I is symmetric, so that its rows are its columns.
        column_0 = add(I[0], scaled(share, subtract(cross(m, I[0]), cross(I_m, (1.0, 0.0, 0.0)))))
        column_1 = add(I[1], scaled(share, subtract(cross(m, I[1]), cross(I_m, (0.0, 1.0, 0.0)))))
        column_2 = add(I[2], scaled(share, subtract(cross(m, I[2]), cross(I_m, (0.0, 0.0, 1.0)))))
        # Cramer's rule.
        normal = cross(column_1, column_2)
        factor = 1.0 / dot(column_0, normal)
        m = subtract(
            m,
            (
                factor * dot(residual, normal),
                factor * dot(column_0, cross(residual, column_2)),
                factor * dot(column_0, cross(column_1, residual)),
            ),
        )
    return subtract(scaled(2.0, m), w)


@device
def composite_inertia(topology: Array, i: int, position: Array) -> tuple[Any, Vector3, Matrix3]:
    """Mass, p_BoBcm_W and inertia about Bo in W, of mobod i and all that is outboard of it."""
    p_WoBo_W = vector(position[i]["p_WoBo_W"])
    mass, total = position[i]["mass"], matrix(position[i]["I_BBo_W"])
    h = scaled(mass, vector(position[i]["p_BoBcm_W"]))
    for k in range(i + 1, topology[i]["subtree_end"]):
        body = position[k]
        arm, c = subtract(vector(body["p_WoBo_W"]), p_WoBo_W), vector(body["p_BoBcm_W"])
        about_center = shift(matrix(body["I_BBo_W"]), -body["mass"], c)
        shifted = shift(about_center, body["mass"], add(arm, c))
        mass, h = mass + body["mass"], add(h, scaled(body["mass"], add(arm, c)))
        total = add(total[0], shifted[0]), add(total[1], shifted[1]), add(total[2], shifted[2])
    # A body without mass does not get here: its dynamics are refused.
    return mass, scaled(1.0 / mass, h), total


@device
def shift(I: Matrix3, mass: Any, p: Vector3) -> Matrix3:
    """I + mass (|p|^2 1 - p p^T), the parallel axis theorem."""
    square = dot(p, p)
    return (
        add(I[0], scaled(mass, (square - p[0] * p[0], -p[0] * p[1], -p[0] * p[2]))),
        add(I[1], scaled(mass, (-p[1] * p[0], square - p[1] * p[1], -p[1] * p[2]))),
        add(I[2], scaled(mass, (-p[2] * p[0], -p[2] * p[1], square - p[2] * p[2]))),
    )
