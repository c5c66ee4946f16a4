"""Derivatives of the mass matrix by positions, in closed form.

Notation: see mass_matrix.py and about_one_point.py: all is about O. Positions change along velocities: the derivative
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
from merganser.multibody.kernels.about_one_point import (
    add_inertia,
    carries,
    composite_fields,
    cross_force,
    cross_motion,
    set_inertia,
    set_places,
    set_rows,
    times_inertia,
)
from merganser.multibody.kernels.spatial import Array, Vector3, dot, rotational, subtract, translational

__all__ = ["calc_mass_matrix_derivatives", "composite_dtype", "mass_matrix_derivatives"]


@functools.cache
def composite_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Workspace of the derivatives, one record a mobod."""
    return np.dtype(composite_fields(scalar))


@device
def calc_mass_matrix_derivatives(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    first_column: int,  # where the derivatives begin among the columns of dM_io
    # Work:
    composite_work: Array,  # composite records, shape [num_mobods]
    Z_work: Array,  # shape [6, num_v]
    # In and out:
    M_io: Array,  # in: 0; out: the mass matrix, shape [num_v, num_v]
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
