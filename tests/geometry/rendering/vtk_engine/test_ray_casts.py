"""Depths and labels, pixel by pixel, against rays that the tests cast themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray_casts import Solid, cast_rays
from rendered_scenes import (
    EMPTY,
    RenderedScene,
    looking_at,
    need_renderer,
    properties,
    random_pose,
)

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)
from merganser.geometry.sensors import CameraInfo

need_renderer()

Array = np.ndarray[Any, Any]
# The corners of triangles are rounded to 1/256 pixel, so rays this far from a pixel's center show what it may contain.
NEIGHBORS = [(0.0, 0.0)] + [(s / 200, t / 200) for s in (-1, 1) for t in (-1, 1)]
SHAPES: dict[str, Any] = {
    "sphere": lambda r: Sphere(r(0.1, 0.5)),
    "ellipsoid": lambda r: Ellipsoid(r(0.1, 0.5), r(0.1, 0.5), r(0.1, 0.5)),
    "box": lambda r: Box(r(0.1, 0.9), r(0.1, 0.9), r(0.1, 0.9)),
    "cylinder": lambda r: Cylinder(r(0.1, 0.4), r(0.1, 0.9)),
    "capsule": lambda r: Capsule(r(0.1, 0.3), r(0.1, 0.7)),
    "cone": lambda r: MeshcatCone(r(0.2, 0.9), r(0.1, 0.4), r(0.1, 0.4)),
}


def random_info(rng: np.random.Generator) -> CameraInfo:
    """A camera with different focal lengths and a principal point off the center."""
    width, height = rng.integers(60, 160, 2)
    return CameraInfo(int(width), int(height), *rng.uniform(60, 160, 2), *(rng.uniform(0.2, 0.8, 2) * [width, height]))


def compare(
    scene: RenderedScene, solids: list[Solid], info: CameraInfo, X_WC: RigidTransform, near: float, far: float
) -> int:
    """Compares all pixels that show the same thing wherever in them one looks; returns how many show something."""
    casts = [cast_rays(solids, info, X_WC, near, far, shift) for shift in NEIGHBORS]
    labels, depths = np.array([c.labels for c in casts]), np.array([c.depths for c in casts])
    is_sure = (labels == labels[0]).all(axis=0)
    assert is_sure.mean() > 0.95
    expected = np.where(labels[0] < 0, EMPTY, labels[0])
    shown = scene.labels(info, X_WC, near=near, far=far)
    np.testing.assert_array_equal(shown[is_sure], expected[is_sure])
    measured = scene.depths(info, X_WC, near=near, far=far)
    np.testing.assert_array_equal(np.isinf(measured)[is_sure], (expected == EMPTY)[is_sure])
    is_seen = is_sure & (expected != EMPTY)
    measured, depths = measured[is_seen], depths[:, is_seen]
    rounding = 4e-6 * (1.0 + depths[0])  # of numbers of 32 bits
    assert (measured >= depths.min(axis=0) - rounding).all()
    assert (measured <= depths.max(axis=0) + rounding).all()
    return int(is_seen.sum())


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_is_where_rays_meet_it_from_outside_and_from_within(name: str) -> None:
    rng = np.random.default_rng(list(SHAPES).index(name))
    scene, num_seen = RenderedScene(), 0
    shape: Shape = SHAPES[name](rng.uniform)
    X_WG = random_pose(rng, 0.2)
    scene.add(shape, X_WG, properties(7))
    solids = [Solid(shape, X_WG, 7)]
    for distance in (0.0, 0.6, 1.5, 4.0):
        X_WC = looking_at(X_WG.translation(), X_WG.translation() + rng.normal(size=3) * (distance + 0.02) / 1.7)
        num_seen += compare(scene, solids, random_info(rng), X_WC, near=0.01, far=20.0)
    assert num_seen > 2000


@pytest.mark.parametrize("seed", range(4))
def test_shapes_hide_each_other_as_rays_have_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scene, solids = RenderedScene(), []
    for label, name in enumerate([*SHAPES, *SHAPES], start=1):
        shape, X_WG = SHAPES[name](rng.uniform), random_pose(rng, 0.6)
        scene.add(shape, X_WG, properties(label))
        solids.append(Solid(shape, X_WG, label))
    X_WG = HalfSpace.MakePose([0.1, -0.1, 1.0], [0.0, 0.0, -0.7])
    scene.add(HalfSpace(), X_WG, properties(300))
    solids.append(Solid(HalfSpace(), X_WG, 300))
    for _ in range(3):
        X_WC = looking_at(0.2 * rng.normal(size=3), rng.normal(size=3) + [0.0, 0.0, 1.2])
        near, far = rng.uniform(0.01, 0.5), rng.uniform(2.0, 60.0)  # which cut through some
        compare(scene, solids, random_info(rng), X_WC, near, far)


CORNERS = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.1], [0.0, 0.5, 0.0], [0.1, 0.1, 0.6]])
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


@pytest.fixture
def tetrahedron(tmp_path: Any) -> Any:
    path = tmp_path / "tetrahedron.obj"
    faces = "".join("f {} {} {}\n".format(*corners) for corners in TRIANGLES[:3] + 1)  # open at one side
    path.write_text("".join("v {} {} {}\n".format(*p) for p in CORNERS) + faces)
    return path


@pytest.mark.parametrize("scale", [[1.0, 1.0, 1.0], [-1.0, 0.5, 2.0]])
def test_meshes_are_seen_from_both_sides(tetrahedron: Any, scale: list[float]) -> None:
    rng = np.random.default_rng(1)
    scene, X_WG, X_WH = RenderedScene(), random_pose(rng, 0.3), random_pose(rng, 0.3)
    scene.add(Mesh(str(tetrahedron), scale3=scale), X_WG, properties(1))
    scene.add(Convex(str(tetrahedron), scale3=scale), X_WH, properties(2))
    corners = CORNERS * scale
    solids = [Solid(corners[TRIANGLES[:3]], X_WG, 1), Solid(corners[TRIANGLES], X_WH, 2)]
    num_seen = 0
    for _ in range(6):
        X_WC = looking_at(X_WG @ corners.mean(axis=0), rng.normal(size=3))
        num_seen += compare(scene, solids, random_info(rng), X_WC, near=0.01, far=9.0)
    assert num_seen > 3000


def test_a_sphere_of_ten_meters_is_round_right_before_the_camera() -> None:
    scene, sphere = RenderedScene(), Sphere(10.0)
    scene.add(sphere, RigidTransform([0.0, 0.0, 10.5]), properties(1))
    info = CameraInfo(120, 90, 1.2)
    solids = [Solid(sphere, RigidTransform([0.0, 0.0, 10.5]), 1)]
    assert compare(scene, solids, info, RigidTransform(), 0.01, 20.0) > 9000


def test_surfaces_a_tenth_of_a_millimeter_apart_are_resolved_with_a_far_plane() -> None:
    scene = RenderedScene()
    tilt = looking_at([0.3, 0.4, 1.0], np.zeros(3)).rotation()
    solids = [
        Solid(Box(width, width, 0.2), RigidTransform(tilt, [0.0, 0.0, z]), label)
        for label, width, z in ((1, 3.0, 5.0), (2, 1.0, 4.9999))
    ]
    for solid in solids:
        scene.add(solid.shape, solid.X_WG, properties(solid.label))
    info = CameraInfo(100, 100, 0.5)
    expected = cast_rays(solids, info, RigidTransform(), 0.01, 500.0).labels
    shown = scene.labels(info, near=0.01, far=500.0)
    assert (shown == 2).sum() > 900
    assert (shown != np.where(expected < 0, EMPTY, expected)).mean() < 0.01
