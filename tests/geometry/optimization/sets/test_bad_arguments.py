"""What is not a set, and what cannot be asked, is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest

from merganser.framework import RandomGenerator
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
    VPolytope,
)

NAN, INF = np.nan, np.inf
HALF_PLANE = HPolyhedron([[1.0, 0.0]], [1.0])
SQUARE = HPolyhedron.MakeUnitBox(2)
WRONG = [
    (lambda: HPolyhedron([[1.0, 0.0]], [1.0, 2.0]), "HPolyhedron: expected A of shape (2, any), got (1, 2)"),
    (lambda: HPolyhedron([[1.0, NAN]], [1.0]), "HPolyhedron: A[0, 1] is nan"),
    (lambda: HPolyhedron([[1.0, 0.0]], [INF]), "HPolyhedron: b[0] is inf"),
    (lambda: HPolyhedron.MakeBox([0.0], [1.0, 2.0]), "HPolyhedron.MakeBox: expected 1 values in ub, got 2"),
    (lambda: HPolyhedron.MakeUnitBox(-1), "HPolyhedron.MakeUnitBox: expected dim"),
    (lambda: VPolytope([[NAN]]), "VPolytope: vertices[0, 0] is nan"),
    (lambda: Hyperrectangle([1.0], [0.0]), "Hyperrectangle: expected lb <= ub, got 1.0 > 0.0 at index 0"),
    (lambda: Hyperrectangle([0.0], [INF]), "Hyperrectangle: ub[0] is inf"),
    (lambda: Hyperellipsoid(np.eye(2), [0.0]), "Hyperellipsoid: expected A of shape (any, 1), got (2, 2)"),
    (lambda: Hyperellipsoid.MakeAxisAligned([0.0], [0.0]), "expected radii above 0"),
    (lambda: AffineBall(np.ones((1, 2)), [0.0]), "AffineBall: expected B of shape (1, 1), got (1, 2)"),
    (lambda: AffineBall(np.zeros((0, 0)), [0.0]), "AffineBall: expected B of shape (1, 1)"),
    (lambda: AffineBall.MakeHypersphere(-1.0, [0.0]), "expected radii of at least 0"),
    (lambda: AffineSubspace(np.eye(2), [0.0]), "AffineSubspace: expected basis of shape (1, any), got (2, 2)"),
    (lambda: CartesianProduct([SQUARE], np.eye(3), np.zeros(3)), "CartesianProduct: expected A of shape (2, any)"),
    (lambda: Intersection(SQUARE, Point([1.0])), "Intersection: expected sets of one ambient dimension, got [2, 1]"),
    (lambda: MinkowskiSum(SQUARE, Point([1.0])), "MinkowskiSum: expected sets of one ambient dimension"),
    (lambda: ConvexHull([SQUARE, Point([1.0])]), "ConvexHull: expected sets of one ambient dimension"),
    (lambda: SQUARE.PointInSet([0.0]), "HPolyhedron.PointInSet: expected 2 values in x, got 1"),
    (lambda: SQUARE.PointInSet([0.0, NAN]), "HPolyhedron.PointInSet: x has NaN at index 1"),
    (lambda: SQUARE.Projection(np.zeros((3, 1))), "HPolyhedron.Projection: expected points of shape (2, any)"),
    (lambda: SQUARE.Scale(-1.0), "HPolyhedron.Scale: expected scale of at least 0"),
    (lambda: Point([1.0]).set_x([1.0, 2.0]), "Point.set_x: expected 1 values in x, got 2"),
    (lambda: SQUARE.CalcVolumeViaSampling(RandomGenerator(), 2.0), "desired_rel_accuracy from 0 to 1, got 2.0"),
    (lambda: SQUARE.SimplifyByIncrementalFaceTranslation(0.0), "min_volume_ratio is out of its range"),
    (
        lambda: SQUARE.AddPointInSetConstraints(MathematicalProgram(), []),
        "HPolyhedron.AddPointInSetConstraints: expected 2 variables in vars, got 0",
    ),
]
CANNOT = [
    (lambda: SQUARE.IntersectsWith(Point([1.0])), "expected a set of ambient dimension 2, got Point of 1"),
    (lambda: SQUARE.CalcVolume(), "HPolyhedron.CalcVolume"),
    (lambda: Point().CalcVolume(), "Point.CalcVolume: the ambient dimension is 0"),
    (lambda: SQUARE.ToShapeWithPose(), "expected an ambient dimension of 3, got 2"),
    (lambda: VPolytope(HALF_PLANE), "VPolytope: expected H to be bounded"),
    (lambda: HPolyhedron(VPolytope()), "HPolyhedron: an empty VPolytope of dimension 0"),
    (lambda: SQUARE.PontryaginDifference(HALF_PLANE), "expected other to be bounded"),
    (
        lambda: HALF_PLANE.MaximumVolumeInscribedEllipsoid(),
        "expected this polyhedron to be bounded",
    ),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_data_are_refused(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("case", range(len(CANNOT)))
def test_questions_without_an_answer_are_refused(case):
    call, message = CANNOT[case]
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call()


def test_wrong_arguments_are_refused():
    for call in (lambda: HPolyhedron(1.0), lambda: Point(1, 2, 3, 4, 5), lambda: Intersection([1.0]), ConvexSet):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError, match=re.escape("Hyperellipsoid: expected () or (ellipsoid) or")):
        Hyperellipsoid(B=np.eye(2), center=[0.0, 0.0])
