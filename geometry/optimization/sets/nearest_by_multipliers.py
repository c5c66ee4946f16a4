"""Nearest points of polytopes by least squares with multipliers of at least 0, without a program.

Source: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np

from merganser.geometry.optimization.sets.arguments import Array

_EXACT = 1e-10  # relative error that is allowed


def nearest_in_hull(V: Array, W: Array, target: Array) -> Array | None:
    """The point x of the hull of the columns of V, shape [n, m], with the least |W (x - target)|; None if in doubt.

    With P = W (V - target) / s, the least |P u|^2 + (1'u - 1)^2, u >= 0, is at a multiple of the weights of x: along
    u = t w, 1'w = 1, it is t^2 |P w|^2 + (t - 1)^2, which for every t is the less the shorter P w is.
    """
    if not V.shape[1]:
        return None
    P = W @ (V - target[:, np.newaxis])
    size = float(np.abs(P).max(initial=0.0))
    u = _multipliers(np.vstack((P / (size or 1.0), np.ones(V.shape[1]))))
    if u is None or not u.sum() > 0.0:
        return None
    w = u / u.sum()
    y = P @ w
    # it is the nearest if no vertex is nearer in its direction: y'(P_j - y) >= 0
    is_nearest = float((y @ P).min()) >= float(y @ y) - _EXACT * size * size
    return np.asarray(V @ w) if is_nearest else None


def nearest_in_half_spaces(A: Array, b: Array, W: Array, target: Array) -> Array | None:
    """The point x with A x <= b and the least |W (x - target)|, shape [n]; None if in doubt, or if it does not exist.

    With y = W (x - target) / s, the least |y| so that G y <= h has

        y = r_1 / r_2,    (r_1, r_2) = (G'u, -h'u) - (0, 1),    u >= 0 that makes this the shortest
    """
    if W.shape[0] != W.shape[1] or not b.size:
        return None
    try:
        back = np.linalg.inv(W)
    except np.linalg.LinAlgError:
        return None
    G, h = A @ back, b - A @ target
    if (h >= 0.0).all():
        return target.copy()
    lengths = np.linalg.norm(G, axis=1)
    if not lengths.all():
        return None
    G, h = G / lengths[:, np.newaxis], h / lengths
    size = float(-h.min())  # no solution is shorter
    E = np.vstack((G.T, -h / size))
    u = _multipliers(E)
    if u is None:
        return None
    r = E @ u
    r[-1] -= 1.0
    if not r[-1] < -1e-7:
        return None
    y = size * r[:-1] / r[-1]
    length = float(np.linalg.norm(y))
    return target + back @ y if float((G @ y - h).max()) <= _EXACT * max(length, size) else None


def have_no_common_point(A: Array, b: Array) -> bool:
    """Whether multipliers u >= 0 with A'u = 0 and b'u < 0 prove that no x has A x <= b (Farkas); False if in doubt."""
    lengths, size = np.linalg.norm(A, axis=1), float(np.abs(b).max(initial=0.0))
    if not lengths.all() or not size:
        return False
    E = np.vstack((A.T / lengths, -b / (size * lengths)))
    u = _multipliers(E)
    # Rows of length 1: of an x the length would have to be size / |E'u| without its last entry.
    return u is not None and bool(np.linalg.norm((E @ u)[:-1]) <= _EXACT) and float((E @ u)[-1]) > 0.5


def _multipliers(E: Array) -> Array | None:
    """The u >= 0 with the least |E u - (0, ..., 0, 1)|; None if the search did not converge."""
    from scipy.optimize import nnls

    goal = np.zeros(E.shape[0])
    goal[-1] = 1.0
    try:
        return np.asarray(nnls(E, goal)[0])
    except RuntimeError:
        return None
