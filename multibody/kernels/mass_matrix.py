"""The mass matrix: the composite rigid body algorithm (CRBA).

Notation: see layout.py. C is B and everything outboard of it, as one rigid body, with mass m_C, first moment
h_C = m_C p_BoCcm_W and inertia I_C about Bo. From tips to base, with p = p_PoBo_W, that of P grows by

    m_C,   h_C + m_C p,   I_C + 2 (p . h_C) 1 - p h_C^T - h_C p^T + m_C (p . p 1 - p p^T)         (1)

The force that moves C with the unit velocity H_PB_W[k], from rest, is

    F_Bo_W = [I_C w + h_C x v;  m_C v - h_C x w],   [w; v] = H_PB_W[k]                            (2)

and shifted to every body A inboard of B, F_Ao_W = Phi^T(F_Bo_W),

    M[A_l, B_k] = M[B_k, A_l] = H_A[l] . F_Ao_W                                                   (3)

Entries of pairs of bodies of which neither is inboard of the other are zero. Reflected inertia is on the
diagonal.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2; reflected inertia: section 9.6.

The mass matrix column by column, by inverse dynamics: slow, but independent of composite bodies.

At rest, without gravity and applied forces, the forces of inverse dynamics are tau = M vdot. So

    M[:, k] = tau  for vdot = e_k, v = 0                                            (1)

The mass matrix in factors that have its zeros, and products with its inverse.

    M = L^T Delta L,    L unit lower triangular, Delta diagonal                                       (1)
    X = M^-1 Y:         L^T Z = Y,   L X = Delta^-1 Z                                                 (2)

Taken in this order, from tips to base, L has the zeros of M: element [k, l] is not zero only if velocity l is inboard
of velocity k or, within a mobilizer, before it. Of one l, these k are the numbers after it up to the end of its
subtree; of one k, these l are found from parent to parent. For a humanoid of 36 velocities (1) takes 21 % and (2) 48 %
of the products of a full matrix, for a hand 6 % and 20 %, for an arm all. To walk from parent to parent takes longer
than a product, so (1) goes through runs of numbers that follow each other: a fifth of the time for a chain of 100.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (2008), sections 6.4 and 6.5.

Armature and rotors: an inertia r of mobilizers beside those of bodies, on the diagonal of M.

    M_kk += r,   T += r / 2 sum_k v_k^2                                                   (1)

Mobilizers with one velocity have it, balls, whose three velocities are w_FM_F, and those of floating base bodies, with
the frames W and B: of these r exerts no forces of velocity products, as w x r w = 0. With the motion V_PB_W across the
mobilizer,

    sum_k v_k^2 = |V_PB_W|^2 / |H_PB_W[0]|^2 of one velocity, |w_PB_W|^2 of a ball, |V_PB_W|^2 of six.     (2)
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.inverse_dynamics import calc_inverse_dynamics
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology, Velocities
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


@device
def calc_mass_matrix(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    # Work:
    scratch_work: Scratch,  # shape [num_mobods]
    # Out:
    M_out: FloatTable,  # both triangles of the mass matrix, shape [num_v, num_v]
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


@device
def calc_mass_matrix_by_columns(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    parameters: Parameters,  # shape [num_mobods]
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    zero_gravity_in: Floats,  # zeros, shape [3]
    zero_forces_in: FloatTable,  # zeros, shape [num_mobods, 6]
    # Work:
    velocity_work: Velocities,  # shape [num_mobods]
    scratch_work: Scratch,  # shape [num_mobods]
    vdot_work: Floats,  # shape [num_v]
    tau_work: Floats,  # shape [num_v]
    # Out:
    M_out: FloatTable,  # shape [num_v, num_v]
) -> None:
    """Computes the mass matrix, equation (1)."""
    num_v = vdot_work.shape[0]
    for k in range(num_v):
        vdot_work[k] = 0.0
    for i in range(topology.shape[0]):  # v = 0
        for j in range(6):
            velocity_work[i]["V_PB_W"][j] = 0.0
            velocity_work[i]["V_WB_W"][j] = 0.0
            velocity_work[i]["Ab_WB_W"][j] = 0.0
            velocity_work[i]["Fb_Bo_W"][j] = 0.0
    for k in range(num_v):
        vdot_work[k] = 1.0
        calc_inverse_dynamics(
            topology, parameters, zero_gravity_in, position_in, velocity_work, vdot_work, zero_forces_in,
            scratch_work, tau_work,
        )  # fmt: skip
        vdot_work[k] = 0.0
        for r in range(num_v):
            M_out[r, k] = tau_work[r]


mass_matrix_by_columns = kernel(calc_mass_matrix_by_columns)


@device
def factorize(topology: Array, M_io: Array) -> None:
    """Replaces the lower triangle of M by L, and its diagonal by Delta^-1, equation (1)."""
    for i in range(topology.shape[0] - 1, 0, -1):
        for k in range(topology[i]["num_v"] - 1, -1, -1):
            eliminate(topology, i, k, M_io)


@device
def eliminate(topology: Array, i: int, k: int, M_io: Array) -> None:
    """Does in (1) what velocity k of mobod i asks for, after all with greater numbers; M_io holds its pivot."""
    row = topology[i]["v_start"] + k
    M_io[row, row] = 1.0 / M_io[row, row]
    a, l = _inboard(topology, i, k)
    while a > 0:
        first, end, a, l = _run(topology, a, l)
        for r in range(end - 1, first - 1, -1):
            L_kr = M_io[row, r] * M_io[row, row]
            _subtract_part(M_io, r, L_kr, row, first, r + 1)  # here row still holds Delta L
            b, m = a, l
            while b > 0:
                start, stop, b, m = _run(topology, b, m)
                _subtract_part(M_io, r, L_kr, row, start, stop)
            M_io[row, r] = L_kr


@device
def multiply_by_inverse(topology: Array, M_in: Array, sign: float, X_io: Array) -> None:
    """Replaces Y by sign M^-1 Y, equation (2), with the factors of M; Y has one row a velocity.

    Rows are subtracted in pairs, which reads and writes the row that changes half as often.
    """
    for i in range(topology.shape[0] - 1, 0, -1):
        end = _end_of_velocities(topology, i, X_io.shape[0])
        for row in range(topology[i]["v_start"] + topology[i]["num_v"] - 1, topology[i]["v_start"] - 1, -1):
            # L^T Z = Y
            r = row + 1
            while r + 1 < end:
                _subtract_two(X_io, row, M_in[r, row], r, M_in[r + 1, row], r + 1)
                r += 2
            if r < end:
                _subtract_one(X_io, row, M_in[r, row], r)
    for i in range(1, topology.shape[0]):
        for k in range(topology[i]["num_v"]):
            row = topology[i]["v_start"] + k
            # L X = Delta^-1 Z
            scale = sign * M_in[row, row]
            for c in range(X_io.shape[1]):
                X_io[row, c] *= scale
            a, l = _inboard(topology, i, k)
            while a > 0:
                r = topology[a]["v_start"] + l
                a, l = _inboard(topology, a, l)
                if a > 0:
                    s = topology[a]["v_start"] + l
                    _subtract_two(X_io, row, M_in[row, r], r, M_in[row, s], s)
                    a, l = _inboard(topology, a, l)
                else:
                    _subtract_one(X_io, row, M_in[row, r], r)


@inlined
def _inboard(topology: Array, i: int, k: int) -> tuple[int, int]:
    """The velocity inboard of velocity k of mobod i: number of the mobod (0 without one), and index within it."""
    if k > 0:
        return i, k - 1
    a = topology[i]["parent"]
    while a > 0 and topology[a]["num_v"] == 0:
        a = topology[a]["parent"]
    return a, topology[a]["num_v"] - 1


@device
def _run(topology: Array, a: int, l: int) -> tuple[int, int, int, int]:
    """Velocity l of mobod a and those inboard of it, as far as their numbers follow each other.

    Returns:
        The first of these numbers, one more than the last; and the velocity inboard of them, as _inboard() does.
    """
    first = topology[a]["v_start"]
    end = first + l + 1
    b, m = _inboard(topology, a, 0)
    while b > 0 and topology[b]["v_start"] + m + 1 == first:
        first = topology[b]["v_start"]
        b, m = _inboard(topology, b, 0)
    return first, end, b, m


@inlined
def _subtract_part(X_io: Array, row: int, a: Any, r: int, first: int, end: int) -> None:
    """X[row] -= a X[r], in columns first to end."""
    for c in range(first, end):
        X_io[row, c] -= a * X_io[r, c]


@inlined
def _end_of_velocities(topology: Array, i: int, num_v: int) -> int:
    """One more than the last velocity of the subtree of mobod i."""
    end = topology[i]["subtree_end"]
    return topology[end]["v_start"] if end < topology.shape[0] else num_v


@inlined
def _subtract_one(X_io: Array, row: int, a: Any, r: int) -> None:
    """X[row] -= a X[r]."""
    for c in range(X_io.shape[1]):
        X_io[row, c] -= a * X_io[r, c]


@inlined
def _subtract_two(X_io: Array, row: int, a: Any, r: int, b: Any, s: int) -> None:
    """X[row] -= a X[r] + b X[s]."""
    for c in range(X_io.shape[1]):
        X_io[row, c] -= a * X_io[r, c] + b * X_io[s, c]


@device
def square_of_rates(node: Array, body: Array, V_PB_W: Array) -> Any:
    """Equation (2)."""
    w = rotational(V_PB_W)
    if node["num_v"] == 1:
        return _product(V_PB_W, V_PB_W) / _product(body["H_PB_W"][0], body["H_PB_W"][0])
    return _product(V_PB_W, V_PB_W) if node["num_v"] == 6 else dot(w, w)


@device
def _product(a: Array, b: Array) -> Any:
    return dot(rotational(a), rotational(b)) + dot(translational(a), translational(b))
