"""The smallest ellipsoid around points, by a semidefinite program."""

from __future__ import annotations

__all__ = ["circumscribed_ellipsoid"]

from typing import Any

import numpy as np

from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.affine_hull import span_of
from merganser.geometry.optimization.arguments import Array, points_of
from merganser.geometry.optimization.set_programs import failure, solved


def circumscribed_ellipsoid(points: Any, rank_tol: float, where: str) -> tuple[Array, Array, Array]:
    """The ellipsoid U B u + center, |u| <= 1, of the least volume around points in their affine hull.

    In coordinates x_i of the hull, of a length of about 1, it is |P x + q| <= 1 with

        max log det P  so that  |P x_i + q| <= 1

    and so B = P^-1, center = -P^-1 q. Source: Boyd and Vandenberghe, Convex Optimization, 2004, section 8.4.1.

    Args:
        points: in columns, shape [n, m].
        rank_tol: singular values of the points around their mean up to rank_tol times the greatest count as 0.
        where: for errors.

    Returns:
        U: an orthonormal basis of the directions of the hull, shape [n, r].
        B: shape [r, r], symmetric.
        center: shape [n].

    Raises:
        ValueError: points are not finite, or there are none.
        RuntimeError: the solver comes to no end.
    """
    given = points_of(points, where, "points")
    if not given.size:
        raise ValueError(f"{where}: expected at least one point of at least one coordinate, got {given.shape}.")
    mean = given.mean(axis=1)
    U = span_of(given - mean[:, np.newaxis], rank_tol)
    if U.shape[1] == 0:
        return U, np.zeros((0, 0)), mean
    local = U.T @ (given - mean[:, np.newaxis])
    scale = float(np.abs(local).max())
    P, q = _solved(local / scale, where)
    B: Array = np.asarray(np.linalg.inv(P))
    return U, np.asarray(scale * B), mean - U @ (scale * (B @ q))


def _solved(x: Array, where: str) -> tuple[Array, Array]:
    r = x.shape[0]
    prog = MathematicalProgram()
    P = prog.NewSymmetricContinuousVariables(r, "P")
    q = prog.NewContinuousVariables(r, "q")
    lower = np.tril_indices(r)
    variables = np.concatenate((P[lower], q))
    for point in x.T:
        slopes = np.zeros((1 + r, variables.size))  # (1, P x + q)
        slopes[1:, -r:] = np.eye(r)
        for k, (i, j) in enumerate(zip(*lower)):
            slopes[1 + i, k] += point[j]
            if i != j:
                slopes[1 + j, k] += point[i]
        prog.AddLorentzConeConstraint(slopes, np.concatenate(([1.0], np.zeros(r))), variables)
    prog.AddMaximizeLogDeterminantCost(P)
    result = solved(prog)
    if not result.is_success():
        raise failure(where, result)
    return np.asarray(result.GetSolution(P)), np.asarray(result.GetSolution(q))
