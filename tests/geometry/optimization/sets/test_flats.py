"""Affine subspaces, and those around sets."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.geometry.optimization import (
    AffineBall,
    AffineSubspace,
    CartesianProduct,
    ConvexHull,
    HPolyhedron,
    Hyperellipsoid,
    Hyperrectangle,
    Intersection,
    MinkowskiSum,
    Point,
    VPolytope,
)

R = np.random.RandomState(0)
LINE = VPolytope([[0.0, 1.0], [0.0, 1.0], [2.0, 2.0]])
# sets of three dimensions, and the dimensions of their affine hulls
HULLS = [
    (Point(R.randn(3)), 0),
    (Hyperrectangle([0, 0, 1], [1, 2, 1]), 2),
    (LINE, 1),
    (AffineBall(R.randn(3, 2) @ R.randn(2, 3), R.randn(3)), 2),
    (Hyperellipsoid(R.randn(3, 3), R.randn(3)), 3),
    (AffineSubspace(R.randn(3, 1), R.randn(3)), 1),
    (HPolyhedron.MakeBox([0, 0, 1], [1, 2, 1]), 2),
    (HPolyhedron([[1.0, 1.0, 1.0]], [1.0]), 3),
    (HPolyhedron([[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]], [1.0, -1.0]), 2),
    (Intersection(HPolyhedron.MakeUnitBox(3), AffineSubspace(R.randn(3, 2), np.zeros(3))), 2),
    (CartesianProduct(Point([1.0]), Hyperellipsoid.MakeUnitBall(2)), 2),
    (CartesianProduct([Point([1.0]), Hyperellipsoid.MakeUnitBall(2)], R.randn(3, 3), np.ones(3)), 2),
    (MinkowskiSum(LINE, Hyperrectangle([0, 0, 0], [1, 0, 0])), 2),
    (ConvexHull([LINE, Point([5.0, 0.0, 0.0])]), 2),
]


@pytest.mark.parametrize("case", range(len(HULLS)))
def test_the_affine_hull_of_a_set_has_its_points(case):
    s, dimension = HULLS[case]
    hull = AffineSubspace(s, 1e-9)
    assert hull.AffineDimension() == dimension
    if not isinstance(s, AffineSubspace):  # which keeps its own basis
        np.testing.assert_allclose(hull.basis().T @ hull.basis(), np.eye(dimension), atol=1e-9)
    points = s.Projection(np.random.RandomState(1).randn(3, 4))[1]
    assert all(hull.PointInSet(x, 1e-5) for x in points.T)


def test_coordinates_there_and_back():
    r = np.random.RandomState(2)
    flat = AffineSubspace(r.randn(5, 2), r.randn(5))  # a basis that is not orthonormal
    y = r.randn(2, 4)
    np.testing.assert_allclose(flat.ToLocalCoordinates(flat.ToGlobalCoordinates(y)), y, atol=1e-12)
    x = r.randn(5, 3)
    nearest = flat.ToGlobalCoordinates(flat.ToLocalCoordinates(x))
    np.testing.assert_allclose(flat.Projection(x)[1], nearest, atol=1e-12)
    N = flat.OrthogonalComplementBasis()
    assert N.shape == (5, 3)
    np.testing.assert_allclose(N.T @ flat.basis(), 0.0, atol=1e-12)


def test_flats_in_flats():
    x_axis = AffineSubspace([[1.0], [0.0], [0.0]], [3.0, 0.0, 0.0])
    plane = AffineSubspace(np.eye(3)[:, :2], np.zeros(3))
    assert x_axis.ContainedIn(plane) and not plane.ContainedIn(x_axis)
    assert plane.IsNearlyEqualTo(AffineSubspace([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]], [5.0, 5.0, 0.0]), 1e-12)
    assert not AffineSubspace([[1.0], [0.0], [0.0]], [0.0, 0.0, 1.0]).ContainedIn(plane)
    nothing = AffineSubspace()
    assert nothing.ContainedIn(nothing) and not nothing.ContainedIn(plane) and not plane.IsNearlyEqualTo(nothing)


def test_points_lines_and_the_whole_space():
    point, space = AffineSubspace(np.zeros((3, 0)), [1, 2, 3]), AffineSubspace(np.eye(3), np.zeros(3))
    assert point.MaybeGetPoint().tolist() == [1.0, 2.0, 3.0] and point.IsBounded() and point.CalcVolume() == 0.0
    assert space.CalcVolume() == np.inf and not space.IsBounded() and space.PointInSet([1e9, 0, 0])
    assert space.IntersectsWith(point) and AffineSubspace().ambient_dimension() == 0


def test_what_is_no_flat_is_refused():
    with pytest.raises(ValueError, match="rank 1"):
        AffineSubspace(np.ones((2, 2)), [0.0, 0.0])
    with pytest.raises(RuntimeError, match="not empty"):
        AffineSubspace(VPolytope(np.zeros((2, 0))))
    with pytest.raises(ValueError, match="tol"):
        AffineSubspace(Point([1.0]), -1.0)
