"""Compiled steps of one integrator, called from Python; the compiled loop of a simulation takes the same steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from merganser.analysis.integrators import step_fields as f
from merganser.analysis.integrators.problem import Problem, attempt
from merganser.analysis.integrators.stepping import begin_step, complete_step, note_step
from merganser.framework.native import PreparedKernel, kernel, kernel_address, specialize
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.tape import (
    FAILED,
    RAISED,
    SUCCEEDED,
    call_python,
    integers_at,
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
    """Tries the step of size H."""
    return attempt(p)


@kernel
def evaluate_by_operations(operations: int) -> int:
    """Computes the derivatives by a list of operations."""
    return run_all(operations)


@kernel
def evaluate_by_python(p: Problem) -> int:
    """Computes them by the function of Python in IN_PYTHON."""
    s = integers_at(p)
    return call_python(s[f.IN_PYTHON], s[f.FAILURE])


STEPS = PreparedKernel(take_step, 0, 0.0)


class CompiledSteps:
    """What compiled code has to know of an integrator, whose steps it takes; and the way to call it.

    A step may be taken by an event handler that the loop of a simulation calls. So the way in which that computes
    derivatives, and where it looks for exceptions, are put back afterwards.

    Args:
        integrator: with a Context of floats.

    Attributes:
        address: of the integrator's integers.
    """

    def __init__(self, integrator: IntegratorBase) -> None:
        self._integrator = integrator
        self._failure = no_failure()
        self._place_of_failure: int = address_of_array(self._failure)
        self._callbacks = integrator._record, self._evaluate  # kept, as only their addresses are passed on
        self._place_arrays()
        self._take_step = specialize(take_step, self.address, 0.0)
        self._by_operations: int | None = None
        self._by_python: int | None = None
        self._integers[f.ATTEMPT] = kernel_address(type(integrator).attempt, self.address)

    def _place_arrays(self) -> None:
        integrator = self._integrator
        self._integers = s = integrator._integer_array
        self.address: int = address_of_array(s)
        s[f.VALUES] = address_of_array(integrator._store.flat)
        s[f.RECORD], s[f.IN_PYTHON] = map(id, self._callbacks)
        s[f.X_START], s[f.XDOT_START] = address_of_array(integrator._x_start), address_of_array(integrator._xdot_start)
        s[f.BREAKS] = address_of_array(integrator._breaks)
        s[f.QUATERNIONS] = address_of_array(integrator._quaternions)
        s[f.MEMORY], s[f.MEMORY_SIZE] = address_of_array(integrator._memory), len(integrator._memory)
        s[f.MEMORY_BEFORE] = address_of_array(integrator._memory_before)
        s[f.BULK], s[f.BULK_SIZE] = address_of_array(integrator._bulk), len(integrator._bulk)
        s[f.BULK_BEFORE] = address_of_array(integrator._bulk_before)
        for number, array in enumerate((integrator._x, integrator._xdot_end, *integrator._arrays)):
            place = f.STATE + 3 * number
            s[place : place + 3] = address_of_array(array), 1 if array.ndim == 1 else len(array), array.shape[-1]

    def take_step(self, target: float, operations: tuple[int, int] | None) -> int:
        """Takes a step to this time at the latest [s]; returns what it comes to.

        Args:
            target: the time.
            operations: computes the derivatives, see Tape.operations(); if it is None, Python does.
        """
        way = self._integers[f.WAY : f.END_OF_WAY].copy()
        try:
            return self._take(target, operations)
        finally:
            self._note_moves()  # an interrupt may have come when compiled code had just returned
            self._integers[f.WAY : f.END_OF_WAY] = way

    def _take(self, target: float, operations: tuple[int, int] | None) -> int:
        integrator, s = self._integrator, self._integrator._integers
        derivatives, store, down = integrator._derivatives, integrator._store, integrator._down
        with_time, with_state = derivatives.depend_on(down["time"]), derivatives.depend_on(down["xc"])
        s[f.CHANGING] = f.WITH_TIME * with_time | f.WITH_STATE * with_state
        s[f.IS_CURRENT], s[f.HAS_MOVED] = derivatives.are_current(), 0
        if operations is None:
            self._compute_in_python()
        else:
            self._compute_by(operations[0])
            store.invalid |= down["time"] | down["xc"]
        num_evaluations = s[f.NUM_EVALUATIONS]
        status: int = self._take_step(self.address, target)
        if operations is not None:
            if status == FAILED:  # Python says why
                s[f.COUNTED : f.BEFORE] = s[f.BEFORE : f.BEFORE + f.NUM_COUNTED]
                return self._take(target, None)
            if s[f.IS_CURRENT]:
                store.invalid &= ~operations[1]
            elif s[f.NUM_EVALUATIONS] != num_evaluations:  # by which all that depends on neither has been computed
                store.invalid &= ~operations[1] | down["time"] | down["xc"]
            s[f.HAS_MOVED] = 0  # as noted above
        self._conclude(status)
        return status

    def attempt_step(self) -> None:
        """Tries the step of size H once more, with derivatives computed by Python."""
        way = self._integers[f.WAY : f.END_OF_WAY].copy()
        try:
            self._compute_in_python()
            self._conclude(specialize(try_step, self.address)(self.address))
        finally:
            self._note_moves()
            self._integers[f.WAY : f.END_OF_WAY] = way

    def _conclude(self, status: int) -> None:
        self._note_moves()
        if status == RAISED:
            raise_kept(self._failure)

    def _compute_by(self, operations: int) -> None:
        if self._by_operations is None:
            self._by_operations = kernel_address(evaluate_by_operations, operations)
        self._set_evaluator(self._by_operations, operations)

    def _compute_in_python(self) -> None:
        if self._by_python is None:
            self._by_python = kernel_address(evaluate_by_python, self.address)
        self._set_evaluator(self._by_python, self.address)

    def _set_evaluator(self, evaluate: int, evaluator: int) -> None:
        s = self._integrator._integers
        s[f.EVALUATE], s[f.EVALUATOR], s[f.FAILURE] = evaluate, evaluator, self._place_of_failure

    def _note_moves(self) -> None:
        s, store, down = self._integrator._integers, self._integrator._store, self._integrator._down
        if s[f.HAS_MOVED]:
            store.invalid |= down["time"] | down["xc"]
            s[f.HAS_MOVED] = 0

    def _evaluate(self) -> int:
        """Computes the derivatives for compiled code."""
        self._note_moves()
        self._integrator._update_derivatives()
        return SUCCEEDED
