"""Paths from flows: the one that integral flows are, and random walks.

The program of a path that is known: vectors of its vertices, without flows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.evaluators.costs import L1NormCost, LInfNormCost, PerspectiveQuadraticCost
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.geometry.optimization.graph.parts import Edge, GraphOfConvexSetsOptions, Transcription, Vertex
from merganser.geometry.optimization.graph.perspective import blocks_of_cost, evaluator_of


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
