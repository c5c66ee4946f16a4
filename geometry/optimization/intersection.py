"""Intersections of sets."""

from __future__ import annotations

__all__ = ["Intersection"]

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.arguments import Array, choose
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.parts import PARTS, checked_parts, same_space
from merganser.geometry.optimization.placement import Placement

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram


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
