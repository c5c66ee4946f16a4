"""Constraints between bodies and coordinates, row by row: error, rate, bias and the rows of K.

Notation: see layout.py. A loop joint, or a constraint, connects a frame F on body P to a frame M on body C, which the
mobilizers connect already (or could). Each degree of freedom that it takes is one row g = 0, of one of these kinds,
with a unit vector u fixed in P and, for the second, a unit vector w fixed in C:

    TRANSLATION     g = u . p_FoMo                                                    (1)
    PERPENDICULAR   g = u . w                                                         (2)
    DISTANCE        g = |p_FoMo| - length                                             (7)
    COUPLER         g = q_0 - gear_ratio q_1 - offset                                 (8)

Their rates are powers of a spatial force [t; f] on C at Mo, and its opposite on P at the same place:

    gdot = t . (w_WC - w_WP) + f . (v_WC(Mo) - v_WP(Mo)) = K v                        (3)
    [t; f] = [0; u]  for (1),     [w x u; 0]  for (2),     [0; n], n = p_FoMo / |p_FoMo|,  for (7)

so K^T lambda are the generalized forces of the forces lambda [t; f]. Only bodies outboard of the last body that the
ways from C and from P to the world have in common matter. With accelerations for vdot = 0, r = p_BoX of the points
X = Mo on C and X = Fo on P, a_X = a_Bo + alpha x r + w x (w x r), (1) and (2) have gddot = K vdot + k:

    k = u . (a_Mo - a_Fo) + 2 (w_WP x u) . (v_Mo - v_Fo) + (alpha_WP x u + w_WP x (w_WP x u)) . p_FoMo        (4)
    k = (alpha_WC - alpha_WP) . (w x u) + u . (w_WC x (w_WC x w)) + w . (w_WP x (w_WP x u))
        + 2 (w_WC x w) . (w_WP x u)                                                                          (5)
    k = n . (a_Mo - a_Fo) + (|v_Mo - v_Fo|^2 - gdot^2) / |p_FoMo|                                            (9)

for (1), (2) and (7). (8) couples two positions whose rates are velocities, so that its row of K has a 1 and a
-gear_ratio, and k = 0.

A compliant row is no constraint but a spring and damper, with the force -stiffness g - damping gdot along [t; f].

A row that no velocity can change, such as motion out of the plane of a planar linkage, is found by comparing it to
what its terms would be if they did not cancel or vanish:

    |K_r|^2 <= DEPENDENCE_TOLERANCE sum_k (|t|^2 |w_k|^2 + |f|^2 |v_k(Mo)|^2)         (6)

where [w_k; v_k] is row k of the hinge matrix of a body on the way.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 8 (loop constraints).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.multibody.kernels.layout import _interned
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    power,
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
    "COUPLER",
    "DEPENDENCE_TOLERANCE",
    "DISTANCE",
    "PERPENDICULAR",
    "TRANSLATION",
    "calc_loop_rates",
    "calc_loop_rows",
    "loop_constraint_dtype",
    "loop_row_dtype",
    "loop_rows",
]

TRANSLATION = 0
PERPENDICULAR = 1
DISTANCE = 2
COUPLER = 3

# Of squares: a sine of 3e-5 counts as zero, as that of axes in a file with five digits after the point does.
DEPENDENCE_TOLERANCE = 1e-9

loop_row_dtype = np.dtype(
    [
        ("joint", np.int64),  # number of the loop joint that the row belongs to, or -1
        ("parent", np.int64),  # mobod of P; of a COUPLER, as C, the world
        ("child", np.int64),  # mobod of C
        ("kind", np.int64),  # one of the kinds above
        ("p_PoFo_P", np.float64, (3,)),
        ("p_CoMo_C", np.float64, (3,)),
        ("u_P", np.float64, (3,)),
        ("w_C", np.float64, (3,)),  # of PERPENDICULAR rows
        ("length", np.float64),  # of DISTANCE rows [m]
        ("q_0", np.int64),  # of COUPLER rows, from here on: places in q and v
        ("q_1", np.int64),
        ("v_0", np.int64),
        ("v_1", np.int64),
        ("gear_ratio", np.float64),
        ("offset", np.float64),
        # Baumgarte stabilization: gddot = -damping gdot - stiffness g. Of a compliant row, those of its spring.
        ("stiffness", np.float64),  # [1/s^2, or N/m]
        ("damping", np.float64),  # [1/s, or N s/m]
        ("is_compliant", np.int64),
    ]
)


def loop_constraint_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """One record a row: what depends on q, v and forces."""
    return _interned(
        [
            ("error", scalar),  # g [m, or 1]
            ("rate", scalar),  # gdot
            ("bias", scalar),  # k
            ("F_Mo_W", scalar, (6,)),  # [t; f], on C
            ("p_WoMo_W", scalar, (3,)),
            ("multiplier", scalar),  # of F_Mo_W
            ("norm", scalar),  # workspace: length of the row in the metric of the inverse mass matrix
            ("target", scalar),  # workspace: K vdot that is wanted
        ]
    )


@device
def calc_loop_rows(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    rows: Array,  # shape [num_rows]
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    position_in: Array,  # position records, shape [num_mobods]
    # Out:
    constraint_out: Array,  # fields error, F_Mo_W and p_WoMo_W, shape [num_rows]
    K_out: Array,  # shape [num_rows, num_v]
    kept_out: Array,  # 0 for rows that no velocity can change (6), else 1; shape [num_rows]
) -> None:
    """Computes what depends on q alone, equations (1) to (3) and (6) to (8)."""
    for r in range(rows.shape[0]):
        row = rows[r]
        out = constraint_out[r]
        P, C = position_in[row["parent"]], position_in[row["child"]]
        u = rotate(P["R_WB"], vector(row["u_P"]))
        p_WMo = add(vector(C["p_WoBo_W"]), rotate(C["R_WB"], vector(row["p_CoMo_C"])))
        set_vector(out["p_WoMo_W"], p_WMo)
        if row["kind"] == COUPLER:
            out["error"] = q_in[row["q_0"]] - row["gear_ratio"] * q_in[row["q_1"]] - row["offset"]  # (8)
            set_spatial(out["F_Mo_W"], (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            kept_out[r] = _fill_coupler(row, K_out[r])
            continue
        if row["kind"] == TRANSLATION:
            p_WFo = add(vector(P["p_WoBo_W"]), rotate(P["R_WB"], vector(row["p_PoFo_P"])))
            out["error"] = dot(u, subtract(p_WMo, p_WFo))
            set_spatial(out["F_Mo_W"], (0.0, 0.0, 0.0), u)
        elif row["kind"] == DISTANCE:
            p_FoMo = subtract(p_WMo, add(vector(P["p_WoBo_W"]), rotate(P["R_WB"], vector(row["p_PoFo_P"]))))
            length = dot(p_FoMo, p_FoMo) ** 0.5
            out["error"] = length - row["length"]  # (7)
            set_spatial(out["F_Mo_W"], (0.0, 0.0, 0.0), scaled(1.0 / length, p_FoMo))
        else:
            w = rotate(C["R_WB"], vector(row["w_C"]))
            out["error"] = dot(u, w)
            set_spatial(out["F_Mo_W"], cross(w, u), (0.0, 0.0, 0.0))
        kept_out[r] = _fill_row(topology, row, position_in, out, K_out[r])


@device
def _fill_coupler(row: Array, K_out: Array) -> int:
    """Fills the row of K of a coupler, equation (8), which velocities can change."""
    for k in range(K_out.shape[0]):
        K_out[k] = 0.0
    K_out[row["v_0"]] += 1.0
    K_out[row["v_1"]] -= row["gear_ratio"]
    return 1


@device
def _fill_row(topology: Array, row: Array, position_in: Array, constraint: Array, K_out: Array) -> int:
    """Fills one row of K, equation (3), and returns whether any velocity can change it (6)."""
    for k in range(K_out.shape[0]):
        K_out[k] = 0.0
    t, f = rotational(constraint["F_Mo_W"]), translational(constraint["F_Mo_W"])
    p_WMo = vector(constraint["p_WoMo_W"])
    t_t, f_f = dot(t, t), dot(f, f)
    square, bound = 0.0 * t_t, 0.0 * t_t
    c, p = row["child"], row["parent"]
    while c != p:  # parents have smaller numbers than their children
        sign = 1.0 if c > p else -1.0
        b = c if c > p else p
        body = position_in[b]
        p_BoMo = subtract(p_WMo, vector(body["p_WoBo_W"]))
        moment = add(t, cross(p_BoMo, f))
        for k in range(topology[b]["num_v"]):
            H_k = body["H_PB_W"][k]
            w_k = rotational(H_k)
            v_k = add(translational(H_k), cross(w_k, p_BoMo))
            entry = sign * power(body["H_PB_W"], k, moment, f)
            K_out[topology[b]["v_start"] + k] = entry
            square = square + entry * entry
            bound = bound + t_t * dot(w_k, w_k) + f_f * dot(v_k, v_k)
        if c > p:
            c = topology[b]["parent"]
        else:
            p = topology[b]["parent"]
    return 1 if exceeds(square, DEPENDENCE_TOLERANCE * bound) else 0


@device
def calc_loop_rates(
    # Model:
    rows: Array,  # shape [num_rows]
    # In:
    v_in: Array,  # generalized velocities, shape [num_v]
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    scratch_in: Array,  # A_WB_W for vdot = 0, up to one acceleration common to all; shape [num_mobods]
    # Out:
    constraint_io: Array,  # fields rate and bias; those of calc_loop_rows are read; shape [num_rows]
) -> None:
    """Computes what depends on q and v, equations (3) to (5) and (9)."""
    for r in range(rows.shape[0]):
        row = rows[r]
        out = constraint_io[r]
        P, C = position_in[row["parent"]], position_in[row["child"]]
        V_P, V_C = velocity_in[row["parent"]]["V_WB_W"], velocity_in[row["child"]]["V_WB_W"]
        A_P, A_C = scratch_in[row["parent"]]["A_WB_W"], scratch_in[row["child"]]["A_WB_W"]
        w_P, w_C = rotational(V_P), rotational(V_C)
        alpha_P, alpha_C = rotational(A_P), rotational(A_C)
        u = rotate(P["R_WB"], vector(row["u_P"]))
        if row["kind"] == COUPLER:
            out["rate"] = v_in[row["v_0"]] - row["gear_ratio"] * v_in[row["v_1"]]
            out["bias"] = 0.0 * out["rate"]
        elif row["kind"] == PERPENDICULAR:
            w = rotate(C["R_WB"], vector(row["w_C"]))
            w_x_u, wdot, udot = cross(w, u), cross(w_C, w), cross(w_P, u)
            out["rate"] = dot(subtract(w_C, w_P), w_x_u)
            out["bias"] = (
                dot(subtract(alpha_C, alpha_P), w_x_u)
                + dot(u, cross(w_C, wdot))
                + dot(w, cross(w_P, udot))
                + 2.0 * dot(wdot, udot)
            )  # (5)
        else:
            p_WMo = vector(out["p_WoMo_W"])
            r_M = subtract(p_WMo, vector(C["p_WoBo_W"]))
            r_F = rotate(P["R_WB"], vector(row["p_PoFo_P"]))
            p_FoMo = subtract(subtract(p_WMo, vector(P["p_WoBo_W"])), r_F)
            v_FM = subtract(_velocity_at(V_C, r_M), _velocity_at(V_P, r_F))
            a_FM = subtract(_acceleration_at(A_C, w_C, r_M), _acceleration_at(A_P, w_P, r_F))
            if row["kind"] == TRANSLATION:
                udot = cross(w_P, u)
                uddot = add(cross(alpha_P, u), cross(w_P, udot))
                out["rate"] = dot(u, v_FM) + dot(udot, p_FoMo)
                out["bias"] = dot(u, a_FM) + 2.0 * dot(udot, v_FM) + dot(uddot, p_FoMo)  # (4)
            else:
                n = translational(out["F_Mo_W"])
                out["rate"] = dot(n, v_FM)
                around = dot(v_FM, v_FM) - out["rate"] * out["rate"]
                out["bias"] = dot(n, a_FM) + around / dot(p_FoMo, p_FoMo) ** 0.5  # (9)


@device
def _velocity_at(V: Array, r: Vector3) -> Vector3:
    """v + w x r."""
    return add(translational(V), cross(rotational(V), r))


@device
def _acceleration_at(A: Array, w: Vector3, r: Vector3) -> Vector3:
    """a + alpha x r + w x (w x r)."""
    return add(translational(A), add(cross(rotational(A), r), cross(w, cross(w, r))))


loop_rows = kernel(calc_loop_rows)
