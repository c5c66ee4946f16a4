"""Graphs of convex sets are those of pydrake: costs of relaxations, rounded paths and trajectories, and times."""

from __future__ import annotations

import time
from typing import Any

import networkx as nx
import numpy as np
import pytest

import merganser.framework.optimization as our_programs
import merganser.geometry.optimization as our_sets
import merganser.multibody.planning as our_planning

drake_sets: Any = pytest.importorskip("pydrake.geometry.optimization")
drake_programs: Any = pytest.importorskip("pydrake.solvers")
drake_planning: Any = pytest.importorskip("pydrake.planning")
pytestmark = pytest.mark.reference

BOTH = ((our_sets, our_programs), (drake_sets, drake_programs))
KINDS = ("length", "square", "l1", "linf", "linear", "perspective", "constraints", "vertices")


def random_set(sets: Any, r: np.random.Generator, n: int) -> Any:
    center, size, kind = r.uniform(0.0, 5.0, n), r.uniform(0.2, 1.5, n), r.integers(4)
    corners = center[:, np.newaxis] + r.uniform(-1.0, 1.0, (n, n + 3))
    if kind == 0:
        return sets.HPolyhedron.MakeBox(center - size, center + size)
    if kind == 1:
        return sets.Hyperellipsoid.MakeAxisAligned(size, center)
    if kind == 2:
        return sets.VPolytope(corners)
    return sets.MinkowskiSum(sets.Point(center), sets.Hyperellipsoid.MakeHypersphere(0.5, np.zeros(n)))


def edge_cost(programs: Any, kind: str, n: int) -> Any:
    D, zeros = np.hstack((np.eye(n), -np.eye(n))), np.zeros(n)
    if kind == "square":
        return programs.QuadraticCost(2.0 * D.T @ D, np.zeros(2 * n), 0.3)
    if kind == "l1":
        return programs.L1NormCost(D, np.full(n, 0.1))
    if kind == "linf":
        return programs.LInfNormCost(D, np.full(n, 0.1))
    if kind == "linear":
        return programs.LinearCost(np.ones(2 * n), 20.0)
    if kind == "perspective":
        return programs.PerspectiveQuadraticCost(np.vstack((np.zeros(2 * n), D)), np.concatenate(([1.5], zeros)))
    return programs.L2NormCost(D, zeros)


def random_graph(sets: Any, programs: Any, n: int, kind: str, seed: int) -> tuple[Any, Any, Any]:
    r = np.random.default_rng(seed)
    graph = sets.GraphOfConvexSets()
    vertices = [graph.AddVertex(sets.Point(np.zeros(n)))]
    vertices += [graph.AddVertex(random_set(sets, r, n)) for _ in range(7)]
    vertices.append(graph.AddVertex(sets.Point(np.full(n, 5.0))))
    D = np.hstack((np.eye(n), -np.eye(n)))

    def constrain(part: Any, constraint: Any, x: Any) -> None:
        part.AddConstraint(programs.Binding[programs.Constraint](constraint, x))

    for i in range(9):
        for j in range(9):
            if i == j or (i, j) == (0, 8) or r.uniform() > 0.35:
                continue
            edge = graph.AddEdge(vertices[i], vertices[j])
            x = np.concatenate((edge.xu(), edge.xv()))
            edge.AddCost(programs.Binding[programs.Cost](edge_cost(programs, kind, n), x))
            if kind == "constraints" and r.uniform() < 0.5:
                constrain(edge, programs.LinearConstraint(D[:1], [-4.0], [4.0]), x)
            if kind == "constraints" and r.uniform() < 0.5:
                cone = np.vstack((0.0 * D[:1], D))
                constrain(edge, programs.LorentzConeConstraint(cone, np.concatenate(([6.0], np.zeros(n)))), x)
    for vertex in vertices if kind == "vertices" else ():
        cost = programs.QuadraticCost(np.eye(n), -np.ones(n), 3.0)
        vertex.AddCost(programs.Binding[programs.Cost](cost, vertex.x()))
        constrain(vertex, programs.LinearConstraint(np.ones((1, n)), [-np.inf], [5.0 * n + 1.0]), vertex.x())
    return graph, vertices[0], vertices[-1]


def options_of(sets: Any, programs: Any, **values: Any) -> Any:
    options = sets.GraphOfConvexSetsOptions()
    for name, value in {"solver": programs.ClarabelSolver(), **values}.items():
        setattr(options, name, value)
    return options


def solved(sets: Any, programs: Any, graph: Any, source: Any, target: Any, **others: Any) -> Any:
    options = options_of(sets, programs, convex_relaxation=True, **others)
    return graph.SolveShortestPath(source, target, options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_relaxations_have_the_cost_of_pydrakes_and_rounding_is_no_worse(kind, n):
    bounds, lengths = [], []
    for sets, programs in BOTH:
        graph, source, target = random_graph(sets, programs, n, kind, 10 * n + KINDS.index(kind))
        relaxed = solved(sets, programs, graph, source, target)
        rounded = solved(sets, programs, graph, source, target, max_rounded_paths=10)
        assert relaxed.is_success() == rounded.is_success()
        bounds.append(relaxed.get_optimal_cost() if relaxed.is_success() else np.inf)
        lengths.append(rounded.get_optimal_cost() if rounded.is_success() else np.inf)
    if not np.isfinite(bounds[1]):
        assert not np.isfinite(bounds[0])
        return
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-5)
    assert lengths[0] <= lengths[1] * (1.0 + 1e-5)


def test_flows_costs_and_vectors_are_those_of_pydrake():
    found = []
    for sets, programs in BOTH:
        graph, source, target = random_graph(sets, programs, 2, "vertices", 3)
        result = solved(sets, programs, graph, source, target)
        flows = [result.GetSolution(edge.phi()) for edge in graph.Edges()]
        costs = [part.GetSolutionCost(result) for part in (*graph.Vertices(), *graph.Edges())]
        vectors = [edge.GetSolutionPhiXu(result) for edge in graph.Edges()]
        found.append((np.array(flows), np.array(costs), np.array(vectors)))
    for ours, expected in zip(*found):
        np.testing.assert_allclose(ours, expected, atol=2e-3)


def test_preprocessing_gives_no_lower_bound_than_pydrakes():
    for seed in range(3):
        bounds = []
        for sets, programs in BOTH:
            graph, source, target = random_graph(sets, programs, 2, "length", seed)
            bounds.append(solved(sets, programs, graph, source, target, preprocessing=True).get_optimal_cost())
        assert bounds[0] >= bounds[1] - 1e-5


def test_texts_are_those_of_pydrake():
    texts = []
    for sets, programs in BOTH:
        graph = sets.GraphOfConvexSets()
        u, v = graph.AddVertex(sets.Point([0.0, 1.0])), graph.AddVertex(sets.Point([2.0, 1.0]), "goal")
        edge = graph.AddEdge(u, v)
        edge.AddCost(edge.xv()[0] + 1.0)
        result = solved(sets, programs, graph, u, v)
        text = graph.GetGraphvizString(result, active_path=[edge])
        for number, vertex in enumerate((u, v)):
            text = text.replace(f"v{vertex.id().get_value()} ", f"n{number} ")
        texts += [text.replace("-0.000", "0.000"), repr(sets.GcsGraphvizOptions()), (u.name(), edge.name())]
    assert texts[:3] == texts[3:]


def trajectory_problem(sets: Any, planning: Any, kind: str) -> tuple[Any, Any, Any]:
    box = sets.HPolyhedron.MakeBox
    gcs = planning.GcsTrajectoryOptimization(2, [0] if kind == "angle" else [])
    if kind == "angle":
        regions = [box([1.2 * k, 0.0], [1.2 * k + 1.5, 1.0]) for k in range(5)] + [box([5.8, 0.0], [7.2, 1.0])]
    else:
        regions = [box([0, 0], [2, 1]), box([1, 0], [3, 1]), box([2.5, 0], [3, 3]), box([0, 0.8], [0.5, 3])]
        regions += [box([0, 2.6], [3, 3]), sets.VPolytope(np.array([[1.2, 1.9, 1.5], [0.9, 0.9, 2.9]]))]
    main = gcs.AddRegions(regions, 3, name="main")
    start = gcs.AddRegions([sets.Point([0.1, 0.1])], 0)
    goal = gcs.AddRegions([sets.Point([6.1, 0.9] if kind == "angle" else [2.9, 2.9])], 0, 0.0, 0.0)
    leave, arrive = gcs.AddEdges(start, main), gcs.AddEdges(main, goal)
    gcs.AddVelocityBounds([-1.0, -0.7], [1.0, 0.8])
    gcs.AddPathContinuityConstraints(1)
    leave.AddZeroDerivativeConstraints(1)
    if kind in ("time", "angle"):
        gcs.AddTimeCost()
    if kind in ("length", "angle"):
        gcs.AddPathLengthCost()
    if kind == "energy":
        gcs.AddPathEnergyCost(2.0)
        gcs.AddPathLengthCost(np.diag([1.0, 2.0]))
    if kind == "placeholders":
        gcs.AddPathLengthCost(3.0)
        arrive.AddVelocityBounds([-0.1, -0.1], [0.1, 0.1])
        main.AddVertexCost(main.vertex_control_points()[0, 1] + 5.0)
        main.AddEdgeConstraint(main.edge_constituent_vertex_durations()[0] >= 0.1)
        main.AddVertexConstraint(main.vertex_duration() <= 5.0)
    return gcs, start, goal


@pytest.mark.parametrize("kind", ["time", "length", "energy", "placeholders", "angle"])
def test_trajectories_cost_what_pydrakes_cost(kind):
    costs = []
    for (sets, programs), planning in zip(BOTH, (our_planning, drake_planning)):
        gcs, start, goal = trajectory_problem(sets, planning, kind)
        edges = [(edge.u().name(), edge.v().name()) for edge in gcs.graph_of_convex_sets().Edges()]
        found = []
        for most in (0, 10):
            options = options_of(sets, programs, preprocessing=False, max_rounded_paths=most)
            found.append(gcs.SolvePath(start, goal, options)[1].get_optimal_cost())
        costs.append((sorted(edges), found))
    assert costs[0][0] == costs[1][0]
    assert costs[0][1][0] == pytest.approx(costs[1][1][0], rel=1e-5)
    assert costs[0][1][1] <= costs[1][1][1] * (1.0 + 1e-5)


def test_pieces_and_meeting_sets_are_those_of_pydrake():
    found = []
    for sets, _ in BOTH:
        box = sets.HPolyhedron.MakeBox
        regions = [box([0.0, 0.0], [2.0, 1.0]), box([1.5, 0.0], [4.0, 1.0]), box([3.5, 0.0], [6.4, 1.0])]
        pairs, offsets = sets.ComputePairwiseIntersections(regions, [0])
        pieces = sets.PartitionConvexSet(box([0.0, 0.0], [7.0, 1.0]), [0])
        found.append((list(map(tuple, pairs)), np.array(offsets), len(pieces)))
    assert sorted(found[0][0]) == sorted(found[1][0]) and found[0][2] == found[1][2]
    by_pair = [dict(zip(pairs, offsets.tolist())) for pairs, offsets, _ in found]
    for pair, offset in by_pair[0].items():
        np.testing.assert_allclose(offset, by_pair[1][pair], atol=1e-12)


def maze(sets: Any, programs: Any, size: int) -> tuple[Any, Any, Any]:
    r = np.random.default_rng(0)
    cells = nx.grid_2d_graph(size, size)
    for u, v in cells.edges:
        cells.edges[u, v]["weight"] = r.uniform()
    tree = nx.minimum_spanning_tree(cells)
    closed = [pair for pair in cells.edges if not tree.has_edge(*pair)]
    tree.add_edges_from(closed[k] for k in r.choice(len(closed), size, replace=False))
    graph = sets.GraphOfConvexSets()
    boxes = {cell: graph.AddVertex(sets.HPolyhedron.MakeBox(cell, np.add(cell, 1.0))) for cell in tree.nodes}
    start, end = graph.AddVertex(sets.Point([0.5, 0.5])), graph.AddVertex(sets.Point([size - 0.5] * 2))
    length = programs.L2NormCost(np.hstack((np.eye(2), -np.eye(2))), np.zeros(2))
    steps = [(boxes[a], boxes[b]) for pair in tree.edges for a, b in (pair, pair[::-1])]
    for u, v in (*steps, (start, boxes[0, 0]), (boxes[size - 1, size - 1], end)):
        edge = graph.AddEdge(u, v)
        edge.AddCost(programs.Binding[programs.Cost](length, np.concatenate((edge.xu(), edge.xv()))))
        if u is not start:
            inside = programs.LinearConstraint(u.set().A(), np.full(4, -np.inf), u.set().b())
            edge.AddConstraint(programs.Binding[programs.Constraint](inside, edge.xv()))
    return graph, start, end


def test_a_maze_takes_not_much_longer_than_pydrake():
    costs, seconds = [], []
    for sets, programs in BOTH:
        graph, start, end = maze(sets, programs, 16)
        best = np.inf
        for _ in range(3):
            begin = time.process_time()
            result = solved(sets, programs, graph, start, end, max_rounded_paths=5)
            best = min(best, time.process_time() - begin)
        costs.append(result.get_optimal_cost())
        seconds.append(best)
    print(f"maze of 256 cells: {seconds[0]:.3f} s of the processor, pydrake {seconds[1]:.3f} s")
    assert costs[0] == pytest.approx(costs[1], rel=1e-4)
    assert seconds[0] < 4.0 * seconds[1]
