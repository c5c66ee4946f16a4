"""Prediction of a model predictive controller: the linear model and the reference, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.discrete_time_approximation import DiscreteTimeApproximation
from merganser.analysis.system_dynamics import set_state_values, state_values
from merganser.framework import Context, OutputPortSelection, System
from merganser.framework.primitives import AffineSystem, FirstOrderTaylorApproximation
from merganser.framework.trajectories import Trajectory

Array = NDArray[np.float64]
_NAME = "LinearModelPredictiveController"


@dataclass(frozen=True, eq=False)
class Step:
    """dx[k+1] = A dx[k] + B du[k] + c, of deviations dx = x - x_ref[k] and du = u - u_ref[k].

    Attributes:
        A, B, c: shapes [n, n], [n, m] and [n]; c is how far the model, at the reference, misses its next point.
        x, u: x_ref[k] and u_ref[k].
    """

    A: Array
    B: Array
    c: Array
    x: Array
    u: Array


@dataclass(frozen=True, eq=False)
class PredictedMotion:
    """Steps one period apart, from a start time on; the first step is used before it, the last one after the end."""

    steps: list[Step]
    start_time: float
    period: float

    def window(self, time: float, count: int) -> list[Step]:
        """The steps from a time on, rounded to whole periods."""
        first = max(round((time - self.start_time) / self.period), 0)
        last = len(self.steps) - 1
        return [self.steps[min(first + k, last)] for k in range(count)]


def at_operating_point(model: System, context: Context, period: float, input_port_index: int) -> PredictedMotion:
    """The model about the state and the input in a Context, for all times."""
    affine = _affine(model, context, period, input_port_index)
    x, u = state_values(context), _input(model, context, input_port_index)
    return PredictedMotion([_step(affine, x, u, x)], 0.0, period)


def along_trajectories(
    model: System, context: Context, period: float, input_port_index: int, x_ref: Trajectory, u_ref: Trajectory
) -> PredictedMotion:
    """The model about states and inputs of trajectories; after their end, about the values there.

    Raises:
        ValueError: a trajectory has another size than the state or the input.
    """
    here = context.Clone()
    x, u = state_values(context), _input(model, context, input_port_index)
    for what, trajectory, size in (("state_trajectory", x_ref, x.size), ("input_trajectory", u_ref, u.size)):
        if (trajectory.rows(), trajectory.cols()) != (size, 1):
            raise ValueError(
                f"{_NAME}: {what} must have the shape {(size, 1)} for system '{model.GetSystemPathname()}', got "
                f"{(trajectory.rows(), trajectory.cols())}."
            )
    start, end = x_ref.start_time(), x_ref.end_time()
    if not np.isfinite([start, end]).all():
        raise ValueError(f"{_NAME}: state_trajectory must begin and end at finite times, got {start} and {end} s.")
    times = start + period * np.arange(int(np.ceil((end - start) / period - 1e-9)) + 1)
    points = [(x_ref.value(min(t, end)).ravel(), u_ref.value(min(t, u_ref.end_time())).ravel()) for t in times]
    steps = []
    for i, (t, (x, u)) in enumerate(zip(times, points)):
        here.SetTime(t)
        set_state_values(here, x)
        model.get_input_port(input_port_index).FixValue(here, u)
        following, _ = points[min(i + 1, len(points) - 1)]
        steps.append(_step(_affine(model, here, period, input_port_index), x, u, following))
    return PredictedMotion(steps, float(start), period)


def _affine(model: System, context: Context, period: float, input_port_index: int) -> AffineSystem:
    """The model about a state and an input, in discrete time.

    Raises:
        ValueError: the model has another period.
    """
    affine = FirstOrderTaylorApproximation(model, context, input_port_index, OutputPortSelection.kNoOutput)
    if affine.time_period() == 0.0:
        discrete: AffineSystem = DiscreteTimeApproximation(affine, period)
        return discrete
    if not np.isclose(affine.time_period(), period, rtol=1e-9):
        raise ValueError(
            f"{_NAME}: time_period must be that of the discrete-time model '{model.GetSystemPathname()}', "
            f"{affine.time_period()} s, got {period} s."
        )
    return affine


def _step(affine: AffineSystem, x: Array, u: Array, following: Array) -> Step:
    A, B = affine.A(), affine.B()
    return Step(A, B, A @ x + B @ u + affine.f0() - following, x, u)


def _input(model: System, context: Context, input_port_index: int) -> Array:
    value: Array = np.array(model.get_input_port(input_port_index).Eval(context), dtype=np.float64).ravel()
    return value
