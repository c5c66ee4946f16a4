"""Operations on articulated body inertias, in the notation and equation numbers of forward_dynamics.py.

In blocks, P = [J, K^T; K, M] maps [alpha; a] to [t; f]. J and M are symmetric: only their lower
triangles are kept (28 % of a forward dynamics of 12 bodies, against P as a full 6x6 matrix). While a mobod is worked
on, its P is a tuple of three tuples, which need no storage (20 % of a forward dynamics of an arm).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from merganser.framework.native import inlined
from merganser.multibody.kernels.locking import num_free
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
)

__all__ = [
    "PIVOT_TOLERANCE",
    "Inertia",
    "add_shifted_inertia",
    "articulated_inertia",
    "multiply_inertia",
    "project_hinge_inertia",
    "set_rigid_inertia",
    "subtract_row",
]

PIVOT_TOLERANCE = 1e-13

Symmetric3: TypeAlias = tuple[Any, Any, Any, Any, Any, Any]  # the lower triangle, row by row
Inertia: TypeAlias = tuple[Symmetric3, Matrix3, Symmetric3]  # J, K, M


@inlined
def set_rigid_inertia(mass: Any, h: Vector3, I_BBo_W: Array, work: Array) -> None:
    """P = M_BBo_W: J = I, K = -[h]x, M = mass 1, with the first moment h = mass p_BoBcm_W."""
    J, K, M = work["J_B_W"], work["K_B_W"], work["M_B_W"]
    for r in range(3):
        for c in range(r + 1):
            J[r, c] = I_BBo_W[r, c]
            M[r, c] = 0.0
        M[r, r] = mass
        K[r, r] = 0.0
    K[0, 1], K[0, 2], K[1, 2] = h[2], -h[1], h[0]
    K[1, 0], K[2, 0], K[2, 1] = -h[2], h[1], -h[0]


@inlined
def articulated_inertia(work: Array) -> Inertia:
    """P, as it is kept in the workspace."""
    return _symmetric(work["J_B_W"]), matrix(work["K_B_W"]), _symmetric(work["M_B_W"])


@inlined
def _symmetric(S: Array) -> Symmetric3:
    return S[0, 0], S[1, 0], S[1, 1], S[2, 0], S[2, 1], S[2, 2]


@inlined
def multiply_inertia(P: Inertia, alpha: Vector3, a: Vector3) -> tuple[Vector3, Vector3]:
    """P [alpha; a]: t = J alpha + K^T a and f = K alpha + M a."""
    J, K, M = P
    K_a = add(add(scaled(a[0], K[0]), scaled(a[1], K[1])), scaled(a[2], K[2]))
    return add(_times_symmetric(J, alpha), K_a), add(transform(K, alpha), _times_symmetric(M, a))


@inlined
def _times_symmetric(S: Symmetric3, a: Vector3) -> Vector3:
    return (
        S[0] * a[0] + S[1] * a[1] + S[3] * a[2],
        S[1] * a[0] + S[2] * a[1] + S[4] * a[2],
        S[3] * a[0] + S[4] * a[1] + S[5] * a[2],
    )


@inlined
def project_hinge_inertia(
    node: Array, fixed: Array, body: Array, extra_diagonal_in: Array, P: Inertia, work: Array
) -> bool:
    """Computes Y, L and 1/Delta of one hinge, (2) and (3); False if a pivot is not safely positive."""
    H, Y, D = body["H_PB_W"], work["Y_B_W"], work["D_B"]
    for k in range(num_free(node, fixed)):
        # U_k = P H_k, D_kl = H_l . U_k  (2)
        w, v = rotational(H[k]), translational(H[k])
        t, f = multiply_inertia(P, w, v)
        for l in range(k):
            D[k, l] = power(H, l, t, f)
        extra = extra_diagonal_in[node["v_start"] + k] + fixed["reflected_inertia"]
        D_kk = dot(w, t) + dot(v, f) + extra
        # Row k of L and Delta, and Y_k = U_k - sum_l L_kl Y_l  (3)
        for l in range(k):
            for j in range(l):
                D[k, l] -= D[k, j] * D[l, j]  # so far row k holds L_kl Delta_l
        for l in range(k):
            L_kl = D[k, l] * D[l, l]
            D_kk -= D[k, l] * L_kl
            D[k, l] = L_kl
            t = subtract(t, scaled(L_kl, rotational(Y[l])))
            f = subtract(f, scaled(L_kl, translational(Y[l])))
        set_spatial(Y[k], t, f)
        # scale  (11)
        scale = 2.0 * work["mass_C"] * dot(v, v) + work["trace_C"] * dot(w, w) + extra
        if not exceeds(D_kk, PIVOT_TOLERANCE * scale):
            return False
        D[k, k] = 1.0 / D_kk
    return True


@inlined
def subtract_row(P: Inertia, inverse: Any, t: Vector3, f: Vector3) -> Inertia:
    """P - Y_k^T Delta_k^-1 Y_k with Y_k = [t; f], equation (4)."""
    J, K, M = P
    u, g = scaled(inverse, t), scaled(inverse, f)
    return (
        _subtract_product(J, u, t),
        (subtract(K[0], scaled(g[0], t)), subtract(K[1], scaled(g[1], t)), subtract(K[2], scaled(g[2], t))),
        _subtract_product(M, g, f),
    )


@inlined
def _subtract_product(S: Symmetric3, a: Vector3, b: Vector3) -> Symmetric3:
    """S - a b^T, of which only the lower triangle counts."""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[1] * b[0],
        S[2] - a[1] * b[1],
        S[3] - a[2] * b[0],
        S[4] - a[2] * b[1],
        S[5] - a[2] * b[2],
    )


@inlined
def add_shifted_inertia(P: Inertia, p: Vector3, parent_work: Array) -> None:
    """Adds X^T P X, which is P about Bo as it is felt at Po, to P of the parent, equation (1).

    In blocks: M' = M,  K'^T = K^T + [p]x M,  J' = J + [p]x K + ([p]x K')^T.
    """
    J, K, M = P
    J_P, K_P, M_P = parent_work["J_B_W"], parent_work["K_B_W"], parent_work["M_B_W"]
    # Rows of K'.
    N_0 = add(K[0], cross(p, (M[0], M[1], M[3])))
    N_1 = add(K[1], cross(p, (M[1], M[2], M[4])))
    N_2 = add(K[2], cross(p, (M[3], M[4], M[5])))
    # J_rc + ([p]x K)_rc + ([p]x K')_cr
    J_P[0, 0] += J[0] + (p[1] * (K[2][0] + N_2[0]) - p[2] * (K[1][0] + N_1[0]))
    J_P[1, 0] += J[1] + (p[2] * K[0][0] - p[0] * K[2][0]) + (p[1] * N_2[1] - p[2] * N_1[1])
    J_P[1, 1] += J[2] + (p[2] * (K[0][1] + N_0[1]) - p[0] * (K[2][1] + N_2[1]))
    J_P[2, 0] += J[3] + (p[0] * K[1][0] - p[1] * K[0][0]) + (p[1] * N_2[2] - p[2] * N_1[2])
    J_P[2, 1] += J[4] + (p[0] * K[1][1] - p[1] * K[0][1]) + (p[2] * N_0[2] - p[0] * N_2[2])
    J_P[2, 2] += J[5] + (p[0] * (K[1][2] + N_1[2]) - p[1] * (K[0][2] + N_0[2]))
    for c in range(3):
        K_P[0, c] += N_0[c]
        K_P[1, c] += N_1[c]
        K_P[2, c] += N_2[c]
    M_P[0, 0] += M[0]
    M_P[1, 0] += M[1]
    M_P[1, 1] += M[2]
    M_P[2, 0] += M[3]
    M_P[2, 1] += M[4]
    M_P[2, 2] += M[5]
