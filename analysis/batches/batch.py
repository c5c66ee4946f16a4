"""Many evaluations of one system at a time, in threads with a Context each."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
import time as wall_clock
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_contexts import have_same_abstract_values, may_read_abstract_values
from merganser.analysis.system_dynamics import detached_context, selected_input_port
from merganser.framework import Context, InputPort, InputPortSelection, System
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.context.store import FixedInputPortValue
from merganser.framework.core.inside import scalar_of

if TYPE_CHECKING:
    from merganser.analysis.batches.rows_in_lanes import LanesOfModel
    from merganser.analysis.plan.model_tape import ModelTape

Array = NDArray[Any]
_WORTH_A_THREAD = 0.0005  # to make one ready takes half as long [s]
_TIME_OF_ROW = 1e-7  # of compiled code, as long as nothing else is known [s]
_FIRST_STRETCH = 4  # rows that Python computes before compiled code is looked for
_ROWS_WORTH_LANES = 64  # computed one after the other before
# Rows that Python computes before compiled code is loaded, by what has been loaded before: all of it; numba, so that it
# takes some 0.05 s; nothing, some 0.3 s.
_ROWS_IF_LOADED = (("merganser.analysis.plan.model_tape", 0), ("numba", 256), ("sys", 4096))


def BatchEvalTimeDerivatives(
    system: System,
    context: Context,
    times: ArrayLike,
    states: ArrayLike,
    inputs: ArrayLike,
    input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists,
    parallelize: bool | int = True,
) -> Array:
    """Evaluates time derivatives at many times, states and inputs.

    Args:
        system: with continuous state, of any scalar type; other state keeps its value.
        context: other state, parameters and other inputs; it is not changed.
        times: [s], shape [N] or [1, N].
        states: continuous states, one a column, shape [num_continuous_states, N].
        inputs: values of the input port, one a column, shape [size of the port, N]; ignored if there is no port.
        input_port_index: which port, or an InputPortSelection.
        parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

    Returns:
        Time derivatives, shape [num_continuous_states, N].

    Raises:
        ValueError: sizes do not match.
    """
    name = "BatchEvalTimeDerivatives"

    def evaluate(mine: Context, time: Any, x: Array) -> Array:
        mine.SetTimeAndContinuousState(time, x)
        return system.EvalTimeDerivatives(mine).CopyToVector()

    size = context.num_continuous_states()
    rule = _Rule(name, evaluate, False, 0.0, 1)
    return _evaluate_all(rule, system, context, (times, states, inputs), size, input_port_index, parallelize)


def BatchEvalUniquePeriodicDiscreteUpdate(
    system: System,
    context: Context,
    times: ArrayLike,
    states: ArrayLike,
    inputs: ArrayLike,
    num_time_steps: int = 1,
    input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists,
    parallelize: bool | int = True,
) -> Array:
    """Evaluates a difference equation at many times, states and inputs.

    Args:
        system: its state is one discrete group, updated with one period from time 0.
        context: parameters and other inputs; it is not changed.
        times: [s], shape [N] or [1, N].
        states: one a column, shape [num_states, N].
        inputs: values of the input port, held for all time steps, shape [size of the port, N]; ignored if there is no
            port.
        num_time_steps: how many updates to make.
        input_port_index: which port, or an InputPortSelection.
        parallelize: number of threads; True for as many as there are processors. Results do not depend on it.

    Returns:
        The states after these time steps, shape [num_states, N].

    Raises:
        RuntimeError: the system is not a difference equation.
        ValueError: sizes do not match.
    """
    name = "BatchEvalUniquePeriodicDiscreteUpdate"
    system.ValidateContext(context)
    period = _period_of(system, context)
    if period is None:
        raise RuntimeError(
            f"{name}: the state of system '{system.GetSystemPathname()}' must be one discrete group, updated with one "
            "period and offset 0."
        )
    if num_time_steps < 1:
        raise ValueError(f"{name}: num_time_steps must be at least 1, got {num_time_steps}.")

    def evaluate(mine: Context, time: Any, x: Array) -> Array:
        for step in range(num_time_steps):
            mine.SetTime(time + step * period)
            mine.SetDiscreteState(x)
            x = system.EvalUniquePeriodicDiscreteUpdate(mine).get_vector(0).CopyToVector()
        return x

    size = context.get_discrete_state_vector().size()
    rule = _Rule(name, evaluate, True, period, num_time_steps)
    return _evaluate_all(rule, system, context, (times, states, inputs), size, input_port_index, parallelize)


class _Rule(NamedTuple):
    """The quantity to compute for each column."""

    name: str
    evaluate: Callable[[Context, Any, Array], Array]
    is_discrete: bool
    period: float
    num_steps: int


def _evaluate_all(
    rule: _Rule,
    system: System,
    context: Context,
    arguments: tuple[ArrayLike, ArrayLike, ArrayLike],
    num_states: int,
    input_port_index: Any,
    parallelize: bool | int,
) -> Array:
    name = rule.name
    system.ValidateContext(context)
    scratch_contexts = _scratch_contexts_of(system, context, input_port_index, rule)
    port = scratch_contexts.port
    # Python alone computes rows of AutoDiffXd and of expressions.
    dtype = np.float64 if scalar_of(system) is float else object
    t = np.ascontiguousarray(arguments[0], dtype=dtype).reshape(-1)
    num = t.size
    x = np.asarray(arguments[1]).reshape(num_states, -1) if num_states else np.zeros((0, num))
    u = None if port is None else np.asarray(arguments[2])
    if x.shape[1] != num or (u is not None and u.shape != (scratch_contexts.num_inputs, num)):
        wanted = f", inputs of shape ({scratch_contexts.num_inputs}, {num})" if port is not None else ""
        raise ValueError(
            f"{name}: {num} times take states of shape ({num_states}, {num}){wanted}; got "
            f"{np.shape(arguments[1])} and {np.shape(arguments[2])}."
        )
    workers = num_workers(parallelize, name)
    if num == 0:
        return np.zeros((num_states, 0))
    x = np.ascontiguousarray(x.T, dtype=dtype)
    u = np.zeros((num, 0)) if u is None else np.ascontiguousarray(u.T, dtype=dtype)
    results = np.empty(x.shape, dtype)
    begin = wall_clock.perf_counter()
    workers = min(workers, 1 + int(num * scratch_contexts.time_of_row / _WORTH_A_THREAD))
    if workers == 1:
        is_compiled = _evaluate_rows(rule, scratch_contexts, system, context, (t, x, u), results)
    else:
        shared = rule, scratch_contexts, system, context
        with concurrent.futures.ThreadPoolExecutor(workers - 1) as pool:
            futures = []
            for i in range(workers - 1):
                part = slice(num * i // workers, num * (i + 1) // workers)
                futures.append(pool.submit(_evaluate_rows, *shared, (t[part], x[part], u[part]), results[part]))
            part = slice(part.stop, num)
            is_compiled = _evaluate_rows(*shared, (t[part], x[part], u[part]), results[part])
            is_compiled = all([is_compiled, *(future.result() for future in futures)])
    scratch_contexts.num_rows += num
    if is_compiled:
        scratch_contexts.time_of_row = workers * (wall_clock.perf_counter() - begin) / num
    return results.T


class _ScratchContext:
    """A Context in which rows are computed, and its compiled loop, once made.

    Args:
        system: what is computed.
        context: with the values that hold where nothing else is said.
    """

    def __init__(self, system: System, context: Context) -> None:
        is_root = context.parent is None
        # A clone takes a quarter of the time, 0.2 ms for a plant.
        self.context: Any = context.Clone() if is_root else detached_context(system, context)
        self.tape: ModelTape | None = None
        self._lanes: LanesOfModel | None = None
        self._fixed: Any = None  # the input that changes
        self._num_rows, self._num_rows_to_wait = 0, _ROWS_WORTH_LANES  # before lanes are looked for
        self._routing = context.store.routing
        self._routing_here = -1  # when it served last
        # Whether all values that count are in one array.
        self._may_last = is_root and all(
            part.layout.free_offsets[index] is not None
            for part in context.parts()
            for index, source in enumerate(part.sources)
            if isinstance(source, FixedInputPortValue) and source.context is part
        )
        self._has_abstract_values = bool(context.num_abstract_states() or context.num_abstract_parameters())
        self._may_read_abstract_values = may_read_abstract_values(context)

    def can_be_lowered(self) -> bool:
        """Whether there is compiled code for such numbers."""
        return may_compile() and self.context.store.flat.dtype == np.float64

    def lower(self, fixed: Any, is_discrete: bool) -> None:
        """Makes the compiled loop, unless a part of it must run in Python at the moment."""
        from merganser.analysis.plan.model_tape import ModelTape  # loads numba

        with contextlib.suppress(LookupError):
            self.tape, self._fixed = ModelTape(self.context, fixed, is_discrete), fixed

    def run(self, tape: ModelTape, rule: _Rule, rows: tuple[Array, Array, Array], results: Array) -> int:
        """Computes rows by compiled code, side by side where that is possible; as ModelTape.run()."""
        t, x, u = rows
        self._num_rows += len(t)
        if self._lanes is None and self._num_rows >= self._num_rows_to_wait:
            from merganser.analysis.batches.rows_in_lanes import LanesOfModel  # loads numba

            self._num_rows_to_wait = 2 * self._num_rows
            with contextlib.suppress(LookupError):
                self._lanes = LanesOfModel(self.context, self._fixed, rule.is_discrete)
        if self._lanes is None:
            return tape.run(t, x, u, rule.period, rule.num_steps, results)
        left = self._lanes.run(x, u, rule.num_steps, results)
        if len(left) > len(t) // 2:  # they part too often
            self._lanes, self._num_rows_to_wait = None, 2 * self._num_rows
        alone = np.empty((len(left), x.shape[1]))
        count = tape.run(t[left], x[left], u[left], rule.period, rule.num_steps, alone)
        results[left[:count]] = alone[:count]
        return len(t) if count == len(left) else int(left[count])

    def is_lasting(self) -> bool:
        """Whether it can be reused; notes what must not change until then."""
        self._routing_here = self.context.store.routing
        return self._may_last and (self.tape is not None or not self._has_abstract_values)

    def load(self, context: Context) -> bool:
        """Copies the numbers of the context that it was made of; returns whether both still match."""
        store, here = context.store, self.context.store
        if self._routing != store.routing or self._routing_here != here.routing or here.layout is not store.layout:
            return False
        if self.tape is not None and not self.tape.is_current():
            return False
        if self._may_read_abstract_values and not have_same_abstract_values(self.context, context):
            return False
        here.flat[:] = store.flat
        here.invalid = (1 << here.layout.num_entries) - 1
        here.accuracy = store.accuracy
        return True


class _ScratchContexts:
    """The scratch Contexts of a Context; several if threads used it.

    Args:
        port: the input port that changes; None for none.

    Attributes:
        num_inputs: its size.
        num_rows: how many rows have been computed in batches that are over.
        num_rows_to_wait: before the compiled loop is tried again, which could not be made.
        time_of_row: how long one has taken in the last batch that was compiled [s].
    """

    def __init__(self, port: InputPort | None) -> None:
        self._free: list[_ScratchContext] = []
        self.port = port
        self.num_inputs = 0 if port is None else port.size()
        self.num_rows = self.num_rows_to_wait = 0
        self.time_of_row = _TIME_OF_ROW

    def take(self, system: System, context: Context) -> _ScratchContext:
        """Takes a free scratch Context, or makes one."""
        try:
            scratch = self._free.pop()
        except IndexError:
            return _ScratchContext(system, context)
        return scratch if scratch.load(context) else _ScratchContext(system, context)

    def give_back(self, scratch: _ScratchContext) -> None:
        """Keeps a scratch Context for reuse."""
        if scratch.is_lasting():
            self._free.append(scratch)


# What was made for a Context serves its next batches, too: ten columns take 20 us then, instead of a millisecond.
_scratch_contexts: weakref.WeakKeyDictionary[Context, dict[Any, _ScratchContexts]] = weakref.WeakKeyDictionary()


def _period_of(system: System, context: Context) -> float | None:
    """The period of a difference equation [s]; None if it has none."""
    known = _periods.get(context, -1.0)
    if known == -1.0:
        is_difference_equation, period = system.IsDifferenceEquationSystem()
        known = _periods[context] = period if is_difference_equation else None
    return known


_periods: weakref.WeakKeyDictionary[Context, float | None] = weakref.WeakKeyDictionary()


def _scratch_contexts_of(system: System, context: Context, input_port_index: Any, rule: _Rule) -> _ScratchContexts:
    found = _scratch_contexts.get(context)
    if found is None:
        found = _scratch_contexts[context] = {}
    key = rule.is_discrete, input_port_index
    scratch_contexts = found.get(key)
    if scratch_contexts is None:
        scratch_contexts = found[key] = _ScratchContexts(selected_input_port(system, input_port_index, rule.name))
    return scratch_contexts


def _evaluate_rows(
    rule: _Rule,
    scratch_contexts: _ScratchContexts,
    system: System,
    context: Context,
    rows: tuple[Array, Array, Array],
    results: Array,
) -> bool:
    """Fills in the results for some times, states and inputs, one a row; returns whether all of it ran compiled.

    Rows are computed by callbacks until compiling pays, and then from one that compiled code cannot compute to where it
    is tried again.
    """
    scratch = scratch_contexts.take(system, context)
    (t, x, u), mine, port = rows, scratch.context, scratch_contexts.port
    row = 0 if scratch.tape is None else scratch.run(scratch.tape, rule, rows, results)
    is_compiled, stretch = row == len(t), _FIRST_STRETCH
    while row < len(t):
        end = min(row + stretch, len(t))
        for i in range(row, end):
            fixed = None if port is None else port.FixValue(mine, u[i])
            results[i] = rule.evaluate(mine, t[i], x[i])
        row, stretch = end, 2 * stretch
        if scratch.tape is None and scratch.can_be_lowered():
            num_before = scratch_contexts.num_rows
            pays = num_before + row >= max(_rows_before_compiling(), scratch_contexts.num_rows_to_wait)
            if pays and (row < len(t) or num_before > 0):
                scratch.lower(fixed, rule.is_discrete)
                scratch_contexts.num_rows_to_wait = 2 * (num_before + row)
        if scratch.tape is not None and row < len(t):
            row += scratch.run(scratch.tape, rule, (t[row:], x[row:], u[row:]), results[row:])
            stretch = _FIRST_STRETCH
    scratch_contexts.give_back(scratch)
    return is_compiled


def _rows_before_compiling() -> int:
    return next(rows for module, rows in _ROWS_IF_LOADED if module in sys.modules)


def num_workers(parallelize: Any, name: str) -> int:
    """The number of workers that True, False or a number means.

    Raises:
        ValueError: it is not positive.
    """
    if isinstance(parallelize, (bool, np.bool_)):
        return (os.cpu_count() or 1) if parallelize else 1
    count = int(parallelize.num_threads() if hasattr(parallelize, "num_threads") else parallelize)
    if count < 1:
        raise ValueError(f"{name}: the number of workers must be at least 1, got {count}.")
    return count
