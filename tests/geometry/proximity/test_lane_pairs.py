"""Ellipsoids, cylinders and boxes by Newton's method, several pairs side by side."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from proximity_shapes import random_poses, random_shape

sys.path.insert(0, str(Path(__file__).resolve().parent))
from trial import core_of, icosahedron, lowest

from merganser.framework.native.lanes import NUM_LANES
from merganser.geometry import Box, Cylinder, Ellipsoid
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.proximity.lane_pairs import (
    _IS_LEAST,
    _POLISHED,
    _SIZE,
    _START,
    _take_solution,
    set_lane,
    take_steps,
)
from merganser.geometry.proximity.layout import SOLVED, work_dtype
from merganser.geometry.proximity.narrow_phase import set_relative_pose
from merganser.geometry.proximity.proofs import is_least

KINDS = ["box", "cylinder", "ellipsoid"]
PAIRS = [pair for pair in itertools.product(KINDS, KINDS) if pair != ("box", "box")]


def engine_of(shapes):
    return ProximityEngine(ProximityArrays(shapes, range(len(shapes))))


def least_value(shapes, X_WA, X_WB, depth):
    """The least h of a pair, or the depth if none is less by 1e-9 m; by a search of all directions."""
    stack = np.zeros((400, 3, 3))
    stack[:20] = icosahedron()
    return lowest(*map(core_of, shapes), np.linalg.inv(X_WA) @ X_WB, depth, 1e-9, stack)[0]


def test_pairs_side_by_side_have_the_results_of_each_alone(tmp_path):
    """Whatever kinds come next to each other, and however many of one kind."""
    rng = np.random.default_rng(0)
    kinds = rng.choice([*KINDS, "sphere"], 60)
    kinds[:30] = np.repeat(kinds[:3], 10)
    shapes = [random_shape(kind, rng, tmp_path) for kind in kinds]
    X_WG = random_poses(60, rng, 0.15)
    pairs = np.array([pair for pair in itertools.combinations(range(60), 2) if rng.uniform() < 0.3])
    engine = engine_of(shapes)
    together = engine.signed_distances(X_WG, pairs).copy()
    for pair, result in zip(pairs, together):
        alone = engine.signed_distances(X_WG, pair[None])[0]
        assert alone["status"] == result["status"] == SOLVED
        for name in ("distance", "nhat_BA_W", "p_WCa", "p_WCb"):
            np.testing.assert_array_equal(alone[name], result[name])


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_minima_that_are_proven_are_the_least(kinds, tmp_path):
    """From directions all around one comes to all kinds of minima; no other one is less than one with a proof."""
    rng = np.random.default_rng(PAIRS.index(kinds))
    shapes = [random_shape(kind, rng, tmp_path) for kind in kinds * 12]
    X_WG = random_poses(24, rng, 0.04)
    for _ in range(8):  # half of them overlap less
        result = engine_of(shapes).signed_distances(X_WG, np.arange(12).reshape(-1, 2))
        X_WG[1:12:2, :3, 3] += (result["distance"] + 0.003)[:, None] * result["nhat_BA_W"]
    arrays = ProximityArrays(shapes, range(24))
    geometries, work = arrays.geometries.view(np.recarray), np.zeros(1, work_dtype).view(np.recarray)[0]
    proven, others = 0, 0
    for i in range(0, 24, 2):
        a, b = geometries[i], geometries[i + 1]
        found = []
        for _ in range(4):
            set_relative_pose(X_WG, i, i + 1, work.X_AB)
            for lane in range(NUM_LANES):
                set_lane(a, b, work.X_AB, work.lanes, lane)
            assert work.lanes[_SIZE, 0] == a.bound + b.bound
            work.lanes[_START : _START + 3] = rng.normal(size=(3, NUM_LANES))
            take_steps(a, b, arrays.hulls, work, True)
            for lane in range(NUM_LANES):
                _take_solution(work, _POLISHED, lane)
                has_proof = work.value < np.inf and is_least(a, b, arrays.hulls, work)
                if work.value >= 0.0 and "ellipsoid" not in kinds:  # whose curvature may be proof enough
                    assert has_proof or not work.lanes[_POLISHED + _IS_LEAST, lane]
                found.append((float(work.value), has_proof))
        least = min(value for value, _ in found)
        assert np.isfinite(least)
        for value, has_proof in found:
            proven += bool(has_proof)
            others += bool(value > least + 1e-9)
            assert value < least + 1e-12 or not has_proof
    assert proven > 10
    assert others > 10


def test_a_saddle_between_two_minima_is_left():
    """On the common axis of two ellipsoids h is stationary, and less beside it."""
    shapes = [Ellipsoid(0.0916402617, 0.0409681179, 0.0637138812), Ellipsoid(0.071854813, 0.0602786894, 0.0467450201)]
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, 0, 3] = 0.0935998463
    depth = -engine_of(shapes).signed_distances(X_WG, np.array([[0, 1]]))["distance"][0]
    on_axis = 0.0916402617 + 0.071854813 - 0.0935998463
    assert depth < on_axis - 2e-7
    assert least_value(shapes, *X_WG, depth) >= depth - 1e-9


@pytest.mark.parametrize("angle", [1e-7, 1e-5, 1e-3])
def test_cylinders_with_nearly_the_same_axis_and_center_part_across_both_axes(angle):
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, :3] = Rotation.from_rotvec([0.6 * angle, -0.8 * angle, 0.0]).as_matrix()
    result = engine_of([Cylinder(0.05, 0.2), Cylinder(0.04, 0.3)]).signed_distances(X_WG, np.array([[0, 1]]))[0]
    assert result["distance"] == pytest.approx(-0.09, abs=1e-15)
    np.testing.assert_allclose(result["p_WCa"] - result["p_WCb"], -0.09 * result["nhat_BA_W"], atol=1e-15)
    assert abs(result["nhat_BA_W"] @ [0.6, -0.8, 0.0]) == pytest.approx(1.0, abs=1e-9)


def test_two_minima_within_ten_degrees_of_each_other_are_told_apart():
    """The end of a cylinder on the corner of a box; the higher minimum exceeds the lower one by 4e-7 m."""
    shapes = [Cylinder(0.04244753300883655, 0.05071492624727972), Box(0.1036779323, 0.1020413833, 0.0711914)]
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    turn = [-0.23656484828765778, 0.07103398262899482, 2.5332990478511386]
    X_WG[1, :3, :3] = Rotation.from_rotvec(turn).as_matrix()
    X_WG[1, :3, 3] = [0.021661506934649508, 0.03520736887933633, -0.06968719509310196]
    result = engine_of(shapes).signed_distances(X_WG, np.array([[0, 1]]))[0]
    assert result["nhat_BA_W"] == pytest.approx([-0.039318, 0.025096, 0.998912], abs=1e-6)
    assert least_value(shapes, *X_WG, -result["distance"]) >= -result["distance"] - 1e-9
