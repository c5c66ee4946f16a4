"""Trajectories in compiled code give what their classes give, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.core.inside import slot_of
from merganser.framework.math import BsplineBasis, Quaternion
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import TrajectorySource
from merganser.framework.trajectories import (
    BezierCurve,
    BsplineTrajectory,
    CompositeTrajectory,
    DerivativeTrajectory,
    FunctionHandleTrajectory,
    PathParameterizedTrajectory,
    PiecewisePolynomial,
    PiecewiseQuaternionSlerp,
    StackedTrajectory,
)

_random = np.random.default_rng(1)
END = 4.0


def points(count: int) -> Any:
    return _random.normal(size=(3, count))


def stacked(*children: Any) -> StackedTrajectory:
    result = StackedTrajectory()
    for child in children:
        result.Append(child)
    return result


def slerp() -> PiecewiseQuaternionSlerp:
    samples = _random.normal(size=(4, 4))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    return PiecewiseQuaternionSlerp([0.0, 1.0, 2.0, 3.0, END], [Quaternion(*q) for q in samples[[0, 0, 1, 2, 3]]])


POLYNOMIAL = PiecewisePolynomial.CubicShapePreserving([0.0, 1.0, 2.5, END], points(4))
SPLINE = BsplineTrajectory(BsplineBasis(4, 7, initial_parameter_value=0.0, final_parameter_value=END), points(7))
BEZIER = BezierCurve(0.0, END, points(5))
COMPOSITE = CompositeTrajectory([BezierCurve(0.0, 1.0, points(4)), BezierCurve(1.0, END, points(3))])
SCALING = PiecewisePolynomial.CubicShapePreserving([0.0, 1.0, 3.0], [[0.0, 1.5, END]])
TRAJECTORIES = {
    "polynomial": POLYNOMIAL,
    "B-spline": SPLINE,
    "Bezier curve": BEZIER,
    "composition": COMPOSITE,
    "aligned composition": CompositeTrajectory.AlignAndConcatenate([BEZIER, SPLINE, POLYNOMIAL]),
    "stack": stacked(BEZIER, COMPOSITE),
    "path": PathParameterizedTrajectory(SPLINE, SCALING),
    "path of a composition": PathParameterizedTrajectory(COMPOSITE, SCALING),
    "derivative": DerivativeTrajectory(SPLINE, 1),
}


def check(source: TrajectorySource) -> None:
    port, times = source.get_output_port(), _random.uniform(-0.5, 7.0, 40).tolist()
    compiled, interpreted = source.CreateDefaultContext(), source.CreateDefaultContext()
    slot = slot_of(port, compiled)
    tape = Tape(compiled, [slot])
    assert tape.num_operations() == 1
    for time in [*times, 0.0, 1.0, 2.5, 3.0, END]:
        compiled.SetTime(time)
        interpreted.SetTime(time)
        slot.value.SetFromVector(np.full(port.size(), np.nan))
        tape.run()
        np.testing.assert_array_equal(slot.value.value(), port.Eval(interpreted))


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("name", TRAJECTORIES)
def test_values_and_derivatives(name: str, order: int) -> None:
    check(TrajectorySource(TRAJECTORIES[name], order))


def test_orientations() -> None:
    check(TrajectorySource(slerp()))


def test_derivatives_go_on_beyond_the_ends_if_that_is_asked_for() -> None:
    check(TrajectorySource(POLYNOMIAL, 1, zero_derivatives_beyond_limits=False))


def test_another_trajectory_takes_effect() -> None:
    source = TrajectorySource(POLYNOMIAL)
    context = source.CreateDefaultContext()
    slot = slot_of(source.get_output_port(), context)
    tape = Tape(context, [slot])
    tape.run()
    source.UpdateTrajectory(SPLINE)
    context.SetTime(1.0)
    assert tape.is_allowed()
    tape.run()
    np.testing.assert_array_equal(slot.value.value(), SPLINE.value(1.0)[:, 0])


class Mirrored(BezierCurve):
    """A class of one's own, which computes otherwise."""

    def do_value(self, t: Any) -> Any:
        return -super().do_value(t)


@pytest.mark.parametrize(
    "trajectory",
    [Mirrored(0.0, END, points(3)), FunctionHandleTrajectory(lambda t: np.array([[t]]), 1, 1)],
    ids=["derived class", "function"],
)
def test_what_only_python_can_compute_is_left_to_it(trajectory: Any) -> None:
    source = TrajectorySource(stacked(trajectory))
    context = source.CreateDefaultContext()
    tape = Tape(context, [slot_of(source.get_output_port(), context)])
    assert tape.num_operations() == 0
