"""Point clouds of the same points in pydrake."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
import pydrake.perception as drake

import merganser.geometry.perception as ours

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
