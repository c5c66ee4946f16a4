"""Shapes that are apart: the nearest points are proven by the support functions of both."""

import numpy as np
import pytest
from proximity_shapes import gap, random_poses, random_shape

from merganser.geometry.proximity import ProximityArrays, ProximityEngine

NUM_POSES = 200


@pytest.mark.parametrize(
    "kinds",
    [
        ("capsule", "cylinder"),
        ("box", "cylinder"),
        ("cylinder", "cylinder"),
        ("cylinder", "convex"),
        ("capsule", "convex"),
        ("box", "convex"),
        ("convex", "convex"),
    ],
    ids="-".join,
)
def test_the_plane_across_the_nearest_points_separates_both_shapes(kinds, tmp_path):
    rng = np.random.default_rng(11)
    pool = {kind: [random_shape(kind, rng, tmp_path) for _ in range(5)] for kind in sorted(set(kinds))}
    shapes = [pool[kind][rng.integers(5)] for kind in kinds * NUM_POSES]
    X_WG = random_poses(2 * NUM_POSES, rng, 0.2)
    engine = ProximityEngine(ProximityArrays(shapes, range(2 * NUM_POSES)))
    results = engine.signed_distances(X_WG, np.arange(2 * NUM_POSES).reshape(-1, 2))
    apart = np.flatnonzero(results["distance"] > 0.0)
    assert len(apart) > NUM_POSES // 2
    for k in apart:
        distance, n_W = results["distance"][k], results["nhat_BA_W"][k]
        # No point of A is nearer to B along the normal, and the points are as far from each other as that says.
        assert gap(shapes[2 * k : 2 * k + 2], X_WG[2 * k : 2 * k + 2], -n_W[None])[0] == pytest.approx(
            -distance, abs=1e-13
        )
        between = results["p_WCa"][k] - results["p_WCb"][k] - distance * n_W
        assert np.linalg.norm(between) < 1e-9
