"""The smallest flat around a set: all affine combinations of its points."""

from __future__ import annotations

__all__ = ["Flat", "affine_hull_by_programs", "complement_of", "span_of"]

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from merganser.geometry.optimization import set_programs
from merganser.geometry.optimization.arguments import Array

if TYPE_CHECKING:
    from merganser.geometry.optimization.convex_set import ConvexSet


class Flat(NamedTuple):
    """The points translation + basis y.

    Attributes:
        basis: orthonormal columns, shape [n, m].
        translation: one of the points, shape [n].
    """

    basis: Array
    translation: Array

    def local(self, points: Array) -> Array:
        """Coordinates y of points that are in the flat, shape [m, num_points]."""
        return np.asarray(self.basis.T @ (points - self.translation[:, np.newaxis]))

    def ambient(self, y: Array) -> Array:
        """Points of coordinates y, shape [n, num_points]."""
        return np.asarray(self.basis @ y + self.translation[:, np.newaxis])


def span_of(vectors: Array, tol: float | None = None) -> Array:
    """An orthonormal basis of what columns span, shape [n, rank]; the axes, if that is the whole space.

    Args:
        vectors: shape [n, m].
        tol: singular values up to tol times the greatest count as 0; by default max(n, m) times the rounding of 1.
    """
    n, m = vectors.shape
    if not m or not n:
        return np.zeros((n, 0))
    U, sizes, _ = np.linalg.svd(vectors, full_matrices=False)
    margin = max(n, m) * float(np.finfo(float).eps) if tol is None else tol
    rank = int((sizes > margin * sizes[0]).sum())
    return np.eye(n) if rank == n else np.asarray(U[:, :rank])


def complement_of(basis: Array) -> Array:
    """An orthonormal basis of the vectors that are orthogonal to m independent columns, shape [n, n - m]."""
    n, m = basis.shape
    if not m or not n:
        return np.eye(n)
    U, _, _ = np.linalg.svd(basis, full_matrices=True)
    return np.asarray(U[:, m:])


def affine_hull_by_programs(set: ConvexSet, tol: float) -> Flat:
    """The affine hull of a set that is not empty, direction by direction.

    For each axis i the two points x, y of the set are found whose difference is the longest along it, among those with
    differences orthogonal to the directions that are known:

        max (x - y)_i  so that  B'(x - y) = 0,  -1 <= x - y <= 1

    A difference longer than tol is a new direction. The bounds keep programs of unbounded sets bounded; 0 is among the
    differences, so that shorter ones of the same direction are too.

    Raises:
        RuntimeError: the set is empty, or the solver comes to no end.
    """
    where = "AffineSubspace"
    n = set.ambient_dimension()
    translation = set.MaybeGetFeasiblePoint()
    if translation is None:
        raise RuntimeError(f"{where}: expected a set that is not empty; this {type(set).__name__} is.")
    basis = np.zeros((n, 0))
    for i in range(n):
        while basis.shape[1] < n:
            difference = _longest_difference(set, basis, i, where)
            if difference[i] <= tol:
                break
            rest = difference - basis @ (basis.T @ difference)
            rest -= basis @ (basis.T @ rest)  # twice, against rounding
            basis = np.column_stack((basis, rest / np.linalg.norm(rest)))
    return Flat(basis, translation)


def _longest_difference(set: ConvexSet, basis: Array, axis: int, where: str) -> Array:
    prog, x = set_programs.start(set)
    n = x.size
    y = prog.NewContinuousVariables(n, "y")
    set.AddPointInSetConstraints(prog, y)
    both = np.concatenate((x, y))
    minus = np.hstack((np.eye(n), -np.eye(n)))
    prog.AddLinearConstraint(minus, -np.ones(n), np.ones(n), both)
    if basis.shape[1]:
        prog.AddLinearEqualityConstraint(basis.T @ minus, np.zeros(basis.shape[1]), both)
    prog.AddLinearCost(-minus[axis], both)
    result = set_programs.solved(prog)
    if not result.is_success():
        raise set_programs.failure(where, result)
    return np.asarray(result.GetSolution(x) - result.GetSolution(y))
