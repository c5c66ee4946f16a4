"""The way of a solve: standard form, barrier method, and back to the problem's own terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from merganser.framework.optimization.interior_point.barrier import S_MAX, BarrierMethod, Errors, Monitor
from merganser.framework.optimization.interior_point.form import StandardForm
from merganser.framework.optimization.interior_point.problem import (
    Array,
    NonlinearProblem,
    Progress,
    Result,
    Settings,
    Status,
)

_MOST_SCALINGS = 5


def solve(
    problem: NonlinearProblem,
    guess: Array,
    settings: Settings | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result:
    """Finds a local minimum of a nonlinear problem.

    Args:
        problem: what to minimize. Its functions may return NaN or infinity at trial points: the step is shortened then.
        guess: where to start, shape [n]; it is moved inside the bounds.
        settings: tolerances and limits.
        callback: called at each iteration; the solve ends if it returns False.

    Raises:
        ValueError: If the guess is not n finite numbers, or a function returns an array of another size.
        Exception: Whatever a function of the problem or the callback raises.
    """
    settings = settings or Settings()
    guess = np.array(guess, float)
    if guess.shape != problem.x_lower.shape or not np.all(np.isfinite(guess)):
        raise ValueError(f"The guess must be {len(problem.x_lower)} finite numbers; it is {guess}.")
    monitor = Monitor(settings, callback)
    with np.errstate(divide="ignore"):
        form = StandardForm(problem, guess, settings)
        for _ in range(_MOST_SCALINGS):
            method = BarrierMethod(form, settings, monitor, form.start, settings.mu_init)
            result = _result(problem, form, method, method.run())
            if not result.is_success():
                break
            form = StandardForm(problem, result.x, settings)
            if _is_optimal(result, method.errors(0.0), form.cost_scale, settings):
                return result
        return result if not result.is_success() else replace(result, status=Status.NO_PROGRESS)


def _is_optimal(result: Result, errors: Errors, scale: float, settings: Settings) -> bool:
    """Whether the optimality conditions hold with the scale of the cost at the point that was found.

    That of a guess far away, where the cost is steep, calls points solved at which it still falls. Errors are those
    before points were brought back from relaxed bounds, by which the gradient changes.
    """
    multipliers = np.abs(np.concatenate([result.x_lower_multipliers, result.x_upper_multipliers, result.g_multipliers]))
    size = max(1.0, scale * float(np.sum(multipliers)) / max(len(multipliers), 1) / S_MAX)
    return scale * max(errors.complementarity, errors.dual) / size <= settings.acceptable_tol


def _result(problem: NonlinearProblem, form: StandardForm, method: BarrierMethod, status: Status) -> Result:
    x = np.clip(form.full_x(method.z), problem.x_lower, problem.x_upper)
    m, scale = form.num_constraints, form.cost_scale
    y = method.y * form.row_scale / scale
    g = np.zeros(0) if problem.g is None else np.asarray(problem.g(x), float)
    J = np.zeros(0) if problem.jacobian is None else np.asarray(problem.jacobian(x), float)
    slope = np.bincount(problem.jacobian_columns, J * y[problem.jacobian_rows], len(x)) if m else np.zeros(len(x))
    if problem.f is not None and problem.gradient is not None:
        slope = slope + problem.gradient(x)
    fixed = np.ones(len(x), bool)
    fixed[form.free] = False
    z_l, z_u = np.where(fixed, np.maximum(slope, 0.0), 0.0), np.where(fixed, np.maximum(-slope, 0.0), 0.0)
    z_l[form.free], z_u[form.free] = method.z_l[: form.num_x] / scale, method.z_u[: form.num_x] / scale
    outside = np.concatenate([problem.g_lower - g, g - problem.g_upper]) if m else np.zeros(0)
    return Result(
        status=status,
        x=x,
        cost=0.0 if problem.f is None else float(problem.f(x)),
        g=g,
        g_multipliers=y,
        x_lower_multipliers=z_l,
        x_upper_multipliers=z_u,
        iterations=method._monitor.iterations,
        violation=float(np.max(outside, initial=0.0)),
        dual_residual=float(np.abs(slope - z_l + z_u).max(initial=0.0)),
        complementarity=method.errors(0.0).complementarity,
    )
