"""Polyhedra that are given by half-spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix, scalar
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets import half_spaces, inscribed
from merganser.geometry.optimization.sets.arguments import (
    OF_SCENE,
    Array,
    Form,
    choose,
    finite_vector,
    is_query_object,
    same_dimension,
    size_of,
)
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.half_spaces import rows_of_geometry, rows_of_program, rows_of_vertices
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, affine_hull_by_programs, nearest_in_half_spaces

if TYPE_CHECKING:
    from merganser.framework.core.system.random_values import RandomGenerator
    from merganser.framework.optimization.programs.program import MathematicalProgram
    from merganser.geometry.optimization.sets.ellipsoids import Hyperellipsoid

_TOLERANCE = 1e-9
_FORMS = {
    "empty": Form(),
    "vpoly": Form(("vpoly", "tol"), lambda first: hasattr(first, "vertices"), num_optional=1),
    "prog": Form(("prog",), lambda first: hasattr(first, "decision_variables")),
    "scene": Form(OF_SCENE, is_query_object, num_optional=1),
    "rows": Form(("A", "b")),
}


class HPolyhedron(ConvexSet):
    """The vectors x with A x <= b.

    HPolyhedron(): that of dimension 0. HPolyhedron(A, b): of m rows, shapes [m, n] and [m]. HPolyhedron(vpoly,
    tol=1e-9): the hull of a VPolytope, by Qhull; in its affine hull, for which singular values up to tol times the
    greatest count as 0. HPolyhedron(prog): what the constraints of a program allow, all of which are linear.
    HPolyhedron(query_object, geometry_id, reference_frame=None): a Box, HalfSpace, Convex or Mesh (its hull) of the
    SceneGraph, in the reference frame; by default in the world.

    Raises:
        ValueError: sizes do not fit, or values are not finite.
        RuntimeError: the polytope is empty and of dimension 0, a constraint is not linear, or the geometry is another
            shape.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("HPolyhedron", args, kwargs, _FORMS)
        if form == "vpoly":
            A, b = rows_of_vertices(given["vpoly"], float(given.get("tol", _TOLERANCE)))
        elif form == "prog":
            A, b = rows_of_program(given["prog"])
        elif form == "scene":
            A, b = rows_of_geometry(given)
        else:
            A, b = given.get("A", np.zeros((0, 0))), given.get("b", ())
        self._b = finite_vector(b, "HPolyhedron", "b")
        self._A = matrix(A, "HPolyhedron", "A", self._b.size)
        super().__init__(self._A.shape[1])

    @staticmethod
    def MakeBox(lb: Any, ub: Any) -> HPolyhedron:
        """The box lb <= x <= ub, shapes [n].

        Raises:
            ValueError: sizes differ, or a bound is not finite.
        """
        low = finite_vector(lb, "HPolyhedron.MakeBox", "lb")
        high = finite_vector(ub, "HPolyhedron.MakeBox", "ub", low.size)
        eye = np.eye(low.size)
        return HPolyhedron(np.vstack((eye, -eye)), np.concatenate((high, -low)))

    @staticmethod
    def MakeUnitBox(dim: int) -> HPolyhedron:
        """The box -1 <= x <= 1."""
        ones = np.ones(size_of(dim, "HPolyhedron.MakeUnitBox", "dim"))
        return HPolyhedron.MakeBox(-ones, ones)

    @staticmethod
    def MakeL1Ball(dim: int) -> HPolyhedron:
        """The vectors whose absolute entries have a sum of at most 1, by 2^dim rows."""
        n = size_of(dim, "HPolyhedron.MakeL1Ball", "dim")
        places = np.arange(2**n)[:, np.newaxis] >> np.arange(n)
        return HPolyhedron(1.0 - 2.0 * (places & 1), np.ones(2**n))

    def A(self) -> Array:
        """A of A x <= b, shape [m, n]."""
        return self._A.copy()

    def b(self) -> Array:
        """b of A x <= b, shape [m]."""
        return self._b.copy()

    # -- other sets of this one -------------------------------------------------------------------------------------

    def Intersection(
        self, other: HPolyhedron, check_for_redundancy: bool = False, tol: float = _TOLERANCE
    ) -> HPolyhedron:
        """What is in this polyhedron and in another one: the rows of both.

        Args:
            other: of the same dimension.
            check_for_redundancy: whether to leave out rows of the other one that this polyhedron implies.
            tol: by how much they may be missed.

        Raises:
            RuntimeError: the ambient dimensions differ, or the solver did not converge.
        """
        where = self._where("Intersection")
        same_dimension(where, self._dimension, other)
        this = half_spaces.Implications(self._A, self._b, where)
        kept = [not (check_for_redundancy and this.implies(row, limit, tol)) for row, limit in zip(other._A, other._b)]
        return HPolyhedron(np.vstack((self._A, other._A[kept])), np.concatenate((self._b, other._b[kept])))

    def CartesianProduct(self, other: HPolyhedron) -> HPolyhedron:
        """The vectors (x, y) with x in this polyhedron and y in another one."""
        A = np.zeros((self._b.size + other._b.size, self._dimension + other._dimension))
        A[: self._b.size, : self._dimension] = self._A
        A[self._b.size :, self._dimension :] = other._A
        return HPolyhedron(A, np.concatenate((self._b, other._b)))

    def CartesianPower(self, n: int) -> HPolyhedron:
        """The vectors (x1, ..., xn) with all parts in this polyhedron."""
        times = size_of(n, self._where("CartesianPower"), "n")
        return HPolyhedron(np.kron(np.eye(times), self._A), np.tile(self._b, times))

    def PontryaginDifference(self, other: HPolyhedron) -> HPolyhedron:
        """The vectors x with x + y in this polyhedron for all y of another one: b_i - max a_i'y in place of b_i.

        Raises:
            RuntimeError: one is unbounded, dimensions differ, the other one is empty, or the solver did not converge.
        """
        where = self._where("PontryaginDifference")
        same_dimension(where, self._dimension, other)
        self._require_bounded(where, "this polyhedron")
        other._require_bounded(where, "other")
        return HPolyhedron(self._A, self._b - half_spaces.farthest(other, self._A, where))

    def Scale(self, scale: float, center: Any = None) -> HPolyhedron:
        """This polyhedron with its volume multiplied: faces are scale^(1/n) times as far from a center.

        Args:
            scale: at least 0.
            center: shape [n], in the set or not; by default ChebyshevCenter().

        Raises:
            ValueError: the scale is negative, or the center has another size.
            RuntimeError: there is no Chebyshev center.
        """
        where = self._where("Scale")
        factor = scalar(scale, where, "scale")
        if factor < 0.0:
            raise ValueError(f"{where}: expected scale of at least 0, got {scale}.")
        if self._dimension == 0:
            return HPolyhedron(self._A, self._b)
        middle = self.ChebyshevCenter() if center is None else finite_vector(center, where, "center", self._dimension)
        at_center = self._A @ middle
        return HPolyhedron(self._A, at_center + factor ** (1.0 / self._dimension) * (self._b - at_center))

    # -- rows -------------------------------------------------------------------------------------------------------

    def ContainedIn(self, other: HPolyhedron, tol: float = _TOLERANCE) -> bool:
        """Whether all of this polyhedron is in another one, whose b is tol greater.

        Raises:
            RuntimeError: the ambient dimensions differ, or the solver did not converge.
        """
        where = self._where("ContainedIn")
        same_dimension(where, self._dimension, other)
        if self._dimension == 0 or self.IsEmpty():
            return True
        this = half_spaces.Implications(self._A, self._b, where)
        return all(this.implies(row, limit, tol) for row, limit in zip(other._A, other._b))

    def FindRedundant(self, tol: float = _TOLERANCE) -> set[int]:
        """Rows that can be left out all together: each is implied within tol by those that stay.

        Raises:
            RuntimeError: the solver did not converge.
        """
        return half_spaces.redundant_rows(self._A, self._b, tol, self._where("FindRedundant"))

    def ReduceInequalities(self, tol: float = _TOLERANCE) -> HPolyhedron:
        """This polyhedron without the rows that FindRedundant(tol) finds."""
        kept = sorted(set(range(self._b.size)) - self.FindRedundant(tol))
        return HPolyhedron(self._A[kept], self._b[kept])

    def full_dimensional(self, tol: float) -> tuple[HPolyhedron | None, Flat]:
        """This polyhedron, which is not empty, in coordinates of its affine hull, and that; None for a single point."""
        flat = self._affine_hull(tol)
        if flat.basis.shape[1] == 0:
            return None, flat
        A, b = self._A @ flat.basis, self._b - self._A @ flat.translation
        kept = np.linalg.norm(A, axis=1) > max(tol, 1e-12) * np.linalg.norm(self._A, axis=1)
        return HPolyhedron(A[kept], b[kept]), flat

    # -- centers and samples ----------------------------------------------------------------------------------------

    def ChebyshevCenter(self) -> Array:
        """The center of a greatest ball in this polyhedron, shape [n]; of several, any.

        Raises:
            RuntimeError: the polyhedron is empty, or has balls without bounds.
        """
        if self._dimension == 0:
            return np.zeros(0)
        return half_spaces.chebyshev_center(self._A, self._b, self._where("ChebyshevCenter"))

    def MaximumVolumeInscribedEllipsoid(self) -> Hyperellipsoid:
        """The ellipsoid of the greatest volume in this polyhedron, the inner one of Loewner and John.

        Raises:
            RuntimeError: the polyhedron is unbounded or has no inside, or the ambient dimension is 0.
        """
        from merganser.geometry.optimization.sets.ellipsoids import Hyperellipsoid

        where = self._where("MaximumVolumeInscribedEllipsoid")
        self._require_space(where)
        self._require_bounded(where, "this polyhedron")
        C, d = inscribed.inscribed_ellipsoid(self._A, self._b, where)
        return Hyperellipsoid(np.linalg.inv(C), d)

    def MaximumVolumeInscribedAffineTransformation(
        self, circumbody: HPolyhedron, check_bounded: bool = True
    ) -> HPolyhedron:
        """The greatest t + T X in another polyhedron, where X is this one and T is positive semidefinite.

        Args:
            circumbody: what it has to stay in.
            check_bounded: whether to check that this polyhedron is bounded.

        Raises:
            RuntimeError: a polyhedron is unbounded, dimensions differ, or the solver finds none.
        """
        where = self._where("MaximumVolumeInscribedAffineTransformation")
        self._require_space(where)
        same_dimension(where, self._dimension, circumbody)
        if check_bounded:
            self._require_bounded(where, "this polyhedron")
        circumbody._require_bounded(where, "circumbody")
        T, t = inscribed.inscribed_transformation(self._A, self._b, circumbody._A, circumbody._b, where)
        slopes = self._A @ np.linalg.inv(T)  # A T^-1 (y - t) <= b
        return HPolyhedron(slopes, self._b + slopes @ t)

    def SimplifyByIncrementalFaceTranslation(
        self,
        min_volume_ratio: float = 0.1,
        do_affine_transformation: bool = True,
        max_iterations: int = 10,
        points_to_contain: Any = None,
        intersecting_polytopes: Sequence[HPolyhedron] = (),
        keep_whole_intersection: bool = False,
        intersection_padding: float = 1e-4,
        random_seed: int = 0,
    ) -> HPolyhedron:
        """A polyhedron inside of this one that has fewer faces: faces move inwards until others are redundant.

        Args:
            min_volume_ratio: the least volume, in parts of that of this polyhedron; above 0.
            do_affine_transformation: whether the result is then moved and stretched to the greatest volume in this one.
            max_iterations: how often all faces are tried.
            points_to_contain: points that stay inside, in columns, shape [n, m].
            intersecting_polytopes: polyhedra that the result has to meet.
            keep_whole_intersection: whether faces must leave the intersections with those as they are.
            intersection_padding: radius of the ball of the result around a point of each of them; at least 0.
            random_seed: of the order in which faces are tried.

        Raises:
            ValueError: a number is out of its range.
            RuntimeError: this polyhedron is unbounded or has no inside, a point is outside of it, or a polyhedron does
                not meet it.
        """
        from merganser.geometry.optimization.sets.half_spaces import Wishes, simplified

        where = self._where("SimplifyByIncrementalFaceTranslation")
        self._require_space(where)
        wishes = Wishes(
            min_volume_ratio, max_iterations, points_to_contain, list(intersecting_polytopes), keep_whole_intersection,
            intersection_padding, random_seed,
        )  # fmt: skip
        return simplified(self, wishes, do_affine_transformation, where)

    def UniformSample(
        self,
        generator: RandomGenerator,
        *args: Any,
        previous_sample: Any = None,
        mixing_steps: int = 10,
        subspace: Any = None,
        tol: float = 1e-8,
    ) -> Array:
        """A random vector of this polyhedron, nearly uniformly distributed, by hit and run (see `inscribed.py`).

        (generator, previous_sample, mixing_steps=10, subspace=None, tol=1e-8), or without previous_sample.

        Args:
            generator: where randomness comes from.
            args: those that follow, in order.
            previous_sample: a vector of the set to begin with, shape [n]; by default ChebyshevCenter().
            mixing_steps: how many steps; more of them for less dependence on the beginning.
            subspace: orthonormal directions of the steps in columns, shape [n, k]; by default all.
            tol: faces along the directions, up to this, do not count.

        Returns:
            Shape [n].

        Raises:
            ValueError: sizes do not fit, or previous_sample is not in the set.
            RuntimeError: the set has no end in a direction, or there is no Chebyshev center.
        """
        where = self._where("UniformSample")
        names = ("previous_sample", "mixing_steps", "subspace", "tol")
        given = dict(zip(names, args if args and np.ndim(args[0]) else (None, *args)))
        given = {"mixing_steps": mixing_steps, "subspace": subspace, "tol": tol, **given}
        begin = given.get("previous_sample")
        begin = previous_sample if begin is None else begin
        self._require_space(where)
        x = self.ChebyshevCenter() if begin is None else finite_vector(begin, where, "previous_sample", self._dimension)
        return inscribed.sample(
            self._A, self._b, x, generator, size_of(given["mixing_steps"], where, "mixing_steps"), given["subspace"],
            float(given["tol"]), where,
        )  # fmt: skip

    def _require_bounded(self, where: str, name: str) -> None:
        if not self.IsBounded():
            raise RuntimeError(f"{where}: expected {name} to be bounded; it is not.")

    # -- what a set defines -----------------------------------------------------------------------------------------

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # A y <= b s
        return np.empty(0, object), place.add_at_most_zero(prog, self._A, -self._b)

    def _axis_aligned_bounds(self) -> Array | None:
        if (np.count_nonzero(self._A, axis=1) != 1).any():
            return None
        axes = self._A.nonzero()[1]
        slopes = self._A[np.arange(axes.size), axes]
        bounds = np.array([[-np.inf], [np.inf]]).repeat(self._dimension, axis=1)
        is_lower, limits = slopes < 0.0, self._b / slopes
        np.maximum.at(bounds[0], axes[is_lower], limits[is_lower])
        np.minimum.at(bounds[1], axes[~is_lower], limits[~is_lower])
        return bounds

    def _is_empty(self) -> bool:
        if self._dimension == 0 or self._b.size == 0:
            return False
        return self._feasible_point() is None

    def _meets(self, other: ConvexSet, where: str) -> bool | None:
        if not isinstance(other, HPolyhedron):
            return None
        both = half_spaces.at_most(np.concatenate((self._A, other._A)), np.concatenate((self._b, other._b)))
        return both.least(np.zeros(self._dimension)).is_found(where)

    def _feasible_point(self) -> Array | None:
        found = half_spaces.at_most(self._A, self._b).least(np.zeros(self._dimension))
        return found.x if found.is_found(self._where("MaybeGetFeasiblePoint")) else None

    def _is_bounded(self) -> bool:
        return half_spaces.is_bounded(self._A, self._where("IsBounded")) or self.IsEmpty()

    def _contains(self, x: Array, tol: float) -> bool:
        return bool((self._A @ x <= self._b + tol).all())

    def _nearest_by(self, W: Array, target: Array, where: str) -> Array | None:
        point = nearest_in_half_spaces(self._A, self._b, W, target)
        return super()._nearest_by(W, target, where) if point is None else point

    def _affine_hull(self, tol: float | None) -> Flat:
        if self._b.size == 0:
            return Flat(np.eye(self._dimension), np.zeros(self._dimension))
        return affine_hull_by_programs(self, 1e-12 if tol is None else tol)
