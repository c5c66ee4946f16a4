"""Contact points: how many, where and how deep."""

import numpy as np
import pytest
from proximity_shapes import random_poses, write_obj

from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

QUARTER = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # lays Gz along x


def touch(a, b, p_AB, R_AB=None, margin=0.0):
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, 3] = p_AB
    if R_AB is not None:
        X_WG[1, :3, :3] = R_AB
    return ProximityEngine(ProximityArrays([a, b], [0, 1])).contact_manifolds(X_WG, margin)[1].copy()


def test_each_box_of_a_stack_rests_on_four_corners():
    boxes = [Box(0.2, 0.3, 0.1)] * 10
    X_WG = np.tile(np.eye(4), (11, 1, 1))
    X_WG[1:, 2, 3] = 0.05 + 0.0999 * np.arange(10) - 1e-4
    engine = ProximityEngine(ProximityArrays([HalfSpace(), *boxes], range(11)))
    pairs, contacts = engine.contact_manifolds(X_WG)
    assert pairs.tolist() == [[i, i + 1] for i in range(10)]
    np.testing.assert_array_equal(np.bincount(contacts["pair"]), 4)
    np.testing.assert_allclose(contacts["depth"], 1e-4, atol=1e-14)
    np.testing.assert_allclose(contacts["nhat_BA_W"], [[0.0, 0.0, -1.0]] * 40, atol=1e-14)
    np.testing.assert_allclose(abs(contacts["p_WC"][:, :2]), [[0.1, 0.15]] * 40, atol=1e-14)


@pytest.mark.parametrize(
    ("shape", "R_AB", "height", "num_points"),
    [
        (Cylinder(0.1, 0.2), None, 0.1, 8),
        (Cylinder(0.1, 0.2), QUARTER, 0.1, 2),
        (Capsule(0.1, 0.2), None, 0.2, 1),
        (Capsule(0.1, 0.2), QUARTER, 0.1, 2),
        (Sphere(0.1), None, 0.1, 1),
        (Ellipsoid(0.2, 0.1, 0.1), None, 0.1, 1),
    ],
)
@pytest.mark.parametrize("floor", [HalfSpace(), Box(2.0, 2.0, 2.0)])
def test_points_on_a_floor(floor, shape, R_AB, height, num_points):
    top = 0.0 if isinstance(floor, HalfSpace) else 1.0
    contacts = touch(floor, shape, [0.3, 0.2, top + height - 1e-3], R_AB)
    if num_points > 1:
        assert len(contacts) == num_points
        np.testing.assert_allclose(contacts["depth"], 1e-3, atol=1e-12)
    assert contacts["depth"].max() == pytest.approx(1e-3, abs=1e-12)
    np.testing.assert_allclose(contacts["p_WC"].mean(axis=0), [0.3, 0.2, top - 5e-4], atol=1e-9)
    np.testing.assert_allclose(contacts["nhat_BA_W"], [[0.0, 0.0, -1.0]] * len(contacts), atol=1e-9)


def test_the_order_of_the_pair_turns_the_normal_only():
    there = touch(Box(1.0, 1.0, 1.0), Cylinder(0.1, 0.2), [0.0, 0.0, 0.599])
    back = touch(Cylinder(0.1, 0.2), Box(1.0, 1.0, 1.0), [0.0, 0.0, -0.599])
    np.testing.assert_allclose(back["nhat_BA_W"], -there["nhat_BA_W"], atol=1e-14)
    np.testing.assert_allclose(np.sort(back["depth"]), np.sort(there["depth"]), atol=1e-14)
    np.testing.assert_allclose(np.sort(back["p_WC"][:, 0]), np.sort(there["p_WC"][:, 0]), atol=1e-14)


def test_overlapping_faces_are_cut_to_their_common_part():
    contacts = touch(Box(1.0, 1.0, 1.0), Box(1.0, 1.0, 1.0), [0.6, 0.7, 0.99])
    corners = {tuple(p) for p in contacts["p_WC"].round(9).tolist()}
    assert corners == {(x, y, 0.495) for x in (0.1, 0.5) for y in (0.2, 0.5)}


def test_the_hull_of_a_cube_rests_as_a_box_does(tmp_path):
    cube = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    contacts = touch(Box(3.0, 3.0, 1.0), Convex(write_obj(cube, tmp_path / "cube.obj")), [0.2, 0.1, 0.98])
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts["depth"], 0.02, atol=1e-14)


def test_a_margin_brings_in_points_that_do_not_touch_yet():
    assert len(touch(HalfSpace(), Box(1.0, 1.0, 1.0), [0.0, 0.0, 0.51])) == 0
    contacts = touch(HalfSpace(), Box(1.0, 1.0, 1.0), [0.0, 0.0, 0.51], margin=0.02)
    np.testing.assert_allclose(contacts["depth"], [-0.01] * 4, atol=1e-14)


def test_parallel_capsules_touch_at_both_ends():
    contacts = touch(Capsule(0.1, 1.0), Capsule(0.1, 0.4), [0.19, 0.0, 0.1])
    np.testing.assert_allclose(np.sort(contacts["p_WC"][:, 2]), [-0.1, 0.3], atol=1e-14)
    np.testing.assert_allclose(contacts["depth"], 0.01, atol=1e-14)


def test_every_overlapping_pair_has_a_point_and_room_grows():
    rng = np.random.default_rng(5)
    shapes = [(Box(0.3, 0.2, 0.1), Cylinder(0.1, 0.3), Capsule(0.1, 0.2))[i % 3] for i in range(60)]
    engine = ProximityEngine(ProximityArrays(shapes, range(60)))
    X_WG = random_poses(60, rng, 0.2)  # everything in everything: far more points than there is room for at first
    pairs, contacts = engine.contact_manifolds(X_WG)
    overlapping = np.flatnonzero(engine.signed_distances(X_WG, pairs)["distance"] < 0.0)
    assert len(contacts) > 4 * 60 + 16
    assert set(overlapping) == set(contacts["pair"])
    assert (contacts["depth"] >= 0.0).all()
