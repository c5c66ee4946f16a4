"""Edges that paths from a source to a target may have, and paths from flows: the integral one, and random walks.

The program of a path that is known: vectors of its vertices, without flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.evaluators.costs import L1NormCost, LInfNormCost, PerspectiveQuadraticCost
from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.choose import Solve
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.graph.parts import (
    Edge,
    GraphOfConvexSetsOptions,
    Transcription,
    Vertex,
    blocks_of_cost,
    evaluator_of,
)


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


def followed_path(source: Vertex, target: Vertex, flows: dict[Edge, float], tolerance: float) -> list[Edge] | None:
    """A path of edges with a flow of at least 1 - tolerance, by depth-first search, greatest flows first."""

    def greatest(edges: list[Edge]) -> Edge | None:
        edge = max(edges, key=lambda each: flows.get(each, 0.0), default=None)
        return edge if edge is not None and 0.0 < flows.get(edge, 0.0) >= 1.0 - tolerance else None

    return _walk(source, target, greatest)


def sampled_paths(
    source: Vertex, target: Vertex, flows: dict[Edge, float], options: GraphOfConvexSetsOptions, most: int
) -> list[list[Edge]]:
    """Different paths by random walks, whose steps are as likely as flows are great.

    A walk goes to no vertex twice, and back where it can go no further (Marcucci, Petersen, von Wrangel, Tedrake,
    Motion planning around obstacles with convex optimization, Science Robotics 2023, section 4.2).
    """
    generator = RandomGenerator(options.rounding_seed)

    has_choice = False

    def drawn(edges: list[Edge]) -> Edge | None:
        nonlocal has_choice
        usable = [edge for edge in edges if flows.get(edge, 0.0) > options.flow_tolerance]
        has_choice |= len(usable) > 1
        return _drawn(usable, flows, generator)

    found: dict[tuple[Edge, ...], None] = {}
    for _ in range(options.max_rounding_trials):
        if len(found) >= most:
            break
        path = _walk(source, target, drawn)
        if path is None:
            break  # no path
        found[tuple(path)] = None
        if not has_choice:
            break  # no other path
    return [list(path) for path in found]


def _walk(source: Vertex, target: Vertex, chosen: Callable[[list[Edge]], Edge | None]) -> list[Edge] | None:
    """A path by depth-first search, that goes on along what is chosen of the edges to vertices not visited yet."""
    path: list[Edge] = []
    visited = {source}
    at = source
    while at is not target:
        edge = chosen([edge for edge in at.outgoing if edge.v() not in visited])
        if edge is not None:
            path.append(edge)
            at = edge.v()
            visited.add(at)
        elif path:
            at = path.pop().u()
        else:
            return None
    return path


def _drawn(edges: list[Edge], flows: dict[Edge, float], generator: RandomGenerator) -> Edge | None:
    if len(edges) < 2:
        return edges[0] if edges else None
    left = generator.uniform() * sum(flows[edge] for edge in edges)
    for edge in edges:
        left -= flows[edge]
        if left < 0.0:
            return edge
    return edges[-1]


_KIND = Transcription.kRestriction


class ConvexRestriction:
    """The least cost of vectors x_v in X_v of the vertices of some edges, all of which are active."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self._edges = list(edges)
        self._active = list(dict.fromkeys(vertex for edge in edges for vertex in (edge.u(), edge.v())))
        self.prog = MathematicalProgram()
        for vertex in self._active:
            if vertex.ambient_dimension():
                self.prog.AddDecisionVariables(vertex.x())
                vertex.set().AddPointInSetConstraints(self.prog, vertex.x())
        for part in (*self._active, *dict.fromkeys(self._edges)):
            for cost in part.GetCosts([_KIND]):
                self._add_cost(cost)
            for constraint in part.GetConstraints([_KIND]):
                self.prog.AddConstraint(constraint)

    def _add_cost(self, cost: Binding) -> None:
        evaluator = cost.evaluator()
        if not isinstance(evaluator, (L1NormCost, LInfNormCost, PerspectiveQuadraticCost)):
            self.prog.AddCost(cost)
            return
        # no costs of their own for solvers of convex programs: an upper bound l of the cost, with a flow of 1
        n = evaluator.num_vars()
        blocks, num_new = blocks_of_cost(evaluator)
        new = self.prog.NewContinuousVariables(1 + num_new, "l")
        self.prog.AddLinearCost(np.ones(1), new[:1])
        for block in blocks:
            reduced = block._replace(A=np.delete(block.A, n, axis=1))
            bound = evaluator_of(reduced, block.A[:, n])
            self.prog.AddConstraint(Binding(bound, np.concatenate((cost.variables(), new))))

    def guess(self, result: MathematicalProgramResult) -> Any:
        """A guess for the program by values of another result.

        Raises:
            RuntimeError: a vertex of the path has no solution.
        """
        guess = np.zeros(self.prog.num_vars())
        for vertex in self._active:
            x = vertex.GetSolution(result)
            if x is None:
                raise RuntimeError(
                    f"SolveConvexRestriction: initial_guess has no solution of the vertex '{vertex.name()}'."
                )
            guess[self.prog.FindDecisionVariableIndices(vertex.x())] = x
        return guess

    def complete(
        self, result: MathematicalProgramResult, all_vertices: Iterable[Vertex], all_edges: Iterable[Edge]
    ) -> None:
        """Adds to a result flows, costs, and NaN for vertices that the path does not visit."""
        active, edges = set(self._active), set(self._edges)
        names: list[Any] = []
        values: list[float] = []

        def put(variables: Objects | list[Any], numbers: Any) -> None:
            names.extend(variables)
            values.extend(np.broadcast_to(numbers, len(variables)))

        for vertex in all_vertices:
            if vertex not in active:
                put(vertex.x(), np.nan)
            self._set_costs(vertex, vertex in active, result, put)
        for edge in all_edges:
            is_active = edge in edges
            put([edge.phi()], float(is_active))
            put(edge.y, result.GetSolution(edge.xu()) if is_active else 0.0)
            put(edge.z, result.GetSolution(edge.xv()) if is_active else 0.0)
            self._set_costs(edge, is_active, result, put)
        result.add_values(objects(names), values)

    def _set_costs(self, part: Vertex | Edge, is_active: bool, result: MathematicalProgramResult, put: Any) -> None:
        for cost, used, l in part.costs:
            is_counted = is_active and _KIND in used
            put([l], float(np.asarray(result.EvalBinding(cost)).item()) if is_counted else 0.0)
