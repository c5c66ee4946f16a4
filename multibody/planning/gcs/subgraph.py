"""Subgraphs of GcsTrajectoryOptimization, and edges between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import (
    Binding,
    L2NormCost,
    LinearConstraint,
    LinearCost,
    LinearEqualityConstraint,
    QuadraticCost,
)
from merganser.framework.optimization.arrays import matrix, scalar
from merganser.geometry.optimization import (
    CartesianProduct,
    ConvexSet,
    GraphOfConvexSets,
    HPolyhedron,
    Hyperrectangle,
    Point,
)
from merganser.multibody.planning.gcs.parts import (
    ALL,
    Edge,
    EdgeTerms,
    Layout,
    Transcription,
    Vertex,
    add_derivative_bounds,
    checked_order,
    matched,
    moved,
    placeholders_of,
)

if TYPE_CHECKING:
    from merganser.framework.symbolic import Variable

Array = NDArray[np.float64]


def added_edges(
    terms: EdgeTerms, graph: GraphOfConvexSets, pairs: Iterable[tuple[Vertex, Vertex]], offsets: Iterable[Array]
) -> list[Edge]:
    """Adds edges on which the end of the first segment, moved by an offset, is the start of the second one."""
    end, start = terms._derivatives_at_edge(0)
    edges = []
    for (u, v), offset in zip(pairs, offsets):
        edge = graph.AddEdge(u, v, f"{u.name()} -> {v.name()}")
        meet = LinearEqualityConstraint(np.hstack((end, -start)), -np.asarray(offset, dtype=np.float64))
        edge.AddConstraint(Binding(meet, np.concatenate((edge.xu(), edge.xv()))))
        edges.append(edge)
    terms._edges += edges
    return edges


class Subgraph(EdgeTerms):
    """Regions of positions, each with a segment of a trajectory; GcsTrajectoryOptimization.AddRegions makes it."""

    def __init__(
        self, graph: GraphOfConvexSets, regions: Sequence[ConvexSet], num_positions: int, order: int, h_min: float,
        h_max: float, name: str,
    ) -> None:  # fmt: skip
        layout = Layout(num_positions, order)
        super().__init__(name, layout, layout)
        self._regions = [region.Clone() for region in regions]
        self._h_max = h_max
        duration = Hyperrectangle([h_min], [h_max])
        self._vertices = [
            graph.AddVertex(CartesianProduct([*[region] * (order + 1), duration]), f"{name}: Region{i}")
            for i, region in enumerate(self._regions)
        ]
        self._points, self._duration, self._placeholders = placeholders_of(layout, "")

    def name(self) -> str:
        """The name."""
        return self._name

    def order(self) -> int:
        """The degree of the Bezier curves."""
        return self._u.order

    def layout(self) -> Layout:
        """Where control points and the duration are in variables of vertices."""
        return self._u

    def size(self) -> int:
        """How many regions there are."""
        return len(self._vertices)

    def is_phantom(self) -> bool:
        """Whether segments are points that last no time."""
        return self._u.order == 0 and self._h_max == 0.0

    def Vertices(self) -> list[Vertex]:
        """The vertices, in the order of the regions."""
        return list(self._vertices)

    def regions(self) -> list[ConvexSet]:
        """The regions of positions."""
        return list(self._regions)

    def vertex_duration(self) -> Variable:
        """A placeholder for the duration of a segment, for AddVertexCost and AddVertexConstraint."""
        return self._duration

    def vertex_control_points(self) -> NDArray[Any]:
        """Placeholders for the control points of a segment, shape [num_positions, order + 1]."""
        return self._points.copy()

    def _add_cost(self, cost: Any) -> None:
        for vertex in self._vertices:
            vertex.AddCost(Binding(cost, vertex.x()))

    def AddTimeCost(self, weight: float = 1.0) -> None:
        """Adds weight times the duration of each segment."""
        slope = np.zeros(self._u.size)
        slope[-1] = scalar(weight, self._where("AddTimeCost"), "weight")
        self._add_cost(LinearCost(slope))

    def AddPathLengthCost(self, weight: Any = 1.0, *, weight_matrix: Any = None) -> None:
        """Adds the sum of |W (p_j+1 - p_j)|, at least the length of the segment; nothing for segments of order 0.

        Args:
            weight: W, shape [num_positions, num_positions], or a number in place of that number times 1.
            weight_matrix: W.

        Raises:
            ValueError: W has another shape.
        """
        for A in self._steps(weight if weight_matrix is None else weight_matrix, "AddPathLengthCost"):
            self._add_cost(L2NormCost(A, np.zeros(A.shape[0])))

    def AddPathEnergyCost(self, weight: Any = 1.0, *, weight_matrix: Any = None) -> None:
        """Adds the sum of |W (p_j+1 - p_j)|^2; nothing for segments of order 0.

        Args:
            weight: W, shape [num_positions, num_positions], or a number in place of that number times 1.
            weight_matrix: W.

        Raises:
            ValueError: W has another shape.
        """
        for A in self._steps(weight if weight_matrix is None else weight_matrix, "AddPathEnergyCost"):
            self._add_cost(QuadraticCost(2.0 * A.T @ A, np.zeros(self._u.size), 0.0))

    def _steps(self, weight: Any, function: str) -> list[Array]:
        """Matrices that make W (p_j+1 - p_j) of x."""
        n = self._u.num_positions
        W = weight * np.eye(n) if np.ndim(weight) == 0 else matrix(weight, self._where(function), "weight_matrix", n, n)
        count = self._u.order + 1
        return [W @ self._u.combined(step) for step in np.diff(np.eye(count), axis=0)]

    def AddVelocityBounds(self, lb: Any, ub: Any) -> None:
        """Adds lb <= qdot <= ub at all times.

        Args:
            lb, ub: shape [num_positions], infinite ones among them.

        Raises:
            RuntimeError: segments are of order 0.
            ValueError: bounds have another size, or cross.
        """
        where = self._where("AddVelocityBounds")
        lower, upper = self._checked_bounds("AddVelocityBounds", lb, ub)
        if self._u.order < 1:
            raise RuntimeError(f"{where}: segments of order 0 have no velocity. Use an order of at least 1.")
        for weights in self._u.differences(1).T:
            constraint = LinearConstraint(*self._u.velocity_rows(weights, lower, upper))
            for vertex in self._vertices:
                vertex.AddConstraint(Binding(constraint, vertex.x()))

    def AddNonlinearDerivativeBounds(self, lb: Any, ub: Any, derivative_order: int) -> None:
        """Adds lb <= q^(k) <= ub at all times.

        This is not convex, and is part of the restriction and the mixed-integer program; the relaxation uses h for
        h^k.

        Args:
            lb, ub: shape [num_positions], infinite ones among them.
            derivative_order: k, at least 2.

        Raises:
            RuntimeError: k is less than 2, or more than the order of segments.
            ValueError: bounds have another size, or cross.
        """
        where = self._where("AddNonlinearDerivativeBounds")
        lower, upper = self._checked_bounds("AddNonlinearDerivativeBounds", lb, ub)
        order = checked_order(derivative_order, 2, where, "derivative_order")
        if order > self._u.order:
            raise RuntimeError(f"{where}: segments are of order {self._u.order}, expected at least {order}.")
        M = self._u.differences(order)
        for vertex in self._vertices:
            add_derivative_bounds(vertex, self._u, vertex.x(), M, lower, upper, order)

    def AddVertexCost(
        self, e: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> None:
        """Adds a cost to every vertex: an expression, or a binding, of placeholders.

        Raises:
            RuntimeError: it has other variables.
        """
        where = self._where("AddVertexCost")
        cost = matched(e if binding is None else binding, self._placeholders, where, True)
        for vertex in self._vertices:
            vertex.AddCost(moved(cost, self._placeholders, vertex.x()), use_in_transcription)

    def AddVertexConstraint(
        self, e: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> None:
        """Adds a constraint to every vertex: a formula, or a binding, of placeholders.

        Raises:
            RuntimeError: it has other variables.
        """
        where = self._where("AddVertexConstraint")
        constraint = matched(e if binding is None else binding, self._placeholders, where, False)
        for vertex in self._vertices:
            vertex.AddConstraint(moved(constraint, self._placeholders, vertex.x()), use_in_transcription)


class EdgesBetweenSubgraphs(EdgeTerms):
    """Edges from regions of one subgraph to regions of another; GcsTrajectoryOptimization.AddEdges makes it."""

    def __init__(self, from_subgraph: Subgraph, to_subgraph: Subgraph) -> None:
        name = f"{from_subgraph.name()} -> {to_subgraph.name()}"
        super().__init__(name, from_subgraph.layout(), to_subgraph.layout())
        self.subgraphs = (from_subgraph, to_subgraph)

    def add_subspace(self, subspace: ConvexSet) -> None:
        """Makes segments meet in a subspace, which is a Point or an HPolyhedron."""
        A = np.hstack((self._derivatives_at_edge(0)[0], np.zeros((self._u.num_positions, self._v.size))))
        if isinstance(subspace, Point):
            self.add_edge_constraint(LinearEqualityConstraint(A, subspace.x()))
        elif isinstance(subspace, HPolyhedron):
            b = subspace.b()
            self.add_edge_constraint(LinearConstraint(subspace.A() @ A, np.full(b.size, -np.inf), b))

    def _sides(self, order: int) -> list[tuple[Layout, Array, bool]]:
        """Layouts of both ends that have a derivative, its weights of control points there, and whether it is u."""
        sides = ((self._u, -1, True), (self._v, 0, False))
        return [(each, each.differences(order)[:, place], is_u) for each, place, is_u in sides if each.order >= order]

    def AddVelocityBounds(self, lb: Any, ub: Any) -> None:
        """Adds lb <= qdot <= ub where segments meet.

        Args:
            lb, ub: shape [num_positions], infinite ones among them.

        Raises:
            RuntimeError: segments of both subgraphs are of order 0.
            ValueError: bounds have another size, or cross.
        """
        lower, upper = self._checked_bounds("AddVelocityBounds", lb, ub)
        for layout, weights, is_u in self._some_sides(1, "AddVelocityBounds"):
            constraint = LinearConstraint(*layout.velocity_rows(weights, lower, upper))
            for edge in self._edges:
                edge.AddConstraint(Binding(constraint, edge.xu() if is_u else edge.xv()))

    def AddNonlinearDerivativeBounds(self, lb: Any, ub: Any, derivative_order: int) -> None:
        """Adds lb <= q^(k) <= ub where segments meet; see Subgraph.AddNonlinearDerivativeBounds.

        Raises:
            RuntimeError: k is less than 2, or more than the order of segments of both subgraphs.
            ValueError: bounds have another size, or cross.
        """
        function = "AddNonlinearDerivativeBounds"
        lower, upper = self._checked_bounds(function, lb, ub)
        order = checked_order(derivative_order, 2, self._where(function), "derivative_order")
        for layout, weights, is_u in self._some_sides(order, function):
            for edge in self._edges:
                x = edge.xu() if is_u else edge.xv()
                add_derivative_bounds(edge, layout, x, weights[:, np.newaxis], lower, upper, order)

    def AddZeroDerivativeConstraints(self, derivative_order: int) -> None:
        """Adds q^(k) = 0 where segments meet, which is r^(k) = 0.

        Args:
            derivative_order: k, at least 1.

        Raises:
            RuntimeError: k is less than 1, or more than the order of segments of both subgraphs.
        """
        function = "AddZeroDerivativeConstraints"
        order = checked_order(derivative_order, 1, self._where(function), "derivative_order")
        for layout, weights, is_u in self._some_sides(order, function):
            constraint = LinearEqualityConstraint(layout.combined(weights), np.zeros(layout.num_positions))
            for edge in self._edges:
                edge.AddConstraint(Binding(constraint, edge.xu() if is_u else edge.xv()))

    def _some_sides(self, order: int, function: str) -> list[tuple[Layout, Array, bool]]:
        sides = self._sides(order)
        if not sides:
            raise RuntimeError(
                f"{self._where(function)}: expected segments of order {order} at least, in one of the subgraphs; they "
                f"are of order {self._u.order} and {self._v.order}."
            )
        return sides
