"""Piecewise polynomials: identities and closed forms; pydrake's numbers are compared in tests/reference."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.trajectories import PiecewisePolynomial, PiecewisePolynomial_, Polynomial, ToleranceType
from merganser.framework.yaml import yaml_dump_typed, yaml_load_typed

RANDOM = np.random.default_rng(5)
BREAKS = [-0.5, 0.25, 1.0, 1.75, 3.0, 3.5]
Y, YDOT = RANDOM.normal(size=(2, 2, 6))
TIMES = [*BREAKS, *np.linspace(-0.5, 3.5, 17).tolist()]

SCIPY = {
    "CubicShapePreserving": lambda: PchipInterpolator(BREAKS, Y, axis=1),
    "CubicWithContinuousSecondDerivatives": lambda: CubicSpline(BREAKS, Y, axis=1),
    "LagrangeInterpolatingPolynomial": lambda: BarycentricInterpolator(BREAKS, Y, axis=1),
}


def test_a_trajectory_without_segments_is_read_from_a_file_and_written_to_it():
    empty = yaml_load_typed(schema=PiecewisePolynomial, data="breaks: []\npolynomials: []\n")
    assert empty.get_number_of_segments() == 0
    assert yaml_dump_typed(empty) == yaml_dump_typed(PiecewisePolynomial())


def spline():
    return PiecewisePolynomial.CubicWithContinuousSecondDerivatives(BREAKS, Y)


def closely(actual, expected, tolerance=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("method", SCIPY)
def test_interpolation_is_that_of_scipy(method):
    ours, theirs = getattr(PiecewisePolynomial, method)(BREAKS, Y), SCIPY[method]()
    for t in TIMES:
        closely(ours.value(t)[:, 0], theirs(t))
        for order in (1, 2) if hasattr(theirs, "c") else ():
            closely(ours.EvalDerivative(t, order)[:, 0], theirs(t, order), 1e-11)


def test_splines_with_end_conditions_are_those_of_scipy():
    ours = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(BREAKS, Y, [1.0, 2.0], [3.0, 4.0])
    theirs = CubicSpline(BREAKS, Y, axis=1, bc_type=((1, [1.0, 2.0]), (1, [3.0, 4.0])))
    closed = np.concatenate([Y[:, :-1], Y[:, :1]], axis=1)
    periodic = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(BREAKS, closed, periodic_end_condition=True)
    theirs_periodic = CubicSpline(BREAKS, closed, axis=1, bc_type="periodic")
    hermite = PiecewisePolynomial.CubicHermite(BREAKS, Y, YDOT)
    for t in TIMES:
        closely(ours.value(t)[:, 0], theirs(t))
        closely(periodic.value(t)[:, 0], theirs_periodic(t))
        closely(hermite.value(t)[:, 0], CubicHermiteSpline(BREAKS, Y, YDOT, axis=1)(t))


def test_value_at_breaks_and_beyond_the_ends():
    hold = PiecewisePolynomial.ZeroOrderHold([0.0, 1.0, 2.0], [[1.0, 2.0, 3.0]])
    assert [hold.value(t).item() for t in (-1.0, 0.0, 0.999, 1.0, 2.0, 5.0)] == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]
    lines = PiecewisePolynomial.FirstOrderHold([0.0, 1.0, 2.0], [[0.0, 2.0, 6.0]])
    assert [lines.value(t).item() for t in (-1.0, 0.5, 1.5, 9.0)] == [0.0, 1.0, 4.0, 6.0]
    assert [lines.EvalDerivative(t).item() for t in (-1.0, 1.0, 9.0)] == [2.0, 4.0, 4.0]
    assert lines.vector_values([0.0, 1.0]).tolist() == [[0.0, 2.0]]


def test_integral_and_derivative_are_inverse():
    for t in TIMES:
        closely(spline().integral(2.0).derivative().value(t), spline().value(t))
    closely(spline().integral([[1.0], [2.0]]).value(-0.5), [[1.0], [2.0]])
    before, after = spline().integral().value(1.0 - 1e-12), spline().integral().value(1.0)
    closely(before, after, 1e-11)


def test_arithmetic_is_that_of_values():
    p, q = spline(), PiecewisePolynomial.FirstOrderHold(BREAKS, YDOT)
    for t in TIMES:
        closely((p + q).value(t), p.value(t) + q.value(t))
        closely((p - q).value(t), p.value(t) - q.value(t))
        closely((-p * 2.0).value(t), -2.0 * p.value(t))
        closely((p.Transpose() * q).value(t), p.value(t).T @ q.value(t))
    with pytest.raises(RuntimeError, match="same breaks"):
        p + p.slice(0, 2)
    with pytest.raises(RuntimeError, match=r"\(2, 1\) and \(2, 1\)"):
        p * q
    assert p.__add__(1.0) is NotImplemented


def test_changes_of_time():
    p, moved, stretched, mirrored = (spline() for _ in range(4))
    moved.shiftRight(0.3)
    stretched.ScaleTime(2.0)
    mirrored.ReverseTime()
    for t in TIMES:
        closely(moved.value(t + 0.3), p.value(t))
        closely(stretched.value(2.0 * t), p.value(t))
        closely(mirrored.value(-t), p.value(t))
    with pytest.raises(ValueError, match="scale must be positive"):
        p.ScaleTime(0.0)


def test_segments_are_appended_and_removed():
    p = spline()
    p.AppendCubicHermiteSegment(4.0, [1.0, 2.0], [3.0, 4.0])
    closely(p.value(4.0), [[1.0], [2.0]])
    closely(p.EvalDerivative(4.0), [[3.0], [4.0]])
    closely(p.EvalDerivative(3.5), spline().EvalDerivative(3.5))
    p.AppendFirstOrderSegment(5.0, [0.0, 0.0])
    closely(p.value(4.5), [[0.5], [1.0]])
    p.RemoveFinalSegment()
    p.RemoveFinalSegment()
    assert p.isApprox(spline(), 1e-15)
    first, rest = p.slice(0, 2), p.slice(2, 3)
    first.ConcatenateInTime(rest)
    assert first.isApprox(p, 0.0, ToleranceType.kAbsolute) and not first.isApprox(rest, 1.0)


def test_what_is_not_possible_leaves_the_trajectory_as_it_is():
    p = spline()
    for call, error, words in (
        (lambda: p.AppendFirstOrderSegment(3.5, [0.0, 0.0]), ValueError, "must be beyond"),
        (lambda: p.AppendFirstOrderSegment(4.0, [0.0]), ValueError, r"a sample has shape \(1, 1\)"),
        (lambda: p.ConcatenateInTime(p), RuntimeError, "ends at 3.5, but the other one starts at -0.5"),
        (lambda: p.slice(3, 3), RuntimeError, "no segment 5; there are 5"),
        (lambda: p.Reshape(3, 1), ValueError, "cannot have shape"),
        (lambda: p.Block(0, 0, 3, 1), IndexError, "no block"),
        (lambda: p.value(np.nan), ValueError, "not a number"),
        (lambda: p.EvalDerivative(0.0, -1), ValueError, "derivative_order must be at least 0"),
        (lambda: p.setPolynomialMatrixBlock([[Polynomial(1.0)]], 0, 2), IndexError, "no block"),
        (lambda: PiecewisePolynomial().RemoveFinalSegment(), RuntimeError, "no segment"),
        (lambda: PiecewisePolynomial().value(0.0), RuntimeError, "no segments"),
        (lambda: PiecewisePolynomial.FirstOrderHold([0, 1], [[1, 2, 3]]), RuntimeError, "as many samples as breaks"),
        (lambda: PiecewisePolynomial.FirstOrderHold([0, 0], [[1, 2]]), RuntimeError, "breaks must increase"),
        (lambda: PiecewisePolynomial.CubicShapePreserving([0, 1], [[1, 2]]), RuntimeError, "at least 3 samples"),
        (lambda: PiecewisePolynomial.FirstOrderHold([0, 1], [1, 2]), TypeError, "columns are the samples"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert p.isApprox(spline(), 0.0)


def test_polynomials_are_taken_out_and_put_in():
    p = PiecewisePolynomial.ZeroOrderHold([0.0, 1.0, 2.0], [np.eye(2)] * 3)
    p.setPolynomialMatrixBlock([[Polynomial([1.0, 2.0, 3.0])]], 1, 1, 0)
    assert p.getPolynomial(1, 1, 0) == Polynomial([1.0, 2.0, 3.0]) and p.getPolynomial(0, 1, 0) == Polynomial(0.0)
    assert (p.getSegmentPolynomialDegree(1, 1, 0), p.getSegmentPolynomialDegree(1, 0, 0)) == (2, 0)
    assert p.value(1.5).tolist() == [[1.0, 0.0], [2.75, 1.0]]
    again = PiecewisePolynomial([p.getPolynomialMatrix(i) for i in range(2)], [0.0, 1.0, 2.0])
    assert again.isApprox(p, 0.0)


def test_copies_and_files():
    p = spline()
    for other in (copy.copy(p), copy.deepcopy(p), p.Clone(), pickle.loads(pickle.dumps(p))):
        assert other.isApprox(p, 0.0)
        other.shiftRight(1.0)
        other.AppendFirstOrderSegment(9.0, [0.0, 0.0])
    assert p.isApprox(spline(), 0.0)
    fields = {field.name: getattr(p, field.name).tolist() for field in PiecewisePolynomial.__fields__}
    read = PiecewisePolynomial()
    for name, value in fields.items():
        setattr(read, name, value)
    assert read.isApprox(p, 0.0)


def test_small_and_large_matrices_are_evaluated_in_the_same_way():
    large = PiecewisePolynomial.CubicHermite([0.0, 1.0], RANDOM.normal(size=(2, 5, 5)), RANDOM.normal(size=(2, 5, 5)))
    for t in (0.1, 0.7):
        assert large.value(t)[:2, :2].tolist() == large.Block(0, 0, 2, 2).value(t).tolist()


def test_derivatives_by_times_samples_and_breaks():
    """Against central differences of floats."""

    def value(T, t, y, b):
        samples = np.array([[y, 1.0 * y, 2.0, 0.5]])
        return PiecewisePolynomial_[T].CubicWithContinuousSecondDerivatives([0.0, b, 2.0, 3.0], samples).value(t).item()

    at = np.array([1.3, 0.4, 1.1])
    found = value(AutoDiffXd, *(AutoDiffXd(v, np.eye(3)[i]) for i, v in enumerate(at)))
    differences = [(value(float, *(at + h)) - value(float, *(at - h))) / 2e-6 for h in 1e-6 * np.eye(3)]
    assert found.value() == pytest.approx(value(float, *at), rel=1e-14)
    closely(found.derivatives(), differences, 1e-8)
    assert isinstance(
        PiecewisePolynomial_[AutoDiffXd].ZeroOrderHold([0, 1], [[1, 2]]), PiecewisePolynomial_[AutoDiffXd]
    )
    assert not isinstance(spline(), PiecewisePolynomial_[AutoDiffXd])


def test_symbolic_times():
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    t = symbolic.Variable("t")
    line = PiecewisePolynomial_[symbolic.Expression].FirstOrderHold([0.0, 1.0], [[1.0, 3.0]])
    (value,) = line.value(symbolic.Expression(t)).ravel()
    assert [value.Evaluate({t: at}) for at in (-1.0, 0.5, 2.0)] == [1.0, 2.0, 3.0]
    with pytest.raises(RuntimeError, match="several segments; which of them has the time t"):
        spline().value(symbolic.Expression(t))


def test_polynomials_are_rings():
    p, q, r = (Polynomial(RANDOM.normal(size=n)) for n in (2, 3, 4))
    for x in (-0.3, 2.0):
        at = [s.EvaluateUnivariate(x) for s in (p, q, r)]
        assert (p * (q + r) - 2.0 * r).EvaluateUnivariate(x) == pytest.approx(at[0] * (at[1] + at[2]) - 2.0 * at[2])
    assert p.Integral(3.0).Derivative() == p and (r - r) == Polynomial(0.0) and p != q
    assert p.CoefficientsAlmostEqual(p + 1e-9, 1e-8) and not p.CoefficientsAlmostEqual(q, 1e-8)
    for call, error in ((lambda: Polynomial("x"), TypeError), (lambda: p.Derivative(-1), ValueError)):
        with pytest.raises(error):
            call()


def test_splines_of_many_samples_are_those_of_scipy():
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.uniform(0.1, 1.0, 400))
    samples = rng.uniform(-1.0, 1.0, (2, 400))
    samples[:, -1] = samples[:, 0]
    make = PiecewisePolynomial.CubicWithContinuousSecondDerivatives
    ends = np.array([0.3, -0.2]), np.array([0.1, 0.4])
    cases = (
        ("not-a-knot", make(times, samples)),
        ("periodic", make(times, samples, True)),
        (((1, ends[0]), (1, ends[1])), make(times, samples, *ends)),
    )
    at = np.linspace(times[0], times[-1], 1000)
    for condition, spline in cases:
        expected = CubicSpline(times, samples, axis=1, bc_type=condition)(at)
        np.testing.assert_allclose(spline.vector_values(at), expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("breaks", [[0, 1, 3], [0.0, 1.0, 3.0], np.array([0.0, 1.0, 3.0]), np.array([0, 1, 3])])
@pytest.mark.parametrize("method", ["ZeroOrderHold", "FirstOrderHold", "CubicShapePreserving"])
def test_breaks_of_any_kind_of_number_make_trajectories_of_floats(method: str, breaks: Any) -> None:
    trajectory = getattr(PiecewisePolynomial, method)(breaks, np.array([[0.0, 1.0, 4.0]]))
    assert trajectory.value(0.5).dtype == np.float64
    assert all(type(time) is float for time in trajectory.get_segment_times())
