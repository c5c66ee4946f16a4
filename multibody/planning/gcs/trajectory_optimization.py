"""Trajectories through regions of positions: which regions, and how, as a shortest path in a graph of convex sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import MathematicalProgramResult
from merganser.framework.optimization.arrays import scalar, vector
from merganser.framework.trajectories import BezierCurve, CompositeTrajectory
from merganser.geometry.optimization import (
    CheckIfSatisfiesConvexityRadius,
    ComputePairwiseIntersections,
    ConvexSet,
    GcsGraphvizOptions,
    GraphOfConvexSets,
    GraphOfConvexSetsOptions,
    HPolyhedron,
    Intersection,
    MinkowskiSum,
    Point,
)
from merganser.geometry.optimization.sets.convexity_radius import checked_joints
from merganser.multibody.planning.gcs import subgraph as gcs_subgraph
from merganser.multibody.planning.gcs.parts import Edge, Vertex, checked_order, normalized, unwrapped
from merganser.multibody.planning.gcs.subgraph import EdgesBetweenSubgraphs, Subgraph, added_edges
from merganser.multibody.planning.limits import checked_limits

Array = NDArray[np.float64]


class GcsTrajectoryOptimization:
    """Trajectories of Bezier curves, each in one convex region (Marcucci, Petersen, von Wrangel, Tedrake, Motion
    planning around obstacles with convex optimization, Science Robotics 2023).

    As a Bezier curve stays in the convex hull of its control points, these in a region mean that all of it is.

    Args:
        num_positions: how many positions there are.
        continuous_revolute_joints: places in them of angles without limits, where q and q + 2 pi are the same.

    Raises:
        ValueError: num_positions is less than 1, or a place is there twice or is none.
    """

    Subgraph: TypeAlias = gcs_subgraph.Subgraph
    EdgesBetweenSubgraphs: TypeAlias = gcs_subgraph.EdgesBetweenSubgraphs

    def __init__(self, num_positions: int, continuous_revolute_joints: Sequence[int] = ()) -> None:
        where = "GcsTrajectoryOptimization"
        self._num_positions = checked_size(num_positions, f"{where}: num_positions")
        if self._num_positions < 1:
            raise ValueError(f"{where}: expected num_positions of at least 1, got {num_positions}.")
        self._joints = checked_joints(continuous_revolute_joints, self._num_positions, where)
        self._graph = GraphOfConvexSets()
        self._subgraphs: list[Subgraph] = []
        self._edges: list[EdgesBetweenSubgraphs] = []
        # what is added to all subgraphs, also to those to come: the least order of segments, and what to do
        self._of_subgraphs: list[tuple[int, Callable[[Subgraph], None]]] = []
        self._of_edges: list[tuple[int, Callable[[EdgesBetweenSubgraphs], None]]] = []

    def num_positions(self) -> int:
        """How many positions there are."""
        return self._num_positions

    def continuous_revolute_joints(self) -> list[int]:
        """Places of angles without limits."""
        return list(self._joints)

    def graph_of_convex_sets(self) -> GraphOfConvexSets:
        """The graph: a vertex for each region, whose vector is (p_0, ..., p_n, h) of a segment."""
        return self._graph

    def GetSubgraphs(self) -> list[Subgraph]:
        """All subgraphs."""
        return list(self._subgraphs)

    def GetEdgesBetweenSubgraphs(self) -> list[EdgesBetweenSubgraphs]:
        """All groups of edges between subgraphs."""
        return list(self._edges)

    def GetGraphvizString(
        self, result: MathematicalProgramResult | None = None, options: GcsGraphvizOptions | None = None, **shown: Any
    ) -> str:
        """The graph in the DOT language of Graphviz, with values of a result if there is one.

        Single options can be given by name: show_slacks, show_vars, show_flows, show_costs, scientific, precision.
        """
        return self._graph.GetGraphvizString(result, options, **shown)

    # -- regions and edges ------------------------------------------------------------------------------------------

    def AddRegions(self, regions: Sequence[ConvexSet], *args: Any, **kwargs: Any) -> Subgraph:
        """Adds regions of positions, each with a Bezier curve.

        (regions, order, h_min=1e-6, h_max=20, name=""): with edges between all regions that meet.
        (regions, edges_between_regions, order, h_min=1e-6, h_max=20, name="", edge_offsets=None): with these edges.

        Args:
            regions: convex sets in the space of positions.
            args, kwargs: pairs (i, j) of regions for edges from i to j; the degree of the curves; the least and the
                greatest duration of a segment [s]; a name; and for each edge what is added to points of region i before
                they are compared with those of region j, shape [num_positions].

        Raises:
            ValueError: numbers are out of their ranges, or sizes differ.
            RuntimeError: a region is pi or more wide in an angle without limits.
        """
        where = "GcsTrajectoryOptimization.AddRegions"
        has_edges = "edges_between_regions" in kwargs or (len(args) > 0 and np.ndim(args[0]) > 0) or args[:1] == ([],)
        names = ["order", "h_min", "h_max", "name"]
        names = ["edges_between_regions", *names, "edge_offsets"] if has_edges else names
        given = {**dict(zip(names, args)), **kwargs}
        if len(given) != len(args) + len(kwargs) or not set(given) <= set(names) or "order" not in given:
            raise TypeError(f"{where}: expected (regions, {', '.join(names)}), got {len(args)} and {sorted(kwargs)}.")
        return self._added(list(regions), where, **given)

    def _added(
        self, regions: list[ConvexSet], where: str, order: int, h_min: float = 1e-6, h_max: float = 20.0,
        name: str = "", edges_between_regions: Sequence[tuple[int, int]] | None = None, edge_offsets: Any = None,
    ) -> Subgraph:  # fmt: skip
        degree = checked_size(order, f"{where}: order")
        low, high = scalar(h_min, where, "h_min"), scalar(h_max, where, "h_max")
        if not 0.0 <= low <= high < np.inf:
            raise ValueError(f"{where}: expected 0 <= h_min <= h_max, got {h_min} and {h_max}.")
        self._check_regions(regions, where)
        if edges_between_regions is None:
            pairs: list[tuple[int, int]] = []
            offsets: list[Array] = []
            if len(regions) > 1:
                pairs, offsets = ComputePairwiseIntersections(regions, self._joints)
        else:
            pairs, offsets = self._given_edges(edges_between_regions, edge_offsets, regions, regions, where)
        name = name or f"Subgraph{len(self._subgraphs)}"
        subgraph = Subgraph(self._graph, regions, self._num_positions, degree, low, high, name)
        vertices = subgraph.Vertices()
        added_edges(subgraph, self._graph, [(vertices[i], vertices[j]) for i, j in pairs], offsets)
        self._subgraphs.append(subgraph)
        for least, add in self._of_subgraphs:
            if degree >= least:
                add(subgraph)
        return subgraph

    def _check_regions(self, regions: list[ConvexSet], where: str) -> None:
        if not regions:
            raise ValueError(f"{where}: expected at least one region, got none.")
        for i, region in enumerate(regions):
            if region.ambient_dimension() != self._num_positions:
                raise ValueError(
                    f"{where}: expected regions of dimension {self._num_positions}, got "
                    f"{region.ambient_dimension()} of region {i}."
                )
            if self._joints and not CheckIfSatisfiesConvexityRadius(region, self._joints):
                raise RuntimeError(
                    f"{where}: region {i} is pi or more wide in one of the angles {self._joints}. Make smaller "
                    "pieces of it with PartitionConvexSet."
                )

    def _given_edges(
        self, edges: Iterable[tuple[int, int]], offsets: Any, A: Sequence[ConvexSet], B: Sequence[ConvexSet], where: str
    ) -> tuple[list[tuple[int, int]], list[Array]]:
        pairs = [(int(i), int(j)) for i, j in edges]
        for i, j in pairs:
            if not (0 <= i < len(A) and 0 <= j < len(B)):
                raise ValueError(f"{where}: the edge ({i}, {j}) is none of {len(A)} and {len(B)} regions.")
        if offsets is not None:
            if len(offsets) != len(pairs):
                raise ValueError(f"{where}: expected an offset for each of {len(pairs)} edges, got {len(offsets)}.")
            return pairs, [vector(each, where, "edge_offsets", self._num_positions) for each in offsets]
        if not self._joints:
            return pairs, [np.zeros(self._num_positions)] * len(pairs)
        found = []
        for i, j in pairs:
            meet, moves = ComputePairwiseIntersections([A[i]], [B[j]], self._joints)
            if not meet:
                raise RuntimeError(f"{where}: the regions of the edge ({i}, {j}) do not meet. Give edge_offsets.")
            found.append(moves[0])
        return pairs, found

    def RemoveSubgraph(self, subgraph: Subgraph) -> None:
        """Removes a subgraph and all edges from it and to it.

        Raises:
            RuntimeError: it is not of this object.
        """
        self._require(subgraph, "RemoveSubgraph", "subgraph")
        for vertex in subgraph.Vertices():
            self._graph.RemoveVertex(vertex)
        self._subgraphs.remove(subgraph)
        self._edges = [each for each in self._edges if subgraph not in each.subgraphs]

    def AddEdges(
        self, from_subgraph: Subgraph, to_subgraph: Subgraph, subspace: ConvexSet | None = None,
        edges_between_regions: Sequence[tuple[int, int]] | None = None, edge_offsets: Any = None,
    ) -> EdgesBetweenSubgraphs:  # fmt: skip
        """Adds edges from regions of one subgraph to regions of another.

        Args:
            from_subgraph, to_subgraph: of this object.
            subspace: a Point or an HPolyhedron where segments have to meet; by default anywhere.
            edges_between_regions: pairs (i, j) of regions; by default all that meet, in the subspace.
            edge_offsets: for each of these pairs, what is added to points of region i before they are compared with
                those of region j, shape [num_positions].

        Raises:
            RuntimeError: a subgraph is not of this object, or the subspace is of another kind.
            ValueError: sizes differ.
        """
        where = "GcsTrajectoryOptimization.AddEdges"
        self._require(from_subgraph, "AddEdges", "from_subgraph")
        self._require(to_subgraph, "AddEdges", "to_subgraph")
        if subspace is not None:
            self._check_subspace(subspace, where)
        A, B = from_subgraph.regions(), to_subgraph.regions()
        if edges_between_regions is None:
            pairs, offsets = ComputePairwiseIntersections(A, B, self._joints)
            if subspace is not None:
                kept = [k for k, (i, j) in enumerate(pairs) if _meet_in(A[i], B[j], offsets[k], subspace)]
                pairs, offsets = [pairs[k] for k in kept], [offsets[k] for k in kept]
        else:
            pairs, offsets = self._given_edges(edges_between_regions, edge_offsets, A, B, where)
        edges = EdgesBetweenSubgraphs(from_subgraph, to_subgraph)
        u, v = from_subgraph.Vertices(), to_subgraph.Vertices()
        added_edges(edges, self._graph, [(u[i], v[j]) for i, j in pairs], offsets)
        if subspace is not None:
            edges.add_subspace(subspace)
        self._edges.append(edges)
        for least, add in self._of_edges:
            if min(each.order() for each in edges.subgraphs) >= least:
                add(edges)
        return edges

    def _check_subspace(self, subspace: ConvexSet, where: str) -> None:
        if not isinstance(subspace, (Point, HPolyhedron)):
            raise RuntimeError(
                f"{where}: expected a Point or an HPolyhedron as subspace, got {type(subspace).__name__}. Add it as a "
                "subgraph of order 0, and edges to and from that."
            )
        if subspace.ambient_dimension() != self._num_positions:
            raise ValueError(
                f"{where}: expected a subspace of dimension {self._num_positions}, got {subspace.ambient_dimension()}."
            )

    def _require(self, subgraph: Any, function: str, name: str) -> None:
        if subgraph not in self._subgraphs:
            raise RuntimeError(f"GcsTrajectoryOptimization.{function}: {name} is not a subgraph of this object.")

    # -- costs and constraints of all subgraphs ---------------------------------------------------------------------

    def _everywhere(
        self,
        least: int,
        add: Callable[[Subgraph], None],
        to_edges: Callable[[EdgesBetweenSubgraphs], None] | None = None,
    ) -> None:
        """Adds something to all subgraphs whose segments have some order at least, now and later; so for edges."""
        self._of_subgraphs.append((least, add))
        for subgraph in self._subgraphs:
            if subgraph.order() >= least:
                add(subgraph)
        if to_edges is not None:
            self._of_edges.append((least, to_edges))
            for edges in self._edges:
                if min(each.order() for each in edges.subgraphs) >= least:
                    to_edges(edges)

    def AddTimeCost(self, weight: float = 1.0) -> None:
        """Adds Subgraph.AddTimeCost to all subgraphs, also to those that are added later."""
        number = scalar(weight, "GcsTrajectoryOptimization.AddTimeCost", "weight")
        self._everywhere(0, lambda subgraph: subgraph.AddTimeCost(number))

    def AddPathLengthCost(self, weight: Any = 1.0, *, weight_matrix: Any = None) -> None:
        """Adds Subgraph.AddPathLengthCost to all subgraphs, also to those that are added later."""
        W = self._weight(weight if weight_matrix is None else weight_matrix, "AddPathLengthCost")
        self._everywhere(1, lambda subgraph: subgraph.AddPathLengthCost(W))

    def AddPathEnergyCost(self, weight: Any = 1.0, *, weight_matrix: Any = None) -> None:
        """Adds Subgraph.AddPathEnergyCost to all subgraphs, also to those that are added later."""
        W = self._weight(weight if weight_matrix is None else weight_matrix, "AddPathEnergyCost")
        self._everywhere(1, lambda subgraph: subgraph.AddPathEnergyCost(W))

    def _weight(self, weight: Any, function: str) -> Array:
        W = np.array(weight, dtype=np.float64)
        if W.shape not in ((), (self._num_positions, self._num_positions)) or not np.isfinite(W).all():
            raise ValueError(
                f"GcsTrajectoryOptimization.{function}: expected a finite number or a matrix of shape "
                f"{(self._num_positions, self._num_positions)}, got {weight!r}."
            )
        return W

    def AddVelocityBounds(self, lb: Any, ub: Any) -> None:
        """Adds Subgraph.AddVelocityBounds to all subgraphs of an order of at least 1, also to those added later."""
        lower, upper = self._bounds(lb, ub, "AddVelocityBounds")
        self._everywhere(1, lambda subgraph: subgraph.AddVelocityBounds(lower, upper))

    def AddNonlinearDerivativeBounds(self, lb: Any, ub: Any, derivative_order: int) -> None:
        """Adds Subgraph.AddNonlinearDerivativeBounds to all subgraphs of at least this order, now and later.

        Raises:
            RuntimeError: derivative_order is less than 2: AddVelocityBounds is convex.
            ValueError: bounds have another size, or cross.
        """
        where = "GcsTrajectoryOptimization.AddNonlinearDerivativeBounds"
        lower, upper = self._bounds(lb, ub, "AddNonlinearDerivativeBounds")
        order = checked_order(derivative_order, 2, where, "derivative_order")
        self._everywhere(order, lambda subgraph: subgraph.AddNonlinearDerivativeBounds(lower, upper, order))

    def _bounds(self, lb: Any, ub: Any, function: str) -> tuple[Array, Array]:
        return checked_limits(f"GcsTrajectoryOptimization.{function}", lb, ub, self._num_positions, ("lb", "ub"))

    def AddPathContinuityConstraints(self, continuity_order: int) -> None:
        """Adds AddPathContinuityConstraints to all edges between segments of at least this order, now and later.

        Raises:
            RuntimeError: continuity_order is less than 1.
        """
        where = "GcsTrajectoryOptimization.AddPathContinuityConstraints"
        order = checked_order(continuity_order, 1, where, "continuity_order")
        add: Any = lambda edges: edges.add_path_continuity(order)  # noqa: E731
        self._everywhere(order, add, add)

    def AddContinuityConstraints(self, continuity_order: int) -> None:
        """Adds AddContinuityConstraints to all edges between segments of at least this order, now and later.

        Raises:
            RuntimeError: continuity_order is less than 1.
        """
        where = "GcsTrajectoryOptimization.AddContinuityConstraints"
        order = checked_order(continuity_order, 1, where, "continuity_order")
        add: Any = lambda edges: edges.add_time_continuity(order)  # noqa: E731
        self._everywhere(order, add, add)

    # -- solutions --------------------------------------------------------------------------------------------------

    def SolvePath(
        self, source: Subgraph, target: Subgraph, options: GraphOfConvexSetsOptions | None = None
    ) -> tuple[CompositeTrajectory, MathematicalProgramResult]:
        """Finds a trajectory of least cost from a region of one subgraph to one of another.

        Args:
            source, target: where it begins and ends; in any region, if there are several.
            options: by default the relaxation with preprocessing and 5 rounded paths.

        Returns:
            The trajectory, empty if infeasible, and the result for vertices and edges of the graph.

        Raises:
            RuntimeError: a subgraph is not of this object.
        """
        self._require(source, "SolvePath", "source")
        self._require(target, "SolvePath", "target")
        options = options or GraphOfConvexSetsOptions()
        options = replace(
            options,
            convex_relaxation=True if options.convex_relaxation is None else options.convex_relaxation,
            preprocessing=True if options.preprocessing is None else options.preprocessing,
            max_rounded_paths=5 if options.max_rounded_paths is None else options.max_rounded_paths,
        )
        added: list[Vertex] = []
        ends = [self._end(each, place == 0, added) for place, each in enumerate((source, target))]
        try:
            result = self._graph.SolveShortestPath(ends[0], ends[1], options)
            path: list[Edge] = []
            if result.is_success():
                tolerance = 1.0 if options.convex_relaxation and not options.max_rounded_paths else 1e-3
                path = self._graph.GetSolutionPath(ends[0], ends[1], result, tolerance)
        finally:
            for vertex in added:
                self._graph.RemoveVertex(vertex)
        vertices = [ends[0], *(edge.v() for edge in path)]
        kept = [each for each in vertices if each not in added] if result.is_success() else []
        return self._trajectory(kept, result), result

    def _end(self, subgraph: Subgraph, is_source: bool, added: list[Vertex]) -> Vertex:
        """The vertex of a subgraph, or a new one with edges to or from all of them, and no position."""
        vertices = subgraph.Vertices()
        if len(vertices) == 1:
            return vertices[0]
        end = self._graph.AddVertex(Point(), "source" if is_source else "target")
        added.append(end)
        for vertex in vertices:
            self._graph.AddEdge(*((end, vertex) if is_source else (vertex, end)))
        return end

    def SolveConvexRestriction(
        self, active_vertices: Sequence[Vertex], options: GraphOfConvexSetsOptions | None = None
    ) -> tuple[CompositeTrajectory, MathematicalProgramResult]:
        """Finds a trajectory of least cost through vertices in a known order.

        Args:
            active_vertices: at least two, each with one edge to the next.
            options: the solver, and its options.

        Returns:
            The trajectory, empty if infeasible, and the result.

        Raises:
            ValueError: there are less than two vertices.
            RuntimeError: two vertices that follow each other have no edge, or several.
        """
        where = "GcsTrajectoryOptimization.SolveConvexRestriction"
        vertices = list(active_vertices)
        if len(vertices) < 2:
            raise ValueError(f"{where}: expected at least two vertices, got {len(vertices)}.")
        edges = []
        for u, v in itertools.pairwise(vertices):
            found = [edge for edge in u.outgoing_edges() if edge.v() is v]
            if len(found) != 1:
                raise RuntimeError(f"{where}: expected one edge from '{u.name()}' to '{v.name()}', got {len(found)}.")
            edges += found
        result = self._graph.SolveConvexRestriction(edges, options)
        return self._trajectory(vertices if result.is_success() else [], result), result

    def _trajectory(self, vertices: Sequence[Vertex], result: MathematicalProgramResult) -> CompositeTrajectory:
        of_vertex = {vertex: each for each in self._subgraphs for vertex in each.Vertices()}
        segments: list[BezierCurve] = []
        for vertex in vertices:
            subgraph, x = of_vertex[vertex], vertex.GetSolution(result)
            if x is None or subgraph.is_phantom():
                continue
            start = segments[-1].end_time() if segments else 0.0
            points = subgraph.layout().points(x)
            segments.append(BezierCurve(start, start + max(float(x[-1]), 0.0), points))
        return CompositeTrajectory(segments)

    @staticmethod
    def NormalizeSegmentTimes(trajectory: CompositeTrajectory) -> CompositeTrajectory:
        """The path r of a trajectory: each segment lasts one second, from the same start on.

        Raises:
            ValueError: a segment is no BezierCurve.
        """
        return normalized(trajectory)

    @staticmethod
    def UnwrapToContinuousTrajectory(
        gcs_trajectory: CompositeTrajectory,
        continuous_revolute_joints: Sequence[int],
        starting_rounds: Sequence[int] | None = None,
        tol: float = 1e-8,
    ) -> CompositeTrajectory:
        """A trajectory without jumps by multiples of 2 pi from segment to segment.

        Args:
            gcs_trajectory: of BezierCurves.
            continuous_revolute_joints: places of angles without limits in positions.
            starting_rounds: for each of these, the k of 2 pi k <= angle < 2 pi (k + 1) at the start; by default the
                angles at the start are as they are.
            tol: how far a jump may be from a multiple of 2 pi [rad].

        Raises:
            ValueError: a segment is no BezierCurve, sizes differ, or a place is there twice or is none.
            RuntimeError: a jump is not a multiple of 2 pi, or not of such an angle.
        """
        return unwrapped(gcs_trajectory, continuous_revolute_joints, starting_rounds, tol)


def _meet_in(a: ConvexSet, b: ConvexSet, offset: Array, subspace: ConvexSet) -> bool:
    """Whether some point of a set is in the subspace and, moved by an offset, in another set."""
    moved_back = MinkowskiSum(b, Point(-offset)) if offset.any() else b
    return Intersection(a, subspace).IntersectsWith(moved_back)
