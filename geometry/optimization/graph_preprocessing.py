"""Which edges a path from a source to a target may have."""

from __future__ import annotations

__all__ = ["reachable_edges", "usable_edges"]

from collections.abc import Iterable, Sequence

import numpy as np

from merganser.framework.optimization.choose import Solve
from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.program import MathematicalProgram
from merganser.framework.optimization.solver import SolverInterface
from merganser.framework.optimization.solver_options import SolverOptions
from merganser.geometry.optimization.graph_parts import Edge, Vertex


def reachable_edges(edges: Iterable[Edge], source: Vertex, target: Vertex) -> list[Edge]:
    """Edges (u, v) with a way from the source to u and one from v to the target.

    Those into the source, out of the target and with phi = 0 are left out; those with phi = 1 never are.
    """
    kept = [
        edge
        for edge in edges
        if edge.fixed_phi or (edge.fixed_phi is None and edge.v() is not source and edge.u() is not target)
    ]
    after, before = _closure(kept, source, True), _closure(kept, target, False)
    return [edge for edge in kept if edge.fixed_phi or (edge.u() in after and edge.v() in before)]


def _closure(edges: list[Edge], start: Vertex, is_forward: bool) -> set[Vertex]:
    neighbours: dict[Vertex, list[Vertex]] = {}
    for edge in edges:
        a, b = (edge.u(), edge.v()) if is_forward else (edge.v(), edge.u())
        neighbours.setdefault(a, []).append(b)
    found, queue = {start}, [start]
    while queue:
        for other in neighbours.get(queue.pop(), ()):
            if other not in found:
                found.add(other)
                queue.append(other)
    return found


def usable_edges(
    edges: Sequence[Edge], source: Vertex, target: Vertex, solver: SolverInterface | None, options: SolverOptions | None
) -> list[Edge]:
    """Edges (u, v) for which there are flows of 1 from the source to u, and from v to the target, with at most 1 in all
    through each vertex: by a linear program for each edge of which two shortest ways do not show it. All edges of paths
    are among them; others may be, where only fractions of flows exist.
    """
    edges = _on_simple_ways(edges, source, target)
    after: dict[Vertex, list[Vertex]] = {}
    for edge in edges:
        after.setdefault(edge.u(), []).append(edge.v())
    return [
        edge
        for edge in edges
        if edge.fixed_phi
        or _ways_are_apart(after, edge, source, target)
        or _has_flows(edges, edge, source, target, solver, options)
    ]


def _on_simple_ways(edges: Sequence[Edge], source: Vertex, target: Vertex) -> list[Edge]:
    """Edges that a way from the source to the target has which visits no vertex twice, if all went both ways: those in
    one biconnected component with an edge between source and target (Hopcroft and Tarjan 1973).
    """
    import networkx as nx

    if source is target:
        return list(edges)
    graph = nx.Graph([(edge.u(), edge.v()) for edge in edges] + [(source, target)])
    for component in nx.biconnected_component_edges(graph):
        pairs = {frozenset(pair) for pair in component}
        if frozenset((source, target)) in pairs:
            return [edge for edge in edges if edge.fixed_phi or frozenset((edge.u(), edge.v())) in pairs]
    return list(edges)


def _ways_are_apart(after: dict[Vertex, list[Vertex]], edge: Edge, source: Vertex, target: Vertex) -> bool:
    """Whether a way from v to the target is left when a shortest one from the source to u is taken away."""
    before = _way(after, source, edge.u(), {edge.v(), target} - {edge.u()})
    return before is not None and _way(after, edge.v(), target, before) is not None


def _way(after: dict[Vertex, list[Vertex]], start: Vertex, end: Vertex, without: set[Vertex]) -> set[Vertex] | None:
    """The vertices of a shortest way."""
    if start in without or end in without:
        return None
    came_from: dict[Vertex, Vertex | None] = {start: None}
    layer = [start]
    while layer and end not in came_from:
        following = []
        for vertex in layer:
            for other in after.get(vertex, ()):
                if other not in came_from and other not in without:
                    came_from[other] = vertex
                    following.append(other)
        layer = following
    if end not in came_from:
        return None
    way = set()
    at: Vertex | None = end
    while at is not None:
        way.add(at)
        at = came_from[at]
    return way


def _has_flows(
    edges: Sequence[Edge], edge: Edge, source: Vertex, target: Vertex, solver: SolverInterface | None,
    options: SolverOptions | None,
) -> bool:  # fmt: skip
    from scipy.sparse import block_diag, csc_matrix, hstack

    vertices = list(dict.fromkeys(v for each in edges for v in (each.u(), each.v())))
    place = {vertex: i for i, vertex in enumerate(vertices)}
    count, size = len(edges), len(vertices)
    heads, tails = [place[each.v()] for each in edges], [place[each.u()] for each in edges]
    out = csc_matrix((np.ones(count), (tails, np.arange(count))), (size, count))
    into = csc_matrix((np.ones(count), (heads, np.arange(count))), (size, count))
    right = np.zeros(2 * size)
    for start, end, first in ((source, edge.u(), 0), (edge.v(), target, size)):
        right[first + place[start]] += 1.0
        right[first + place[end]] -= 1.0
    visits = np.ones(size)  # how much may still come in
    visits[place[source]] = 0.0
    visits[place[edge.v()]] = 0.0
    prog = MathematicalProgram()
    flows = prog.NewContinuousVariables(2 * count, "flow")
    prog.AddBoundingBoxConstraint(0.0, 1.0, flows)
    net = block_diag((out - into, out - into), format="csc")
    prog.AddLinearConstraint(net, right, right, flows)
    prog.AddLinearConstraint(hstack((into, into), format="csc"), np.full(size, -np.inf), visits, flows)
    result = Solve(prog, None, options) if solver is None else solver.Solve(prog, None, options)
    return result.get_solution_result() is not SolutionResult.kInfeasibleConstraints
