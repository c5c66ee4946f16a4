"""Common code of subgraphs of GcsTrajectoryOptimization and edges between them: segments that are Bezier curves.

A segment in a region is r(s) = sum_j B_j(s) p_j for s from 0 to 1, and lasts h: q(t) = r(t / h). With P the control
points as columns, those of the k-th derivative of r are P M_k. Variables of its vertex are x = (p_0, ..., p_n, h).

Segments of trajectories through regions: with equal durations, and without jumps by multiples of 2 pi.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.optimization import (
    Binding,
    Constraint,
    LinearConstraint,
    LinearEqualityConstraint,
)
from merganser.framework.optimization.evaluators.evaluators import StackedEvaluator
from merganser.framework.optimization.programs.parsing import parsed_cost, parsed_formulas
from merganser.framework.trajectories import BezierCurve, CompositeTrajectory
from merganser.geometry.optimization import GraphOfConvexSets
from merganser.geometry.optimization.sets.convexity_radius import checked_joints
from merganser.multibody.planning.limits import checked_limits
from merganser.multibody.planning.paths.splines import DerivativeBounds

if TYPE_CHECKING:
    from merganser.framework.symbolic import Variable


Array = NDArray[np.float64]
Objects = NDArray[Any]
Vertex: TypeAlias = GraphOfConvexSets.Vertex
Edge: TypeAlias = GraphOfConvexSets.Edge
Transcription: TypeAlias = GraphOfConvexSets.Transcription
ALL = frozenset(Transcription)
NOT_CONVEX = frozenset({Transcription.kMIP, Transcription.kRestriction})
CONVEX = frozenset({Transcription.kRelaxation})


class Layout:
    """Where control points and the duration are in the variables of a vertex."""

    def __init__(self, num_positions: int, order: int) -> None:
        self.num_positions, self.order = num_positions, order
        self.size = num_positions * (order + 1) + 1

    def differences(self, derivative_order: int) -> Array:
        """M_k, shape [n + 1, n + 1 - k]."""
        curve = BezierCurve(0.0, 1.0, np.zeros((1, self.order + 1)))
        return np.asarray(curve.AsLinearInControlPoints(derivative_order).toarray())

    def combined(self, weights: Array) -> Array:
        """A matrix that makes sum_j weights[j] p_j of x, shape [num_positions, size]."""
        n = self.num_positions
        return np.hstack((np.kron(weights, np.eye(n)), np.zeros((n, 1))))

    def points(self, x: Array) -> Array:
        """Control points in columns, shape [num_positions, n + 1]."""
        return x[:-1].reshape(self.order + 1, self.num_positions).T

    def velocity_rows(self, weights: Array, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
        """lower h <= sum_j weights[j] p_j <= upper h as rows of x; infinite bounds have none."""
        A = self.combined(weights)
        above, below = A.copy(), A.copy()
        above[:, -1], below[:, -1] = (
            -np.where(np.isfinite(lower), lower, 0.0),
            -np.where(np.isfinite(upper), upper, 0.0),
        )
        rows = np.vstack((above[np.isfinite(lower)], below[np.isfinite(upper)]))
        count = int(np.isfinite(lower).sum())
        low = np.concatenate((np.zeros(count), np.full(rows.shape[0] - count, -np.inf)))
        return rows, low, np.where(np.isinf(low), 0.0, np.inf)


class TimeContinuity(StackedEvaluator, Constraint):
    """The k-th time derivatives of two segments are equal where they meet: r_u^(k)(1) h_v^k = r_v^(k)(0) h_u^k.

    The variables are x of the first vertex and x of the second one.

    Args:
        end, start: matrices that make r_u^(k)(1) and r_v^(k)(0) of these, shapes [num_positions, size].
        order: k.
    """

    def __init__(self, end: Array, start: Array, order: int) -> None:
        n = end.shape[0]
        size, name = end.shape[1] + start.shape[1], f"continuity of order {order}"
        Constraint.__init__(self, size, np.zeros(n), np.zeros(n), name)
        self._end, self._start, self._order = end, start, order

    def _stack_key(self) -> Any:
        return TimeContinuity, self._order, self._end.shape, self._end.tobytes(), self._start.tobytes()

    def _stacked(self, x: Array) -> tuple[Array, Array]:
        u, v = np.split(x, [self._end.shape[1]], axis=1)
        k, h_u, h_v = self._order, u[:, -1:], v[:, -1:]
        r_u, r_v = u @ self._end.T, v @ self._start.T
        by_u = self._end * h_v[..., np.newaxis] ** k
        by_v = -self._start * h_u[..., np.newaxis] ** k
        by_u[..., -1] -= k * h_u ** (k - 1) * r_v
        by_v[..., -1] += k * h_v ** (k - 1) * r_u
        return r_u * h_v**k - r_v * h_u**k, np.concatenate((by_u, by_v), axis=2)

    def is_thread_safe(self) -> bool:
        """Yes."""
        return True


def matched(given: Any, placeholders: Objects, where: str, is_cost: bool) -> Binding:
    """A cost or constraint of placeholders, given as an expression, formula or binding.

    Raises:
        RuntimeError: it has other variables.
    """
    binding = given if isinstance(given, Binding) else parsed_cost(given) if is_cost else parsed_formulas(given)
    allowed = set(placeholders.tolist())
    for variable in binding.variables():
        if variable not in allowed:
            raise RuntimeError(f"{where}: {variable} is none of the placeholders of control points and durations.")
    return binding


def moved(binding: Binding, placeholders: Objects, variables: Objects) -> Binding:
    """A binding of variables in place of placeholders."""
    places = dict(zip(placeholders.tolist(), variables.tolist()))
    return Binding(binding.evaluator(), [places[each] for each in binding.variables().tolist()])


def checked_order(value: Any, least: int, where: str, name: str) -> int:
    """A whole number of at least some value.

    Raises:
        RuntimeError: it is less.
    """
    order = checked_size(value, f"{where}: {name}")
    if order < least:
        raise RuntimeError(f"{where}: expected {name} of at least {least}, got {order}.")
    return order


def placeholders_of(layout: Layout, suffix: str) -> tuple[Objects, Variable, Objects]:
    """Placeholders of control points and a duration, and all of them in the order of x."""
    from merganser.framework.symbolic import MakeMatrixContinuousVariable, Variable

    points = MakeMatrixContinuousVariable(layout.num_positions, layout.order + 1, f"x{suffix}")
    duration = Variable(f"t{suffix}")
    return points, duration, np.array([*points.ravel("F"), duration], dtype=object)


class EdgeTerms:
    """Edges from segments of one layout to segments of another, with costs and constraints of all of them."""

    def __init__(self, name: str, u: Layout, v: Layout) -> None:
        self._name, self._u, self._v = name, u, v
        self._edges: list[Edge] = []
        self._points_u, self._duration_u, first = placeholders_of(u, "u")
        self._points_v, self._duration_v, second = placeholders_of(v, "v")
        self._edge_placeholders = np.concatenate((first, second))

    def _where(self, function: str) -> str:
        return f"{self._name}.{function}"

    def Edges(self) -> list[Edge]:
        """The edges of the graph."""
        return list(self._edges)

    def edge_constituent_vertex_durations(self) -> tuple[Variable, Variable]:
        """Placeholders for the durations at both ends of an edge, for AddEdgeCost and AddEdgeConstraint."""
        return self._duration_u, self._duration_v

    def edge_constituent_vertex_control_points(self) -> tuple[Objects, Objects]:
        """Placeholders for control points at both ends of an edge, shapes [num_positions, order + 1]."""
        return self._points_u.copy(), self._points_v.copy()

    def AddEdgeCost(
        self, e: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> None:
        """Adds a cost to every edge: an expression, or a binding, of placeholders.

        Raises:
            RuntimeError: it has other variables.
        """
        where = self._where("AddEdgeCost")
        cost = matched(e if binding is None else binding, self._edge_placeholders, where, True)
        for edge in self._edges:
            edge.AddCost(moved(cost, self._edge_placeholders, _ends(edge)), use_in_transcription)

    def AddEdgeConstraint(
        self, e: Any = None, use_in_transcription: Iterable[Transcription] = ALL, *, binding: Any = None
    ) -> None:
        """Adds a constraint to every edge: a formula, or a binding, of placeholders.

        Raises:
            RuntimeError: it has other variables.
        """
        where = self._where("AddEdgeConstraint")
        constraint = matched(e if binding is None else binding, self._edge_placeholders, where, False)
        for edge in self._edges:
            edge.AddConstraint(moved(constraint, self._edge_placeholders, _ends(edge)), use_in_transcription)

    def add_edge_constraint(self, constraint: Constraint, used: Iterable[Transcription] = ALL) -> None:
        """Adds a constraint of (x_u, x_v) to every edge."""
        for edge in self._edges:
            edge.AddConstraint(Binding(constraint, _ends(edge)), used)

    def add_path_continuity(self, order: int, used: Iterable[Transcription] = ALL) -> None:
        """Adds r_u^(k)(1) = r_v^(k)(0) to every edge."""
        end, start = self._derivatives_at_edge(order)
        self.add_edge_constraint(LinearEqualityConstraint(np.hstack((end, -start)), np.zeros(end.shape[0])), used)

    def add_time_continuity(self, order: int) -> None:
        """Adds q_u^(k) = q_v^(k) to every edge; r_u^(k) = r_v^(k) to the relaxation."""
        self.add_path_continuity(order, CONVEX)
        self.add_edge_constraint(TimeContinuity(*self._derivatives_at_edge(order), order), NOT_CONVEX)

    def _derivatives_at_edge(self, order: int) -> tuple[Array, Array]:
        """The matrices from x_u to r_u^(k)(1), and from x_v to r_v^(k)(0)."""
        end, start = self._u.differences(order)[:, -1], self._v.differences(order)[:, 0]
        return self._u.combined(end), self._v.combined(start)

    def _continuity_order(self, value: Any, function: str) -> int:
        where = self._where(function)
        order = checked_order(value, 1, where, "continuity_order")
        least = min(self._u.order, self._v.order)
        if order > least:
            raise RuntimeError(f"{where}: expected continuity_order up to the order {least} of segments, got {order}.")
        return order

    def AddPathContinuityConstraints(self, continuity_order: int) -> None:
        """Makes derivatives r^(k) by s of two segments equal where they meet.

        As segments last differently long, time derivatives may jump; NormalizeSegmentTimes gives r.

        Args:
            continuity_order: k, at least 1; positions are always continuous.

        Raises:
            RuntimeError: k is less than 1, or more than the order of segments.
        """
        self.add_path_continuity(self._continuity_order(continuity_order, "AddPathContinuityConstraints"))

    def AddContinuityConstraints(self, continuity_order: int) -> None:
        """Makes time derivatives q^(k) of two segments equal where they meet.

        This is not convex; the relaxation uses derivatives by s instead.

        Args:
            continuity_order: k, at least 1; positions are always continuous.

        Raises:
            RuntimeError: k is less than 1, or more than the order of segments.
        """
        self.add_time_continuity(self._continuity_order(continuity_order, "AddContinuityConstraints"))

    def _checked_bounds(self, function: str, lb: Any, ub: Any) -> tuple[Array, Array]:
        return checked_limits(self._where(function), lb, ub, self._u.num_positions, ("lb", "ub"))


def _ends(edge: Edge) -> Objects:
    return np.concatenate((edge.xu(), edge.xv()))


def add_derivative_bounds(
    part: Vertex | Edge, layout: Layout, x: Objects, M: Array, lower: Array, upper: Array, order: int
) -> None:
    """Adds lower <= q^(k) <= upper for the control points P M of r^(k), which is not convex; the relaxation uses h
    for h^k.
    """
    points = layout.points(x)
    for i, (low, high) in enumerate(zip(lower, upper)):
        bounds = DerivativeBounds(M, order, float(low), float(high), f"derivative {order} of position {i}")
        if bounds.num_constraints():
            part.AddConstraint(Binding(bounds, np.concatenate((x[-1:], points[i]))), NOT_CONVEX)
    for weights in M.T:
        rows = layout.velocity_rows(weights, lower, upper)
        part.AddConstraint(Binding(LinearConstraint(*rows), x), CONVEX)


_TWO_PI = 2.0 * np.pi


def _curves(trajectory: CompositeTrajectory, where: str) -> list[BezierCurve]:
    curves = []
    for i in range(trajectory.get_number_of_segments()):
        segment = trajectory.segment(i)
        if not isinstance(segment, BezierCurve):
            raise ValueError(f"{where}: expected segments that are BezierCurves, got {type(segment).__name__} at {i}.")
        curves.append(segment)
    return curves


def normalized(trajectory: CompositeTrajectory) -> CompositeTrajectory:
    """The same curves, each one second long."""
    curves = _curves(trajectory, "GcsTrajectoryOptimization.NormalizeSegmentTimes")
    if not curves:
        return CompositeTrajectory([])
    start = float(trajectory.start_time())
    return CompositeTrajectory(
        [BezierCurve(start + i, start + i + 1.0, curve.control_points()) for i, curve in enumerate(curves)]
    )


def unwrapped(
    trajectory: CompositeTrajectory, joints: Sequence[int], starting_rounds: Sequence[int] | None, tol: float
) -> CompositeTrajectory:
    """The same curves, moved by multiples of 2 pi in some angles so that they are continuous."""
    where = "GcsTrajectoryOptimization.UnwrapToContinuousTrajectory"
    curves = _curves(trajectory, where)
    if not curves:
        return CompositeTrajectory([])
    places = checked_joints(joints, trajectory.rows(), where)
    move: NDArray[Any] = np.zeros(trajectory.rows())
    if starting_rounds is not None:
        if len(starting_rounds) != len(places):
            raise ValueError(f"{where}: expected {len(places)} values in starting_rounds, got {len(starting_rounds)}.")
        first = curves[0].control_points()[places, 0]
        move[places] = _TWO_PI * (np.array(starting_rounds) - np.floor(first / _TWO_PI))
    moved: list[BezierCurve] = []
    for i, curve in enumerate(curves):
        points = curve.control_points()
        if moved:
            move = moved[-1].control_points()[:, -1] - points[:, 0]
            rounds = np.zeros(move.size)
            rounds[places] = np.round(move[places] / _TWO_PI)
            off = np.abs(move - _TWO_PI * rounds)
            if off.max() > tol:
                raise RuntimeError(
                    f"{where}: position {int(off.argmax())} jumps by {-move[off.argmax()]:.6g} before segment {i}, "
                    f"which is not a multiple of 2 pi of an angle in {places}, within tol = {tol}."
                )
            move = _TWO_PI * rounds
        moved.append(BezierCurve(curve.start_time(), curve.end_time(), points + move[:, np.newaxis]))
    return CompositeTrajectory(moved)
