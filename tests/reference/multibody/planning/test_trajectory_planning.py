"""Toppra and KinematicTrajectoryOptimization against pydrake's."""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")

pytestmark = pytest.mark.reference

ARM = str(Path(__file__).resolve().parents[4] / "examples" / "models" / "arm7.urdf")
ROOTS = ("pydrake", "merganser")
ONE = np.ones(7)
SIX = np.ones(6)


@dataclasses.dataclass
class Package:
    """Names of one package for these tests."""

    planning: Any
    optimization: Any
    trajectories: Any
    solvers: Any
    plant: Any

    def path(self, seed: int) -> Any:
        samples = np.random.default_rng(seed).uniform(-1.0, 1.0, (7, 5))
        make = self.trajectories.PiecewisePolynomial.CubicWithContinuousSecondDerivatives
        return make(np.linspace(0.0, 1.0, 5), samples)

    def hold(self, start: float, end: float, first: Any, last: Any) -> Any:
        make = self.trajectories.PiecewisePolynomial.FirstOrderHold
        return make([start, end], np.column_stack((np.ravel(first), np.ravel(last))))


@pytest.fixture(scope="module")
def packages() -> dict[str, Package]:
    return {root: package(root) for root in ROOTS}


def package(root: str) -> Package:
    is_ours = root == "merganser"
    plant = importlib.import_module(f"{root}.multibody.plant").MultibodyPlant(0.0)
    importlib.import_module(f"{root}.multibody.parsing").Parser(plant).AddModels(ARM)
    plant.Finalize()
    return Package(
        importlib.import_module("merganser.multibody.planning" if is_ours else "pydrake.planning"),
        importlib.import_module("merganser.multibody.planning" if is_ours else "pydrake.multibody.optimization"),
        importlib.import_module("merganser.framework.trajectories" if is_ours else "pydrake.trajectories"),
        importlib.import_module("merganser.framework.optimization" if is_ours else "pydrake.solvers"),
        plant,
    )


# ---------------------------------------------------------------------------------------------------------- Toppra

LIMITS: dict[str, Callable[[Any, Package, Any], object]] = {
    "velocity": lambda t, p, kind: t.AddJointVelocityLimit(
        -p.plant.GetVelocityUpperLimits(), p.plant.GetVelocityUpperLimits()
    ),
    "acceleration": lambda t, p, kind: t.AddJointAccelerationLimit(-5.0 * ONE, 6.0 * ONE, kind),
    "torque": lambda t, p, kind: t.AddJointTorqueLimit(
        -p.plant.GetEffortUpperLimits(), p.plant.GetEffortUpperLimits(), kind
    ),
    "frame velocity": lambda t, p, kind: t.AddFrameVelocityLimit(hand(p), -0.5 * SIX, 0.6 * SIX),
    "frame speed": lambda t, p, kind: t.AddFrameTranslationalSpeedLimit(hand(p), 0.4),
    "frame speed along": lambda t, p, kind: t.AddFrameTranslationalSpeedLimit(hand(p), p.hold(0.2, 0.6, 0.2, 0.4)),
    "frame acceleration": lambda t, p, kind: t.AddFrameAccelerationLimit(hand(p), -2.0 * SIX, 3.0 * SIX, kind),
    "frame acceleration along": lambda t, p, kind: t.AddFrameAccelerationLimit(
        hand(p), p.hold(0.2, 0.6, -SIX, -2.0 * SIX), p.hold(0.2, 0.6, 2.0 * SIX, SIX), kind
    ),
}


def hand(p: Package) -> Any:
    return p.plant.GetFrameByName("link_7")


def parameterized(p: Package, points: Any, names: tuple[str, ...], kind: str, speeds: tuple[float, ...] = ()) -> Any:
    """Times and speeds at the grid points, and the processor time that it took."""
    path, start = p.path(2), time.process_time()
    toppra = p.optimization.Toppra(path, p.plant, points)
    for name in names:
        LIMITS[name](toppra, p, getattr(p.optimization.ToppraDiscretization, kind))
    s = toppra.SolvePathParameterization(*speeds)
    took = time.process_time() - start
    if s is None:
        return None, took
    times = s.get_segment_times()
    return np.array([times, [s.EvalDerivative(t, 1)[0, 0] for t in times]]), took


def grid(p: Package) -> Any:
    """Grid points, with one more at the very end.

    pydrake's interpolation does not look at the end of the last segment, and exceeds limits there; so that is short:
    times differ by what grows with its length to the power 1.5.
    """
    points = p.optimization.Toppra.CalcGridPoints(p.path(2), p.optimization.CalcGridPointsOptions())
    return np.concatenate((points[:-1], [1.0 - 2e-6, 1.0]))


@pytest.mark.parametrize("kind", ["kCollocation", "kInterpolation"])
@pytest.mark.parametrize("name", [name for name in LIMITS if name != "velocity"])
def test_the_fastest_way_is_the_same(packages, name, kind):
    names = ("velocity", name) if name in ("acceleration", "torque") else ("acceleration", name)
    theirs, ours = (parameterized(packages[root], grid(packages[root]), names, kind)[0] for root in ROOTS)
    assert np.abs(theirs - ours).max() < 1e-6


def test_speeds_at_the_ends_and_what_cannot_be(packages):
    for speeds in ((0.05, 0.02), (3.0, 0.0)):
        theirs, ours = (
            parameterized(packages[root], grid(packages[root]), ("velocity", "acceleration"), "kCollocation", speeds)[0]
            for root in ROOTS
        )
        assert (theirs is None) == (ours is None) == (speeds[0] == 3.0)
        assert theirs is None or np.abs(theirs - ours).max() < 1e-6


def test_in_the_last_segment_only_ours_keeps_to_limits(packages):
    """pydrake looks at both ends of a segment, but of the last one only at its start."""
    used = {}
    points = np.linspace(0.0, 1.0, 101)
    for root, p in packages.items():
        (_, speed), _ = parameterized(p, points, ("acceleration",), "kInterpolation")
        path, u = p.path(2), np.diff(speed**2) / (2.0 * np.diff(points))
        vdot = (path.EvalDerivative(1.0, 1) * u[-1] + path.EvalDerivative(1.0, 2) * speed[-1] ** 2).ravel()
        used[root] = np.maximum(vdot / 6.0, -vdot / 5.0).max()
    assert used["merganser"] < 1.0 + 1e-9 and used["pydrake"] > 1.01


def test_grid_points_are_the_same(packages):
    for options in ({}, {"max_err": 1e-2, "max_seg_length": 0.3, "min_points": 7}, {"max_iter": 2}):
        found = [
            p.optimization.Toppra.CalcGridPoints(p.path(3), p.optimization.CalcGridPointsOptions(**options))
            for p in packages.values()
        ]
        assert np.array_equal(*found)


def test_it_is_no_slower(packages):
    names, best = ("velocity", "acceleration", "torque"), dict.fromkeys(packages, np.inf)
    for _ in range(7):  # in turns, as a busy machine slows down for seconds
        for root, p in packages.items():
            best[root] = min(best[root], parameterized(p, grid(p), names, "kInterpolation")[1])
    assert best["merganser"] < best["pydrake"]  # half of it


# -------------------------------------------------------------------------------- KinematicTrajectoryOptimization


def added(p: Package) -> tuple[Any, list[Any]]:
    """A program with all that is linear or has the same form in both packages, and what was added."""
    program, lb, ub = p.planning.KinematicTrajectoryOptimization(2, 6, 4, 2.0), [-1.0, -2.0], [1.0, 3.0]
    bindings = [*program.AddPathLengthCost(3.0), *program.AddPathEnergyCost(3.0), program.AddDurationCost(2.0)]
    bindings += [*program.AddPositionBounds(lb, ub), *program.AddVelocityBounds(lb, ub)]
    bindings += [program.AddDurationConstraint(None, 3.0), program.AddDurationConstraint(0.1, None)]
    linear = p.solvers.LinearConstraint
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    for s in (0.0, 0.2, 0.5, 1.0):
        bindings += [
            program.AddPathPositionConstraint(lb, ub, s), program.AddPathVelocityConstraint(lb, ub, s),
            program.AddPathAccelerationConstraint(lb, ub, s),
            program.AddPathPositionConstraint(linear(A, lb, ub), s),
            program.AddVelocityConstraintAtNormalizedTime(linear(np.hstack((A, A + 5.0)), lb, ub), s),
        ]  # fmt: skip
        of_qdot = p.solvers.Binding[linear](linear(A, lb, ub), program.qdot())
        bindings += program.AddVelocityConstraintAtNormalizedTime(of_qdot, s)
    return program, bindings


def test_costs_and_constraints_have_the_same_values_and_bounds(packages):
    (theirs, their_bindings), (ours, our_bindings) = (added(p) for p in packages.values())
    x = np.random.default_rng(0).uniform(0.5, 1.5, 13)
    assert len(their_bindings) == len(our_bindings)
    for a, b in zip(their_bindings, our_bindings):
        assert np.allclose(theirs.prog().EvalBinding(a, x), ours.prog().EvalBinding(b, x), rtol=1e-12, atol=1e-12)
        assert a.evaluator().get_description() == b.evaluator().get_description()
        if hasattr(a.evaluator(), "lower_bound"):
            assert np.array_equal(a.evaluator().lower_bound(), b.evaluator().lower_bound())
            assert np.array_equal(a.evaluator().upper_bound(), b.evaluator().upper_bound())


def test_efforts_are_the_same(packages):
    x = np.append(np.random.default_rng(0).uniform(-1.5, 1.5, 56), 1.3)
    found = []
    for p in packages.values():
        program = p.planning.KinematicTrajectoryOptimization(7, 8)
        bindings = program.AddEffortBoundsAtNormalizedTimes(p.plant, [0.0, 0.3, 1.0])
        found.append([(program.prog().EvalBinding(b, x), b.evaluator().lower_bound()) for b in bindings])
    assert np.allclose(*found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("has_efforts", [False, True])
def test_solutions_are_the_same(packages, has_efforts):
    goal = np.array([0.8, -0.6, 0.7, -1.2, 0.4, 0.9, -0.5])
    found = []
    for p in packages.values():
        program = p.planning.KinematicTrajectoryOptimization(7, 8)
        for place, s in ((0.0 * goal, 0.0), (goal, 1.0)):
            program.AddPathPositionConstraint(place, place, s)
            program.AddPathVelocityConstraint(0.0 * ONE, 0.0 * ONE, s)
        velocity = p.plant.GetVelocityUpperLimits()
        program.AddVelocityBounds(-velocity, velocity)
        program.AddDurationCost()
        program.AddPathLengthCost()
        if has_efforts:
            program.AddAccelerationBounds(-5.0 * ONE, 5.0 * ONE)
            program.AddJerkBounds(-60.0 * ONE, 60.0 * ONE)
            program.AddEffortBoundsAtNormalizedTimes(p.plant, [0.0, 0.25, 0.5, 0.75, 1.0])
        straight = np.outer(goal, np.linspace(0.0, 1.0, 8))
        program.SetInitialGuess(p.trajectories.BsplineTrajectory(program.basis(), [*straight.T[:, :, np.newaxis]]))
        result = p.solvers.Solve(program.prog())
        assert result.is_success()
        found.append([result.get_optimal_cost(), program.ReconstructTrajectory(result).end_time()])
    assert np.allclose(*found, rtol=1e-4)
