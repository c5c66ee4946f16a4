"""Derivatives of Jacobians of frames and points by positions, in closed form.

Notation: see jacobians.py and spatial.py. Positions change along velocities: the derivative along velocity c is
that for qdot = N(q) e_c. All motions S_k = [w_k; v_k] are about the place in W where the point Q of body B is at the
moment, so that v_k is column k of the Jacobian of the velocity of Q. Velocity c *moves* velocity k, dS_k/dc =
S_c x S_k = [w_ck; v_ck], if the mobilizer of k is outboard of that of c, or the same and c carries k there; it moves
all points of bodies that are outboard of c, and Q with v_c. So the columns of the Jacobians change by

    d(v_k)/dc = (v_ck if c moves k) + (w_k x v_c if B is outboard of c)                                       (1)
    dw_k/dc   = (w_ck if c moves k)                                                                           (2)

and, as frame E turns with its body D, what is expressed in it as well

    da_E/dc = R_WE^T da_W/dc - (R_WE^T w_c x a_E if D is outboard of c),     a_E = R_WE^T a_W                 (3)

Nothing changes by velocities that are inboard of none of the bodies A, B and D, so that nothing is computed for these.

Derivatives of the mass matrix by positions, in closed form.

Notation: see mass_matrix.py and spatial.py: all is about O. Positions change along velocities: the derivative
along velocity c is that for qdot = N(q) e_c. With I_k the inertia of all that is outboard of the mobilizer of k,

    M_kl = S_l . I_k S_k,      l inboard of k or at the same mobilizer                                         (1)

Velocity c *moves* velocity k, dS_k/dc = S_c x S_k, if the mobilizer of k is outboard of that of c, or the same and c
carries k there. What is outboard of c turns rigidly: its inertia changes by dI/dc = S_c x* I - I S_c x. So, with I the
inertia of the outer one of the mobilizers of c and k,

    dM_kl/dc = S_l . Z_kc     + ((S_c x S_l) . I S_k if c moves l)                                             (2)
    Z_kc     = S_c x* (I S_k) - (I (S_c x S_k) if c does not move k)                                           (3)

If c is inboard of l, all turns together and nothing changes; there is no change either if c is on another branch. So
of the velocities c only those count that are outboard of l, or at its mobilizer, and in line with k.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.frames import Axes, axes_of, express, locate, point
from merganser.multibody.kernels.jacobians import calc_jacobian
from merganser.multibody.kernels.layout import Parameters, Positions, Topology
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_inertia,
    carries,
    composite_fields,
    cross,
    cross_force,
    cross_motion,
    dot,
    motion_of_row,
    rotational,
    scaled,
    set_inertia,
    set_places,
    set_rows,
    subtract,
    times_inertia,
    translational,
    vector,
)


@device
def calc_jacobian_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    mobod_B: int,  # of the body of frame F
    X_BF_in: FloatTable,  # frame F, to which the points are fixed, shape [3, 4]
    points_in: Floats,  # p_FoQi_F [m], shape [3 num_points], see frames.py
    mobod_A: int,  # the body in which velocities are measured
    mobod_D: int,  # of the body of frame E
    X_DE_in: FloatTable,  # frame E, in which velocities are expressed, shape [3, 4]
    first_column: int,  # where the derivatives begin among the columns of dJ_io
    # Out:
    J_out: FloatTable,  # as calc_jacobian() writes it, shape [3 + 3 num_points, num_v]
    # In and out:
    dJ_io: Array,  # in: 0; out: its derivatives along the velocities, shape [(3 + 3 num_points) num_v, ...]
) -> None:
    """Computes Jacobians as calc_jacobian() does, and their derivatives, equations (1) to (3)."""
    calc_jacobian(topology, position_in, mobod_B, X_BF_in, points_in, mobod_A, mobod_D, X_DE_in, J_out)
    axes_W = axes_of(position_in[mobod_D], X_DE_in)
    for j in range(-1, points_in.shape[0] // 3):
        p_WoQ_W = vector(position_in[0]["p_WoBo_W"])
        if j >= 0:
            p_WoQ_W = locate(position_in[mobod_B], X_BF_in, point(points_in, j))
        for i in range(1, topology.shape[0]):
            moves_B = _is_in(topology, i, mobod_B)
            if moves_B == _is_in(topology, i, mobod_A):  # both or none of them: J has zeros
                continue
            for k in range(topology[i]["num_v"]):
                _set_derivatives(
                    topology, position_in, i, k, 1.0 if moves_B else -1.0, j >= 0, mobod_B, p_WoQ_W, mobod_D, axes_W,
                    3 + 3 * j, first_column, J_out, dJ_io,
                )  # fmt: skip


@device
def _set_derivatives(
    topology: Array, position_in: Array, i: int, k: int, sign: float, is_point: bool, mobod_B: int, p_WoQ_W: Vector3,
    mobod_D: int, axes_W: Axes, row: int, first_column: int, J_in: Array, dJ_io: Array,
) -> None:  # fmt: skip
    """The derivatives of three rows of J in the column of velocity k of mobod i."""
    num_v, column = J_in.shape[1], topology[i]["v_start"] + k
    a_E = J_in[row, column], J_in[row + 1, column], J_in[row + 2, column]
    w_k, v_k = _motion_about(p_WoQ_W, position_in[i], k)
    for m in range(1, topology.shape[0]):
        moves_B, moves_E, moves_i = _is_in(topology, m, mobod_B), _is_in(topology, m, mobod_D), _is_in(topology, m, i)
        if not (moves_B or moves_E or moves_i):
            continue
        for c in range(topology[m]["num_v"]):
            w_c, v_c = _motion_about(p_WoQ_W, position_in[m], c)
            change_W = scaled(0.0, w_c)
            if moves_i and (m != i or carries(topology[i], c, k)):
                w_ck, v_ck = cross_motion(w_c, v_c, w_k, v_k)
                change_W = v_ck if is_point else w_ck
            if is_point and moves_B:
                change_W = add(change_W, cross(w_k, v_c))
            change_E = express(axes_W, scaled(sign, change_W))
            if moves_E:
                change_E = subtract(change_E, cross(express(axes_W, w_c), a_E))
            for r in range(3):
                dJ_io[(row + r) * num_v + column, first_column + topology[m]["v_start"] + c] = change_E[r]


@device
def _motion_about(p_WoQ_W: Vector3, body: Array, k: int) -> tuple[Vector3, Vector3]:
    """S_k about Q."""
    return motion_of_row(body, k, subtract(vector(body["p_WoBo_W"]), p_WoQ_W))


@device
def _is_in(topology: Array, m: int, i: int) -> bool:
    """Whether mobod i is in the subtree of mobod m."""
    return m <= i and i < topology[m]["subtree_end"]


jacobian_derivatives = kernel(calc_jacobian_derivatives)


@functools.cache
def composite_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Workspace of the derivatives, one record a mobod."""
    return np.dtype(composite_fields(scalar))


@device
def calc_mass_matrix_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    first_column: int,  # where the derivatives begin among the columns of dM_io
    # Work:
    composite_work: Array,  # composite records, shape [num_mobods]
    Z_work: FloatTable,  # shape [6, num_v]
    # In and out:
    M_io: FloatTable,  # in: 0; out: the mass matrix, shape [num_v, num_v]
    dM_io: Array,  # in: 0; out: its derivatives along the velocities, shape [num_v num_v, ...]
) -> None:
    """Computes the mass matrix and its derivatives, equations (1) to (3)."""
    set_places(topology, position_in, composite_work)
    for i in range(1, topology.shape[0]):
        set_rows(topology[i], position_in[i], composite_work[i])
        set_inertia(position_in[i], composite_work[i])
    for i in range(topology.shape[0] - 1, 0, -1):
        for k in range(topology[i]["num_v"]):
            row = topology[i]["v_start"] + k
            _set_changes(i, k, topology, composite_work, Z_work)
            _fill(i, k, topology, composite_work, Z_work, first_column, M_io, dM_io)
            M_io[row, row] += parameters[i]["reflected_inertia"]
        if topology[i]["parent"] > 0:
            add_inertia(composite_work[i], composite_work[topology[i]["parent"]])


@device
def _set_changes(i: int, k: int, topology: Array, works: Array, Z_out: Array) -> None:
    """Z of velocity k of mobod i for all velocities in line with it, equation (3)."""
    w, v = _row(works[i], k)
    t, f = times_inertia(works[i], w, v)
    a = i
    while a > 0:
        for c in range(topology[a]["num_v"]):
            w_c, v_c = _row(works[a], c)
            Z_t, Z_f = cross_force(w_c, v_c, t, f)
            if a == i and not carries(topology[i], c, k):
                Z_t, Z_f = _subtract_turned(works[i], w_c, v_c, w, v, Z_t, Z_f)
            _set_column(Z_t, Z_f, topology[a]["v_start"] + c, Z_out)
        a = topology[a]["parent"]
    for j in range(i + 1, topology[i]["subtree_end"]):
        t, f = times_inertia(works[j], w, v)
        for c in range(topology[j]["num_v"]):
            w_c, v_c = _row(works[j], c)
            Z_t, Z_f = cross_force(w_c, v_c, t, f)
            Z_t, Z_f = _subtract_turned(works[j], w_c, v_c, w, v, Z_t, Z_f)
            _set_column(Z_t, Z_f, topology[j]["v_start"] + c, Z_out)


@device
def _row(work: Array, k: int) -> tuple[Vector3, Vector3]:
    """S_k."""
    return rotational(work["S"][k]), translational(work["S"][k])


@device
def _subtract_turned(
    work: Array, w_c: Vector3, v_c: Vector3, w: Vector3, v: Vector3, Z_t: Vector3, Z_f: Vector3
) -> tuple[Vector3, Vector3]:
    """Z - I (S_c x S_k)."""
    w_ck, v_ck = cross_motion(w_c, v_c, w, v)
    t, f = times_inertia(work, w_ck, v_ck)
    return subtract(Z_t, t), subtract(Z_f, f)


@device
def _set_column(t: Vector3, f: Vector3, column: int, Z: Array) -> None:
    """Z[:, column] = [t; f]."""
    for r in range(3):
        Z[r, column] = t[r]
        Z[3 + r, column] = f[r]


@device
def _fill(
    i: int, k: int, topology: Array, works: Array, Z_in: Array, first_column: int, M_io: Array, dM_io: Array
) -> None:
    """Entries of velocity k of mobod i and of those at or inboard of it, with their derivatives, (1) and (2)."""
    num_v = M_io.shape[0]
    t, f = times_inertia(works[i], rotational(works[i]["S"][k]), translational(works[i]["S"][k]))
    start = topology[i]["v_start"]
    end = topology[i]["subtree_end"]
    end_v = topology[end]["v_start"] if end < topology.shape[0] else num_v
    a = i
    while a > 0:
        for l in range(k + 1 if a == i else topology[a]["num_v"]):
            w_l, v_l = _row(works[a], l)
            row, column = start + k, topology[a]["v_start"] + l
            M_io[row, column] = dot(w_l, t) + dot(v_l, f)  # (1)
            M_io[column, row] = M_io[row, column]
            upper, lower = dM_io[row * num_v + column], dM_io[column * num_v + row]
            # (2), for c at the mobilizer of k or outboard of it, ...
            _fill_range(w_l, v_l, Z_in, start, end_v, first_column, upper, lower)
            # ... and for c between l and k
            b = i
            while b != a:
                b = topology[b]["parent"]
                first = topology[b]["v_start"]
                _fill_range(w_l, v_l, Z_in, first, first + topology[b]["num_v"], first_column, upper, lower)
            for c in range(topology[a]["num_v"]):
                if carries(topology[a], c, l):
                    w_c, v_c = _row(works[a], c)
                    w_cl, v_cl = cross_motion(w_c, v_c, w_l, v_l)
                    place = first_column + topology[a]["v_start"] + c
                    upper[place] += dot(w_cl, t) + dot(v_cl, f)
                    lower[place] = upper[place]
        a = topology[a]["parent"]


@device
def _fill_range(
    w_l: Vector3, v_l: Vector3, Z_in: Array, first: int, end: int, first_column: int, upper: Array, lower: Array
) -> None:
    """S_l . Z for some velocities c, into two rows."""
    for c in range(first, end):
        turned = w_l[0] * Z_in[0, c] + w_l[1] * Z_in[1, c] + w_l[2] * Z_in[2, c]
        change = turned + v_l[0] * Z_in[3, c] + v_l[1] * Z_in[4, c] + v_l[2] * Z_in[5, c]
        upper[first_column + c] = change
        lower[first_column + c] = change


mass_matrix_derivatives = kernel(calc_mass_matrix_derivatives)
