"""Sets of positions with angles without limits: narrow pieces, and where sets meet."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.geometry.optimization import (
    CheckIfSatisfiesConvexityRadius,
    ComputePairwiseIntersections,
    HPolyhedron,
    Hyperellipsoid,
    Hyperrectangle,
    PartitionConvexSet,
    Point,
)

box = HPolyhedron.MakeBox


def test_sets_of_a_width_of_pi_are_too_wide():
    assert CheckIfSatisfiesConvexityRadius(box([0, 0], [3.1, 9]), [0])
    assert not CheckIfSatisfiesConvexityRadius(box([0, 0], [3.2, 1]), [0])
    assert CheckIfSatisfiesConvexityRadius(box([0, 0], [3.2, 1]), [])
    for wrong in ([0, 0], [2], [-1]):
        with pytest.raises(ValueError, match="different indices from 0 to 1"):
            CheckIfSatisfiesConvexityRadius(box([0, 0], [1, 1]), wrong)


def test_pieces_are_narrow_and_cover_the_set():
    for whole in (box([0, 0], [7, 1]), Hyperellipsoid.MakeHypersphere(3.5, [0, 0])):
        pieces = PartitionConvexSet(whole, [0])
        assert len(pieces) == 3 and all(CheckIfSatisfiesConvexityRadius(each, [0]) for each in pieces)
        r = np.random.default_rng(0)
        points = [x for x in r.uniform(-4, 7, (300, 2)) if whole.PointInSet(x)]
        assert points and all(any(each.PointInSet(x, 1e-7) for each in pieces) for x in points)
    assert len(PartitionConvexSet([box([0, 0], [4, 4]), box([0, 0], [1, 1])], [0, 1])) == 5
    assert len(PartitionConvexSet(box([0, 0], [9, 9]), [])) == 1
    with pytest.raises(ValueError, match="epsilon"):
        PartitionConvexSet(box([0], [1]), [0], 0.0)
    with pytest.raises(RuntimeError, match="bounded in dimension 0"):
        PartitionConvexSet(HPolyhedron([[1.0]], [0.0]), [0])
    with pytest.raises(ValueError, match="one ambient dimension"):
        PartitionConvexSet([box([0], [1]), Point([0.0, 0.0])], [0])


def test_sets_meet_across_a_turn():
    sets = [box([0, 0], [2, 1]), box([1.5, 0], [4, 1]), box([3.5, 0], [6.4, 1]), Point([0.05 + 4 * np.pi, 0.5])]
    pairs, offsets = ComputePairwiseIntersections(sets, [0])
    found = {pair: round(offset[0] / (2 * np.pi)) for pair, offset in zip(pairs, offsets)}
    expected = {(0, 1): 0, (1, 2): 0, (0, 2): 1, (0, 3): 2, (2, 3): 1}
    assert found == expected | {(j, i): -k for (i, j), k in expected.items()}
    assert all(offset[1] == 0.0 for offset in offsets)
    assert ComputePairwiseIntersections(sets, [])[0] == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert ComputePairwiseIntersections(sets, [0], False)[0] == pairs
    boxes = [Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(each) for each in sets]
    assert ComputePairwiseIntersections(sets, [0], boxes)[0] == pairs
    both = ComputePairwiseIntersections(sets[:1], sets[1:], [0], boxes[:1], boxes[1:])
    assert both[0] == [(0, 0), (0, 1), (0, 2)] and both[1][2][0] == pytest.approx(4 * np.pi)
    with pytest.raises(ValueError, match="at least one set"):
        ComputePairwiseIntersections([], [0])
    with pytest.raises(ValueError, match="a box for each"):
        ComputePairwiseIntersections(sets, [0], bboxes=boxes[:2])
    with pytest.raises(ValueError, match="one ambient dimension"):
        ComputePairwiseIntersections(sets, [Point([0.0])], [0])


def test_sets_that_touch_meet():
    assert ComputePairwiseIntersections([box([0], [1]), box([1], [2])], [])[0] == [(0, 1), (1, 0)]
    assert ComputePairwiseIntersections([box([0], [1])], [])[0] == []
