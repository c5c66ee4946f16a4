"""Trajectories through convex regions of positions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from merganser.framework.trajectories import BezierCurve, CompositeTrajectory, PiecewisePolynomial
from merganser.geometry.optimization import GraphOfConvexSetsOptions, HPolyhedron, Hyperellipsoid, Point, VPolytope
from merganser.multibody.planning import GcsTrajectoryOptimization
from merganser.multibody.planning.gcs.parts import TimeContinuity

box = HPolyhedron.MakeBox
CORNER = [box([0, 0], [1, 3]), box([0, 2], [3, 3])]  # a passage with a corner


def corner(order=3, ends=((0.5, 0.0), (3.0, 2.5))):
    gcs = GcsTrajectoryOptimization(2)
    main = gcs.AddRegions(CORNER, order, name="main")
    start, goal = gcs.AddRegions([Point(ends[0])], 0), gcs.AddRegions([Point(ends[1])], 0, h_min=0.0, h_max=0.0)
    edges = gcs.AddEdges(start, main), gcs.AddEdges(main, goal)
    return gcs, start, main, goal, edges


def test_the_shortest_trajectory_goes_around_the_corner():
    gcs, start, _main, goal, _ = corner()
    gcs.AddPathLengthCost()
    trajectory, result = gcs.SolvePath(start, goal)
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(np.hypot(0.5, 2.0) + np.hypot(2.0, 0.5), rel=1e-5)
    np.testing.assert_allclose(trajectory.value(trajectory.start_time()).ravel(), [0.5, 0.0], atol=1e-5)
    np.testing.assert_allclose(trajectory.value(trajectory.end_time()).ravel(), [3.0, 2.5], atol=1e-5)
    for t in np.linspace(trajectory.start_time(), trajectory.end_time(), 50):
        assert any(region.PointInSet(trajectory.value(t).ravel(), 1e-5) for region in CORNER)
    assert gcs.graph_of_convex_sets().num_vertices() == 4
    assert "main: Region0" in gcs.GetGraphvizString(result)


def test_the_fastest_trajectory_keeps_its_velocity():
    gcs, start, _main, goal, (leave, arrive) = corner()
    gcs.AddTimeCost()
    gcs.AddVelocityBounds([-1.0, -0.5], [1.0, 0.5])
    gcs.AddPathContinuityConstraints(1)
    trajectory, result = gcs.SolvePath(start, goal)
    assert result.is_success() and trajectory.end_time() >= 5.0 - 1e-5  # 2.5 at 0.5
    speeds = [trajectory.EvalDerivative(t).ravel() for t in np.linspace(0.01, trajectory.end_time() - 0.01, 40)]
    assert (np.abs(speeds) <= np.array([1.0, 0.5]) + 1e-4).all()
    leave.AddZeroDerivativeConstraints(1)
    arrive.AddVelocityBounds([-0.1, -0.1], [0.1, 0.1])
    trajectory, result = gcs.SolvePath(start, goal)
    segments = [trajectory.segment(i) for i in range(trajectory.get_number_of_segments())]
    np.testing.assert_allclose(segments[1].EvalDerivative(segments[1].start_time()).ravel(), 0.0, atol=1e-4)
    assert np.abs(segments[-1].EvalDerivative(segments[-1].end_time())).max() <= 0.1 + 1e-4
    path = GcsTrajectoryOptimization.NormalizeSegmentTimes(trajectory)
    assert path.end_time() - path.start_time() == pytest.approx(len(segments))
    for before, after in ((path.segment(i), path.segment(i + 1)) for i in range(1, len(segments) - 1)):
        slopes = before.EvalDerivative(before.end_time()), after.EvalDerivative(after.start_time())
        np.testing.assert_allclose(*slopes, atol=1e-4)


def test_time_derivatives_are_continuous_and_bounded():
    gcs, start, _main, goal, _ = corner(order=4)
    gcs.AddTimeCost()
    gcs.AddPathEnergyCost(0.1)
    gcs.AddVelocityBounds([-1.0, -1.0], [1.0, 1.0])
    gcs.AddContinuityConstraints(1)
    gcs.AddNonlinearDerivativeBounds([-2.0, -2.0], [2.0, 2.0], 2)
    trajectory, result = gcs.SolvePath(start, goal)
    assert result.is_success()
    segments = [trajectory.segment(i) for i in range(1, trajectory.get_number_of_segments())]
    for before, after in itertools.pairwise(segments):
        slopes = before.EvalDerivative(before.end_time()), after.EvalDerivative(after.start_time())
        np.testing.assert_allclose(*slopes, atol=1e-3)
    for segment in segments:
        for t in np.linspace(segment.start_time(), segment.end_time(), 15):
            assert np.abs(segment.EvalDerivative(t, 2)).max() <= 2.0 + 1e-3


def test_accelerations_are_bounded_from_rest_to_rest_through_many_boxes():
    gcs, n = GcsTrajectoryOptimization(2), 5
    places = [[2.0 * i, 1.2 * (i % 2)] for i in range(n)]
    beside = [(i, j) for i in range(n) for j in range(n) if abs(i - j) == 1]
    main = gcs.AddRegions([box(p, np.add(p, [2.4, 2.0])) for p in places], beside, 6, 0.0, 20.0)
    start = gcs.AddRegions([Point([0.2, 0.2])], 0, 0.0, 0.0)
    goal = gcs.AddRegions([Point(np.add(places[-1], [1.8, 1.0]))], 0, 0.0, 0.0)
    for edges in (gcs.AddEdges(start, main), gcs.AddEdges(main, goal)):
        edges.AddVelocityBounds([0.0, 0.0], [0.0, 0.0])
        edges.AddNonlinearDerivativeBounds([0.0, 0.0], [0.0, 0.0], 2)
    for order in (1, 2):
        gcs.AddContinuityConstraints(order)
    gcs.AddVelocityBounds([-3.0, -3.0], [3.0, 3.0])
    gcs.AddNonlinearDerivativeBounds([-10.0, -10.0], [10.0, 10.0], 2)
    gcs.AddTimeCost()
    gcs.AddPathLengthCost()
    options = GraphOfConvexSetsOptions(max_rounding_trials=10, max_rounded_paths=5)
    _, result = gcs.SolvePath(start, goal, options)
    assert result.is_success()
    assert result.get_optimal_cost() == pytest.approx(13.81497, rel=1e-4)  # that of pydrake with SNOPT
    assert result.get_solver_details().iterations < 100


def test_derivatives_of_time_continuity_are_those_of_differences():
    r = np.random.default_rng(0)
    constraint = TimeContinuity(r.normal(size=(2, 7)), r.normal(size=(2, 5)), 2)
    x = r.normal(size=12)
    _, jacobian = constraint._value_and_jacobian(x)
    steps = 1e-6 * np.eye(12)
    differences = np.array([(constraint.Eval(x + d) - constraint.Eval(x - d)) / 2e-6 for d in steps]).T
    np.testing.assert_allclose(jacobian, differences, atol=1e-7)


def test_placeholders_apply_to_all_vertices_and_edges():
    gcs, start, main, goal, (leave, _) = corner(order=2)
    main.AddPathLengthCost(np.diag([1.0, 2.0]))
    main.AddVertexConstraint(main.vertex_duration() >= 0.75)
    main.AddVertexCost(main.vertex_duration() + main.vertex_control_points()[0, 1] * 0.0)
    main.AddEdgeConstraint(main.edge_constituent_vertex_control_points()[0][1, 1] <= 1.2)
    main.AddEdgeCost(3.0 * main.edge_constituent_vertex_durations()[1])
    leave.AddEdgeConstraint(leave.edge_constituent_vertex_durations()[1] <= 5.0)
    _trajectory, result = gcs.SolvePath(start, goal)
    vertices = main.Vertices()
    first, second = (vertex.GetSolution(result) for vertex in vertices)
    assert first[-1] == pytest.approx(0.75, abs=1e-4) and second[-1] == pytest.approx(0.75, abs=1e-4)
    assert first[3] <= 1.2 + 1e-5  # y of the middle control point
    assert main.Edges()[0].GetSolutionCost(result) == pytest.approx(3.0 * 0.75, abs=1e-3)
    for add in (main.AddVertexCost, main.AddEdgeCost):
        with pytest.raises(RuntimeError, match="placeholders"):
            add(vertices[0].x()[0])


def test_several_regions_are_places_to_start_and_end():
    gcs = GcsTrajectoryOptimization(2)
    main = gcs.AddRegions([box([0, 0], [4, 1])], 1)
    starts = gcs.AddRegions([Point([0.0, 0.0]), Point([1.0, 0.5])], 0)
    goals = gcs.AddRegions([Hyperellipsoid.MakeHypersphere(0.5, [4.0, 0.5]), VPolytope([[3, 3], [0, 1]])], 0)
    gcs.AddEdges(starts, main)
    gcs.AddEdges(main, goals)
    gcs.AddPathLengthCost(2.0)
    _, result = gcs.SolvePath(starts, goals)
    assert result.get_optimal_cost() == pytest.approx(4.0, rel=1e-5)  # from (1, 0.5) to x = 3
    assert gcs.graph_of_convex_sets().num_vertices() == 5
    gcs.RemoveSubgraph(goals)
    assert len(gcs.GetSubgraphs()) == 2 and len(gcs.GetEdgesBetweenSubgraphs()) == 1
    assert gcs.graph_of_convex_sets().num_vertices() == 3
    with pytest.raises(RuntimeError, match="target is not a subgraph"):
        gcs.SolvePath(starts, goals)


def test_a_subspace_is_where_segments_meet():
    for subspace, expected in ((Point([2.0, 3.0]), np.hypot(2, 3) * 2), (box([2, 2], [2, 4]), 2 * np.hypot(2, 2))):
        gcs = GcsTrajectoryOptimization(2)
        left, right = gcs.AddRegions([box([0, 0], [2, 4])], 1), gcs.AddRegions([box([2, 0], [4, 4])], 1)
        ends = gcs.AddRegions([Point([0.0, 0.0])], 0), gcs.AddRegions([Point([4.0, 0.0])], 0)
        gcs.AddEdges(ends[0], left)
        gcs.AddEdges(right, ends[1])
        assert len(gcs.AddEdges(left, right, subspace).Edges()) == 1
        gcs.AddPathLengthCost()
        _, result = gcs.SolvePath(*ends)
        assert result.get_optimal_cost() == pytest.approx(expected, rel=1e-5)
        assert gcs.AddEdges(left, right, Point([3.0, 0.0])).Edges() == []
    with pytest.raises(RuntimeError, match="Point or an HPolyhedron"):
        gcs.AddEdges(left, right, Hyperellipsoid.MakeUnitBall(2))


def test_angles_without_limits_are_reached_the_short_way():
    gcs = GcsTrajectoryOptimization(1, [0])
    around = gcs.AddRegions([box([2.0 * i], [2.0 * i + 2.3]) for i in range(3)] + [box([5.9], [7.0])], 1)
    start, goal = gcs.AddRegions([Point([0.4])], 0), gcs.AddRegions([Point([5.95])], 0)
    gcs.AddEdges(start, around, edges_between_regions=[(0, 0)])
    gcs.AddEdges(around, goal, edges_between_regions=[(3, 0)])
    gcs.AddPathLengthCost()
    trajectory, result = gcs.SolvePath(start, goal)
    assert result.get_optimal_cost() == pytest.approx(0.4 + 2 * np.pi - 5.95, abs=1e-5)
    smooth = GcsTrajectoryOptimization.UnwrapToContinuousTrajectory(trajectory, [0], tol=1e-5)
    ends = [smooth.value(t)[0, 0] for t in (smooth.start_time(), smooth.end_time())]
    np.testing.assert_allclose(ends, [0.4, 5.95 - 2 * np.pi], atol=1e-5)
    later = GcsTrajectoryOptimization.UnwrapToContinuousTrajectory(trajectory, [0], [2], 1e-5)
    assert later.value(later.start_time())[0, 0] == pytest.approx(0.4 + 4 * np.pi, abs=1e-5)
    with pytest.raises(RuntimeError, match="PartitionConvexSet"):
        gcs.AddRegions([box([0], [4])], 1)


def test_known_vertices_are_solved_alone():
    gcs, start, main, goal, _ = corner()
    gcs.AddPathLengthCost()
    vertices = [*start.Vertices(), *main.Vertices(), *goal.Vertices()]
    trajectory, result = gcs.SolveConvexRestriction(vertices)
    assert result.get_optimal_cost() == pytest.approx(gcs.SolvePath(start, goal)[1].get_optimal_cost(), rel=1e-5)
    assert trajectory.get_number_of_segments() == 3
    with pytest.raises(RuntimeError, match="expected one edge"):
        gcs.SolveConvexRestriction(vertices[:1] + vertices[2:])
    with pytest.raises(ValueError, match="two vertices"):
        gcs.SolveConvexRestriction(vertices[:1])


def test_what_cannot_be_reached_has_an_empty_trajectory():
    gcs, start, _main, _, _ = corner()
    apart = gcs.AddRegions([box([8, 8], [9, 9])], 1)
    trajectory, result = gcs.SolvePath(start, apart)
    assert not result.is_success() and trajectory.get_number_of_segments() == 0


def test_mistakes_are_reported_where_they_are_made():
    gcs, start, main, goal, (leave, _) = corner()
    options = GraphOfConvexSetsOptions()
    gcs.SolvePath(start, goal, options)
    assert options.convex_relaxation is None  # options stay as they are
    for wrong, match in (
        (lambda: gcs.AddRegions([], 1), "at least one region"),
        (lambda: gcs.AddRegions([box([0], [1])], 1), "dimension 2, got 1"),
        (lambda: gcs.AddRegions(CORNER, [(0, 2)], 1), r"edge \(0, 2\)"),
        (lambda: gcs.AddRegions(CORNER, 1, 2.0, 1.0), "h_min"),
        (lambda: gcs.AddRegions(CORNER, [(0, 1)], 1, edge_offsets=[]), "offset for each"),
        (lambda: main.AddVelocityBounds([0.0], [1.0]), "expected 2 values in lb"),
        (lambda: main.AddVelocityBounds([1.0, 1.0], [0.0, 1.0]), "lb must not be above ub"),
        (lambda: start.AddVelocityBounds([0.0, 0.0], [1.0, 1.0]), "order of at least 1"),
        (lambda: main.AddPathContinuityConstraints(4), "up to the order 3"),
        (lambda: main.AddContinuityConstraints(0), "at least 1"),
        (lambda: main.AddNonlinearDerivativeBounds([0.0] * 2, [1.0] * 2, 1), "at least 2"),
        (lambda: main.AddNonlinearDerivativeBounds([0.0] * 2, [1.0] * 2, 4), "at least 4"),
        (lambda: leave.AddZeroDerivativeConstraints(4), "order 4 at least"),
        (lambda: gcs.AddPathLengthCost(np.eye(3)), "matrix of shape"),
        (lambda: GcsTrajectoryOptimization(0), "at least 1"),
        (lambda: GcsTrajectoryOptimization(2, [2]), "different indices"),
        (lambda: GcsTrajectoryOptimization.NormalizeSegmentTimes(
            CompositeTrajectory([PiecewisePolynomial.FirstOrderHold([0.0, 1.0], [[0.0, 1.0]])])), "BezierCurves"),
    ):  # fmt: skip
        with pytest.raises((ValueError, RuntimeError), match=match):
            wrong()
    jump = CompositeTrajectory([BezierCurve(0, 1, [[0.0, 1.0]]), BezierCurve(1, 2, [[2.0, 3.0]])])
    with pytest.raises(RuntimeError, match="jumps"):
        GcsTrajectoryOptimization.UnwrapToContinuousTrajectory(jump, [0])
