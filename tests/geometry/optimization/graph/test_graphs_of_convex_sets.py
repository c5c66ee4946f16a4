"""Graphs of convex sets: shortest paths, their relaxation, rounding and restriction."""

from __future__ import annotations

import copy
import itertools
import pickle

import networkx as nx
import numpy as np
import pytest

from merganser.framework.optimization import (
    Binding,
    ClarabelSolver,
    Constraint,
    Cost,
    L1NormCost,
    L2NormCost,
    LinearConstraint,
    LInfNormCost,
    LorentzConeConstraint,
    PerspectiveQuadraticCost,
    PositiveSemidefiniteConstraint,
    QuadraticCost,
    SolutionResult,
)
from merganser.framework.symbolic import sin
from merganser.geometry.optimization import (
    GcsGraphvizOptions,
    GraphOfConvexSets,
    GraphOfConvexSetsOptions,
    HPolyhedron,
    Hyperellipsoid,
    ImplicitGraphOfConvexSets,
    ImplicitGraphOfConvexSetsFromExplicit,
    MinkowskiSum,
    Point,
    VPolytope,
)
from merganser.geometry.optimization.plot import plot_graph, plot_sets

Transcription = GraphOfConvexSets.Transcription
STEP = np.hstack((np.eye(2), -np.eye(2)))


def relaxed(**others):
    return GraphOfConvexSetsOptions(convex_relaxation=True, **others)


def add_length(edge, weight=1.0):
    n = edge.xu().size
    A = weight * np.hstack((np.eye(n), -np.eye(n)))
    return edge.AddCost(Binding[Cost](L2NormCost(A, np.zeros(n)), np.concatenate((edge.xu(), edge.xv()))))


def detour():
    """From s to t by a disk above, or by a box below that is farther away."""
    graph = GraphOfConvexSets()
    s, t = graph.AddVertex(Point([0.0, 0.0]), "s"), graph.AddVertex(Point([4.0, 0.0]), "t")
    above = graph.AddVertex(Hyperellipsoid.MakeHypersphere(1.0, [2.0, 2.5]), "above")
    below = graph.AddVertex(HPolyhedron.MakeBox([1.0, -4.0], [3.0, -3.0]), "below")
    edges = [graph.AddEdge(*ends) for ends in ((s, above), (above, t), (s, below), (below, t))]
    for edge in edges:
        add_length(edge)
    return graph, s, t, above, below, edges


SHORTEST = 2.0 * np.hypot(2.0, 1.5)  # by the lowest point of the disk


def test_the_shortest_path_touches_the_nearest_set_on_the_way():
    graph, s, t, above, below, edges = detour()
    for options in (relaxed(), relaxed(max_rounded_paths=3), relaxed(preprocessing=True)):
        result = graph.SolveShortestPath(s, t, options)
        assert result.is_success()
        assert result.get_optimal_cost() == pytest.approx(SHORTEST, rel=1e-6)
        np.testing.assert_allclose(above.GetSolution(result), [2.0, 1.5], atol=1e-4)
        np.testing.assert_allclose(s.GetSolution(result), [0.0, 0.0], atol=1e-6)
        assert graph.GetSolutionPath(s, t, result) == edges[:2]
        assert edges[0].GetSolutionCost(result) == pytest.approx(2.5, abs=1e-5)
        assert result.GetSolution(edges[2].phi()) == pytest.approx(0.0, abs=1e-6)
    assert below.GetSolution(result) is None
    np.testing.assert_allclose(edges[0].GetSolutionPhiXv(result), [2.0, 1.5], atol=1e-4)
    np.testing.assert_allclose(edges[2].GetSolutionPhiXu(result), [0.0, 0.0], atol=1e-6)


def test_parts_know_each_other_and_can_be_removed():
    graph, s, t, above, _, edges = detour()
    assert (graph.num_vertices(), graph.num_edges()) == (4, 4)
    assert s.outgoing_edges() == [edges[0], edges[2]] and t.incoming_edges() == [edges[1], edges[3]]
    assert graph.GetVertexByName("above") is above and graph.GetEdgeByName("missing") is None
    assert graph.GetMutableEdgeByName("e0") is edges[0] and edges[0].u() is s and edges[0].v() is above
    assert graph.IsValid(s) and graph.IsValid(edges[0]) and s.ambient_dimension() == 2
    assert s.id() != t.id() and edges[0].id().is_valid() and type(s.id()) is GraphOfConvexSets.VertexId
    graph.RemoveEdge(edges[2])
    graph.RemoveVertex(above)
    assert graph.Edges() == [edges[3]] and s.outgoing_edges() == [] and not graph.IsValid(edges[0])
    assert graph.SolveShortestPath(s, t, relaxed()).get_solution_result() is SolutionResult.kInfeasibleConstraints
    with pytest.raises(RuntimeError, match="source is not a vertex"):
        graph.SolveShortestPath(above, t)
    with pytest.raises(RuntimeError, match="not one of this graph"):
        graph.RemoveEdge(edges[2])


def test_copies_have_all_costs_and_constraints():
    graph, s, t, above, *_ = detour()
    above.AddConstraint(above.x()[0] <= 1.5)
    above.AddCost(above.x()[1] + 1.0)
    expected = graph.SolveShortestPath(s, t, relaxed()).get_optimal_cost()
    clone = graph.Clone()
    ends = clone.GetVertexByName("s"), clone.GetVertexByName("t")
    assert ends[0] is not s
    assert clone.SolveShortestPath(*ends, relaxed()).get_optimal_cost() == pytest.approx(expected, rel=1e-6)
    other = clone.AddVertex(Point([0.0]))
    with pytest.raises(RuntimeError, match="dimensions"):
        clone.AddEdgeFromTemplate(other, ends[1], clone.Edges()[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_vertices_and_results_that_are_copied_with_their_graph_belong_to_it(copied):
    graph, s, t, above, *_ = detour()
    graph, s, t, above, result = copied((graph, s, t, above, graph.SolveShortestPath(s, t, relaxed())))
    np.testing.assert_allclose(above.GetSolution(result), [2.0, 1.5], atol=1e-4)
    assert graph.SolveShortestPath(s, t, relaxed()).get_optimal_cost() == pytest.approx(SHORTEST, rel=1e-6)
    assert graph.GetVertexByName("above") is above


def test_edges_may_be_forced_and_forbidden():
    graph, s, t, _, below, edges = detour()
    edges[0].AddPhiConstraint(False)
    result = graph.SolveShortestPath(s, t, relaxed())
    assert graph.GetSolutionPath(s, t, result) == edges[2:]
    np.testing.assert_allclose(below.GetSolution(result), [2.0, -3.0], atol=1e-3)
    graph.ClearAllPhiConstraints()
    edges[2].AddPhiConstraint(True)
    result = graph.SolveShortestPath(s, t, relaxed())
    assert result.GetSolution(edges[2].phi()) == pytest.approx(1.0, abs=1e-6)
    edges[2].ClearPhiConstraints()
    assert graph.SolveShortestPath(s, t, relaxed()).get_optimal_cost() == pytest.approx(SHORTEST, rel=1e-6)


def cost_of(kind):
    b = np.array([0.1, -0.2])
    return {
        "l1": L1NormCost(STEP, b),
        "linf": LInfNormCost(STEP, b),
        "l2": L2NormCost(STEP, b),
        "quadratic": QuadraticCost(STEP.T @ STEP, np.zeros(4), 0.5),
        "perspective": PerspectiveQuadraticCost(np.vstack((np.zeros(4), STEP)), [2.0, 0.0, 0.0]),
    }[kind]


@pytest.mark.parametrize("kind", ["l1", "linf", "l2", "quadratic", "perspective"])
def test_each_cost_is_that_of_the_vectors(kind):
    graph, s, t, above, _, edges = detour()
    for edge in edges:
        edge.AddCost(Binding[Cost](cost_of(kind), np.concatenate((edge.xu(), edge.xv()))))
    above.AddCost(above.x() @ above.x())
    result = graph.SolveShortestPath(s, t, relaxed(max_rounded_paths=2))
    path = graph.GetSolutionPath(s, t, result)
    bound = graph.SolveShortestPath(s, t, relaxed())
    assert bound.get_optimal_cost() <= result.get_optimal_cost() + 1e-5
    total = sum(part.GetSolutionCost(result) for part in (*graph.Vertices(), *graph.Edges()))
    assert total == pytest.approx(result.get_optimal_cost(), rel=1e-5)
    for edge in path:
        x = np.concatenate((edge.u().GetSolution(result), edge.v().GetSolution(result)))
        expected = sum(float(each.evaluator().Eval(x)[0]) for each in edge.GetCosts())
        assert edge.GetSolutionCost(result) == pytest.approx(expected, abs=1e-5)
        last = edge.GetCosts()[-1]
        assert edge.GetSolutionCost(result, last) == pytest.approx(float(last.evaluator().Eval(x)[0]), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_relaxation_is_a_bound_and_rounding_near_it(seed):
    """All paths of a small random graph, each solved, against the relaxation and rounding."""
    r = np.random.default_rng(seed)
    n = 2 + seed
    graph = GraphOfConvexSets()
    vertices = [graph.AddVertex(Point(np.zeros(n)))]
    for i in range(4):
        center, size = r.uniform(0.0, 4.0, n), r.uniform(0.2, 1.0, n)
        ball = MinkowskiSum(Point(center), Hyperellipsoid.MakeHypersphere(0.5, np.zeros(n)))
        corners = VPolytope(center[:, np.newaxis] + r.uniform(-1.0, 1.0, (n, n + 2)))
        vertices.append(graph.AddVertex([HPolyhedron.MakeBox(center - size, center + size), ball, corners][i % 3]))
    vertices.append(graph.AddVertex(Point(np.full(n, 4.0))))
    names = nx.DiGraph()
    edge_of = {}
    for i, j in itertools.permutations(range(6), 2):
        if r.uniform() < 0.6 and (i, j) != (0, 5):
            edge_of[i, j] = graph.AddEdge(vertices[i], vertices[j])
            add_length(edge_of[i, j])
            names.add_edge(i, j)
    best = min(
        graph.SolveConvexRestriction([edge_of[pair] for pair in itertools.pairwise(path)]).get_optimal_cost()
        for path in nx.all_simple_paths(names, 0, 5)
    )
    bound = graph.SolveShortestPath(vertices[0], vertices[5], relaxed()).get_optimal_cost()
    tighter = graph.SolveShortestPath(vertices[0], vertices[5], relaxed(preprocessing=True)).get_optimal_cost()
    rounded = graph.SolveShortestPath(vertices[0], vertices[5], relaxed(max_rounded_paths=20)).get_optimal_cost()
    assert bound <= tighter + 1e-5 and tighter <= best + 1e-5 and best <= rounded + 1e-5
    assert rounded <= 1.1 * best


def test_linear_programs_with_binary_flows_are_solved():
    graph = GraphOfConvexSets()
    s, t = graph.AddVertex(Point([0.0])), graph.AddVertex(Point([3.0]))
    middle = [graph.AddVertex(HPolyhedron.MakeBox([i], [i + 0.5])) for i in (1.0, 2.0)]
    for u, v in ((s, middle[0]), (s, middle[1]), (middle[0], middle[1]), (middle[0], t), (middle[1], t)):
        edge = graph.AddEdge(u, v)
        edge.AddCost(2.0 * edge.xv()[0] - edge.xu()[0] + 1.0)
    result = graph.SolveShortestPath(s, t)
    bound = graph.SolveShortestPath(s, t, relaxed())
    assert result.is_success() and bound.get_optimal_cost() <= result.get_optimal_cost() + 1e-7
    assert len(graph.GetSolutionPath(s, t, result, 0.0)) == 2
    assert result.get_optimal_cost() == pytest.approx(9.0)  # 8 + the vector on the way, which is 1


def test_transcriptions_choose_what_is_used():
    graph, s, t, above, _, edges = detour()
    only = {Transcription.kRestriction}
    curved = above.AddCost(2.0 + sin(above.x()[0]), use_in_transcription=only)
    bound = above.AddConstraint(above.x()[0] <= 1.5, {Transcription.kRelaxation, Transcription.kMIP})
    assert above.GetCosts() == [curved] and above.GetCosts({Transcription.kMIP}) == []
    assert above.GetConstraints(only) == [] and above.GetConstraints() == [bound]
    flows = graph.SolveShortestPath(s, t, relaxed())
    assert above.GetSolution(flows)[0] <= 1.5 + 1e-6 and above.GetSolutionCost(flows) == 0.0
    result = graph.SolveConvexRestriction(edges[:2], initial_guess=flows)
    assert above.GetSolutionCost(result) == pytest.approx(2.0 + np.sin(above.GetSolution(result)[0]))
    used_everywhere = above.AddCost(2.0 + sin(above.x()[1]))
    with pytest.raises(RuntimeError, match="kRestriction"):
        graph.SolveShortestPath(s, t, relaxed())
    with pytest.raises(RuntimeError, match="at least one transcription"):
        above.GetCosts(set())
    assert used_everywhere in above.GetCosts()


def test_cones_hold_on_the_way():
    graph, s, t, above, _below, edges = detour()
    edges[2].AddPhiConstraint(False)
    near = LorentzConeConstraint(np.vstack((np.zeros(2), np.eye(2))), [0.3, -2.0, -2.5])  # |x - center| <= 0.3
    above.AddConstraint(Binding[Constraint](near, above.x()))
    left = LinearConstraint([[0.0, 0.0, 1.0, 0.0]], [-np.inf], [1.9])
    edges[0].AddConstraint(Binding[Constraint](left, np.concatenate((edges[0].xu(), edges[0].xv()))))
    matrix = above.x()[[0, 1, 1, 0]]  # [[x, y], [y, x]] is positive semidefinite for |y| <= x
    result = graph.SolveShortestPath(s, t, relaxed())
    x = above.GetSolution(result)
    assert np.hypot(*(x - [2.0, 2.5])) <= 0.3 + 1e-5 and x[0] <= 1.9 + 1e-5
    above.AddConstraint(Binding[Constraint](PositiveSemidefiniteConstraint(2), matrix))
    infeasible = graph.SolveShortestPath(s, t, relaxed(max_rounded_paths=2))
    assert infeasible.get_solution_result() is SolutionResult.kInfeasibleConstraints
    assert above.GetSolution(infeasible) is None
    with pytest.raises(RuntimeError, match="success"):
        graph.GetSolutionPath(s, t, infeasible)


def test_random_walks_take_each_path_once():
    graph, s, t, _, _, edges = detour()
    flows = dict.fromkeys(edges, 0.5)
    paths = graph.SamplePaths(s, t, flows, GraphOfConvexSetsOptions(max_rounded_paths=10))
    assert sorted(map(len, paths)) == [2, 2] and {path[0] for path in paths} == {edges[0], edges[2]}
    assert len(graph.SamplePaths(s, t, flows, GraphOfConvexSetsOptions(max_rounded_paths=1))) == 1
    few = GraphOfConvexSetsOptions(max_rounded_paths=10, flow_tolerance=0.6)
    assert graph.SamplePaths(s, t, flows, few) == []
    dead_end = {edges[0]: 0.9, edges[2]: 0.1, edges[3]: 0.1}
    assert graph.SamplePaths(s, t, dead_end, GraphOfConvexSetsOptions(max_rounded_paths=5)) == [edges[2:]]
    result = graph.SolveShortestPath(s, t, relaxed())
    assert graph.SamplePaths(s, t, result, GraphOfConvexSetsOptions(max_rounded_paths=5)) == [edges[:2]]
    with pytest.raises(RuntimeError, match="max_rounded_paths"):
        graph.SamplePaths(s, t, flows, GraphOfConvexSetsOptions())


def test_restrictions_solve_active_edges_alone():
    graph, _s, _t, above, _below, edges = detour()
    result = graph.SolveConvexRestriction(edges[2:], relaxed(restriction_solver=ClarabelSolver()))
    assert result.get_optimal_cost() == pytest.approx(2.0 * np.hypot(2.0, 3.0), rel=1e-6)
    assert above.GetSolution(result) is None and result.GetSolution(edges[0].phi()) == 0.0
    with pytest.raises(RuntimeError, match="no solution of the vertex 'above'"):
        graph.SolveConvexRestriction(edges[:2], initial_guess=result)
    with pytest.raises(RuntimeError, match="not of this graph"):
        detour()[0].SolveConvexRestriction(edges[:1])


def test_sets_without_dimension_are_places_to_start_from():
    graph, _s, t, above, below, _edges = detour()
    anywhere = graph.AddVertex(Point())
    for vertex in (above, below):
        graph.AddEdge(anywhere, vertex)
    result = graph.SolveShortestPath(anywhere, t, relaxed(max_rounded_paths=2))
    assert result.get_optimal_cost() == pytest.approx(np.hypot(2.0, 2.5) - 1.0, rel=1e-5)
    assert anywhere.GetSolution(result).size == 0
    with pytest.raises(RuntimeError, match="no variables"):
        anywhere.AddConstraint(above.x()[0] <= 1.0)


def test_mistakes_are_reported_where_they_are_made():
    graph, s, t, above, _, edges = detour()
    with pytest.raises(RuntimeError, match=r"Vertex 's'.AddCost: .* is not a variable of this vertex"):
        s.AddCost(t.x()[0])
    with pytest.raises(RuntimeError, match="is not a variable of this edge"):
        edges[0].AddConstraint(t.x()[0] <= 1.0)
    with pytest.raises(RuntimeError, match="at least one transcription"):
        s.AddCost(s.x()[0], use_in_transcription=set())
    with pytest.raises(TypeError, match="expected a convex set"):
        graph.AddVertex([0.0, 1.0])
    with pytest.raises(RuntimeError, match="u is not a vertex"):
        graph.AddEdge(GraphOfConvexSets().AddVertex(Point([0.0])), t)
    with pytest.raises(RuntimeError, match="no cost of it"):
        s.GetSolutionCost(graph.SolveShortestPath(s, t, relaxed()), edges[0].GetCosts()[0])
    above.AddCost(-above.x() @ above.x())
    with pytest.raises(RuntimeError, match="convex"):
        graph.SolveShortestPath(s, t, relaxed())
    options = GraphOfConvexSetsOptions()
    assert repr(options).startswith("GraphOfConvexSetsOptions(convex_relaxation=None")
    with pytest.raises(AttributeError):
        options.convex_relaxatoin = True


def test_graphs_are_drawn_with_their_values():
    graph, s, t, *_, edges = detour()
    plain = graph.GetGraphvizString()
    assert plain.count("->") == 4 and 'label="above"' in plain and "ϕ" not in plain
    result = graph.SolveShortestPath(s, t, relaxed())
    text = graph.GetGraphvizString(result, GcsGraphvizOptions(precision=1), active_path=edges[:2])
    assert "x = [4.0" in text and "cost = 2.5" in text and "ϕ = 1.0" in text and text.count("dashed") == 2
    assert "ϕ" not in graph.GetGraphvizString(result, show_slacks=False, show_flows=False)
    axes = plot_graph(graph, result)
    assert len(axes.lines) == 4  # two points and two edges
    with pytest.raises(ValueError, match="dimension 2"):
        plot_sets([Point([0.0])])


def test_implicit_graphs_grow_where_they_are_looked_at():
    class Line(ImplicitGraphOfConvexSets):
        def Expand(self, v):
            gcs = self.mutable_gcs()
            add_length(gcs.AddEdge(v, gcs.AddVertex(Point(v.set().x() + 1.0))))

    line = Line()
    start = line.mutable_gcs().AddVertex(Point([0.0, 0.0]))
    (edge,) = line.Successors(start)
    assert line.Successors(start) == [edge] and line.gcs().num_vertices() == 2
    line.ExpandRecursively(start, max_successor_calls=5)
    assert line.gcs().num_vertices() == 6
    graph, s, t, *_ = detour()
    implicit = ImplicitGraphOfConvexSetsFromExplicit(graph)
    begin = implicit.ImplicitVertexFromExplicit(s)
    implicit.ExpandRecursively(begin)
    assert (implicit.gcs().num_vertices(), implicit.gcs().num_edges()) == (4, 4)
    end = implicit.ImplicitVertexFromExplicit(t)
    cost = implicit.gcs().SolveShortestPath(begin, end, relaxed()).get_optimal_cost()
    assert cost == pytest.approx(SHORTEST, rel=1e-6)
    with pytest.raises(RuntimeError, match="not a vertex"):
        implicit.Successors(s)
