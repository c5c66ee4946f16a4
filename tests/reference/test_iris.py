"""Regions of Iris and of its relatives against those of pydrake from the same seeds."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

drake_sets: Any = pytest.importorskip("pydrake.geometry.optimization", reason="compares with pydrake")
pytestmark = pytest.mark.reference

sets: Any = importlib.import_module("merganser.geometry.optimization")


def volume(region: Any) -> float:
    """The exact volume of a region, by the hull of its vertices."""
    return float(sets.VPolytope(sets.HPolyhedron(region.A(), region.b()).ReduceInequalities()).CalcVolume())


def random_obstacles(module: Any, seed: int, n: int, count: int) -> list[Any]:
    r, found = np.random.RandomState(seed), []
    while len(found) < count:
        p, spread, radii, half = r.uniform(-1, 1, n), r.randn(n, n + 3), r.rand(n), r.rand(n)
        if np.linalg.norm(p) < 0.6:
            continue
        kind = len(found) % 3
        if kind == 0:
            found.append(module.VPolytope(p[:, np.newaxis] + 0.1 * spread))
        elif kind == 1:
            found.append(module.Hyperellipsoid.MakeAxisAligned(0.05 + 0.2 * radii, p))
        else:
            found.append(module.HPolyhedron.MakeBox(p - 0.2 * half, p + 0.2 * half))
    return found


@pytest.mark.parametrize(("n", "count"), [(1, 2), (2, 4), (2, 12), (3, 15), (4, 10)])
@pytest.mark.parametrize("contained", [False, True])
def test_regions_among_convex_obstacles_are_as_large(n, count, contained):
    for seed in range(3):
        volumes = []
        for module in (sets, drake_sets):
            options = module.IrisOptions(require_sample_point_is_contained=contained)
            domain, obstacles = module.HPolyhedron.MakeUnitBox(n), random_obstacles(module, seed, n, count)
            volumes.append(volume(module.Iris(obstacles, np.zeros(n), domain, options)))
        assert volumes[0] >= 0.98 * volumes[1]


def test_options_have_the_same_defaults():
    ours, theirs = sets.IrisOptions(), drake_sets.IrisOptions()
    for name in [name for name in dir(theirs) if not name.startswith("_")]:
        assert getattr(ours, name) == getattr(theirs, name), name


def test_files_of_regions_are_interchangeable(tmp_path):
    r = np.random.RandomState(0)
    file = str(tmp_path / "regions.yaml")
    for child in (None, "kid"):
        for writer, reader in ((sets, drake_sets), (drake_sets, sets)):
            regions = {name: writer.HPolyhedron(r.randn(3 * n, n), r.randn(3 * n)) for name, n in (("b", 1), ("a", 3))}
            writer.SaveIrisRegionsYamlFile(file, regions, child)
            found = reader.LoadIrisRegionsYamlFile(file, child)
            assert list(found) == ["a", "b"]
            for name, region in found.items():
                assert np.array_equal(region.A(), regions[name].A())
                assert np.array_equal(region.b(), regions[name].b())
    texts = []
    for module in (sets, drake_sets):
        module.SaveIrisRegionsYamlFile(file, {"r": module.HPolyhedron.MakeBox([0, -1 / 3], [1e-9, 2])})
        with open(file) as stream:
            texts.append(stream.read().replace("1.0e-09", "1.e-09"))
    assert texts[0].split() == texts[1].split()
