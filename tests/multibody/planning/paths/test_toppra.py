"""The fastest way along a path, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework.trajectories import (
    BsplineTrajectory,
    FunctionHandleTrajectory,
    PathParameterizedTrajectory,
    PiecewisePolynomial,
    Trajectory,
)
from merganser.multibody.parsing import Parser
from merganser.multibody.planning import CalcGridPointsOptions, Toppra, ToppraDiscretization
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import MultibodyForces, PrismaticJoint, SpatialInertia

MODELS = Path(__file__).resolve().parents[4] / "examples" / "models"
N = 7
ONE = np.ones(N)


@pytest.fixture(scope="module")
def arm() -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
    plant.Finalize()
    return plant


@pytest.fixture(scope="module")
def slider() -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(2.0, 0.1))
    plant.AddJoint(PrismaticJoint("x", plant.world_frame(), body.body_frame(), [1, 0, 0]))
    plant.Finalize()
    return plant


def line(start: float = 0.0, end: float = 1.0) -> PiecewisePolynomial:
    return PiecewisePolynomial.FirstOrderHold([start, end], np.array([[0.0, 1.0]]))


def spline(seed: int = 0) -> PiecewisePolynomial:
    samples = np.random.default_rng(seed).uniform(-1.0, 1.0, (N, 5))
    return PiecewisePolynomial.CubicWithContinuousSecondDerivatives(np.linspace(0.0, 1.0, 5), samples)


def solved(path: Trajectory, plant: MultibodyPlant, points: Any, add: Any, *speeds: float) -> PiecewisePolynomial:
    toppra = Toppra(path, plant, points)
    add(toppra)
    s = toppra.SolvePathParameterization(*speeds)
    assert s is not None
    return s


# Of a straight path of length 1, with acceleration 2 and velocity 0.5.


@pytest.mark.parametrize("kind", list(ToppraDiscretization))
def test_a_straight_line_takes_bang_bang_time(slider, kind):
    points = np.linspace(0.0, 1.0, 101)
    s = solved(line(), slider, points, lambda t: t.AddJointAccelerationLimit([-2.0], [2.0], kind))
    assert s.end_time() == pytest.approx(2.0 * np.sqrt(1.0 / 2.0), rel=1e-12)
    assert s.EvalDerivative(0.5 * s.end_time(), 1)[0, 0] == pytest.approx(np.sqrt(2.0), rel=1e-12)


def test_limits_may_be_exceeded_by_a_relaxation(slider):
    toppra = Toppra(line(), slider, np.linspace(0.0, 1.0, 101))
    toppra.AddJointAccelerationLimit([-2.0], [2.0])
    assert toppra.constraint_relaxation() == 0.0
    toppra.set_constraint_relaxation(0.1)
    s = toppra.SolvePathParameterization()
    accelerations = [s.EvalDerivative(t, 2).item() for t in np.linspace(0.0, s.end_time(), 400)[1:-1]]
    assert toppra.constraint_relaxation() == 0.1 and max(accelerations) == pytest.approx(2.1)
    with pytest.raises(ValueError, match="relaxation"):
        toppra.set_constraint_relaxation(-1e-3)


def test_a_limit_of_velocity_makes_a_trapezoid(slider):
    def add(t: Toppra) -> None:
        t.AddJointAccelerationLimit([-2.0], [2.0])
        t.AddJointVelocityLimit([-0.5], [0.5])

    s = solved(line(), slider, np.linspace(0.0, 1.0, 33), add)  # 0.5^2 / (2 * 2) = 1 / 16 is a grid point
    assert s.end_time() == pytest.approx(0.5 / 2.0 + 1.0 / 0.5, rel=1e-12)


def test_speeds_at_both_ends_are_kept_and_time_starts_with_the_path(slider):
    points = np.linspace(3.0, 4.0, 11)
    s = solved(line(3.0, 4.0), slider, points, lambda t: t.AddJointAccelerationLimit([-2.0], [2.0]), 0.5, 0.25)
    assert (s.start_time(), s.value(3.0)[0, 0]) == (3.0, 3.0)
    assert s.value(s.end_time())[0, 0] == pytest.approx(4.0, abs=1e-12)
    ends = [s.EvalDerivative(t, 1)[0, 0] for t in (s.start_time(), s.end_time())]
    assert ends == pytest.approx([0.5, 0.25], abs=1e-12)


def test_force_divided_by_mass_is_the_acceleration(slider):
    s = solved(line(), slider, np.linspace(0.0, 1.0, 11), lambda t: t.AddJointTorqueLimit([-8.0], [8.0]))
    assert s.end_time() == pytest.approx(2.0 * np.sqrt(1.0 / 4.0), rel=1e-12)


def test_an_impossible_motion_is_none_and_the_reason_is_logged(slider, caplog):
    toppra = Toppra(line(), slider, np.linspace(0.0, 1.0, 11))
    toppra.AddJointAccelerationLimit([-2.0], [2.0])
    assert toppra.SolvePathParameterization(s_dot_start=2.1) is None
    assert "the speed at the start, 2.1, cannot be: limits allow speeds from 0 to 2" in caplog.text
    assert toppra.SolvePathParameterization(s_dot_start=1.9) is not None
    toppra.AddJointVelocityLimit([-0.5], [0.5])
    assert toppra.SolvePathParameterization(s_dot_end=0.6) is None
    assert "the speed at the end, 0.6, cannot be" in caplog.text
    toppra.AddFrameAccelerationLimit(slider.GetFrameByName("body"), np.full(6, 3.0), np.full(6, 4.0))
    assert toppra.SolvePathParameterization() is None
    still = Toppra(line(), slider, [0.0, 1.0])
    still.AddJointVelocityLimit([0.0], [0.0])
    assert still.SolvePathParameterization() is None
    assert "allow no motion" in caplog.text


# Of an arm.


@pytest.mark.parametrize("seed", range(3))
def test_an_arm_keeps_to_all_limits_at_grid_points(arm, seed):
    path, frame = spline(seed), arm.GetFrameByName("link_7")
    points = Toppra.CalcGridPoints(path, CalcGridPointsOptions())
    velocity, effort = arm.GetVelocityUpperLimits(), 0.5 * arm.GetEffortUpperLimits()

    def add(t: Toppra) -> None:
        t.AddJointVelocityLimit(-velocity, velocity)
        t.AddJointAccelerationLimit(-9.0 * ONE, 10.0 * ONE)
        t.AddJointTorqueLimit(-effort, effort)
        t.AddFrameVelocityLimit(frame, -1.5 * np.ones(6), 1.2 * np.ones(6))
        t.AddFrameTranslationalSpeedLimit(frame, 1.0)
        t.AddFrameAccelerationLimit(frame, -12.0 * np.ones(6), 12.0 * np.ones(6))

    s = solved(path, arm, points, add)
    q = PathParameterizedTrajectory(path, s)
    context, no_forces = arm.CreateDefaultContext(), MultibodyForces(arm)
    use = np.zeros(6)  # of each limit, the greatest part that is used
    times = s.get_segment_times()
    for t in [*times[:-1], *(t - 1e-9 for t in times[1:])]:  # both sides of each grid point
        v, vdot = q.EvalDerivative(t, 1).ravel(), q.EvalDerivative(t, 2).ravel()
        arm.SetPositionsAndVelocities(context, np.concatenate((q.value(t).ravel(), v)))
        tau = arm.CalcInverseDynamics(context, vdot, no_forces) - arm.CalcGravityGeneralizedForces(context)
        V = frame.CalcSpatialVelocityInWorld(context).get_coeffs()
        A = arm.CalcSpatialAccelerationsFromVdot(context, vdot)[frame.body().index()].get_coeffs()
        use = np.maximum(use, [
            np.abs(v / velocity).max(), np.maximum(vdot / 10.0, -vdot / 9.0).max(), np.abs(tau / effort).max(),
            np.maximum(V / 1.2, -V / 1.5).max(), np.linalg.norm(V[3:]), np.abs(A / 12.0).max(),
        ])  # fmt: skip
    assert (use < 1.0 + 1e-6).all() and use.max() > 1.0 - 1e-6


def test_interpolation_is_truer_than_collocation(arm):
    path = spline(1)
    points = np.linspace(0.0, 1.0, 101)
    worst = {}
    for kind in ToppraDiscretization:
        s = solved(path, arm, points, lambda t, k=kind: t.AddJointAccelerationLimit(-5.0 * ONE, 5.0 * ONE, k))
        q = PathParameterizedTrajectory(path, s)
        times = np.linspace(0.0, s.end_time(), 2000)
        worst[kind.name] = max(np.abs(q.EvalDerivative(t, 2)).max() for t in times) / 5.0
    assert worst["kInterpolation"] < 1.01 and worst["kCollocation"] > worst["kInterpolation"]


def test_limits_that_are_trajectories_hold_where_these_are(slider):
    def add(t: Toppra) -> None:
        t.AddJointAccelerationLimit([-1.0], [1.0])
        t.AddFrameTranslationalSpeedLimit(
            slider.GetFrameByName("body"), PiecewisePolynomial.FirstOrderHold([0.2, 0.6], np.array([[0.3, 0.3]]))
        )

    points = np.linspace(0.0, 1.0, 5)
    s = solved(line(), slider, points, add)
    speeds = [s.EvalDerivative(t, 1)[0, 0] for t in s.get_segment_times()]
    assert speeds == pytest.approx([0.0, 0.3, 0.3, np.sqrt(0.5), 0.0], abs=1e-12)


def test_bsplines_are_paths_too_and_finer_grids_come_to_one_time(arm):
    from merganser.framework.math import BsplineBasis

    points = np.random.default_rng(0).uniform(-1.0, 1.0, (N, 8))
    path = BsplineTrajectory(BsplineBasis(4, 8), points)
    times = [
        solved(path, arm, np.linspace(0.0, 1.0, n), lambda t: t.AddJointAccelerationLimit(-ONE, ONE)).end_time()
        for n in (101, 201, 401)
    ]
    assert abs(times[2] - times[1]) < 0.6 * abs(times[1] - times[0]) < 0.1 * times[0]


def test_joints_that_rest_and_equal_limits_are_no_hindrance(arm):
    ends = np.zeros((N, 2))
    ends[1, 1] = 1.0
    path = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], ends)
    low, high = np.zeros(N), np.zeros(N)
    low[1], high[1] = -4.0, 4.0

    s = solved(path, arm, np.linspace(0.0, 1.0, 21), lambda t: t.AddJointAccelerationLimit(low, high))
    assert s.end_time() == pytest.approx(1.0, rel=1e-9)


# Of grid points and wrong data.


@pytest.mark.parametrize("slopes", [(1.0, 5.0), (5.0, 1.0), (1.0, -5.0)])
def test_limits_of_velocities_hold_on_both_sides_of_a_jump_of_the_slope(
    slider: MultibodyPlant, slopes: tuple[float, float]
) -> None:
    middle = slopes[0] * 0.37
    path = PiecewisePolynomial.FirstOrderHold([0.0, 0.37, 1.0], np.array([[0.0, middle, middle + slopes[1] * 0.63]]))
    nearly = np.sort(np.append(np.linspace(0.0, 1.0, 11), np.nextafter(0.37, 1.0)))
    for points in (nearly, Toppra.CalcGridPoints(path, CalcGridPointsOptions())):

        def add(toppra: Toppra) -> None:
            toppra.AddJointVelocityLimit([-1.0], [1.0])
            toppra.AddJointAccelerationLimit([-20.0], [20.0])

        motion = PathParameterizedTrajectory(path, solved(path, slider, points, add))
        times = np.linspace(0.0, motion.end_time(), 2000)
        speeds = np.abs([motion.EvalDerivative(t, 1)[0, 0] for t in times])
        assert 0.99 < speeds.max() <= 1.0 + 1e-6


def test_grid_points_are_dense_where_the_path_is_curved():
    path = PiecewisePolynomial.CubicShapePreserving([0.0, 0.5, 0.8, 1.0], np.array([[0.0, 0.0, 1.0, 1.0]]), True)
    options = CalcGridPointsOptions(max_err=1e-3, max_seg_length=0.25, min_points=1)
    points = Toppra.CalcGridPoints(path, options)
    lengths = np.diff(points)
    assert (points[0], points[-1]) == (0.0, 1.0) and lengths.max() <= 0.25
    assert lengths[(points[:-1] > 0.5) & (points[:-1] < 0.75)].max() < lengths.max() / 4.0
    assert len(Toppra.CalcGridPoints(path, CalcGridPointsOptions(max_err=1e9, max_seg_length=9.0))) == 3 * 64 + 1
    assert {0.5, 0.8} <= set(points)
    assert CalcGridPointsOptions() == CalcGridPointsOptions(
        max_err=1e-3, max_iter=100, max_seg_length=0.05, min_points=100
    )
    with pytest.raises(ValueError, match=r"max_err: expected a finite number above 0, got -1"):
        Toppra.CalcGridPoints(path, CalcGridPointsOptions(max_err=-1.0))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0.0, 0.9], r"must go from the start of the path, 0.0, to its end, 1.0; got 2 that go from 0.0 to 0.9"),
        ([0.0, 0.5, 0.5, 1.0], r"must ascend; number 1 is 0.5 and number 2 is 0.5"),
        ([0.0, np.nan, 1.0], r"gridpoints has NaN at index 1"),
        ([], r"got 0 that go from nowhere"),
    ],
)
def test_grid_points_are_checked(slider, points, message):
    with pytest.raises(ValueError, match=message):
        Toppra(line(), slider, points)


def test_paths_and_plants_are_checked(slider, arm):
    with pytest.raises(RuntimeError, match="path must have derivatives; a FunctionHandleTrajectory has none"):
        Toppra(FunctionHandleTrajectory(lambda t: [[t]], 1, 1, 0.0, 1.0), slider, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"path must have shape \(7, 1\).* got \(1, 1\)"):
        Toppra(line(), arm, [0.0, 1.0])
    free = MultibodyPlant(0.0)
    free.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    free.Finalize()
    with pytest.raises(ValueError, match="must be the rate of position i"):
        Toppra(line(), free, [0.0, 1.0])
    with pytest.raises(TypeError, match="path must be of type Trajectory"):
        Toppra(3, slider, [0.0, 1.0])  # type: ignore[arg-type]


def test_limits_are_checked(slider, arm):
    toppra = Toppra(line(), slider, np.linspace(0.0, 1.0, 5))
    with pytest.raises(ValueError, match=r"AddJointVelocityLimit\(\): lower_limit must not be above upper_limit"):
        toppra.AddJointVelocityLimit([1.0], [-1.0])
    with pytest.raises(ValueError, match=r"expected 1 values in upper_limit, got 2"):
        toppra.AddJointTorqueLimit([1.0], [2.0, 3.0])
    with pytest.raises(ValueError, match=r"lower_limit has NaN at index 0"):
        toppra.AddJointAccelerationLimit([np.nan], [2.0])
    body = slider.GetFrameByName("body")
    with pytest.raises(RuntimeError, match="is not of plant"):
        toppra.AddFrameTranslationalSpeedLimit(arm.GetFrameByName("link_7"), 1.0)
    with pytest.raises(ValueError, match="must not be negative"):
        toppra.AddFrameTranslationalSpeedLimit(body, -1.0)
    with pytest.raises(ValueError, match=r"goes from 2 to 3, and has no part of the path, which goes from 0 to 1"):
        toppra.AddFrameTranslationalSpeedLimit(body, line(2.0, 3.0))
    with pytest.raises(ValueError, match=r"lower_limit must have shape \(6, 1\), got \(1, 1\)"):
        toppra.AddFrameAccelerationLimit(body, line(), line())
    with pytest.raises(TypeError, match="upper_limit must be of type Trajectory"):
        toppra.AddFrameAccelerationLimit(body, line(), np.ones(6))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"s_dot_start: expected a finite number, at least 0, got -1"):
        toppra.SolvePathParameterization(-1.0)


def test_bindings_are_the_rows_at_the_first_grid_point(slider):
    toppra = Toppra(line(), slider, [0.0, 1.0])
    speed = toppra.AddJointVelocityLimit([-1.0], [3.0])
    assert speed.evaluator().upper_bound() == pytest.approx([9.0])
    both, at_rest = toppra.AddJointTorqueLimit([-1.0], [3.0])
    assert both.evaluator().GetDenseA() == pytest.approx(np.array([[0.0, 2.0]]))
    assert at_rest.evaluator().GetDenseA() == pytest.approx(np.array([[2.0]]))
    assert (len(both.variables()), len(at_rest.variables())) == (2, 1)
