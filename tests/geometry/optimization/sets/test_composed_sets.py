"""Products, intersections, sums, hulls, spectrahedra and estimated volumes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import RandomGenerator
from merganser.framework.optimization import MathematicalProgram
from merganser.geometry.optimization import (
    CartesianProduct,
    ConvexHull,
    HPolyhedron,
    Hyperellipsoid,
    Hyperrectangle,
    Intersection,
    MinkowskiSum,
    Point,
    Spectrahedron,
    VPolytope,
)

DISK = Hyperellipsoid.MakeUnitBall(2)
NOTHING = VPolytope(np.zeros((2, 0)))
RAY = HPolyhedron([[-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [0.0, 0.0, 0.0])  # the positive x axis


def test_the_product_of_a_disk_and_a_segment_is_a_cylinder():
    cylinder = CartesianProduct(DISK, Hyperrectangle([0.0], [2.0]))
    assert cylinder.CalcVolume() == pytest.approx(2.0 * math.pi)
    assert cylinder.PointInSet([0.6, 0.8, 2.0]) and not cylinder.PointInSet([0.6, 0.8, 2.1])
    A = np.diag([2.0, 1.0, 0.5])
    mapped = CartesianProduct([DISK, Hyperrectangle([0.0], [2.0])], A, [0.0, 0.0, 1.0])
    assert mapped.CalcVolume() == pytest.approx(2.0 * math.pi)  # det A = 1
    assert mapped.PointInSet([0.3, 0.8, 2.0]) and not mapped.PointInSet([0.6, 0.8, 2.0])
    halved = CartesianProduct([Hyperrectangle([0, 0], [1, 1])], 2.0 * np.eye(2), np.zeros(2))
    assert halved.CalcVolume() == pytest.approx(0.25)
    with pytest.raises(RuntimeError, match="full column rank"):
        CartesianProduct([DISK], np.ones((2, 2)), np.zeros(2))


def test_products_that_a_flat_does_not_meet_are_empty():
    missed = CartesianProduct([Point([5.0]), DISK], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], np.zeros(3))
    assert missed.IsEmpty() and missed.MaybeGetFeasiblePoint() is None
    assert CartesianProduct(NOTHING, DISK).IsEmpty() and CartesianProduct(NOTHING, DISK).Projection(np.ones(4)) is None
    assert CartesianProduct(Point([1.0]), Point([2.0])).MaybeGetPoint().tolist() == [1.0, 2.0]


def test_disks_that_touch_meet_and_others_do_not():
    assert not Intersection(DISK, Hyperellipsoid.MakeHypersphere(1.0, [1.99, 0.0])).IsEmpty()
    assert Intersection(DISK, Hyperellipsoid.MakeHypersphere(1.0, [2.01, 0.0])).IsEmpty()
    assert Intersection(DISK, Point([0.5, 0.0])).MaybeGetPoint().tolist() == [0.5, 0.0]
    tubes = [Hyperellipsoid(np.eye(3)[rows], np.zeros(3)) for rows in ([0, 1], [1, 2])]
    estimate = Intersection(tubes).CalcVolumeViaSampling(RandomGenerator(1), 0.03)
    assert Intersection(tubes).IsBounded() and estimate.rel_accuracy <= 0.03
    assert estimate.volume == pytest.approx(16.0 / 3.0, rel=0.12)  # four deviations


def test_a_sum_of_a_square_and_a_disk_has_round_corners():
    s = MinkowskiSum(VPolytope.MakeUnitBox(2), DISK)
    edge = 1.0 + math.sqrt(0.5)
    assert s.PointInSet([edge - 1e-4, edge - 1e-4]) and not s.PointInSet([edge + 1e-4, edge + 1e-4])
    assert s.PointInSet([2.0, 1.0], 1e-6) and s.term(1).CalcVolume() == pytest.approx(math.pi) and s.num_terms() == 2
    assert MinkowskiSum(DISK, NOTHING).IsEmpty() and not s.has_exact_volume()
    with pytest.raises(RuntimeError, match="CalcVolumeViaSampling"):
        s.CalcVolume()
    open_end = MinkowskiSum(RAY, DISK)
    assert not open_end.IsBounded() and open_end.PointInSet([100.0, 0.99]) and not open_end.PointInSet([-1.01, 0.0])


def test_a_hull_leaves_out_what_is_empty():
    s = ConvexHull([NOTHING, Point([0.0, 3.0]), DISK])
    assert s.num_elements() == 3 and len(s.participating_sets()) == 2 and s.empty_sets_removed()
    # a tangent from (0, 3) touches the disk at y = 1/3
    x, y = math.sqrt(8.0) / 3.0, 1.0 / 3.0
    assert s.PointInSet([0.5 * x, 0.5 * (y + 3.0)], 1e-6) and not s.PointInSet([0.5 * x + 1e-3, 0.5 * (y + 3.0)])
    assert ConvexHull([NOTHING]).IsEmpty() and not ConvexHull([NOTHING]).IntersectsWith(DISK)
    assert ConvexHull([]).IsEmpty() and ConvexHull([NOTHING]).Projection(np.zeros(2)) is None
    strip = ConvexHull([RAY, Point([0.0, 5.0])])
    assert strip.PointInSet([100.0, 4.9], 1e-6) and not strip.PointInSet([-0.1, 1.0])


def test_positive_semidefinite_matrices_are_a_cone():
    prog = MathematicalProgram()
    X = prog.NewSymmetricContinuousVariables(2)
    prog.AddPositiveSemidefiniteConstraint(X)
    cone = Spectrahedron(prog)
    assert not cone.IsBounded() and cone.PointInSet([1, 0.9, 1]) and not cone.PointInSet([1, 1.1, 1])
    prog.AddLinearEqualityConstraint(X[0, 0] + X[1, 1] == 1)
    disk = Spectrahedron(prog)  # and the first one is as it was
    box = Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(disk)
    np.testing.assert_allclose([box.lb(), box.ub()], [[0, -0.5, 0], [1, 0.5, 1]], atol=1e-6)
    assert cone.PointInSet([2, 0, 2]) and not disk.PointInSet([2, 0, 2])
    prog.AddLorentzConeConstraint(np.array([X[0, 0], X[1, 1]]))
    with pytest.raises(RuntimeError, match="kLorentzConeConstraint"):
        Spectrahedron(prog)


def test_what_has_no_ray_along_x_may_have_no_end_along_x():
    """y >= x^2 as a matrix [[y, x], [x, 1]]."""
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(2)
    F = np.array([[[0, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 0], [0, 0]]], dtype=float)
    prog.AddLinearMatrixInequalityConstraint(list(F), x)
    parabola = Spectrahedron(prog)
    assert not parabola.IsBounded() and Hyperrectangle.MaybeCalcAxisAlignedBoundingBox(parabola) is None


def test_estimates_of_volumes():
    generator = RandomGenerator(3)
    estimate = DISK.CalcVolumeViaSampling(generator, 0.02)
    assert estimate.volume == pytest.approx(math.pi, rel=0.08) and estimate.num_samples < 10_000
    few = DISK.CalcVolumeViaSampling(generator, 0.0, 50)
    assert few.num_samples == 50 and few.rel_accuracy > 0.02
    flat = HPolyhedron.MakeBox([0, 0], [1, 0]).CalcVolumeViaSampling(generator)
    assert flat.volume == 0.0 and math.isnan(flat.rel_accuracy)
    for wrong in (NOTHING, RAY):
        with pytest.raises(RuntimeError, match="bounded and not empty"):
            wrong.CalcVolumeViaSampling(generator)
