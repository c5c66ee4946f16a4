"""Linear programs over A x <= b.

Convex hulls of points, and vertices of half-spaces that have an inside, by Qhull (Barber, Dobkin, Huhdanpaa 1996).

Qhull works in at least two dimensions; in one, the least and the greatest coordinate say everything.

Rows A x <= b of vertices, of linear programs and of geometries.

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
import numpy.typing as npt

from merganser.framework.optimization.forms.dense_programs import DenseProgram
from merganser.framework.optimization.kinds import ProgramAttribute, SolutionResult
from merganser.geometry.optimization.sets.arguments import Array, points_of, same_dimension, shape_in_frame
from merganser.geometry.optimization.sets.set_programs import (
    UNBOUNDED,
    LinearProgram,
    complement_of,
    extremes,
    is_small,
)
from merganser.geometry.shapes.measures import hull_of

if TYPE_CHECKING:
    from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron


def _hull(points: Array, where: str) -> Any:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points.T)
    except QhullError as error:
        message = str(error).strip().splitlines()[0]
        raise RuntimeError(f"{where}: Qhull finds no hull of {points.shape[1]} points: {message}") from error


def corners(points: Array, where: str) -> npt.NDArray[np.intp]:
    """Which of points that span their space are vertices of their hull.

    Args:
        points: shape [r, m].
        where: for errors.

    Returns:
        Indices; in the plane they go round clockwise, and begin at the negative x axis as it is seen from the middle.
    """
    if points.shape[0] == 0:
        return np.zeros(1, dtype=np.intp)
    if points.shape[0] == 1:
        return np.array([points[0].argmin(), points[0].argmax()])
    indices = np.asarray(_hull(points, where).vertices, dtype=np.intp)
    if points.shape[0] == 2:
        x, y = points[:, indices] - points[:, indices].mean(axis=1, keepdims=True)
        indices = indices[np.argsort(-np.arctan2(y, x))]
    return indices


def hull_rows(points: Array, where: str) -> tuple[Array, Array]:
    """Rows A x <= b of the hull of points that span their space of dimension r > 0, shapes [k, r] and [k]."""
    if points.shape[0] == 1:
        return np.array([[1.0], [-1.0]]), np.array([points.max(), -points.min()])
    equations = np.unique(np.round(_hull(points, where).equations, 14), axis=0)
    return equations[:, :-1], -equations[:, -1]


def hull_volume(points: Array, where: str) -> float:
    """The volume of the hull of points that span their space of dimension r > 0."""
    return float(np.ptp(points)) if points.shape[0] == 1 else float(_hull(points, where).volume)


def rows_to_vertices(A: Array, b: Array, inside: Array, where: str) -> Array:
    """The vertices of a bounded polyhedron A x <= b around a point inside of it, shape [r, num_vertices]."""
    if A.shape[1] == 1:
        limits = b / A[:, 0]
        return np.array([[limits[A[:, 0] < 0.0].max(), limits[A[:, 0] > 0.0].min()]])
    found = _intersections(A, b, inside, where)
    # Where more than r faces meet, Qhull finds their vertex several times.
    scale = max(float(np.abs(found).max()), 1e-300)
    _, first = np.unique(np.round(found / scale, 9), axis=1, return_index=True)
    return np.asarray(found[:, np.sort(first)])


def _intersections(A: Array, b: Array, inside: Array, where: str) -> Array:
    """Vertices, some of them several times, shape [r, num_vertices]."""
    from scipy.spatial import HalfspaceIntersection, QhullError

    # Of 20 random points in 6 dimensions, 20 faces and more meet in each vertex. Facets that are merged as they come
    # (C-0) are found in all of such cases that were tried; those merged in the end (Qx, by default) in one of three.
    message = ""
    for options in ("H C-0", "H Q12"):
        try:
            found = HalfspaceIntersection(np.column_stack((A, -b)), inside, qhull_options=options).intersections.T
        except QhullError as error:
            message = str(error).strip().splitlines()[0]
            continue
        return np.asarray(found)
    raise RuntimeError(f"{where}: Qhull finds no vertices of {b.size} half-spaces: {message}")


def outward_triangles(points: Array, where: str) -> list[list[int]]:
    """Triangles of the hull of points in space, by indices that go round counter-clockwise as seen from outside."""
    hull = _hull(points, where)
    triangles: list[list[int]] = []
    for face, equation in zip(hull.simplices.tolist(), hull.equations):
        a, b, c = points[:, face].T
        triangles.append(face if np.cross(b - a, c - a) @ equation[:3] > 0.0 else face[::-1])
    return triangles


_LINEAR = {
    ProgramAttribute.kLinearCost,
    ProgramAttribute.kQuadraticCost,
    ProgramAttribute.kLinearConstraint,
    ProgramAttribute.kLinearEqualityConstraint,
}


def rows_of_vertices(vpoly: Any, tol: float) -> tuple[Array, Array]:
    """The hull of vertices: rows in its affine hull, and two for each direction that is orthogonal to that.

    Raises:
        RuntimeError: there are no vertices and no dimensions, or Qhull finds no hull.
    """
    vertices: Array = vpoly.vertices()
    n, count = vertices.shape
    if n == 0:
        if count == 0:
            raise RuntimeError("HPolyhedron: an empty VPolytope of dimension 0 has no rows A x <= b.")
        return np.zeros((0, 0)), np.zeros(0)
    if count == 0:
        first = np.eye(n)[:1]
        return np.vstack((first, -first)), np.array([-1.0, 0.0])  # x0 <= -1, x0 >= 0
    flat = vpoly._affine_hull(tol)
    across = complement_of(flat.basis).T
    A, b = np.vstack((across, -across)), np.concatenate((across @ flat.translation, -across @ flat.translation))
    if flat.basis.shape[1] == 0:
        return A, b
    local_A, local_b = hull_rows(flat.local(vertices), "HPolyhedron")
    along = local_A @ flat.basis.T
    return np.vstack((along, A)), np.concatenate((local_b + along @ flat.translation, b))


def rows_of_program(prog: Any) -> tuple[Array, Array]:
    """The linear constraints of a program, by its decision variables in order.

    Raises:
        RuntimeError: there are other constraints, or variables that are not continuous.
    """
    others = sorted(each.name for each in prog.required_capabilities() - _LINEAR)
    if others:
        raise RuntimeError(f"HPolyhedron: expected a program of linear constraints; this one has {', '.join(others)}.")
    A, b = [np.zeros((0, prog.num_vars()))], [np.zeros(0)]
    for binding in prog.GetLinearConstraints() + prog.bounding_box_constraints():
        constraint = binding.evaluator()
        places = prog.FindDecisionVariableIndices(binding.variables())
        rows = np.zeros((constraint.num_constraints(), prog.num_vars()))
        np.add.at(rows.T, places, constraint.GetDenseA().T)
        for sign, bound in ((1.0, constraint.upper_bound()), (-1.0, constraint.lower_bound())):
            kept = np.isfinite(bound)
            A.append(sign * rows[kept])
            b.append(sign * bound[kept])
    return np.vstack(A), np.concatenate(b)


def rows_of_geometry(given: dict[str, Any]) -> tuple[Array, Array]:
    """A geometry G of planar faces in a frame E, from A_G p_G <= b_G: p_G = R_GE (p_E - p_EG).

    Raises:
        RuntimeError: it has other faces.
    """
    shape, X_EG = shape_in_frame("HPolyhedron", given, "Box", "HalfSpace", "Convex", "Mesh")
    kind = type(shape).__name__
    if kind == "Box":
        A_G, b_G = np.vstack((np.eye(3), -np.eye(3))), np.tile(0.5 * np.asarray(shape.size()), 2)
    elif kind == "HalfSpace":
        A_G, b_G = np.array([[0.0, 0.0, 1.0]]), np.zeros(1)
    else:
        p_GV = np.asarray(hull_of(shape).vertex_array(), dtype=np.float64).reshape(-1, 3).T
        A_G, b_G = hull_rows(p_GV, "HPolyhedron")
    A_E = A_G @ X_EG.rotation().matrix().T
    return A_E, b_G + A_E @ X_EG.translation()


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
