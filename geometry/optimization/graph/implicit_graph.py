"""Graphs of convex sets that grow where they are read."""

from __future__ import annotations

from collections import deque

from merganser.geometry.optimization.graph.graph_of_convex_sets import GraphOfConvexSets
from merganser.geometry.optimization.graph.parts import Edge, Vertex
from merganser.geometry.optimization.sets.arguments import size_of


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
