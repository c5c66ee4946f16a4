"""Distances, depths and nearest points of pairs of shapes, against their definitions and searches of all directions."""

import itertools

import numpy as np
import pytest
import scipy.spatial
from depth_trial import TOLERANCE, trial
from proximity_shapes import KINDS, gap, least_gap, random_poses, random_shape, support, write_obj

from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))


def distances(shapes, X_WG):
    """The result of each two shapes, 0 and 1, 2 and 3, and so on."""
    pairs = np.arange(len(shapes)).reshape(-1, 2)
    return ProximityEngine(ProximityArrays(shapes, range(len(shapes)))).signed_distances(X_WG, pairs)


@pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS)
def test_distance_normal_and_points_are_those_of_the_support_functions(kind_a, kind_b, tmp_path):
    rng = np.random.default_rng(PAIRS.index((kind_a, kind_b)))
    kinds = [kind_a, kind_b] * 30
    pool = {kind: [random_shape(kind, rng, tmp_path) for _ in range(5)] for kind in {kind_a, kind_b}}
    shapes = [pool[kind][rng.integers(5)] for kind in kinds]
    X_WG = random_poses(60, rng, 0.08)
    for i, result in enumerate(distances(shapes, X_WG)):
        pair, X = shapes[2 * i : 2 * i + 2], X_WG[2 * i : 2 * i + 2]
        n, distance = -result["nhat_BA_W"], result["distance"]
        # Axes that nearly cross leave the normal uncertain: 1e-17 in 1e-5 m.
        assert gap(pair, X, n[None])[0] == pytest.approx(-distance, abs=1e-11)
        np.testing.assert_allclose(result["p_WCa"] - result["p_WCb"], -distance * n, atol=1e-8)
        # Each point is the one of its shape that lies farthest along the normal (or one of those).
        p_ACa = X[0][:3, :3].T @ (result["p_WCa"] - X[0][:3, 3])
        n_A = X[0][:3, :3].T @ n
        assert p_ACa @ n_A == pytest.approx(support(pair[0], n_A[None])[0], abs=1e-8)
        assert result["status"] == 0
        # Apart, the nearest points prove the distance. Overlapping, no direction leads out earlier.
        if distance < 0.0 and i < 6:
            assert -distance <= least_gap(pair, X) + TOLERANCE


@pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS)
def test_the_order_of_a_pair_only_turns_the_answer_around(kind_a, kind_b, tmp_path):
    rng = np.random.default_rng(1000 + PAIRS.index((kind_a, kind_b)))
    shapes = [random_shape(kind, rng, tmp_path) for kind in [kind_a, kind_b] * 10]
    X_WG = random_poses(20, rng, 0.1)
    there = distances(shapes, X_WG).copy()
    turned = np.arange(20).reshape(-1, 2)[:, ::-1].ravel()
    back = distances([shapes[i] for i in turned], X_WG[turned])
    np.testing.assert_allclose(back["distance"], there["distance"], atol=TOLERANCE)


@pytest.mark.parametrize(("num_a", "num_b"), [(5, 5), (12, 12), (12, 40), (40, 12), (40, 40)])
def test_depth_of_hulls_is_that_of_the_hull_of_their_difference(num_a, num_b):
    rng = np.random.default_rng([num_a, num_b])
    directions = [rng.normal(size=(3, num)) for num in (num_a, num_b) * 20]
    corners = [0.1 * d / np.linalg.norm(d, axis=0) for d in directions]  # all of them are vertices
    X_WG = random_poses(40, rng, 0.06)
    results = distances([Convex(c, f"hull {i}") for i, c in enumerate(corners)], X_WG)
    points = [(X[:3, :3] @ c + X[:3, 3:]).T for X, c in zip(X_WG, corners)]
    num_overlapping = 0
    for p_WA, p_WB, result in zip(points[::2], points[1::2], results):
        difference = scipy.spatial.ConvexHull((p_WA[:, None] - p_WB).reshape(-1, 3))
        heights = -difference.equations[:, 3]  # of the faces above the origin
        if heights.min() > 0.0:
            assert result["distance"] == pytest.approx(-heights.min(), abs=1e-14)
            num_overlapping += 1
        else:
            assert result["distance"] > 0.0
    assert num_overlapping > 5


def test_closed_forms():
    def distance(a, b, p, R=None):
        X_WG = np.tile(np.eye(4), (2, 1, 1))
        X_WG[1, :3, 3] = p
        if R is not None:
            X_WG[1, :3, :3] = R
        return distances([a, b], X_WG)[0]["distance"]

    z_to_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    box = Box(0.2, 0.4, 0.6)
    assert distance(box, box, [0.15, 0.0, 0.0]) == pytest.approx(-0.05, abs=1e-15)
    assert distance(box, box, [0.5, 0.0, 0.0]) == pytest.approx(0.3, abs=1e-15)
    assert distance(box, box, [0.5, 0.8, 0.0]) == pytest.approx(0.5, abs=1e-15)
    assert distance(Capsule(0.1, 1.0), Capsule(0.2, 2.0), [0.0, 0.15, 0.0], z_to_x) == pytest.approx(-0.15, abs=1e-15)
    assert distance(Cylinder(0.1, 1.0), Cylinder(0.1, 1.0), [0.0, 0.19, 0.0], z_to_x) == pytest.approx(-0.01, abs=1e-14)
    assert distance(Cylinder(0.1, 0.2), Cylinder(0.1, 0.2), [0.05, 0.0, 0.19]) == pytest.approx(-0.01, abs=1e-14)
    assert distance(Ellipsoid(0.3, 0.2, 0.1), Ellipsoid(0.3, 0.2, 0.1), [0.0, 0.0, 0.25]) == pytest.approx(
        0.05, abs=1e-14
    )
    assert distance(MeshcatCone(1.0, 0.5, 0.5), Sphere(0.1), [0.0, 0.0, -0.3]) == pytest.approx(0.2, abs=1e-14)
    assert distance(HalfSpace(), Cylinder(0.3, 0.4), [5.0, 6.0, 0.25], z_to_x) == pytest.approx(-0.05, abs=1e-15)
    assert distance(Sphere(0.1), Ellipsoid(1.0, 2.0, 3.0), [0.0, 0.0, 0.0]) == pytest.approx(-1.1, abs=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_degenerate_poses_give_finite_answers(offset, tmp_path):
    cube = Convex(write_obj(np.array(list(itertools.product((-0.1, 0.1), repeat=3))), tmp_path / "cube.obj"))
    shapes = [Sphere(0.0), Sphere(0.1), Capsule(0.1, 0.2), Box(0.2, 0.2, 0.2), Cylinder(0.1, 0.2), cube]
    shapes += [Ellipsoid(0.1, 0.1, 0.1), Ellipsoid(1.0, 1.0, 1e-3), Box(2e-4, 2e-4, 2.0), MeshcatCone(0.2, 0.1, 0.1)]
    quarter = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    places = [(0, 0, 0), (0.2, 0, 0), (0, 0, 0.2), (0.1, 0.1, 0.1), (0.2, 0.2, 0.2), (1e-12, 0, 0), (0, 0, 0.2 - 1e-12)]
    some, poses = [], []
    for (a, b), p, R in itertools.product(itertools.product(shapes, shapes), places, (np.eye(3), quarter)):
        X = np.tile(np.eye(4), (2, 1, 1))
        X[:, :3, 3] = offset
        X[1, :3, 3] += p
        X[1, :3, :3] = R
        some += [a, b]
        poses.append(X)
    results = distances(some, np.concatenate(poses))
    for name in ("distance", "nhat_BA_W", "p_WCa", "p_WCb"):
        assert np.isfinite(results[name]).all()
    np.testing.assert_allclose(np.linalg.norm(results["nhat_BA_W"], axis=1), 1.0, atol=1e-12)


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
    shapes = [pool[kind][rng.integers(5)] for kind in kinds * 200]
    X_WG = random_poses(400, rng, 0.2)
    results = distances(shapes, X_WG)
    apart = np.flatnonzero(results["distance"] > 0.0)
    assert len(apart) > 100
    for k in apart:
        distance, n_W = results["distance"][k], results["nhat_BA_W"][k]
        # No point of A is nearer to B along the normal, and the points are as far from each other as that says.
        assert gap(shapes[2 * k : 2 * k + 2], X_WG[2 * k : 2 * k + 2], -n_W[None])[0] == pytest.approx(
            -distance, abs=1e-13
        )
        between = results["p_WCa"][k] - results["p_WCb"][k] - distance * n_W
        assert np.linalg.norm(between) < 1e-9


@pytest.mark.parametrize("how", ["random", "aligned"])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_direction_leads_out_earlier_than_the_depth(kinds, how, tmp_path):
    found = trial(kinds, 20, 3.0, 7, tmp_path, how)
    assert found.excess <= TOLERANCE
    assert found.unproven <= TOLERANCE
    assert found.aside <= 1e-6
    if how == "random":  # along each other, round shapes have whole circles of least directions
        assert found.undecided == found.unsolved == 0
