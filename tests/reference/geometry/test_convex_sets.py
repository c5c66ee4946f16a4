"""Convex sets are those of pydrake: points, emptiness, bounds, volumes, centers and projections of random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import merganser.framework.optimization as our_programs
import merganser.geometry.optimization as ours
from merganser.drake.addresses import NAMES

drake: Any = pytest.importorskip("pydrake.geometry.optimization")
drake_programs: Any = pytest.importorskip("pydrake.solvers")
pytestmark = pytest.mark.reference

Make = Callable[[Any, Any, np.random.RandomState, int], Any]  # of a module, one of programs, numbers, a dimension


def rows(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.HPolyhedron(r.randn(4 * n, n), r.rand(4 * n) + 0.3)


def few_rows(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.HPolyhedron(r.randn(n, n), r.randn(n))


def no_point(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    a = r.randn(n)
    return sets.HPolyhedron(np.vstack((a, -a, r.randn(2 * n, n))), np.concatenate(([-1.0, 0.5], r.rand(2 * n))))


def vertices(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.VPolytope(r.randn(n, 4 * n))


def flat_vertices(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.VPolytope(r.randn(n, n - 1) @ r.randn(n - 1, 3 * n))


def ellipsoid(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.Hyperellipsoid(r.randn(n, n), r.randn(n))


def tube(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.Hyperellipsoid(r.randn(n - 1, n), r.randn(n))


def ball(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.AffineBall(r.randn(n, n), r.randn(n))


def box(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    low = r.randn(n)
    return sets.Hyperrectangle(low, low + r.rand(n))


def flat(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.AffineSubspace(r.randn(n, n - 1), r.randn(n))


def product(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.CartesianProduct([box(sets, programs, r, 1), ellipsoid(sets, programs, r, n - 1)])


def mapped_product(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    # around 0: of a product that no A x + b meets, pydrake says that it is not empty
    parts = [sets.Hyperrectangle([-0.5], [0.5]), sets.Hyperellipsoid.MakeUnitBall(n)]
    return sets.CartesianProduct(parts, r.randn(n + 1, n), 0.1 * r.randn(n + 1))


def intersection(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.Intersection(rows(sets, programs, r, n), sets.Hyperellipsoid.MakeHypersphere(0.8, 0.3 * r.randn(n)))


def total(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.MinkowskiSum(vertices(sets, programs, r, n), sets.Hyperellipsoid.MakeHypersphere(0.5, r.randn(n)))


def hull(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    return sets.ConvexHull([sets.Point(3.0 * r.randn(n)), box(sets, programs, r, n), ball(sets, programs, r, n)])


def spectrahedron(sets: Any, programs: Any, r: np.random.RandomState, n: int) -> Any:
    prog = programs.MathematicalProgram()
    x = prog.NewContinuousVariables(n, "x")
    parts = [0.5 * (F + F.T) for F in r.randn(n, 3, 3)]
    prog.AddLinearMatrixInequalityConstraint([np.eye(3), *parts], x)
    prog.AddBoundingBoxConstraint(-1.0, 1.5, x)
    prog.AddLinearEqualityConstraint(r.randn(1, n), [0.1], x)
    return sets.Spectrahedron(prog)


ALL = [
    rows, few_rows, no_point, vertices, flat_vertices, ellipsoid, tube, ball, box, flat, product, mapped_product,
    intersection, total, hull, spectrahedron,
]  # fmt: skip


def both(make: Make, seed: int, n: int) -> tuple[Any, Any]:
    return (
        make(ours, our_programs, np.random.RandomState(seed), n),
        make(drake, drake_programs, np.random.RandomState(seed), n),
    )


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("make", ALL, ids=lambda make: make.__name__)
def test_sets_have_the_same_points(make, n):
    mine, theirs = both(make, 7 * n, n)
    assert mine.ambient_dimension() == theirs.ambient_dimension() == n
    assert mine.IsEmpty() == theirs.IsEmpty()
    assert mine.IsBounded() == theirs.IsBounded()
    points = 1.2 * np.random.RandomState(n).randn(n, 6)
    assert [mine.PointInSet(x, 1e-6) for x in points.T] == [theirs.PointInSet(x, 1e-6) for x in points.T]
    projections = mine.Projection(points), theirs.Projection(points)
    if theirs.IsEmpty():
        assert projections == (None, None)
        return
    np.testing.assert_allclose(projections[0][0], projections[1][0], atol=1e-6)
    # theirs is less exact: the distance is flat around the nearest point
    np.testing.assert_allclose(projections[0][1], projections[1][1], atol=1e-4)
    assert all(theirs.PointInSet(x, 1e-6) for x in projections[0][1].T)
    assert theirs.PointInSet(mine.MaybeGetFeasiblePoint(), 1e-6)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("make", [vertices, flat_vertices, ellipsoid, tube, ball, box, flat, product])
def test_volumes_are_the_same(make, n):
    mine, theirs = both(make, n, n)
    np.testing.assert_allclose(mine.CalcVolume(), theirs.CalcVolume(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_polyhedra_have_the_same_centers_and_neighbors(n):
    mine, theirs = both(rows, n, n)
    other, their_other = both(rows, 100 + n, n)
    np.testing.assert_allclose(mine.ChebyshevCenter(), theirs.ChebyshevCenter(), atol=1e-6)
    inner, their_inner = (each.MaximumVolumeInscribedEllipsoid() for each in (mine, theirs))
    np.testing.assert_allclose(inner.center(), their_inner.center(), atol=1e-4)
    np.testing.assert_allclose(inner.CalcVolume(), their_inner.CalcVolume(), rtol=1e-4)
    assert mine.FindRedundant() == theirs.FindRedundant()
    assert mine.IntersectsWith(other) == theirs.IntersectsWith(their_other)
    assert mine.ContainedIn(other) == theirs.ContainedIn(their_other)
    small, their_small = mine.Scale(1e-3, np.zeros(n)), theirs.Scale(1e-3, np.zeros(n))
    np.testing.assert_allclose(small.b(), their_small.b(), atol=1e-12)
    np.testing.assert_allclose(
        other.PontryaginDifference(small).b(), their_other.PontryaginDifference(their_small).b(), atol=1e-6
    )
    joined = mine.Intersection(other, True), theirs.Intersection(their_other, True)
    np.testing.assert_allclose(joined[0].A(), joined[1].A())
    product = mine.CartesianProduct(other), theirs.CartesianProduct(their_other)
    np.testing.assert_allclose(product[0].A(), product[1].A())


@pytest.mark.parametrize("n", [2, 3])
def test_forms_of_one_polytope_are_the_same(n):
    mine, theirs = both(vertices, n, n)
    least, their_least = mine.GetMinimalRepresentation().vertices(), theirs.GetMinimalRepresentation().vertices()
    if n == 2:  # which have an order
        np.testing.assert_allclose(least, their_least)
    assert {tuple(x) for x in least.T.round(9)} == {tuple(x) for x in their_least.T.round(9)}
    again = ours.VPolytope(ours.HPolyhedron(mine))
    np.testing.assert_allclose(again.CalcVolume(), theirs.CalcVolume(), rtol=1e-9)
    np.testing.assert_allclose(
        ours.VPolytope.MakeBox(np.zeros(n), np.ones(n)).vertices(),
        drake.VPolytope.MakeBox(np.zeros(n), np.ones(n)).vertices(),
    )
    np.testing.assert_array_equal(ours.HPolyhedron.MakeL1Ball(n).A(), drake.HPolyhedron.MakeL1Ball(n).A())


@pytest.mark.parametrize("n", [2, 3])
def test_ellipsoids_around_points_and_that_touch_are_the_same(n):
    points = np.random.RandomState(n).randn(n, 3 * n)
    for kind in ("AffineBall", "Hyperellipsoid"):
        found = [getattr(m, kind).MinimumVolumeCircumscribedEllipsoid(points) for m in (ours, drake)]
        np.testing.assert_allclose(found[0].center(), found[1].center(), atol=1e-4)
        np.testing.assert_allclose(found[0].CalcVolume(), found[1].CalcVolume(), rtol=1e-4)
    mine, theirs = both(ellipsoid, n, n)
    target, their_target = both(box, 50 + n, n)
    scale, x = mine.MinimumUniformScalingToTouch(target)
    their_scale, their_x = theirs.MinimumUniformScalingToTouch(their_target)
    assert scale == pytest.approx(their_scale, abs=1e-6)
    np.testing.assert_allclose(x, their_x, atol=1e-4)


@pytest.mark.parametrize("make", [vertices, flat_vertices, ellipsoid, ball, box, flat, product, rows])
def test_affine_hulls_are_the_same(make):
    mine, theirs = both(make, 3, 3)
    hull, their_hull = ours.AffineSubspace(mine, 1e-9), drake.AffineSubspace(theirs, 1e-9)
    assert hull.AffineDimension() == their_hull.AffineDimension()
    assert hull.ContainedIn(ours.AffineSubspace(their_hull.basis(), their_hull.translation()), 1e-6)


@pytest.mark.parametrize("make", [rows, vertices, ellipsoid, tube, ball, box, flat, total, hull, intersection])
def test_scaled_sets_have_the_same_extreme_points(make):
    """max a'x + t so that x in t S and t <= 2, |x| <= 4."""
    costs = []
    for sets, programs in ((ours, our_programs), (drake, drake_programs)):
        r = np.random.RandomState(5)
        s = make(sets, programs, r, 3)
        prog = programs.MathematicalProgram()
        x, t = prog.NewContinuousVariables(3, "x"), prog.NewContinuousVariables(1, "t")
        s.AddPointInNonnegativeScalingConstraints(prog, x, t[0])
        prog.AddBoundingBoxConstraint(-4.0, 4.0, x)
        prog.AddBoundingBoxConstraint(-2.0, 2.0, t)
        prog.AddLinearCost(np.array([1.0, -2.0, 0.5]), x)
        result = programs.Solve(prog)
        assert result.is_success()
        costs.append(result.get_optimal_cost())
    assert costs[0] == pytest.approx(costs[1], abs=1e-5)


def test_names_are_those_of_pydrake():
    assert set(ours.__all__) <= NAMES["geometry.optimization"]
    for name in ours.__all__:
        if not isinstance(getattr(ours, name), type):
            continue
        public = {each for each in vars(getattr(drake, name)) if not each.startswith("_")}
        missing = public - set(dir(getattr(ours, name))) - {"volume", "rel_accuracy", "num_samples"}
        assert missing == set(), name
