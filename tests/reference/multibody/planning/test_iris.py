"""Regions of Iris and of its relatives against those of pydrake from the same seeds."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
import pytest

from tests.support.disk_among_obstacles import clearance, disk_urdf

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


# ------------------------------------------------------------------------------------------ regions of positions

drake_planning: Any = pytest.importorskip("pydrake.planning")
planning: Any = importlib.import_module("merganser.multibody.planning")
PAIRS = ((sets, planning), (drake_sets, drake_planning))
SPACE = 2


def checker(module: Any) -> Any:
    builder = module.RobotDiagramBuilder(time_step=0.0)
    (disk,) = builder.parser().AddModelsFromString(disk_urdf(), "urdf")
    robot = builder.Build()
    return module.SceneGraphCollisionChecker(model=robot, robot_model_instances=[disk], edge_step_size=0.1)


def grown(name: str, of_sets: Any, of_planning: Any) -> tuple[Any, float]:
    """A region around 0, and how long it took [s], the second time."""
    domain, ball = of_sets.HPolyhedron.MakeUnitBox(SPACE), of_sets.Hyperellipsoid.MakeHypersphere(0.01, np.zeros(SPACE))
    found = checker(of_planning)
    for _ in range(2):
        begin = time.perf_counter()
        if name == "IrisNp":
            robot = found.model()
            context = robot.CreateDefaultContext()
            grow = getattr(of_sets, name, None) or getattr(of_planning, name)
            region = grow(robot.plant(), robot.plant_context(context), of_sets.IrisOptions())
        else:
            options = getattr(of_planning, f"{name}Options")()
            region = getattr(of_planning, name)(found, ball, domain, options)
    return region, time.perf_counter() - begin


@pytest.mark.parametrize("name", ["IrisNp", "IrisNp2", "IrisZo"])
def test_regions_of_positions_are_as_large_and_as_free(name, record_property):
    ours, theirs = (grown(name, *pair) for pair in PAIRS)
    record_property("seconds", (ours[1], theirs[1]))
    assert volume(ours[0]) >= 0.95 * volume(theirs[0])
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (SPACE, 100_000))
    inside = points[:, (ours[0].A() @ points <= ours[0].b()[:, np.newaxis]).all(axis=0)]
    assert (clearance(inside) <= 0.0).mean() <= (0.0 if name == "IrisNp" else 0.01)


@pytest.mark.parametrize(
    "name",
    [
        "CommonSampledIrisOptions",
        "RaySamplerOptions",
        "IrisFromCliqueCoverOptions",
        "IrisZoOptions",
        "IrisNp2Options",
    ],
)
def test_options_of_positions_have_the_same_defaults(name):
    ours, theirs = getattr(planning, name)(), getattr(drake_planning, name)()
    for field in [each for each in dir(theirs) if not each.startswith("_")]:
        expected = getattr(theirs, field)
        if expected is None or isinstance(expected, (bool, int, float, str)):
            assert getattr(ours, field) == expected, field
        else:
            assert type(getattr(ours, field)).__name__ == type(expected).__name__, field


def test_cliques_are_as_large():
    scipy_sparse: Any = pytest.importorskip("scipy.sparse")
    r = np.random.RandomState(0)
    sizes = []
    for _ in range(20):
        upper = np.triu(r.rand(15, 15) < 0.6, 1)
        graph = scipy_sparse.csc_matrix(upper | upper.T)
        sizes.append([m.MaxCliqueSolverViaGreedy().SolveMaxClique(graph).sum() for m in (planning, drake_planning)])
    ours, theirs = np.sum(sizes, axis=0)
    assert ours >= 0.95 * theirs
