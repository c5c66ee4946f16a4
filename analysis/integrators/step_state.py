"""State of an integrator between steps: records that Python and compiled code change alike.

So one may go on where the other has stopped.
"""

from __future__ import annotations

from typing import NamedTuple

from merganser.framework.native.memory.hinted_types import IntegerTable
from merganser.framework.native.memory.records_of_arrays import Floats, Integers
from merganser.framework.native.memory.tape import AGAIN

# Statuses of rejected steps, beside those of operations (framework/native/memory/tape.py).
(
    SHORTER,  # a shorter one is to be tried
    NOT_FINITE,  # a value is not finite, or the equations of the shortest step could not be solved
    INACCURATE,  # the error of the shortest step is too large
    TOO_FINE,  # steps are shorter than what time can resolve
    UNSOLVED,  # equations could not be solved
    MISFIT,  # an array of the method is not of the size of the state
) = range(AGAIN + 1, AGAIN + 7)

WITH_TIME, WITH_STATE = 1, 2
DERIVATIVES = 0  # number of the time derivatives among what attempts ask for, see IntegratorBase.operations


class NewtonCounts(NamedTuple):
    """Counters of an implicit method; evaluations are those of derivatives."""

    evaluations: int
    jacobians: int
    evaluations_for_jacobians: int
    factorizations: int
    iterations: int


class Counts(NamedTuple):
    """Counters of a step, also of a rejected one.

    Attributes:
        num_evaluations: of derivatives.
        num_shrinkages: steps made shorter because of their errors.
        num_failures: and for other reasons.
        of_result: of implicit methods, for the result.
        of_error: for the error estimate.
    """

    num_evaluations: int
    num_shrinkages: int
    num_failures: int
    of_result: NewtonCounts
    of_error: NewtonCounts


class Step(NamedTuple):
    """Settings, the step in progress, counts, and sizes of steps.

    Attributes:
        throws: whether an error of the shortest step that is too large is refused.
        is_single: whether no shorter step is to be tried.
        is_recorded: whether dense output is.
        is_last: whether it may end at `target`; afterwards, whether it does.
        is_cut_short: whether `target` cuts it to much less than was wanted.
        knows_start: whether `xdot_start` are the derivatives at its start.
        is_current: whether the derivatives in the Context are those of its time and state.
        was_current: the same, when the step began.
        has_moved: whether time or state have changed since this was last set to 0.
        is_stepping: whether attempts are being made.
        is_misfit: whether one has been found to use an array of a wrong size.
        is_bulk_saved: whether `bulk_before` is what `bulk` was at the start of the step.
        counts: what has been counted.
        before: the same at the start of the step.
        evaluated: which operations have been computed since this was last set to 0, as bits.
        num_quaternions: of length 1 in the state.
        num_breaks: times where what the derivatives depend on is not smooth.
        start: time at the start of the step [s].
        target: where it is to end at the latest [s].
        end: the break [s] if `target` is just before one, else `target`.
        room: longest step that may be taken now [s].
        h: size of the step in progress [s].
        error: largest estimated error of a state variable; nan: not finite, inf: equations were not solved.
        wanted_first: size of the first step, as far as the limits allow it [s].
        ideal_before: `ideal_step_size` at the start of the step [s].
    """

    is_fixed_step: int
    throws: int
    is_single: int
    is_recorded: int
    is_last: int
    is_cut_short: int
    knows_start: int
    is_current: int
    was_current: int
    has_moved: int
    is_stepping: int
    is_misfit: int
    is_bulk_saved: int
    num_steps: int
    counts: Counts
    before: Counts
    evaluated: int
    num_quaternions: int
    num_breaks: int
    error_order: int
    start: float
    target: float
    end: float
    room: float
    h: float
    error: float
    accuracy: float
    max_step_size: float
    min_step_size: float
    wanted_first: float
    ideal_step_size: float
    ideal_before: float
    previous_step_size: float
    largest_step_size: float
    smallest_step_size: float
    first_step_size: float


class Evaluation(NamedTuple):
    """How compiled steps compute derivatives, and other operations that attempts ask for.

    Attributes:
        kernel: computes them, of `argument` and the number of an operation.
        number: that of the operation for which Python is called.
        failure: address of where an exception of functions of Python goes.
        changing: what the derivatives depend on: bits WITH_TIME, WITH_STATE.
    """

    kernel: int
    argument: int
    number: int
    failure: int
    changing: int


class StepProblem(NamedTuple):
    """A Step, and what compiled code works on in it.

    Attributes:
        evaluation: how to compute the derivatives.
        attempt: kernel that tries a step, of the address of this record.
        record: function of Python that records dense output.
        in_python: function of Python that computes operations.
        operations: address of a list that computes each of them; 0 if Python does.
        time, state, xdot: in the flat array of the Context.
        x_start, xdot_start: state and derivatives at the start of the step.
        xdot_end: scratch array for the derivatives at the end of the step.
        quaternions: the indices of each in the state, shape [num_quaternions, 4].
        breaks: each break, in increasing order, and a time just before it [s].
        memory: numbers that the method keeps from step to step.
        memory_before: what they were at the start of the step.
        bulk, bulk_before: more such numbers, which change in few steps only, and are saved just before.
        arrays: address of the record of the arrays of the method.
    """

    step: Step
    evaluation: Evaluation
    attempt: int
    record: int
    in_python: int
    operations: Integers
    time: Floats
    state: Floats
    xdot: Floats
    x_start: Floats
    xdot_start: Floats
    xdot_end: Floats
    quaternions: IntegerTable
    breaks: Floats
    memory: Floats
    memory_before: Floats
    bulk: Floats
    bulk_before: Floats
    arrays: int
