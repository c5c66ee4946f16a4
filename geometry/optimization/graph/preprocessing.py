"""Which edges a path from a source to a target may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.solvers.choose import Solve
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.graph.parts import Edge, Vertex


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
    through each vertex: by a linear program for each edge that shorter ways do not decide. All edges of paths
    are among them; others may be, where only fractions of flows exist.
    """
    edges = _on_simple_ways(edges, source, target)
    flows = _TwoFlows(edges, source, target)
    after: dict[Vertex, list[Vertex]] = {}
    for edge in edges:
        after.setdefault(edge.u(), []).append(edge.v())
    return [
        edge
        for edge in edges
        if edge.fixed_phi
        or _ways_are_apart(after, edge, source, target)
        or (flows.may_exist(edge) and flows.exist(edge, solver, options))
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
    """Whether a way from v to the target is left when a shortest one from the source to u is taken away, or a way from
    the source to u when a shortest one from v to the target is.
    """
    before = _way(after, source, edge.u(), {edge.v(), target} - {edge.u()})
    if before is not None and _way(after, edge.v(), target, before) is not None:
        return True
    behind = _way(after, edge.v(), target, {edge.u(), source} - {edge.v()})
    return behind is not None and _way(after, source, edge.u(), behind) is not None


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


class _TwoFlows:
    """A linear program with a flow from the source to u and one from v to the target, for edges (u, v)."""

    def __init__(self, edges: Sequence[Edge], source: Vertex, target: Vertex) -> None:
        from scipy.sparse import block_diag, csc_matrix, hstack

        self._source, self._target = source, target
        self._edges = edges
        vertices = dict.fromkeys([source, target, *(v for each in edges for v in (each.u(), each.v()))])
        self._place = {vertex: i for i, vertex in enumerate(vertices)}
        count, size = len(edges), len(vertices)
        out, into = (
            csc_matrix((np.ones(count), ([self._place[each] for each in ends], np.arange(count))), (size, count))
            for ends in ([each.u() for each in edges], [each.v() for each in edges])
        )
        self._net = block_diag((out - into, out - into), format="csc")
        self._visits = hstack((into, into), format="csc")
        self._flows = MathematicalProgram().NewContinuousVariables(2 * count, "flow")

    def may_exist(self, edge: Edge) -> bool:
        """Whether two ways without a vertex in common lead from {source, v} to {u, target}, by a maximum flow of whole
        numbers (Menger's theorem): it takes less time, and refuses nearly all edges that the program does.
        """
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_flow

        # of vertex i, the nodes 2 i and 2 i + 1, with an arc of 1 between them
        place, size = self._place, len(self._place)
        begin, end = 2 * size, 2 * size + 1
        u, v, s, t = (place[each] for each in (edge.u(), edge.v(), self._source, self._target))
        others = [each for each in self._edges if each is not edge]
        rows = [
            *range(0, 2 * size, 2),
            *(2 * place[each.u()] + 1 for each in others),
            begin,
            begin,
            2 * u + 1,
            2 * t + 1,
        ]
        columns = [*range(1, 2 * size, 2), *(2 * place[each.v()] for each in others), 2 * s, 2 * v, end, end]
        arcs = csr_matrix((np.ones(len(rows), np.int32), (rows, columns)), (2 * size + 2, 2 * size + 2))
        arcs.data[:] = 1  # also of parallel edges
        return int(maximum_flow(arcs, begin, end).flow_value) == 2

    def exist(self, edge: Edge, solver: SolverInterface | None, options: SolverOptions | None) -> bool:
        """Whether there are flows for an edge."""
        place, size = self._place, len(self._place)
        right = np.zeros(2 * size)
        for start, end, first in ((self._source, edge.u(), 0), (edge.v(), self._target, size)):
            right[first + place[start]] += 1.0
            right[first + place[end]] -= 1.0
        visits = np.ones(size)  # how much flow may come in: none where a way begins
        visits[[place[self._source], place[edge.v()]]] = 0.0
        prog = MathematicalProgram()
        prog.AddDecisionVariables(self._flows)
        prog.AddBoundingBoxConstraint(0.0, 1.0, self._flows)
        prog.AddLinearConstraint(self._net, right, right, self._flows)
        prog.AddLinearConstraint(self._visits, np.full(size, -np.inf), visits, self._flows)
        result = Solve(prog, None, options) if solver is None else solver.Solve(prog, None, options)
        return result.get_solution_result() is not SolutionResult.kInfeasibleConstraints
