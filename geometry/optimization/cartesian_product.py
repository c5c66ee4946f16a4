"""Products of sets."""

from __future__ import annotations

__all__ = ["CartesianProduct"]

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, matrix
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_hull import Flat, span_of
from merganser.geometry.optimization.arguments import Array, Form, choose, finite_vector
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid
from merganser.geometry.optimization.hyperrectangle import Hyperrectangle
from merganser.geometry.optimization.parts import PARTS, checked_parts
from merganser.geometry.optimization.placement import Placement
from merganser.geometry.optimization.scene_shapes import OF_SCENE, is_query_object, shape_in_frame

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram

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
            variables, constraints = each._add(prog, place._replace(A=place.A[part], b=place.b[part]))
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
