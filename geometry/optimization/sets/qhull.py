"""Convex hulls of points, and vertices of half-spaces that have an inside, by Qhull (Barber, Dobkin, Huhdanpaa 1996).

Qhull works in at least two dimensions; in one, the least and the greatest coordinate say everything.

Rows A x <= b of vertices, of linear programs and of geometries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.geometry.optimization.sets import qhull
from merganser.geometry.optimization.sets.arguments import Array, shape_in_frame
from merganser.geometry.optimization.sets.set_programs import complement_of
from merganser.geometry.shapes.measures import hull_of


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
    local_A, local_b = qhull.hull_rows(flat.local(vertices), "HPolyhedron")
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
        A_G, b_G = qhull.hull_rows(p_GV, "HPolyhedron")
    A_E = A_G @ X_EG.rotation().matrix().T
    return A_E, b_G + A_E @ X_EG.translation()
