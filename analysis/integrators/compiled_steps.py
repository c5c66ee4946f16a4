"""Compiled steps of one integrator, called from Python; the compiled loop of a simulation takes the same steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.problem import Problem, attempt, step_problem_at
from merganser.analysis.integrators.stepping import begin_step, complete_step, note_step
from merganser.framework.native import PreparedKernel, kernel, kernel_address, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import (
    address_of_record,
    copy_of_record,
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

__all__ = ["STEPS", "CompiledSteps"]


@kernel
def take_step(p: Problem, target: float) -> int:
    """Takes a step to this time at the latest [s]; returns what it comes to."""
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
def evaluate_by_operations(operations: int) -> int:
    """Computes the derivatives by a list of operations."""
    return run_all(operations)


@kernel
def evaluate_by_python(p: Problem) -> int:
    """Computes them by the function of Python in `in_python`."""
    problem = step_problem_at(p)
    return call_python(problem.in_python, problem.evaluation.failure)


STEPS = PreparedKernel(take_step, 0, 0.0)


class CompiledSteps:
    """What compiled code has to know of an integrator, whose steps it takes; and the way to call it.

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
        self._by_operations: int | None = None
        self._by_python: int | None = None
        integrator._problem.attempt = kernel_address(type(integrator).attempt, self.address)

    def _place_arrays(self) -> None:
        integrator, problem = self._integrator, self._integrator._problem
        self.address: int = address_of_record(problem)
        problem.record, problem.in_python = map(id, self._callbacks)
        self._arrays: NDArray[np.int64] = np.array(integrator._integers_of_arrays(), dtype=np.int64)
        problem.arrays = address_of_array(self._arrays)
        place_arrays(
            problem, time=integrator._store.flat[:1], state=integrator._x, xdot=integrator._xdot,
            x_start=integrator._x_start, xdot_start=integrator._xdot_start, xdot_end=integrator._xdot_end,
            quaternions=integrator._quaternions, breaks=integrator._breaks,
            memory=integrator._memory, memory_before=integrator._memory_before,
            bulk=integrator._bulk, bulk_before=integrator._bulk_before,
        )  # fmt: skip

    def take_step(self, target: float, operations: tuple[int, int] | None) -> int:
        """Takes a step to this time at the latest [s]; returns what it comes to.

        Args:
            target: the time.
            operations: computes the derivatives, see Tape.operations(); if it is None, Python does.
        """
        problem = self._integrator._problem
        evaluation = copy_of_record(problem.evaluation)
        try:
            return self._take(target, operations)
        finally:
            self._note_moves()  # an interrupt may have come when compiled code had just returned
            problem.evaluation = evaluation

    def _take(self, target: float, operations: tuple[int, int] | None) -> int:
        integrator, s = self._integrator, self._integrator._step
        derivatives, store, down = integrator._derivatives, integrator._store, integrator._down
        with_time, with_state = derivatives.depend_on(down["time"]), derivatives.depend_on(down["xc"])
        integrator._problem.evaluation.changing = f.WITH_TIME * with_time | f.WITH_STATE * with_state
        s.is_current, s.has_moved = derivatives.are_current(), 0
        if operations is None:
            self._compute_in_python()
        else:
            self._compute_by(operations[0])
            store.invalid |= down["time"] | down["xc"]
        num_evaluations = s.counts.num_evaluations
        status: int = self._take_step(self.address, target)
        if operations is not None:
            if status == FAILED:  # Python says why
                s.counts = s.before
                return self._take(target, None)
            if s.is_current:
                store.invalid &= ~operations[1]
            elif s.counts.num_evaluations != num_evaluations:  # by which all that depends on neither has been computed
                store.invalid &= ~operations[1] | down["time"] | down["xc"]
            s.has_moved = 0  # as noted above
        self._conclude(status)
        return status

    def attempt_step(self) -> None:
        """Tries the step of size h once more, with derivatives computed by Python."""
        problem = self._integrator._problem
        evaluation = copy_of_record(problem.evaluation)
        try:
            self._compute_in_python()
            self._conclude(specialize(try_step, self.address)(self.address))
        finally:
            self._note_moves()
            problem.evaluation = evaluation

    def _conclude(self, status: int) -> None:
        self._note_moves()
        if status == RAISED:
            raise_kept(self._failure)

    def _compute_by(self, operations: int) -> None:
        if self._by_operations is None:
            self._by_operations = kernel_address(evaluate_by_operations, operations)
        self._set_evaluation(self._by_operations, operations)

    def _compute_in_python(self) -> None:
        if self._by_python is None:
            self._by_python = kernel_address(evaluate_by_python, self.address)
        self._set_evaluation(self._by_python, self.address)

    def _set_evaluation(self, evaluate: int, argument: int) -> None:
        evaluation = self._integrator._problem.evaluation
        evaluation.kernel, evaluation.argument = evaluate, argument
        evaluation.failure = self._address_of_failure

    def _note_moves(self) -> None:
        s, store, down = self._integrator._step, self._integrator._store, self._integrator._down
        if s.has_moved:
            store.invalid |= down["time"] | down["xc"]
            s.has_moved = 0

    def _evaluate(self) -> int:
        """Computes the derivatives for compiled code."""
        self._note_moves()
        self._integrator._update_derivatives()
        return SUCCEEDED
