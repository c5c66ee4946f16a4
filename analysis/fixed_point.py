"""FindFixedPoint: a state and inputs at which a system stays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.system_dynamics import detached_context, selected_input_port, set_state_values, state_values
from merganser.framework import Context, InputPortSelection, OutputPortSelection, System
from merganser.framework.primitives import FirstOrderTaylorApproximation

Array = NDArray[Any]
_SMALLEST_STEP = 2.0**-20  # shares of a Newton step that are tried


class FixedPoint(NamedTuple):
    """A fixed point of a system.

    Attributes:
        x: state, shape [n].
        u: input, shape [m].
        residual: largest time derivative, or change in one period.
        num_iterations: Newton iterations taken.
    """

    x: Array
    u: Array
    residual: float
    num_iterations: int


def FindFixedPoint(
    system: System,
    context: Context,
    inputs: Iterable[int] | None = None,
    *,
    fixed_states: Iterable[int] = (),
    input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists,
    tolerance: float = 1e-10,
    max_iterations: int = 50,
) -> FixedPoint:
    """Finds a state and inputs with f(x, u) = 0, or f(x, u) = x in discrete time, near those of a context.

    Newton's method with exact Jacobians (see `Linearize`), least-norm steps where there are more unknowns than
    equations, and steps cut in half until the residual falls (Deuflhard 2011, chapter 4). So the result is one that is
    near, not the nearest. Pass it on by `context.SetContinuousState(x)` and `port.FixValue(context, u)`.

    Args:
        system: with continuous state only, or discrete state only, updated with one period.
        context: where to begin, with parameters and other inputs; it is not changed.
        inputs: which elements of the input port may change; all if None, none if empty.
        fixed_states: which state variables keep their values.
        input_port_index: which port, or an InputPortSelection.
        tolerance: largest residual of a fixed point.
        max_iterations: of Newton's method.

    Raises:
        IndexError: there is no such element of input or state.
        RuntimeError: no fixed point was found; the message says how near it got.
    """
    mine = detached_context(system, context)
    port = selected_input_port(system, input_port_index, "FindFixedPoint")
    u = np.zeros(0) if port is None else np.array(port.Eval(mine), dtype=float)
    is_discrete = mine.num_discrete_state_groups() > 0
    x = state_values(mine)
    held = _checked_indices(fixed_states, len(x), "state variable")
    free_u = _checked_indices(range(len(u)) if inputs is None else inputs, len(u), "input")
    free_x = [i for i in range(len(x)) if i not in held]
    free = [*free_x, *(len(x) + i for i in free_u)]

    def approximate(point: Array) -> tuple[Array, Array]:
        """The residual and its Jacobian."""
        x, u = point[: len(held) + len(free_x)], point[len(held) + len(free_x) :]
        set_state_values(mine, x)
        if port is not None:
            port.FixValue(mine, u)
        index = InputPortSelection.kNoInput if port is None else port.get_index()
        linear = FirstOrderTaylorApproximation(system, mine, index, OutputPortSelection.kNoOutput)
        A, B, f0 = linear.A(), linear.B(), linear.f0()
        if is_discrete:
            A = A - np.eye(len(x))
        return A @ x + (B @ u if len(u) else 0.0) + f0, np.hstack([A, B.reshape(len(x), -1)])

    point = np.concatenate([x, u])
    residual, jacobian = approximate(point)
    for iteration in range(max_iterations + 1):
        size = float(np.abs(residual).max(initial=0.0))
        if size <= tolerance:
            return FixedPoint(point[: len(x)].copy(), point[len(x) :].copy(), size, iteration)
        step = np.zeros_like(point)
        step[free] = -np.linalg.lstsq(jacobian[:, free], residual, rcond=None)[0]
        share = 1.0
        while share >= _SMALLEST_STEP:
            trial = point + share * step
            trial_residual, trial_jacobian = approximate(trial)
            if np.linalg.norm(trial_residual) < (1.0 - 0.1 * share) * np.linalg.norm(residual):
                break
            share *= 0.5
        else:
            break
        point, residual, jacobian = trial, trial_residual, trial_jacobian
    raise RuntimeError(
        f"FindFixedPoint: no fixed point of system '{system.GetSystemPathname()}' was found near the values of the "
        f"context; the nearest state {point[: len(x)].tolist()} with input {point[len(x) :].tolist()} has a residual "
        f"of {np.abs(residual).max():.3g} (tolerance {tolerance:g}). Begin elsewhere, or let more inputs change."
    )


def _checked_indices(indices: Iterable[int], count: int, what: str) -> list[int]:
    result = [int(index) for index in indices]
    for index in result:
        if not 0 <= index < count:
            raise IndexError(f"FindFixedPoint: there is no {what} {index}: there are {count}.")
    return result
