"""Random sets of each class, made of the numbers of a seed."""

from __future__ import annotations

import numpy as np

from merganser.framework.optimization import MathematicalProgram
from merganser.geometry.optimization import (
    AffineBall,
    AffineSubspace,
    CartesianProduct,
    ConvexHull,
    ConvexSet,
    HPolyhedron,
    Hyperellipsoid,
    Hyperrectangle,
    Intersection,
    MinkowskiSum,
    Point,
    Spectrahedron,
    VPolytope,
)


def polyhedron(r: np.random.RandomState, n: int) -> HPolyhedron:
    """A bounded one around 0."""
    return HPolyhedron(np.vstack((r.randn(2 * n, n), np.eye(n), -np.eye(n))), r.rand(4 * n) + 0.5)


def spectrahedron(r: np.random.RandomState, n: int) -> Spectrahedron:
    prog = MathematicalProgram()
    x = prog.NewContinuousVariables(n, "x")
    parts = [0.5 * (F + F.T) for F in r.randn(n, 3, 3)]
    prog.AddLinearMatrixInequalityConstraint([np.eye(3), *parts], x)
    prog.AddBoundingBoxConstraint(-1.0, 2.0, x)
    prog.AddLinearEqualityConstraint(r.randn(1, n), [0.1], x)
    return Spectrahedron(prog)


def bounded_sets(seed: int, n: int) -> list[ConvexSet]:
    """One of each class, not empty."""
    r = np.random.RandomState(seed)
    box = Hyperrectangle(-r.rand(n), r.rand(n))
    return [
        Point(r.randn(n)),
        box,
        polyhedron(r, n),
        VPolytope(r.randn(n, 3 * n)),
        Hyperellipsoid(r.randn(n, n), r.randn(n)),
        AffineBall(r.randn(n, n), r.randn(n)),
        AffineBall(r.randn(n, n - 1) @ r.randn(n - 1, n), r.randn(n)),
        CartesianProduct([Hyperrectangle([-1.0], [2.0]), Hyperellipsoid(r.randn(n - 1, n - 1), r.randn(n - 1))]),
        CartesianProduct([Hyperrectangle([-1.0], [2.0]), polyhedron(r, n)], r.randn(n + 1, n), 0.1 * r.randn(n + 1)),
        Intersection(polyhedron(r, n), Hyperellipsoid.MakeHypersphere(0.8, 0.2 * r.randn(n))),
        MinkowskiSum(VPolytope(r.randn(n, n + 1)), AffineBall(0.3 * r.randn(n, n), r.randn(n))),
        ConvexHull([Point(3.0 * r.randn(n)), box, Hyperellipsoid(r.randn(n, n), r.randn(n))]),
        spectrahedron(r, n),
    ]


def unbounded_sets(seed: int, n: int) -> list[ConvexSet]:
    """Some with rays, not empty."""
    r = np.random.RandomState(seed)
    half_space = HPolyhedron(r.randn(1, n), r.rand(1))
    tube = Hyperellipsoid(r.randn(n - 1, n), r.randn(n))
    return [
        half_space,
        HPolyhedron(np.zeros((0, n)), np.zeros(0)),
        tube,
        AffineSubspace(r.randn(n, n - 1), r.randn(n)),
        CartesianProduct(HPolyhedron([[1.0]], [2.0]), Hyperellipsoid.MakeUnitBall(n - 1)),
        Intersection(tube, HPolyhedron(np.zeros((1, n)), [1.0])),
        MinkowskiSum(AffineSubspace(r.randn(n, 1), r.randn(n)), Hyperrectangle(-r.rand(n), r.rand(n))),
        ConvexHull([half_space, Point(r.randn(n))]),
    ]
