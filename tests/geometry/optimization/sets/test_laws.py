"""What holds for convex sets of every class."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from merganser.framework.optimization import MathematicalProgram, Solve
from merganser.geometry.optimization import Hyperrectangle, Point
from tests.support.random_sets import bounded_sets, unbounded_sets

CASES = [(k, n) for n in (2, 4) for k in range(len(bounded_sets(0, n)))]
OPEN = [(k, n) for n in (2, 3) for k in range(len(unbounded_sets(0, n)))]


def a_set(case):
    k, n = case
    return bounded_sets(k, n)[k]


def greatest(add, n, direction):
    """max direction'x of what `add` says of variables x."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n, "x")
    add(prog, x)
    prog.AddLinearCost(-direction, x)
    result = Solve(prog)
    assert result.is_success(), result.get_solution_result()
    return -result.get_optimal_cost()


@pytest.mark.parametrize("case", CASES)
def test_a_projection_is_the_nearest_point(case):
    """(x - p)'(y - p) <= 0 for the nearest point p to x and all y of the set."""
    s = a_set(case)
    assert not s.IsEmpty() and s.IsBounded()
    inside = s.MaybeGetFeasiblePoint()
    assert s.PointInSet(inside, 1e-6)
    points = 3.0 * np.random.RandomState(case[0]).randn(case[1], 3)
    distances, nearest = s.Projection(points)
    others = np.column_stack((inside, nearest))
    for x, p, distance in zip(points.T, nearest.T, distances):
        assert s.PointInSet(p, 1e-6)
        assert distance == pytest.approx(np.linalg.norm(x - p))
        assert ((x - p) @ (others - p[:, np.newaxis])).max() < 1e-5  # to the square root of a solver's accuracy
    again = s.Projection(nearest)
    np.testing.assert_allclose(again[1], nearest, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_multiples_of_a_set_reach_as_many_times_as_far(case):
    s, n = a_set(case), case[1]
    a = np.random.RandomState(1).randn(n)
    reach = greatest(s.AddPointInSetConstraints, n, a)

    def twice(prog, x):
        t = prog.NewContinuousVariables(1, "t")[0]
        prog.AddBoundingBoxConstraint(2.0, 2.0, [t])
        assert len(s.AddPointInNonnegativeScalingConstraints(prog, x, t)) >= 2

    def affine(prog, x):  # 2 x + b in (t0 - t1 + 0.5) S at t = (1.5, 0.5)
        t = prog.NewContinuousVariables(2, "t")
        prog.AddLinearEqualityConstraint(np.eye(2), [1.5, 0.5], t)
        s.AddPointInNonnegativeScalingConstraints(prog, 2.0 * np.eye(n), np.ones(n), [1.0, -1.0], 0.5, x, t)

    def at_zero(prog, x):
        t = prog.NewContinuousVariables(1, "t")[0]
        prog.AddBoundingBoxConstraint(-1.0, 0.0, [t])
        s.AddPointInNonnegativeScalingConstraints(prog, x, t)

    assert greatest(twice, n, a) == pytest.approx(2.0 * reach, abs=1e-6)
    assert greatest(affine, n, a) == pytest.approx(0.5 * (1.5 * reach - a.sum()), abs=1e-6)
    assert greatest(at_zero, n, a) == pytest.approx(0.0, abs=1e-4)  # a cone without inside costs digits


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == 2])
def test_a_box_around_a_set_touches_it(case):
    s = a_set(case)
    box = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(s)
    assert box.PointInSet(s.MaybeGetFeasiblePoint(), 1e-6)
    assert box.ub()[0] == pytest.approx(greatest(s.AddPointInSetConstraints, case[1], np.eye(2)[0]), abs=1e-6)


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == 2])
def test_copies_are_the_same_sets(case):
    s = a_set(case)
    points = np.random.RandomState(3).randn(2, 4)
    wanted = [s.PointInSet(x) for x in points.T]
    for other in (s.Clone(), copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert type(other) is type(s) and other is not s
        assert [other.PointInSet(x) for x in points.T] == wanted


@pytest.mark.parametrize("case", OPEN)
def test_unbounded_sets_have_no_box(case):
    k, n = case
    s = unbounded_sets(k, n)[k]
    assert not s.IsEmpty() and not s.IsBounded()
    assert s.PointInSet(s.MaybeGetFeasiblePoint(), 1e-6)
    assert Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(s) is None
    assert s.IntersectsWith(Point(s.MaybeGetFeasiblePoint()))
    distances, nearest = s.Projection(np.full((n, 1), 5.0))
    assert s.PointInSet(nearest[:, 0], 1e-6) and distances[0] >= 0.0


@pytest.mark.parametrize("case", [case for case in CASES if case[1] == 2])
def test_a_set_meets_what_is_inside_and_not_what_is_far(case):
    s = a_set(case)
    inside = s.MaybeGetFeasiblePoint()
    assert s.IntersectsWith(Hyperrectangle(inside - 0.1, inside + 0.1))
    assert not s.IntersectsWith(Hyperrectangle(inside + 100.0, inside + 101.0))
