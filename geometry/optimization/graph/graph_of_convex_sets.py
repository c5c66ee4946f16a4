"""Graphs whose vertices are convex sets, shortest paths through them, and graphs that grow where they are read.

Graphs of convex sets in the DOT language of Graphviz.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from merganser.framework.optimization.kinds import SolutionResult
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.program import MathematicalProgram
from merganser.framework.optimization.programs.result import MathematicalProgramResult
from merganser.framework.optimization.solvers.choose import Solve, SolveInParallel
from merganser.framework.optimization.solvers.solver import SolverInterface
from merganser.framework.optimization.solvers.solver_options import SolverOptions
from merganser.geometry.optimization.graph import parts as graph_options
from merganser.geometry.optimization.graph import parts as graph_parts
from merganser.geometry.optimization.graph.parts import (
    Edge,
    EdgeId,
    GcsGraphvizOptions,
    GraphOfConvexSetsOptions,
    Vertex,
    VertexId,
)
from merganser.geometry.optimization.graph.preprocessing import (
    ConvexRestriction,
    followed_path,
    reachable_edges,
    sampled_paths,
    usable_edges,
)
from merganser.geometry.optimization.graph.shortest_path import ShortestPath
from merganser.geometry.optimization.sets.arguments import Array, size_of
from merganser.geometry.optimization.sets.convex_set import ConvexSet


def graphviz_string(
    vertices: Iterable[Vertex], edges: Iterable[Edge], result: MathematicalProgramResult | None,
    options: GcsGraphvizOptions, active_path: Sequence[Edge],
) -> str:  # fmt: skip
    """The graph, with values of a result if there is one; edges of the active path once more, red and dashed."""
    drawing = _Drawing(result, options)
    lines = ["digraph GraphOfConvexSets {", "labelloc=t;"]
    lines += [f'{_key(each)} [label="{drawing.vertex_label(each)}"]' for each in vertices]
    lines += [f'{_ends(each)} [label="{drawing.edge_label(each)}"{drawing.shade(each)}];' for each in edges]
    lines += [
        f'{_ends(each)} [label="{each.name()} = active", color="#ff0000", style="dashed"];' for each in active_path
    ]
    return "\n".join((*lines, "}", ""))


def _key(vertex: Vertex) -> str:
    return f"v{vertex.id().get_value()}"


def _ends(edge: Edge) -> str:
    return f"{_key(edge.u())} -> {_key(edge.v())}"


class _Drawing:
    def __init__(self, result: MathematicalProgramResult | None, options: GcsGraphvizOptions) -> None:
        self._result, self._options = result, options

    def _number(self, value: float) -> str:
        return f"{value:.{self._options.precision}{'e' if self._options.scientific else 'f'}}"

    def _vector(self, values: Array | None) -> str:
        return "" if values is None else f"[{' '.join(map(self._number, values))}]"

    def vertex_label(self, vertex: Vertex) -> str:
        lines = [vertex.name()]
        if self._result is not None:
            x, cost = vertex.GetSolution(self._result), vertex.GetSolutionCost(self._result)
            if self._options.show_vars and x is not None:
                lines.append(f"x = {self._vector(x)}")
            if self._options.show_costs and cost is not None:
                lines.append(f"cost = {self._number(cost)}")
        return "\n".join(lines)

    def edge_label(self, edge: Edge) -> str:
        lines = [edge.name()]
        if self._result is not None:
            cost = edge.GetSolutionCost(self._result)
            if self._options.show_costs and cost is not None:
                lines.append(f"cost = {self._number(cost)}")
            if self._options.show_slacks:
                lines.append(f"ϕ xᵤ = {self._vector(edge.GetSolutionPhiXu(self._result))},")
                lines.append(f"ϕ xᵥ = {self._vector(edge.GetSolutionPhiXv(self._result))}")
            if self._options.show_flows:
                lines.append(f"ϕ = {self._number(self._flow(edge))}")
        return "\n".join(lines)

    def _flow(self, edge: Edge) -> float:
        known = self._result is not None and self._result.has_variable(edge.phi())
        return float(self._result.GetSolution(edge.phi())) if known and self._result is not None else 0.0

    def shade(self, edge: Edge) -> str:
        """A color as dark as there is flow."""
        if self._result is None or not self._options.show_flows:
            return ""
        darkness = round(255 * min(max(self._flow(edge), 0.0), 1.0))
        return f', color="#000000{max(darkness, 16):02X}"'


class GraphOfConvexSets:
    """A directed graph: each vertex has a convex set X_v, each edge costs and constraints of vectors at its ends.

    A path visits vertices, and takes a vector x_v in X_v at each. SolveShortestPath finds the path and the vectors of
    least cost (Marcucci, Umenberger, Parrilo, Tedrake, Shortest paths in graphs of convex sets, 2024).
    """

    VertexId: TypeAlias = graph_parts.VertexId
    EdgeId: TypeAlias = graph_parts.EdgeId
    Vertex: TypeAlias = graph_parts.Vertex
    Edge: TypeAlias = graph_parts.Edge
    Transcription: TypeAlias = graph_options.Transcription

    def __init__(self) -> None:
        self._vertices: dict[Vertex, None] = {}
        self._edges: dict[Edge, None] = {}

    # -- vertices and edges -----------------------------------------------------------------------------------------

    def num_vertices(self) -> int:
        """How many vertices there are."""
        return len(self._vertices)

    def num_edges(self) -> int:
        """How many edges there are."""
        return len(self._edges)

    def Vertices(self) -> list[Vertex]:
        """The vertices, in the order in which they were added."""
        return list(self._vertices)

    def Edges(self) -> list[Edge]:
        """The edges, in the order in which they were added."""
        return list(self._edges)

    def IsValid(self, v: Vertex | None = None, *, e: Edge | None = None) -> bool:
        """Whether a vertex, or an edge, is one of this graph."""
        part: Any = v if e is None else e
        return part in self._vertices or part in self._edges

    def AddVertex(self, set: ConvexSet, name: str = "") -> Vertex:
        """Adds a vertex with a copy of a set.

        Args:
            set: where vectors of the vertex are.
            name: by default "v0", "v1", ...

        Raises:
            TypeError: it is no convex set.
        """
        if not isinstance(set, ConvexSet):
            raise TypeError(f"GraphOfConvexSets.AddVertex: expected a convex set, got {type(set).__name__}.")
        vertex = Vertex(VertexId.get_new_id(), set, name or f"v{len(self._vertices)}")
        self._vertices[vertex] = None
        return vertex

    def AddVertexFromTemplate(self, template_vertex: Vertex) -> Vertex:
        """Adds a vertex with the set, name, costs and constraints of another one, which may be of another graph."""
        vertex = self.AddVertex(template_vertex.set(), template_vertex.name())
        _copy_terms(template_vertex, vertex, dict(zip(template_vertex.x().tolist(), vertex.x().tolist())))
        return vertex

    def AddEdge(self, u: Vertex, v: Vertex, name: str = "") -> Edge:
        """Adds an edge from u to v.

        Args:
            u, v: vertices of this graph.
            name: by default "e0", "e1", ...

        Raises:
            RuntimeError: a vertex is not of this graph.
        """
        self._require_vertex(u, "AddEdge", "u")
        self._require_vertex(v, "AddEdge", "v")
        edge = Edge(EdgeId.get_new_id(), u, v, name or f"e{len(self._edges)}")
        self._edges[edge] = None
        u.outgoing.append(edge)
        v.incoming.append(edge)
        return edge

    def AddEdgeFromTemplate(self, u: Vertex, v: Vertex, template_edge: Edge) -> Edge:
        """Adds an edge from u to v with the name, costs, constraints and fixed phi of another one.

        Raises:
            RuntimeError: a vertex is not of this graph, or has another dimension than that of the other edge.
        """
        sizes = [each.ambient_dimension() for each in (u, v)]
        expected = [each.ambient_dimension() for each in (template_edge.u(), template_edge.v())]
        if sizes != expected:
            raise RuntimeError(
                f"GraphOfConvexSets.AddEdgeFromTemplate: expected vertices of dimensions {expected}, got {sizes}."
            )
        edge = self.AddEdge(u, v, template_edge.name())
        old = [*template_edge.xu(), *template_edge.xv()]
        _copy_terms(template_edge, edge, dict(zip(old, [*edge.xu(), *edge.xv()])))
        edge.fixed_phi = template_edge.fixed_phi
        return edge

    def GetVertexByName(self, name: str) -> Vertex | None:
        """The first vertex of a name, or None."""
        return next((vertex for vertex in self._vertices if vertex.name() == name), None)

    def GetEdgeByName(self, name: str) -> Edge | None:
        """The first edge of a name, or None."""
        return next((edge for edge in self._edges if edge.name() == name), None)

    GetMutableVertexByName = GetVertexByName
    GetMutableEdgeByName = GetEdgeByName

    def RemoveVertex(self, vertex: Vertex) -> None:
        """Removes a vertex and all its edges.

        Raises:
            RuntimeError: it is not of this graph.
        """
        self._require_vertex(vertex, "RemoveVertex", "vertex")
        for edge in dict.fromkeys(vertex.incoming + vertex.outgoing):
            self.RemoveEdge(edge)
        del self._vertices[vertex]

    def RemoveEdge(self, edge: Edge) -> None:
        """Removes an edge.

        Raises:
            RuntimeError: it is not of this graph.
        """
        if edge not in self._edges:
            raise RuntimeError("GraphOfConvexSets.RemoveEdge: the edge is not one of this graph.")
        edge.u().outgoing.remove(edge)
        edge.v().incoming.remove(edge)
        del self._edges[edge]

    def ClearAllPhiConstraints(self) -> None:
        """Forgets what AddPhiConstraint said of all edges."""
        for edge in self._edges:
            edge.ClearPhiConstraints()

    def Clone(self) -> GraphOfConvexSets:
        """A graph with copies of all vertices and edges."""
        clone = GraphOfConvexSets()
        copies = {vertex: clone.AddVertexFromTemplate(vertex) for vertex in self._vertices}
        for edge in self._edges:
            clone.AddEdgeFromTemplate(copies[edge.u()], copies[edge.v()], edge)
        return clone

    __copy__ = Clone

    def _require_vertex(self, vertex: Any, function: str, name: str) -> None:
        if vertex not in self._vertices:
            raise RuntimeError(f"GraphOfConvexSets.{function}: {name} is not a vertex of this graph.")

    # -- shortest paths ---------------------------------------------------------------------------------------------

    def SolveShortestPath(
        self, source: Vertex, target: Vertex, options: GraphOfConvexSetsOptions | None = None
    ) -> MathematicalProgramResult:
        """Finds the path of least cost from one vertex to another, and its vectors.

        Args:
            source: where the path begins; any vector of its set may be taken.
            target: where it ends.
            options: by default a mixed-integer program without preprocessing. With convex_relaxation, a lower bound of
                the cost and flows; with max_rounded_paths as well, the best one of the paths drawn from these.

        Returns:
            Values for Vertex.GetSolution, Edge.GetSolutionPhiXu, GetSolutionCost and so on. If rounding finds no path,
            the result is kIterationLimit.

        Raises:
            RuntimeError: a vertex is not of this graph, or a cost or constraint has no perspective.
        """
        self._require_vertex(source, "SolveShortestPath", "source")
        self._require_vertex(target, "SolveShortestPath", "target")
        options = options or GraphOfConvexSetsOptions()
        is_relaxed, most = bool(options.convex_relaxation), options.max_rounded_paths or 0
        edges = reachable_edges(self._edges, source, target)
        if options.preprocessing:
            solver = options.preprocessing_solver or options.solver
            settings = options.preprocessing_solver_options
            edges = usable_edges(edges, source, target, solver, settings or options.solver_options)
        path = ShortestPath(self._vertices, edges, source, target, is_relaxed)
        result = _solved(path.prog, options.solver, options.solver_options)
        path.complete(result, self._edges)
        if is_relaxed and most > 0 and result.is_success():
            return self._rounded(source, target, result, options)
        return result

    def _rounded(
        self, source: Vertex, target: Vertex, relaxed: MathematicalProgramResult, options: GraphOfConvexSetsOptions
    ) -> MathematicalProgramResult:
        paths = self.SamplePaths(source, target, relaxed, options)
        restrictions = [ConvexRestriction(path) for path in paths]
        solver, settings = _of_restriction(options)
        progs, guesses = [each.prog for each in restrictions], [each.guess(relaxed) for each in restrictions]
        if solver is None:
            results = SolveInParallel(progs, guesses, settings, None, options.parallelism)
        else:
            results = [solver.Solve(prog, guess, settings) for prog, guess in zip(progs, guesses)]
        best = min(
            (i for i, each in enumerate(results) if each.is_success()),
            key=lambda i: results[i].get_optimal_cost(),
            default=None,
        )
        if best is None:
            relaxed.set_solution_result(SolutionResult.kIterationLimit)
            return relaxed
        restrictions[best].complete(results[best], self._vertices, self._edges)
        return results[best]

    def GetSolutionPath(
        self, source: Vertex, target: Vertex, result: MathematicalProgramResult, tolerance: float = 1e-3
    ) -> list[Edge]:
        """The path of a result of SolveShortestPath.

        Args:
            source, target: where it begins and ends.
            result: of SolveShortestPath.
            tolerance: by how much flows of its edges may be less than 1; 1 for any.

        Raises:
            ValueError: the tolerance is negative.
            RuntimeError: the result is no success, or has no such path.
        """
        where = "GraphOfConvexSets.GetSolutionPath"
        self._require_vertex(source, "GetSolutionPath", "source")
        self._require_vertex(target, "GetSolutionPath", "target")
        if not result.is_success():
            raise RuntimeError(
                f"{where}: expected a result that is a success, got {result.get_solution_result().name}."
            )
        if not tolerance >= 0.0:
            raise ValueError(f"{where}: expected a tolerance of at least 0, got {tolerance}.")
        path = followed_path(source, target, self._flows(result), tolerance)
        if path is None:
            raise RuntimeError(
                f"{where}: no path from '{source.name()}' to '{target.name()}' has flows of at least 1 - {tolerance}. "
                "Use rounding (max_rounded_paths) for relaxations that are not tight."
            )
        return path

    def SamplePaths(
        self,
        source: Vertex,
        target: Vertex,
        flows: Mapping[Edge, float] | MathematicalProgramResult | None = None,
        options: GraphOfConvexSetsOptions | None = None,
        *,
        result: MathematicalProgramResult | None = None,
    ) -> list[list[Edge]]:
        """Different paths by random walks that take edges with probabilities in the ratio of flows.

        Args:
            source, target: where they begin and end.
            flows: of edges, 0 for others; or the result of a relaxation.
            options: rounding_seed, max_rounded_paths, max_rounding_trials, flow_tolerance.
            result: in place of flows.

        Returns:
            Paths, max_rounded_paths at most; none if flows lead nowhere.

        Raises:
            RuntimeError: max_rounded_paths is less than 1, or a vertex is not of this graph.
        """
        self._require_vertex(source, "SamplePaths", "source")
        self._require_vertex(target, "SamplePaths", "target")
        options = options or GraphOfConvexSetsOptions()
        most = options.max_rounded_paths or 0
        if most < 1:
            raise RuntimeError(
                "GraphOfConvexSets.SamplePaths: expected options.max_rounded_paths of at least 1, got "
                f"{options.max_rounded_paths}."
            )
        given: Any = flows if result is None else result
        known = self._flows(given) if isinstance(given, MathematicalProgramResult) else dict(given)
        return sampled_paths(source, target, known, options, most)

    def _flows(self, result: MathematicalProgramResult) -> dict[Edge, float]:
        known = [edge for edge in self._edges if result.has_variable(edge.phi())]
        return {edge: float(result.GetSolution(edge.phi())) for edge in known}

    def SolveConvexRestriction(
        self,
        active_edges: Sequence[Edge],
        options: GraphOfConvexSetsOptions | None = None,
        initial_guess: MathematicalProgramResult | None = None,
    ) -> MathematicalProgramResult:
        """Finds vectors of least cost for edges that are known to be active, and their vertices.

        Args:
            active_edges: edges of this graph.
            options: restriction_solver and restriction_solver_options, or else solver and solver_options.
            initial_guess: a result with vectors of all vertices of these edges; for nonlinear programs.

        Returns:
            A result with NaN for vectors of vertices that no edge has.

        Raises:
            RuntimeError: an edge is not of this graph, or initial_guess has no values of a vertex.
        """
        for edge in active_edges:
            if edge not in self._edges:
                raise RuntimeError(f"GraphOfConvexSets.SolveConvexRestriction: '{edge.name()}' is not of this graph.")
        solver, settings = _of_restriction(options or GraphOfConvexSetsOptions())
        restriction = ConvexRestriction(active_edges)
        guess = None if initial_guess is None else restriction.guess(initial_guess)
        result = _solved(restriction.prog, solver, settings, guess)
        restriction.complete(result, self._vertices, self._edges)
        return result

    # -- texts ------------------------------------------------------------------------------------------------------

    def GetGraphvizString(
        self,
        result: MathematicalProgramResult | None = None,
        options: GcsGraphvizOptions | None = None,
        active_path: Sequence[Edge] = (),
        **shown: Any,
    ) -> str:
        """The graph in the DOT language of Graphviz.

        Args:
            result: whose values are shown, if there is one.
            options: what is shown of it.
            active_path: edges to be drawn once more, red and dashed.
            shown: single options by name, in place of options: show_slacks, show_vars, show_flows, show_costs,
                scientific, precision.
        """
        options = replace(options or GcsGraphvizOptions(), **shown)
        return graphviz_string(self._vertices, self._edges, result, options, active_path)


def _copy_terms(source: Vertex | Edge, target: Vertex | Edge, places: dict[Any, Any]) -> None:
    """Costs and constraints of other variables in place of those of a template."""
    for cost, used, _ in source.costs:
        target.AddCost(_moved(cost, places), used)
    for constraint, where in source.constraints:
        target.AddConstraint(_moved(constraint, places), where)


def _moved(binding: Binding, places: dict[Any, Any]) -> Binding:
    return Binding(binding.evaluator(), [places[each] for each in binding.variables().tolist()])


def _of_restriction(options: GraphOfConvexSetsOptions) -> tuple[SolverInterface | None, SolverOptions]:
    settings = options.restriction_solver_options
    return options.restriction_solver or options.solver, options.solver_options if settings is None else settings


def _solved(
    prog: MathematicalProgram, solver: SolverInterface | None, options: SolverOptions, guess: Any = None
) -> MathematicalProgramResult:
    if guess is not None:
        guess = np.asarray(guess, dtype=np.float64)
    return Solve(prog, guess, options) if solver is None else solver.Solve(prog, guess, options)


class ImplicitGraphOfConvexSets:
    """A graph whose vertices and edges are added when they are asked for.

    A subclass defines `Expand(v)`: it adds to mutable_gcs() the edges from v that are not there yet, and their
    vertices. A subclass that defines __init__ calls super().__init__() in it.
    """

    def __init__(self) -> None:
        self._gcs = GraphOfConvexSets()
        self._expanded: set[Vertex] = set()

    def Expand(self, v: Vertex) -> None:
        """Adds the edges from a vertex; called once for each."""
        raise NotImplementedError(f"{type(self).__name__} does not define Expand(v).")

    def Successors(self, v: Vertex) -> list[Edge]:
        """The edges from a vertex, which are added if they are not there yet.

        Raises:
            RuntimeError: the vertex is not of this graph.
        """
        if not self._gcs.IsValid(v):
            raise RuntimeError("ImplicitGraphOfConvexSets.Successors: v is not a vertex of this graph.")
        if v not in self._expanded:
            self.Expand(v)
            self._expanded.add(v)
        return v.outgoing_edges()

    def ExpandRecursively(self, start: Vertex, max_successor_calls: int = 1000) -> None:
        """Asks for successors of a vertex, of these, and so on, nearest first.

        Args:
            start: where to begin.
            max_successor_calls: for how many vertices at most.

        Raises:
            RuntimeError: the vertex is not of this graph.
            ValueError: max_successor_calls is negative.
        """
        calls = size_of(max_successor_calls, "ImplicitGraphOfConvexSets.ExpandRecursively", "max_successor_calls")
        queue, seen = deque([start]), {start}
        while queue and calls > 0:
            calls -= 1
            for edge in self.Successors(queue.popleft()):
                if edge.v() not in seen:
                    seen.add(edge.v())
                    queue.append(edge.v())

    def gcs(self) -> GraphOfConvexSets:
        """The graph as far as it is known."""
        return self._gcs

    mutable_gcs = gcs


class ImplicitGraphOfConvexSetsFromExplicit(ImplicitGraphOfConvexSets):
    """A graph that copies vertices and edges of another one when they are asked for."""

    def __init__(self, gcs: GraphOfConvexSets) -> None:
        """Makes an empty graph; the other one must stay as it is."""
        super().__init__()
        self._explicit = gcs
        self._copies: dict[Vertex, Vertex] = {}
        self._originals: dict[Vertex, Vertex] = {}

    def ImplicitVertexFromExplicit(self, v_explicit: Vertex) -> Vertex:
        """The copy of a vertex, which is added if it is not there yet.

        Raises:
            RuntimeError: the vertex is not of the other graph.
        """
        if not self._explicit.IsValid(v_explicit):
            raise RuntimeError(
                "ImplicitGraphOfConvexSetsFromExplicit.ImplicitVertexFromExplicit: v_explicit is not a vertex of the "
                "explicit graph."
            )
        if v_explicit not in self._copies:
            copy = self.mutable_gcs().AddVertexFromTemplate(v_explicit)
            self._copies[v_explicit], self._originals[copy] = copy, v_explicit
        return self._copies[v_explicit]

    def Expand(self, v: Vertex) -> None:
        """Copies the edges from the vertex that v is a copy of."""
        for edge in self._originals[v].outgoing_edges():
            self.mutable_gcs().AddEdgeFromTemplate(v, self.ImplicitVertexFromExplicit(edge.v()), edge)
