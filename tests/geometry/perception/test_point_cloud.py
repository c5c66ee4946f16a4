"""Point clouds: fields, arrays that are shared, cropping, grids, normals."""

import copy

import numpy as np
import pytest

from merganser.framework import AbstractValue
from merganser.geometry.perception import BaseField, Concatenate, Fields, PointCloud

ALL = Fields(BaseField.kXYZs | BaseField.kNormals | BaseField.kRGBs)


def random_cloud(seed: int, size: int = 200) -> PointCloud:
    rng = np.random.default_rng(seed)
    cloud = PointCloud(size, ALL)
    cloud.mutable_xyzs()[:] = rng.uniform(-1, 1, (3, size))
    cloud.mutable_normals()[:] = rng.normal(size=(3, size))
    cloud.mutable_rgbs()[:] = rng.integers(0, 256, (3, size))
    return cloud


# ------------------------------------------------------------------ fields


def test_fields_are_sets() -> None:
    xyzs, rgbs = Fields(BaseField.kXYZs), Fields(BaseField.kRGBs)
    assert (xyzs | rgbs).base_fields() == 10 and (xyzs | rgbs) & rgbs == rgbs and xyzs != rgbs
    assert repr(xyzs | rgbs) == "Fields(base_fields=10)"
    assert rgbs.has_base_fields() and not (xyzs & rgbs).has_base_fields()


@pytest.mark.parametrize("number", [1, 16, -1])
def test_a_field_that_does_not_exist_is_refused(number: int) -> None:
    with pytest.raises(RuntimeError, match=rf"Fields\({number}\) is no combination.*kRGBs = 8"):
        Fields(number)


def test_a_cloud_has_the_fields_it_was_made_with() -> None:
    assert [PointCloud(2).has_xyzs(), PointCloud(2).has_normals(), PointCloud(2).has_rgbs()] == [True, False, False]
    cloud = PointCloud(new_size=2, fields=Fields(BaseField.kRGBs))
    assert cloud.fields() == Fields(BaseField.kRGBs) and cloud.rgbs().tolist() == [[0, 0]] * 3
    for call in (cloud.xyzs, cloud.mutable_xyzs, lambda: cloud.xyz(0), lambda: cloud.Crop([0] * 3, [1] * 3)):
        with pytest.raises(RuntimeError, match=r"needs BaseField.kXYZs; this cloud has BaseField.kRGBs"):
            call()
    with pytest.raises(RuntimeError, match="needs a field"):
        PointCloud(1, Fields(0))
    with pytest.raises(TypeError, match="given 14"):
        PointCloud(1, 14)  # type: ignore[call-overload]
    with pytest.raises(RuntimeError, match="given -1"):
        PointCloud(-1)


def test_fields_that_stay_keep_their_values() -> None:
    cloud = random_cloud(0)
    xyzs = cloud.xyzs().copy()
    cloud.SetFields(Fields(BaseField.kXYZs))
    assert not cloud.has_rgbs() and np.array_equal(cloud.xyzs(), xyzs)
    cloud.SetFields(ALL)
    assert not cloud.rgbs().any() and np.isnan(cloud.normals()).all() and np.array_equal(cloud.xyzs(), xyzs)


# ------------------------------------------------------------------ arrays


def test_mutable_arrays_are_those_of_the_cloud_and_others_cannot_be_written_to() -> None:
    cloud = PointCloud(3, ALL)
    assert np.isnan(cloud.xyzs()).all() and cloud.xyzs().dtype == np.float32 and cloud.rgbs().dtype == np.uint8
    assert cloud.mutable_xyzs().flags.f_contiguous and cloud.xyzs().shape == (3, 3)
    cloud.mutable_xyzs()[:] = np.arange(9).reshape(3, 3)
    cloud.mutable_xyz(1)[0] = 77
    cloud.mutable_rgb(2)[:] = [1, 2, 3]
    cloud.mutable_normal(0)[:] = [0, 0, 1]
    assert cloud.xyz(1).tolist() == [77, 4, 7] and cloud.xyzs()[0].tolist() == [0, 77, 2]
    assert cloud.rgb(2).tolist() == [1, 2, 3] and cloud.normal(0).tolist() == [0, 0, 1]
    for array in (cloud.xyzs(), cloud.xyz(0), cloud.rgbs(), cloud.rgb(0), cloud.normals(), cloud.normal(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    for i in (-1, 3):
        with pytest.raises(IndexError, match=rf"xyz\({i}\): this cloud has 3 points"):
            cloud.xyz(i)


def test_resizing_keeps_the_first_points_and_appends_unset_ones() -> None:
    cloud = random_cloud(1, size=3)
    first = cloud.xyzs()[:, :2].copy()
    cloud.resize(2)
    cloud.resize(4)
    assert cloud.size() == 4 and np.array_equal(cloud.xyzs()[:, :2], first)
    assert np.isnan(cloud.xyzs()[:, 2:]).all() and not cloud.rgbs()[:, 2:].any()
    with pytest.raises(RuntimeError, match="given -1"):
        cloud.resize(-1)


@pytest.mark.parametrize(
    "make", [PointCloud, copy.copy, copy.deepcopy, lambda c: AbstractValue.Make(c).Clone().get_value()]
)
def test_copies_are_apart(make) -> None:
    cloud = random_cloud(2)
    other = make(cloud)
    assert np.array_equal(other.xyzs(), cloud.xyzs()) and other.fields() == cloud.fields()
    other.mutable_xyzs()[:] = 0
    assert cloud.xyzs().any()


def test_a_cloud_set_from_another_has_its_size_and_fields() -> None:
    cloud = PointCloud(7)
    cloud.SetFrom(random_cloud(3, size=4))
    assert cloud.size() == 4 and cloud.fields() == ALL
    assert np.array_equal(cloud.rgbs(), random_cloud(3, size=4).rgbs())


def test_clouds_are_put_one_after_the_other() -> None:
    a, b = random_cloud(4, size=2), random_cloud(5, size=3)
    both = Concatenate([a, b])
    assert both.size() == 5 and np.array_equal(both.rgbs(), np.hstack([a.rgbs(), b.rgbs()]))
    both.mutable_xyzs()[:] = 0
    assert a.xyzs().any()
    with pytest.raises(RuntimeError, match=r"cloud 0 has .*14.*cloud 1 has .*2"):
        Concatenate([a, PointCloud(1)])
    with pytest.raises(RuntimeError, match="at least one"):
        Concatenate([])


def test_unset_and_invalid_coordinates_are_distinguished() -> None:
    assert PointCloud.IsDefaultValue(PointCloud.kDefaultValue) and not PointCloud.IsDefaultValue(np.inf)
    assert PointCloud.IsInvalidValue(np.inf) and PointCloud.IsInvalidValue(np.nan) and not PointCloud.IsInvalidValue(0)


# ------------------------------------------------------------------ cropping and grids


def test_a_crop_has_the_points_inside_of_the_box() -> None:
    cloud = random_cloud(6)
    cloud.mutable_xyz(0)[:] = [0.5, np.nan, 0]
    cloud.mutable_xyz(1)[:] = [0.5, -0.5, 0.0]  # on the boundary
    inside = [i for i in range(200) if (np.abs(cloud.xyz(i)) <= 0.5).all()]
    cropped = cloud.Crop(lower_xyz=[-0.5] * 3, upper_xyz=[0.5] * 3)
    assert 1 in inside and 0 not in inside
    assert np.array_equal(cropped.xyzs(), cloud.xyzs()[:, inside])
    assert np.array_equal(cropped.rgbs(), cloud.rgbs()[:, inside])
    with pytest.raises(RuntimeError, match=r"lower_xyz.*\[1.0, 0.0, 0.0\]"):
        cloud.Crop([1, 0, 0], [0, 1, 1])
    with pytest.raises(TypeError, match="upper_xyz must be three numbers"):
        cloud.Crop([0, 0, 0], [1, 1])


def test_a_cell_becomes_the_mean_of_what_is_finite_in_it() -> None:
    cloud = PointCloud(6, ALL)
    cloud.mutable_xyzs()[:] = np.array(
        [[1.2, 0.1, 0.1], [0.1, 0.1, 0.1], [0.3, 0.9, 0.5], [-0.1, 0.1, 0.1], [np.inf, 0, 0], [0.2, 0.2, 0.3]]
    ).T
    cloud.mutable_normals()[:] = np.array([[0, 0, 1], [2, 0, 0], [0, 2, 0], [0, 3, 0], [0, 0, 1], [np.nan, 0, 0]]).T
    cloud.mutable_rgbs()[:] = np.array([[9, 9, 9], [0, 10, 20], [1, 20, 40], [7, 7, 7], [1, 1, 1], [3, 3, 3]]).T
    sample = cloud.VoxelizedDownSample(voxel_size=1.0)
    np.testing.assert_allclose(sample.xyzs().T, [[-0.1, 0.1, 0.1], [0.2, 0.4, 0.3], [1.2, 0.1, 0.1]], atol=1e-7)
    np.testing.assert_allclose(sample.normals().T, [[0, 1, 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 1]], atol=1e-7)
    assert sample.rgbs().T.tolist() == [[7, 7, 7], [1, 11, 21], [9, 9, 9]]
    assert PointCloud(5).VoxelizedDownSample(1.0).size() == 0  # nothing is set
    with pytest.raises(RuntimeError, match="voxel_size must be positive; given 0"):
        cloud.VoxelizedDownSample(0)


# ------------------------------------------------------------------ normals


def test_normals_of_a_sphere_are_radial_and_turn_towards_a_point() -> None:
    rng = np.random.default_rng(7)
    directions = rng.normal(size=(3, 2000))
    directions /= np.linalg.norm(directions, axis=0)
    cloud = PointCloud(2000)
    cloud.mutable_xyzs()[:] = directions
    assert cloud.EstimateNormals(radius=0.3, num_closest=15)
    np.testing.assert_allclose(np.abs((cloud.normals() * directions).sum(axis=0)), 1, atol=0.02)
    cloud.FlipNormalsTowardPoint([0, 0, 0])
    assert ((cloud.normals() * directions).sum(axis=0) < 0).all()


def test_points_with_too_few_neighbors_have_no_normal() -> None:
    cloud = PointCloud(5)
    cloud.mutable_xyzs()[:] = np.array([[0, 0, 0], [0.1, 0, 0], [5, 5, 5], [np.nan, 0, 0], [0, 9, 0]]).T
    assert not cloud.EstimateNormals(radius=1, num_closest=5)
    assert np.isnan(cloud.normals()).all(axis=0).tolist() == [False, False, True, True, True]
    np.testing.assert_allclose(cloud.normals()[0, :2], 0, atol=1e-7)  # at right angles to the line
    for radius, num_closest in ((0, 3), (1, 2)):
        with pytest.raises(RuntimeError, match="must be"):
            cloud.EstimateNormals(radius, num_closest)


def test_all_neighbors_up_to_the_radius_count() -> None:
    corner = PointCloud(3)
    corner.mutable_xyzs()[:] = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    corner.EstimateNormals(radius=1.0, num_closest=3)
    np.testing.assert_allclose(np.abs(corner.normal(0)), [0, 0, 1], atol=1e-7)
