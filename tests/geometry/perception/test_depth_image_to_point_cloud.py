"""Points of depth images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework import DiagramBuilder, Value
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry.perception import BaseField, DepthImageToPointCloud, PointCloud
from merganser.geometry.sensors import CameraInfo, ImageDepth16U, ImageDepth32F, ImageRgba8U, PixelType

INFO = CameraInfo(width=7, height=5, focal_x=6.0, focal_y=8.0, center_x=2.3, center_y=3.1)
COLORED = BaseField.kXYZs | BaseField.kRGBs


def image(kind: type[Any], pixels: Any) -> Any:
    pixels = np.asarray(pixels).reshape(INFO.height(), INFO.width(), -1)
    made = kind(INFO.width(), INFO.height())
    made.mutable_data[:] = pixels
    return made


def depths(seed: int) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 4.0, (INFO.height(), INFO.width())).astype(np.float32)


def cloud_of(system: DepthImageToPointCloud, depth: Any, color: Any = None, X_PC: Any = None) -> PointCloud:
    context = system.CreateDefaultContext()
    system.depth_image_input_port().FixValue(context, Value(depth))
    if color is not None:
        system.color_image_input_port().FixValue(context, Value(color))
    if X_PC is not None:
        system.camera_pose_input_port().FixValue(context, Value(X_PC))
    return system.point_cloud_output_port().Eval(context)


def test_points_project_to_the_pixels_that_show_them() -> None:
    z = depths(1)
    cloud = cloud_of(DepthImageToPointCloud(INFO), image(ImageDepth32F, z))
    assert cloud.size() == 35 and not cloud.has_rgbs()
    u, v, w = INFO.intrinsic_matrix() @ cloud.xyzs()
    columns, rows = np.meshgrid(np.arange(7), np.arange(5))
    np.testing.assert_array_equal(w, z.ravel())
    np.testing.assert_allclose(u / w, columns.ravel(), atol=1e-5)
    np.testing.assert_allclose(v / w, rows.ravel(), atol=1e-5)


def test_a_camera_pose_moves_them() -> None:
    X_PC = RigidTransform(RollPitchYaw(0.3, -1.1, 2.0), [0.4, -2.0, 7.0])
    system, depth = DepthImageToPointCloud(INFO), image(ImageDepth32F, depths(2))
    moved = X_PC.multiply(np.array(cloud_of(system, depth).xyzs(), np.float64))
    np.testing.assert_allclose(cloud_of(system, depth, X_PC=X_PC).xyzs(), moved, atol=2e-6)


@pytest.mark.parametrize("X_PC", [None, RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])])
def test_too_close_and_too_far_are_infinite_and_nan_is_nan(X_PC) -> None:
    z = depths(3)
    z[0, 0], z[1, 2], z[4, 6] = 0.0, np.inf, np.nan
    points = cloud_of(DepthImageToPointCloud(INFO), image(ImageDepth32F, z), X_PC=X_PC).xyzs()
    np.testing.assert_array_equal(points[:, [0, 9]], np.full((3, 2), np.inf))
    assert np.isnan(points[:, 34]).all()
    assert np.isfinite(np.delete(points, [0, 9, 34], axis=1)).all()


def test_millimeters_are_scaled() -> None:
    z = np.round(1000.0 * depths(4)).astype(np.uint16)
    z[0, 0], z[0, 1] = 0, 65535
    system = DepthImageToPointCloud(INFO, PixelType.kDepth16U, scale=0.001)
    points = cloud_of(system, image(ImageDepth16U, z)).xyzs()
    np.testing.assert_array_equal(points[:, :2], np.full((3, 2), np.inf))
    np.testing.assert_allclose(points[2, 2:], 0.001 * z.ravel()[2:], rtol=1e-6)


def test_points_have_the_colors_of_their_pixels_or_black() -> None:
    colors = np.random.default_rng(5).integers(0, 256, (5, 7, 4))
    system, depth = DepthImageToPointCloud(INFO, fields=COLORED), image(ImageDepth32F, depths(5))
    cloud = cloud_of(system, depth, image(ImageRgba8U, colors))
    np.testing.assert_array_equal(cloud.rgbs().T, colors[:, :, :3].reshape(-1, 3))
    assert not cloud_of(system, depth).rgbs().any()


def test_a_cloud_stays_as_it_was_when_the_next_is_made() -> None:
    system = DepthImageToPointCloud(INFO)
    context = system.CreateDefaultContext()
    port = system.depth_image_input_port()
    port.FixValue(context, Value(image(ImageDepth32F, depths(6))))
    first = system.point_cloud_output_port().Eval(context)
    seen = first.xyzs().copy()
    port.FixValue(context, Value(image(ImageDepth32F, depths(7))))
    assert not np.array_equal(system.point_cloud_output_port().Eval(context).xyzs(), seen)
    np.testing.assert_array_equal(first.xyzs(), seen)


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match="kDepth32F or kDepth16U; given kRgba8U"):
        DepthImageToPointCloud(INFO, PixelType.kRgba8U)
    with pytest.raises(RuntimeError, match=r"must have BaseField\.kXYZs"):
        DepthImageToPointCloud(INFO, fields=BaseField.kRGBs)
    with pytest.raises(TypeError, match="takes a CameraInfo and a PixelType"):
        DepthImageToPointCloud(None)
    depth, color = image(ImageDepth32F, depths(8)), image(ImageRgba8U, np.zeros((5, 7, 4)))
    with pytest.raises(RuntimeError, match="'depth_image' must have the size of the CameraInfo, 7 x 5"):
        cloud_of(DepthImageToPointCloud(INFO), ImageDepth32F(5, 7))
    with pytest.raises(RuntimeError, match=r"'color_image' must have .* it has 3 x 3"):
        cloud_of(DepthImageToPointCloud(INFO, fields=COLORED), depth, ImageRgba8U(3, 3))
    with pytest.raises(RuntimeError, match="Leave 'color_image' open"):
        cloud_of(DepthImageToPointCloud(INFO), depth, color)
    with pytest.raises(RuntimeError, match="'depth_image'"):
        system = DepthImageToPointCloud(INFO)
        system.point_cloud_output_port().Eval(system.CreateDefaultContext())


def test_it_works_in_a_diagram_beside_a_sensor() -> None:
    from rendered_scenes import WORLD, depth_camera, need_renderer, properties

    from merganser.geometry import (
        GeometryInstance,
        MakeRenderEngineVtk,
        RenderEngineVtkParams,
        Rgba,
        SceneGraph,
        Sphere,
    )
    from merganser.geometry.sensors import RgbdSensor

    need_renderer()
    ball = GeometryInstance(RigidTransform([0.3, -0.2, 0.1]), Sphere(0.5), "ball")
    ball.set_perception_properties(properties(1, Rgba(1.0, 0.0, 0.0).rgba))
    info = CameraInfo(64, 48, 0.6)
    X_WC = RigidTransform(RollPitchYaw(-2.0, 0.1, 0.4), [0.9, -2.4, 1.4])
    builder = DiagramBuilder()
    scene_graph = builder.AddSystem(SceneGraph())
    scene_graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    scene_graph.RegisterAnchoredGeometry(scene_graph.RegisterSource("source"), ball)
    sensor = builder.AddSystem(RgbdSensor(WORLD, X_WC, depth_camera(info)))
    builder.Connect(scene_graph.get_query_output_port(), sensor.query_object_input_port())
    points = builder.AddSystem(DepthImageToPointCloud(info, fields=COLORED))
    builder.Connect(sensor.depth_image_32F_output_port(), points.depth_image_input_port())
    builder.Connect(sensor.color_image_output_port(), points.color_image_input_port())
    builder.Connect(sensor.body_pose_in_world_output_port(), points.camera_pose_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    cloud = points.point_cloud_output_port().Eval(points.GetMyContextFromRoot(context))
    seen = cloud.xyzs()[:, np.isfinite(cloud.xyzs()).all(axis=0)]
    assert seen.shape[1] > 100
    red, green, _ = cloud.rgbs()[:, np.isfinite(cloud.xyzs()).all(axis=0)].astype(int)
    assert (red > green + 20).mean() > 0.9
    np.testing.assert_allclose(np.linalg.norm(seen.T - [0.3, -0.2, 0.1], axis=1), 0.5, atol=2e-6)
