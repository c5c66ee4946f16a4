"""Ways of an arm around boxes, by two trees, and shortcuts."""

from __future__ import annotations

import numpy as np
import pytest
from planar_arm import make_checker, spinning_tip, turned

from merganser.multibody.planning import PlanRrtConnect, ShortcutPath

BOX = (0.9, 0.0, 0.3)
START, GOAL = np.array([0.8, 0.1]), np.array([-0.8, -0.1])


def length(path):
    return np.linalg.norm(np.diff(path, axis=1), axis=0).sum()


def test_a_path_is_found_and_all_of_it_is_free():
    checker = make_checker([BOX])
    assert not checker.CheckEdgeCollisionFree(START, GOAL)
    result = PlanRrtConnect(checker, START, GOAL, seed=3)
    assert result.is_success() and result.num_samples < 2000
    np.testing.assert_array_equal(result.path[:, [0, -1]].T, [START, GOAL])
    assert all(checker.CheckEdgesCollisionFree(list(zip(result.path.T[:-1], result.path.T[1:]))))
    again = PlanRrtConnect(checker, START, GOAL, seed=3)
    np.testing.assert_array_equal(again.path, result.path)
    trajectory = result.trajectory()
    np.testing.assert_allclose(trajectory.value(trajectory.end_time()).ravel(), GOAL)


def test_orientations_are_sampled_and_paths_of_quaternions_take_the_short_way():
    checker = spinning_tip("of a ball")
    bounds = {"lower": [-1.0, 0, 0, 0, 0], "upper": [1.0, 0, 0, 0, 0]}  # those of the quaternion do not matter
    start, goal = turned(checker, 0.8), turned(checker, 2.2, -1.0)
    assert not checker.CheckEdgeCollisionFree(start, goal)
    result = PlanRrtConnect(checker, start, goal, step_size=0.5, seed=1, **bounds)
    assert result.is_success()
    np.testing.assert_array_equal(result.path[:, [0, -1]].T, [start, goal])
    at = checker.plant().GetJointByName("free").position_start()
    np.testing.assert_allclose(np.linalg.norm(result.path[at : at + 4], axis=0), 1.0)
    trajectory = result.trajectory()
    lengths = [np.linalg.norm(trajectory.value(s)[at : at + 4]) for s in np.linspace(0.0, trajectory.end_time(), 200)]
    assert min(lengths) > 0.9
    end = trajectory.value(trajectory.end_time()).ravel()
    assert abs(end[at : at + 4] @ goal[at : at + 4]) == pytest.approx(1.0)


def test_shortcuts_are_free_and_no_longer():
    checker = make_checker([BOX])
    path = PlanRrtConnect(checker, START, GOAL, seed=3).path
    short = ShortcutPath(checker, path, seed=1)
    assert length(short) < length(path)
    np.testing.assert_array_equal(short[:, [0, -1]], path[:, [0, -1]])
    assert all(checker.CheckEdgesCollisionFree(list(zip(short.T[:-1], short.T[1:]))))
    np.testing.assert_array_equal(ShortcutPath(checker, path[:, :2]), path[:, :2])


def test_a_straight_way_needs_no_samples():
    result = PlanRrtConnect(make_checker(), START, GOAL)
    assert result.num_samples == 0
    np.testing.assert_array_equal(result.path.T, [START, GOAL])


def test_an_unreachable_goal_ends_after_the_samples_or_by_the_callback():
    checker = make_checker([(0.9, 0.0, 0.3), (0.45, 0.0, 0.3)])  # a wall from the base outward
    result = PlanRrtConnect(checker, START, GOAL, lower=[-1.0, -0.2], upper=[1.0, 0.2], max_samples=50)
    assert not result.is_success() and result.num_samples == 50
    with pytest.raises(RuntimeError, match="no path was found in 50 samples"):
        result.trajectory()
    calls = []
    given = {"lower": [-1.0, -0.2], "upper": [1.0, 0.2]}
    stopped = PlanRrtConnect(checker, START, GOAL, progress=lambda n: calls.append(n) or n < 5, **given)
    assert stopped.num_samples == 5 and calls == [0, 1, 2, 3, 4, 5]


def test_ends_in_collision_or_out_of_bounds_are_named():
    checker = make_checker([BOX])
    with pytest.raises(ValueError, match=r"the goal is in collision: bodies \['arm::link2'\]"):
        PlanRrtConnect(checker, START, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"the start is out of bounds at positions \['arm_joint1_q'\]"):
        PlanRrtConnect(checker, [4.0, 0.0], GOAL)
    with pytest.raises(ValueError, match="have no bounds to sample between"):
        PlanRrtConnect(checker, START, GOAL, lower=[-np.inf, -1.0])
