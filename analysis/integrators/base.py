"""IntegratorBase: step-size control and the knobs that all integrators share."""

from __future__ import annotations

import abc
import enum
import math
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators.step_size import next_step_size
from merganser.framework import Context, System
from merganser.framework.core.nonfinite import blame_derivatives

__all__ = ["IntegratorBase", "StepResult", "largest_magnitude"]

_FIRST_STEP_SIZE = 1e-3  # where neither the first nor the longest step was asked for [s]
# A step may be this much longer than the maximum, or than wanted, so that no sliver is left before an event;
# one that an event cuts to less than this share of its size does not count for the choice of the next.
_STRETCH = 1.01
_SLIVER = 1.001
_CUT_SHORT = 0.95


class StepResult(enum.Enum):
    """Why an integrator stopped where it did."""

    kReachedPublishTime = 1
    kReachedZeroCrossing = 2
    kReachedUpdateTime = 3
    kTimeHasAdvanced = 4
    kReachedBoundaryTime = 5
    kReachedStepLimit = 6


class IntegratorBase(abc.ABC):
    """Advances the continuous state of a System through time.

    With error control, a step is accepted when the largest estimated error of any state variable is no more
    than the accuracy in use; step_size.py says how long the next one will be. A step that fails leaves time and
    state in the Context as they were before.

    A concrete integrator implements `_prepare`, `_step`, `supports_error_estimation` and
    `get_error_estimate_order`.

    Args:
        system: the system to integrate.
        context: where its values are; if it is not given here, call `reset_context` before integrating.
    """

    # What a concrete integrator is: accuracy when none is asked for, and the loosest that makes sense.
    default_accuracy = 1e-3
    loosest_accuracy = 0.1

    _knows_start: bool  # whether _xdot_start belongs to the step in progress

    def __init__(self, system: System, context: Context | None = None) -> None:
        self._system = system
        self._context: Context | None = None
        self.Reset()
        if context is not None:
            self.reset_context(context)

    # ------------------------------------------------------------------ the method

    @abc.abstractmethod
    def supports_error_estimation(self) -> bool:
        """Whether the method estimates its error, so that it can choose its step size."""

    @abc.abstractmethod
    def get_error_estimate_order(self) -> int:
        """The p in error = O(h^p); 0 if there is no estimate."""

    @abc.abstractmethod
    def _step(self, time: float, h: float) -> float:
        """Tries a step of size h from `time` and the state `_x_start`; leaves the result in the context.

        Returns:
            The largest estimated error of any state variable; not finite if a stage was not, 0 without an
            estimate.
        """

    def _evaluate_start(self) -> None:
        """Computes `_xdot_start`, the derivatives at the start of the step, once for all attempts."""
        if not self._knows_start:
            self._xdot_start[:] = self._evaluate()
            self._knows_start = True

    def _evaluate(self) -> NDArray[Any]:
        """The derivatives at the current time and state; the array is overwritten by the next evaluation."""
        store = self._store
        for slot in self._derivative_slots:
            if store.invalid & slot.bit:
                slot.compute()
        self._num_derivative_evaluations += 1
        if self._is_searching_for_blame and not np.isfinite(self._xdot).all():
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
        self._system._check_context(context)
        context._require_root(type(self).__name__)
        self._context = context
        self._store = store = context._store
        self._down = context._layout.down
        start, end = context._layout.xc_range
        shift = context._layout.root.num_xc
        self._x: NDArray[Any] = store.flat[start:end]
        self._xdot: NDArray[Any] = store.flat[start + shift : end + shift]
        self._x_start = self._x.copy()
        self._xdot_start = self._xdot.copy()
        self._work = self._x.copy()
        self._derivative_slots = [slot for slot in context._xcdot_slots if slot.entry.vector_size]
        self._is_initialized = False
        self._prepare()

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

    # ------------------------------------------------------------------ knobs

    def Reset(self) -> None:
        """Sets all knobs to their defaults and all counts to zero; call `Initialize` before integrating."""
        self._max_step_size = math.inf
        self._min_step_size = 0.0
        self._throws_on_minimum_step_size = True
        self._is_fixed_step = not self.supports_error_estimation()
        self._target_accuracy: float | None = None
        self._initial_step_size: float | None = None
        self._ideal_step_size = math.nan
        self._is_initialized = False
        self._knows_start = False
        self._is_searching_for_blame = False
        self.ResetStatistics()

    def set_maximum_step_size(self, max_step_size: float) -> None:
        """Takes no step longer than this [s]; in fixed-step mode, all steps have this size."""
        if not max_step_size > 0.0:
            raise ValueError(f"The maximum step size must be positive, got {max_step_size}.")
        self._max_step_size = float(max_step_size)

    def get_maximum_step_size(self) -> float:
        """The longest step allowed [s]."""
        return self._max_step_size

    def set_requested_minimum_step_size(self, min_step_size: float) -> None:
        """Takes no step shorter than this [s], save the last one before an event."""
        if not min_step_size >= 0.0:
            raise ValueError(f"The minimum step size cannot be negative, got {min_step_size}.")
        self._min_step_size = float(min_step_size)
        self._is_initialized = False

    def get_requested_minimum_step_size(self) -> float:
        """The shortest step asked for [s]."""
        return self._min_step_size

    def get_working_minimum_step_size(self) -> float:
        """The shortest step in use [s]: what was asked for, or what time can resolve."""
        time = abs(self._bound_context()._store.flat.item(0))
        return max(self._min_step_size, 1e-14 * max(time, 1.0))

    def set_throw_on_minimum_step_size_violation(self, throws: bool) -> None:
        """Whether to raise when the accuracy cannot be met with the shortest step, or to accept the error."""
        self._throws_on_minimum_step_size = throws

    def get_throw_on_minimum_step_size_violation(self) -> bool:
        """Whether to raise when the accuracy cannot be met with the shortest step."""
        return self._throws_on_minimum_step_size

    def set_fixed_step_mode(self, flag: bool) -> None:
        """Whether all steps have the maximum step size, without error control."""
        if not flag and not self.supports_error_estimation():
            raise RuntimeError(f"{type(self).__name__} has no error estimate; it can only take fixed steps.")
        self._is_fixed_step = flag
        self._is_initialized = False

    def get_fixed_step_mode(self) -> bool:
        """Whether all steps have the maximum step size."""
        return self._is_fixed_step

    def set_target_accuracy(self, accuracy: float) -> None:
        """Asks for this much error a step, at most, in any state variable."""
        if not accuracy > 0.0:
            raise ValueError(f"The target accuracy must be positive, got {accuracy}.")
        if not self.supports_error_estimation():
            raise RuntimeError(f"{type(self).__name__} has no error estimate, so it cannot aim at an accuracy.")
        self._target_accuracy = float(accuracy)

    def get_target_accuracy(self) -> float:
        """The accuracy asked for; nan if none was."""
        return math.nan if self._target_accuracy is None else self._target_accuracy

    def get_accuracy_in_use(self) -> float:
        """The accuracy in use: what was asked for, or the method's default."""
        wanted = self._target_accuracy
        return self.default_accuracy if wanted is None else min(wanted, self.loosest_accuracy)

    def request_initial_step_size_target(self, step_size: float) -> None:
        """Asks for the size of the first step [s]."""
        if not step_size > 0.0:
            raise ValueError(f"The initial step size must be positive, got {step_size}.")
        self._initial_step_size = float(step_size)

    def get_initial_step_size_target(self) -> float:
        """The size asked for the first step [s]; nan if none was."""
        return math.nan if self._initial_step_size is None else self._initial_step_size

    # ------------------------------------------------------------------ statistics

    def ResetStatistics(self) -> None:
        """Sets all counts to zero."""
        self._num_steps_taken = 0
        self._num_derivative_evaluations = 0
        self._num_error_shrinkages = 0
        self._num_failure_shrinkages = 0
        self._actual_initial_step_size = math.nan
        self._smallest_step_size = math.nan
        self._largest_step_size = math.nan
        self._previous_step_size = math.nan

    def get_num_steps_taken(self) -> int:
        """Number of steps taken."""
        return self._num_steps_taken

    def get_num_derivative_evaluations(self) -> int:
        """Number of times that derivatives were asked for."""
        return self._num_derivative_evaluations

    def get_num_step_shrinkages_from_error_control(self) -> int:
        """Number of steps tried that had too large an error."""
        return self._num_error_shrinkages

    def get_num_step_shrinkages_from_substep_failures(self) -> int:
        """Number of steps tried that met a value that was not finite."""
        return self._num_failure_shrinkages

    def get_num_substep_failures(self) -> int:
        """The same as `get_num_step_shrinkages_from_substep_failures`: each failure is met by a shorter
        step."""
        return self._num_failure_shrinkages

    def get_actual_initial_step_size_taken(self) -> float:
        """Size of the first step taken [s]."""
        return self._actual_initial_step_size

    def get_smallest_adapted_step_size_taken(self) -> float:
        """Size of the shortest step that error control chose [s]."""
        return self._smallest_step_size

    def get_largest_step_size_taken(self) -> float:
        """Size of the longest step taken [s]."""
        return self._largest_step_size

    def get_previous_integration_step_size(self) -> float:
        """Size of the latest step [s]."""
        return self._previous_step_size

    def get_ideal_next_step_size(self) -> float:
        """Size that error control wants for the next step [s]."""
        return self._ideal_step_size

    def GetStatisticsSummary(self) -> list[tuple[str, float]]:
        """The counts by name."""
        summary: list[tuple[str, float]] = [
            ("integrator_num_steps_taken", self._num_steps_taken),
            ("integrator_actual_initial_step_size_taken", self._actual_initial_step_size),
            ("integrator_largest_step_size_taken", self._largest_step_size),
        ]
        if not self._is_fixed_step:
            summary += [
                ("integrator_smallest_adapted_step_size_taken", self._smallest_step_size),
                ("integrator_num_step_shrinkages_from_error_control", self._num_error_shrinkages),
            ]
        return [*summary, ("integrator_num_derivative_evaluations", self._num_derivative_evaluations)]

    # ------------------------------------------------------------------ stepping

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
            first = 0.1 * self._max_step_size if math.isfinite(self._max_step_size) else _FIRST_STEP_SIZE
        self._ideal_step_size = min(max(first, self._min_step_size), self._max_step_size)
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
        target = min(publish_time, update_time, boundary_time)
        time = self._store.flat.item(0).real
        if not target >= time:
            raise ValueError(f"Cannot integrate from time {time} s back to {target} s.")
        if not self._step_towards(time, target):
            return StepResult.kTimeHasAdvanced
        if target == update_time:
            return StepResult.kReachedUpdateTime
        return StepResult.kReachedPublishTime if target == publish_time else StepResult.kReachedBoundaryTime

    def IntegrateWithMultipleStepsToTime(self, t_final: float) -> None:
        """Takes steps until the given time [s].

        Raises:
            ValueError: that time lies in the past.
            RuntimeError: a value is not finite, or the accuracy cannot be met.
        """
        while self.IntegrateNoFurtherThanTime(math.inf, math.inf, t_final) is StepResult.kTimeHasAdvanced:
            pass

    def _step_towards(self, time: float, target: float) -> bool:
        """One accepted step; on failure nothing is changed.

        Returns:
            Whether it ends at `target`.
        """
        if len(self._x) == 0 or target == time:
            self._bound_context()._set_time(target)
            return True
        room = target - time
        is_last = room <= _STRETCH * self._max_step_size
        if not is_last:
            room = self._max_step_size
        self._x_start[:] = self._x
        self._knows_start = False
        try:
            h = room
            if not self._is_fixed_step:
                h = self._controlled_step(time, room)
            else:
                self._step(time, h)
                if not math.isfinite(largest_magnitude(self._x, self._work)):
                    self._blame(time, h)
        except BaseException:
            self._move_back(time)
            raise
        is_last = is_last and h == room
        if is_last:
            self._store.flat[0] = target  # time + h may differ from it in the last digit
        self._note_step(h, is_last)
        return is_last

    def _controlled_step(self, time: float, room: float) -> float:
        """Tries steps until one is accurate enough; returns its size, `room` at most."""
        accuracy, order = self.get_accuracy_in_use(), self.get_error_estimate_order()
        h = min(self._ideal_step_size, self._max_step_size)
        is_cut_short = room < _CUT_SHORT * h
        if is_cut_short or room < _SLIVER * h:
            h = room
        while True:
            error = self._step(time, h)
            wanted = next_step_size(h, error, accuracy, order)
            if wanted >= h:
                if not is_cut_short:  # such a step says little about the next one
                    self._ideal_step_size = min(max(wanted, self._min_step_size), self._max_step_size)
                return h
            minimum = self.get_working_minimum_step_size()
            if h <= _SLIVER * minimum:
                self._accept_or_raise(time, h, error, accuracy)
                return h
            if math.isfinite(error):
                self._num_error_shrinkages += 1
            else:
                self._num_failure_shrinkages += 1
                if not np.isfinite(self._xdot_start).all():
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
            self._step(time, h)
        finally:
            self._is_searching_for_blame = False
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
    return work.item(work.argmax()).real
