"""Values of pixels: depths, labels, colors, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rendered_scenes import (
    AHEAD,
    EMPTY,
    INFO,
    SKY,
    WORLD,
    RenderedScene,
    depth_camera,
    middle,
    need_renderer,
    properties,
)

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    RenderEngineVtkParams,
    RenderLabel,
    Role,
    Sphere,
)
from merganser.geometry.sensors import CameraInfo, ConvertDepth32FTo16U, ImageDepth16U

need_renderer()

Array = np.ndarray[Any, Any]


def test_depths_out_of_range_are_zero_or_infinite_and_millimeters_saturate() -> None:
    scene = RenderedScene()
    faces = {8: 0.9, 16: 1.0, 24: 4.9, 32: 5.1, 40: 65.5334, 48: 65.5344, 56: 65.6}  # depths by columns
    for column, z in faces.items():
        width = 6.0 * z / INFO.focal_x()
        x = (column - INFO.center_x()) / INFO.focal_x() * z
        scene.add(Box(width, width, 0.01 * z), RigidTransform([x, 0.0, 1.005 * z]))
    row = {column: scene.depths(INFO, far=99.0, depths=(0.95, 5.0))[24, column] for column in faces}
    assert (row[8], row[32], row[56]) == (0.0, np.inf, np.inf)
    assert [row[16], row[24]] == pytest.approx([1.0, 4.9], rel=1e-6)
    far = scene.query().RenderDepthImage(depth_camera(INFO, far=99.0), WORLD, RigidTransform())
    assert [far.at(column, 24)[0] for column in faces] == pytest.approx(list(faces.values()), rel=1e-6)
    millimeters = ImageDepth16U()
    ConvertDepth32FTo16U(far, millimeters)
    assert [int(millimeters.at(c, 24)[0]) for c in (8, 40, 48, 56, 0)] == [900, 65533, 65534, 65535, 65535]


def test_each_reserved_label_means_what_it_is_for() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(RenderLabel.kDoNotRender))
    assert (scene.labels(INFO) == EMPTY).all()
    assert middle(scene.depths(INFO)) == pytest.approx(1.5, rel=1e-4)
    assert middle(scene.colors(INFO)) != SKY
    scene.add(Sphere(0.3), RigidTransform([0.0, 0.0, 3.0]), properties())
    assert middle(scene.labels(INFO)) == int(RenderLabel.kDontCare)  # behind what is left out
    with pytest.raises(RuntimeError, match=r"Renderer 'r' cannot take geometry 'g.*RenderLabel.kEmpty"):
        scene.add(Sphere(0.3), AHEAD, properties(RenderLabel.kEmpty))
    with pytest.raises(RuntimeError, match="kUnspecified"):
        scene.add(Sphere(0.3), AHEAD, properties(RenderLabel.kUnspecified))
    assert scene.graph.model_inspector().NumGeometriesWithRole(Role.kPerception) == 2


@pytest.mark.parametrize("label", [0, 1, 255, 256, 32763])
def test_labels_of_all_sizes_come_back(label: int) -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(label))
    assert np.unique(scene.labels(INFO)).tolist() == sorted([label, EMPTY])


def test_colors_are_diffuse_under_the_camera_light_and_the_default_elsewhere() -> None:
    scene = RenderedScene()
    scene.add(Box(1.0, 1.0, 1.0), AHEAD, properties(1, (0.2, 0.4, 0.6)))
    assert middle(scene.colors(INFO)) == [51, 102, 153, 255]
    assert scene.colors(INFO)[0, 0].tolist() == SKY
    params = RenderEngineVtkParams(default_diffuse=[0.0, 1.0, 0.0, 1.0], default_clear_color=[1.0, 0.0, 0.0])
    other = RenderedScene(params)
    other.add(Box(1.0, 1.0, 1.0), AHEAD)
    assert middle(other.colors(INFO)) == [0, 255, 0, 255]
    assert other.colors(INFO)[0, 0].tolist() == [255, 0, 0, 255]


def test_cameras_of_different_sizes_see_the_same_scene_in_turn() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(9))
    for width, height in ((64, 48), (300, 200), (16, 16), (200, 300), (64, 48)):
        info = CameraInfo(width, height, 1.0)
        for image in (scene.colors(info), scene.depths(info), scene.labels(info)):
            assert image.shape[:2] == (height, width)
        radius = np.tan(np.arcsin(0.25)) * info.focal_x()
        assert (scene.labels(info) == 9).sum() == pytest.approx(np.pi * radius**2, rel=0.06)
        assert (scene.colors(info)[0, 0] == SKY).all()


def test_images_are_not_overwritten_by_later_ones() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, moves=True)
    first = scene.query().RenderDepthImage(depth_camera(INFO), WORLD, RigidTransform())
    kept = first.data.copy()
    scene.move(scene.context, RigidTransform([0.0, 0.0, 1.0]))
    assert middle(scene.depths(INFO)) == pytest.approx(2.5, rel=1e-4)
    np.testing.assert_array_equal(first.data, kept)
