"""How distance, normal and nearest points of a pair follow its poses.

The nearest points p_A, p_B of the cores, the normal n from A to B and the value t of refine.py, (1) there, obey

    p_A - p_B = t n                                                                          (1)

all in W. Bodies move with velocities V_WA and V_WB; each point moves with its body, turns along its surface with the
radii of curvature M, and slides along the flat directions U of the feature on which it lies (support_features.py):

    dp_A = v_A(p_A) + M_A (dn - w_A x n) + U_A a,   dp_B = v_B(p_B) + M_B (w_B x n - dn) + U_B b   (2)

while n stays across these features:

    U_A^T dn = U_A^T (w_A x n),   U_B^T dn = U_B^T (w_B x n)                                 (3)

With P the projection across n, the differential of (1) is

    (M_A + M_B - t) dn + U_A a - U_B b = P (v_B - v_A) + M_A (w_A x n) + M_B (w_B x n)       (4)
    dt = n . (v_A(p_A) - v_B(p_B))                                                           (5)

(3) and (4) are solved for dn, a and b. They are singular where the normal jumps, as between two points in one place:
there are no derivatives. Features and not only the points decide: a foot in the middle of a face, or on its diagonal,
is on a face. At the border of a feature the larger one counts.

Where two features are parallel (3) contradicts itself: faces, or lines, that lie on each other come apart as one body
turns. Along a direction that is flat on both sides, n follows the one that reaches beyond the other both ways: what
stands on a plate stands on its normal. If none does, n follows another feature to each side, and here the one of more
dimensions, A's if both have as many. The point of the other body stays where it is on it. (5) holds there too: it is
what those nearest points do that were returned, and lies between the derivatives to both sides (J. Danskin 1967, The
Theory of Max-Min, on derivatives of a maximum).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.proximity.layout import Hulls
from merganser.geometry.proximity.support_features import reach_along, support_feature
from merganser.geometry.proximity.vectors import tangents

__all__ = ["PairDifferential", "PoseDifferential", "differentiate_pair"]

Array = NDArray[Any]

_SINGULAR = 1e-9  # least curvature of h at a minimum, of the size of the pair
_PARALLEL = 1e-7  # sine of the angle between edges that span no face, as in boxes.py
_PREFERENCE = 1e-12  # by how much, of the size, a feature must reach beyond another to count as longer
_UNSOLVED = 1e-6  # what is left of (1) where no minimum was found, of the size of the pair


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


class _Side:
    """One geometry of a pair, in W.

    Args:
        g: the geometry.
        hulls: vertices of hulls.
        G: its pose and the derivatives.
        p: the nearest point of its core.
        n: unit normal, out of the core if `out` is 1, into it if that is -1.
        out: see there.

    Attributes:
        turn: w x n, shape [3, k].
        dp: v(p), shape [3, k].
        flat: directions in which the point may slide, shape [0 to 2, 3].
        radii: M of it, shape [3, 3].
    """

    def __init__(self, g: Any, hulls: Hulls, G: PoseDifferential, p: Array, n: Array, out: float) -> None:
        R_WG = G.X[:3, :3]
        n_G, p_G = R_WG.T @ (out * n), R_WG.T @ (p - G.X[:3, 3])
        feature = support_feature(g, hulls, tuple(n_G.tolist()), tuple(p_G.tolist()))
        self._g, self._hulls, self._R_WG, self._p_G = g, hulls, R_WG, p_G
        self.turn, self.dp = np.cross(G.w, n[:, None], axis=0), G.move(p)
        self.flat, self.radii = feature.flat @ R_WG.T, R_WG @ feature.radii @ R_WG.T

    def is_flat(self, u: Array) -> bool:
        """Whether the point may slide in a direction across n."""
        rest = u - self.flat.T @ (self.flat @ u)
        return bool(np.linalg.norm(rest) <= _PARALLEL)

    def reach(self, u: Array) -> tuple[float, float]:
        """How far it may, both ways."""
        return reach_along(self._g, self._hulls, self._p_G, self._R_WG.T @ u)


def differentiate_pair(
    geometries: Array, hulls: Hulls, pair: tuple[int, int], result: Any, A: PoseDifferential, B: PoseDifferential
) -> PairDifferential | None:
    """Differentiates the result of a pair.

    Args:
        geometries: geometry_dtype, shape [n].
        hulls: vertices of hulls.
        pair: rows of A and B.
        result: record of distance_dtype.
        A: the pose of A and its derivatives.
        B: the pose of B and its derivatives.

    Returns:
        The derivatives, or None where there are none because the normal jumps.
    """
    a, b = (geometries.view(np.recarray)[row] for row in pair)
    size = sum(float(length) for length in (a.bound, b.bound, a.radius, b.radius) if length < math.inf)
    n, t = -result["nhat_BA_W"], -float(result["distance"]) - a.radius - b.radius
    p_A, p_B = result["p_WCa"] - a.radius * n, result["p_WCb"] + b.radius * n
    if not np.abs(p_A - p_B - t * n).max() <= _UNSOLVED * max(size, abs(t)):
        return None
    side_A, side_B = _Side(a, hulls, A, p_A, n, 1.0), _Side(b, hulls, B, p_B, n, -1.0)
    solution = _solve(side_A, side_B, n, t, size)
    if solution is None:
        return None
    dn, slide_A, slide_B = solution
    # (2) and (5)
    dp_A = side_A.dp + side_A.radii @ (dn - side_A.turn) + slide_A
    dp_B = side_B.dp - side_B.radii @ (dn - side_B.turn) + slide_B
    d_distance = n @ (side_B.dp - side_A.dp)
    return PairDifferential(d_distance, -dn, dp_A + a.radius * dn, dp_B - b.radius * dn)


def _solve(A: _Side, B: _Side, n: Array, t: float, size: float) -> tuple[Array, Array, Array] | None:
    """dn, U_A a and U_B b of (3) and (4), shape [3, k] each; None if they are singular."""
    E = np.array(tangents(tuple(n.tolist()))).T
    flat = _flat_directions(A, B, n, _PREFERENCE * size)
    C = np.array([E.T @ u for u, _ in flat]).reshape(-1, 2)
    rates = np.array([u @ side.turn for u, side in flat]).reshape(len(flat), A.dp.shape[1])
    H = E.T @ (A.radii + B.radii) @ E - t * np.eye(2)
    right = E.T @ (B.dp - A.dp + A.radii @ A.turn + B.radii @ B.turn)
    # What (3) leaves free of dn: nothing, the tangent across one edge, or both tangents.
    free = np.zeros((2, 0)) if len(C) == 2 else np.array([[-C[0, 1]], [C[0, 0]]]) if len(C) else np.eye(2)
    curvature = free.T @ H @ free
    if free.size and not np.linalg.eigvalsh(curvature)[0] > _SINGULAR * size:
        return None
    dn = np.linalg.pinv(C) @ rates if len(C) else np.zeros_like(right)
    if free.size:
        dn = dn + free @ np.linalg.solve(curvature, free.T @ (right - H @ dn))
    slides = np.linalg.pinv(C.T) @ (right - H @ dn) if len(C) else np.zeros((0, right.shape[1]))
    slide_A, slide_B = np.zeros_like(A.dp), np.zeros_like(A.dp)
    for (u, side), slide in zip(flat, slides):
        if side is A:
            slide_A = slide_A + np.outer(u, slide)
        else:
            slide_B = slide_B - np.outer(u, slide)
    return E @ dn, slide_A, slide_B


def _flat_directions(A: _Side, B: _Side, n: Array, tolerance: float) -> list[tuple[Array, _Side]]:
    """Directions along which (3) tells how the normal turns, and the side that it follows there; two at most."""
    if max(len(A.flat), len(B.flat)) < 2:
        found = [(u, side) for side in (A, B) for u in side.flat]
        if len(found) < 2 or not B.is_flat(A.flat[0]):
            return found
        return [(A.flat[0], _leader(A, B, A.flat[0], tolerance))]
    plane = A.flat if len(A.flat) == 2 else B.flat
    if len(A.flat) + len(B.flat) == 3:  # a line on a face
        line = B.flat[0] if len(A.flat) == 2 else A.flat[0]
        plane = np.array([line, np.cross(n, line)])
    return [(u, _leader(A, B, u, tolerance)) for u in plane]


def _leader(A: _Side, B: _Side, u: Array, tolerance: float) -> _Side:
    """The side that the normal follows along u: if both are flat there, the one that goes on beyond the other."""
    if not (A.is_flat(u) and B.is_flat(u)):
        return A if A.is_flat(u) else B
    reach_A, reach_B = A.reach(u), B.reach(u)
    if reach_A[0] <= reach_B[0] + tolerance and reach_B[1] - tolerance <= reach_A[1]:
        return A
    if reach_B[0] <= reach_A[0] + tolerance and reach_A[1] - tolerance <= reach_B[1]:
        return B
    return A if len(A.flat) >= len(B.flat) else B
