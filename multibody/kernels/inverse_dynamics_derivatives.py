"""Derivatives of inverse dynamics by positions and velocities, in closed form; and the mass matrix on the way.

    tau = M vdot + C(q, v) v + D v - tau_g - J^T F_applied

Positions change along velocities: the derivative along velocity l is that for qdot = N(q) e_l, with the components of v
and vdot kept. F_applied keeps its components in W, and acts at Bo, which moves.

Notation: see layout.py. Here all spatial vectors are about one point O; for O, S_k, the products x and x*, and which
velocities of a mobilizer carry which others, see spatial.py. v, V_P, V_B, A_B refer to the body P inboard and B
outboard of the mobilizer.

Base to tips, with U_k = sum S_l v_l over the velocities l that carry k, and G_kl = S_l x S_k:

    Sdot_k = (V_P + U_k) x S_k                                                                        (1)
    V_B = V_P + sum S_k v_k,     A_B = A_P + sum (S_k vdot_k + Sdot_k v_k),     A_W = 0               (2)

As joint l moves, what is outboard of it moves rigidly along S_l and changes, as seen from there, by a, b and c: for
every body outboard, with sums over the velocities k that l carries,

    dV/dl = S_l x V + a_l,                    a_l = sum G_kl v_k - S_l x V_B                          (3)
    dA/dl = S_l x A + a_l x V + b_l,          b_l = sum (G_kl vdot_k + (V_P + U_k) x G_kl v_k)
                                                    - S_l x A_B - a_l x V_B                           (4)
    dA/dv_l = S_l x V + c_l,                  c_l = Sdot_l + a_l                                      (5)

The inertial force of a body is F = I A + V x* h, h = I V = [L; P], I = [I, [m c]x; -[m c]x, m 1]. So

    dF/dl = S_l x* F + I b_l + B a_l,         dF/dv_l = I c_l + B S_l                                 (6)
    B [alpha; a] = [D alpha; 2 alpha x P],    D = [w]x I - I [w]x - [I w]x - 2 [m c]x [v]x            (7)

(in B the translation a cancels out, by the identity of Jacobi). The force E = [t + p x f + m c x g; f + m g] of the
environment on a body, with p = p_OBo, keeps f and g, so that

    dE/dl = [X w_l + v_l x f_E; 0],           X = p f^T - (p . f) 1 + m c g^T - (m c . g) 1           (8)

I, B, F, E and X are summed over the bodies outboard of a mobilizer (C). Then tau_k = S_k . (F_C - E_C), and

    dtau_l/dk = S_l . (I_C b_k + B_C a_k + S_k x* F_C - dE_C/dk),    l inboard of k or at the same mobilizer
                (+ G_lk . (F_C - E_C) if k carries l)                                                 (9)
    dtau_k/dl = (I_C S_k) . b_l + (B_C^T S_k) . a_l + S_k . (S_l x* E_C - dE_C/dl),    l inboard of k (10)
    dtau_l/dv_k = S_l . (I_C c_k + B_C S_k),      dtau_k/dv_l = (I_C S_k) . c_l + (B_C^T S_k) . S_l   (11)
    M_kl = S_l . I_C S_k                                                                              (12)

with the C of k. Damping and reflected inertia are on the diagonals.

Sources: J. Carpentier and N. Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms, Robotics: Science and
Systems (2018); S. Singh, R. Russell and P. Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics using
Spatial Vector Algebra, IEEE RA-L (2022), whose B is (7); applied forces and hinges of several velocities worked out
here.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import MAX_VELOCITIES, Parameters, Positions, Topology
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_inertia,
    add_spatial,
    carries,
    composite_fields,
    cross,
    cross_motion,
    dot,
    rotate,
    rotational,
    scaled,
    set_inertia,
    set_places,
    set_rows,
    set_spatial,
    set_vector,
    subtract,
    times_inertia,
    translational,
    vector,
)


@functools.cache
def sensitivity_dtype(scalar: Any = np.float64) -> np.dtype[Any]:
    """Workspace of the derivatives, one record a mobod: spatial vectors about O, in W."""
    rows = (MAX_VELOCITIES, 6)
    return np.dtype(
        [
            *composite_fields(scalar),
            ("a", scalar, rows),  # (3), one row a velocity of the mobilizer, as in b and c
            ("b", scalar, rows),  # (4)
            ("c", scalar, rows),  # (5)
            ("V", scalar, (6,)),
            ("A", scalar, (6,)),
            # Of B and then of all bodies outboard of it, too.
            ("D", scalar, (3, 3)),  # (7)
            ("P", scalar, (3,)),
            ("F", scalar, (6,)),
            ("E", scalar, (6,)),
            ("X", scalar, (3, 3)),  # (8)
        ]
    )


@device
def calc_inverse_dynamics_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    gravity_in: Floats,  # g_W [m/s^2], shape [3]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    v_in: Floats,  # generalized velocities, shape [num_v]
    vdot_in: Floats,  # generalized accelerations, shape [num_v]
    F_applied_in: FloatTable,  # spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Work:
    sensitivity_work: Array,  # sensitivity records, shape [num_mobods]
    # Out:
    tau_out: Floats,  # generalized forces, shape [num_v]
    dtau_dq_out: FloatTable,  # derivatives of tau along the velocities, shape [num_v, num_v]
    dtau_dv_out: FloatTable,  # derivatives of tau by v, shape [num_v, num_v]
    M_out: FloatTable,  # mass matrix, shape [num_v, num_v]
) -> None:
    """Computes tau, its derivatives and the mass matrix, equations (1) to (12)."""
    num_v = v_in.shape[0]
    for r in range(num_v):
        for c in range(num_v):
            dtau_dq_out[r, c] = 0.0
            dtau_dv_out[r, c] = 0.0
            M_out[r, c] = 0.0
    for j in range(6):
        sensitivity_work[0]["V"][j] = 0.0
        sensitivity_work[0]["A"][j] = 0.0
    set_places(topology, position_in, sensitivity_work)
    for i in range(1, topology.shape[0]):
        set_rows(topology[i], position_in[i], sensitivity_work[i])
        parent = sensitivity_work[topology[i]["parent"]]
        move_body(topology[i], v_in, vdot_in, parent, sensitivity_work[i])
        set_inertia(position_in[i], sensitivity_work[i])
        _set_forces(topology[i], gravity_in, F_applied_in[i], sensitivity_work[i])
    for i in range(topology.shape[0] - 1, 0, -1):
        node = topology[i]
        for k in range(node["num_v"]):
            _fill(i, k, topology, sensitivity_work, dtau_dq_out, dtau_dv_out, M_out)
            s = node["v_start"] + k
            work = sensitivity_work[i]
            damping = parameters[i]["damping"][k]
            tau_out[s] = _power(work["S"][k], work["F"]) - _power(work["S"][k], work["E"]) + damping * v_in[s]
            dtau_dv_out[s, s] += damping
            tau_out[s] += parameters[i]["reflected_inertia"] * vdot_in[s]
            M_out[s, s] += parameters[i]["reflected_inertia"]
        if node["parent"] > 0:
            _add_composite(sensitivity_work[i], sensitivity_work[node["parent"]])


# -- motion --------------------------------------------------------------------------------------------------


@device
def move_body(node: Array, v_in: Array, vdot_in: Array, parent: Array, work: Array) -> None:
    """Equations (1) to (5) of one mobilizer."""
    S, a, b, c = work["S"], work["a"], work["b"], work["c"]
    V, A = work["V"], work["A"]
    num_v, start = node["num_v"], node["v_start"]
    for j in range(6):
        V[j] = parent["V"][j]
        A[j] = parent["A"][j]
    for k in range(num_v):
        add_spatial(V, scaled(v_in[start + k], rotational(S[k])), scaled(v_in[start + k], translational(S[k])))
    for k in range(num_v):
        w, v = _motion_of_row(node, k, S, v_in, parent["V"])
        # Sdot_k = (V_P + U_k) x S_k  (1), kept in c
        wdot, vdot = cross_motion(w, v, rotational(S[k]), translational(S[k]))
        set_spatial(c[k], wdot, vdot)
        # A_B += S_k vdot_k + Sdot_k v_k  (2)
        for j in range(6):
            A[j] += S[k, j] * vdot_in[start + k] + c[k, j] * v_in[start + k]
    for l in range(num_v):
        w_l, v_l = rotational(S[l]), translational(S[l])
        a_w, a_v = cross_motion(rotational(V), translational(V), w_l, v_l)  # - S_l x V_B
        b_w, b_v = cross_motion(rotational(A), translational(A), w_l, v_l)  # - S_l x A_B
        for k in range(num_v):
            if carries(node, l, k):
                v_k, vdot_k = v_in[start + k], vdot_in[start + k]
                G_w, G_v = cross_motion(w_l, v_l, rotational(S[k]), translational(S[k]))
                w, v = _motion_of_row(node, k, S, v_in, parent["V"])
                Gdot_w, Gdot_v = cross_motion(w, v, G_w, G_v)
                a_w, a_v = add(a_w, scaled(v_k, G_w)), add(a_v, scaled(v_k, G_v))
                b_w = add(b_w, add(scaled(vdot_k, G_w), scaled(v_k, Gdot_w)))
                b_v = add(b_v, add(scaled(vdot_k, G_v), scaled(v_k, Gdot_v)))
        turn_w, turn_v = cross_motion(a_w, a_v, rotational(V), translational(V))
        set_spatial(a[l], a_w, a_v)  # (3)
        set_spatial(b[l], subtract(b_w, turn_w), subtract(b_v, turn_v))  # (4)
        add_spatial(c[l], a_w, a_v)  # (5)


@device
def _motion_of_row(node: Array, k: int, S: Array, v_in: Array, V_P: Array) -> tuple[Vector3, Vector3]:
    """V_P + U_k: the velocity with which S_k moves."""
    w, v = rotational(V_P), translational(V_P)
    for l in range(node["num_v"]):
        if carries(node, l, k):
            v_l = v_in[node["v_start"] + l]
            w, v = add(w, scaled(v_l, rotational(S[l]))), add(v, scaled(v_l, translational(S[l])))
    return w, v


# -- bodies --------------------------------------------------------------------------------------------------


@device
def _set_forces(node: Array, gravity_in: Array, F_applied: Array, work: Array) -> None:
    """F, P and D, E and X of one body, equations (6) to (8)."""
    w, v = rotational(work["V"]), translational(work["V"])
    alpha, a = rotational(work["A"]), translational(work["A"])
    m, mc, I = work["mass"], vector(work["mc"]), work["I"]
    I_w = rotate(I, w)
    L, P = add(I_w, cross(mc, v)), subtract(scaled(m, v), cross(mc, w))
    # F = I A + V x* h
    moment = add(add(rotate(I, alpha), cross(mc, a)), add(cross(w, L), cross(v, P)))
    set_spatial(work["F"], moment, add(subtract(scaled(m, a), cross(mc, alpha)), cross(w, P)))
    set_vector(work["P"], P)
    # D = [w]x I - I [w]x - [I w]x - 2 [mc]x [v]x  (7), by rows; I [w]x has the rows I_r x w
    zero = 0.0 * m  # of the scalar type
    minus_I_w = ((zero, I_w[2], -I_w[1]), (-I_w[2], zero, I_w[0]), (I_w[1], -I_w[0], zero))
    twice = 2.0 * dot(mc, v)
    for r in range(3):
        set_vector(work["D"][r], subtract(minus_I_w[r], cross(vector(I[r]), w)))
        for c in range(3):
            work["D"][r, c] -= 2.0 * v[r] * mc[c]
        work["D"][r, r] += twice
    for c in range(3):
        column = cross(w, (I[0, c], I[1, c], I[2, c]))
        for r in range(3):
            work["D"][r, c] += column[r]
    # E and X  (8)
    p, g = vector(work["p_OBo_W"]), vector(gravity_in)
    if node["is_weightless"]:
        g = scaled(0.0, g)
    f = translational(F_applied)
    moment = add(add(rotational(F_applied), cross(p, f)), cross(mc, g))
    set_spatial(work["E"], moment, add(f, scaled(m, g)))
    trace = dot(p, f) + dot(mc, g)
    for r in range(3):
        for c in range(3):
            work["X"][r, c] = p[r] * f[c] + mc[r] * g[c]
        work["X"][r, r] -= trace


@device
def _add_composite(work: Array, parent: Array) -> None:
    """Adds the sums of a mobod to those of its parent."""
    add_inertia(work, parent)
    for r in range(3):
        parent["P"][r] += work["P"][r]
        for c in range(3):
            parent["D"][r, c] += work["D"][r, c]
            parent["X"][r, c] += work["X"][r, c]
    for j in range(6):
        parent["F"][j] += work["F"][j]
        parent["E"][j] += work["E"][j]


# -- derivatives ---------------------------------------------------------------------------------------------


@device
def _fill(i: int, k: int, topology: Array, works: Array, dq_out: Array, dv_out: Array, M_out: Array) -> None:
    """Row and column of velocity k of mobod i, as far as the velocities of itself and inboard of it are concerned."""
    work = works[i]
    column = topology[i]["v_start"] + k
    w, v = rotational(work["S"][k]), translational(work["S"][k])
    P, D = vector(work["P"]), work["D"]
    t_F, f_F = rotational(work["F"]), translational(work["F"])
    t_E, f_E = rotational(work["E"]), translational(work["E"])
    # I_C S_k, and the rotational part of B_C^T S_k; its other part is zero
    U_t, U_f = times_inertia(work, w, v)
    W = add(_transposed_times(D, w), scaled(2.0, cross(P, v)))
    # I_C b_k + B_C a_k + S_k x* F_C - dE_C/dk  (9)
    t, f = times_inertia(work, rotational(work["b"][k]), translational(work["b"][k]))
    alpha = rotational(work["a"][k])
    moved_t = subtract(add(cross(w, t_F), cross(v, f_F)), add(rotate(work["X"], w), cross(v, f_E)))
    q_t = add(add(t, rotate(D, alpha)), moved_t)
    q_f = add(add(f, scaled(2.0, cross(alpha, P))), cross(w, f_F))
    # I_C c_k + B_C S_k  (11)
    t, f = times_inertia(work, rotational(work["c"][k]), translational(work["c"][k]))
    v_t, v_f = add(t, rotate(D, w)), add(f, scaled(2.0, cross(w, P)))
    # S_k . (S_l x* E_C - dE_C/dl) = w_l . Y  (10)
    Y = add(subtract(cross(t_E, w), _transposed_times(work["X"], w)), cross(f_E, v))
    ancestor = i
    while ancestor > 0:
        other = works[ancestor]
        for l in range(topology[ancestor]["num_v"]):
            row = topology[ancestor]["v_start"] + l
            w_l, v_l = rotational(other["S"][l]), translational(other["S"][l])
            dq_out[row, column] = dot(w_l, q_t) + dot(v_l, q_f)  # (9)
            dv_out[row, column] = dot(w_l, v_t) + dot(v_l, v_f)  # (11)
            M_out[row, column] = dot(w_l, U_t) + dot(v_l, U_f)  # (12)
            if ancestor != i:
                M_out[column, row] = M_out[row, column]
                b, a, c = other["b"][l], other["a"][l], other["c"][l]
                dq = dot(U_t, rotational(b)) + dot(U_f, translational(b)) + dot(W, rotational(a))
                dq_out[column, row] = dq + dot(Y, w_l)  # (10)
                dv = dot(U_t, rotational(c)) + dot(U_f, translational(c))
                dv_out[column, row] = dv + dot(W, w_l)  # (11)
            elif carries(topology[i], k, l):
                G_w, G_v = cross_motion(w, v, w_l, v_l)
                dq_out[row, column] += dot(G_w, subtract(t_F, t_E)) + dot(G_v, subtract(f_F, f_E))
        ancestor = topology[ancestor]["parent"]


@device
def _transposed_times(R: Array, a: Vector3) -> Vector3:
    """R^T a, for a 3x3 matrix."""
    return (
        R[0, 0] * a[0] + R[1, 0] * a[1] + R[2, 0] * a[2],
        R[0, 1] * a[0] + R[1, 1] * a[1] + R[2, 1] * a[2],
        R[0, 2] * a[0] + R[1, 2] * a[1] + R[2, 2] * a[2],
    )


@device
def _power(V: Array, F: Array) -> Any:
    """V . F of a motion and a force."""
    return dot(rotational(V), rotational(F)) + dot(translational(V), translational(F))


inverse_dynamics_derivatives = kernel(calc_inverse_dynamics_derivatives)
