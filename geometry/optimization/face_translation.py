"""Polyhedra of fewer faces inside of others: faces move inwards until others are redundant, and can go.

All that has to stay inside becomes, for each face a'x <= b, a least b:

    volume        this polyhedron, scaled around its Chebyshev center to the least volume, stays inside
    points        max a'p
    intersections max a'x over the part of each other polyhedron that is inside; or, where it need not stay whole, what
                  leaves a ball around a point of it: min a'x + |a| r with A x + |A| r <= b for all other faces
"""

from __future__ import annotations

__all__ = ["Wishes", "simplified"]

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.geometry.optimization.arguments import Array, points_of, same_dimension
from merganser.geometry.optimization.half_spaces import farthest, redundant_rows
from merganser.geometry.optimization.set_programs import failure, solved

if TYPE_CHECKING:
    from merganser.geometry.optimization.hpolyhedron import HPolyhedron

_TOLERANCE = 1e-9


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
    from merganser.geometry.optimization.hpolyhedron import HPolyhedron

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
    """The least b of one face that leaves a ball around a point of another polyhedron inside; None if there is none."""
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
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(direction.size, "x")
    prog.AddLinearConstraint(A, np.full(b.size, -np.inf), b, x)
    prog.AddLinearCost(direction, x)
    result = solved(prog)
    if result.is_success():
        return float(result.get_optimal_cost())
    kind = result.get_solution_result()
    if kind is SolutionResult.kInfeasibleConstraints:
        return None
    if kind in (SolutionResult.kUnbounded, SolutionResult.kInfeasibleOrUnbounded):
        return -float(np.inf)
    raise failure(where, result)


def _keeps(body: HPolyhedron, wishes: Wishes, where: str) -> bool:
    """Whether points and intersections are still inside."""
    return all(body.PointInSet(point) for point in wishes.points.T) and all(
        _least_with_ball(body.A(), body.b(), 0, other, wishes.padding, where) is not None for other in wishes.polytopes
    )
