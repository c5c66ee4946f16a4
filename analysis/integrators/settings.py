"""IntegratorSettings: the knobs and the statistics that all integrators share."""

from __future__ import annotations

import abc
import math
from typing import Any

from merganser.analysis.integrators.step_state import StepProblem
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.native.memory.records_of_arrays import clear_record, new_record


class OfSystem:
    """What moves one system and is of its scalars: an integrator or a simulator."""

    def get_system(self) -> Any:
        """Override: the system."""
        raise NotImplementedError

    def _scalar_type(self) -> Any:
        return scalar_of(self.get_system())

    def _cast(self, T: Any) -> Any:
        system = self.get_system()
        if scalar_of(system) is not T:
            raise TypeError(
                f"{type(self).__name__}_[{T.__name__}] takes systems of this scalar type; system "
                f"'{system.GetSystemPathname()}' is one of {scalar_of(system).__name__}. Convert it with "
                f"system.ToScalarType[{T.__name__}]()."
            )
        return self


class IntegratorSettings(OfSystem, abc.ABC):
    """Settings of the user, and counters of an integrator."""

    # Of a concrete integrator: the default accuracy, and the loosest that makes sense.
    default_accuracy = 1e-3
    loosest_accuracy = 0.1
    # Size of the first step as a share of the longest, where none is asked for.
    first_step_share = 0.1

    _is_initialized: bool  # whether Initialize has seen the settings

    def __init__(self) -> None:
        self._problem = new_record(StepProblem)
        self._step = self._problem.step  # all that steps depend on and count
        self._step_counts = self._step.counts

    @abc.abstractmethod
    def supports_error_estimation(self) -> bool:
        """Whether the method estimates its error, so that it can choose its step size."""

    def _reset_knobs(self) -> None:
        """Sets the knobs of the method, if it has any, to their defaults."""

    def _summary(self) -> list[tuple[str, float]]:
        """The counts of the method by name."""
        return []

    def _reset_settings(self) -> None:
        """Sets all knobs to their defaults and all counts to zero."""
        self._step.max_step_size = math.inf
        self._step.min_step_size = 0.0
        self._step.throws = True
        self._step.is_fixed_step = not self.supports_error_estimation()
        self._target_accuracy: float | None = None
        self._step.accuracy = self.default_accuracy
        self._initial_step_size: float | None = None
        self._step.ideal_step_size = math.nan
        self._is_initialized = False
        self._reset_knobs()
        self.ResetStatistics()

    # ------------------------------------------------------------------ knobs

    def set_maximum_step_size(self, max_step_size: float) -> None:
        """Takes no step longer than this [s]; in fixed-step mode, all steps have this size."""
        self._step.max_step_size = self._positive(max_step_size, "maximum step size")

    def get_maximum_step_size(self) -> float:
        """The longest step allowed [s]."""
        return float(self._step.max_step_size)

    def set_requested_minimum_step_size(self, min_step_size: float) -> None:
        """Takes no step shorter than this [s], except the last one before an event."""
        name = type(self).__name__
        size = checked_number(min_step_size, f"{name}: minimum step size [s]")
        if not size >= 0.0:
            raise ValueError(f"{name}: the minimum step size cannot be negative, got {min_step_size}.")
        self._step.min_step_size = size
        self._is_initialized = False

    def get_requested_minimum_step_size(self) -> float:
        """The shortest step asked for [s]."""
        return float(self._step.min_step_size)

    def set_throw_on_minimum_step_size_violation(self, throws: bool) -> None:
        """Whether to raise when the accuracy cannot be met with the shortest step, or to accept the error."""
        self._step.throws = bool(throws)

    def get_throw_on_minimum_step_size_violation(self) -> bool:
        """Whether to raise when the accuracy cannot be met with the shortest step."""
        return bool(self._step.throws)

    def set_fixed_step_mode(self, flag: bool) -> None:
        """Whether all steps have the maximum step size, without error control."""
        if not flag and not self.supports_error_estimation():
            raise RuntimeError(f"{type(self).__name__} has no error estimate; it can only take fixed steps.")
        self._step.is_fixed_step = bool(flag)
        self._is_initialized = False

    def get_fixed_step_mode(self) -> bool:
        """Whether all steps have the maximum step size."""
        return bool(self._step.is_fixed_step)

    def set_target_accuracy(self, accuracy: float) -> None:
        """Asks for this much error a step, at most, in any state variable."""
        checked = self._positive(accuracy, "target accuracy")
        if not self.supports_error_estimation():
            raise RuntimeError(f"{type(self).__name__} has no error estimate, so it cannot aim at an accuracy.")
        self._target_accuracy = checked
        self._step.accuracy = min(checked, self.loosest_accuracy)

    def get_target_accuracy(self) -> float:
        """The accuracy asked for; nan if none was."""
        return math.nan if self._target_accuracy is None else self._target_accuracy

    def get_accuracy_in_use(self) -> float:
        """The accuracy in use: what was asked for, or the method's default."""
        return float(self._step.accuracy)

    def request_initial_step_size_target(self, step_size: float) -> None:
        """Asks for the size of the first step [s]."""
        self._initial_step_size = self._positive(step_size, "initial step size")

    def get_initial_step_size_target(self) -> float:
        """The size asked for the first step [s]; nan if none was."""
        return math.nan if self._initial_step_size is None else self._initial_step_size

    def _positive(self, value: float, what: str) -> float:
        number = checked_number(value, f"{type(self).__name__}: {what}")
        if not number > 0.0:
            raise ValueError(f"{type(self).__name__}: the {what} must be positive, got {value}.")
        return number

    # ------------------------------------------------------------------ statistics

    def ResetStatistics(self) -> None:
        """Sets all counts to zero."""
        s = self._step
        s.num_steps = 0
        clear_record(self._step_counts)
        s.previous_step_size = s.largest_step_size = s.smallest_step_size = s.first_step_size = math.nan

    def get_num_steps_taken(self) -> int:
        """Number of steps taken."""
        return int(self._step.num_steps)

    def get_num_derivative_evaluations(self) -> int:
        """Number of evaluations of derivatives."""
        return int(self._step.counts.num_evaluations)

    def get_num_step_shrinkages_from_error_control(self) -> int:
        """Number of steps tried that had too large an error."""
        return int(self._step.counts.num_shrinkages)

    def get_num_step_shrinkages_from_substep_failures(self) -> int:
        """Number of steps tried that met a value that was not finite, or equations that could not be solved."""
        return int(self._step.counts.num_failures)

    def get_num_substep_failures(self) -> int:
        """Number of failures within steps; each is met by a shorter step, so that it is
        `get_num_step_shrinkages_from_substep_failures`."""
        return int(self._step.counts.num_failures)

    def get_actual_initial_step_size_taken(self) -> float:
        """Size of the first step taken [s]."""
        return float(self._step.first_step_size)

    def get_smallest_adapted_step_size_taken(self) -> float:
        """Size of the shortest step that error control chose [s]."""
        return float(self._step.smallest_step_size)

    def get_largest_step_size_taken(self) -> float:
        """Size of the longest step taken [s]."""
        return float(self._step.largest_step_size)

    def get_previous_integration_step_size(self) -> float:
        """Size of the latest step [s]."""
        return float(self._step.previous_step_size)

    def get_ideal_next_step_size(self) -> float:
        """Size that error control wants for the next step [s]."""
        return float(self._step.ideal_step_size)

    def GetStatisticsSummary(self) -> list[tuple[str, float]]:
        """The counts by name."""
        summary: list[tuple[str, float]] = [
            ("integrator_num_steps_taken", self._step.num_steps),
            ("integrator_actual_initial_step_size_taken", self._step.first_step_size),
            ("integrator_largest_step_size_taken", self._step.largest_step_size),
        ]
        if not self._step.is_fixed_step:
            summary += [
                ("integrator_smallest_adapted_step_size_taken", self._step.smallest_step_size),
                ("integrator_num_step_shrinkages_from_error_control", self._step.counts.num_shrinkages),
            ]
        summary.append(("integrator_num_derivative_evaluations", self._step.counts.num_evaluations))
        return summary + self._summary()
