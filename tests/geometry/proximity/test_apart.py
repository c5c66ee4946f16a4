"""Shapes that are apart: the nearest points are proven by the support functions of both."""

import numba
import numpy as np
import pytest
from proximity_shapes import gap, random_poses, random_shape

from merganser.framework.native import tell_compiler
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.proximity.vertex_scan import farthest_of

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
        assert np.linalg.norm(between) < 1e-14


tell_compiler()


@numba.njit
def compiled_farthest(vertices, first, count, x, y, z):
    return farthest_of(vertices, first, count, (x, y, z))


@pytest.mark.parametrize("count", [4, 5, 7, 8, 11, 24])
def test_the_compiled_scan_finds_the_farthest_vertex(count):
    rng = np.random.default_rng(count)
    vertices = rng.normal(size=(count + 6, 3))
    for n in rng.normal(size=(50, 3)):
        expected = int((vertices[3 : 3 + count] @ n).argmax())
        assert compiled_farthest(vertices, 3, count, *n) == expected
        assert farthest_of(vertices, 3, count, tuple(n)) == expected


@pytest.mark.parametrize("scan", [compiled_farthest, lambda *given: farthest_of(*given[:3], given[3:])])
def test_the_scan_gives_a_row_of_the_hull_where_vertices_are_not_finite(scan):
    for bad in (np.inf, -np.inf, np.nan):
        vertices = np.zeros((8, 3))
        vertices[:3] = bad
        for n in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (1.0, -1.0, 0.0)):
            with np.errstate(invalid="ignore"):
                assert 0 <= scan(vertices, 0, 8, *n) < 8


def test_the_scan_looks_at_its_own_hull_only():
    vertices = np.zeros((12, 3))
    vertices[[0, 1, 10, 11]] = 100.0
    vertices[5] = 1.0
    assert compiled_farthest(vertices, 2, 7, 1.0, 0.0, 0.0) == 3
