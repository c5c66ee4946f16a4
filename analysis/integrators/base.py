"""IntegratorBase: the steps that all integrators share."""

from __future__ import annotations

import abc
import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.dense_output import DenseOutput
from merganser.analysis.integrators.problem import return_to_start, time_of
from merganser.analysis.integrators.settings import IntegratorSettings
from merganser.analysis.integrators.step_size import RESOLUTION, rounding_at
from merganser.analysis.integrators.stepping import (
    begin_step,
    complete_step,
    first_step_size,
    note_step,
    shortest_step_size,
)
from merganser.framework import Context, System
from merganser.framework.core.context.derivatives import Evaluator
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.context.nonfinite import blame_derivatives, is_finite
from merganser.framework.core.inside import operation_slot, scalar_of
from merganser.framework.native.compiler.argument_types import type_key
from merganser.framework.native.compiler.when_to_compile import OptionalCode, are_usable
from merganser.framework.native.memory.records_of_arrays import (
    copy_of_record,
    integers_of,
    is_record_class,
    numbers_of,
    place_arrays,
    records_behind,
)
from merganser.framework.native.memory.tape import SUCCEEDED

if TYPE_CHECKING:
    from merganser.analysis.integrators.compiled_steps import CompiledSteps
    from merganser.framework.core.context.store import Store
    from merganser.framework.trajectories import PiecewisePolynomial

_COMPILED_STEPS = OptionalCode("merganser.analysis.integrators.compiled_steps", "STEPS", "take_step")
_TYPES_OF_ATTEMPT = (type_key(0),)
_MAY_COMPILE = may_compile()
_RECORDS = frozenset({"_problem", "_step", "_step_counts"})
_MADE_FOR_CONTEXT = frozenset({
    "_arrays", "_optional_code", "_breaks", "_bulk", "_bulk_before", "_compiled", "_derivatives", "_down",
    "_evaluators", "_given_breaks", "_is_prepared", "_may_be_compiled", "_memory", "_memory_before", "_quaternions",
    "_sources_of_breaks", "_store", "_x", "_x_start", "_xdot", "_xdot_end", "_xdot_start",
})  # fmt: skip
_FIRST_STEP_SIZE = 1e-3  # where neither the first nor the longest step was asked for [s]


@functools.cache
def _optional_code_of(attempt: Any) -> tuple[OptionalCode, ...]:
    """What compiled steps need; the attempts of users' own methods are compiled when they are first made."""
    function = attempt.interpreted
    if not function.__module__.startswith("merganser."):
        return (_COMPILED_STEPS,)
    return _COMPILED_STEPS, OptionalCode(function.__module__, function.__name__, function.__name__, _TYPES_OF_ATTEMPT)


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

    A concrete integrator has an `attempt`, a kernel that tries a step of size H from START, in the words of problem.py:
    it leaves time and state where the step ends and sets ERROR; it returns SUCCEEDED, or the status of an evaluation
    that is something else. It works on the arrays of `_make_arrays`. Then it says `supports_error_estimation` and
    `get_error_estimate_order`. See README.md.

    Args:
        system: the system to integrate.
        context: where its values are; if it is not given here, call `reset_context` before integrating.
    """

    attempt: ClassVar[Any]
    scheme: ClassVar[str] = ""  # the name in configurations, see simulation/integration_schemes.py
    takes_step_size: ClassVar[bool] = False  # whether the size of all steps is its second argument
    most_compiled: ClassVar[float] = math.inf  # state variables of compiled steps
    takes_white_noise: ClassVar[bool] = False  # whether it sets the values of WhiteNoise blocks
    takes_expressions: ClassVar[bool] = False  # as no step size depends on values
    is_compiled_at_once: ClassVar[bool] = False  # whether steps are compiled even if the derivatives are not
    # What attempts ask systems for by name (inside.declare_operation), and whether time derivatives take its place
    # where a system declares none. Derivatives are number 0, these follow.
    operations: ClassVar[dict[str, bool]] = {}
    made_for_context: ClassVar[frozenset[str]] = _MADE_FOR_CONTEXT  # attributes that `reset_context` sets again

    _store: Store
    _dense_output_: DenseOutput | None
    _is_prepared: bool  # whether the arrays of steps are allocated

    def __init__(self, system: System, context: Context | None = None) -> None:
        if not isinstance(system, System):
            raise TypeError(f"{type(self).__name__} takes a System, got {type(system).__name__}.")
        self._system = system
        self._context: Context | None = None
        self._sources_of_breaks: list[Callable[[], Sequence[float]]] = []
        self._given_breaks: list[Sequence[float]] = []
        self._breaks: Any = np.zeros(0)
        super().__init__()
        self.Reset()
        if context is not None:
            self.reset_context(context)

    # ------------------------------------------------------------------ copies

    def __getstate__(self) -> dict[str, Any]:
        """What does not follow from system and context: settings, counts, and what the method keeps between steps."""
        if self._step.is_stepping:
            self._refuse_within_a_step("__getstate__ (by copy or pickle)")
        left_out = _RECORDS if self._context is None else _RECORDS | self.made_for_context
        state = {name: value for name, value in self.__dict__.items() if name not in left_out}
        kept = (self._memory.copy(), self._bulk.copy()) if self._is_prepared else None
        return {**state, "_step": numbers_of(self._step).copy(), "_kept_between_steps": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = dict(state)
        numbers, kept, is_initialized = own.pop("_step"), own.pop("_kept_between_steps"), own["_is_initialized"]
        context, recorded = own["_context"], own["_dense_output_"]
        IntegratorSettings.__init__(self)  # not again what the constructor of a method sets
        self.__dict__.update(own, _context=None, _given_breaks=[], _breaks=np.zeros(0), _dense_output_=None)
        if context is not None:
            self.reset_context(context)
            if kept is not None:
                self._prepare_all()
                self._memory[:], self._bulk[:] = kept
        numbers_of(self._step)[:] = numbers
        self._step.is_current = self._step.knows_start = 0
        self._dense_output, self._is_initialized = recorded, is_initialized

    def __copy__(self) -> Any:
        raise TypeError(
            f"A copy of {type(self).__name__} would advance the same context as the original: use "
            f"copy.deepcopy(integrator), or {type(self).__name__} with context.Clone()."
        )

    # ------------------------------------------------------------------ the method

    @abc.abstractmethod
    def get_error_estimate_order(self) -> int:
        """The p in error = O(h^p); 0 if there is no estimate."""

    @abc.abstractmethod
    def _make_arrays(self, n: int, dtype: Any) -> Any:
        """The record of arrays of an attempt for a state of size n; may replace `_xdot_start` by one of them."""

    def _make_arrays_in_lanes(self, num_lanes: int) -> Any:
        """The same for states side by side: element n of state k is n num_lanes + k. None of a method without lanes."""
        return None

    def _evaluator_of(self, name: str) -> Evaluator:
        """What computes an operation of all systems with continuous state, see `operations`."""
        found = [(operation_slot(slot.context, name), slot) for slot in self._derivatives.slots]
        slots = [own or slot for own, slot in found if own is not None or self.operations[name]]
        return Evaluator(self._bound_context(), slots)

    def _refuse_what_is_not_finite(self) -> None:
        """Raises an error that names the origin of the first derivative that is not finite, if there is any."""
        if not is_finite(self._xdot):
            raise RuntimeError(blame_derivatives(self._bound_context()))

    def _attempt_step(self) -> int:
        """Tries a step in Python."""
        status: int = type(self).attempt.interpreted(self)
        return status

    # ------------------------------------------------------------------ context

    def reset_context(self, context: Context) -> None:
        """Takes another context of the same system, keeping all settings; call `Initialize` afterwards.

        Raises:
            ValueError: the context belongs to another system.
            RuntimeError: the context is part of the context of a larger diagram, or a step is in progress.
        """
        self._system.ValidateContext(context)
        context.require_root(type(self).__name__)
        if self._step.is_stepping:
            self._refuse_within_a_step("reset_context")
        if self._context is not None and self._store.is_advancing and context is not self._context:
            self._refuse_within_a_simulation("reset_context")
        if not (self.takes_expressions or hasattr(context.store.scalar, "real")):
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
        if self._dense_output_ is not None:
            self._dense_output = None
        self._compiled: CompiledSteps | None = None
        self._optional_code: tuple[OptionalCode, ...] = ()
        self._sources_of_breaks = context.layout.root.sources_of_breaks

    def _refuse_within_a_step(self, what: str) -> NoReturn:
        name = type(self).__name__
        raise RuntimeError(f"{name}.{what} was called by a callback, within a step of this integrator.")

    def _refuse_within_a_simulation(self, what: str) -> NoReturn:
        name = type(self).__name__
        raise RuntimeError(f"{name}.{what} was called by a callback or monitor of the simulation that it advances.")

    def _prepare_all(self) -> None:
        """Allocates the arrays of steps."""
        context, n, dtype = self._bound_context(), len(self._x), self._x.dtype
        for leaf, _ in () if self.takes_white_noise else context.layout.root.white_noises:
            raise RuntimeError(
                f"{type(self).__name__} cannot integrate white noise, which system '{leaf.system.GetSystemPathname()}' "
                "gives: it is not smooth. Choose ResetIntegratorFromFlags(simulator, 'euler_maruyama', max_step_size) "
                "or 'milstein'; or put BandLimitedWhiteNoise in its place."
            )
        self._x_start, self._xdot_start, self._xdot_end = self._x.copy(), self._x.copy(), self._x.copy()
        # What the method keeps from step to step; the second is much, and changes in few steps only (`save_bulk`).
        self._memory: NDArray[Any] = np.zeros(0)
        self._bulk: NDArray[Any] = np.zeros(0)
        self._quaternions = np.array(context.layout.root.unit_quaternions, np.int64)[:, np.newaxis] + np.arange(4)
        self._derivatives = context.derivative_evaluator()
        self._evaluators = [self._derivatives, *map(self._evaluator_of, self.operations)]
        self._arrays = self._make_arrays(n, dtype)
        if self._sources_of_breaks:
            self._note_breaks()
        self._memory_before, self._bulk_before = self._memory.copy(), np.zeros(len(self._bulk))
        self._step.num_quaternions = len(self._quaternions)
        self._step.error_order = int(self.get_error_estimate_order())
        self._may_be_compiled = _MAY_COMPILE and dtype == np.float64 and 0 < n <= self.most_compiled
        if self._may_be_compiled:
            self._optional_code = () if self.is_compiled_at_once else _optional_code_of(type(self).attempt)
        self._compiled = None  # it knows the arrays by their addresses
        self._is_prepared = True

    def begin_advance(self) -> None:
        """Before some steps: makes ready if that has not been done, and asks where inputs are not smooth."""
        if not self._is_initialized:
            self.Initialize()
        elif self._sources_of_breaks:
            self._note_breaks()
        if self._compiled is None and self._may_be_compiled and are_usable(*self._optional_code):
            self._compiled_steps()

    def _note_breaks(self) -> None:
        """Notes the times at which steps are to end, as what the derivatives depend on is not smooth there."""
        given, known = [source() for source in self._sources_of_breaks], self._given_breaks
        if len(given) == len(known) and all(a is b for a, b in zip(given, known)):
            return
        times = sorted({time for times in given for time in times})
        # Half of the rounding: sums of a time and a step size that end there do not reach the break.
        breaks: Any = np.array([[time, time - 0.5 * rounding_at(time)] for time in times]).ravel()
        self._step.num_breaks = len(times) if len(self._x) else 0
        self._breaks = breaks
        place_arrays(self._problem, breaks=breaks)
        self._given_breaks = given  # last: an interrupt before that leaves nothing half noted

    def _integers_of_arrays(self) -> Any:
        """The record of an attempt's arrays for compiled code, which cannot check them.

        Raises:
            TypeError: they are not a record, or that of another method, or do not match it.
        """
        name, record, attempt = type(self).__name__, type(self._arrays), type(self).attempt.interpreted
        wanted = records_behind(attempt)
        if not is_record_class(record) or (wanted and record not in wanted):
            names = " or ".join(sorted(each.__name__ for each in wanted)) or "a class derived from NamedTuple"
            raise TypeError(f"{name}._make_arrays must return a record of {names}, got {type(self._arrays).__name__}.")
        for field, array in zip(record._fields, self._arrays):
            if isinstance(array, np.ndarray) and not array.flags.writeable:
                raise TypeError(f"{name}._make_arrays: {record.__name__}.{field} may not be written to.")
        try:
            return integers_of(self._arrays)
        except TypeError as error:
            raise TypeError(f"{name}._make_arrays: {error}") from None

    def _compiled_steps(self) -> CompiledSteps | None:
        """The compiled form of the steps, which continues from those in Python; None without one."""
        if self._compiled is None and self._may_be_compiled:
            from merganser.analysis.integrators.compiled_steps import CompiledSteps

            self._compiled = CompiledSteps(self)
        return self._compiled

    def _bound_context(self) -> Context:
        if self._context is None:
            raise RuntimeError(f"{type(self).__name__} has no context; call reset_context(context) first.")
        return self._context

    def get_context(self) -> Context:
        """The context that is integrated."""
        return self._bound_context()

    get_mutable_context = get_context

    def get_system(self) -> System:
        """The system that is integrated."""
        return self._system

    # ------------------------------------------------------------------ dense output

    def StartDenseIntegration(self) -> None:
        """Begins to record the continuous state as a function of time, from where the next step starts.

        Raises:
            RuntimeError: the integrator cannot be initialized, there is no continuous state, or a recording is
                already in progress.
        """
        name = type(self).__name__
        if not self._is_initialized:
            self.Initialize()
        if len(self._x) == 0:
            raise RuntimeError(f"{name}: the system has no continuous state to record.")
        if self._dense_output is not None:
            raise RuntimeError(f"{name} is already recording; call StopDenseIntegration() first.")
        self._dense_output = DenseOutput(time_of(self), self._x)

    def get_dense_output(self) -> DenseOutput | None:
        """What has been recorded since `StartDenseIntegration`; None if no recording is in progress."""
        return self._dense_output

    def StopDenseIntegration(self) -> PiecewisePolynomial:
        """Ends the recording and returns it as a trajectory.

        Raises:
            RuntimeError: no recording is in progress.
        """
        if self._dense_output is None:
            raise RuntimeError(f"{type(self).__name__} is not recording; call StartDenseIntegration() first.")
        recorded, self._dense_output = self._dense_output, None
        return recorded.trajectory()

    # ------------------------------------------------------------------ stepping

    def Reset(self) -> None:
        """Sets all knobs to their defaults and all counts to zero, and drops what was recorded; call `Initialize`
        before integrating."""
        if self._context is not None and self._store.is_advancing:
            self._refuse_within_a_simulation("Reset")
        self._reset_settings()
        self._is_searching_for_blame = False
        self._dense_output = None

    def get_working_minimum_step_size(self) -> float:
        """The shortest step in use [s]: what was asked for, or what time can resolve."""
        self._bound_context()
        return shortest_step_size(self)

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
        s = self._step
        shortest, longest = s.min_step_size, s.max_step_size
        if self._step.is_fixed_step and math.isinf(longest):
            raise RuntimeError(
                f"{type(self).__name__} takes fixed steps and has no step size; call set_maximum_step_size."
            )
        if shortest > longest:
            raise RuntimeError(
                f"{type(self).__name__}: the requested minimum step size {shortest} s is larger "
                f"than the maximum step size {longest} s."
            )
        first = self._initial_step_size
        if first is None:
            first = self.first_step_share * longest if math.isfinite(longest) else _FIRST_STEP_SIZE
        s.wanted_first = first
        s.ideal_step_size = first_step_size(self)
        if self._step.is_stepping:
            self._refuse_within_a_step("Initialize")
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
        if self._step.is_stepping:
            self._refuse_within_a_step("IntegrateNoFurtherThanTime")
        self.begin_advance()
        time = time_of(self)
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
        if not self._step.is_fixed_step:
            name = type(self).__name__
            raise RuntimeError(f"{name} is under error control; call set_fixed_step_mode(True) for a fixed step.")
        if self._step.is_stepping:
            self._refuse_within_a_step("IntegrateWithSingleFixedStepToTime")
        self.begin_advance()
        time = time_of(self)
        self._require_future(time, t_target)
        if len(self._x) == 0 or t_target == time:
            self._bound_context().put_time(t_target)
            return True
        s = self._step
        longest = s.max_step_size
        try:
            s.max_step_size, s.is_single = math.inf, True
            status = self._take_step(t_target)
        finally:
            s.max_step_size, s.is_single = longest, False
        if status != f.SHORTER:
            self._check(status)
        return status == SUCCEEDED

    def _step_towards(self, time: float, target: float) -> bool:
        """One accepted step; on failure nothing is changed.

        Returns:
            Whether it ends at `target`.
        """
        if len(self._x) == 0 or target == time:
            self._bound_context().put_time(target)
            return True
        status = self._take_step(target)
        if status != SUCCEEDED:
            self._check(status)
        return bool(self._store.flat[0] == target)

    def _keep(self) -> tuple[Any, NDArray[Any], NDArray[Any]]:
        """What steps change beside time and state, as it is now, for `_return_to`."""
        return copy_of_record(self._step), self._memory.copy(), self._bulk.copy()

    def _return_to(self, kept: tuple[Any, NDArray[Any], NDArray[Any]]) -> None:
        """Undoes several steps that are to be taken once more, but for the time, the state and what was counted."""
        step, self._memory[:], self._bulk[:] = kept
        now = self._step
        step.counts, step.is_current, step.has_moved, step.knows_start = now.counts, now.is_current, now.has_moved, 0
        step.is_recorded = now.is_recorded
        self._problem.step = step

    def _take_step(self, target: float) -> int:
        """Takes a step, compiled or in Python."""
        if self._compiled is not None:
            must_search = self._is_searching_for_blame
            tapes = [None if must_search else evaluator.operations() for evaluator in self._evaluators]
            return self._compiled.take_step(target, tapes)
        status = begin_step(self, target)
        if status != SUCCEEDED:
            return status
        try:
            status = complete_step(self)
        except BaseException:
            return_to_start(self)
            raise
        if status == SUCCEEDED:
            try:
                note_step(self)
            except BaseException:  # an interrupt, which comes as it is called; the step has been taken
                note_step(self)
                raise
        return status

    def _check(self, status: int) -> None:
        """Raises what a step has come to that could not be taken."""
        time, s = time_of(self), self._step
        if status == f.TOO_FINE:
            raise RuntimeError(
                f"{type(self).__name__} of system '{self._system.GetSystemPathname()}': at time {time} s steps of "
                f"{s.max_step_size} s at most are shorter than what time can resolve there, about "
                f"{RESOLUTION * abs(time):.3g} s. Set a larger maximum step size, or begin at an earlier time."
            )
        if status == f.MISFIT:
            raise ValueError(
                f"{type(self).__name__}: an array that its attempt moves by, or takes derivatives in, has another size "
                f"than the state, {len(self._x)}; see _make_arrays."
            )
        if status == f.NOT_FINITE:
            self._blame(time, s.h)
        if status == f.INACCURATE:
            raise RuntimeError(
                f"{type(self).__name__}: at time {time} s the error {s.error:.3g} of a step of {s.h:.3g} s is "
                f"larger than the accuracy {s.accuracy:.3g}, and shorter steps are not allowed. The system may "
                "be stiff or not smooth: loosen the accuracy, or accept the error with "
                "set_throw_on_minimum_step_size_violation(False)."
            )

    def _blame(self, time: float, h: float) -> NoReturn:
        """Repeats a failed step up to the first derivatives that are not finite, and names their origin."""
        self._step.knows_start = 0
        self._is_searching_for_blame = True
        compiled = self._compiled_steps() if self.is_compiled_at_once else None
        try:
            if compiled is None:
                self._attempt_step()
            else:
                compiled.attempt_step()
            if math.isinf(self._step.error):
                raise RuntimeError(
                    f"{type(self).__name__}: at time {time} s the equations of a step of {h:.3g} s could not be "
                    "solved, and shorter steps are not allowed. The system may not be smooth there, or its state is "
                    "beyond what it can describe."
                )
            raise RuntimeError(blame_derivatives(self._bound_context()))
        finally:
            self._is_searching_for_blame = False
            return_to_start(self)

    # ------------------------------------------------------------------ dense output, within steps

    @property
    def _dense_output(self) -> DenseOutput | None:
        return self._dense_output_

    @_dense_output.setter
    def _dense_output(self, recorded: DenseOutput | None) -> None:
        self._dense_output_ = recorded
        self._step.is_recorded = recorded is not None

    def _record(self) -> int:
        """Records the step that has just been completed."""
        output, start, end = self._dense_output_, self._step.start, time_of(self)
        assert output is not None
        number = output.get_number_of_segments()
        try:
            output._append(start, end, self._x_start, self._x, self._xdot_start, self._xdot_end)
        except BaseException:  # an interrupt, perhaps: the step will be undone
            output._drop_from(number)
            raise
        return SUCCEEDED
