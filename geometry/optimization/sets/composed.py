"""Products of sets.

Sets that sets are made of.

Convex hulls of sets.

Intersections of sets.

Sums of sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.sets.affine_subspace import Point
from merganser.geometry.optimization.sets.arguments import (
    OF_SCENE,
    Array,
    Form,
    choose,
    finite_vector,
    is_query_object,
    shape_in_frame,
)
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.ellipsoids import Hyperellipsoid
from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle
from merganser.geometry.optimization.sets.placement import Placement
from merganser.geometry.optimization.sets.set_programs import Flat, span_of
from merganser.geometry.optimization.sets.vpolytope import VPolytope

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram


# Of constructors of a list of sets, or of two.
PARTS = {"empty": Form(), "sets": Form(("sets",)), "pair": Form(("setA", "setB"))}


def checked_parts(where: str, form: str, given: dict[str, Any]) -> list[ConvexSet]:
    """Copies of the sets that a constructor was given in one of the forms PARTS.

    Raises:
        TypeError: one is no convex set.
    """
    parts = [given["setA"], given["setB"]] if form == "pair" else list(given.get("sets", ()))
    for i, part in enumerate(parts):
        if not isinstance(part, ConvexSet):
            raise TypeError(f"{where}: expected convex sets, got {type(part).__name__} at index {i}.")
    return [part.Clone() for part in parts]


def same_space(where: str, parts: list[ConvexSet]) -> int:
    """The ambient dimension of sets; 0 without sets.

    Raises:
        ValueError: they have several.
    """
    sizes = [part.ambient_dimension() for part in parts]
    if len(set(sizes)) > 1:
        raise ValueError(f"{where}: expected sets of one ambient dimension, got {sizes}.")
    return sizes[0] if sizes else 0


_FORMS = {
    "scene": Form(OF_SCENE, is_query_object, num_optional=1),
    "mapped": Form(("sets", "A", "b")),
    **PARTS,
}


class CartesianProduct(ConvexSet):
    """The vectors (y1, y2, ...) with each part in its own set; or the x with A x + b of this kind.

    CartesianProduct(): of no sets, of dimension 0. CartesianProduct(sets), CartesianProduct(setA, setB).
    CartesianProduct(sets, A, b): {x : A x + b in the product}, for A of shape [p, n] and rank n, and b of [p].
    CartesianProduct(query_object, geometry_id, reference_frame=None): a Cylinder of the SceneGraph, in the reference
    frame; by default in the world.

    Raises:
        ValueError: sizes do not fit, or values are not finite.
        RuntimeError: A has no full column rank, or the geometry is no cylinder.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        where = "CartesianProduct"
        form, given = choose(where, args, kwargs, _FORMS)
        if form == "scene":
            given = _of_cylinder(given)
        self._factors = checked_parts(where, form, given)
        size = sum(each.ambient_dimension() for each in self._factors)
        self._A: Array | None = None
        self._b: Array | None = None
        if "A" in given:
            self._A = matrix(given["A"], where, "A", size)
            self._b = finite_vector(given["b"], where, "b", size)
            size = self._A.shape[1]
            rank = span_of(self._A).shape[1]
            if rank < size:
                raise RuntimeError(f"{where}: expected A of full column rank {size}, got rank {rank}.")
        super().__init__(size)

    def num_factors(self) -> int:
        """The number of sets."""
        return len(self._factors)

    def factor(self, index: int) -> ConvexSet:
        """One of the sets."""
        return self._factors[index]

    def A(self) -> Array | None:
        """A of A x + b, shape [p, n], if there is one."""
        return None if self._A is None else self._A.copy()

    def b(self) -> Array | None:
        """b of A x + b, shape [p], if there is one."""
        return None if self._b is None else self._b.copy()

    def _slices(self) -> Iterator[tuple[ConvexSet, slice]]:
        """The factors, and where their parts are; without those of dimension 0."""
        begin = 0
        for each in self._factors:
            end = begin + each.ambient_dimension()
            if end > begin:
                yield each, slice(begin, end)
            begin = end

    def _product(self, x: Array) -> Array:
        """A x + b."""
        return x if self._A is None or self._b is None else np.asarray(self._A @ x + self._b)

    def _preimage(self, y: Array) -> Array:
        """The x whose A x + b is nearest to y."""
        if self._A is None or self._b is None:
            return y
        return np.asarray(np.linalg.lstsq(self._A, y - self._b, rcond=None)[0])

    def _is_square(self) -> bool:
        return self._A is None or self._A.shape[0] == self._A.shape[1]

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # A x + b s, part by part
        if self._A is not None and self._b is not None:
            place = place.mapped(self._A, self._b)
        new: list[Any] = []
        added: list[Binding] = []
        for each, part in self._slices():
            variables, constraints = each._add(prog, place._replace(A=place.A[part], b=place.b[part], is_plain=False))
            new.extend(variables)
            added.extend(constraints)
        return np.array(new, dtype=object), added

    def _is_empty(self) -> bool:
        if any(each.IsEmpty() for each in self._factors):
            return True
        return not self._is_square() and super()._is_empty()

    def _is_bounded(self) -> bool:
        if all(each.IsBounded() for each in self._factors):
            return True  # A has full column rank
        if self._A is None:
            return self._is_empty()
        return super()._is_bounded()

    def _only_point(self) -> Array | None:
        points = [each.MaybeGetPoint() for each in self._factors]
        known = [each for each in points if each is not None]
        if len(known) < len(points) or not known:
            return None
        y = np.concatenate(known)
        x = self._preimage(y)
        return x if self._is_square() or self._contains(x, 1e-12 * max(1.0, float(np.abs(y).max()))) else None

    def _feasible_point(self) -> Array | None:
        if not self._is_square():
            return super()._feasible_point()
        points = [each.MaybeGetFeasiblePoint() for each in self._factors]
        known = [each for each in points if each is not None]
        return self._preimage(np.concatenate(known)) if len(known) == len(points) else None

    def _contains(self, x: Array, tol: float) -> bool:
        if any(each.ambient_dimension() == 0 and each.IsEmpty() for each in self._factors):
            return False
        y = self._product(x)
        return all(each._contains(y[part], tol) for each, part in self._slices())

    def _nearest(self, x: Array) -> Array | None:
        if self._A is not None:
            return super()._nearest(x)
        parts = [each._nearest(x[part]) for each, part in self._slices()]
        known = [each for each in parts if each is not None]
        return np.concatenate(known) if len(known) == len(parts) else None

    def has_exact_volume(self) -> bool:
        """Whether CalcVolume has a closed form: if all sets have one, and A is square."""
        return self._is_square() and all(each.has_exact_volume() for each in self._factors)

    def _exact_volume(self) -> float:
        # {x : A x + b in Y} has the volume of Y divided by |det A|
        stretch = 1.0 if self._A is None else abs(float(np.linalg.det(self._A)))
        volumes = [each.CalcVolume() for each, _ in self._slices()]
        return 0.0 if 0.0 in volumes else float(np.prod(volumes)) / stretch

    def _affine_hull(self, tol: float | None) -> Flat:
        if not self._is_square():
            return super()._affine_hull(tol)
        size = sum(each.ambient_dimension() for each in self._factors)
        flats = [(each._affine_hull(tol), part) for each, part in self._slices()]
        basis = np.zeros((size, sum(flat.basis.shape[1] for flat, _ in flats)))
        translation = np.zeros(size)
        begin = 0
        for flat, part in flats:
            end = begin + flat.basis.shape[1]
            basis[part, begin:end] = flat.basis
            translation[part] = flat.translation
            begin = end
        if self._A is None:
            return Flat(basis, translation)
        return Flat(span_of(np.asarray(np.linalg.solve(self._A, basis))), self._preimage(translation))


def _of_cylinder(given: dict[str, Any]) -> dict[str, Any]:
    """A cylinder as a disk times a segment, in the coordinates p_G = R_GE (p_E - p_EG) of its geometry."""
    shape, X_EG = shape_in_frame("CartesianProduct", given, "Cylinder")
    half = 0.5 * shape.length()
    R_GE = X_EG.rotation().matrix().T
    disk, segment = Hyperellipsoid.MakeHypersphere(shape.radius(), np.zeros(2)), Hyperrectangle([-half], [half])
    return {"sets": [disk, segment], "A": R_GE, "b": -R_GE @ X_EG.translation()}


class ConvexHull(ConvexSet):
    """The vectors w1 x1 + w2 x2 + ... with each x_i in its own set, w >= 0 and sum(w) = 1.

    Of unbounded sets it is the smallest closed set around these.

    Args:
        sets: of one ambient dimension.
        remove_empty_sets: whether to find out which of them are empty, and to leave these out. If they are not left
            out, they must not be there: an empty set with a weight of 0 may still have a ray.

    Raises:
        ValueError: ambient dimensions differ.
    """

    def __init__(self, sets: Sequence[ConvexSet], remove_empty_sets: bool = True) -> None:
        self._sets = checked_parts("ConvexHull", "sets", {"sets": sets})
        self._removed = bool(remove_empty_sets)
        self._participating = [each for each in self._sets if not (self._removed and each.IsEmpty())]
        super().__init__(same_space("ConvexHull", self._sets))

    def sets(self) -> list[ConvexSet]:
        """All sets that were given."""
        return list(self._sets)

    def participating_sets(self) -> list[ConvexSet]:
        """The sets without those that were left out."""
        return list(self._participating)

    def empty_sets_removed(self) -> bool:
        """Whether empty sets were left out."""
        return self._removed

    def element(self, index: int) -> ConvexSet:
        """One of all sets that were given."""
        return self._sets[index]

    def num_elements(self) -> int:
        """The number of all sets that were given."""
        return len(self._sets)

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = z1 + z2 + ..., z_i in w_i S_i, sum(w) = s, w >= 0
        n, count = self._dimension, len(self._participating)
        z = prog.NewContinuousVariables(count, n, "z")
        w = prog.NewContinuousVariables(count, "w")
        both = np.concatenate((z.ravel(), w))
        W = np.zeros((n + 1, both.size))
        W[:n, : n * count] = -np.tile(np.eye(n), count)
        W[n, n * count :] = -1.0
        M, scale = np.vstack((np.eye(n), np.zeros(n))), np.concatenate((np.zeros(n), [1.0]))
        added = [place.add_zero_with(prog, M, scale, both, W)]
        new: list[Any] = list(both)
        if count:
            added.append(prog.AddBoundingBoxConstraint(0.0, np.inf, w))
        for each, part, weight in zip(self._participating, z, w):
            slopes = np.zeros(n + 1)
            slopes[n] = 1.0
            inner = Placement(np.eye(n, n + 1), np.zeros(n), slopes, 0.0, np.append(part, weight))
            variables, constraints = each._add(prog, inner)
            new.extend(variables)
            added.extend(constraints)
        return np.array(new, dtype=object), added

    def _is_empty(self) -> bool:
        return not self._participating if self._removed else all(each.IsEmpty() for each in self._participating)

    def _is_bounded(self) -> bool:
        return all(each.IsBounded() for each in self._participating)

    def _feasible_point(self) -> Array | None:
        points = (each.MaybeGetFeasiblePoint() for each in self._participating)
        return next((each for each in points if each is not None), None)

    def _contains(self, x: Array, tol: float) -> bool:
        return not self._is_empty() and super()._contains(x, tol)

    def _nearest(self, x: Array) -> Array | None:
        return None if self._is_empty() else super()._nearest(x)

    def _affine_hull(self, tol: float | None) -> Flat:
        flats = [each._affine_hull(tol) for each in self._participating]
        first = flats[0].translation
        columns = [each.basis for each in flats] + [(each.translation - first)[:, np.newaxis] for each in flats]
        return Flat(span_of(np.hstack(columns), tol), first)


class Intersection(ConvexSet):
    """The vectors that are in each of several sets of one ambient dimension.

    Intersection(): of no sets, of dimension 0. Intersection(sets), Intersection(setA, setB).

    Raises:
        ValueError: ambient dimensions differ.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("Intersection", args, kwargs, PARTS)
        self._elements = checked_parts("Intersection", form, given)
        super().__init__(same_space("Intersection", self._elements))

    def num_elements(self) -> int:
        """The number of sets."""
        return len(self._elements)

    def element(self, index: int) -> ConvexSet:
        """One of the sets."""
        return self._elements[index]

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        new: list[Any] = []
        added: list[Binding] = []
        for each in self._elements:
            variables, constraints = each._add(prog, place)
            new.extend(variables)
            added.extend(constraints)
        return np.array(new, dtype=object), added

    def _is_empty(self) -> bool:
        return any(each.IsEmpty() for each in self._elements) or super()._is_empty()

    def _is_bounded(self) -> bool:
        return any(each.IsBounded() for each in self._elements) or super()._is_bounded()

    def _only_point(self) -> Array | None:
        points = [each.MaybeGetPoint() for each in self._elements]
        first = next((each for each in points if each is not None), None)
        return first if first is not None and self._contains(first, 0.0) else None

    def _contains(self, x: Array, tol: float) -> bool:
        return all(each._contains(x, tol) for each in self._elements)


_FORMS_OF_SUMS = {"scene": Form(OF_SCENE, is_query_object, num_optional=1), **PARTS}


class MinkowskiSum(ConvexSet):
    """The vectors x1 + x2 + ... with each part in its own set, all of one ambient dimension.

    MinkowskiSum(): of no sets, of dimension 0. MinkowskiSum(sets), MinkowskiSum(setA, setB).
    MinkowskiSum(query_object, geometry_id, reference_frame=None): a Capsule of the SceneGraph, in the reference frame;
    by default in the world.

    Raises:
        ValueError: ambient dimensions differ.
        RuntimeError: the geometry is no capsule.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        form, given = choose("MinkowskiSum", args, kwargs, _FORMS_OF_SUMS)
        if form == "scene":
            given = _of_capsule(given)
        self._terms = checked_parts("MinkowskiSum", form, given)
        super().__init__(same_space("MinkowskiSum", self._terms))

    def num_terms(self) -> int:
        """The number of sets."""
        return len(self._terms)

    def term(self, index: int) -> ConvexSet:
        """One of the sets."""
        return self._terms[index]

    def _add(self, prog: MathematicalProgram, place: Placement) -> tuple[Objects, list[Binding]]:
        # y = z1 + z2 + ..., z_i in s S_i
        n, count = self._dimension, len(self._terms)
        z = prog.NewContinuousVariables(count, n, "z")
        sums = -np.tile(np.eye(n), count)
        added = [place.add_zero_with(prog, np.eye(n), np.zeros(n), z.ravel(), sums)]
        new: list[Any] = list(z.ravel())
        for each, part in zip(self._terms, z):
            variables, constraints = each._add(prog, place.of_new(part))
            new.extend(variables)
            added.extend(constraints)
        return np.array(new, dtype=object), added

    def _is_empty(self) -> bool:
        return any(each.IsEmpty() for each in self._terms)

    def _is_bounded(self) -> bool:
        return all(each.IsBounded() for each in self._terms) or self._is_empty()

    def _only_point(self) -> Array | None:
        points = [each.MaybeGetPoint() for each in self._terms]
        known = [each for each in points if each is not None]
        return np.sum(known, axis=0) if len(known) == len(points) else None

    def _feasible_point(self) -> Array | None:
        points = [each.MaybeGetFeasiblePoint() for each in self._terms]
        known = [each for each in points if each is not None]
        return np.sum(known, axis=0) if len(known) == len(points) else None

    def _affine_hull(self, tol: float | None) -> Flat:
        flats = [each._affine_hull(tol) for each in self._terms]
        return Flat(span_of(np.hstack([each.basis for each in flats])), np.sum([f.translation for f in flats], axis=0))


def _of_capsule(given: dict[str, Any]) -> dict[str, Any]:
    """A capsule as the sum of a ball and a segment."""
    shape, X_EG = shape_in_frame("MinkowskiSum", given, "Capsule")
    half_E = 0.5 * shape.length() * X_EG.rotation().matrix()[:, 2]
    ball = Hyperellipsoid.MakeHypersphere(shape.radius(), X_EG.translation())
    is_ball = not half_E.any()
    return {"sets": [ball, Point(half_E) if is_ball else VPolytope(np.column_stack((-half_E, half_E)))]}
