"""How distances to terrain, and contacts with it, follow the poses of the geometries: by central differences.

A touch is on a feature of the terrain, which may be another one as soon as a body moves. What is found at both of

    X + h dX,  X - h dX   with turns as rotations, h = 2e-7 of the size of a body                             (1)

is of the same features nearly everywhere. Then the error is about 1e-9: 1e-16 / h by rounding, and h^2 by curvature.
What lies flat hands on no share until it leans by 1e-6 (NO_SHARE of shares.py), from there on as the square of its
angle with the sign of that, whose central differences were wrong by as much as h.
Where features change in between, the mean of the derivatives to both sides results. Where a contact is at one of both
poses only, or a normal jumps, there are no derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential
from merganser.geometry.proximity.layout import contact_dtype
from merganser.geometry.proximity.shares import NO_SHARE, STEEP

Array = NDArray[Any]

_STEP = 0.2 * STEEP * math.sqrt(0.5 * NO_SHARE)  # h of (1), of the size: a fifth of that angle
_FAR = 1e-3  # of the size: contacts farther apart are others, and normals that differ by more jump
_FIELDS = ("p_WC", "nhat_BA_W", "depth", "share")


def differences_of_contacts(
    find: Callable[[Array, float], Array], X_WG: Array, dX_WG: Array, contacts: Array, size: float, margin: float
) -> Array:
    """Returns the derivatives of contacts with terrain, as records of contact_dtype, shape [k, num_contacts].

    Args:
        find: returns the contacts at given poses and a margin.
        X_WG: pose of each geometry, shape [n, 4, 4].
        dX_WG: its derivatives, shape [k, n, 4, 4].
        contacts: which are there.
        size: of the bodies [m].
        margin: at which they were found [m].

    Raises:
        LookupError: a contact has no derivatives; its argument is the pair of the contact.
    """
    out = np.zeros((len(dX_WG), len(contacts)), contact_dtype)
    for lane, dX in enumerate(dX_WG):
        w, v = _twists(X_WG, dX)
        speed = max(np.abs(w).max() * size, np.abs(v).max())
        if speed == 0.0:
            continue
        h = _STEP * size / speed
        ends = [_matched(find(_moved(X_WG, w, v, s), margin + 10.0 * _STEP * size), contacts, size) for s in (h, -h)]
        for name in _FIELDS:
            out[lane][name] = (ends[0][name] - ends[1][name]) / (2.0 * h)
    return out


def differences_of_pair(
    solve: Callable[[Array], Any], A: PoseDifferential, B: PoseDifferential, size: float
) -> PairDifferential | None:
    """Returns the derivatives of distance, normal and nearest points of two geometries; None where the normal jumps.

    Args:
        solve: returns a record of distance_dtype for poses of both, shape [2, 4, 4].
        A, B: their poses and the derivatives of these.
        size: of the body [m].
    """
    X = np.array([A.X, B.X])
    columns = []
    for k in range(A.dp.shape[1]):
        w, v = np.array([A.w[:, k], B.w[:, k]]), np.array([A.dp[:, k], B.dp[:, k]])
        speed = max(np.abs(w).max() * size, np.abs(v).max())
        h = _STEP * size / speed if speed > 0.0 else _STEP * size
        ends = [solve(_moved(X, w, v, s)).copy() for s in (h, -h)]
        if np.abs(ends[0]["nhat_BA_W"] - ends[1]["nhat_BA_W"]).max() > _FAR:
            return None
        names = ("distance", "nhat_BA_W", "p_WCa", "p_WCb")
        columns.append(np.hstack([(ends[0][name] - ends[1][name]) / (2.0 * h) for name in names]))
    d = np.array(columns).reshape(-1, 10).T
    return PairDifferential(d[0], d[1:4], d[4:7], d[7:])


def _twists(X: Array, dX: Array) -> tuple[Array, Array]:
    """Angular velocities, by dR R^T = [w]x, and velocities of origins, shape [n, 3] each."""
    turn = dX[:, :3, :3] @ X[:, :3, :3].transpose(0, 2, 1)
    turn = 0.5 * (turn - turn.transpose(0, 2, 1))
    return np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1), dX[:, :3, 3]


def _moved(X: Array, w: Array, v: Array, h: float) -> Array:
    """Poses after a time h."""
    from scipy.spatial.transform import Rotation

    moved = X.copy()
    moved[:, :3, :3] = Rotation.from_rotvec(h * w).as_matrix() @ X[:, :3, :3]
    moved[:, :3, 3] += h * v
    return moved


def _matched(found: Array, contacts: Array, size: float) -> Array:
    """Of contacts that were found, those that known ones have become."""
    rows = []
    for contact in contacts:
        away = np.linalg.norm(found["p_WC"] - contact["p_WC"], axis=1)
        away = np.maximum(away / size, np.linalg.norm(found["nhat_BA_W"] - contact["nhat_BA_W"], axis=1))
        away[found["pair"] != contact["pair"]] = np.inf
        if not len(away) or away.min() > _FAR:
            raise LookupError(int(contact["pair"]))
        rows.append(int(away.argmin()))
    return found[rows].copy()
