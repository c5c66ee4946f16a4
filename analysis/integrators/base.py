"""IntegratorBase: the steps that all integrators share, and their control."""

from __future__ import annotations

import abc
import enum
import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.dense_output import DenseOutput
from merganser.analysis.integrators.settings import IntegratorSettings
from merganser.analysis.integrators.step_size import RESOLUTION, is_too_fine, next_step_size
from merganser.framework import Context, System
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.nonfinite import blame_derivatives, is_finite

__all__ = ["CUT_SHORT", "SLIVER", "STRETCH", "IntegratorBase", "StepResult", "largest_magnitude"]

_FIRST_STEP_SIZE = 1e-3  # where neither the first nor the longest step was asked for [s]
# A step may be this much longer than the maximum, or than wanted, so that no sliver is left before an event;
# one that an event cuts to less than this share of its size does not count for the choice of the next.
STRETCH = 1.01
SLIVER = 1.001
CUT_SHORT = 0.95


class StepResult(enum.Enum):
    """Why an integrator stopped where it did."""

    kReachedPublishTime = 1
    kReachedZeroCrossing = 2
    kReachedUpdateTime = 3
    kTimeHasAdvanced = 4
    kReachedBoundaryTime = 5
    kReachedStepLimit = 6


class IntegratorBase(IntegratorSettings):
    """Advances the continuous state of a System through time.

    With error control, a step is accepted when the largest estimated error of any state variable is no more
    than the accuracy in use; step_size.py says how long the next one will be. A step that fails leaves time and
    state in the Context as they were before.

    A concrete integrator implements `_prepare`, `_step`, `supports_error_estimation` and
    `get_error_estimate_order`; one with knobs and counts of its own also `_reset_knobs`, `_reset_counts` and
    `_summary`.

    Args:
        system: the system to integrate.
        context: where its values are; if it is not given here, call `reset_context` before integrating.
    """

    _knows_start: bool  # whether _xdot_start belongs to the step in progress
    _dense_output: DenseOutput | None
    _is_prepared: bool  # whether there is room for what is computed in steps

    def __init__(self, system: System, context: Context | None = None) -> None:
        if not isinstance(system, System):
            raise TypeError(f"{type(self).__name__} takes a System, got {type(system).__name__}.")
        self._system = system
        self._context: Context | None = None
        self.Reset()
        if context is not None:
            self.reset_context(context)

    # ------------------------------------------------------------------ the method

    @abc.abstractmethod
    def get_error_estimate_order(self) -> int:
        """The p in error = O(h^p); 0 if there is no estimate."""

    @abc.abstractmethod
    def _step(self, time: float, h: float) -> float:
        """Tries a step of size h from `time` and the state `_x_start`; leaves the result in the context.

        Returns:
            The largest estimated error of any state variable; 0 without an estimate, nan if a stage was not
            finite, inf if the equations of the step could not be solved.
        """

    def _evaluate_start(self) -> None:
        """Computes `_xdot_start`, the derivatives at the start of the step, once for all attempts."""
        if not self._knows_start:
            self._xdot_start[:] = self._evaluate()
            self._knows_start = True

    def _evaluate(self) -> NDArray[Any]:
        """The derivatives at the current time and state; the array is overwritten by the next evaluation."""
        self._derivatives.update()
        self._num_derivative_evaluations += 1
        if self._is_searching_for_blame and not is_finite(self._xdot):
            raise RuntimeError(blame_derivatives(self._bound_context()))
        return self._xdot

    def _move(self, time: float, change: NDArray[Any]) -> None:
        """Sets the time, and the state to that at the start of the step plus `change`."""
        store, down = self._store, self._down
        store.invalid |= down["time"] | down["xc"]
        store.flat[0] = time
        np.add(self._x_start, change, self._x)

    def _move_back(self, time: float) -> None:
        """Returns to the start of the step."""
        store, down = self._store, self._down
        store.invalid |= down["time"] | down["xc"]
        store.flat[0] = time
        self._x[:] = self._x_start

    # ------------------------------------------------------------------ context

    def reset_context(self, context: Context) -> None:
        """Takes another context of the same system, keeping all settings; call `Initialize` afterwards.

        Raises:
            ValueError: the context belongs to another system.
            RuntimeError: the context is part of the context of a larger diagram.
        """
        self._system.ValidateContext(context)
        context.require_root(type(self).__name__)
        if not hasattr(context.store.scalar, "real"):
            raise TypeError(
                f"{type(self).__name__}: system '{self._system.GetSystemPathname()}' is one of "
                f"{scalar_of(self._system).__name__}; only systems of numbers can be simulated."
            )
        self._context = context
        self._store = store = context.store
        self._down = context.layout.down
        start, end = context.layout.xc_range
        shift = context.layout.root.num_xc
        self._x: NDArray[Any] = store.flat[start:end]
        self._xdot: NDArray[Any] = store.flat[start + shift : end + shift]
        self._is_initialized = self._is_prepared = False
        self._dense_output = None

    def _prepare_all(self) -> None:
        """Makes room for what is computed in steps."""
        context = self._bound_context()
        self._x_start = self._x.copy()
        self._xdot_start = self._xdot.copy()
        self._work = self._x.copy()
        self._quaternions = context.layout.root.unit_quaternions
        self._derivatives = context.derivative_evaluator()
        self._prepare()
        self._is_prepared = True

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Makes room for the stages of the method, once the size of the state is known."""

    def _bound_context(self) -> Context:
        if self._context is None:
            raise RuntimeError(f"{type(self).__name__} has no context; call reset_context(context) first.")
        return self._context

    def get_context(self) -> Context:
        """The context that is integrated."""
        return self._bound_context()

    def get_mutable_context(self) -> Context:
        """The context that is integrated, for changing it."""
        return self._bound_context()

    def get_system(self) -> System:
        """The system that is integrated."""
        return self._system

    # ------------------------------------------------------------------ dense output

    def StartDenseIntegration(self) -> None:
        """Begins to record the continuous state as a function of time.

        Raises:
            RuntimeError: the integrator is not initialized, there is no continuous state, or a recording is
                already in progress.
        """
        name = type(self).__name__
        if not self._is_initialized:
            raise RuntimeError(f"{name} is not initialized; call Initialize() before StartDenseIntegration().")
        if len(self._x) == 0:
            raise RuntimeError(f"{name}: the system has no continuous state to record.")
        if self._dense_output is not None:
            raise RuntimeError(f"{name} is already recording; call StopDenseIntegration() first.")
        self._dense_output = DenseOutput(self._store.flat.item(0).real, self._x)

    def get_dense_output(self) -> DenseOutput | None:
        """What has been recorded since `StartDenseIntegration`; None if no recording is in progress."""
        return self._dense_output

    def StopDenseIntegration(self) -> DenseOutput:
        """Ends the recording and returns it.

        Raises:
            RuntimeError: no recording is in progress.
        """
        if self._dense_output is None:
            raise RuntimeError(f"{type(self).__name__} is not recording; call StartDenseIntegration() first.")
        recorded, self._dense_output = self._dense_output, None
        return recorded

    # ------------------------------------------------------------------ stepping

    def Reset(self) -> None:
        """Sets all knobs to their defaults and all counts to zero, and drops what was recorded; call `Initialize`
        before integrating."""
        self._reset_settings()
        self._knows_start = False
        self._is_searching_for_blame = False
        self._dense_output = None

    def get_working_minimum_step_size(self) -> float:
        """The shortest step in use [s]: what was asked for, or what time can resolve."""
        time = abs(self._bound_context().store.flat.item(0).real)
        return max(self._min_step_size, 1e-14 * max(time, 1.0))

    def is_initialized(self) -> bool:
        """Whether `Initialize` has been called."""
        return self._is_initialized

    def Initialize(self) -> None:
        """Makes ready for integration from the current state.

        Raises:
            RuntimeError: there is no context, or no step size in fixed-step mode, or the step-size limits
                conflict.
        """
        self._bound_context()
        if self._is_fixed_step and math.isinf(self._max_step_size):
            raise RuntimeError(
                f"{type(self).__name__} takes fixed steps and has no step size; call set_maximum_step_size."
            )
        if self._min_step_size > self._max_step_size:
            raise RuntimeError(
                f"{type(self).__name__}: the requested minimum step size {self._min_step_size} s is larger "
                f"than the maximum step size {self._max_step_size} s."
            )
        first = self._initial_step_size
        if first is None:
            longest = self._max_step_size
            first = self.first_step_share * longest if math.isfinite(longest) else _FIRST_STEP_SIZE
        self._ideal_step_size = min(max(first, self.get_working_minimum_step_size()), self._max_step_size)
        if not self._is_prepared:
            self._prepare_all()
        self._is_initialized = True

    def IntegrateNoFurtherThanTime(self, publish_time: float, update_time: float, boundary_time: float) -> StepResult:
        """Takes one step, to the earliest of the given times at most.

        Args:
            publish_time: time of the next publish event [s].
            update_time: time of the next update event [s].
            boundary_time: time at which the caller wants to stop [s].

        Returns:
            Which of the times was reached (update before publish before boundary), or kTimeHasAdvanced.

        Raises:
            ValueError: one of the times lies in the past.
            RuntimeError: a value is not finite, or the accuracy cannot be met.
        """
        if not self._is_initialized:
            self.Initialize()
        time = self._store.flat.item(0).real
        for wanted in (publish_time, update_time, boundary_time):
            self._require_future(time, wanted)
        target = min(publish_time, update_time, boundary_time)
        if not self._step_towards(time, target):
            return StepResult.kTimeHasAdvanced
        if target == update_time:
            return StepResult.kReachedUpdateTime
        return StepResult.kReachedPublishTime if target == publish_time else StepResult.kReachedBoundaryTime

    def _require_future(self, time: float, target: float) -> None:
        try:
            if target >= time:
                return
        except TypeError:
            raise TypeError(f"{type(self).__name__}: expected a time in seconds, got {target!r}.") from None
        raise ValueError(f"{type(self).__name__}: cannot integrate from time {time} s back to {target} s.")

    def IntegrateWithMultipleStepsToTime(self, t_final: float) -> None:
        """Takes steps until the given time [s].

        Raises:
            ValueError: that time lies in the past.
            RuntimeError: a value is not finite, or the accuracy cannot be met.
        """
        while self.IntegrateNoFurtherThanTime(math.inf, math.inf, t_final) is StepResult.kTimeHasAdvanced:
            pass

    def IntegrateWithSingleFixedStepToTime(self, t_target: float) -> bool:
        """Takes one step to the given time [s], however long it is.

        Returns:
            Whether it succeeded; an implicit method may fail to solve for a step that is too long. Then time and
            state are as before.

        Raises:
            ValueError: that time lies in the past.
            RuntimeError: the integrator is not in fixed-step mode, or a value is not finite.
        """
        if not self._is_fixed_step:
            name = type(self).__name__
            raise RuntimeError(f"{name} is under error control; call set_fixed_step_mode(True) for a fixed step.")
        if not self._is_initialized:
            self.Initialize()
        time = self._store.flat.item(0).real
        self._require_future(time, t_target)
        if len(self._x) == 0 or t_target == time:
            self._bound_context().put_time(t_target)
            return True
        h = t_target - time
        self._x_start[:] = self._x
        self._knows_start = False
        try:
            if not self._try_fixed_step(time, h):
                self._num_failure_shrinkages += 1
                self._move_back(time)
                return False
            self._finish_step(time, t_target)
        except BaseException:
            self._move_back(time)
            raise
        self._note_step(h, True)
        return True

    def _step_towards(self, time: float, target: float) -> bool:
        """One accepted step; on failure nothing is changed.

        Returns:
            Whether it ends at `target`.
        """
        if len(self._x) == 0 or target == time:
            self._bound_context().put_time(target)
            return True
        room = target - time
        is_last = room <= STRETCH * self._max_step_size
        if not is_last:
            room = self._max_step_size
            if is_too_fine(room, time):
                self._refuse_step_size(time)
        self._x_start[:] = self._x
        self._knows_start = False
        try:
            h = self._fixed_step(time, room) if self._is_fixed_step else self._controlled_step(time, room)
            is_last = is_last and h == room
            self._finish_step(time, target if is_last else None)
        except BaseException:
            self._move_back(time)
            raise
        self._note_step(h, is_last)
        return is_last

    def _refuse_step_size(self, time: float) -> NoReturn:
        raise RuntimeError(
            f"{type(self).__name__} of system '{self._system.GetSystemPathname()}': at time {time} s steps of "
            f"{self._max_step_size} s at most are shorter than what time can resolve there, about "
            f"{RESOLUTION * abs(time):.3g} s. Set a larger maximum step size, or begin at an earlier time."
        )

    def _finish_step(self, time: float, end: float | None) -> None:
        """Sets the time to exactly `end`, and records the step if asked to."""
        store = self._store
        if end is not None and store.flat.item(0) != end:  # time + h may differ from it in the last digit
            store.invalid |= self._down["time"]
            store.flat[0] = end
        if self._quaternions:
            self._scale_quaternions()
        if self._dense_output is None:
            return
        xdot_end = self._evaluate()
        if not is_finite(xdot_end):
            raise RuntimeError(blame_derivatives(self._bound_context()))
        end_time = store.flat.item(0).real
        self._dense_output._append(time, end_time, self._x_start, self._x, self._xdot_start, xdot_end)

    def _scale_quaternions(self) -> None:
        """Gives the quaternions in the state length 1 again; integration preserves it to its accuracy only."""
        for start in self._quaternions:
            quaternion = self._x[start : start + 4]
            w, x, y, z = quaternion.tolist()
            length = np.sqrt(w * w + x * x + y * y + z * z)
            if length != 1.0 and length != 0.0:
                self._store.invalid |= self._down["xc"]
                quaternion[:] = quaternion / length

    def _fixed_step(self, time: float, room: float) -> float:
        """Takes a step, half of it if its equations cannot be solved, and so on; returns its size."""
        h = room
        while not self._try_fixed_step(time, h):
            self._num_failure_shrinkages += 1
            h *= 0.5
            if h < self.get_working_minimum_step_size():
                self._blame(time, h)
            self._move_back(time)
        return h

    def _try_fixed_step(self, time: float, h: float) -> bool:
        """Takes a step without error control; returns whether its equations could be solved."""
        if math.isinf(self._step(time, h)):
            if not is_finite(self._xdot_start):
                self._blame(time, h)
            return False
        if not math.isfinite(largest_magnitude(self._x, self._work)):
            self._blame(time, h)
        return True

    def _controlled_step(self, time: float, room: float) -> float:
        """Tries steps until one is accurate enough; returns its size, `room` at most."""
        accuracy, order = self.get_accuracy_in_use(), self.get_error_estimate_order()
        h = min(self._ideal_step_size, self._max_step_size)
        is_cut_short = room < CUT_SHORT * h
        if is_cut_short or room < SLIVER * h:
            h = room
        while True:
            error = self._step(time, h)
            wanted = next_step_size(h, error, accuracy, order)
            if wanted >= h:
                if not is_cut_short:  # such a step says little about the next one
                    self._ideal_step_size = min(max(wanted, self._min_step_size), self._max_step_size)
                return h
            minimum = self.get_working_minimum_step_size()
            if h <= SLIVER * minimum:
                self._accept_or_raise(time, h, error, accuracy)
                return h
            if math.isfinite(error):
                self._num_error_shrinkages += 1
            else:
                self._num_failure_shrinkages += 1
                if not is_finite(self._xdot_start):
                    self._blame(time, h)
            h = max(wanted, minimum)
            is_cut_short = False
            self._move_back(time)

    def _accept_or_raise(self, time: float, h: float, error: float, accuracy: float) -> None:
        """Raises if a step of the shortest size is worse than what the user has agreed to."""
        if not math.isfinite(error):
            self._blame(time, h)
        if self._throws_on_minimum_step_size:
            raise RuntimeError(
                f"{type(self).__name__}: at time {time} s the error {error:.3g} of a step of {h:.3g} s is "
                f"larger than the accuracy {accuracy:.3g}, and shorter steps are not allowed. The system may "
                "be stiff or not smooth: loosen the accuracy, or accept the error with "
                "set_throw_on_minimum_step_size_violation(False)."
            )
        self._ideal_step_size = h

    def _blame(self, time: float, h: float) -> NoReturn:
        """Repeats a failed step up to the first derivatives that are not finite, and names their origin."""
        self._move_back(time)
        self._knows_start = False
        self._is_searching_for_blame = True
        try:
            error = self._step(time, h)
        finally:
            self._is_searching_for_blame = False
        if math.isinf(error):
            raise RuntimeError(
                f"{type(self).__name__}: at time {time} s the equations of a step of {h:.3g} s could not be "
                "solved, and shorter steps are not allowed. The system may not be smooth there, or its state is "
                "beyond what it can describe."
            )
        raise RuntimeError(blame_derivatives(self._bound_context()))

    def _note_step(self, h: float, is_last: bool) -> None:
        if self._num_steps_taken == 0:
            self._actual_initial_step_size = self._largest_step_size = h
        self._num_steps_taken += 1
        self._previous_step_size = h
        if h > self._largest_step_size:
            self._largest_step_size = h
        if not self._is_fixed_step and not (is_last or h >= self._smallest_step_size):
            self._smallest_step_size = h


def largest_magnitude(values: NDArray[Any], work: NDArray[Any]) -> float:
    """The largest absolute value, nan if there is a nan; `work` is room for as many elements."""
    np.abs(values, out=work)
    largest: float = work.item(work.argmax()).real
    return largest if work.dtype.kind != "O" or is_finite(work) else math.nan
