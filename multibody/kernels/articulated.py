"""Operations on articulated body inertias, in the notation and equation numbers of forward_dynamics.py.

In blocks, P = [J, K^T; K, M] maps [alpha; a] to [t; f]. J and M are symmetric: only their lower
triangles are kept (28 % of a forward dynamics of 12 bodies, against P as a full 6x6 matrix).
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.hinge import num_free
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    dot,
    power,
    rotational,
    scaled,
    set_spatial,
    translational,
    vector,
)

__all__ = [
    "PIVOT_TOLERANCE",
    "add_shifted_inertia",
    "multiply_inertia",
    "project_hinge_inertia",
    "set_rigid_inertia",
    "subtract_hinge_inertia",
]

PIVOT_TOLERANCE = 1e-13


@device
def set_rigid_inertia(mass: float, h: Vector3, I_BBo_W: Array, work: Array) -> None:
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


@device
def multiply_inertia(work: Array, alpha: Vector3, a: Vector3) -> tuple[Vector3, Vector3]:
    """P [alpha; a]: t = J alpha + K^T a and f = K alpha + M a."""
    K = work["K_B_W"]
    J_0, J_1, J_2 = _symmetric(work["J_B_W"])
    M_0, M_1, M_2 = _symmetric(work["M_B_W"])
    K_0, K_1, K_2 = vector(K[0]), vector(K[1]), vector(K[2])
    t = (dot(J_0, alpha), dot(J_1, alpha), dot(J_2, alpha))
    t = add(add(add(t, scaled(a[0], K_0)), scaled(a[1], K_1)), scaled(a[2], K_2))
    f = (dot(K_0, alpha) + dot(M_0, a), dot(K_1, alpha) + dot(M_1, a), dot(K_2, alpha) + dot(M_2, a))
    return t, f


@device
def _symmetric(S: Array) -> tuple[Vector3, Vector3, Vector3]:
    """The rows of the symmetric matrix whose lower triangle S holds."""
    return (S[0, 0], S[1, 0], S[2, 0]), (S[1, 0], S[1, 1], S[2, 1]), (S[2, 0], S[2, 1], S[2, 2])


@device
def project_hinge_inertia(
    node: Array, fixed: Array, body: Array, extra_diagonal_in: Array, work: Array
) -> bool:
    """Computes Y, L and 1/Delta of one hinge, (2) and (3); False if a pivot is not safely positive."""
    H, Y, D = body["H_PB_W"], work["Y_B_W"], work["D_B"]
    for k in range(num_free(node, fixed)):
        # U_k = P H_k, D_kl = H_l . U_k  (2)
        w, v = rotational(H[k]), translational(H[k])
        t, f = multiply_inertia(work, w, v)
        set_spatial(Y[k], t, f)
        for l in range(k + 1):
            D[k, l] = power(H, l, t, f)
        extra = extra_diagonal_in[node["v_start"] + k]
        if node["num_v"] == 1:
            extra += fixed["reflected_inertia"]
        D[k, k] += extra
        # Row k of L and Delta, and Y_k = U_k - sum_l L_kl Y_l  (3)
        for l in range(k):
            for j in range(l):
                D[k, l] -= D[k, j] * D[l, j]  # so far row k holds L_kl Delta_l
        for l in range(k):
            L_kl = D[k, l] * D[l, l]
            D[k, k] -= D[k, l] * L_kl
            D[k, l] = L_kl
            for j in range(6):
                Y[k, j] -= L_kl * Y[l, j]
        # scale  (11)
        scale = 2.0 * work["mass_C"] * dot(v, v) + work["trace_C"] * dot(w, w) + extra
        if not exceeds(D[k, k], PIVOT_TOLERANCE * scale):
            return False
        D[k, k] = 1.0 / D[k, k]
    return True


@device
def subtract_hinge_inertia(num_v: int, work: Array) -> None:
    """P -= Y^T Delta^-1 Y, equation (4)."""
    J, K, M = work["J_B_W"], work["K_B_W"], work["M_B_W"]
    for k in range(num_v):
        y_rot, y_trans = rotational(work["Y_B_W"][k]), translational(work["Y_B_W"][k])
        s_rot, s_trans = scaled(work["D_B"][k, k], y_rot), scaled(work["D_B"][k, k], y_trans)
        for r in range(3):
            for c in range(r + 1):
                J[r, c] -= s_rot[r] * y_rot[c]
                M[r, c] -= s_trans[r] * y_trans[c]
            for c in range(3):
                K[r, c] -= s_trans[r] * y_rot[c]


@device
def add_shifted_inertia(work: Array, p: Vector3, parent_work: Array) -> None:
    """Adds X^T P X, which is P about Bo as it is felt at Po, to P of the parent, equation (1).

    In blocks: M' = M,  K'^T = K^T + [p]x M,  J' = J + [p]x K + ([p]x K')^T.
    """
    J, K, M = work["J_B_W"], work["K_B_W"], work["M_B_W"]
    J_P, K_P, M_P = parent_work["J_B_W"], parent_work["K_B_W"], parent_work["M_B_W"]
    M_0, M_1, M_2 = _symmetric(M)
    K_0, K_1, K_2 = vector(K[0]), vector(K[1]), vector(K[2])
    # Rows of K', columns of [p]x K, columns of [p]x K'.
    Kp = (add(K_0, cross(p, M_0)), add(K_1, cross(p, M_1)), add(K_2, cross(p, M_2)))
    A = _cross_columns(p, K_0, K_1, K_2)
    B = _cross_columns(p, Kp[0], Kp[1], Kp[2])
    for r in range(3):
        for c in range(r + 1):
            J_P[r, c] += J[r, c] + A[c][r] + B[r][c]
            M_P[r, c] += M[r, c]
        for c in range(3):
            K_P[r, c] += Kp[r][c]


@device
def _cross_columns(p: Vector3, K_0: Vector3, K_1: Vector3, K_2: Vector3) -> tuple[Vector3, Vector3, Vector3]:
    """The columns of [p]x K, given the rows of K."""
    return (
        cross(p, (K_0[0], K_1[0], K_2[0])),
        cross(p, (K_0[1], K_1[1], K_2[1])),
        cross(p, (K_0[2], K_1[2], K_2[2])),
    )
