"""Operations on articulated body inertias, in the notation and equation numbers of forward_dynamics.py.

The spatial inertia P = [J, K^T; K, M] maps [alpha; a] to [t; f]; J, M and P are symmetric.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.layout import PRISMATIC, REVOLUTE
from merganser.multibody.kernels.scalars import exceeds
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    add_spatial,
    cross,
    dot,
    power,
    rotational,
    scaled,
    translational,
    vector,
)

__all__ = [
    "PIVOT_TOLERANCE",
    "add_shifted_inertia",
    "project_hinge_inertia",
    "set_rigid_inertia",
    "subtract_hinge_inertia",
]

PIVOT_TOLERANCE = 1e-13


@device
def set_rigid_inertia(mass: float, h: Vector3, I_BBo_W: Array, P_out: Array) -> None:
    """P = M_BBo_W = [I, [h]x; -[h]x, mass 1] with the first moment h = mass p_BoBcm_W."""
    for r in range(3):
        for c in range(3):
            P_out[r, c] = I_BBo_W[r, c]
            P_out[r + 3, c + 3] = 0.0
        P_out[r + 3, r + 3] = mass
        P_out[r, r + 3] = 0.0
        P_out[r + 3, r] = 0.0
    P_out[0, 4] = P_out[4, 0] = -h[2]
    P_out[0, 5] = P_out[5, 0] = h[1]
    P_out[1, 5] = P_out[5, 1] = -h[0]
    P_out[1, 3] = P_out[3, 1] = h[2]
    P_out[2, 3] = P_out[3, 2] = -h[1]
    P_out[2, 4] = P_out[4, 2] = h[0]


@device
def project_hinge_inertia(
    node: Array, fixed: Array, body: Array, extra_diagonal_in: Array, work: Array
) -> bool:
    """Computes Y, L and 1/Delta of one hinge, (2) and (3); False if a pivot is not safely positive."""
    H, P, Y, D = body["H_PB_W"], work["P_B_W"], work["Y_B_W"], work["D_B"]
    for k in range(node["num_v"]):
        # U_k = P H_k, D_kl = H_l . U_k  (2)
        _set_product(P, H[k], Y[k])
        u_rot, u_trans = rotational(Y[k]), translational(Y[k])
        for l in range(k + 1):
            D[k, l] = power(H, l, u_rot, u_trans)
        extra = extra_diagonal_in[node["v_start"] + k]
        if node["mobilizer"] == REVOLUTE or node["mobilizer"] == PRISMATIC:
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
        w, v = rotational(H[k]), translational(H[k])
        scale = 2.0 * work["mass_C"] * dot(v, v) + work["trace_C"] * dot(w, w) + extra
        if not exceeds(D[k, k], PIVOT_TOLERANCE * scale):
            return False
        D[k, k] = 1.0 / D[k, k]
    return True


@device
def _set_product(P: Array, H_k: Array, U_k: Array) -> None:
    """U_k = P H_k, shape [6]."""
    w, v = rotational(H_k), translational(H_k)
    for j in range(6):
        U_k[j] = dot(rotational(P[j]), w) + dot(translational(P[j]), v)


@device
def subtract_hinge_inertia(num_v: int, work: Array) -> None:
    """P -= Y^T Delta^-1 Y, equation (4)."""
    P = work["P_B_W"]
    for k in range(num_v):
        Y_k = work["Y_B_W"][k]
        y_rot, y_trans = rotational(Y_k), translational(Y_k)
        for r in range(6):
            s = -work["D_B"][k, k] * Y_k[r]
            add_spatial(P[r], scaled(s, y_rot), scaled(s, y_trans))


@device
def add_shifted_inertia(P: Array, p: Vector3, P_out: Array) -> None:
    """P_out += X^T P X: P about Bo, felt at Po, where p = p_PoBo_W.

    With P' = X^T P X in blocks: M' = M, K'^T = K^T + [p]x M, J' = J + [p]x K + ([p]x K')^T.
    """
    # Rows of K'; row c of K is P[c + 3, 0:3], and M is symmetric.
    K_0 = add(vector(P[3]), cross(p, translational(P[3])))
    K_1 = add(vector(P[4]), cross(p, translational(P[4])))
    K_2 = add(vector(P[5]), cross(p, translational(P[5])))
    for c in range(3):
        p_x_K = cross(p, (P[3, c], P[4, c], P[5, c]))
        p_x_Kp = cross(p, (K_0[c], K_1[c], K_2[c]))
        for r in range(3):
            P_out[r, c] += P[r, c] + p_x_K[r]
            P_out[c, r] += p_x_Kp[r]
            P_out[r + 3, c + 3] += P[r + 3, c + 3]  # M' = M
    _add_coupling(K_0, 0, P_out)
    _add_coupling(K_1, 1, P_out)
    _add_coupling(K_2, 2, P_out)


@device
def _add_coupling(K_r: Vector3, r: int, P_out: Array) -> None:
    """Adds row r of K to both blocks of P_out that hold K."""
    for c in range(3):
        P_out[r + 3, c] += K_r[c]
        P_out[c, r + 3] += K_r[c]
