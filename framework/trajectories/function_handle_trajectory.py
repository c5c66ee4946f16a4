"""FunctionHandleTrajectory: a function as a trajectory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.core.values.arguments import checked_size
from merganser.framework.trajectories._scalars import Array, plain
from merganser.framework.trajectories.composed_trajectories import DerivativeTrajectory
from merganser.framework.trajectories.trajectory import Trajectory


class FunctionHandleTrajectory(Trajectory):
    """The values of a function, at any time, be it before the start or beyond the end.

    Args:
        func: func(t) returns the value, shape [rows, cols], or [rows] for a single column.
        rows, cols: the shape of values.
        start_time, end_time: what the methods of these names return.

    Raises:
        TypeError: `func` is not a function.
        ValueError: a size is negative, or the end is before the start.
    """

    def __init__(
        self,
        func: Callable[[Any], Any],
        rows: int,
        cols: int = 1,
        start_time: Any = -math.inf,
        end_time: Any = math.inf,
    ) -> None:
        if not callable(func):
            raise TypeError(f"FunctionHandleTrajectory: func must be a function, got {type(func).__name__}.")
        self._shape = checked_size(rows, "FunctionHandleTrajectory: rows"), checked_size(cols, "cols")
        if plain(end_time) < plain(start_time):
            raise ValueError(
                f"FunctionHandleTrajectory: the end time {end_time} is before the start time {start_time}."
            )
        self._func = func
        self._derivative_func: Callable[[Any, int], Any] | None = None
        self._times = start_time, end_time

    def set_derivative(self, func: Callable[[Any, int], Any]) -> None:
        """Sets the derivatives: func(t, order) returns the derivative of that order, at least 1, at t."""
        if not callable(func):
            raise TypeError(f"FunctionHandleTrajectory: func must be a function, got {type(func).__name__}.")
        self._derivative_func = func

    def _scalar_type(self) -> Any:
        return None  # functions compute with any

    def Clone(self) -> FunctionHandleTrajectory:
        """Returns a copy that calls the same functions."""
        result = FunctionHandleTrajectory(self._func, *self._shape, *self._times)
        result._derivative_func = self._derivative_func
        return result

    def __deepcopy__(self, memo: Any) -> FunctionHandleTrajectory:
        return self.Clone()

    def do_rows(self) -> int:
        return self._shape[0]

    def do_cols(self) -> int:
        return self._shape[1]

    def do_start_time(self) -> Any:
        return self._times[0]

    def do_end_time(self) -> Any:
        return self._times[1]

    def do_value(self, t: Any) -> Array:
        return self._checked(self._func(t), "the function")

    def do_has_derivative(self) -> bool:
        return self._derivative_func is not None

    def DoEvalDerivative(self, t: Any, derivative_order: int) -> Array:
        if self._derivative_func is None:
            raise RuntimeError("FunctionHandleTrajectory: there are no derivatives; set them with set_derivative().")
        return self._checked(self._derivative_func(t, derivative_order), "the function of derivatives")

    def DoMakeDerivative(self, derivative_order: int) -> Trajectory:
        return DerivativeTrajectory(self, derivative_order)

    def _checked(self, value: Any, what: str) -> Array:
        array = np.asarray(value)
        matrix = array.reshape(-1, 1) if array.ndim < 2 else array
        if matrix.shape != self._shape:
            raise RuntimeError(
                f"FunctionHandleTrajectory: {what} returned a value of shape {array.shape}, but {self._shape} was "
                "declared."
            )
        return matrix.astype(np.float64) if matrix.dtype.kind in "biuf" else matrix
