"""Poses at which minima of h lie close to each other, or where h hardly changes along a curve."""

import numpy as np
import pytest
from depth_trial import core_of, icosahedron, lowest, trial_poses
from proximity_shapes import random_shape
from scipy.spatial.transform import Rotation

from merganser.geometry import Box, Cylinder, Ellipsoid, MeshcatCone, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine


def result_of(shapes, X_WG):
    """The result of a pair."""
    return ProximityEngine(ProximityArrays(shapes, range(2))).signed_distances(X_WG, np.array([[0, 1]]))[0]


def least_value(shapes, X_WA, X_WB, depth):
    """The least h of a pair, or the depth if none is less by 1e-9 m; by a search of all directions."""
    stack = np.zeros((400, 3, 3))
    stack[:20] = icosahedron()
    return lowest(*map(core_of, shapes), np.linalg.inv(X_WA) @ X_WB, depth, 1e-9, stack)[0]


def test_a_saddle_between_two_minima_is_left():
    """On the common axis of two ellipsoids h is stationary, and less beside it."""
    shapes = [Ellipsoid(0.0916402617, 0.0409681179, 0.0637138812), Ellipsoid(0.071854813, 0.0602786894, 0.0467450201)]
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, 0, 3] = 0.0935998463
    depth = -result_of(shapes, X_WG)["distance"]
    on_axis = 0.0916402617 + 0.071854813 - 0.0935998463
    assert depth < on_axis - 2e-7
    assert least_value(shapes, *X_WG, depth) >= depth - 1e-9


@pytest.mark.parametrize("angle", [1e-7, 1e-5, 1e-3])
def test_cylinders_with_nearly_the_same_axis_and_center_part_across_both_axes(angle):
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, :3] = Rotation.from_rotvec([0.6 * angle, -0.8 * angle, 0.0]).as_matrix()
    result = result_of([Cylinder(0.05, 0.2), Cylinder(0.04, 0.3)], X_WG)
    assert result["distance"] == pytest.approx(-0.09, abs=1e-9)
    np.testing.assert_allclose(result["p_WCa"] - result["p_WCb"], -0.09 * result["nhat_BA_W"], atol=1e-8)
    if angle > 1e-7:
        assert abs(result["nhat_BA_W"] @ [0.6, -0.8, 0.0]) == pytest.approx(1.0, abs=1e-6)


def test_two_minima_within_ten_degrees_of_each_other_are_distinguished():
    """The end of a cylinder on the corner of a box; the higher minimum exceeds the lower one by 4e-7 m."""
    shapes = [Cylinder(0.04244753300883655, 0.05071492624727972), Box(0.1036779323, 0.1020413833, 0.0711914)]
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    turn = [-0.23656484828765778, 0.07103398262899482, 2.5332990478511386]
    X_WG[1, :3, :3] = Rotation.from_rotvec(turn).as_matrix()
    X_WG[1, :3, 3] = [0.021661506934649508, 0.03520736887933633, -0.06968719509310196]
    result = result_of(shapes, X_WG)
    assert result["nhat_BA_W"] == pytest.approx([-0.039318, 0.025096, 0.998912], abs=1e-6)
    assert least_value(shapes, *X_WG, -result["distance"]) >= -result["distance"] - 1e-9


def test_a_small_ball_above_the_tip_of_a_cone_is_nearest_along_a_bent_edge():
    """Around the tip, h is least on a curve on which the tip and the side of the cone are as far; it is bent there."""
    height, radius, gap = 0.12, 0.08, 1e-3
    for offset in (0.0, 1e-6, 1e-4):
        X_WG = np.tile(np.eye(4), (2, 1, 1))
        X_WG[0, :3, 3] = offset, 0.0, -gap  # the tip is in the origin, the base above
        result = result_of([Sphere(1e-4), MeshcatCone(height, radius, radius)], X_WG)
        assert result["distance"] == pytest.approx(np.hypot(gap, offset) - 1e-4, abs=1e-12)
        assert result["status"] == 0


@pytest.mark.parametrize("kinds", [("box", "cylinder"), ("cylinder", "cylinder"), ("capsule", "cone")], ids="-".join)
def test_nearest_points_fit_the_distance_where_axes_and_faces_are_along_each_other(kinds, tmp_path):
    rng = np.random.default_rng(5)
    pool = {kind: [random_shape(kind, rng, tmp_path) for _ in range(10)] for kind in sorted(set(kinds))}
    shapes = [pool[kind][rng.integers(10)] for kind in kinds * 500]
    engine = ProximityEngine(ProximityArrays(shapes, range(1000)))
    results = engine.signed_distances(trial_poses("aligned", 500, rng), np.arange(1000).reshape(-1, 2))
    between = results["p_WCa"] - results["p_WCb"] - results["distance"][:, None] * results["nhat_BA_W"]
    assert np.linalg.norm(between, axis=1).max() < 1e-7
