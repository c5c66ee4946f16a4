"""Polyhedra: rows, vertices, centers, samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import RandomGenerator
from merganser.framework.optimization import MathematicalProgram
from merganser.geometry.optimization import AffineSubspace, HPolyhedron, Hyperrectangle, VPolytope
from tests.support.random_sets import polyhedron

EMPTY = HPolyhedron([[1.0, 0.0], [-1.0, 0.0]], [-1.0, -1.0])
CUBE = HPolyhedron.MakeUnitBox(3)


def by_columns(points):
    return sorted(map(tuple, points.T.round(9).tolist()))


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_vertices_of_rows_of_vertices_are_the_vertices(n):
    r = np.random.RandomState(n)
    least = VPolytope(r.randn(n, 4 * n)).GetMinimalRepresentation()
    again = VPolytope(HPolyhedron(least))
    assert by_columns(again.vertices()) == by_columns(least.vertices())
    assert again.CalcVolume() == pytest.approx(least.CalcVolume())


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("m", [0, 1])
def test_flat_polytopes_keep_their_vertices(n, m):
    r = np.random.RandomState(n)
    points = r.randn(n, 1) + r.randn(n, n - m - 1) @ r.randn(n - m - 1, 2 * n)
    rows = HPolyhedron(VPolytope(points))
    assert rows.IsBounded() and not rows.IsEmpty()
    assert AffineSubspace(rows, 1e-9).AffineDimension() == n - m - 1
    least = VPolytope(points).GetMinimalRepresentation(1e-9)
    assert by_columns(VPolytope(rows).vertices()) == by_columns(least.vertices())
    assert VPolytope(rows).CalcVolume() == pytest.approx(0.0, abs=1e-9)


def test_volumes_and_vertices_where_many_faces_meet():
    for n in (2, 3, 4):
        ball = VPolytope(HPolyhedron.MakeL1Ball(n))
        assert ball.vertices().shape == (n, 2 * n)
        assert ball.CalcVolume() == pytest.approx(2**n / math.factorial(n))
        assert VPolytope(HPolyhedron.MakeUnitBox(n)).vertices().shape == (n, 2**n)


def test_a_polygon_goes_round_clockwise():
    r = np.random.RandomState(0)
    x, y = VPolytope(r.randn(2, 30)).GetMinimalRepresentation().vertices()
    assert 0.5 * np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) < 0.0


def test_empty_and_single_points():
    assert EMPTY.IsEmpty() and EMPTY.IsBounded() and EMPTY.Projection(np.zeros(2)) is None
    assert EMPTY.MaybeGetFeasiblePoint() is None and VPolytope(EMPTY).IsEmpty() and EMPTY.ContainedIn(EMPTY)
    assert HPolyhedron(VPolytope(np.zeros((2, 0)))).IsEmpty()
    nothing = VPolytope(np.zeros((2, 0)))
    assert nothing.IsEmpty() and nothing.CalcVolume() == 0.0 and not nothing.PointInSet([0.0, 0.0])
    assert not nothing.IntersectsWith(HPolyhedron.MakeUnitBox(2)) and nothing.Projection(np.zeros((2, 1))) is None
    point = HPolyhedron(VPolytope([[2.0], [3.0]]))
    np.testing.assert_allclose(VPolytope(point).vertices(), [[2.0], [3.0]])


def test_sets_of_dimension_zero():
    assert HPolyhedron().PointInSet([]) and not VPolytope().PointInSet([])
    assert VPolytope().IsEmpty() and not HPolyhedron().IsEmpty() and HPolyhedron().IsBounded()
    assert HPolyhedron().MaybeGetPoint().shape == (0,) and VPolytope().MaybeGetPoint() is None
    distances, points = HPolyhedron().Projection(np.zeros((0, 2)))
    assert distances == [0.0, 0.0] and points.shape == (0, 2)
    with pytest.raises(RuntimeError, match="ambient dimension is 0"):
        HPolyhedron().AddPointInSetConstraints(MathematicalProgram(), [])


def test_a_cube_is_bounded_and_any_open_part_of_it_is_not():
    assert CUBE.IsBounded()
    for i in range(6):
        assert not HPolyhedron(np.delete(CUBE.A(), i, axis=0), np.ones(5)).IsBounded()
    assert not HPolyhedron(np.zeros((0, 2)), []).IsBounded()


def test_a_greatest_ball_touches_faces():
    triangle = HPolyhedron([[-1.0, 0.0], [0.0, -1.0], [3.0, 4.0]], [0.0, 0.0, 12.0])  # sides 3, 4, 5
    np.testing.assert_allclose(triangle.ChebyshevCenter(), [1.0, 1.0], atol=1e-9)
    with pytest.raises(RuntimeError, match="no greatest ball"):
        HPolyhedron([[1.0, 0.0]], [1.0]).ChebyshevCenter()
    ellipse = HPolyhedron.MakeBox([1.0, 2.0], [5.0, 4.0]).MaximumVolumeInscribedEllipsoid()
    np.testing.assert_allclose(ellipse.center(), [3.0, 3.0], atol=1e-6)
    assert ellipse.CalcVolume() == pytest.approx(2.0 * math.pi)
    with pytest.raises(RuntimeError, match="no inside"):
        HPolyhedron.MakeBox([1.0, 2.0], [5.0, 2.0]).MaximumVolumeInscribedEllipsoid()


@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-8])
def test_a_greatest_ellipsoid_of_a_thin_box_has_its_axes(width):
    """In coordinates in which the box is thin, A' A has digits of its narrow sides alone."""
    for angle in np.linspace(0.0, 2.0, 9):
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        thin = HPolyhedron(HPolyhedron.MakeUnitBox(2).A() @ turn.T, [1.0, width, 1.0, width])
        radii = 1.0 / np.linalg.svd(thin.MaximumVolumeInscribedEllipsoid().A(), compute_uv=False)[::-1]
        np.testing.assert_allclose(radii, [1.0, width], rtol=1e-15 / width + 1e-9)


def test_redundant_rows_are_found_and_the_rest_is_the_same_set():
    rows = HPolyhedron([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 1.0]], [1, 2, 1, 1, 1, 5])
    assert rows.FindRedundant() == {0, 5}
    s = polyhedron(np.random.RandomState(0), 4)
    both = s.Intersection(s.Scale(5.0, np.zeros(4)))
    least = both.ReduceInequalities()
    assert least.b().size <= s.b().size and least.ContainedIn(s, 1e-7) and s.ContainedIn(least, 1e-7)
    assert s.Intersection(s.Scale(5.0, np.zeros(4)), check_for_redundancy=True).b().size == s.b().size


def test_scaling_multiplies_the_volume():
    s = polyhedron(np.random.RandomState(2), 3)
    volume = VPolytope(s).CalcVolume()
    assert VPolytope(s.Scale(0.3)).CalcVolume() == pytest.approx(0.3 * volume)
    center = s.ChebyshevCenter()
    np.testing.assert_allclose(VPolytope(s.Scale(0.0)).vertices(), center[:, np.newaxis], atol=1e-7)


def test_differences_of_boxes_are_boxes():
    less = HPolyhedron.MakeBox([-1, -2], [3, 4]).PontryaginDifference(HPolyhedron.MakeBox([-0.5, 0], [0.5, 1]))
    np.testing.assert_allclose(less.b(), [2.5, 3.0, 0.5, 2.0], atol=1e-9)
    assert HPolyhedron.MakeUnitBox(2).PontryaginDifference(HPolyhedron.MakeBox([-3, 0], [3, 0])).IsEmpty()


def test_products_of_boxes_are_boxes():
    box = HPolyhedron.MakeBox([0.0], [1.0])
    assert VPolytope(box.CartesianProduct(box)).CalcVolume() == pytest.approx(1.0)
    assert box.CartesianPower(3).ambient_dimension() == 3 and box.CartesianPower(3).PointInSet([0.1, 0.9, 1.0])
    assert Hyperrectangle([0.0], [1.0]).MakeHPolyhedron().PointInSet([0.5])


def test_samples_fill_a_triangle_evenly_and_stay_in_flats():
    triangle = HPolyhedron([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0])
    generator = RandomGenerator(7)
    x = triangle.UniformSample(generator)
    samples = []
    for _ in range(2000):
        x = triangle.UniformSample(generator, x, 5)
        samples.append(x)
    assert all(triangle.PointInSet(each, 1e-9) for each in samples)
    np.testing.assert_allclose(np.mean(samples, axis=0), [1 / 3, 1 / 3], atol=0.03)  # 4 deviations of 2000 samples
    flat = HPolyhedron.MakeBox([0, 0, 1], [1, 1, 1])
    y = flat.UniformSample(generator, [0.5, 0.5, 1.0], mixing_steps=10, subspace=np.eye(3)[:, :2])
    assert y[2] == 1.0 and not np.allclose(y[:2], 0.5)
    again = [triangle.UniformSample(RandomGenerator(1), mixing_steps=4) for _ in range(2)]
    np.testing.assert_array_equal(*again)
    with pytest.raises(ValueError, match="previous_sample"):
        triangle.UniformSample(generator, [3.0, 0.0])
    with pytest.raises(RuntimeError, match="no end"):
        HPolyhedron([[1.0, 0.0]], [1.0]).UniformSample(generator, [0.0, 0.0])


def test_a_program_of_linear_constraints_is_a_polyhedron():
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2, "x")
    prog.AddLinearConstraint(x[0] + x[1] <= 1)
    prog.AddLinearEqualityConstraint(x[0] - x[1], 0.0)
    prog.AddBoundingBoxConstraint(0.0, np.inf, x)
    s = HPolyhedron(prog)
    assert by_columns(VPolytope(s).vertices()) == [(0.0, 0.0), (0.5, 0.5)]
    prog.AddLorentzConeConstraint(np.array([x[0], x[1]]))
    with pytest.raises(RuntimeError, match="kLorentzCone"):
        HPolyhedron(prog)


def test_the_greatest_stretched_diamond_in_a_box():
    stretched = HPolyhedron.MakeL1Ball(2).MaximumVolumeInscribedAffineTransformation(
        HPolyhedron.MakeBox([1, 2], [5, 4])
    )
    np.testing.assert_allclose(by_columns(VPolytope(stretched).vertices().round(5)), [(1, 3), (3, 2), (3, 4), (5, 3)])


def test_simpler_polyhedra_are_inside_and_keep_what_they_have_to():
    angles = np.linspace(0.0, 2.0 * np.pi, 13)[:-1]
    whole = HPolyhedron(np.column_stack((np.cos(angles), np.sin(angles))), np.ones(12))
    other, point = HPolyhedron.MakeBox([0.8, -0.2], [2.0, 0.2]), whole.ChebyshevCenter()
    simple = whole.SimplifyByIncrementalFaceTranslation(
        0.3, False, points_to_contain=point, intersecting_polytopes=[other], keep_whole_intersection=True
    )
    assert simple.b().size < whole.ReduceInequalities().b().size
    assert simple.ContainedIn(whole, 1e-7) and simple.PointInSet(point)
    assert whole.Intersection(other).ContainedIn(simple, 1e-6)
    assert VPolytope(simple).CalcVolume() >= 0.3 * VPolytope(whole).CalcVolume()
    stretched = whole.SimplifyByIncrementalFaceTranslation(0.1, max_iterations=2, intersecting_polytopes=[other])
    assert stretched.ContainedIn(whole, 1e-5) and stretched.IntersectsWith(other)
    with pytest.raises(RuntimeError, match="column 0"):
        whole.SimplifyByIncrementalFaceTranslation(points_to_contain=[50.0, 0.0])


def test_a_polytope_in_space_is_a_mesh(tmp_path):
    cube = VPolytope.MakeUnitBox(3)
    cube.WriteObj(tmp_path / "cube.obj")
    words = [line.split() for line in (tmp_path / "cube.obj").read_text().splitlines()]
    points = np.array([line[1:] for line in words if line[0] == "v"], dtype=float)
    faces = np.array([line[1:] for line in words if line[0] == "f"], dtype=int) - 1
    volume = sum(np.linalg.det(points[face]) for face in faces) / 6.0  # positive: faces look outwards
    assert points.shape == (8, 3) and volume == pytest.approx(8.0)
    assert cube.ToShapeConvex().GetConvexHull().num_vertices() == 8
    with pytest.raises(RuntimeError, match="ambient dimension of 3"):
        VPolytope.MakeUnitBox(2).ToShapeConvex()


def test_boxes_of_rows_along_axes_are_those_of_programs():
    A = np.array([[2.0, 0.0], [-1.0, 0.0], [0.0, 4.0], [0.0, -0.5], [1.0, 0.0]])
    b = np.array([6.0, 1.0, 8.0, 1.0, 2.5])
    box = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(HPolyhedron(A, b))
    np.testing.assert_array_equal([box.lb(), box.ub()], [[-1.0, -2.0], [2.5, 2.0]])
    turned = np.array([[0.6, 0.8], [-0.8, 0.6]])  # has no rows along axes; its box is found by programs
    around = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(HPolyhedron(A @ turned, b))
    corners = np.array([[x, y] for x in (-1.0, 2.5) for y in (-2.0, 2.0)]) @ turned
    np.testing.assert_allclose([around.lb(), around.ub()], [corners.min(axis=0), corners.max(axis=0)], atol=1e-8)
    assert Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(HPolyhedron(A[:2], b[:2])) is None
    assert Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(HPolyhedron(A, b - 20.0)) is None
