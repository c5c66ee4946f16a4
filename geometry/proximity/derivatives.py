"""How distance, normal and nearest points of a pair follow its poses.

At the minimum of h (refine.py) the pieces j with weights lambda_j balance; w_j = p_Aj - p_Bj, all in W:

    n . w_j = t,    sum_j lambda_j w_j = t n,    sum_j lambda_j = 1                          (1)

Bodies move with velocities V_WA and V_WB, and the points of a piece move with their body and along its surface:

    dp_Aj = v_A(p_Aj) + M_Aj (dn - w_A x n),   dp_Bj = v_B(p_Bj) - M_Bj (dn - w_B x n)       (2)

with M = grad grad s, the radii of curvature. With f_j the part of dw_j = dp_Aj - dp_Bj without dn, M_j = M_Aj + M_Bj,
and P the projection across n, the differential of (1) is

    (sum_j lambda_j M_j - t) dn + sum_j P w_j dlambda_j = -P sum_j lambda_j f_j              (3)
    (w_j - w_k) . dn = -n . (f_j - f_k)                                                      (4)

which is solved for dn and dlambda; and dt = n . sum_j lambda_j f_j. Equations (3) and (4) are singular where the normal
jumps, as between two points in one place: then there are no derivatives.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import kernel
from merganser.geometry.proximity.layout import FROZEN, HALF_SPACE, Hulls
from merganser.geometry.proximity.narrow_phase import set_relative_pose
from merganser.geometry.proximity.refine import refine, set_solution
from merganser.geometry.proximity.supports import curvatures, piece_point, support_piece
from merganser.geometry.proximity.vectors import Vector3, rotated_back, tangents

__all__ = ["PairDifferential", "PoseDifferential", "differentiate_pair"]

Array = NDArray[Any]

_SINGULAR = 1e-9  # least pivot of (3) and (4), of the size of the greatest


class PoseDifferential(NamedTuple):
    """A pose and its derivatives by k variables.

    Attributes:
        X: homogeneous matrix, shape [4, 4].
        dp: of the position, shape [3, k].
        w: angular velocities, shape [3, k].
    """

    X: Array
    dp: Array
    w: Array

    @classmethod
    def of(cls, X: Array, dX: Array) -> PoseDifferential:
        """Of a pose, shape [4, 4], and its derivatives, shape [4, 4, k]."""
        turn = np.einsum("ijk,lj->ilk", dX[:3, :3], X[:3, :3])  # dR R^T = [w]x
        turn = 0.5 * (turn - turn.transpose(1, 0, 2))
        return cls(X, dX[:3, 3], np.array([turn[2, 1], turn[0, 2], turn[1, 0]]))

    def move(self, p_WP: Array) -> Array:
        """Derivatives of a point that is fixed to the body, shape [3, k]."""
        return self.dp + np.cross(self.w, (p_WP - self.X[:3, 3])[:, None], axis=0)


class PairDifferential(NamedTuple):
    """Derivatives of the result of a pair by k variables.

    Attributes:
        distance: shape [k].
        nhat_BA_W: shape [3, k].
        p_WCa, p_WCb: of the nearest points in W, shape [3, k].
    """

    distance: Array
    nhat_BA_W: Array
    p_WCa: Array
    p_WCb: Array


@kernel
def _find_pieces(
    # Model:
    geometries: Any,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Any,  # shape [num_geometries, 4, 4]
    i: int,
    j: int,
    n_0: float,  # from A to B, in A
    n_1: float,
    n_2: float,
    # Work:
    work: Any,  # work_dtype, shape [1]
) -> bool:
    """Finds which pieces balance at a minimum of h, and their weights; they stand in the bundle of `work`."""
    w = work[0]
    set_relative_pose(X_WG, i, j, w.X_AB)
    set_solution(w, (n_0, n_1, n_2), 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    return refine(geometries[i], geometries[j], hulls, w, (n_0, n_1, n_2))


def differentiate_pair(
    geometries: Array,
    hulls: Hulls,
    pair: tuple[int, int],
    result: Any,
    A: PoseDifferential,
    B: PoseDifferential,
    work: Array,
) -> PairDifferential | None:
    """Differentiates the result of a pair.

    Args:
        geometries: geometry_dtype, shape [n].
        hulls: vertices of hulls.
        pair: rows of A and B.
        result: record of distance_dtype.
        A: the pose of A and its derivatives.
        B: the pose of B and its derivatives.
        work: work_dtype, shape [1].

    Returns:
        The derivatives, or None where there are none because the normal jumps.
    """
    a, b = (geometries.view(np.recarray)[row] for row in pair)
    if a.kind == HALF_SPACE:
        return _with_half_space(b, hulls, A, B, 1.0)
    if b.kind == HALF_SPACE:
        return _with_half_space(a, hulls, B, A, -1.0)
    pieces = _pieces(geometries, hulls, pair, result, A, B, work)
    if pieces is None:
        return None
    n, t, weights, p_A, p_B, M_A, M_B = pieces
    E = np.array(tangents(tuple(n.tolist()))).T
    turn_A, turn_B = np.cross(A.w, n[:, None], axis=0), np.cross(B.w, n[:, None], axis=0)
    dp_A = np.array([A.move(p) - M @ turn_A for p, M in zip(p_A, M_A)])
    dp_B = np.array([B.move(p) + M @ turn_B for p, M in zip(p_B, M_B)])
    f = dp_A - dp_B
    M = np.einsum("j,jrc->rc", weights, M_A + M_B)
    mean_f = np.einsum("j,jrk->rk", weights, f)
    last = len(weights) - 1
    D = E.T @ ((p_A - p_B)[:last] - (p_A - p_B)[last]).T
    matrix = np.block([[E.T @ M @ E - t * np.eye(2), D], [D.T, np.zeros((last, last))]])
    right = np.concatenate([-E.T @ mean_f, -np.einsum("r,jrk->jk", n, f[:last] - f[last])])
    size = float(a.bound + b.bound + a.radius + b.radius)
    if np.linalg.svd(matrix / size, compute_uv=False).min(initial=math.inf) < _SINGULAR:
        return None
    solution = np.linalg.solve(matrix, right)
    dn = E @ solution[:2]
    dweights = np.concatenate([solution[2:], -solution[2:].sum(axis=0, keepdims=True)])
    # (2), and the mean of the pieces
    dp_A = np.einsum("j,jrk->rk", weights, dp_A) + np.einsum("jk,jr->rk", dweights, p_A)
    dp_B = np.einsum("j,jrk->rk", weights, dp_B) + np.einsum("jk,jr->rk", dweights, p_B)
    dp_A = dp_A + np.einsum("j,jrc->rc", weights, M_A) @ dn + a.radius * dn
    dp_B = dp_B - np.einsum("j,jrc->rc", weights, M_B) @ dn - b.radius * dn
    return PairDifferential(-n @ mean_f, -dn, dp_A, dp_B)


def _pieces(
    geometries: Array,
    hulls: Hulls,
    pair: tuple[int, int],
    result: Any,
    A: PoseDifferential,
    B: PoseDifferential,
    work: Array,
) -> tuple[Array, float, Array, Array, Array, Array, Array] | None:
    """n, t, and of the pieces with weight: weights, points and radii of curvature of A and of B, all in W."""
    a, b = (geometries.view(np.recarray)[row] for row in pair)
    R_WA, R_WB = A.X[:3, :3], B.X[:3, :3]
    n_A = tuple((-R_WA.T @ result["nhat_BA_W"]).tolist())
    X_WG = np.stack([A.X, B.X])
    _find_pieces(geometries[list(pair)], hulls, X_WG, 0, 1, *n_A, work)
    w = work.view(np.recarray)[0]
    t = -float(result["distance"]) - a.radius - b.radius
    size = a.bound + b.bound
    if abs(w.value - t) > 1e-9 * max(size, abs(t)):  # it went down to another minimum
        return None
    n_A = tuple(w.normal.tolist())
    e_A = tangents(n_A)
    m_B = tuple(-x for x in rotated_back(w.X_AB, n_A))
    e_B = tuple(rotated_back(w.X_AB, e) for e in e_A)
    E = R_WA @ np.array(e_A).T
    rows = [j for j in range(w.bundle) if w.weight[j] > 0.0]
    points_A, points_B, M_A, M_B = [], [], [], []
    for j in rows:
        p_A = w.cut_a[j] if w.piece_a[j] == FROZEN else np.array(piece_point(a, hulls, w.piece_a[j], n_A))
        points_A.append(A.X[:3, 3] + R_WA @ p_A)
        if w.piece_b[j] == FROZEN:
            points_B.append(A.X[:3, 3] + R_WA @ w.cut_b[j])
        else:
            points_B.append(B.X[:3, 3] + R_WB @ np.array(piece_point(b, hulls, w.piece_b[j], m_B)))
        M_A.append(_radii(a, w.piece_a[j], n_A, e_A, E))
        M_B.append(_radii(b, w.piece_b[j], m_B, e_B, E))
    n = R_WA @ np.array(n_A)
    return n, t, w.weight[rows], np.array(points_A), np.array(points_B), np.array(M_A), np.array(M_B)


def _radii(g: Any, piece: int, n: Vector3, tangents_G: tuple[Vector3, Vector3], E: Array) -> Array:
    """Radii of curvature as a matrix in W, with the tangents as columns of E; none of points that stand still."""
    if piece == FROZEN:
        return np.zeros((3, 3))
    uu, uv, vv = curvatures(g, piece, n, *tangents_G)
    return E @ np.array([[uu, uv], [uv, vv]]) @ E.T


def _with_half_space(g: Any, hulls: Hulls, H: PoseDifferential, G: PoseDifferential, side: float) -> PairDifferential:
    """For a half space, whose normal turns with it.

    Args:
        g: the other geometry.
        hulls: vertices of hulls.
        H: pose of the half space.
        G: pose of the other.
        side: 1 if the half space is A, -1 if it is B.
    """
    up = H.X[:3, 2]
    d_up = np.cross(H.w, up[:, None], axis=0)
    m_G = tuple((-G.X[:3, :3].T @ up).tolist())
    piece = support_piece(g, hulls, m_G)
    e_G = tangents(m_G)
    M = _radii(g, piece, m_G, e_G, G.X[:3, :3] @ np.array(e_G).T)
    p_core = G.X[:3, 3] + G.X[:3, :3] @ np.array(piece_point(g, hulls, piece, m_G))
    relative = np.cross(G.w, up[:, None], axis=0) - d_up
    dp = G.move(p_core) + M @ relative - g.radius * d_up
    p = p_core - g.radius * up
    distance = float(up @ (p - H.X[:3, 3]))
    d_distance = d_up.T @ (p - H.X[:3, 3]) + up @ (dp - H.dp)
    dq = dp - np.outer(up, d_distance) - distance * d_up
    if side > 0.0:
        return PairDifferential(d_distance, -d_up, dq, dp)
    return PairDifferential(d_distance, d_up, dp, dq)
