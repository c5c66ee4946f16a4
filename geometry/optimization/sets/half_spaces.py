"""Linear programs over A x <= b.

Polyhedra of fewer faces inside of others: faces move inwards until others are redundant, and can go.

All that has to stay inside becomes, for each face a'x <= b, a least b:

    volume        this polyhedron, scaled around its Chebyshev center to the least volume, stays inside
    points        max a'p
    intersections max a'x over the part of each other polyhedron that is inside; or, where it need not stay whole, what
                  leaves a ball around a point of it: min a'x + |a| r with A x + |A| r <= b for all other faces
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.forms.dense_programs import DenseProgram
from merganser.framework.optimization.kinds import SolutionResult
from merganser.geometry.optimization.sets.arguments import Array, points_of, same_dimension
from merganser.geometry.optimization.sets.set_programs import UNBOUNDED, LinearProgram, extremes, is_small

if TYPE_CHECKING:
    from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron


def at_most(A: Array, b: Array) -> LinearProgram:
    """Programs over A x <= b."""
    return LinearProgram(A, np.full(b.size, -np.inf), b)


def is_bounded(A: Array, where: str) -> bool:
    """Whether A x <= b is bounded or empty for every b.

    There is no direction x with A x <= 0 but 0 if and only if (Stiemke, 1915)

        A has rank n, and A'z = 0 for some z >= 1

    With d the one nearest to -A'1 of these directions, the multipliers of that program are such a z - 1 where d is 0,
    and d is a direction where it is not (Moreau, 1962).

    Raises:
        RuntimeError: the solver did not converge.
    """
    m, n = A.shape
    if m <= n or np.linalg.matrix_rank(A) < n:
        return False
    sizes = np.linalg.norm(A, axis=1)
    rows = A / np.where(sizes > 0.0, sizes, 1.0)[:, np.newaxis]
    if is_small(rows):
        wished = -rows.sum(axis=0)
        least = np.full(n + m, -np.inf)
        answer = DenseProgram(np.eye(n), -wished, rows, least, np.repeat((np.inf, 0.0), (n, m))).solve()
        length = float(np.linalg.norm(answer.x))
        is_found = answer.result is SolutionResult.kSolutionFound
        if is_found and length <= _ZERO * max(1.0, float(np.linalg.norm(wished))):
            return True
        if is_found and length > _RAY and float((rows @ answer.x).max()) <= _ZERO * length:
            return False
    multipliers = LinearProgram(A.T, np.zeros(n), np.zeros(n), np.ones(m), np.full(m, np.inf))
    return multipliers.least(np.zeros(m)).is_found(where)


def chebyshev_center(A: Array, b: Array, where: str) -> Array:
    """The center of a greatest ball: max r so that a_i'x + |a_i| r <= b_i, r >= 0; shape [n].

    Source: Boyd and Vandenberghe, Convex Optimization, 2004, section 8.5.1.

    Raises:
        RuntimeError: there is no ball, or none is the greatest.
    """
    n = A.shape[1]
    if not b.size:
        return np.zeros(n)
    rows, r = np.column_stack((A, np.linalg.norm(A, axis=1))), np.eye(n + 1)[n]
    least = np.full(b.size, -np.inf)
    found = LinearProgram(rows, least, b, np.where(r, 0.0, -np.inf), np.full(n + 1, np.inf)).least(-r)
    if found.result is not SolutionResult.kSolutionFound:
        raise RuntimeError(
            f"{where}: there is no greatest ball in this polyhedron ({found.result.name}); expected "
            "one that is not empty, and has no end in few directions only."
        )
    return found.x[:n]


class Implications:
    """Asks whether A x <= b implies other rows, by one program whose numbers are changed.

    Args:
        A, b: the rows.
        where: who asks, for messages.
    """

    def __init__(self, A: Array, b: Array, where: str) -> None:
        n, self._where = A.shape[1], where
        self._rows = at_most(np.vstack((A, np.zeros(n))), np.append(b, 0.0))

    def leave_out(self, limits: Array) -> None:
        """Replaces b; infinity leaves a row out."""
        self._rows.bounds[1, self._rows.A.shape[1] : -1] = limits

    def implies(self, row: Array, limit: float, tol: float) -> bool:
        """Whether row'x <= limit + tol: max row'x, which may exceed the limit by 1 + |tol| at most.

        Raises:
            RuntimeError: the solver did not converge.
        """
        self._rows.A[-1], self._rows.bounds[1, -1] = row, limit + 1.0 + abs(tol)
        found = self._rows.least(-row)
        return not found.is_found(self._where) or -found.cost <= limit + tol


def redundant_rows(A: Array, b: Array, tol: float, where: str) -> set[int]:
    """Rows that those that stay imply, tried one after the other.

    Raises:
        RuntimeError: the solver did not converge.
    """
    others, limits = Implications(A, b, where), b.copy()
    for i, limit in enumerate(b):
        limits[i] = np.inf
        others.leave_out(limits)
        if not others.implies(A[i], limit, tol):
            limits[i] = limit
    return set(np.flatnonzero(limits == np.inf).tolist())


def farthest(polyhedron: HPolyhedron, directions: Array, where: str) -> Array:
    """The greatest d_i'x over a bounded polyhedron for each row d_i of directions, shape [m].

    Raises:
        RuntimeError: the polyhedron is empty, or the solver did not converge.
    """
    result = np.array([each.value for each in extremes(polyhedron, directions, where)])
    if not np.isfinite(result).all():
        raise RuntimeError(f"{where}: expected a polyhedron that is not empty.")
    return result


_TOLERANCE = 1e-9
_ZERO, _RAY = 1e-9, 1e-6  # lengths of directions of a polyhedron that are 0, and that are not


@dataclass
class Wishes:
    """What a simpler polyhedron has to keep; see `HPolyhedron.SimplifyByIncrementalFaceTranslation`."""

    min_volume_ratio: float
    max_iterations: int
    points: Any
    polytopes: list[HPolyhedron]
    keep_whole: bool
    padding: float
    seed: int

    def check(self, whole: HPolyhedron, where: str) -> None:
        """Raises what `simplified` says."""
        n = whole.ambient_dimension()
        for name, value, fits in (
            ("min_volume_ratio", self.min_volume_ratio, 0.0 < self.min_volume_ratio <= 1.0),
            ("max_iterations", self.max_iterations, self.max_iterations > 0),
            ("intersection_padding", self.padding, self.padding >= 0.0),
        ):
            if not fits:
                raise ValueError(f"{where}: {name} is out of its range, got {value}.")
        given = np.zeros((n, 0)) if self.points is None or not np.size(self.points) else self.points
        self.points = points_of(given, where, "points_to_contain", n)
        whole._require_bounded(where, "this polyhedron")
        for i, point in enumerate(self.points.T):
            if not whole.PointInSet(point):
                raise RuntimeError(f"{where}: expected points_to_contain in this polyhedron; column {i} is not.")
        for i, other in enumerate(self.polytopes):
            same_dimension(where, n, other)
            if _least_with_ball(whole.A(), whole.b(), 0, other, self.padding, where) is None:
                raise RuntimeError(
                    f"{where}: expected intersecting_polytopes that meet this polyhedron with intersection_padding = "
                    f"{self.padding}; number {i} does not."
                )


def simplified(whole: HPolyhedron, wishes: Wishes, is_transformed: bool, where: str) -> HPolyhedron:
    """The simpler polyhedron.

    Raises:
        ValueError: a number is out of its range.
        RuntimeError: this polyhedron is unbounded or has no inside, a point is outside of it, or a polyhedron does not
            meet it.
    """
    from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron

    wishes.check(whole, where)
    start = whole.ReduceInequalities()
    A, b = start.A(), start.b()
    limits = _fixed_limits(start, wishes, where)
    shuffled = np.random.RandomState(wishes.seed)
    for _ in range(wishes.max_iterations):
        count = b.size
        for normal in A[shuffled.permutation(count)]:
            places = np.flatnonzero((normal == A).all(axis=1))
            if places.size:  # else it has become redundant
                A, b, limits = _with_face_moved(A, b, limits, int(places[0]), wishes, where)
        if b.size == count:
            break
    result = HPolyhedron(A, b)
    if not is_transformed:
        return result
    stretched = result.MaximumVolumeInscribedAffineTransformation(whole)
    return stretched if _keeps(stretched, wishes, where) else result


def _fixed_limits(start: HPolyhedron, wishes: Wishes, where: str) -> Array:
    """The least b of each face, by all that does not depend on where other faces are."""
    A = start.A()
    limits = start.Scale(wishes.min_volume_ratio).b()
    if wishes.points.shape[1]:
        limits = np.maximum(limits, (A @ wishes.points).max(axis=1))
    if wishes.keep_whole:
        for other in wishes.polytopes:
            limits = np.maximum(limits, farthest(start.Intersection(other), A, where))
    return np.asarray(np.minimum(limits, start.b()))


def _with_face_moved(
    A: Array, b: Array, limits: Array, face: int, wishes: Wishes, where: str
) -> tuple[Array, Array, Array]:
    """Moves a face as far as makes others redundant, and leaves these out; no move, if it makes none so."""
    least = limits[face]
    for other in wishes.polytopes:
        needed = _least_with_ball(A, b, face, other, wishes.padding, where)
        least = max(least, b[face] if needed is None else needed)
    if least >= b[face]:
        return A, b, limits
    moved = b.copy()
    moved[face] = least
    gone = sorted(redundant_rows(A, moved, _TOLERANCE, where) - {face})
    if not gone:
        return A, b, limits
    kept = np.setdiff1d(np.arange(b.size), gone)
    rest = kept[kept != face]
    # Back outwards, until what the faces that go did cut off would come back.
    moved[face] = max(least, min(b[face], *(_first_beyond(A, b, rest, j, A[face], where) for j in gone)))
    return A[kept], moved[kept], limits[kept]


def _least_with_ball(A: Array, b: Array, face: int, other: HPolyhedron, radius: float, where: str) -> float | None:
    """The least b of one face that leaves a ball around a point of another polyhedron inside; None without one."""
    room = b - radius * np.linalg.norm(A, axis=1)
    rows = np.vstack((np.delete(A, face, axis=0), other.A()))
    least = _least(rows, np.concatenate((np.delete(room, face), other.b())), A[face], where)
    needed = None if least is None else least + b[face] - room[face]
    return needed if needed is not None and needed <= b[face] + _TOLERANCE else None


def _first_beyond(A: Array, b: Array, rest: Any, j: int, direction: Array, where: str) -> float:
    """The least direction'x of the points that face j cuts off from those of other faces; infinity if it cuts none."""
    rows, limits = np.vstack((A[rest], -A[j])), np.append(b[rest], -b[j])
    least = _least(rows, limits, direction, where)
    return float(np.inf) if least is None else least


def _least(A: Array, b: Array, direction: Array, where: str) -> float | None:
    """The least direction'x with A x <= b; None if there is no x."""
    found = at_most(A, b).least(direction)
    if found.result in UNBOUNDED:
        return -float(np.inf)
    return found.cost if found.is_found(where) else None


def _keeps(body: HPolyhedron, wishes: Wishes, where: str) -> bool:
    """Whether points and intersections are still inside."""
    return all(body.PointInSet(point) for point in wishes.points.T) and all(
        _least_with_ball(body.A(), body.b(), 0, other, wishes.padding, where) is not None for other in wishes.polytopes
    )
