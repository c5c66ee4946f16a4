"""Nearest points of polytopes, without a program: by DAQP, or by least squares with weights of at least 0.

Source of the latter: Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization.forms.dense_programs import SETTINGS, DenseProgram
from merganser.framework.optimization.kinds import SolutionResult
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.set_programs import is_small

_EXACT = 1e-10  # relative error that is allowed
_SETTINGS = {**SETTINGS, "primal_tol": 1e-12}


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

    It is found as the shortest y = W (x - target) / s.
    """
    if W.shape[0] != W.shape[1] or not b.size or not is_small(A):
        return None
    limits = b - A @ target
    size = -float(limits.min())
    if size <= 0.0:
        return target.copy()
    try:
        back = np.linalg.inv(W)
    except np.linalg.LinAlgError:
        return None
    n = target.size
    upper = np.concatenate((np.full(n, np.inf), limits / size))
    rows = A @ back
    answer = DenseProgram(np.eye(n), np.zeros(n), rows, np.full(upper.size, -np.inf), upper).solve(None, _SETTINGS)
    is_found = answer.result is SolutionResult.kSolutionFound
    if not is_found or answer.distance.min() < -_EXACT * max(1.0, float(np.abs(rows).max())):
        return None
    return target + size * (back @ answer.x)


def _multipliers(E: Array) -> Array | None:
    """The u >= 0 with the least |E u - (0, ..., 0, 1)|; None if the search did not converge."""
    from scipy.optimize import nnls

    goal = np.zeros(E.shape[0])
    goal[-1] = 1.0
    try:
        return np.asarray(nnls(E, goal)[0])
    except RuntimeError:
        return None
