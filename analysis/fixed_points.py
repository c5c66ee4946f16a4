"""Where a system stays, and from where it returns there.

FindFixedPoint finds a state and inputs at which a system stays. RegionOfAttraction is a sublevel set of a Lyapunov
function from which it returns: V(x) = (x - x0)' P (x - x0) with A'P + P A = -I, A the Jacobian at x0, falls along all
solutions near x0 if A is stable (Khalil 2002, theorem 4.7). The region is the largest sublevel set of V in which no
sample with dV/dt >= 0 was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.batches.batch import BatchEvalTimeDerivatives
from merganser.analysis.system_dynamics import detached_context, selected_input_port, set_state_values, state_values
from merganser.framework import Context, InputPortSelection, OutputPortSelection, System
from merganser.framework.common.records import settings
from merganser.framework.primitives import FirstOrderTaylorApproximation, Linearize

if TYPE_CHECKING:
    from merganser.framework.symbolic import Expression

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


# ---------------------------------------------------------------------- region of attraction

_NEAREST, _GROWTH, _FARTHEST = 1e-3, 1.5, 1e5  # distances that are tried along a ray
_BISECTIONS = 40
_AT_A_TIME = 50  # rays
_ROUNDS, _NARROWING = 12, 0.5  # of the search about the worst ray


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class RegionOfAttractionOptions:
    """Options of `RegionOfAttraction`.

    Attributes:
        lyapunov_candidate: V, an Expression of the state variables, zero at the fixed point and positive elsewhere;
            0 for the one that the linearization gives.
        state_variables: the Variables of the state; by default x0, x1, ...
        use_implicit_dynamics: must be False.
        num_samples: how many random rays from the fixed point are searched first; 100 for each dimension if None
            (ours).
        seed: of the random directions (ours).
        certificate_tolerance: of pydrake's proofs by sums of squares; must be finite and not negative. There are no
            such proofs here.
    """

    lyapunov_candidate: Any = 0.0
    state_variables: Any = ()
    use_implicit_dynamics: bool = False
    solver_id: Any = None
    solver_options: Any = None
    num_samples: int | None = None
    seed: int = 0
    certificate_tolerance: float = 1e-6


def RegionOfAttraction(
    system: System, context: Context, options: RegionOfAttractionOptions | None = None
) -> Expression:
    """Estimates the region of attraction of a fixed point, as {x | V(x) <= 1}.

    What is proven: with V from the linearization, solutions that begin close enough to the fixed point return to it.
    What is not: that those from all of the region do. The condition dV/dt < 0 is checked on samples, along random
    rays and then ever closer to the worst of them; a violation between the samples goes unseen. pydrake proves it by
    sums of squares, for polynomial dynamics only; here the dynamics may be any, and sublevel sets of a candidate
    should be star-shaped about the fixed point.

    Args:
        system: time-invariant, with continuous state only.
        context: the fixed point, and all inputs.
        options: see RegionOfAttractionOptions.

    Returns:
        V, an Expression, scaled so that the region is {x | V(x) <= 1}.

    Raises:
        RuntimeError: the context holds no fixed point, or it is not stable, or no end of the region was found.
        ValueError: options do not fit the system, or ask for implicit dynamics.
    """
    from merganser.framework.symbolic import Expression, Variable

    options = options or RegionOfAttractionOptions()
    if options.use_implicit_dynamics:
        raise ValueError("RegionOfAttraction: implicit dynamics are not supported; set use_implicit_dynamics = False.")
    if not 0.0 <= options.certificate_tolerance < np.inf:
        raise ValueError(
            "RegionOfAttraction: certificate_tolerance must be finite and not negative, got "
            f"{options.certificate_tolerance}."
        )
    path = system.GetSystemPathname()
    mine = detached_context(system, context)
    x0 = mine.get_continuous_state_vector().CopyToVector()
    n = len(x0)
    given = list(options.state_variables)
    candidate = Expression(options.lyapunov_candidate)
    by_name = {variable.get_name(): variable for variable in candidate.GetVariables()}
    named = [f"x{i}" for i in range(n)]
    own = [by_name[name] if name in by_name else Variable(name) for name in named]
    variables = np.array(given or own, dtype=object)
    if len(variables) != n or not mine.has_only_continuous_state():
        raise ValueError(
            f"RegionOfAttraction: system '{path}' must have continuous state only, and as many state_variables; it has "
            f"{n}, and {len(variables)} were given."
        )
    if candidate.EqualTo(Expression(0.0)):
        A = Linearize(system, mine, InputPortSelection.kNoInput, OutputPortSelection.kNoOutput).A()
        P = _lyapunov_matrix(A, path)
        e = variables - x0
        candidate = e @ P @ e

        def values_and_slopes(X: Array) -> tuple[Array, Array]:
            PE = (X - x0) @ P
            return ((X - x0) * PE).sum(axis=1), 2.0 * PE
    else:
        slopes = candidate.Jacobian(variables)
        P = _curvature(slopes, variables, x0)

        def values_and_slopes(X: Array) -> tuple[Array, Array]:
            points = [dict(zip(variables, x)) for x in X]
            values = np.array([candidate.Evaluate(at) for at in points])
            return values, np.array([[Expression(slope).Evaluate(at) for slope in slopes] for at in points])

    def fall(X: Array) -> tuple[Array, Array]:
        """V and dV/dt at states, one a row."""
        times, no_input = np.full(len(X), mine.get_time()), InputPortSelection.kNoInput
        V, slope = values_and_slopes(X)
        xdot = BatchEvalTimeDerivatives(system, mine, times, X.T, np.empty((0, len(X))), no_input, parallelize=False)
        return V, (slope * xdot.T).sum(axis=1)

    level = _largest_level(fall, x0, P, options, path)
    return candidate / level


def _curvature(slopes: Array, variables: Array, x0: Array) -> Array:
    """Half of the Hessian of a candidate at x0, where it is positive definite; else the identity."""
    from merganser.framework.symbolic import Expression

    at = dict(zip(variables, x0))
    H = np.array([[Expression(e).Evaluate(at) for e in Expression(slope).Jacobian(variables)] for slope in slopes])
    return 0.5 * H if (np.linalg.eigvalsh(H) > 1e-9 * max(1.0, float(np.abs(H).max()))).all() else np.eye(len(x0))


def _lyapunov_matrix(A: Array, path: str) -> Array:
    from scipy.linalg import solve_continuous_lyapunov

    modes = np.linalg.eigvals(A)
    if not (modes.real < 0.0).all():
        worst = modes[modes.real.argmax()]
        raise RuntimeError(
            f"RegionOfAttraction: the fixed point of system '{path}' is not stable to first order: its linearization "
            f"has the eigenvalue {worst:.6g}."
        )
    return solve_continuous_lyapunov(A.T, -np.eye(len(A)))


def _largest_level(
    fall: Callable[[Array], tuple[Array, Array]], x0: Array, P: Array, options: RegionOfAttractionOptions, path: str
) -> float:
    """The lowest V at which a sample does not fall."""
    rng, n = np.random.default_rng(options.seed), len(x0)
    to_x = np.linalg.inv(np.linalg.cholesky(P)).T  # makes level sets of x'P x spheres
    count = 0 if n == 1 else 100 * n if options.num_samples is None else options.num_samples
    best, worst, radius = np.inf, None, np.inf

    def search(directions: Array, nearest: float, is_local: bool) -> int:
        """Searches along directions, if it is local up to the first one that is worse; returns how many these are."""
        nonlocal best, worst, radius
        directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        levels, highest, radii = _levels_along(fall, x0, directions @ to_x.T, nearest, best)
        for k, direction in enumerate(directions):
            if levels[k] < best and highest[k] < best:
                best, worst, radius = float(levels[k]), direction, float(radii[k])
                if is_local:
                    return k + 1
        return len(directions)

    directions = np.concatenate([np.eye(n), -np.eye(n), rng.normal(size=(count, n))])
    for start in range(0, len(directions), _AT_A_TIME):  # the best level so far ends others early
        search(directions[start : start + _AT_A_TIME], _NEAREST, False)
    if worst is None:
        raise RuntimeError(
            f"RegionOfAttraction: no end of the region of system '{path}' was found: V falls on all samples, so the "
            "fixed point seems to attract every state."
        )
    width, nearest = 1.0, 0.5 * radius
    for _ in range(_ROUNDS if n > 1 else 0):
        width *= _NARROWING
        offsets = rng.normal(size=(4 * n + 4, n))
        while len(offsets):
            offsets = offsets[search(worst + width * offsets / np.sqrt(n), nearest, True) :]
    return best


def _levels_along(
    fall: Callable[[Array], tuple[Array, Array]], x0: Array, rays: Array, nearest: float, best: float
) -> tuple[Array, Array, Array]:
    """Where V ceases to fall along rays from x0, and infinity where that is beyond the level `best`.

    Returns:
        V there, the highest V on the way, and how far it is; shape [number of rays] each.
    """
    num = len(rays)
    inside, outside, highest = np.zeros(num), np.full(num, np.inf), np.full(num, -np.inf)
    going, r = np.arange(num), nearest
    while len(going):
        level, rate = fall(x0 + r * rays[going])
        falls = rate < 0.0
        outside[going[~falls]] = r
        going, level = going[falls], level[falls]
        highest[going] = np.maximum(highest[going], level)
        inside[going] = r
        going = going[level < best] if r <= _FARTHEST else going[:0]
        r *= _GROWTH
    ends = np.flatnonzero(outside < np.inf)
    for _ in range(_BISECTIONS if len(ends) else 0):
        middle = 0.5 * (inside[ends] + outside[ends])
        falls = fall(x0 + middle[:, None] * rays[ends])[1] < 0.0
        inside[ends[falls]], outside[ends[~falls]] = middle[falls], middle[~falls]
    levels = np.full(num, np.inf)
    if len(ends):
        levels[ends] = np.where(inside[ends] > 0.0, fall(x0 + inside[ends, None] * rays[ends])[0], 0.0)
    return levels, highest, inside
