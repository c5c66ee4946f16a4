"""Sums of sets."""

from __future__ import annotations

__all__ = ["MinkowskiSum"]

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_hull import Flat, span_of
from merganser.geometry.optimization.arguments import Array, Form, choose
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid
from merganser.geometry.optimization.parts import PARTS, checked_parts, same_space
from merganser.geometry.optimization.placement import Placement
from merganser.geometry.optimization.point import Point
from merganser.geometry.optimization.scene_shapes import OF_SCENE, is_query_object, shape_in_frame
from merganser.geometry.optimization.vpolytope import VPolytope

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram

_FORMS = {"scene": Form(OF_SCENE, is_query_object, num_optional=1), **PARTS}


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
        form, given = choose("MinkowskiSum", args, kwargs, _FORMS)
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
