"""Point clouds of the same points in pydrake."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
import pydrake.common.value as drake_value
import pydrake.math as drake_math
import pydrake.perception as drake
import pydrake.systems.sensors as drake_sensors

import merganser.framework.math as our_math
import merganser.geometry.perception as ours
import merganser.geometry.sensors as our_sensors
from merganser.framework import Value

pytestmark = pytest.mark.reference


def make(library: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    fields = library.Fields(library.BaseField.kXYZs | library.BaseField.kNormals | library.BaseField.kRGBs)
    cloud = library.PointCloud(400, fields)
    cloud.mutable_xyzs()[:] = rng.uniform(-1, 1, (3, 400))
    cloud.mutable_normals()[:] = rng.normal(size=(3, 400))
    cloud.mutable_rgbs()[:] = rng.integers(0, 256, (3, 400))
    cloud.mutable_xyzs()[1, 7] = np.nan
    cloud.mutable_normals()[0, 5] = np.nan
    return cloud


def sorted_points(cloud: Any) -> np.ndarray:
    rows = np.vstack([cloud.xyzs(), cloud.normals(), cloud.rgbs()])
    return rows[:, np.lexsort(rows[:3])]


@pytest.mark.parametrize("voxel_size", [0.07, 0.3, 2.5])
def test_cells_of_grids_agree(voxel_size: float) -> None:
    ours_now, drakes = (sorted_points(make(library, 0).VoxelizedDownSample(voxel_size)) for library in (ours, drake))
    np.testing.assert_allclose(ours_now, drakes, atol=2e-7)  # pydrake sums in an order of its own


@pytest.mark.parametrize(("radius", "num_closest"), [(0.3, 6), (0.15, 50), (10.0, 3)])
def test_normals_agree_up_to_their_sign(radius: float, num_closest: int) -> None:
    clouds = [make(library, 1) for library in (ours, drake)]
    results = [cloud.EstimateNormals(radius, num_closest) for cloud in clouds]
    assert results[0] == results[1]
    a, b = (cloud.normals() for cloud in clouds)
    assert np.array_equal(np.isnan(a), np.isnan(b))
    points = clouds[0].xyzs().T
    neighbors = (np.linalg.norm(points[:, None] - points, axis=2) <= radius).sum(axis=1)
    unique = neighbors >= 3  # two points have any normal at right angles to the line between them
    assert unique.sum() > 50
    np.testing.assert_allclose(np.abs((a * b).sum(axis=0))[unique], 1, atol=1e-5)
    clouds[1].mutable_normals()[:] = a
    for cloud in clouds:
        cloud.FlipNormalsTowardPoint([0.1, 0.2, 0.3])
    assert np.array_equal(clouds[0].normals(), clouds[1].normals(), equal_nan=True)


def test_crops_and_concatenations_agree() -> None:
    results = []
    for library in (ours, drake):
        a, b = make(library, 2), make(library, 3)
        both = library.Concatenate([a, b]).Crop([-0.5, -0.5, -1], [0.5, 0.25, 1])
        results.append(np.vstack([both.xyzs(), both.normals(), both.rgbs()]))
    assert np.array_equal(*results, equal_nan=True)


@pytest.mark.parametrize("pixels", ["kDepth32F", "kDepth16U"])
@pytest.mark.parametrize("is_posed", [False, True])
def test_points_of_depth_images_agree(pixels: str, is_posed: bool) -> None:
    rng = np.random.default_rng(1)
    depths = rng.uniform(0.0, 4.0, (20, 30, 1)).astype(np.float32)
    depths[rng.random(depths.shape) < 0.1] = 0.0
    depths[rng.random(depths.shape) < 0.1] = np.inf
    colors, pose = rng.integers(0, 256, (20, 30, 4)), (np.array([0.3, -1.2, 2.0]), np.array([1.0, 2.0, -3.0]))
    results = []
    for sensors, perception, lib_math, value in (
        (our_sensors, ours, our_math, Value),
        (drake_sensors, drake, drake_math, drake_value.Value),
    ):
        depth, color = sensors.ImageDepth32F(30, 20), sensors.ImageRgba8U(30, 20)
        depth.mutable_data[...], color.mutable_data[...] = depths, colors
        scale = 1.0
        if pixels == "kDepth16U":
            meters, depth, scale = depth, sensors.ImageDepth16U(30, 20), 0.001
            sensors.ConvertDepth32FTo16U(meters, depth)
        info = sensors.CameraInfo(30, 20, 31.0, 29.0, 13.0, 11.5)
        fields = perception.BaseField.kXYZs | perception.BaseField.kRGBs
        system = perception.DepthImageToPointCloud(info, getattr(sensors.PixelType, pixels), scale, fields)
        context = system.CreateDefaultContext()
        system.depth_image_input_port().FixValue(context, value(depth))
        system.color_image_input_port().FixValue(context, value(color))
        if is_posed:
            X_PC = lib_math.RigidTransform(lib_math.RollPitchYaw(pose[0]), pose[1])
            system.camera_pose_input_port().FixValue(context, value(X_PC))
        cloud = system.point_cloud_output_port().Eval(context)
        results.append((cloud.xyzs().copy(), cloud.rgbs().copy()))
    (mine, my_colors), (theirs, their_colors) = results
    np.testing.assert_allclose(mine, theirs, atol=3e-6)
    np.testing.assert_array_equal(my_colors, their_colors)


def test_clouds_of_several_cameras_are_put_together_alike() -> None:
    import pydrake.systems.perception as drake_systems

    results = []
    for library, systems, value, math in (
        (ours, ours, Value, our_math),
        (drake, drake_systems, drake_value.Value, drake_math),
    ):
        system = systems.PointCloudConcatenation(["a", "b"], default_rgb=[1.0, 2.0, 3.0])
        context = system.CreateDefaultContext()
        plain = library.PointCloud(3)
        plain.mutable_xyzs()[:] = np.arange(9.0).reshape(3, 3)
        X = math.RigidTransform(math.RollPitchYaw(0.1, 0.2, 0.3), [1.0, 2.0, 3.0])
        for name, cloud in (("a", make(library, 0)), ("b", plain)):
            system.GetInputPort(f"point_cloud_CiSi_{name}").FixValue(context, value(cloud))
            system.GetInputPort(f"X_FCi_{name}").FixValue(context, value(X))
        results.append(system.GetOutputPort("point_cloud_FS").Eval(context))
    mine, theirs = results
    assert mine.size() == theirs.size() == 402 and not mine.has_normals()
    np.testing.assert_allclose(mine.xyzs(), theirs.xyzs(), atol=1e-5)
    np.testing.assert_array_equal(mine.rgbs(), theirs.rgbs())
