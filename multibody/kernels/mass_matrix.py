"""The mass matrix: the composite rigid body algorithm (CRBA).

Notation: see layout.py. C is B and everything outboard of it, as one rigid body, with mass m_C, first moment
h_C = m_C p_BoCcm_W and inertia I_C about Bo. From tips to base, with p = p_PoBo_W, that of P grows by

    m_C,   h_C + m_C p,   I_C + 2 (p . h_C) 1 - p h_C^T - h_C p^T + m_C (p . p 1 - p p^T)         (1)

The force that moves C with the unit velocity H_PB_W[k], from rest, is

    F_Bo_W = [I_C w + h_C x v;  m_C v - h_C x w],   [w; v] = H_PB_W[k]                            (2)

and shifted to every body A inboard of B, F_Ao_W = Phi^T(F_Bo_W),

    M[A_l, B_k] = M[B_k, A_l] = H_A[l] . F_Ao_W                                                   (3)

Entries of pairs of bodies of which neither is inboard of the other are zero. Reflected inertia stands on the
diagonal.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2; reflected inertia: section 9.6.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, inlined, kernel
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
    set_vector,
    subtract,
    translational,
    vector,
)

__all__ = ["add_composite", "calc_mass_matrix", "fill_rows", "mass_matrix", "start_composite"]


@device
def calc_mass_matrix(
    # Model:
    topology: Array,  # shape [num_mobods], see layout.py
    parameters: Array,  # shape [num_mobods]
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Array,  # shape [num_mobods]
    # Out:
    M_out: Array,  # both triangles of the mass matrix, shape [num_v, num_v]
) -> None:
    """Computes the mass matrix, equations (1) to (3)."""
    num_mobods = topology.shape[0]
    for r in range(M_out.shape[0]):
        for c in range(M_out.shape[0]):
            M_out[r, c] = 0.0
    for i in range(1, num_mobods):
        start_composite(position_in[i], scratch_work[i])
    for i in range(num_mobods - 1, 0, -1):
        node = topology[i]
        fill_rows(i, topology, position_in, scratch_work[i], 0, M_out)
        for k in range(node["v_start"], node["v_start"] + node["num_v"]):
            M_out[k, k] += parameters[i]["reflected_inertia"]
        if node["parent"] > 0:
            add_composite(scratch_work[i], vector(position_in[i]["p_PoBo_W"]), scratch_work[node["parent"]])


@inlined
def start_composite(body: Array, work: Array) -> None:
    """Makes B alone the composite of B."""
    work["mass_C"] = body["mass"]
    set_vector(work["mp_C_W"], scaled(body["mass"], vector(body["p_BoBcm_W"])))
    for r in range(3):
        set_vector(work["I_C_W"][r], vector(body["I_BBo_W"][r]))


@inlined
def add_composite(work: Array, p: Vector3, parent_work: Array) -> None:
    """Adds the composite of B to that of its parent, from whose origin p leads to Bo, equation (1)."""
    m = work["mass_C"]
    h = vector(work["mp_C_W"])
    mp = scaled(m, p)
    h_plus_mp = add(h, mp)
    I_C = work["I_C_W"]
    I_P = parent_work["I_C_W"]
    diagonal = dot(p, add(h, h_plus_mp))
    parent_work["mass_C"] += m
    set_vector(parent_work["mp_C_W"], add(vector(parent_work["mp_C_W"]), h_plus_mp))
    for r in range(3):
        for c in range(3):
            I_P[r, c] += I_C[r, c] - p[r] * h[c] - h_plus_mp[r] * p[c]
        I_P[r, r] += diagonal


@inlined
def fill_rows(i: int, topology: Array, position_in: Array, work: Array, first: int, M_out: Array) -> None:
    """Fills the rows and columns of mobod i as far as they belong to itself and to bodies inboard of it.

    M_out may be the block of a tree, whose velocities begin with number `first`.
    """
    h = vector(work["mp_C_W"])
    p_WoBo_W = vector(position_in[i]["p_WoBo_W"])
    for k in range(topology[i]["num_v"]):
        row = topology[i]["v_start"] - first + k
        H_k = position_in[i]["H_PB_W"][k]
        w, v = rotational(H_k), translational(H_k)
        # F_Bo_W = [I_C w + h_C x v;  m_C v - h_C x w]  (2)
        moment = add(rotate(work["I_C_W"], w), cross(h, v))
        force = subtract(scaled(work["mass_C"], v), cross(h, w))
        for l in range(k + 1):
            _set_pair(M_out, row, topology[i]["v_start"] - first + l, power(position_in[i]["H_PB_W"], l, moment, force))
        a = topology[i]["parent"]
        while a > 0:
            node, body = topology[a], position_in[a]
            if node["num_v"] > 0:
                # F_Ao_W = Phi^T(F_Bo_W), M[B_k, A_l] = H_A[l] . F_Ao_W  (3)
                p_AoBo_W = subtract(p_WoBo_W, vector(body["p_WoBo_W"]))
                moment_A = add(moment, cross(p_AoBo_W, force))
                for l in range(node["num_v"]):
                    _set_pair(M_out, row, node["v_start"] - first + l, power(body["H_PB_W"], l, moment_A, force))
            a = node["parent"]


@inlined
def _set_pair(M_out: Array, row: int, column: int, value: Any) -> None:
    """Sets an entry and its mirror image."""
    M_out[row, column] = value
    M_out[column, row] = value


mass_matrix = kernel(calc_mass_matrix)
