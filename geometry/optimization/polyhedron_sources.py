"""Rows A x <= b of vertices, of linear programs and of geometries."""

from __future__ import annotations

__all__ = ["rows_of_geometry", "rows_of_program", "rows_of_vertices"]

from typing import Any

import numpy as np

from merganser.framework.optimization.kinds import ProgramAttribute
from merganser.geometry.optimization import qhull
from merganser.geometry.optimization.affine_hull import complement_of
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.scene_shapes import shape_in_frame

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
        p_GV = np.asarray(shape.GetConvexHull().vertex_array(), dtype=np.float64).reshape(-1, 3).T
        A_G, b_G = qhull.hull_rows(p_GV, "HPolyhedron")
    A_E = A_G @ X_EG.rotation().matrix().T
    return A_E, b_G + A_E @ X_EG.translation()
