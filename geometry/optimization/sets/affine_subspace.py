"""Points, lines, planes and their like in more dimensions.

One point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix, scalar
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets.arguments import (
    OF_SCENE,
    Array,
    Form,
    choose,
    finite_vector,
    is_query_object,
    points_of,
    shape_in_frame,
)
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, complement_of, span_of

if TYPE_CHECKING:
    from merganser.framework.math.rotations.rigid_transform import RigidTransform
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.shapes import Shape


_FORMS = {
    "empty": Form(),
    "set": Form(("set", "tol"), lambda first: isinstance(first, ConvexSet), num_optional=1),
    "basis": Form(("basis", "translation")),
}


class AffineSubspace(ConvexSet):
    """The vectors translation + basis y for any y.

    AffineSubspace(): of dimension 0. AffineSubspace(basis, translation): of independent columns, shape [n, m], and a
    vector of shape [n]. AffineSubspace(set, tol=1e-12): the affine hull of a convex set. Lengths up to tol count as 0;
    of balls and vertices, singular values up to tol times the greatest. Of sets whose points are found by a program
    (half-spaces, cones, intersections), tol should not be below what the solver can resolve: 1e-9 for half-spaces, 1e-5
    for curved ones.

    Raises:
        ValueError: sizes do not fit, values are not finite, columns are not independent, tol < 0.
        RuntimeError: the set is empty.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("AffineSubspace", args, kwargs, _FORMS)
        if form == "set":
            flat = _affine_hull(given["set"], given.get("tol", 1e-12))
        elif form == "basis":
            flat = _checked(given["basis"], given["translation"])
        else:
            flat = Flat(np.zeros((0, 0)), np.zeros(0))
        self._basis, self._translation = flat
        super().__init__(self._translation.size)

    def basis(self) -> Array:
        """The basis, shape [n, m], as it was given; that of the affine hull of another set is orthonormal."""
        return self._basis.copy()

    def translation(self) -> Array:
        """One of the vectors, shape [n]."""
        return self._translation.copy()

    def AffineDimension(self) -> int:
        """The number m of vectors of the basis."""
        return self._basis.shape[1]

    def OrthogonalComplementBasis(self) -> Array:
        """An orthonormal basis of the directions that are orthogonal to this flat, shape [n, n - m]."""
        return complement_of(self._basis)

    def ToLocalCoordinates(self, x: Any) -> Array:
        """Coordinates y of the points of this flat that are nearest to vectors.

        Args:
            x: vectors in columns, shape [n, k]; or one, shape [n].

        Returns:
            Shape [m, k].
        """
        points = points_of(x, self._where("ToLocalCoordinates"), "x", self._dimension)
        y = np.linalg.lstsq(self._basis, points - self._translation[:, np.newaxis], rcond=None)[0]
        return np.asarray(y)

    def ToGlobalCoordinates(self, y: Any) -> Array:
        """Vectors translation + basis y.

        Args:
            y: coordinates in columns, shape [m, k]; or those of one vector, shape [m].

        Returns:
            Shape [n, k].
        """
        local = points_of(y, self._where("ToGlobalCoordinates"), "y", self.AffineDimension())
        return Flat(self._basis, self._translation).ambient(local)

    def ContainedIn(self, other: AffineSubspace, tol: float = 1e-15) -> bool:
        """Whether this flat is in another one, within tol for its translation and for each vector of its basis.

        It is in none of another ambient dimension.
        """
        margin = scalar(tol, self._where("ContainedIn"), "tol")
        if self._dimension != other.ambient_dimension() or not other.PointInSet(self._translation, margin):
            return False
        rest = other.OrthogonalComplementBasis().T @ self._basis
        return bool(np.linalg.norm(rest, axis=0).max(initial=0.0) <= margin)

    def IsNearlyEqualTo(self, other: AffineSubspace, tol: float = 1e-15) -> bool:
        """Whether this flat is in another one, and the other one in this."""
        return self.ContainedIn(other, tol) and other.ContainedIn(self, tol)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # N'(y - s translation) = 0 for N orthogonal to the flat
        N = self.OrthogonalComplementBasis()
        return np.empty(0, object), place.add_zero(prog, N.T, -N.T @ self._translation)

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return self.AffineDimension() == 0

    def _only_point(self) -> Array | None:
        return self.translation() if self.AffineDimension() == 0 else None

    def _feasible_point(self) -> Array | None:
        return self.translation()

    def _contains(self, x: Array, tol: float) -> bool:
        return bool(np.abs(x - self._projected(x)).max() <= tol)

    def _nearest(self, x: Array) -> Array | None:
        return self._projected(x)

    def _projected(self, x: Array) -> Array:
        Q = span_of(self._basis)
        return np.asarray(self._translation + Q @ (Q.T @ (x - self._translation)))

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: it is 0, or infinity for the whole space."""
        return True

    def _exact_volume(self) -> float:
        return float(np.inf) if self.AffineDimension() == self._dimension else 0.0

    def _affine_hull(self, tol: float | None) -> Flat:
        return Flat(span_of(self._basis), self.translation())


def _affine_hull(set: ConvexSet, tol: Any) -> Flat:
    where = "AffineSubspace"
    margin = None if tol is None else scalar(tol, where, "tol")
    if margin is not None and margin < 0.0:
        raise ValueError(f"{where}: expected tol of at least 0, got {tol}.")
    if set.IsEmpty():
        raise RuntimeError(f"{where}: expected a set that is not empty; this {type(set).__name__} is.")
    if isinstance(set, AffineSubspace):
        return Flat(set.basis(), set.translation())
    point = set.MaybeGetPoint()
    return set._affine_hull(margin) if point is None else Flat(np.zeros((point.size, 0)), point)


def _checked(basis: Any, translation: Any) -> Flat:
    where = "AffineSubspace"
    vector = finite_vector(translation, where, "translation")
    columns = matrix(basis, where, "basis", vector.size) if np.size(basis) else np.zeros((vector.size, 0))
    rank = span_of(columns).shape[1]
    if rank < columns.shape[1]:
        raise ValueError(
            f"{where}: expected independent columns of the basis; its {columns.shape[1]} columns have rank {rank}."
        )
    return Flat(columns, vector)


_FORMS_OF_POINTS = {
    "empty": Form(),
    "scene": Form((*OF_SCENE, "maximum_allowable_radius"), is_query_object, num_optional=2),
    "x": Form(("x",)),
}


class Point(ConvexSet):
    """The set {x} of one vector.

    Point(): that of dimension 0. Point(x): of a vector, shape [n]. Point(query_object, geometry_id,
    reference_frame=None, maximum_allowable_radius=0.0): the center of a sphere of the SceneGraph that is no larger [m],
    in the reference frame; by default in the world.

    Raises:
        ValueError: x is not finite.
        RuntimeError: the geometry is no sphere, or a larger one.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("Point", args, kwargs, _FORMS_OF_POINTS)
        if form == "scene":
            largest = float(given.pop("maximum_allowable_radius", 0.0))
            shape, X_EG = shape_in_frame("Point", given, "Sphere")
            if shape.radius() > largest:
                raise RuntimeError(
                    f"Point: the sphere has a radius of {shape.radius()}, expected at most maximum_allowable_radius = "
                    f"{largest}."
                )
            given = {"x": X_EG.translation()}
        self._x = finite_vector(given.get("x", ()), "Point", "x")
        super().__init__(self._x.size)

    def x(self) -> Array:
        """The vector, shape [n]."""
        return self._x.copy()

    def set_x(self, x: Any) -> None:
        """Sets the vector, of the same size.

        Raises:
            ValueError: it has another size, or values that are not finite.
        """
        self._x = finite_vector(x, self._where("set_x"), "x", self._dimension)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = s x
        return np.empty(0, object), place.add_zero(prog, np.eye(self._dimension), -self._x)

    def _is_empty(self) -> bool:
        return False

    def _is_bounded(self) -> bool:
        return True

    def _only_point(self) -> Array | None:
        return self.x()

    def _contains(self, x: Array, tol: float) -> bool:
        return bool(np.abs(x - self._x).max() <= tol)

    def _nearest(self, x: Array) -> Array | None:
        return self.x()

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: it is 0."""
        return True

    def _exact_volume(self) -> float:
        return 0.0

    def _affine_hull(self, tol: float | None) -> Flat:
        return Flat(np.zeros((self._dimension, 0)), self.x())

    def _shape_with_pose(self) -> tuple[Shape, RigidTransform]:
        from merganser.framework.math.rotations.rigid_transform import RigidTransform
        from merganser.geometry.shapes import Sphere

        return Sphere(0.0), RigidTransform(self._x)
