"""Segments, boxes and ellipsoids: poses at which formulas change from one case to another.

A result is proven by what it says: no direction separates more than the normal, the points lie in their shapes, and the
distance is between them. A depth is proven by a search of all directions (depth_trial.py).
"""

import itertools

import numpy as np
import pytest
from depth_trial import core_of, icosahedron, lowest
from proximity_shapes import gap, random_poses, random_shape
from scipy.spatial.transform import Rotation

from merganser.geometry import Box, Capsule, Cylinder, Ellipsoid, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.proximity.closed_forms import solve_primitives
from merganser.geometry.proximity.layout import SOLVED, work_dtype
from merganser.geometry.proximity.narrow_phase import set_relative_pose

PAIRS = [
    ("capsule", "capsule"), ("capsule", "box"), ("box", "capsule"), ("box", "box"), ("sphere", "box"),
    ("sphere", "ellipsoid"), ("ellipsoid", "sphere"), ("capsule", "cylinder"), ("cylinder", "capsule"),
    ("capsule", "ellipsoid"), ("ellipsoid", "capsule"), ("ellipsoid", "ellipsoid"), ("box", "ellipsoid"),
    ("ellipsoid", "box"), ("cylinder", "ellipsoid"), ("ellipsoid", "cylinder"),
]  # fmt: skip
CUBE = Rotation.create_group("O").as_matrix()  # all turns of a cube
TOLERANCE = 1e-11  # [m]


def distances(shapes, X_WG):
    """The result of each two shapes, 0 and 1, 2 and 3, and so on."""
    pairs = np.arange(len(shapes)).reshape(-1, 2)
    return ProximityEngine(ProximityArrays(shapes, range(len(shapes)))).signed_distances(X_WG, pairs)


def poses(how, num_pairs, rng):
    """X_WG of pairs of shapes of some 0.1 m."""
    X_WG = random_poses(2 * num_pairs, rng, 0.3)
    if how == "along each other":  # edges, axes and faces in one plane, and offsets that are multiples of sizes
        X_WG[1::2, :3, :3] = X_WG[::2, :3, :3] @ CUBE[rng.integers(0, 24, num_pairs)]
        p_AB = rng.integers(-4, 5, (num_pairs, 3)) * 0.05
        X_WG[1::2, :3, 3] = X_WG[::2, :3, 3] + np.einsum("nij,nj->ni", X_WG[::2, :3, :3], p_AB)
    if how == "nearly along each other":
        small = 10.0 ** rng.uniform(-12.0, -3.0, (num_pairs, 1)) * rng.normal(size=(num_pairs, 3))
        nearly = Rotation.from_rotvec(small).as_matrix() @ CUBE[rng.integers(0, 24, num_pairs)]
        X_WG[1::2, :3, :3] = X_WG[::2, :3, :3] @ nearly
    return X_WG


def is_in(shape, p, tolerance):
    """Whether a point, in the frame of the shape, lies in it."""
    if isinstance(shape, Box):
        return (abs(p) <= shape.size() / 2.0 + tolerance).all()
    if isinstance(shape, Ellipsoid):
        axes = np.array([shape.a(), shape.b(), shape.c()])
        return np.linalg.norm(p / axes) <= 1.0 + tolerance / axes.min()
    if isinstance(shape, Cylinder):
        return np.hypot(p[0], p[1]) <= shape.radius() + tolerance and abs(p[2]) <= shape.length() / 2.0 + tolerance
    half = shape.length() / 2.0 if isinstance(shape, Capsule) else 0.0
    return np.hypot(np.hypot(p[0], p[1]), max(abs(p[2]) - half, 0.0)) <= shape.radius() + tolerance


def prove(shapes, X_WG, result):
    """Asserts that distance, normal and points of a pair are right."""
    n, distance = -result["nhat_BA_W"], result["distance"]
    assert result["status"] == SOLVED
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-13)
    assert gap(shapes, X_WG, n[None])[0] == pytest.approx(-distance, abs=TOLERANCE)
    np.testing.assert_allclose(result["p_WCa"] - result["p_WCb"], -distance * n, atol=10.0 * TOLERANCE)
    for shape, X, p_W in zip(shapes, X_WG, (result["p_WCa"], result["p_WCb"])):
        assert is_in(shape, X[:3, :3].T @ (p_W - X[:3, 3]), TOLERANCE)
    a, b = map(core_of, shapes)
    depth = -distance - a.radius - b.radius
    if depth > 1e-9:
        X_AB = np.linalg.inv(X_WG[0]) @ X_WG[1]
        stack = np.zeros((400, 3, 3))
        stack[:20] = icosahedron()
        assert lowest(a, b, X_AB, depth, 1e-9, stack)[0] >= depth - 1e-9


@pytest.mark.parametrize("how", ["at random", "along each other", "nearly along each other"])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_formulas_are_right_apart_and_overlapping(kinds, how, tmp_path):
    rng = np.random.default_rng(PAIRS.index(kinds))
    sizes = rng.integers(1, 4, (10, 3)) * 0.1
    pool = {kind: [random_shape(kind, rng, tmp_path) for _ in range(10)] for kind in kinds}
    if how == "along each other":
        pool |= {"box": [Box(*size) for size in sizes], "capsule": [Capsule(0.05, size[2]) for size in sizes]}
        pool |= {"cylinder": [Cylinder(size[0], size[2]) for size in sizes]}
    shapes = [pool[kind][rng.integers(10)] for kind in kinds * 100]
    X_WG = poses(how, 100, rng)
    for i, result in enumerate(distances(shapes, X_WG)):
        prove(shapes[2 * i : 2 * i + 2], X_WG[2 * i : 2 * i + 2], result)


@pytest.mark.parametrize("target", [1e-3, 0.0, 1e-9, -1e-9, -1e-3])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_formulas_are_right_where_shapes_touch(kinds, target, tmp_path):
    rng = np.random.default_rng(PAIRS.index(kinds))
    shapes = [random_shape(kind, rng, tmp_path) for kind in kinds * 40]
    X_WG = random_poses(80, rng, 0.2)
    for _ in range(12):
        results = distances(shapes, X_WG)
        X_WG[1::2, :3, 3] += (results["distance"] - target)[:, None] * results["nhat_BA_W"]
    for i, result in enumerate(distances(shapes, X_WG)):
        prove(shapes[2 * i : 2 * i + 2], X_WG[2 * i : 2 * i + 2], result)
        assert result["distance"] == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize("kinds", [("capsule", "box"), ("box", "capsule"), ("box", "box")], ids="-".join)
@pytest.mark.parametrize("how", ["at random", "along each other"])
def test_segments_and_boxes_need_no_search(kinds, how, tmp_path):
    rng = np.random.default_rng(2)
    shapes = [random_shape(kind, rng, tmp_path) for kind in kinds * 100]
    X_WG = poses(how, 100, rng)
    arrays = ProximityArrays(shapes, range(200))
    geometries, work = arrays.geometries.view(np.recarray), np.zeros(1, work_dtype).view(np.recarray)[0]
    for i in range(0, 200, 2):
        set_relative_pose(X_WG, i, i + 1, work.X_AB)
        assert solve_primitives(geometries[i], geometries[i + 1], arrays.hulls, work, False) == SOLVED


@pytest.mark.parametrize("base", [Box(0.4, 0.4, 0.2), Cylinder(0.2, 0.2)], ids=["box", "cylinder"])
def test_cylinders_on_flat_faces_are_as_deep_as_their_lowest_point(base):
    rng = np.random.default_rng(4)
    for across in (0.0, np.pi / 2.0):
        for turned in Rotation.from_rotvec(rng.normal(scale=1e-3, size=(20, 3))) * Rotation.from_rotvec([across, 0, 0]):
            up = turned.as_matrix()[2]
            result, _ = pair_at(base, Cylinder(0.05, 0.1), [*rng.uniform(-0.1, 0.1, 2), 0.149], turned.as_matrix())
            reach = 0.05 * abs(up[2]) + 0.05 * np.hypot(up[0], up[1])
            assert result["status"] == SOLVED
            assert result["distance"] == pytest.approx(0.149 - reach - 0.1, abs=1e-14)


def pair_at(a, b, p_AB, R_AB=None):
    """The result of a pair, and its poses."""
    X_WG = np.tile(np.eye(4), (2, 1, 1))
    X_WG[1, :3, 3] = p_AB
    if R_AB is not None:
        X_WG[1, :3, :3] = R_AB
    return distances([a, b], X_WG)[0], X_WG


def test_distances_of_boxes_by_what_is_nearest():
    a, b = Box(0.2, 0.4, 0.6), Box(0.2, 0.2, 0.2)
    turned = Rotation.from_rotvec([0.0, 0.0, np.pi / 4.0]).as_matrix()
    corner_to_corner, _ = pair_at(a, b, [0.3, 0.4, 0.6])
    assert corner_to_corner["distance"] == pytest.approx(np.sqrt(0.01 + 0.01 + 0.04), abs=1e-15)
    edge_to_edge, _ = pair_at(a, b, [0.3, 0.6, 0.1])
    assert edge_to_edge["distance"] == pytest.approx(np.sqrt(0.01 + 0.09), abs=1e-15)
    edge_to_face, _ = pair_at(a, b, [0.1 + 0.02 * np.sqrt(50.0) + 0.1, 0.0, 0.0], turned)
    assert edge_to_face["distance"] == pytest.approx(0.1 + 0.02 * np.sqrt(50.0) - 0.1 * np.sqrt(2.0), abs=1e-15)
    for result in (corner_to_corner, edge_to_edge):
        away = result["p_WCb"] - result["p_WCa"]
        np.testing.assert_allclose(result["nhat_BA_W"], -away / np.linalg.norm(away), atol=1e-15)


def test_a_capsule_along_another_or_a_face_touches_in_the_middle_of_the_overlap():
    result, _ = pair_at(Capsule(0.1, 1.0), Capsule(0.1, 0.4), [0.15, 0.0, 0.5])
    assert result["p_WCa"][2] == pytest.approx(0.4, abs=1e-12)  # between 0.3 and 0.5
    lying = Rotation.from_rotvec([0.0, 0.0, 0.3]).as_matrix() @ Rotation.from_rotvec([0.0, np.pi / 2, 0.0]).as_matrix()
    axis = lying[:, 2]
    result, _ = pair_at(Box(1.0, 1.0, 0.2), Capsule(0.1, 0.4), [0.1, -0.2, 0.19], lying)
    assert result["distance"] == pytest.approx(-0.01, abs=1e-15)
    np.testing.assert_allclose(result["p_WCa"], [0.1, -0.2, 0.1], atol=1e-9)
    result, _ = pair_at(Box(1.0, 1.0, 0.2), Capsule(0.1, 0.4), [0.5, 0.0, 0.19], lying)  # one end beyond the side
    inside = 0.5 * (0.5 + 0.5 - 0.2 * axis[0])
    assert result["p_WCa"][0] == pytest.approx(inside, abs=1e-9)


def test_a_capsule_along_a_cylinder_or_its_end_is_nearest_in_the_middle_of_overlap():
    result, _ = pair_at(Cylinder(0.1, 1.0), Capsule(0.1, 0.4), [0.25, 0.0, 0.5])
    assert result["distance"] == pytest.approx(0.05, abs=1e-15)
    assert result["p_WCa"][2] == pytest.approx(0.4, abs=1e-12)  # between 0.3 and 0.5
    lying = Rotation.from_rotvec([0.0, np.pi / 2, 0.0]).as_matrix()
    result, _ = pair_at(Capsule(0.1, 0.4), Cylinder(0.3, 1.0), [0.65, 0.0, -0.3], lying)
    assert result["distance"] == pytest.approx(0.05, abs=1e-15)
    assert result["p_WCa"][2] == pytest.approx(-0.1, abs=1e-12)  # between -0.2 and 0.0
    result, _ = pair_at(Capsule(0.1, 0.4), Cylinder(0.3, 1.0), [0.65, 0.4, 0.0], lying)  # beside a rim
    assert result["distance"] == pytest.approx(np.hypot(0.15, 0.1) - 0.1, abs=1e-15)
    assert result["p_WCb"][2] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 1e-4, 1e-3, 0.02])
def test_cylinders_with_nearly_parallel_axes_have_exact_distances(angle):
    # Side by side: both axes are across x, and cross at z = 0.1.
    about_x = Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix()
    result, _ = pair_at(Cylinder(0.1, 1.0), Cylinder(0.2, 0.6), [0.5, 0.0, 0.1], about_x)
    assert result["status"] == SOLVED
    assert result["distance"] == pytest.approx(0.2, abs=1e-12)
    np.testing.assert_allclose(result["p_WCb"] - result["p_WCa"], [0.2, 0.0, 0.0], atol=1e-8)
    assert -0.2 - 1e-9 <= result["p_WCa"][2] <= 0.4 + 1e-9  # where they run side by side
    if angle >= 1e-6:
        assert result["p_WCa"][2] == pytest.approx(0.1, abs=1e-3)
    # One over the other: the lowest point of the upper rim is over the lower end.
    about_y = Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix()
    result, _ = pair_at(Cylinder(0.3, 1.0), Cylinder(0.2, 0.6), [0.0, 0.0, 1.0], about_y)
    assert result["status"] == SOLVED
    assert result["distance"] == pytest.approx(0.5 - 0.3 * np.cos(angle) - 0.2 * np.sin(angle), abs=1e-12)


def test_nearly_parallel_capsules_are_nearest_at_an_end():
    angle, half = 5e-8, 0.5
    result, _ = pair_at(
        Capsule(0.01, 2.0 * half), Capsule(0.01, 2.0 * half), [0.1, 0.0, 0.0],
        Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix(),
    )  # fmt: skip
    assert result["distance"] == pytest.approx(0.08 - half * angle, abs=1e-11)


@pytest.mark.parametrize("gap_between", [0.0, 3e-17, 1e-13, 1e-9])
def test_axes_that_meet_in_a_corner_have_a_normal_that_separates(gap_between):
    shapes = [Capsule(0.05, 0.2), Capsule(0.05, 0.2)]
    for turn, z in itertools.product(CUBE, (0.0, 0.05, 0.1)):
        axis = turn[:, 2]
        p_AB = 0.1 * axis + [gap_between, 0.0, z]
        result, X_WG = pair_at(*shapes, p_AB, turn)
        prove(shapes, X_WG, result)


@pytest.mark.parametrize("height", [0.0, 1e-18, 1e-9])
def test_a_center_in_the_middle_plane_of_an_ellipsoid(height):
    a, b = Ellipsoid(0.2, 0.12, 0.09), Sphere(0.01)
    for x, y in itertools.product(np.linspace(-0.25, 0.25, 21), np.linspace(-0.15, 0.15, 13)):
        result, X_WG = pair_at(a, b, [x, y, height])
        prove([a, b], X_WG, result)


def test_an_ellipsoid_as_thin_as_a_sheet():
    a, b = Ellipsoid(1.0, 1.0, 1e-3), Sphere(0.1)
    for p in ([0.5, 0.2, 0.0], [2.0, 0.0, 1e-5], [0.0, 0.0, 1e-4], [0.9, 0.3, 0.5]):
        result, X_WG = pair_at(a, b, p)
        prove([a, b], X_WG, result)


@pytest.mark.parametrize("thickness", [1e-3, 1e-5])
def test_a_capsule_beside_an_ellipsoid_as_thin_as_a_sheet(thickness):
    rng = np.random.default_rng(4)
    a, b = Ellipsoid(1.0, 0.7, thickness), Capsule(0.1, 0.8)
    for R_AB in Rotation.random(20, random_state=4).as_matrix():
        along = R_AB[:, 2] * [1.0, 1.0, 0.0] if rng.integers(2) else rng.normal(size=3)
        p_AB = along * rng.uniform(0.3, 3.0) + [0.0, 0.0, rng.uniform(0.5, 1.0)]
        result, X_WG = pair_at(a, b, p_AB, R_AB)
        assert result["distance"] > -0.1
        prove([a, b], X_WG, result)
