"""Curves, orientations and combinations of trajectories: identities; pydrake's numbers are in tests/reference."""

import pickle

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import AngleAxis, BsplineBasis, Quaternion, RigidTransform, RotationMatrix
from merganser.framework.trajectories import (
    BezierCurve,
    BezierCurve_,
    BsplineTrajectory,
    BsplineTrajectory_,
    CompositeTrajectory,
    DerivativeTrajectory,
    DiscreteTimeTrajectory,
    ExponentialPlusPiecewisePolynomial,
    FunctionHandleTrajectory,
    PathParameterizedTrajectory,
    PiecewisePolynomial,
    PiecewisePose,
    PiecewiseQuaternionSlerp,
    StackedTrajectory,
    Trajectory,
    Trajectory_,
)

RANDOM = np.random.default_rng(6)
POINTS = RANDOM.normal(size=(3, 6))


class Spiral(Trajectory):
    """A trajectory of a user's own."""

    def do_rows(self):
        return 2

    def do_cols(self):
        return 1

    def do_start_time(self):
        return 0.0

    def do_end_time(self):
        return 1.0

    def do_value(self, t):
        return np.array([[t * np.cos(t)], [t * np.sin(t)]])

    def do_has_derivative(self):
        return True

    def DoEvalDerivative(self, t, derivative_order):
        z = (1j**derivative_order) * (t - 1j * derivative_order) * np.exp(1j * t)
        return np.array([[z.real], [z.imag]])

    def DoMakeDerivative(self, derivative_order):
        return DerivativeTrajectory(self, derivative_order)


def sine():
    result = FunctionHandleTrajectory(lambda t: [[np.sin(t)]], 1, 1, 0.0, 2.0)
    result.set_derivative(lambda t, order: [[np.sin(t + 0.5 * np.pi * order)]])
    return result


def slerp():
    rotations = [RotationMatrix(AngleAxis(angle, [0.0, 0.6, 0.8])) for angle in (0.1, 1.2, 4.0)]
    return PiecewiseQuaternionSlerp(breaks=[0.0, 1.0, 3.0], rotation_matrices=rotations)


def pose():
    poses = [RigidTransform(RotationMatrix(q), q.xyz()) for q in map(Quaternion, np.eye(4))]
    return PiecewisePose.MakeCubicLinearWithEndLinearVelocity([0.0, 1.0, 2.0, 4.0], poses, [1, 0, 0], [0, 1, 0])


SMOOTH = {
    "Bezier": lambda: BezierCurve(0.5, 2.0, POINTS),
    "B-spline": lambda: BsplineTrajectory(BsplineBasis(4, 6), POINTS),
    "composite": lambda: CompositeTrajectory.AlignAndConcatenate([BezierCurve(0.0, 1.0, POINTS[:1]), sine()]),
    "path": lambda: PathParameterizedTrajectory(sine(), PiecewisePolynomial.CubicHermite([0, 1], [[0, 1]], [[0, 2]])),
    "function": sine,
    "own": Spiral,
    "derivative": lambda: sine().MakeDerivative(2),
    "pose": lambda: pose().get_position_trajectory(),
    "spline": lambda: PiecewisePolynomial.CubicWithContinuousSecondDerivatives([0, 1, 3], POINTS[:, :3]),
}


OF_A_LAMBDA = ("function", "path", "derivative", "composite")  # which pickle does not take


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_values(name):
    """Central differences of derivatives of the order before."""
    trajectory = SMOOTH[name]()
    start, end = trajectory.start_time(), trajectory.end_time()
    for t in (start + s * (end - start) for s in (0.11, 0.43, 0.87)):
        for order in (1, 2, 3):
            later, earlier = (trajectory.EvalDerivative(t + h, order - 1) for h in (1e-5, -1e-5))
            expected = (later - earlier) / 2e-5
            np.testing.assert_allclose(trajectory.EvalDerivative(t, order), expected, atol=1e-7, rtol=1e-7)
            np.testing.assert_allclose(trajectory.MakeDerivative(order).value(t), trajectory.EvalDerivative(t, order))
        (z,) = {type(x) for x in trajectory.value(AutoDiffXd(t, [1.0])).ravel()}
        slopes = [x.derivatives()[0] for x in trajectory.value(AutoDiffXd(t, [1.0])).ravel()]
        assert z is AutoDiffXd
        np.testing.assert_allclose(slopes, trajectory.EvalDerivative(t).ravel(), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SMOOTH if name not in OF_A_LAMBDA])
def test_pickled_trajectories_are_the_same(name):
    trajectory = SMOOTH[name]()
    t = 0.3 * trajectory.end_time()
    assert (pickle.loads(pickle.dumps(trajectory)).value(t) == trajectory.value(t)).all()
    assert (trajectory.Clone().EvalDerivative(t) == trajectory.EvalDerivative(t)).all()


def test_slerp_turns_at_a_constant_rate_by_the_shorter_way():
    turning = slerp()
    assert turning.angular_velocity(0.5) == pytest.approx(1.1 * np.array([0.0, 0.6, 0.8]))
    assert turning.angular_velocity(2.0) == pytest.approx(1.4 * np.array([0.0, 0.6, 0.8]))
    R = turning.orientation(1.5).rotation()
    np.testing.assert_allclose(R, RotationMatrix(AngleAxis(1.9, [0.0, 0.6, 0.8])).matrix(), atol=1e-15)
    assert len(turning.get_quaternion_samples()) == turning.get_number_of_segments() + 1
    for time, q in zip(turning.get_segment_times(), turning.get_quaternion_samples()):
        np.testing.assert_allclose(q.rotation(), turning.orientation(time).rotation(), atol=1e-15)
    turning.Append(time=3.5, angle_axis=AngleAxis(4.0, [0.0, 0.6, 0.8]))  # no rotation at all
    assert turning.angular_velocity(3.2) == pytest.approx(np.zeros(3), abs=1e-15)
    with pytest.raises(ValueError, match="must increase"):
        turning.Append(3.5, Quaternion())
    assert turning.get_number_of_segments() == 3
    with pytest.raises(RuntimeError, match="as many quaternions as breaks"):
        PiecewiseQuaternionSlerp([0.0, 1.0], [Quaternion()])


def test_velocity_of_a_pose_is_the_rate_of_the_pose():
    moving, h = pose(), 1e-6
    for t in (0.4, 1.7, 3.1):
        V = moving.GetVelocity(t)
        X, later = moving.GetPose(t), moving.GetPose(t + h)
        np.testing.assert_allclose(V[3:], (later.translation() - X.translation()) / h, atol=1e-4)
        spin = np.cross(V[:3], X.rotation().matrix().T).T
        np.testing.assert_allclose(spin, (later.rotation().matrix() - X.rotation().matrix()) / h, atol=1e-5)
        np.testing.assert_allclose(moving.MakeDerivative(2).value(t)[:, 0], moving.GetAcceleration(t), atol=1e-12)
    assert not moving.GetVelocity(9.0).any() and moving.EvalDerivative(9.0).any()
    with pytest.raises(ValueError, match="same breaks"):
        PiecewisePose(moving.get_position_trajectory(), slerp())


def test_curves_do_not_change_when_control_points_are_added():
    curve, spline = SMOOTH["Bezier"](), SMOOTH["B-spline"]()
    times, more = np.linspace(0.0, 1.0, 9), SMOOTH["B-spline"]()
    more.InsertKnots([0.9, 0.1, 0.5, 0.5])
    raised = SMOOTH["Bezier"]()
    raised.ElevateOrder()
    assert (raised.order(), more.num_control_points()) == (6, 10)
    for t in times:
        np.testing.assert_allclose(more.value(t), spline.value(t), atol=1e-14)
        np.testing.assert_allclose(raised.value(2.0 * t), curve.value(2.0 * t), atol=1e-14)
    with pytest.raises(ValueError, match=r"knots go from 0\.0 to 1\.0, got 1\.5"):
        more.InsertKnots([0.2, 1.5])
    assert more.num_control_points() == 10


def test_curves_are_linear_in_their_control_points():
    curve, spline = SMOOTH["Bezier"](), SMOOTH["B-spline"]()
    for order in range(4):
        M = curve.AsLinearInControlPoints(order).toarray()
        np.testing.assert_allclose(curve.MakeDerivative(order).control_points(), POINTS @ M, atol=1e-12)
        weights = spline.EvaluateLinearInControlPoints(0.3, order)
        np.testing.assert_allclose(POINTS @ weights, spline.EvalDerivative(0.3, order)[:, 0], atol=1e-11)
    assert sum(curve.BernsteinBasis(i, 1.2) for i in range(6)) == pytest.approx(1.0)


def test_curves_of_automatic_differentiation():
    points = np.array([[AutoDiffXd(x, [1.0]) for x in row] for row in POINTS])
    for curve in (
        BezierCurve_[AutoDiffXd](0.0, 1.0, points),
        BsplineTrajectory_[AutoDiffXd](BsplineBasis(4, 6), points),
    ):
        assert [x.derivatives()[0] for x in curve.value(0.3).ravel()] == pytest.approx([1.0] * 3)


def test_expression_of_a_curve():
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    t = symbolic.Variable("t")
    curve = SMOOTH["Bezier"]()
    for expression, value in zip(curve.GetExpression(t), curve.value(1.3).ravel(), strict=True):
        assert expression.Evaluate({t: 1.3}) == pytest.approx(value, rel=1e-12)


def test_stacked_trajectories():
    rows, columns = StackedTrajectory(), StackedTrajectory(rowwise=False)
    assert (rows.rows(), rows.cols(), rows.start_time()) == (0, 0, 0.0)
    for stack in (rows, columns):
        for _ in range(2):
            stack.Append(Spiral())
    assert rows.rowwise() and not columns.rowwise() and [len(each.children()) for each in (rows, columns)] == [2, 2]
    assert rows.value(0.5).shape == (4, 1) and columns.value(0.5).shape == (2, 2)
    with pytest.raises(ValueError, match="there are 1 columns, but 2 were given"):
        rows.Append(columns)
    with pytest.raises(ValueError, match=r"start and end time are \(0.0, 1.0\)"):
        rows.Append(sine())
    with pytest.raises(TypeError, match="takes a Trajectory, got int"):
        rows.Append(3)
    assert rows.rows() == 4


def test_composite_trajectories_take_the_later_segment_at_a_break():
    up, down = (PiecewisePolynomial.ZeroOrderHold(times, [[y, y]]) for times, y in (([0, 1], 1.0), ([1, 3], 2.0)))
    both = CompositeTrajectory([up, down])
    assert [both.value(t).item() for t in (-1.0, 0.5, 1.0, 9.0)] == [1.0, 1.0, 2.0, 2.0]
    assert both.get_segment_times() == [0.0, 1.0, 3.0] and both.segment(1).start_time() == 1.0
    with pytest.raises(ValueError, match=r"segment 1 starts at 0\.0, but the one before ends at 3\.0"):
        CompositeTrajectory([down, up])
    with pytest.raises(ValueError, match="same shape"):
        CompositeTrajectory.AlignAndConcatenate([up, Spiral()])


def test_discrete_times_have_values_and_nothing_between():
    trajectory = DiscreteTimeTrajectory([0.0, 1.0], [[1.0, 2.0], [3.0, 4.0]], 1e-9)
    assert trajectory.value(1.0 + 1e-10).tolist() == [[3.0], [4.0]]
    assert trajectory.ToZeroOrderHold().value(0.7).tolist() == [[1.0], [2.0]]
    with pytest.raises(RuntimeError, match=r"no value at the time 0\.5"):
        trajectory.value(0.5)
    with pytest.raises(RuntimeError, match="does not support derivatives"):
        trajectory.EvalDerivative(0.0)
    with pytest.raises(ValueError, match="times must increase"):
        DiscreteTimeTrajectory([1.0, 1.0], [[1.0], [2.0]])


def test_exponentials_solve_a_linear_differential_equation():
    """x' = A x + b has the solution exp(A t) (x(0) + inv(A) b) - inv(A) b."""
    A, b, x0 = np.array([[-0.1, 1.0], [-1.0, -0.2]]), np.array([1.0, 2.0]), np.array([3.0, -1.0])
    rest = -np.linalg.solve(A, b)
    constant = PiecewisePolynomial.ZeroOrderHold([0.0, 9.0], np.transpose([rest, rest]))
    x = ExponentialPlusPiecewisePolynomial(np.eye(2), A, (x0 - rest).reshape(2, 1), constant)
    np.testing.assert_allclose(x.value(0.0)[:, 0], x0, rtol=1e-15)
    rate = (x.value(1.0 + 1e-6) - x.value(1.0 - 1e-6))[:, 0] / 2e-6
    np.testing.assert_allclose(rate, A @ x.value(1.0)[:, 0] + b, atol=1e-8)
    with pytest.raises(ValueError, match=r"alpha must have shape \(2, 1\)"):
        ExponentialPlusPiecewisePolynomial(np.eye(2), A, np.eye(2), constant)


def test_an_error_names_the_methods_that_a_class_lacks():
    class Nothing(Trajectory):
        pass

    with pytest.raises(RuntimeError, match=r"Nothing is a Trajectory without a method do_value\(\)"):
        Nothing().value(0.0)
    with pytest.raises(RuntimeError, match="Nothing does not support derivatives"):
        Nothing().EvalDerivative(0.0)
    assert issubclass(Nothing, Trajectory_[float]) and not Nothing().has_derivative()


def test_functions_must_keep_their_word():
    with pytest.raises(RuntimeError, match=r"returned a value of shape \(1,\), but \(2, 1\) was declared"):
        FunctionHandleTrajectory(lambda t: [t], 2).value(0.0)
    with pytest.raises(RuntimeError, match="set them with set_derivative"):
        FunctionHandleTrajectory(lambda t: [t], 1).EvalDerivative(0.0)
    with pytest.raises(ValueError, match=r"end time 0\.0 is before the start time 1\.0"):
        FunctionHandleTrajectory(lambda t: [t], 1, 1, 1.0, 0.0)
