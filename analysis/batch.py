"""Many evaluations of one system at a time, in threads with a Context each."""

from __future__ import annotations

import concurrent.futures
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.detached_context import detached_context, selected_input_port
from merganser.analysis.simulator import Simulator
from merganser.analysis.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.analysis.simulator_status import SimulatorStatus
from merganser.framework import Context, InputPort, InputPortSelection, System
from merganser.framework.core.native_code import may_compile

__all__ = ["BatchEvalTimeDerivatives", "BatchEvalUniquePeriodicDiscreteUpdate", "batch_simulate", "num_workers"]

Array = NDArray[Any]
_FEWEST_ROWS = 4000  # for another thread: as long as it takes to make ready for them
_FIRST_STRETCH = 4  # rows that Python computes before compiled code is looked for
# Rows that Python computes before compiled code is loaded, by what has been loaded before: all of it; numba, so that it
# takes some 0.05 s; nothing, some 0.3 s.
_ROWS_IF_LOADED = (("merganser.analysis.plan.columns", 0), ("numba", 256), ("sys", 4096))


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
        system: with continuous state; other state keeps its value.
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
        RuntimeError: the system is no difference equation.
        ValueError: sizes do not match.
    """
    name = "BatchEvalUniquePeriodicDiscreteUpdate"
    is_difference_equation, period = system.IsDifferenceEquationSystem()
    if not is_difference_equation:
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
    """What to compute of each column."""

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
    system._check_context(context)
    port = selected_input_port(system, input_port_index, name)
    t = np.asarray(arguments[0]).reshape(-1)
    x = np.asarray(arguments[1]).reshape(num_states, -1) if num_states else np.zeros((0, t.size))
    u = None if port is None else np.asarray(arguments[2])
    if x.shape[1] != t.size or (u is not None and port is not None and u.shape != (port.size(), t.size)):
        wanted = f", inputs of shape ({port.size()}, {t.size})" if port is not None else ""
        raise ValueError(
            f"{name}: {t.size} times take states of shape ({num_states}, {t.size}){wanted}; got "
            f"{np.shape(arguments[1])} and {np.shape(arguments[2])}."
        )

    if t.size == 0:
        return np.zeros((num_states, 0))
    t, x = np.asarray(t, dtype=np.float64), np.ascontiguousarray(x.T, dtype=np.float64)
    u = np.zeros((t.size, 0)) if port is None else np.ascontiguousarray(np.asarray(u, dtype=np.float64).T)
    results = np.empty_like(x)

    def evaluate_some(rows: slice) -> None:
        # A clone takes a quarter of the time, 0.2 ms for a plant.
        mine = context.Clone() if context._parent is None else detached_context(system, context)
        _evaluate_rows(rule, mine, port, (t[rows], x[rows], u[rows]), results[rows])

    workers = min(num_workers(parallelize, name), 1 + t.size // _FEWEST_ROWS)
    bounds = [t.size * i // workers for i in range(workers + 1)]
    parts = [slice(start, end) for start, end in itertools.pairwise(bounds)]
    if workers == 1:
        evaluate_some(parts[0])
    else:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(evaluate_some, parts))
    return results.T


def _evaluate_rows(
    rule: _Rule, mine: Context, port: InputPort | None, rows: tuple[Array, Array, Array], results: Array
) -> None:
    """Fills in the results for some times, states and inputs, one a row.

    Rows are computed by callbacks until it is worth while to compile, and then from one that compiled code cannot
    compute to where it is tried again.
    """
    t, x, u = rows
    row, stretch = 0, _FIRST_STRETCH
    can_be_lowered = may_compile() and mine._store.flat.dtype == np.float64
    while row < len(t):
        end = min(row + stretch, len(t))
        for i in range(row, end):
            fixed = None if port is None else port.FixValue(mine, u[i])
            results[i] = rule.evaluate(mine, t[i], x[i])
        row, stretch = end, 2 * stretch
        if row < len(t) and can_be_lowered and row >= _rows_before_compiling():
            from merganser.analysis.plan.columns import Columns  # loads numba

            try:
                columns = Columns(mine, fixed, rule.is_discrete)
            except LookupError:  # something is left to Python, for now at least
                continue
            found, count = columns.run(t[row:], x[row:], u[row:], rule.period, rule.num_steps)
            results[row : row + count] = found[:count]
            row, stretch = row + count, _FIRST_STRETCH


def _rows_before_compiling() -> int:
    return next(rows for module, rows in _ROWS_IF_LOADED if module in sys.modules)


def batch_simulate(
    system: System,
    contexts: Sequence[Context],
    final_time: float,
    *,
    config: SimulatorConfig | None = None,
    parallelize: bool | int = True,
) -> list[SimulatorStatus]:
    """Simulates one system from many Contexts, in threads; compiled blocks run at the same time.

    Args:
        system: shared by all simulations; its callbacks must not keep values in the system itself.
        contexts: root contexts, each with its own time; they are advanced.
        final_time: up to which time [s].
        config: settings of the simulators; start times come from the contexts.
        parallelize: number of threads; True for as many as there are processors.

    Returns:
        How each simulation ended.

    Raises:
        ValueError: a context is there twice, or belongs to another system.
    """
    if len({id(context) for context in contexts}) < len(contexts):
        raise ValueError("batch_simulate: each simulation needs a Context of its own, but one is there twice.")
    simulators = []
    for context in contexts:
        start = context.get_time()
        simulator = Simulator(system, context)
        if config is not None:
            ApplySimulatorConfig(config, simulator)
            context.SetTime(start)
        simulators.append(simulator)
    time_without_plan = 0.0  # of all simulations together: what is worth while to load is so for the whole batch

    def advance(simulator: Simulator) -> SimulatorStatus:
        nonlocal time_without_plan
        before = simulator._time_without_plan = time_without_plan
        status = simulator.AdvanceTo(final_time)
        time_without_plan += simulator._time_without_plan - before
        return status

    with concurrent.futures.ThreadPoolExecutor(num_workers(parallelize, "batch_simulate")) as pool:
        return list(pool.map(advance, simulators))


def num_workers(parallelize: Any, name: str) -> int:
    """The number of workers that True, False or a number stands for.

    Raises:
        ValueError: it is not positive.
    """
    if isinstance(parallelize, (bool, np.bool_)):
        return (os.cpu_count() or 1) if parallelize else 1
    count = int(parallelize.num_threads() if hasattr(parallelize, "num_threads") else parallelize)
    if count < 1:
        raise ValueError(f"{name}: the number of workers must be at least 1, got {count}.")
    return count
