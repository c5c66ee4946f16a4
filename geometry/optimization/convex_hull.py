"""Convex hulls of sets."""

from __future__ import annotations

__all__ = ["ConvexHull"]

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.optimization.arrays import Objects
from merganser.framework.optimization.programs.binding import Binding
from merganser.geometry.optimization.affine_hull import Flat, span_of
from merganser.geometry.optimization.arguments import Array
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.parts import checked_parts, same_space
from merganser.geometry.optimization.placement import Placement

if TYPE_CHECKING:
    from merganser.framework.optimization.programs.program import MathematicalProgram


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
