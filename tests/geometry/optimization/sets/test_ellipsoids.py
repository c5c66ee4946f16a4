"""Ellipsoids as quadratic forms and as images of balls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.geometry.optimization import AffineBall, Hyperellipsoid, Hyperrectangle, Point, VPolytope


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_both_kinds_are_the_same_set(n):
    r = np.random.RandomState(n)
    ball = AffineBall(r.randn(n, n), r.randn(n))
    form = Hyperellipsoid(ball)
    assert form.CalcVolume() == pytest.approx(ball.CalcVolume())
    u = r.randn(n, 20)
    u /= np.linalg.norm(u, axis=0)
    inside, outside = (ball.center()[:, np.newaxis] + ball.B() @ (scale * u) for scale in (0.999, 1.001))
    taller = Hyperellipsoid(np.vstack((form.A(), 0 * form.A())), ball.center())
    for s in (ball, form, AffineBall(form), AffineBall(taller)):
        assert all(s.PointInSet(x) for x in inside.T) and not any(s.PointInSet(x) for x in outside.T)


def test_volumes_of_balls():
    assert AffineBall.MakeUnitBall(2).CalcVolume() == pytest.approx(math.pi)
    assert Hyperellipsoid.MakeHypersphere(2.0, np.zeros(3)).CalcVolume() == pytest.approx(4 / 3 * math.pi * 8)
    assert AffineBall.MakeAxisAligned([1.0, 0.0], [0.0, 0.0]).CalcVolume() == 0.0
    assert Hyperellipsoid([[1.0, 0.0]], [0.0, 0.0]).CalcVolume() == np.inf
    ellipse = Hyperellipsoid.MakeAxisAligned([1.0, 2.0], [3.0, 4.0])
    assert ellipse.Scale(3.0).CalcVolume() == pytest.approx(6.0 * math.pi)


def test_a_flat_ball_has_only_points_of_its_flat():
    disk = AffineBall(np.diag([1.0, 1.0, 0.0]), [0.0, 0.0, 5.0])
    assert disk.PointInSet([0.6, 0.8, 5.0]) and not disk.PointInSet([0.0, 0.0, 5.001])
    assert AffineBall(np.zeros((2, 2)), [1.0, 2.0]).MaybeGetPoint().tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="rank 2"):
        Hyperellipsoid(disk)
    with pytest.raises(RuntimeError, match="bounded"):
        AffineBall(Hyperellipsoid([[1.0, 0.0]], [0.0, 0.0]))


def test_the_ellipse_around_the_corners_of_a_box():
    """Of a box it is the ellipse of the same axes, sqrt(n) times as large."""
    ellipse = Hyperellipsoid.MinimumVolumeCircumscribedEllipsoid(VPolytope.MakeBox([1, 2], [5, 4]).vertices())
    np.testing.assert_allclose(ellipse.center(), [3.0, 3.0], atol=1e-6)
    np.testing.assert_allclose(ellipse.A(), np.diag([0.5, 1.0]) / math.sqrt(2.0), atol=1e-6)


def test_ellipsoids_around_points_of_a_flat():
    r = np.random.RandomState(0)
    points = r.randn(3, 2) @ r.randn(2, 10) + 100.0
    ball = AffineBall.MinimumVolumeCircumscribedEllipsoid(points)
    assert all(ball.PointInSet(x, 1e-6) for x in points.T) and ball.CalcVolume() == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(RuntimeError, match="span 2 dimensions"):
        Hyperellipsoid.MinimumVolumeCircumscribedEllipsoid(points)
    assert AffineBall.MinimumVolumeCircumscribedEllipsoid([[1.0], [2.0]]).MaybeGetPoint().tolist() == [1.0, 2.0]


def test_a_ball_of_a_segment():
    x_1, x_2 = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 3.0])
    ball = AffineBall.MakeAffineBallFromLineSegment(x_1, x_2, 0.1)
    assert ball.PointInSet(x_1) and ball.PointInSet(x_2) and ball.PointInSet([2.0, 2.0, 3.1])
    assert not ball.PointInSet([2.0, 2.0, 3.11])
    assert ball.CalcVolume() == pytest.approx(4 / 3 * math.pi * 0.01)
    with pytest.raises(RuntimeError, match="apart"):
        AffineBall.MakeAffineBallFromLineSegment(x_1, x_1)


def test_how_far_an_ellipsoid_grows_to_touch():
    ellipse = Hyperellipsoid.MakeAxisAligned([1.0, 2.0], [0.0, 0.0])
    scale, x = ellipse.MinimumUniformScalingToTouch(Hyperrectangle([-1.0, 3.0], [1.0, 5.0]))
    assert scale == pytest.approx(1.5) and np.allclose(x, [0.0, 3.0], atol=1e-5)
    scale, x = ellipse.MinimumUniformScalingToTouch(Hyperrectangle([-1.0, -1.0], [1.0, 1.0]))
    assert scale == pytest.approx(0.0, abs=1e-6)
    assert ellipse.MinimumUniformScalingToTouch(Point([2.0, 0.0]))[0] == pytest.approx(2.0)
    with pytest.raises(RuntimeError, match="not empty"):
        ellipse.MinimumUniformScalingToTouch(VPolytope(np.zeros((2, 0))))


def test_an_ellipsoid_as_a_shape_has_its_points():
    r = np.random.RandomState(1)
    s = Hyperellipsoid(r.randn(3, 3), r.randn(3))
    shape, X_WG = s.ToShapeWithPose()
    tips_W = (X_WG @ np.diag([shape.a(), shape.b(), shape.c()])).T
    for tip in tips_W:
        assert np.linalg.norm(s.A() @ (tip - s.center())) == pytest.approx(1.0)
    box, X_WB = Hyperrectangle([0, 0, 0], [1, 2, 3]).ToShapeWithPose()
    assert box.size().tolist() == [1.0, 2.0, 3.0] and X_WB.translation().tolist() == [0.5, 1.0, 1.5]
    with pytest.raises(RuntimeError, match="no Shape"):
        AffineBall.MakeUnitBall(3).ToShapeWithPose()
