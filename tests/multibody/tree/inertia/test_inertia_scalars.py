"""Mass properties of derivatives and symbols: the same formulas as for floats."""

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RotationMatrix
from merganser.framework.symbolic import Evaluate, Expression, Formula, MakeVectorVariable, Variable
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.tree import (
    RotationalInertia,
    RotationalInertia_,
    SpatialInertia,
    SpatialInertia_,
    UnitInertia,
    UnitInertia_,
)

h = 1e-100  # complex step
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0


def everything(x):
    """Every method that computes and every solid, on 12 positive numbers of any scalar type; a flat array."""
    m, r, L, a, b, c, p, q = *x[:6], x[6:9], x[9:12]
    R = RotationMatrix.MakeZRotation(a)
    solids = [
        SpatialInertia.SolidBoxWithMass(m, a, b, c),
        SpatialInertia.SolidBoxWithDensity(m, a, b, c),
        SpatialInertia.SolidCubeWithDensity(m, a),
        SpatialInertia.SolidSphereWithDensity(m, r),
        SpatialInertia.HollowSphereWithDensity(m, r),
        SpatialInertia.SolidEllipsoidWithDensity(m, a, b, c),
        SpatialInertia.SolidCylinderWithDensityAboutEnd(m, r, L, AXIS),
        SpatialInertia.SolidCapsuleWithDensity(m, r, L, AXIS),
        SpatialInertia.ThinRodWithMassAboutEnd(m, L, AXIS),
        SpatialInertia.PointMass(m, p),
        SpatialInertia.SolidTetrahedronAboutPointWithDensity(m, p, q, x[:3], x[3:6]),
        SpatialInertia.MakeFromCentralInertia(m, p, RotationalInertia(2.0 + a, 2.0 + b, 2.0 + c)),
    ]
    total = SpatialInertia.Zero()
    for solid in solids:
        total += solid.Shift(q).ReExpress(R)
    I = RotationalInertia(3.0 + a, 4.0, 5.0, b, c, 0.1).ShiftToThenAwayFromCenterOfMass(m, p, q)
    G = UnitInertia().SetFromRotationalInertia(I, m).ShiftFromCenterOfMass(p).ShiftToCenterOfMass(p)
    V, A = SpatialVelocity(x[:6]), SpatialAcceleration(x[6:])
    return np.concatenate(
        [total.CopyToFullMatrix6().ravel(), (total * V).get_coeffs(), (total * A).get_coeffs(), I * p]
        + [
            (2.0 * G - I / m).CopyToFullMatrix3().ravel(),
            total.CalcComMoment(),
            [I.Trace(), I[0, 1], total.CalcMinimumPhysicalLength()],
        ]
    )


@pytest.fixture
def x():
    return np.random.default_rng(11).uniform(0.5, 1.5, size=12)


def test_derivatives_are_those_of_the_complex_step(x):
    steps = [everything(x + 1j * h * direction).imag / h for direction in np.eye(12)]
    results = everything(InitializeAutoDiff(x).reshape(12))
    np.testing.assert_allclose(ExtractValue(results).ravel(), everything(x), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ExtractGradient(results), np.transpose(steps), rtol=1e-11, atol=1e-12)


def test_expressions_evaluate_to_the_float_result(x):
    variables = MakeVectorVariable(12, "x")
    expressions = everything(np.array([Expression(v) for v in variables]))
    values = Evaluate(expressions, dict(zip(variables, x))).ravel()
    np.testing.assert_allclose(values, everything(x), rtol=1e-11, atol=1e-12)


def test_values_of_derivatives_are_judged():
    moments = InitializeAutoDiff([1.0, 1.0, 3.0]).ravel()
    with pytest.raises(RuntimeError, match=r"I1 \+ I2 >= I3 fails: 1 \+ 1 < 3"):
        SpatialInertia(1.0, np.zeros(3), UnitInertia(*moments))
    I = RotationalInertia(*moments)
    assert not I.CouldBePhysicallyValid() and not I.IsNaN() and not I.IsZero()
    assert I.IsNearlyEqualTo(I * 1.0001, 1e-3)
    np.testing.assert_array_equal(I.CalcPrincipalMomentsOfInertia(), [1.0, 1.0, 3.0])


def test_what_depends_on_variables_is_not_judged():
    x = Variable("x")
    I = RotationalInertia(Expression(x), 1.0, 1.0)
    M = SpatialInertia(Expression(x), np.zeros(3), UnitInertia(1.0, 1.0, 1.0))  # not refused
    for question in (
        I.CouldBePhysicallyValid,
        I.CalcPrincipalMomentsOfInertia,
        M.IsPhysicallyValid,
        M.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid,
    ):
        with pytest.raises(RuntimeError, match="x"):
            question()
    assert not I.IsNaN()
    nearly, zero = I.IsNearlyEqualTo(RotationalInertia(1.0, 1.0, 1.0), 0.1), (I - I * 2.0).IsZero()
    assert isinstance(nearly, Formula)
    assert nearly.Evaluate({x: 1.05}) and not nearly.Evaluate({x: 1.5})
    assert not zero.Evaluate({x: 0.0})  # the other moments are not zero
    assert (Expression(x) * UnitInertia(1.0, 1.0, 1.0)).IsZero().Evaluate({x: 0.0})


def test_constant_expressions_are_numbers():
    I = RotationalInertia(*(Expression(moment) for moment in (2.0, 3.0, 4.0)))
    assert I.CouldBePhysicallyValid() and I.IsZero() is False
    np.testing.assert_array_equal(I.CalcPrincipalMomentsOfInertia(), [2.0, 3.0, 4.0])


@pytest.mark.parametrize("T", [AutoDiffXd, Expression])
def test_inertias_know_their_scalar_type(T):
    for template, cls in ((SpatialInertia_, SpatialInertia), (UnitInertia_, UnitInertia)):
        assert not isinstance(cls.SolidSphereWithMass(1.0, 0.1) if cls is SpatialInertia else cls(), template[T])
    sphere = SpatialInertia_[T].SolidSphereWithMass(1.0, 0.1)
    assert isinstance(sphere, SpatialInertia_[T]) and type(sphere.get_mass()) is T
    assert isinstance(sphere.get_unit_inertia(), UnitInertia_[T])
    assert isinstance(sphere.CalcRotationalInertia(), RotationalInertia_[T])
    assert isinstance(RotationalInertia_[T](1.0, 1.0, 1.0).get_moments()[0], T)
