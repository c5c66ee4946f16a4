"""The primitives in which steps are written: evaluate the derivatives, move to a time and state, combine the stages.

Each has a Python and a compiled implementation. In compiled code the problem `p` is the address of an integrator's
StepProblem (step_state.py), and values are in the flat array of the Context. In Python it is the integrator itself, and
arrays may hold numbers of any type. So a method, or the control of steps, is written once for both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.integrators import step_state as f
from merganser.analysis.integrators.step_state import StepProblem
from merganser.framework.core.context.nonfinite import is_finite
from merganser.framework.native import compiled_form, device, elements
from merganser.framework.native.memory.records_of_arrays import field_at_address, record_at_address, record_behind
from merganser.framework.native.memory.tape import SUCCEEDED, call_kernel, call_python

if TYPE_CHECKING:
    from merganser.analysis.integrators.base import IntegratorBase

Problem = Any  # an IntegratorBase, or an address
_FEW = 6  # state variables, whose sums take less time as numbers of Python than as arrays: of two, less than half
Array = NDArray[Any]

# ---------------------------------------------------------------------- records and arrays

step_problem_at = record_at_address(StepProblem)  # of compiled code


def step_of(p: IntegratorBase) -> Any:
    """The Step of step_state.py."""
    return p._step


@compiled_form(step_of)
@device
def _step_of(p: int) -> Any:
    return step_problem_at(p).step


# state_of(p), the continuous state in the Context; who changes it says so by `state_changes`.
state_of = field_at_address(StepProblem, "state", lambda p: p._x)
# Room for the derivatives at the end of the step.
end_derivatives_of = field_at_address(StepProblem, "xdot_end", lambda p: p._xdot_end)
# Indices of quaternions of length 1 in the state, shape [num_quaternions, 4].
quaternions_of = field_at_address(StepProblem, "quaternions", lambda p: p._quaternions)
# Times where what the derivatives depend on is not smooth, each with a time just before it [s].
breaks_of = field_at_address(StepProblem, "breaks", lambda p: p._breaks)


def indices_in_lanes(indices: Array, num_lanes: int) -> Array:
    """Indices for states side by side, whose element n of state k is at n num_lanes + k.

    Args:
        indices: in one state, shape [n, ...].
        num_lanes: how many states.

    Returns:
        The same of all states, shape [n num_lanes, ...].
    """
    lanes = np.arange(num_lanes).reshape(-1, *np.ones(indices.ndim - 1, np.int64))
    return (num_lanes * indices[:, np.newaxis] + lanes).reshape(-1, *indices.shape[1:])


def arrays_of_method(record: type) -> Any:
    """A word for the arrays of a method, to be called with p.

    Args:
        record: the class of records (framework/native/memory/records_of_arrays.py) of which the method makes one.
    """
    return record_behind(StepProblem, "arrays", record, lambda p: p._arrays)


# ---------------------------------------------------------------------- time and state


def time_of(p: IntegratorBase) -> float:
    """The time in the Context [s]; that of expressions is a constant."""
    time = p._store.flat.item(0)
    try:
        value: float = time.real
    except AttributeError:
        value = time.Evaluate()
    return value


@compiled_form(time_of)
def _time_of(p: int) -> float:
    return step_problem_at(p).time[0]


def move(p: IntegratorBase, time: float, change: Array) -> None:
    """Sets the time, and the state to that at the start of the step plus `change`."""
    store, down = p._store, p._down
    store.invalid |= down["time"] | down["xc"]
    store.flat[0] = time
    np.add(p._x_start, change, p._x)


@device
def _size_for(problem: Any, array: Array) -> int:
    """The size of the state; 0 if the array, which is to be of this size, is not."""
    n = len(problem.state)
    if len(array) != n:
        problem.step.is_misfit = 1
        n = 0
    return n


@compiled_form(move)
def _move(p: int, time: float, change: Array) -> None:
    problem = step_problem_at(p)
    state, x_start = problem.state, problem.x_start
    for j in range(_size_for(problem, change)):
        state[j] = x_start[j] + change[j]
    _set_time(p, time)
    _state_changes(p)


def go_to(p: IntegratorBase, time: float, x: Array) -> None:
    """Sets time and state."""
    store, down = p._store, p._down
    store.invalid |= down["time"] | down["xc"]
    store.flat[0] = time
    p._x[:] = x


@compiled_form(go_to)
def _go_to(p: int, time: float, x: Array) -> None:
    problem = step_problem_at(p)
    state = problem.state
    for j in range(_size_for(problem, x)):
        state[j] = x[j]
    _set_time(p, time)
    _state_changes(p)


def set_time(p: IntegratorBase, time: float) -> None:
    """Sets the time only."""
    p._store.invalid |= p._down["time"]
    p._store.flat[0] = time


@compiled_form(set_time)
@device
def _set_time(p: int, time: float) -> None:
    problem = step_problem_at(p)
    problem.time[0] = time
    _note_change(problem, f.WITH_TIME)


@device
def _note_change(problem: Any, what: int) -> None:
    s = problem.step
    s.has_moved = 1
    if problem.evaluation.changing & what:
        s.is_current = 0


def state_changes(p: IntegratorBase) -> None:
    """Notes that the state is being changed."""
    p._store.invalid |= p._down["xc"]


@compiled_form(state_changes)
@device
def _state_changes(p: int) -> None:
    _note_change(step_problem_at(p), f.WITH_STATE)


def move_back(p: IntegratorBase) -> None:
    """Returns to the start of the step."""
    store, down = p._store, p._down
    store.invalid |= down["time"] | down["xc"]
    store.flat[0] = p._step.start
    p._x[:] = p._x_start


@compiled_form(move_back)
@device
def _move_back(p: int) -> None:
    problem = step_problem_at(p)
    _copy(problem.state, problem.x_start)
    _set_time(p, problem.step.start)
    _state_changes(p)


def remember(p: IntegratorBase) -> None:
    """Saves the start of a step: the state, and what the method keeps."""
    p._x_start[:] = p._x
    if len(p._memory):
        p._memory_before[:] = p._memory
    p._step.is_bulk_saved = 0


@compiled_form(remember)
def _remember(p: int) -> None:
    problem = step_problem_at(p)
    s = problem.step
    _copy(problem.x_start, problem.state)
    _copy(problem.memory_before, problem.memory)
    s.is_bulk_saved = 0
    s.before = s.counts
    s.was_current = s.is_current


def save_bulk(p: IntegratorBase) -> None:
    """Saves `_bulk` before its first change in a step; later calls do nothing."""
    if not p._step.is_bulk_saved:
        p._bulk_before[:] = p._bulk
        p._step.is_bulk_saved = 1


@compiled_form(save_bulk)
def _save_bulk(p: int) -> None:
    problem = step_problem_at(p)
    if not problem.step.is_bulk_saved:
        _copy(problem.bulk_before, problem.bulk)
        problem.step.is_bulk_saved = 1


def return_to_start(p: IntegratorBase) -> None:
    """Undoes a rejected step; its counts are kept."""
    p._step.is_stepping = 0  # where an exception has ended it
    move_back(p)
    p._memory[:] = p._memory_before
    if p._step.is_bulk_saved:
        p._bulk[:] = p._bulk_before
    p._step.ideal_step_size = p._step.ideal_before


@compiled_form(return_to_start)
def _return_to_start(p: int) -> None:
    problem = step_problem_at(p)
    s = problem.step
    _move_back(p)
    _copy(problem.memory, problem.memory_before)
    if s.is_bulk_saved:
        _copy(problem.bulk, problem.bulk_before)
    s.ideal_step_size = s.ideal_before


# ---------------------------------------------------------------------- derivatives


def compute(p: IntegratorBase, number: int) -> int:
    """Computes an operation at the present time and state, by its number, see IntegratorBase.operations.

    All but derivatives are computed again even if nothing has changed, as there may be other arguments.

    Returns:
        SUCCEEDED, or why the step is not taken.
    """
    evaluator = p._evaluators[number]
    if number != f.DERIVATIVES:
        evaluator.forget()
    evaluator.update()
    if p._is_searching_for_blame:
        p._refuse_what_is_not_finite()
    p._step_counts.num_evaluations += 1
    return SUCCEEDED


@compiled_form(compute)
@device
def _compute(p: int, number: int) -> int:
    problem = step_problem_at(p)
    s, evaluation = problem.step, problem.evaluation
    if number != f.DERIVATIVES:
        s.has_moved = 1  # so that Python, if it has a part in that, computes it again
    status = call_kernel(evaluation.kernel, (evaluation.argument, number))
    if status == SUCCEEDED:
        s.counts.num_evaluations += 1
        s.evaluated |= 1 << number
        if number == f.DERIVATIVES:
            s.is_current = 1
    return status


@device
def evaluate(p: Problem, xdot_out: Array) -> int:
    """Computes the derivatives at the present time and state; returns SUCCEEDED, or why the step is not taken."""
    status: int = compute(p, f.DERIVATIVES)
    if status == SUCCEEDED:
        take_derivatives(p, xdot_out)
    return status


@device
def evaluate_start(p: Problem, xdot_out: Array) -> int:
    """Computes k_1 at the start of the step, once for all attempts; not again if the derivatives there are current."""
    s = step_of(p)
    status = SUCCEEDED
    if not s.knows_start:
        if is_current(p):
            take_derivatives(p, xdot_out)
        else:
            status = evaluate(p, xdot_out)
        s.knows_start = status == SUCCEEDED
    return status


def is_current(p: IntegratorBase) -> bool:
    """Whether the derivatives in the Context are those of the present time and state."""
    return p._derivatives.are_current()


@compiled_form(is_current)
def _is_current(p: int) -> bool:
    return step_problem_at(p).step.is_current != 0


def take_derivatives(p: IntegratorBase, xdot_out: Array) -> None:
    """Copies the derivatives in the Context."""
    xdot_out[:] = p._xdot


@compiled_form(take_derivatives)
@device
def _take_derivatives(p: int, xdot_out: Array) -> None:
    problem = step_problem_at(p)
    xdot = problem.xdot
    for j in range(_size_for(problem, xdot_out)):
        xdot_out[j] = xdot[j]


def is_finite_start(p: IntegratorBase) -> bool:
    """Whether the derivatives at the start of the step are finite."""
    return is_finite(p._xdot_start)


@compiled_form(is_finite_start)
def _is_finite_start(p: int) -> bool:
    xdot_start, result = step_problem_at(p).xdot_start, True
    for j in range(len(xdot_start)):
        result = result and math.isfinite(xdot_start[j])
    return result


# ---------------------------------------------------------------------- the method, dense output


def attempt(p: IntegratorBase) -> int:
    """Tries the step of size h."""
    return p._attempt_step()


@compiled_form(attempt)
def _attempt(p: int) -> int:
    problem = step_problem_at(p)
    problem.step.is_misfit = 0
    status: int = call_kernel(problem.attempt, (p,))
    return f.MISFIT if problem.step.is_misfit else status


def record(p: IntegratorBase) -> int:
    """Records the step for dense output."""
    return p._record()


@compiled_form(record)
def _record(p: int) -> int:
    problem = step_problem_at(p)
    status: int = call_python(problem.record, problem.evaluation.failure)
    return status


# ---------------------------------------------------------------------- sums


def combine(out: Array, weights: Array, k: Array, count: int) -> None:
    """out = sum_i weights_i k_i over the first `count` rows of k, one term after the other."""
    if len(out) > _FEW:
        np.add.reduce(weights[:count, np.newaxis] * k[:count], axis=0, out=out)
        return
    factors, rows = weights.tolist(), k.tolist()
    for j in range(len(out)):
        total = factors[0] * rows[0][j]
        for i in range(1, count):
            total = total + factors[i] * rows[i][j]
        out[j] = total


@compiled_form(combine)
def _combine(out: Array, weights: Array, k: Array, count: int) -> None:
    for j in range(out.shape[0]):
        out[j] = weights[0] * k[0, j]
    for i in range(1, count):
        for j in range(out.shape[0]):
            out[j] += weights[i] * k[i, j]


def copy(out: Array, values: Array) -> None:
    """out = values."""
    out[:] = values


@compiled_form(copy)
@device
def _copy(out: Array, values: Array) -> None:
    for j in range(len(out)):
        out[j] = values[j]


@device
def add(out: Array, a: Array, b: Array) -> None:
    """out = a + b."""
    for j in elements(out):
        out[j] = a[j] + b[j]


@device
def subtract(out: Array, a: Array, b: Array) -> None:
    """out = a - b."""
    for j in elements(out):
        out[j] = a[j] - b[j]


@device
def clear(out: Array) -> None:
    """out = 0."""
    for j in elements(out):
        out[j] = 0.0


@device
def multiply(out: Array, factor: float, values: Array) -> None:
    """out = factor * values."""
    for j in elements(out):
        out[j] = values[j] * factor


def scale(out: Array, factor: float, values: Array) -> None:
    """out = factor * values, of two dimensions."""
    np.multiply(values, factor, out)


@compiled_form(scale)
def _scale(out: Array, factor: float, values: Array) -> None:
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j] * factor


def scale_at(out: Array, places: Array, factor: float, values: Array) -> None:
    """out = factor * values at some indices."""
    out[places] = factor * values[places]


@compiled_form(scale_at)
def _scale_at(out: Array, places: Array, factor: float, values: Array) -> None:
    for place in places:
        out[place] = factor * values[place]


def largest(values: Array) -> float:
    """The largest absolute value; nan if there is a nan. 0 of expressions, whose values are not known."""
    if values.dtype.kind == "O" and not hasattr(values.item(0), "real"):
        return 0.0
    magnitudes = np.abs(values)
    result: float = magnitudes.item(magnitudes.argmax()).real
    return result if magnitudes.dtype.kind != "O" or is_finite(magnitudes) else math.nan


@compiled_form(largest)
def _largest(values: Array) -> float:
    result = 0.0
    for j in range(values.shape[0]):
        if values[j] != values[j]:
            return math.nan
        result = max(result, abs(values[j]))
    return result
