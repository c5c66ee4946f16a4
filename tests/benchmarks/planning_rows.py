"""Rows about planning: collision checks, regions and distances of an arm, Iris, a maze as a graph of convex sets."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row

_ARM = MODELS / "iiwa_description" / "urdf" / "iiwa14_primitive_collision.urdf"
_BOARD = '<collision name="{name}"><origin xyz="{p}"/><geometry><box size="{size}"/></geometry></collision>'
_SHELF = "".join(
    [_BOARD.format(name=f"board{z}", p=f"0.7 0 {z}", size="0.4 0.8 0.02") for z in (0.2, 0.5, 0.8, 1.1)]
    + [_BOARD.format(name=f"side{y}", p=f"0.7 {y} 0.6", size="0.4 0.02 1.2") for y in (-0.4, 0.4)]
)


def _planning(library: Library) -> Any:
    package = library.plant.__name__.split(".")[0]
    return importlib.import_module("pydrake.planning" if package == "pydrake" else "merganser.multibody.planning")


# Forty boxes in front of the arm.
_BOXES = "".join(
    _BOARD.format(name=f"box{x}{y}{z}", p=f"{x} {y} {z}", size="0.1 0.1 0.1")
    for x, y, z in itertools.product((0.5, 0.8), np.linspace(-0.6, 0.6, 5), (0.1, 0.4, 0.7, 1.0))
)


def _checker(library: Library, scene: str = _SHELF) -> Any:
    planning = _planning(library)
    builder = planning.RobotDiagramBuilder(time_step=0.0)
    packages = builder.parser().package_map()
    if packages.Contains("drake_models"):
        packages.Remove("drake_models")
    packages.Add("drake_models", str(MODELS))
    arm = builder.parser().AddModels(str(_ARM))
    builder.parser().AddModelsFromString(f'<robot name="shelf"><link name="shelf">{scene}</link></robot>', "urdf")
    plant = builder.plant()
    for name in ("base", "shelf"):
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name))
    return planning.SceneGraphCollisionChecker(model=builder.Build(), robot_model_instances=arm, edge_step_size=0.05)


def _configurations(checker: Any, count: int) -> list[Any]:
    plant = checker.plant()
    limits = plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()
    return list(np.random.default_rng(0).uniform(*limits, (count, plant.num_positions())))


def many_configurations(library: Library, num_threads: int) -> Call:
    checker = _checker(library)
    framework = importlib.import_module(
        "merganser.framework" if "merganser" in library.plant.__name__ else "pydrake.common"
    )
    given, threads = _configurations(checker, 10_000), framework.Parallelism(num_threads)
    return lambda: np.array(checker.CheckConfigsCollisionFree(given, parallelize=threads), dtype=int)


def one_configuration(library: Library) -> Call:
    checker = _checker(library)
    given = _configurations(checker, 100)
    return lambda: [int(checker.CheckConfigCollisionFree(q)) for q in given]


def edges(library: Library) -> Call:
    checker = _checker(library)
    given = list(itertools.pairwise(_configurations(checker, 101)))
    return lambda: [measure.alpha_or(-1.0) for measure in checker.MeasureEdgesCollisionFree(given, False)]


def region(library: Library) -> Call:
    """A region of positions around one that is free, after one turn."""
    checker, planning = _checker(library), _planning(library)
    sets = _part(library, "geometry.optimization")
    plant = checker.plant()
    domain = sets.HPolyhedron.MakeBox(plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits())
    given = _configurations(checker, 20)
    seed = given[list(map(int, checker.CheckConfigsCollisionFree(given))).index(1)]
    ball, options = sets.Hyperellipsoid.MakeHypersphere(0.01, seed), planning.IrisZoOptions()
    options.sampled_iris_options.max_iterations = 1
    return lambda: float(planning.IrisZo(checker, ball, domain, options).PointInSet(seed))


def clearance(library: Library) -> Call:
    """Distances of an arm to forty boxes that are nearer than 0.3 m, with their derivatives; the least of them."""
    checker = _checker(library, _BOXES)
    given = _configurations(checker, 20)
    return lambda: [checker.CalcRobotClearance(q, 0.3).distances().min() for q in given]


def region_of_space(library: Library) -> Call:
    """A region among twenty boxes in space, by one run of Iris: its volume."""
    sets, rng = _part(library, "geometry.optimization"), np.random.default_rng(0)
    centers = [center for center in rng.uniform(-1.0, 1.0, (40, 3)) if np.abs(center).max() > 0.25][:20]
    obstacles = [sets.HPolyhedron.MakeBox(center - 0.1, center + 0.1) for center in centers]
    domain, options = sets.HPolyhedron.MakeBox(-np.ones(3), np.ones(3)), sets.IrisOptions()
    seed = np.zeros(3)
    return lambda: sets.Iris(obstacles, seed, domain, options).MaximumVolumeInscribedEllipsoid().CalcVolume()


def _polyhedra(library: Library) -> tuple[Any, Any]:
    """A polyhedron of 18 faces in space, and it moved."""
    sets, rng = _part(library, "geometry.optimization"), np.random.default_rng(1)
    A = rng.normal(size=(18, 3))
    A /= np.linalg.norm(A, axis=1)[:, np.newaxis]
    return sets.HPolyhedron(A, np.ones(18)), sets.HPolyhedron(A, 1.0 + A @ [0.5, 0.2, 0.1])


def emptiness(library: Library) -> Call:
    P, _ = _polyhedra(library)
    return lambda: float(P.IsEmpty())


def intersection(library: Library) -> Call:
    P, Q = _polyhedra(library)
    return lambda: float(P.IntersectsWith(Q))


def center(library: Library) -> Call:
    """The least distance of the center of a greatest ball from a face."""
    P, _ = _polyhedra(library)
    A, b = P.A(), P.b()
    return lambda: float((b - A @ P.ChebyshevCenter()).min())


def fewer_faces(library: Library) -> Call:
    P, _ = _polyhedra(library)
    return lambda: float(P.ReduceInequalities().b().size)


def greatest_ellipsoid(library: Library) -> Call:
    P, _ = _polyhedra(library)
    return lambda: P.MaximumVolumeInscribedEllipsoid().CalcVolume()


def corridor(library: Library) -> Call:
    """A trajectory through a corridor of ten boxes: its cost."""
    sets, planning, n = _part(library, "geometry.optimization"), _planning(library), 10
    boxes = [
        sets.HPolyhedron.MakeBox([2.0 * i, 1.2 * (i % 2)], [2.0 * i + 2.4, 1.2 * (i % 2) + 2.0]) for i in range(n)
    ]
    ends = ([0.2, 0.2], [2.0 * n - 0.2, 1.2 * ((n - 1) % 2) + 1.0])

    def call() -> float:
        graph = planning.GcsTrajectoryOptimization(2)
        middle = graph.AddRegions(boxes, order=3)
        first, last = (graph.AddRegions([sets.Point(x)], order=0, name=str(i)) for i, x in enumerate(ends))
        graph.AddEdges(first, middle)
        graph.AddEdges(middle, last)
        graph.AddTimeCost()
        graph.AddPathLengthCost()
        graph.AddVelocityBounds([-1.0, -1.0], [1.0, 1.0])
        return float(graph.SolvePath(first, last, sets.GraphOfConvexSetsOptions())[1].get_optimal_cost())

    return call


def maze(library: Library, size: int) -> Call:
    """The shortest way through a maze of squares, relaxed; the costs of both."""
    sets = _part(library, "geometry.optimization")
    solvers = importlib.import_module(
        "merganser.framework.optimization" if "merganser" in library.plant.__name__ else "pydrake.solvers"
    )
    rng = np.random.default_rng(0)
    squares = [(i, j) for i in range(size) for j in range(size)]
    steps = [(a, (a[0] + i, a[1] + j)) for a in squares for i, j in ((0, 1), (1, 0))]
    border = [(a, b) for a, b in steps if max(b) < size and (max(a) < 1 or b[1] == a[1] or rng.uniform() < 0.6)]
    options = sets.GraphOfConvexSetsOptions()
    options.convex_relaxation, options.max_rounded_paths, options.solver = True, 0, solvers.ClarabelSolver()
    length = solvers.L2NormCost(np.hstack([np.eye(2), -np.eye(2)]), np.zeros(2))

    def call() -> float:
        graph = sets.GraphOfConvexSets()
        boxes = {a: sets.HPolyhedron.MakeBox(a, np.add(a, 1.0)) for a in squares}
        vertices = {a: graph.AddVertex(box) for a, box in boxes.items()}
        ends = [graph.AddVertex(sets.Point([x, x])) for x in (0.5, size - 0.5)]
        pairs = [(vertices[a], vertices[b]) for a, b in (*border, *((b, a) for a, b in border))]
        for u, v in (*pairs, (ends[0], vertices[0, 0]), (vertices[size - 1, size - 1], ends[1])):
            edge = graph.AddEdge(u, v)
            edge.AddCost(solvers.Binding[solvers.Cost](length, np.concatenate([edge.xu(), edge.xv()])))
        result = graph.SolveShortestPath(*ends, options)
        return float(result.get_optimal_cost())

    return call


def _part(library: Library, name: str) -> Any:
    return importlib.import_module(f"{library.plant.__name__.split('.')[0]}.{name}")


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    def row(name: str, make: Any, calls: int, *arguments: Any, **options: Any) -> Row:
        reference = None if theirs is None else functools.partial(make, theirs, *arguments)
        return Row(name, functools.partial(make, ours, *arguments), reference, calls, **options)

    if _ARM.exists():
        for num_threads in (1, 2):
            name = f"arm and shelf: 10,000 configurations, threads: {num_threads}"
            yield row(name, many_configurations, 1, num_threads)
        yield row("arm and shelf: 100 configurations, one by one", one_configuration, 1)
        yield row("arm and shelf: 100 edges", edges, 1)
        yield row("arm and shelf: IrisZo", region, 1)
        yield row("arm in 40 boxes: CalcRobotClearance(0.3 m) of 20 configurations", clearance, 1, tolerance=1e-3)
    yield row("Iris in space, 20 boxes", region_of_space, 1, tolerance=1e-2)
    for name, make, calls in (
        ("IsEmpty", emptiness, 500), ("IntersectsWith", intersection, 500), ("ChebyshevCenter", center, 200),
        ("ReduceInequalities", fewer_faces, 20), ("MaximumVolumeInscribedEllipsoid", greatest_ellipsoid, 20),
    ):  # fmt: skip
        yield row(f"polyhedron of 18 faces: {name}", make, calls, tolerance=1e-5)
    yield row("GcsTrajectoryOptimization of 10 boxes", corridor, 2, tolerance=1e-5)
    for size in (12, 25):
        yield row(f"maze of {size * size} cells by a graph of convex sets, relaxed", maze, 1, size, tolerance=1e-5)
