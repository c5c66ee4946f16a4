"""Compiled steps of one integrator, called from Python; the compiled loop of a simulation takes the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.problem import Problem, attempt, indices_in_lanes, step_problem_at
from merganser.analysis.integrators.stepping import begin_step, complete_step, note_step
from merganser.framework.native import PreparedKernel, kernel, kernel_address, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import (
    address_of_record,
    copy_of_record,
    integers_of,
    place_arrays,
)
from merganser.framework.native.memory.tape import (
    FAILED,
    RAISED,
    SUCCEEDED,
    call_python,
    no_failure,
    raise_kept,
)
from merganser.framework.native.operations.operation_list import run_all

if TYPE_CHECKING:
    from merganser.analysis.integrators.base import IntegratorBase


@kernel
def take_step(p: Problem, target: float) -> int:
    """Takes a step to this time at the latest [s]; returns its status."""
    status = begin_step(p, target)
    if status == SUCCEEDED:
        status = complete_step(p)
    if status == SUCCEEDED:
        note_step(p)
    return status


@kernel
def try_step(p: Problem) -> int:
    """Tries the step of size h."""
    return attempt(p)


@kernel
def evaluate_here(p: Problem, number: int) -> int:
    """Computes an operation by the list for it, if there is one, or by the function of Python in `in_python`."""
    problem = step_problem_at(p)
    operations = problem.operations[number]
    if operations:
        return run_all(operations)
    problem.evaluation.number = number
    return call_python(problem.in_python, problem.evaluation.failure)


STEPS = PreparedKernel(take_step, 0, 0.0)


class StepsInLanes:
    """Steps of several simulations side by side, which are taken as those of one with a state of all numbers.

    Steps with fixed sizes do with each number what they do with it alone, so that it has the same bits. A step in which
    one of the simulations is not finite is taken by none.

    Args:
        integrator: whose steps have compiled forms.
        values: flat array of its Context, for each number one of each simulation, shape [size, num_lanes].
        kernel, argument: what computes the derivatives there, as in Evaluation.

    Attributes:
        address: of a StepProblem.

    Raises:
        LookupError: steps depend on their errors, or on more than time, state and its derivatives.
    """

    def __init__(self, integrator: IntegratorBase, values: NDArray[np.float64], kernel: int, argument: int) -> None:
        layout, num_lanes = integrator.get_context().layout, values.shape[1]
        arrays = integrator._make_arrays_in_lanes(num_lanes)
        if arrays is None or not integrator._step.is_fixed_step or integrator._step.num_breaks or integrator.operations:
            raise LookupError
        start, end = layout.xc_range
        shift = layout.root.num_xc
        x, xdot = values[start:end].reshape(-1), values[start + shift : end + shift].reshape(-1)
        quaternions, integers = indices_in_lanes(integrator._quaternions, num_lanes), np.array(integers_of(arrays))
        self._problem = problem = copy_of_record(integrator._problem)
        x_start = x.copy()
        self._kept = values, x_start, quaternions, arrays, integers
        problem.step.num_quaternions = len(quaternions)
        problem.arrays = address_of_array(integers)
        problem.evaluation.kernel, problem.evaluation.argument = kernel, argument
        place_arrays(problem, time=values[0, :1], state=x, xdot=xdot, x_start=x_start, quaternions=quaternions)
        self.address = address_of_record(problem)


class CompiledSteps:
    """An integrator's data for compiled code that takes its steps, and the way to call it.

    A step may be taken by an event handler that the loop of a simulation calls. So the way in which that computes
    derivatives, and where it looks for exceptions, are put back afterwards.

    Args:
        integrator: with a Context of floats.

    Attributes:
        address: of the integrator's StepProblem.
    """

    def __init__(self, integrator: IntegratorBase) -> None:
        self._integrator = integrator
        self._failure = no_failure()
        self._address_of_failure: int = address_of_array(self._failure)
        self._callbacks = integrator._record, self._evaluate  # kept, as only their addresses are passed on
        self._place_arrays()
        self._take_step = specialize(take_step, self.address, 0.0)
        self._evaluate_here: int | None = None
        integrator._problem.attempt = kernel_address(type(integrator).attempt, self.address)

    def _place_arrays(self) -> None:
        integrator, problem = self._integrator, self._integrator._problem
        self.address: int = address_of_record(problem)
        problem.record, problem.in_python = map(id, self._callbacks)
        self._arrays: NDArray[np.int64] = np.array(integrator._integers_of_arrays(), dtype=np.int64)
        problem.arrays = address_of_array(self._arrays)
        self._operations = np.zeros(len(integrator._evaluators), np.int64)
        place_arrays(
            problem, time=integrator._store.flat[:1], state=integrator._x, xdot=integrator._xdot,
            x_start=integrator._x_start, xdot_start=integrator._xdot_start, xdot_end=integrator._xdot_end,
            quaternions=integrator._quaternions, breaks=integrator._breaks, operations=self._operations,
            memory=integrator._memory, memory_before=integrator._memory_before,
            bulk=integrator._bulk, bulk_before=integrator._bulk_before,
        )  # fmt: skip

    def take_step(self, target: float, tapes: Sequence[tuple[int, int] | None]) -> int:
        """Takes a step to this time at the latest [s]; returns its status.

        Args:
            target: the time.
            tapes: what computes each operation of the integrator, see Tape.operations(); None for Python.
        """
        problem = self._integrator._problem
        evaluation = copy_of_record(problem.evaluation)
        try:
            return self._take(target, tapes)
        finally:
            self._note_moves()  # an interrupt may have come when compiled code had just returned
            problem.evaluation = evaluation

    def _take(self, target: float, tapes: Sequence[tuple[int, int] | None]) -> int:
        integrator, s = self._integrator, self._integrator._step
        derivatives, store, down = integrator._derivatives, integrator._store, integrator._down
        with_time, with_state = derivatives.depend_on(down["time"]), derivatives.depend_on(down["xc"])
        integrator._problem.evaluation.changing = f.WITH_TIME * with_time | f.WITH_STATE * with_state
        s.is_current, s.has_moved, s.evaluated = derivatives.are_current(), 0, 0
        self._compute_by(tapes)
        if any(tapes):
            store.invalid |= down["time"] | down["xc"]
        status: int = self._take_step(self.address, target)
        if any(tapes):
            if status == FAILED:  # Python says why
                s.counts = s.before
                return self._take(target, [None] * len(tapes))
            self._note_moves()
            for number, tape in enumerate(tapes):
                if tape is not None and number == f.DERIVATIVES and s.is_current:
                    store.invalid &= ~tape[1]
                elif tape is not None and s.evaluated >> number & 1:  # with all that depends on neither time nor state
                    store.invalid &= ~tape[1] | down["time"] | down["xc"]
        self._conclude(status)
        return status

    def attempt_step(self) -> None:
        """Tries the step of size h once more, with all operations computed by Python."""
        problem = self._integrator._problem
        evaluation = copy_of_record(problem.evaluation)
        try:
            self._compute_by([None] * len(self._operations))
            self._conclude(specialize(try_step, self.address)(self.address))
        finally:
            self._note_moves()
            problem.evaluation = evaluation

    def _conclude(self, status: int) -> None:
        self._note_moves()
        if status == RAISED:
            raise_kept(self._failure)

    def _compute_by(self, tapes: Sequence[tuple[int, int] | None]) -> None:
        if self._evaluate_here is None:
            self._evaluate_here = kernel_address(evaluate_here, self.address, 0)
        self._operations[:] = [0 if tape is None else tape[0] for tape in tapes]
        evaluation = self._integrator._problem.evaluation
        evaluation.kernel, evaluation.argument = self._evaluate_here, self.address
        evaluation.failure = self._address_of_failure

    def _note_moves(self) -> None:
        s, store, down = self._integrator._step, self._integrator._store, self._integrator._down
        if s.has_moved:
            store.invalid |= down["time"] | down["xc"]
            s.has_moved = 0

    def _evaluate(self) -> int:
        """Computes an operation for compiled code."""
        self._note_moves()
        integrator = self._integrator
        integrator._evaluators[integrator._problem.evaluation.number].update()
        if integrator._is_searching_for_blame:
            integrator._refuse_what_is_not_finite()
        return SUCCEEDED
