"""Convex hulls, boxes around shapes and points, and what overlaps."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Aabb,
    Box,
    CalcObb,
    Capsule,
    ComputeAabbForTriangleMesh,
    ComputeAabbForVolumeMesh,
    ComputeObbForTriangleMesh,
    ComputeObbForVolumeMesh,
    Convex,
    Cylinder,
    Ellipsoid,
    GeometryInstance,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Obb,
    Plane,
    SceneGraph,
    Shape,
    Sphere,
    SurfaceTriangle,
    TriangleSurfaceMesh,
    VolumeElement,
    VolumeMesh,
)
from merganser.geometry.meshes import convex_hull


def random_pose(rng: np.random.Generator) -> RigidTransform:
    return RigidTransform(RollPitchYaw(rng.uniform(-3, 3, 3)), rng.normal(size=3))


def corners(size: tuple[float, float, float]) -> np.ndarray:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * np.array(size) / 2


def cloud(points: np.ndarray) -> TriangleSurfaceMesh:
    return TriangleSurfaceMesh([SurfaceTriangle(0, 1, 2)], points)


# ------------------------------------------------------------------ convex hulls


def test_hull_of_a_box_has_six_rectangles_with_outward_normals() -> None:
    rng = np.random.default_rng(0)
    X = random_pose(rng)
    inner = rng.uniform(-0.4, 0.4, (20, 3))
    points = (X.rotation().matrix() @ np.vstack([inner, corners((1, 2, 3))]).T).T + X.translation()
    hull = convex_hull(points, "box")
    assert (hull.num_faces(), hull.num_vertices()) == (6, 8)
    assert sorted(hull.area(f) for f in range(6)) == pytest.approx([2, 2, 3, 3, 6, 6])
    for f in range(6):
        assert hull.face_normal(f) @ (hull.element_centroid(f) - X.translation()) > 0
        assert hull.element(f).num_vertices() == 4


def test_hull_of_random_points_holds_them_all() -> None:
    points = np.random.default_rng(1).normal(size=(200, 3))
    hull = convex_hull(points, "points")
    for f in range(hull.num_faces()):
        assert ((points - hull.element_centroid(f)) @ hull.face_normal(f)).max() <= 1e-12
    num_edges = sum(hull.element(f).num_vertices() for f in range(hull.num_faces())) / 2
    assert hull.num_vertices() - num_edges + hull.num_faces() == 2  # Euler


def test_hull_of_points_in_a_plane_is_a_pyramid_without_volume() -> None:
    X = random_pose(np.random.default_rng(2))
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    hull = convex_hull((X.rotation().matrix() @ square.T).T + X.translation(), "square")
    assert (hull.num_faces(), hull.num_vertices()) == (5, 5)
    assert hull.total_area() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((2, 3)), "'it' needs three or more vertices; there are 2"),
        (np.outer(np.arange(4.0), [1, 2, 3]), "'it' all lie on a line"),
        (np.ones((5, 3)), "'it' all lie on a line, or in one point"),
        (np.full((4, 3), math.nan), "'it' needs finite vertices"),
        (np.diag([1.0, 1.0, 1e160]), "'it' needs vertices nearer than 1e.100 m"),
    ],
)
def test_points_without_a_hull_are_refused(points: np.ndarray, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        convex_hull(points, "it")


def test_hull_is_computed_once_and_known_to_the_inspector(tmp_path: Path) -> None:
    shape = Convex(corners((1, 2, 3)).T, "box", scale3=[2, 1, 1])
    graph = SceneGraph()
    source = graph.RegisterSource()
    box = graph.RegisterAnchoredGeometry(source, GeometryInstance(RigidTransform(), shape, "box"))
    ball = graph.RegisterAnchoredGeometry(source, GeometryInstance(RigidTransform(), Sphere(1), "ball"))
    inspector = graph.model_inspector()
    hull = inspector.GetConvexHull(box)
    assert hull is not None
    assert hull is shape.GetConvexHull()
    assert hull.CalcBoundingBox()[1] == pytest.approx([2, 2, 3])
    assert inspector.GetConvexHull(ball) is None
    obb = inspector.GetObbInGeometryFrame(box)
    assert obb is not None
    assert obb.half_width() == pytest.approx([1, 1, 1.5])
    assert inspector.GetReferenceMesh(box) is None
    assert not inspector.IsDeformableGeometry(box)
    assert inspector.GetAllDeformableGeometryIds() == []


# ------------------------------------------------------------------ boxes around things


@pytest.mark.parametrize(
    ("shape", "center", "half_width"),
    [
        (Sphere(2), [0, 0, 0], [2, 2, 2]),
        (Box(1, 2, 3), [0, 0, 0], [0.5, 1, 1.5]),
        (Cylinder(1, 4), [0, 0, 0], [1, 1, 2]),
        (Capsule(1, 4), [0, 0, 0], [1, 1, 3]),
        (Ellipsoid(1, 2, 3), [0, 0, 0], [1, 2, 3]),
        (MeshcatCone(2, 3, 4), [0, 0, 1], [3, 4, 1]),
        (Convex(corners((1, 2, 3)).T, "box"), [0, 0, 0], [0.5, 1, 1.5]),
    ],
)
def test_boxes_of_shapes(shape: Shape, center: list[float], half_width: list[float]) -> None:
    obb = CalcObb(shape)
    assert obb is not None
    assert obb.center() == pytest.approx(center, abs=1e-12)
    assert obb.half_width() == pytest.approx(half_width)
    assert obb.pose().rotation().matrix() == pytest.approx(np.eye(3), abs=1e-12)
    assert obb.CalcVolume() == pytest.approx(8 * np.prod(half_width))


def test_half_space_has_no_box_and_a_missing_file_no_answer() -> None:
    assert CalcObb(HalfSpace()) is None
    with pytest.raises(RuntimeError, match=r"missing\.obj' does not exist"):
        CalcObb(Mesh("missing.obj"))
    with pytest.raises(TypeError, match="takes a Shape; given 3"):
        CalcObb(3)


@pytest.mark.parametrize("seed", range(4))
def test_box_around_the_corners_of_a_turned_box_is_that_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, X = rng.uniform(0.1, 2, 3), random_pose(rng)
    points = (X.rotation().matrix() @ corners(tuple(size)).T).T + X.translation()
    obb = ComputeObbForTriangleMesh(cloud(points), set(range(8)))
    assert obb.CalcVolume() == pytest.approx(size.prod(), rel=1e-9)
    assert obb.center() == pytest.approx(X.translation())


@pytest.mark.parametrize("num_points", [1, 2, 3, 4, 30])
def test_box_holds_its_points_and_is_not_larger_than_the_one_along_the_axes(num_points: int) -> None:
    points = np.random.default_rng(num_points).normal(size=(max(num_points, 3), 3))
    chosen = set(range(num_points))
    obb, aabb = (f(cloud(points), chosen) for f in (ComputeObbForTriangleMesh, ComputeAabbForTriangleMesh))
    X_BH = obb.pose().inverse()
    for point in points[:num_points]:
        assert (np.abs(X_BH.multiply(point)) <= obb.half_width()).all()
    assert obb.CalcVolume() <= aabb.CalcVolume() * (1 + 1e-9) + 1e-12
    assert (aabb.lower() <= points[:num_points] + 1e-15).all()
    assert aabb.upper() == pytest.approx(points[:num_points].max(axis=0))


def test_boxes_of_volume_meshes_are_those_of_their_vertices() -> None:
    mesh = VolumeMesh([VolumeElement(0, 1, 2, 3)], np.vstack([np.zeros(3), np.eye(3)]))
    assert ComputeAabbForVolumeMesh(mesh, {1, 2}).half_width().tolist() == [0.5, 0.5, 0]
    assert ComputeObbForVolumeMesh(mesh, {0, 1, 2, 3}).CalcVolume() == pytest.approx(1.0)
    for wrong in (set(), {4}, {-1}):
        with pytest.raises(RuntimeError, match="one or more of the 4 vertices"):
            ComputeAabbForVolumeMesh(mesh, wrong)


# ------------------------------------------------------------------ overlap


def test_boxes_overlap_if_and_only_if_random_points_of_one_can_be_found_in_the_other() -> None:
    rng = np.random.default_rng(3)
    found = {True: 0, False: 0}
    for _ in range(200):
        a = Obb(random_pose(rng), rng.uniform(0.2, 1, 3))
        b = Obb(random_pose(rng), rng.uniform(0.2, 1, 3))
        X_GH = random_pose(rng)
        overlap = Obb.HasOverlap(a, b, X_GH)
        found[overlap] += 1
        assert overlap == Obb.HasOverlap(b, a, X_GH.inverse())
        X_AB = a.pose().inverse().multiply(X_GH).multiply(b.pose())
        p_BP = rng.uniform(-1, 1, (500, 3)) * b.half_width()
        p_AP = p_BP @ X_AB.rotation().matrix().T + X_AB.translation()
        if (np.abs(p_AP) <= a.half_width()).all(axis=1).any():
            assert overlap
        if not overlap:  # then a plane separates them
            assert np.linalg.norm(X_AB.translation()) > min(a.half_width().min(), b.half_width().min())
    assert min(found.values()) > 20


def test_overlap_at_the_limit() -> None:
    one = Aabb([0, 0, 0], [1, 1, 1])
    turned = Obb(RigidTransform(RollPitchYaw(0, 0, math.pi / 4), [0, 0, 0]), [1, 1, 1])
    for shift, expected in ((2.0 - 1e-9, True), (2.0 + 1e-9, False)):
        assert Aabb.HasOverlap(one, one, RigidTransform([0, shift, 0])) == expected
    for shift, expected in ((1 + math.sqrt(2) - 1e-9, True), (1 + math.sqrt(2) + 1e-9, False)):
        X = RigidTransform([shift, 0, 0])
        assert Aabb.HasOverlap(one, turned, X) == expected
        assert Obb.HasOverlap(turned, one, X.inverse()) == expected
    for shift in (1 - 1e-9, 1 + 1e-9):
        X_CH = RigidTransform([0, 0, shift])
        assert Aabb.HasOverlap(one, HalfSpace(), X_CH) == (shift < 1)
        assert Obb.HasOverlap(turned, Plane([0, 0, 2], [5, 5, 0]), X_CH) == (shift < 1)
    assert not Aabb.HasOverlap(one, Plane([0, 0, 1], [0, 0, 0]), RigidTransform([0, 0, -2]))
    assert Aabb.HasOverlap(one, HalfSpace(), RigidTransform([0, 0, -2]))


def test_planes_measure_heights() -> None:
    plane = Plane([0, 3, 4], [0, 1, 1])
    assert plane.unit_normal() == pytest.approx([0, 0.6, 0.8])
    assert plane.CalcHeight(plane.reference_point()) == pytest.approx(0)
    assert plane.CalcHeight([7, 1, 1] + 2 * plane.unit_normal()) == pytest.approx(2)


@pytest.mark.parametrize(
    ("error", "message", "act"),
    [
        (RuntimeError, "half_width of an Aabb must not be negative", lambda: Aabb([0, 0, 0], [-1, 1, 1])),
        (RuntimeError, "half_width of an Obb must not be negative", lambda: Obb(RigidTransform(), [1, math.nan, 1])),
        (TypeError, "must be a RigidTransform", lambda: Obb([0, 0, 0], [1, 1, 1])),
        (TypeError, "does not know", lambda: Aabb.HasOverlap(Aabb([0, 0, 0], [1, 1, 1]), Sphere(1), RigidTransform())),
        (TypeError, "takes a box", lambda: Aabb.HasOverlap(Sphere(1), Sphere(1), RigidTransform())),
        (RuntimeError, "normal of length", lambda: Plane([0, 0, 0], [0, 0, 0])),
    ],
)
def test_bad_boxes_are_refused(error: type[Exception], message: str, act: Callable[[], object]) -> None:
    with pytest.raises(error, match=message):
        act()
