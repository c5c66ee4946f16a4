"""Polytopes that are given by their vertices."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets import half_spaces
from merganser.geometry.optimization.sets.arguments import (
    OF_SCENE,
    Array,
    Form,
    choose,
    is_query_object,
    points_of,
    shape_in_frame,
    size_of,
)
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, LinearProgram, nearest_in_hull, span_of
from merganser.geometry.shapes.measures import hull_of

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.shapes import Convex

_TOLERANCE = 1e-9
_FORMS = {
    "empty": Form(),
    "H": Form(("H", "tol"), lambda first: isinstance(first, HPolyhedron), num_optional=1),
    "scene": Form(OF_SCENE, is_query_object, num_optional=1),
    "vertices": Form(("vertices",)),
}


class VPolytope(ConvexSet):
    """The convex hull of points: V w for w >= 0 of sum 1.

    VPolytope(): that of no points in dimension 0, which is empty. VPolytope(vertices): of points in columns, shape
    [n, m]; some may be inside of the hull of the others. VPolytope(H, tol=1e-9): of a bounded HPolyhedron, by Qhull; in
    its affine hull, for which lengths up to tol count as 0. VPolytope(query_object, geometry_id, reference_frame=None):
    of a Box, Convex or Mesh (its hull) of the SceneGraph, in the reference frame; by default in the world.

    Raises:
        ValueError: vertices are not finite.
        RuntimeError: H is unbounded, Qhull finds no vertices, or the geometry is another shape.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("VPolytope", args, kwargs, _FORMS)
        if form == "H":
            vertices = _vertices_of(given["H"], float(given.get("tol", _TOLERANCE)))
        elif form == "scene":
            vertices = _vertices_of_geometry(given)
        else:
            vertices = points_of(given.get("vertices", np.zeros((0, 0))), "VPolytope", "vertices")
        self._vertices = vertices
        super().__init__(vertices.shape[0])

    @staticmethod
    def MakeBox(lb: Any, ub: Any) -> VPolytope:
        """The 2^n corners of the box lb <= x <= ub, shapes [n].

        Raises:
            ValueError: sizes differ, a bound is not finite, or a lower one is above the upper one.
        """
        from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle

        box = Hyperrectangle(lb, ub)
        sides = np.column_stack((box.lb(), box.ub()))
        rows = [each[::-1] for each in itertools.product(*sides[::-1])]  # the first coordinate changes fastest
        return VPolytope(np.array(rows).reshape(len(rows), -1).T)

    @staticmethod
    def MakeUnitBox(dim: int) -> VPolytope:
        """The corners of the box -1 <= x <= 1."""
        ones = np.ones(size_of(dim, "VPolytope.MakeUnitBox", "dim"))
        return VPolytope.MakeBox(-ones, ones)

    def vertices(self) -> Array:
        """The points, as they were given, shape [n, m]."""
        return self._vertices.copy()

    def GetMinimalRepresentation(self, tol: float = _TOLERANCE) -> VPolytope:
        """This polytope by as few points as there can be, in its affine hull.

        In the plane they go round clockwise, and begin at the negative x axis as it is seen from the middle.

        Args:
            tol: singular values of the points up to tol times the greatest count as 0.

        Raises:
            RuntimeError: Qhull finds no hull.
        """
        if self._vertices.shape[1] < 2 or self._dimension == 0:
            return VPolytope(self._vertices[:, :1])
        local = self._affine_hull(tol).local(self._vertices)
        return VPolytope(self._vertices[:, half_spaces.corners(local, self._where("GetMinimalRepresentation"))])

    def WriteObj(self, filename: str | os.PathLike[str]) -> None:
        """Writes the hull as a mesh in Wavefront's format; ".obj" is not added to the name.

        Raises:
            RuntimeError: the ambient dimension is not 3, or Qhull finds no hull.
        """
        where = self._where("WriteObj")
        self._require_three(where)
        minimal = self.GetMinimalRepresentation()._vertices
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in minimal.T.tolist()]
        lines += ["f " + " ".join(str(i + 1) for i in face) for face in half_spaces.outward_triangles(minimal, where)]
        Path(filename).write_text("\n".join(lines) + "\n")

    def ToShapeConvex(self, convex_label: str = "convex_from_vpolytope") -> Convex:
        """This polytope as a shape of the SceneGraph.

        Raises:
            RuntimeError: the ambient dimension is not 3.
        """
        from merganser.geometry.shapes import Convex

        self._require_three(self._where("ToShapeConvex"))
        return Convex(points=self._vertices, label=convex_label)

    def _require_three(self, where: str) -> None:
        if self._dimension != 3:
            raise RuntimeError(f"{where}: expected an ambient dimension of 3, got {self._dimension}.")

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = V w, sum(w) = s, w >= 0
        n, m = self._vertices.shape
        w = prog.NewContinuousVariables(m, "a")
        M, scale = np.vstack((np.eye(n), np.zeros(n))), np.concatenate((np.zeros(n), [1.0]))
        equations = place.add_zero_with(prog, M, scale, w, -np.vstack((self._vertices, np.ones(m))))
        return w, [prog.AddBoundingBoxConstraint(0.0, np.inf, w), equations] if m else [equations]

    def _is_empty(self) -> bool:
        return self._vertices.shape[1] == 0

    def _is_bounded(self) -> bool:
        return True

    def _only_point(self) -> Array | None:
        return self._vertices[:, 0].copy() if self._vertices.shape[1] == 1 else None

    def _meets(self, other: ConvexSet, where: str) -> bool | None:
        if not isinstance(other, HPolyhedron) or self._is_empty():
            return None
        m = self._vertices.shape[1]  # weights w >= 0 of sum 1 with A V w <= b
        rows = np.concatenate((np.ones((1, m)), other._A @ self._vertices))
        lower, upper = np.append(1.0, np.full(other._b.size, -np.inf)), np.append(1.0, other._b)
        return LinearProgram(rows, lower, upper, np.zeros(m), np.full(m, np.inf)).least(np.zeros(m)).is_found(where)

    def _feasible_point(self) -> Array | None:
        return None if self._is_empty() else np.asarray(self._vertices.mean(axis=1))

    def _contains(self, x: Array, tol: float) -> bool:
        return not self._is_empty() and super()._contains(x, tol)

    def _nearest(self, x: Array) -> Array | None:
        return None if self._is_empty() else super()._nearest(x)

    def _nearest_by(self, W: Array, target: Array, where: str) -> Array | None:
        point = nearest_in_hull(self._vertices, W, target)
        return super()._nearest_by(W, target, where) if point is None else point

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: the simplices of the hull."""
        return True

    def _exact_volume(self) -> float:
        if self._is_empty() or self._affine_hull(None).basis.shape[1] < self._dimension:
            return 0.0
        return half_spaces.hull_volume(self._vertices, self._where("CalcVolume"))

    def _affine_hull(self, tol: float | None) -> Flat:
        first = self._vertices[:, 0]
        return Flat(span_of(self._vertices - first[:, np.newaxis], tol), first.copy())


def _vertices_of(H: HPolyhedron, tol: float) -> Array:
    n = H.ambient_dimension()
    if n == 0:
        return np.zeros((0, 1))
    if not H.IsBounded():
        raise RuntimeError("VPolytope: expected H to be bounded; this HPolyhedron is not.")
    if H.IsEmpty():
        return np.zeros((n, 0))
    inner, flat = H.full_dimensional(tol)
    if inner is None:
        return flat.translation[:, np.newaxis]
    found = half_spaces.rows_to_vertices(inner.A(), inner.b(), inner.ChebyshevCenter(), "VPolytope")
    return flat.ambient(found)


def _vertices_of_geometry(given: dict[str, Any]) -> Array:
    shape, X_EG = shape_in_frame("VPolytope", given, "Box", "Convex", "Mesh")
    if type(shape).__name__ == "Box":
        p_GV = VPolytope.MakeBox(-0.5 * shape.size(), 0.5 * shape.size()).vertices()
    else:
        p_GV = np.asarray(hull_of(shape).vertex_array(), dtype=np.float64).reshape(-1, 3).T
    return np.asarray(X_EG.rotation().matrix() @ p_GV + X_EG.translation()[:, np.newaxis])
