"""IntegratorBase: step-size control and the knobs that all integrators share."""

from __future__ import annotations

import abc
import enum
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, System
from merganser.framework.core.nonfinite import blame_derivatives

__all__ = ["IntegratorBase", "StepResult"]

# The controller aims below the accuracy asked for, and does not change the step size for small gains.
_SAFETY = 0.9
_SHRINK_LIMIT = 0.1
_GROWTH_LIMIT = 5.0
_GROWTH_THRESHOLD = 1.2
_SHRINK_THRESHOLD = 0.9


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

    With error control, a step of size h is accepted when the largest estimated error of any state variable is no
    more than the accuracy in use; the next step has the size

        h_new = 0.9 h (accuracy / error)^(1 / p),  0.1 h <= h_new <= 5 h        (1)

    for an error estimate of order p (Hairer, Norsett, Wanner 1993, II.4). A step that fails leaves the Context as it
    was before.

    Args:
        system: the system to integrate.
        context: where its values are.
    """

    # What a concrete integrator is: accuracy when none is asked for, and the loosest that makes sense.
    default_accuracy = 1e-3
    loosest_accuracy = 0.1

    def __init__(self, system: System, context: Context) -> None:
        system._check_context(context)
        self._system = system
        self._context = context
        self._store = context._store
        layout = context._layout
        start, end = layout.xc_range
        shift = layout.root.num_xc
        self._x: NDArray[Any] = self._store.flat[start:end]
        self._xdot: NDArray[Any] = self._store.flat[start + shift : end + shift]
        self._derivative_slots = [
            self._store.slots[leaf.first_bit + leaf.system._xcdot_entry]
            for leaf in layout.leaves()
            if leaf.system._xcdot_entry is not None and leaf.xc_range[0] < leaf.xc_range[1]
        ]
        self._max_step_size = math.inf
        self._min_step_size = 0.0
        self._throws_on_minimum_step_size = True
        self._is_fixed_step = not self.supports_error_estimation()
        self._target_accuracy: float | None = None
        self._initial_step_size: float | None = None
        self._is_initialized = False
        self._ideal_step_size = math.nan
        self.ResetStatistics()

    # ------------------------------------------------------------------ the method

    @abc.abstractmethod
    def supports_error_estimation(self) -> bool:
        """Whether the method estimates its error, so that it can choose its step size."""

    @abc.abstractmethod
    def get_error_estimate_order(self) -> int:
        """The p in error = O(h^p); 0 if there is no estimate."""

    @abc.abstractmethod
    def _step(self, h: float) -> float:
        """Tries a step of size h from the current state; leaves the result in the context.

        Returns:
            The largest estimated error of any state variable, nan if a stage was not finite, 0 without an estimate.
        """

    def _derivatives_at(self, time: float, x: NDArray[Any]) -> NDArray[Any]:
        """Sets time and state, and returns the derivatives there; the array is overwritten by the next call."""
        store = self._store
        down = self._context._layout.down
        store.change(down["time"] | down["xc"], self._context)
        store.flat[0] = time
        self._x[:] = x
        return self._current_derivatives()

    def _current_derivatives(self) -> NDArray[Any]:
        """The derivatives at the current time and state."""
        store = self._store
        for slot in self._derivative_slots:
            if store.invalid & slot.bit:
                slot.compute()
        self._num_derivative_evaluations += 1
        return self._xdot

    # ------------------------------------------------------------------ knobs

    def get_context(self) -> Context:
        """The context that is integrated."""
        return self._context

    def get_mutable_context(self) -> Context:
        """The context that is integrated, for changing it."""
        return self._context

    def get_system(self) -> System:
        """The system that is integrated."""
        return self._system

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

    def get_requested_minimum_step_size(self) -> float:
        """The shortest step asked for [s]."""
        return self._min_step_size

    def get_working_minimum_step_size(self) -> float:
        """The shortest step in use [s]: what was asked for, or what time can resolve."""
        time = abs(self._store.flat.item(0))
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
        """The accuracy in use: asked for here, or in the context, or the method's default."""
        wanted = self._target_accuracy if self._target_accuracy is not None else self._store.accuracy
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

    # ------------------------------------------------------------------ stepping

    def is_initialized(self) -> bool:
        """Whether `Initialize` has been called."""
        return self._is_initialized

    def Initialize(self) -> None:
        """Makes ready for integration from the current state."""
        if self._is_fixed_step and math.isinf(self._max_step_size):
            raise RuntimeError(
                f"{type(self).__name__} takes fixed steps but has no step size; call set_maximum_step_size(h)."
            )
        first = self._initial_step_size
        if first is None:
            first = 0.1 * self._max_step_size if math.isfinite(self._max_step_size) else 1e-3
        self._ideal_step_size = min(first, self._max_step_size)
        self._is_initialized = True

    def IntegrateNoFurtherThanTime(self, publish_time: float, update_time: float, boundary_time: float) -> StepResult:
        """Takes one step, to the earliest of the given times at most.

        Args:
            publish_time: time of the next publish event [s].
            update_time: time of the next update event [s].
            boundary_time: time at which the caller wants to stop [s].

        Returns:
            Which of the times was reached (update before publish before boundary), or kTimeHasAdvanced.
        """
        if not self._is_initialized:
            self.Initialize()
        target = min(publish_time, update_time, boundary_time)
        if target < self._store.flat.item(0):
            raise ValueError(f"Cannot integrate from time {self._store.flat[0]} s back to {target} s.")
        self._step_towards(target)
        time = self._store.flat.item(0)
        if time < target:
            return StepResult.kTimeHasAdvanced
        if target == update_time:
            return StepResult.kReachedUpdateTime
        return StepResult.kReachedPublishTime if target == publish_time else StepResult.kReachedBoundaryTime

    def IntegrateWithMultipleStepsToTime(self, t_final: float) -> None:
        """Takes steps until the given time [s]."""
        if not self._is_initialized:
            self.Initialize()
        while self._store.flat.item(0) < t_final:
            self._step_towards(t_final)

    def _step_towards(self, target: float) -> None:
        """One accepted step, ending at `target` exactly if it gets that far; on failure nothing is changed."""
        time, x = self._store.flat.item(0), self._x.copy()
        try:
            if self._is_fixed_step:
                h = self._fit(self._max_step_size, target - time)
                self._step(h)
                self._require_finite()
            else:
                h = self._controlled_step(time, x, target)
        except BaseException:
            self._restore(time, x)
            raise
        if h == target - time:
            self._store.flat[0] = target  # time + h may differ from it in the last digit
        self._note_step(h)

    def _controlled_step(self, time: float, x: NDArray[Any], target: float) -> float:
        """Tries steps until one is accurate enough; returns its size."""
        accuracy = self.get_accuracy_in_use()
        order = self.get_error_estimate_order()
        h = self._fit(min(self._ideal_step_size, self._max_step_size), target - time)
        while True:
            error = self._step(h)
            wanted = _next_step_size(h, error, accuracy, order)
            if wanted >= h:
                # A step cut short by an event says little about the next one.
                if h < self._ideal_step_size and h == target - time:
                    wanted = max(wanted, self._ideal_step_size)
                self._ideal_step_size = min(wanted, self._max_step_size)
                return h
            minimum = self.get_working_minimum_step_size()
            if h <= minimum:
                if not math.isfinite(error):
                    raise RuntimeError(blame_derivatives(self._context))
                if self._throws_on_minimum_step_size:
                    raise RuntimeError(
                        f"{type(self).__name__}: at time {time} s the error {error:.3g} of a step of {h:.3g} s is "
                        f"larger than the accuracy {accuracy:.3g}, and shorter steps are not allowed. The system may "
                        "be stiff or not smooth: use an implicit integrator or loosen the accuracy."
                    )
                return h
            if math.isfinite(error):
                self._num_error_shrinkages += 1
            else:
                self._num_failure_shrinkages += 1
            h = max(wanted, minimum)
            self._restore(time, x)

    @staticmethod
    def _fit(h: float, room: float) -> float:
        """Stretches or shrinks a step so that no sliver is left before the target."""
        return room if h >= 0.99 * room else h

    def _restore(self, time: float, x: NDArray[Any]) -> None:
        store = self._store
        down = self._context._layout.down
        store.invalid |= down["time"] | down["xc"]
        store.flat[0] = time
        self._x[:] = x

    def _require_finite(self) -> None:
        if self._x.dtype == np.float64 and not np.isfinite(self._x).all():
            raise RuntimeError(blame_derivatives(self._context))

    def _note_step(self, h: float) -> None:
        self._num_steps_taken += 1
        self._previous_step_size = h
        if math.isnan(self._actual_initial_step_size):
            self._actual_initial_step_size = h
        self._largest_step_size = h if math.isnan(self._largest_step_size) else max(self._largest_step_size, h)
        if not self._is_fixed_step:
            smallest = self._smallest_step_size
            self._smallest_step_size = h if math.isnan(smallest) else min(smallest, h)


def _next_step_size(h: float, error: float, accuracy: float, order: int) -> float:
    """Equation (1), with a dead band; less than h if the step must be tried again."""
    if not math.isfinite(error):
        return _SHRINK_LIMIT * h
    if error == 0.0:
        return _GROWTH_LIMIT * h
    wanted = _SAFETY * h * (accuracy / error) ** (1.0 / order)
    if error <= accuracy:
        return min(wanted, _GROWTH_LIMIT * h) if wanted > _GROWTH_THRESHOLD * h else h
    return min(max(wanted, _SHRINK_LIMIT * h), _SHRINK_THRESHOLD * h)
