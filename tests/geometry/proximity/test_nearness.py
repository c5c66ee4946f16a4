"""Whether two shapes are as near as a limit, and bounds of their distance by boxes, against the distance itself."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from proximity_shapes import KINDS, random_poses, random_shape

from merganser.framework.native import kernel
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.proximity.broad_phase import box_gap, set_box, turned_box_gap
from merganser.geometry.proximity.layout import work_dtype
from merganser.geometry.proximity.narrow_phase import is_nearer, set_relative_pose

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
NUM = 30


@kernel
def bounds(geometries, X_WG, i, j, boxes, work, out):
    """Puts the relative pose into `work`, and both bounds of the distance into `out`."""
    set_box(geometries[i], X_WG, i, 0.0, boxes)
    set_box(geometries[j], X_WG, j, 0.0, boxes)
    set_relative_pose(X_WG, i, j, work[0].X_AB)
    out[0], out[1] = box_gap(boxes, i, j), turned_box_gap(geometries[i], geometries[j], work[0].X_AB)


@pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS)
def test_nearness_is_what_the_distance_says(kind_a: str, kind_b: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(PAIRS.index((kind_a, kind_b)))
    pool = {kind: [random_shape(kind, rng, tmp_path) for _ in range(5)] for kind in {kind_a, kind_b}}
    arrays = ProximityArrays([pool[kind][rng.integers(5)] for kind in (kind_a, kind_b) * NUM], range(2 * NUM))
    X_WG = random_poses(2 * NUM, rng, 0.12)
    found = ProximityEngine(arrays).signed_distances(X_WG, np.arange(2 * NUM).reshape(-1, 2))
    distances = found["distance"].copy()
    assert 0 < (distances < 0.0).sum() < NUM
    work, boxes, out = np.zeros(1, work_dtype), np.zeros((2 * NUM, 6)), np.zeros(2)
    for k, distance in enumerate(distances):
        i, j = 2 * k, 2 * k + 1
        bounds(arrays.geometries, X_WG, i, j, boxes, work, out)
        assert (out <= distance + 1e-12).all()
        for limit in (distance - 1e-6, distance + 1e-6, 0.0, 0.03, -0.01):
            is_near = is_nearer(arrays.geometries, arrays.hulls, i, j, float(limit), work)
            assert is_near == (distance <= limit)
