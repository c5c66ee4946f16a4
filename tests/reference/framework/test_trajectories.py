"""Trajectories give pydrake's numbers, at breaks, between them and beyond the ends."""

import types

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.autodiffutils
import pydrake.common
import pydrake.common.eigen_geometry
import pydrake.math
import pydrake.polynomial
import pydrake.symbolic
import pydrake.trajectories
from pydrake.common.yaml import yaml_dump_typed, yaml_load_typed

from merganser.framework import autodiff, math, trajectories

pytestmark = pytest.mark.reference

DRAKE = types.SimpleNamespace(
    **{
        name: getattr(module, name)
        for module in (pydrake.common.eigen_geometry, pydrake.math, pydrake.polynomial, pydrake.trajectories)
        for name in dir(module)
        if name[0] != "_"
    },
    AutoDiffXd=pydrake.autodiffutils.AutoDiffXd,
    ToleranceType=pydrake.common.ToleranceType,
)
OURS = types.SimpleNamespace(
    **{name: getattr(module, name) for module in (math, trajectories) for name in dir(module) if name[0] != "_"},
    AutoDiffXd=autodiff.AutoDiffXd,
)

RANDOM = np.random.default_rng(3)
BREAKS = [-0.5, 0.25, 1.0, 1.75, 3.0, 3.5]
Y, YDOT = RANDOM.normal(size=(2, 3, 6))
MATRICES = list(RANDOM.normal(size=(6, 2, 3)))
WAVES = np.array([[0.0, 1.0, 1.0, 3.0, 2.0, 2.5], [0.0, -1.0, 4.0, 4.0, 5.0, 5.5], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]])
SLOPES = RANDOM.normal(size=(2, 3, 1))
POINTS = list(RANDOM.normal(size=(7, 2, 2)))
QUATERNIONS = RANDOM.normal(size=(6, 4))
GROWTH = np.array([[0.1, 0.5], [-0.4, -0.2]])
POSITIONS = RANDOM.normal(size=(6, 3))


def pp(m):
    return m.PiecewisePolynomial


def changed(trajectory, *steps):
    for step in steps:
        step(trajectory)
    return trajectory


def quaternions(m):
    return [m.Quaternion(q / np.linalg.norm(q)) for q in QUATERNIONS]


def poses(m):
    return [m.RigidTransform(m.RotationMatrix(q), p) for q, p in zip(quaternions(m), POSITIONS)]


def handle(m, start=0.0, end=2.0):
    result = m.FunctionHandleTrajectory(lambda t: np.array([[np.sin(t), t]]), 1, 2, start, end)
    result.set_derivative(lambda t, order: np.array([[np.sin(t + order * np.pi / 2), float(order == 1)]]))
    return result


def stacked(m, rowwise):
    result = m.StackedTrajectory(rowwise)
    result.Append(pp(m).FirstOrderHold(BREAKS, Y))
    result.Append(pp(m).CubicHermite(BREAKS, Y, YDOT))
    return result


def bspline(m, **options):
    return m.BsplineTrajectory(m.BsplineBasis(4, 7, initial_parameter_value=-0.5, final_parameter_value=3.5), POINTS)


TRAJECTORIES = {
    "constant": lambda m: pp(m)(MATRICES[0]),
    "zero-order hold": lambda m: pp(m).ZeroOrderHold(BREAKS, Y),
    "zero-order hold of matrices": lambda m: pp(m).ZeroOrderHold(BREAKS, MATRICES),
    "first-order hold": lambda m: pp(m).FirstOrderHold(BREAKS, Y),
    "first-order hold of matrices": lambda m: pp(m).FirstOrderHold(BREAKS, MATRICES),
    "shape preserving": lambda m: pp(m).CubicShapePreserving(BREAKS, WAVES),
    "shape preserving, random": lambda m: pp(m).CubicShapePreserving(BREAKS, MATRICES),
    "shape preserving, level ends": lambda m: pp(m).CubicShapePreserving(BREAKS, WAVES, True),
    "shape preserving, two samples": lambda m: pp(m).CubicShapePreserving([0, 2], [[1, 5]], True),
    "Hermite": lambda m: pp(m).CubicHermite(BREAKS, Y, YDOT),
    "Hermite of matrices": lambda m: pp(m).CubicHermite(BREAKS, MATRICES, MATRICES[::-1]),
    "spline": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS, Y),
    "spline of matrices": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS, MATRICES, False),
    "spline, three samples": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS[:3], Y[:, :3]),
    "spline, four samples": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS[:4], Y[:, :4]),
    "spline, periodic": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS, Y, periodic_end_condition=True),
    "spline, periodic, three": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS[:3], Y[:, :3], True),
    "spline with slopes": lambda m: pp(m).CubicWithContinuousSecondDerivatives(BREAKS, Y, *SLOPES),
    "spline with slopes, two": lambda m: pp(m).CubicWithContinuousSecondDerivatives([0, 2], Y[:, :2], *SLOPES),
    "Lagrange": lambda m: pp(m).LagrangeInterpolatingPolynomial(BREAKS, Y),
    "from polynomials": lambda m: pp(m)([m.Polynomial([1.0, 2.0, 0.5]), m.Polynomial(4.0)], [0.0, 1.0, 3.0]),
    "from matrices of polynomials": lambda m: pp(m)(
        [np.array([[m.Polynomial([1.0, 2.0]), m.Polynomial(3.0)]])] * 2, [0.0, 1.0, 3.0]
    ),
    "block": lambda m: pp(m).FirstOrderHold(BREAKS, MATRICES).Block(1, 0, 1, 2),
    "transposed": lambda m: pp(m).FirstOrderHold(BREAKS, MATRICES).Transpose(),
    "reshaped": lambda m: changed(pp(m).FirstOrderHold(BREAKS, MATRICES), lambda p: p.Reshape(3, 2)),
    "reversed": lambda m: changed(TRAJECTORIES["spline"](m), lambda p: p.ReverseTime()),
    "stretched": lambda m: changed(TRAJECTORIES["spline"](m), lambda p: p.ScaleTime(1.7)),
    "moved": lambda m: changed(TRAJECTORIES["spline"](m), lambda p: p.shiftRight(-0.7)),
    "sum": lambda m: TRAJECTORIES["spline"](m) + TRAJECTORIES["zero-order hold"](m),
    "sliced": lambda m: TRAJECTORIES["spline"](m).slice(1, 2),
    "shortened": lambda m: changed(TRAJECTORIES["spline"](m), lambda p: p.RemoveFinalSegment()),
    "extended": lambda m: changed(
        TRAJECTORIES["spline"](m),
        lambda p: p.AppendFirstOrderSegment(4.0, [1.0, 2.0, 3.0]),
        lambda p: p.AppendCubicHermiteSegment(5.0, [1.0, 0.0, 2.0], [0.0, 1.0, 4.0]),
        lambda p: p.ConcatenateInTime(pp(m).ZeroOrderHold([5.0, 6.0], Y[:, :2])),
    ),
    "derivative": lambda m: TRAJECTORIES["spline"](m).derivative(2),
    "slerp": lambda m: m.PiecewiseQuaternionSlerp(BREAKS, quaternions(m)),
    "slerp of rotations": lambda m: m.PiecewiseQuaternionSlerp(BREAKS, [X.rotation() for X in poses(m)]),
    "slerp, appended": lambda m: changed(
        m.PiecewiseQuaternionSlerp(BREAKS[:2], [m.AngleAxis(a, [0.0, 0.6, 0.8]) for a in (0.2, 3.0)]),
        lambda s: s.Append(3.0, quaternions(m)[0]),
    ),
    "pose": lambda m: m.PiecewisePose.MakeLinear(BREAKS, poses(m)),
    "pose with cubics": lambda m: m.PiecewisePose.MakeCubicLinearWithEndLinearVelocity(BREAKS, poses(m), *SLOPES),
    "pose with level cubics": lambda m: m.PiecewisePose.MakeCubicLinearWithEndLinearVelocity(BREAKS, poses(m)),
    "Bezier": lambda m: m.BezierCurve(0.5, 2.0, Y),
    "Bezier, elevated": lambda m: changed(m.BezierCurve(0.5, 2.0, Y), lambda b: b.ElevateOrder()),
    "B-spline": bspline,
    "B-spline of vectors": lambda m: m.BsplineTrajectory(m.BsplineBasis(3, 6, m.KnotVectorType.kUniform), Y),
    "B-spline with knots": lambda m: changed(bspline(m), lambda b: b.InsertKnots([1.3, -0.2, 1.3, 1.5, 3.5 - 0.8])),
    "B-spline block": lambda m: bspline(m).CopyBlock(0, 1, 2, 1),
    "B-spline head": lambda m: TRAJECTORIES["B-spline of vectors"](m).CopyHead(2),
    "composite": lambda m: m.CompositeTrajectory([handle(m), handle(m, 2.0, 3.0)]),
    "aligned composite": lambda m: m.CompositeTrajectory.AlignAndConcatenate(
        [TRAJECTORIES["spline"](m), m.BezierCurve(0.5, 2.0, Y), TRAJECTORIES["first-order hold"](m)]
    ),
    "stacked rows": lambda m: stacked(m, True),
    "stacked columns": lambda m: stacked(m, False),
    "path": lambda m: m.PathParameterizedTrajectory(
        TRAJECTORIES["Lagrange"](m), pp(m).CubicShapePreserving([0.0, 1.0, 4.0], [[0.0, 1.0, 1.5]])
    ),
    "function": handle,
    "derivative of a spline": lambda m: m.DerivativeTrajectory(TRAJECTORIES["spline"](m)),
    "derivative of slerp": lambda m: m.DerivativeTrajectory(TRAJECTORIES["slerp"](m), 1),
    "discrete": lambda m: m.DiscreteTimeTrajectory(BREAKS, MATRICES),
    "discrete, held": lambda m: m.DiscreteTimeTrajectory(BREAKS, MATRICES).ToZeroOrderHold(),
    "exponential": lambda m: m.ExponentialPlusPiecewisePolynomial(
        Y[:, :2], GROWTH, MATRICES[0][:, :1] * np.arange(5.0), pp(m).FirstOrderHold(BREAKS, Y)
    ),
    "exponential, moved": lambda m: changed(TRAJECTORIES["exponential"](m), lambda e: e.shiftRight(0.6)),
}  # fmt: skip
ONLY_AT_BREAKS = ("discrete",)


@pytest.mark.parametrize("name", TRAJECTORIES)
def test_values_and_derivatives(name):
    ours, theirs = TRAJECTORIES[name](OURS), TRAJECTORIES[name](DRAKE)
    assert (ours.rows(), ours.cols()) == (theirs.rows(), theirs.cols())
    assert (ours.start_time(), ours.end_time()) == pytest.approx((theirs.start_time(), theirs.end_time()), abs=1e-14)
    assert ours.has_derivative() == theirs.has_derivative()
    times = BREAKS if name in ONLY_AT_BREAKS else [*BREAKS, *np.linspace(-1.5, 6.5, 41).tolist(), 1, 2.0]
    for order in range(5) if ours.has_derivative() else [0]:
        for t in times:
            a, b = (x.EvalDerivative(t, order) if order else x.value(t) for x in (ours, theirs))
            scale = max(1.0, np.abs(b).max())
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * scale, err_msg=f"order {order} at {t}")
            assert a.dtype == b.dtype
    if hasattr(theirs, "get_segment_times"):
        assert ours.get_segment_times() == pytest.approx(theirs.get_segment_times(), abs=1e-14)
        assert [ours.get_segment_index(t) for t in times] == [theirs.get_segment_index(t) for t in times]


@pytest.mark.parametrize("name", [name for name in TRAJECTORIES if name[:4] not in ("disc", "expo")])
def test_trajectories_of_derivatives(name):
    ours, theirs = TRAJECTORIES[name](OURS), TRAJECTORIES[name](DRAKE)
    orders = [0, 1] if name.startswith("pose") else [0, 1, 2, 5]  # of poses, pydrake does not make the second one
    for order in orders:
        a, b = ours.MakeDerivative(order), theirs.MakeDerivative(order)
        assert order == 0 or type(a).__name__ == type(b).__name__
        assert (a.rows(), a.cols()) == (b.rows(), b.cols())
        for t in np.linspace(-1.0, 6.0, 15).tolist():
            expected = b.value(t)
            np.testing.assert_allclose(a.value(t), expected, rtol=0, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(
    "name", [n for n in TRAJECTORIES if isinstance(TRAJECTORIES[n](OURS), OURS.PiecewisePolynomial)]
)
def test_coefficients_and_degrees(name):
    ours, theirs = TRAJECTORIES[name](OURS), TRAJECTORIES[name](DRAKE)
    for i in range(ours.get_number_of_segments()):
        for row, col in np.ndindex(ours.rows(), ours.cols()):
            degree = theirs.getSegmentPolynomialDegree(i, row, col)
            assert ours.getSegmentPolynomialDegree(i, row, col) == degree
            assert ours.getPolynomialMatrix(i)[row, col].GetDegree() == degree
    # Last, because pydrake pads its polynomials to the same degree when these are read.
    np.testing.assert_allclose(ours.polynomials, theirs.polynomials, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours.breaks, theirs.breaks, rtol=1e-15)


def test_files_of_pydrake_are_read_and_written():
    for name in ("spline", "from polynomials", "first-order hold of matrices"):
        ours, theirs = TRAJECTORIES[name](OURS), TRAJECTORIES[name](DRAKE)
        for trajectory in (ours, theirs):
            text = yaml_dump_typed(trajectory)
            for schema in (OURS.PiecewisePolynomial, DRAKE.PiecewisePolynomial):
                read = yaml_load_typed(schema=schema, data=text)
                np.testing.assert_allclose(read.value(0.7), ours.value(0.7), rtol=1e-14, atol=1e-14)


def derivatives_of(m, make, t):
    """Values and derivatives of a trajectory of AutoDiffXd at an AutoDiffXd time."""
    entries = make(m).value(m.AutoDiffXd(t, [1.0, 0.5])).ravel()
    return np.array([[x.value(), *(x.derivatives() if len(x.derivatives()) else [0.0, 0.0])] for x in entries])


def autodiff_samples(m):
    return np.array([[m.AutoDiffXd(Y[i, j], [YDOT[i, j], Y[i, j - 1]]) for j in range(6)] for i in range(3)])


OF_AUTODIFF = {
    "first-order hold": lambda m: m.PiecewisePolynomial_[m.AutoDiffXd].FirstOrderHold(BREAKS, autodiff_samples(m)),
    "shape preserving": lambda m: m.PiecewisePolynomial_[m.AutoDiffXd].CubicShapePreserving(
        BREAKS, autodiff_samples(m)
    ),
    "spline": lambda m: m.PiecewisePolynomial_[m.AutoDiffXd].CubicWithContinuousSecondDerivatives(
        BREAKS, autodiff_samples(m)
    ),
    "spline of times": lambda m: m.PiecewisePolynomial_[m.AutoDiffXd].CubicWithContinuousSecondDerivatives(
        [m.AutoDiffXd(b, [b, 1.0]) for b in BREAKS], autodiff_samples(m)
    ),
    "Lagrange": lambda m: m.PiecewisePolynomial_[m.AutoDiffXd].LagrangeInterpolatingPolynomial(
        BREAKS, autodiff_samples(m)
    ),
    "Bezier": lambda m: m.BezierCurve_[m.AutoDiffXd](0.5, 2.0, autodiff_samples(m)),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_AUTODIFF)
def test_derivatives_of_automatic_differentiation(name):
    for t in (-1.0, -0.5, 0.6, 1.0, 1.9, 3.2, 4.0):
        ours, theirs = (derivatives_of(m, OF_AUTODIFF[name], t) for m in (OURS, DRAKE))
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11, err_msg=f"at {t}")


def test_control_points_as_linear_functions():
    a, b = bspline(OURS), bspline(DRAKE)
    for order in range(5):
        np.testing.assert_allclose(
            a.AsLinearInControlPoints(order).toarray(), b.AsLinearInControlPoints(order).toarray(), atol=1e-12
        )
    a, b = TRAJECTORIES["B-spline of vectors"](OURS), TRAJECTORIES["B-spline of vectors"](DRAKE)
    for order in range(4):
        for t in (-0.5, 0.3, 0.8, 4.0):
            np.testing.assert_allclose(
                a.EvaluateLinearInControlPoints(t, order), b.EvaluateLinearInControlPoints(t, order), atol=1e-11
            )
    c, d = (m.BezierCurve(0.5, 2.0, Y) for m in (OURS, DRAKE))
    for order in range(6):
        np.testing.assert_allclose(
            c.AsLinearInControlPoints(order).toarray(), d.AsLinearInControlPoints(order).toarray(), rtol=1e-13
        )
    for i, t in ((0, 1.0), (3, 0.2), (7, 1.0)):
        assert c.BernsteinBasis(i, t) == pytest.approx(d.BernsteinBasis(i, t), rel=1e-13)
        assert c.BernsteinBasis(i, t, order=4) == pytest.approx(d.BernsteinBasis(i, t, order=4), rel=1e-13)


def test_poses_velocities_and_accelerations():
    for name in ("pose", "pose with cubics"):
        ours, theirs = TRAJECTORIES[name](OURS), TRAJECTORIES[name](DRAKE)
        for t in np.linspace(-1.0, 4.0, 21):
            for method in ("GetVelocity", "GetAcceleration"):
                np.testing.assert_allclose(getattr(ours, method)(t), getattr(theirs, method)(t), atol=1e-12)
            np.testing.assert_allclose(ours.GetPose(t).GetAsMatrix4(), theirs.GetPose(t).GetAsMatrix4(), atol=1e-12)


def test_polynomials():
    def results(m):
        p, q = m.Polynomial([1.0, 2.0, -3.0]), m.Polynomial([0.5, 0.0, 3.0])
        made = [p, q, p + q, p - q, p * q, -p, p + 1, 1 - p, 2 * p, p / 4, p.Derivative(), p.Derivative(2),
                p.Derivative(5), p.Integral(), p.Integral(3.0), m.Polynomial(), m.Polynomial(2.0), p * 0.0,
                p - p]  # fmt: skip
        return [(r.GetCoefficients().tolist(), r.GetDegree(), r.IsAffine(), r.EvaluateUnivariate(0.7, 1)) for r in made]

    for ours, theirs in zip(results(OURS), results(DRAKE), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-15)
        assert ours[1:3] == theirs[1:3] and ours[3] == pytest.approx(theirs[3], rel=1e-14)


@pytest.mark.parametrize("tolerance", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("kind", ["kAbsolute", "kRelative"])
def test_comparison_of_polynomials(tolerance, kind):
    pairs = [([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [1.0005, 2.0]), ([1.0], [1.0, 0.0]), ([1.0, 2.0], [1.5, 0.9])]
    for a, b in pairs:
        ours, theirs = (
            m.Polynomial(a).CoefficientsAlmostEqual(m.Polynomial(b), tolerance, getattr(m.ToleranceType, kind))
            for m in (OURS, DRAKE)
        )
        assert ours == theirs, (a, b)
