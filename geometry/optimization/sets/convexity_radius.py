"""Convex sets of positions some of which are angles without limits: pieces that are narrow enough, and where sets meet.

Positions that differ by 2 pi in such angles are the same. A segment between two points of a set is the shortest way if
the set is less than pi wide in each of these angles, its convexity radius (Cohn, Petersen, Simchowitz, Tedrake,
Non-Euclidean motion planning with graphs of geodesically-convex sets, RSS 2023).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from merganser.geometry.optimization.sets import set_programs
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.composed import Intersection
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.sets.hyperrectangle import Hyperrectangle

_TWO_PI = 2.0 * np.pi
_BOUND_MARGIN = 1e-6  # of bounds that are found by programs


def checked_joints(joints: Sequence[int], size: int, where: str) -> list[int]:
    """Places of angles without limits in positions.

    Raises:
        ValueError: one is there twice, or outside of 0 to size - 1.
    """
    places = [int(each) for each in joints]
    if len(set(places)) < len(places) or not all(0 <= each < size for each in places):
        raise ValueError(
            f"{where}: expected different indices from 0 to {size - 1} in continuous_revolute_joints, got {places}."
        )
    return places


def _bounds(set: ConvexSet, place: int, where: str) -> tuple[float, float]:
    axis = np.eye(set.ambient_dimension())[place]
    upper, of_lower = set_programs.extremes(set, (axis, -axis), where)
    return -of_lower.value, upper.value


def CheckIfSatisfiesConvexityRadius(convex_set: ConvexSet, continuous_revolute_joints: Sequence[int]) -> bool:
    """Whether a set is less than pi wide in all angles without limits.

    Args:
        convex_set: of positions.
        continuous_revolute_joints: places of these angles in the positions.

    Raises:
        ValueError: a place is there twice, or is none.
    """
    where = "CheckIfSatisfiesConvexityRadius"
    for place in checked_joints(continuous_revolute_joints, convex_set.ambient_dimension(), where):
        low, high = _bounds(convex_set, place, where)
        if high - low >= np.pi:
            return False
    return True


def PartitionConvexSet(
    convex_set: ConvexSet | Sequence[ConvexSet] | None = None,
    continuous_revolute_joints: Sequence[int] = (),
    epsilon: float = 1e-5,
    *,
    convex_sets: Sequence[ConvexSet] | None = None,
) -> list[ConvexSet]:
    """Pieces of a set, or of several, that are at most pi - epsilon wide in all angles without limits.

    Args:
        convex_set: one set, or a list of them in spaces of one dimension.
        continuous_revolute_joints: places of these angles in the positions.
        epsilon: by how much neighbouring pieces overlap, too; above 0 and below pi [rad].
        convex_sets: a list of sets, in place of the first argument.

    Returns:
        The sets themselves where they are narrow enough; else intersections with boxes.

    Raises:
        ValueError: epsilon is out of range, a place is there twice or is none, or dimensions differ.
        RuntimeError: a set has no bounds in one of the angles.
    """
    where = "PartitionConvexSet"
    given: Any = convex_set if convex_sets is None else convex_sets
    if not isinstance(given, ConvexSet):
        sets = list(given)
        _require_sets(where, "convex_sets", sets)
        _require_space(where, sets)
        return [piece for each in sets for piece in PartitionConvexSet(each, continuous_revolute_joints, epsilon)]
    if not 0.0 < epsilon < np.pi:
        raise ValueError(f"{where}: expected epsilon above 0 and below pi, got {epsilon}.")
    n = given.ambient_dimension()
    places = checked_joints(continuous_revolute_joints, n, where)
    intervals = []
    for place in places:
        low, high = _bounds(given, place, where)
        if not np.isfinite([low, high]).all():
            raise RuntimeError(f"{where}: expected a set that is bounded in dimension {place}; it is not.")
        intervals.append(_intervals(low, high, epsilon))
    if all(len(each) == 1 for each in intervals):
        return [given.Clone()]
    pieces: list[ConvexSet] = []
    for chosen in itertools.product(*intervals):
        rows = np.eye(n)[places]
        box = HPolyhedron(np.vstack((rows, -rows)), [*(high for _, high in chosen), *(-low for low, _ in chosen)])
        piece = given.Intersection(box) if isinstance(given, HPolyhedron) else Intersection(given, box)
        if not piece.IsEmpty():
            pieces.append(piece)
    return pieces


def _intervals(low: float, high: float, epsilon: float) -> list[tuple[float, float]]:
    """An interval as several that are at most pi - epsilon wide and overlap by epsilon."""
    widest = np.pi - epsilon
    if high - low <= widest:
        return [(low, high)]
    starts = np.arange(low, high - epsilon, widest - epsilon)
    return [(float(start), float(min(start + widest, high))) for start in starts]


def ComputePairwiseIntersections(*args: Any, **kwargs: Any) -> tuple[list[tuple[int, int]], list[Array]]:
    """Which sets meet, and the multiples of 2 pi by which angles of the first one are moved for that.

    (convex_sets_A, convex_sets_B, continuous_revolute_joints, preprocess_bbox=True, parallelism=Max)
    (convex_sets_A, convex_sets_B, continuous_revolute_joints, bboxes_A, bboxes_B, parallelism=Max)
    (convex_sets, continuous_revolute_joints, preprocess_bbox=True, parallelism=Max)
    (convex_sets, continuous_revolute_joints, bboxes=[], parallelism=Max): within one list; no set with itself.

    Args:
        args, kwargs: convex sets; the places of angles without limits in positions, in which all sets must be bounded;
            whether boxes around sets are found first, which saves programs for those that are far apart, or these
            boxes; and how many threads may be used; pairs are small, and are asked about one by one.

    Returns:
        Pairs (i, j), and for each the offset that is added to points of set i before they are compared with those of
        set j, shape [n].

    Raises:
        TypeError: arguments are none of these.
        ValueError: there are no sets, numbers or dimensions of sets and boxes differ, or a place is there twice or is
            none.
        RuntimeError: a set has no bounds in one of the angles, or the solver did not converge.
    """
    where = "ComputePairwiseIntersections"
    names = _forms(args, kwargs)
    given = {**dict(zip(names, args)), **kwargs}
    if len(given) != len(args) + len(kwargs) or not set(given) <= set(names):
        raise TypeError(f"{where}: expected ({', '.join(names)}), got {len(args)} arguments and {sorted(kwargs)}.")
    is_within = "convex_sets" in names
    A = list(given["convex_sets" if is_within else "convex_sets_A"])
    B = A if is_within else list(given["convex_sets_B"])
    _require_sets(where, names[0], A)
    _require_sets(where, names[0] if is_within else names[1], B)
    joints = checked_joints(given["continuous_revolute_joints"], A[0].ambient_dimension(), where)
    boxes_A = given.get("bboxes" if is_within else "bboxes_A") or None
    boxes_B = boxes_A if is_within else given.get("bboxes_B") or None
    for sets, boxes in ((A, boxes_A), (B, boxes_B)):
        if boxes is not None and len(boxes) != len(sets):
            raise ValueError(f"{where}: expected a box for each of {len(sets)} sets, got {len(boxes)}.")
    _require_space(where, [*A, *B, *(boxes_A or ()), *(boxes_B or ())])
    if boxes_A is None and given.get("preprocess_bbox", True):
        boxes_A = [_box(each) for each in A]
        boxes_B = boxes_A if is_within else [_box(each) for each in B]
    search = _Search(A, B, joints, boxes_A, boxes_B)
    pairs = [(i, j) for i in range(len(A)) for j in range(len(B)) if not (is_within and i >= j)]
    found = search.run(pairs)
    if is_within:
        found = sorted([*found, *((j, i, -offset) for i, j, offset in found)], key=lambda each: each[:2])
    return [(i, j) for i, j, _ in found], [offset + 0.0 for _, _, offset in found]


def _forms(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """The names of the arguments."""
    second: Any = args[1] if len(args) > 1 else []
    two = "convex_sets_B" in kwargs or (
        np.size(np.asarray(second, dtype=object)) > 0 and isinstance(second[0], ConvexSet)
    )
    place = 3 if two else 2
    is_flag = "preprocess_bbox" in kwargs or (len(args) > place and isinstance(args[place], (bool, np.bool_)))
    sets = ("convex_sets_A", "convex_sets_B") if two else ("convex_sets",)
    if is_flag or ("bboxes_A" not in kwargs and "bboxes" not in kwargs and len(args) <= place):
        return (*sets, "continuous_revolute_joints", "preprocess_bbox", "parallelism")
    return (*sets, "continuous_revolute_joints", *(("bboxes_A", "bboxes_B") if two else ("bboxes",)), "parallelism")


def _require_sets(where: str, name: str, sets: Sequence[Any]) -> None:
    if not sets:
        raise ValueError(f"{where}: expected at least one set in {name}, got none.")
    for i, each in enumerate(sets):
        if not isinstance(each, ConvexSet):
            raise TypeError(f"{where}: expected convex sets in {name}, got {type(each).__name__} at index {i}.")


def _require_space(where: str, sets: Sequence[ConvexSet]) -> None:
    sizes = sorted({each.ambient_dimension() for each in sets})
    if len(sizes) > 1:
        raise ValueError(f"{where}: expected sets and boxes of one ambient dimension, got {sizes}.")


def _box(set: ConvexSet) -> Hyperrectangle | None:
    return Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(set)


class _Search:
    """Pairs of sets that meet when one is moved by multiples of 2 pi."""

    def __init__(
        self, A: list[ConvexSet], B: list[ConvexSet], joints: list[int], boxes_A: Any, boxes_B: Any
    ) -> None:  # fmt: skip
        self._A, self._B, self._joints, self._boxes = A, B, joints, (boxes_A, boxes_B)
        self._ranges = [
            [self._range(sets, boxes, i) for i in range(len(sets))] for sets, boxes in zip((A, B), self._boxes)
        ]

    def _range(self, sets: list[ConvexSet], boxes: Any, i: int) -> Array:
        """Bounds of a set in the angles, shape [num_joints, 2]."""
        where = "ComputePairwiseIntersections"
        if boxes is not None and boxes[i] is not None:
            return np.column_stack((boxes[i].lb(), boxes[i].ub()))[self._joints]
        found = np.array([_bounds(sets[i], place, where) for place in self._joints]).reshape(-1, 2)
        if not np.isfinite(found).all():
            raise RuntimeError(f"{where}: set {i} has no bounds in an angle without limits, of {self._joints}.")
        return found

    def run(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int, Array]]:
        near = [(i, j, offset) for i, j in pairs for offset in self._offsets(i, j) if self._boxes_meet(i, j, offset)]
        return [each for each in near if self._sets_meet(*each)]

    def _offsets(self, i: int, j: int) -> list[Array]:
        a, b = self._ranges[0][i], self._ranges[1][j]
        counts = [
            range(
                int(np.ceil((low_b - high_a - _BOUND_MARGIN) / _TWO_PI)),
                int(np.floor((high_b - low_a + _BOUND_MARGIN) / _TWO_PI)) + 1,
            )
            for (low_a, high_a), (low_b, high_b) in zip(a, b)
        ]
        offsets = []
        for chosen in itertools.product(*counts):
            offset = np.zeros(self._A[i].ambient_dimension())
            offset[self._joints] = _TWO_PI * np.array(chosen)
            offsets.append(offset)
        return offsets

    def _boxes_meet(self, i: int, j: int, offset: Array) -> bool:
        if self._boxes[0] is None or self._boxes[1] is None:
            return True
        a, b = self._boxes[0][i], self._boxes[1][j]
        if a is None or b is None:
            return True
        shifted, margin = (a.lb() + offset, a.ub() + offset), _BOUND_MARGIN
        return bool((shifted[0] <= b.ub() + margin).all() and (b.lb() <= shifted[1] + margin).all())

    def _sets_meet(self, i: int, j: int, offset: Array) -> bool:
        a, b = self._A[i], self._B[j]
        if not offset.any():
            return a.IntersectsWith(b)
        return set_programs.meet_moved(a, b, offset, "ComputePairwiseIntersections")
