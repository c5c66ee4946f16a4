"""Planar paths of lines and arcs."""

import numpy as np
import pytest

from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import (
    PathParameterizedTrajectory,
    PiecewiseConstantCurvatureTrajectory,
    PiecewisePolynomial,
    Polynomial,
)

TANGENT, NORMAL, START = [0.0, 3.0, 0.0], [2.0, 0.0, 0.0], [1.0, 2.0, 3.0]  # lengths do not matter


def path(is_periodic: bool = False) -> PiecewiseConstantCurvatureTrajectory:
    return PiecewiseConstantCurvatureTrajectory(
        [0.0, 1.0, 2.5, 4.0], [0.0, 2.0, -0.7], TANGENT, NORMAL, START, is_periodic
    )


def circle(is_periodic: bool) -> PiecewiseConstantCurvatureTrajectory:
    return PiecewiseConstantCurvatureTrajectory([0.0, np.pi], [2.0], TANGENT, NORMAL, START, is_periodic)


def test_a_line_goes_straight_and_an_arc_is_a_circle_to_the_left_of_the_tangent():
    np.testing.assert_allclose(path().value(0.4).ravel(), [1.0, 2.4, 3.0], atol=1e-15)
    quarter = circle(False).CalcPose(np.pi / 4)  # Fx = Ay, Fy = Az at the start, radius 0.5
    np.testing.assert_allclose(quarter.translation(), [1.0, 2.5, 3.5], atol=1e-15)
    np.testing.assert_allclose(quarter.rotation().matrix()[:, 0], [0, 0, 1], atol=1e-15)


@pytest.mark.parametrize("s", [-0.8, 0.3, 1.0, 1.7, 3.0, 4.0, 5.1])
def test_velocity_and_acceleration_are_rates_of_the_pose(s):
    """With s(t) = s + 0.5 t + t^2: forward differences, which do not cross a break."""
    h, s_dot, s_ddot = 1e-6, 0.5, 2.0

    def at(t):
        return s + s_dot * t + 0.5 * s_ddot * t * t, s_dot + s_ddot * t

    V, later = path().CalcSpatialVelocity(s, s_dot), path().CalcSpatialVelocity(*at(h))
    np.testing.assert_allclose(path().CalcSpatialAcceleration(s, s_dot, s_ddot), (later - V) / h, atol=1e-5)
    X, X_later = path().CalcPose(s), path().CalcPose(at(h)[0])
    np.testing.assert_allclose(V[3:], (X_later.translation() - X.translation()) / h, atol=1e-5)
    spin = np.cross(V[:3], X.rotation().matrix().T).T
    np.testing.assert_allclose(spin, (X_later.rotation().matrix() - X.rotation().matrix()) / h, atol=1e-5)


def test_pose_is_continuous_at_breaks():
    for s in (1.0, 2.5):
        before, after = (path().CalcPose(s + d).GetAsMatrix4() for d in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-8)


def test_a_periodic_path_repeats_and_another_goes_on():
    assert circle(True).is_periodic() and circle(True).IsNearlyPeriodic(1e-12)
    assert not path().IsNearlyPeriodic(1e-3)
    for s in (-1.0, 0.5, 2.0):
        once, thrice = (path(is_periodic=True).CalcPose(s + k * 4.0).GetAsMatrix4() for k in (0, 3))
        np.testing.assert_allclose(once, thrice, atol=1e-12)
    np.testing.assert_allclose(path().value(-2.0).ravel(), [1.0, 0.0, 3.0], atol=1e-15)


@pytest.mark.parametrize("s", [-0.8, 0.3, 1.7, 3.0, 5.1])
def test_a_path_is_a_trajectory_with_derivatives_of_all_orders(s):
    h = 1e-5
    for order in (1, 2, 3, 4):
        after, before = (path().EvalDerivative(s + d, order - 1) for d in (h, -h))
        np.testing.assert_allclose(path().EvalDerivative(s, order), (after - before) / (2.0 * h), atol=1e-8)
    assert path().EvalDerivative(s).tolist() == path().MakeDerivative().value(s).tolist()


def test_a_vehicle_follows_a_path():
    """r(s(t)) with s = t^2 / 2: its velocity is v_AF of the pose."""
    scaling = PiecewisePolynomial([Polynomial([0.0, 0.0, 0.5])], [0.0, 2.0])
    source = TrajectorySource(PathParameterizedTrajectory(path(), scaling), 1)
    context = source.CreateDefaultContext()
    context.SetTime(1.7)
    expected = [*path().value(0.5 * 1.7**2).ravel(), *path().CalcSpatialVelocity(0.5 * 1.7**2, 1.7)[3:]]
    np.testing.assert_allclose(source.get_output_port().Eval(context), expected, atol=1e-14)


def test_sizes():
    assert (path().length(), path().get_number_of_segments(), path().rows(), path().cols()) == (4.0, 3, 3, 1)
    assert path().get_segment_times() == [0.0, 1.0, 2.5, 4.0]
    assert [path().get_segment_index(s) for s in (-1, 0, 1, 3, 9)] == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, 1.0], []), "2 breaks make 1 segments"),
        (([0.5, 1.0], [0.0]), "first break must be 0"),
        (([0.0, 1.0, 1.0], [0.0, 0.0]), "must increase"),
        (([0.0, np.nan], [0.0]), "breaks must be finite"),
        (([0.0, 1.0], [0.0], [0, 0, 0]), "initial_curve_tangent is zero"),
        (([0.0, 1.0], [0.0], [1, 0, 0], [1, 0, 1]), "right angle"),
    ],
)
def test_impossible_paths_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        PiecewiseConstantCurvatureTrajectory(*arguments)


def test_an_empty_path_has_no_pose():
    with pytest.raises(RuntimeError, match="empty"):
        PiecewiseConstantCurvatureTrajectory().CalcPose(0.0)
