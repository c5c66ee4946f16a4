"""A local optimum of a small nonlinear program near a point, by quadratic programs, one after the other.

With prices z of the rows, a step d from x minimizes what a model says of the cost, and keeps the linearized rows:

    min grad f . d + 0.5 d'W d,   lower <= g + J d <= upper,   x + d in the box                                   (1)

W are the second derivatives of f + z . g if they are known, else a quasi-Newton approximation of them. W is made
positive definite in directions that active rows leave free, where that is needed:

    W + sum of rho_i J_i' J_i over active rows i + delta I                                                        (2)

the first of which changes no step along these rows; where that is not enough, negative eigenvalues change their signs.
A filter of violations and costs says how far to go; where the whole step is refused, rows are once linearized with what
they were found to be at its end (second-order correction).
Where there is no step, least squares find a point with less violation.

Sources: J. Nocedal and S. Wright, Numerical Optimization (2006), chapter 18; R. Fletcher and S. Leyffer, Nonlinear
programming without a penalty function, Math. Program. 91 (2002); M. Powell (1978), damping of (3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from merganser.framework.optimization.arrays import Array
from merganser.framework.optimization.interior_point.filter import Filter
from merganser.framework.optimization.solvers.damped_steps import (
    call,
    make_eigenvalues_positive,
    set_convex,
    set_quadratic_program,
    sum_of_violations,
)
from merganser.framework.optimization.solvers.feasible_points import feasible_point
from merganser.framework.optimization.solvers.nonlinear_form import NonlinearForm

SOLVED, SINGULAR, NO_DESCENT, LIMIT = 0, 6, 8, 9
MESSAGES = {
    SOLVED: "No step makes the cost less.", SINGULAR: "The linearized constraints contradict each other.",
    NO_DESCENT: "No step along the direction of descent is any better.", LIMIT: "There were too many iterations.",
}  # fmt: skip
_FEASIBLE = 1e-9  # sum of violations
_PART_OF_TOLERANCE = 1e-3  # of ftol, by which the cost may change in a step where the search ends
_LEAST_STEP, _SMALL_PART = 1e-12, 0.1
_AUGMENTED = 10.0  # rho_i |J_i|^2, as a multiple of |W|
_LEAST_CURVATURE, _FIRST_DAMPING = 1e-8, 1e-3  # parts of |W|
_QP = {"primal_tol": 1e-10, "dual_tol": 1e-10, "eta_prox": 1e-9}


class _Point(NamedTuple):
    """A point with its cost, gradient, rows and Jacobian, and the sum of their violations."""

    x: Array
    f: float
    gradient: Array
    g: Array
    J: Array
    theta: float


def _point(form: NonlinearForm, x: Array) -> _Point:
    f, gradient = form.cost(x)
    g, J = form.guarded(x)
    return _Point(x, f, gradient, g, J, call(sum_of_violations, g, form.guards))


def local_optimum(form: NonlinearForm, start: Array, maxiter: int, ftol: float) -> tuple[Array, int, int, Array]:
    """The last point, how the search ended, its iterations, and the prices z of the last step.

    Args:
        form: the program, with finite values at the start.
        start: a point in the box.
        maxiter: the most iterations.
        ftol: the change of the cost, relative to it or to 1, that does not count.
    """
    here, z = _point(form, start), np.zeros(start.size + form.guards[0].size)
    exact, B, damping = form.has_hessian, np.eye(start.size), 0.0
    tried, moved = Filter(here.theta), np.zeros(start.size)
    for iteration in range(maxiter):
        form.show(here.x)
        W = _curvature(form, here, z, damping) if exact else B
        step = _step(form, here, W, here.g, here.x)
        if step is None:  # also where prices without limit are part of W
            W = np.eye(start.size)
            step = _step(form, here, W, here.g, here.x)
        if step is None:
            restored, _, _ = feasible_point(form, here.x)
            nearer = _point(form, restored)
            if not nearer.theta < 0.5 * here.theta:
                return here.x, SINGULAR, iteration, z
            here, tried, B = nearer, Filter(nearer.theta), np.eye(start.size)
            continue
        d, z = step
        slope = float(here.gradient @ d)
        change = max(abs(slope), float(d @ W @ d)) / max(1.0, abs(here.f))
        if here.theta <= _FEASIBLE and (change <= _PART_OF_TOLERANCE * ftol or _is_tiny(d, here.x)):
            return here.x, SOLVED, iteration, z
        there, alpha = _search(form, here, d, slope, W, tried)
        if there is None:
            return here.x, SOLVED if _is_tiny(d, here.x) else NO_DESCENT, iteration, z
        if exact and alpha == 1.0 and there.theta <= _FEASIBLE and change <= ftol:
            form.show(there.x)
            return there.x, SOLVED, iteration + 1, z  # what is left is of second order
        moved, last = there.x - here.x, moved
        B = B if exact else _updated(B, moved, _slope(there, z) - _slope(here, z))
        is_too_long = alpha < _SMALL_PART or moved @ last < -0.5 * max(moved @ moved, last @ last)  # or back again
        if damping > 0.0 or is_too_long:
            size = max(1.0, float(np.abs(W.diagonal()).max()))
            damping = max(8.0 * damping, _FIRST_DAMPING * size) if is_too_long else damping / 8.0
            damping = damping if damping > _LEAST_CURVATURE * size else 0.0
        here = there
    return here.x, LIMIT, maxiter, z


def _is_tiny(d: Array, x: Array) -> bool:
    return bool((np.abs(d) < _LEAST_STEP * (1.0 + np.abs(x))).all())


def _slope(point: _Point, z: Array) -> Array:
    return point.gradient + point.J.T @ z[point.x.size :]


def _curvature(form: NonlinearForm, here: _Point, z: Array, damping: float) -> Array:
    """W with (2)."""
    n = here.x.size
    W, work = np.empty((n, n)), np.empty((n, n))
    entries, parts = form.hessian(here.x, 1.0, z[n:]), (_AUGMENTED, damping, _LEAST_CURVATURE)
    if not call(set_convex, entries, *form.hessian_entries, here.J, z, *parts, W, work):
        least = _LEAST_CURVATURE * max(1.0, float(np.abs(entries).max(initial=0.0)))
        call(make_eigenvalues_positive, least, W, np.empty((n + 1, n)))
    return W


def _step(form: NonlinearForm, here: _Point, W: Array, g: Array, x: Array) -> tuple[Array, Array] | None:
    """d and z of (1), from rows g and variables x; None where rows contradict each other."""
    import daqp

    n, m = x.size, g.size
    H, rows, bounds, scale = np.empty((n, n)), np.empty((m, n)), np.empty((2, n + m)), np.empty(m)
    lower, upper, sense = bounds[0], bounds[1], np.empty(n + m, np.intc)
    box = form.x_lower, form.x_upper
    # Rows have the length 1, as DAQP takes those that are short for 0.
    size = call(set_quadratic_program, W, here.J, g, form.guards, x, *box, H, rows, bounds, sense, scale)
    d, _, flag, info = daqp.solve(H, here.gradient / size, rows, upper, lower, sense, **_QP)
    if flag <= 0 or not np.isfinite(d).all():
        return None
    z = size * info["lam"]
    z[n:] *= scale
    return d, z


def _search(
    form: NonlinearForm, here: _Point, d: Array, slope: float, W: Array, tried: Filter
) -> tuple[_Point | None, float]:
    """The point to go to, None where no part of the step is good, and which part of the step leads to it."""
    current, alpha, least = (here.theta, here.f), 1.0, tried.least_step(here.theta, slope)
    step: Array | None = d
    while alpha >= max(least, _LEAST_STEP):
        x = here.x + alpha * (d if step is None else step)
        x = np.minimum(np.maximum(x, form.x_lower), form.x_upper)  # np.clip takes five times as long
        there = _point(form, x) if form.has_hessian else None  # where slopes take no longer than values
        f, g = (there.f, there.g) if there is not None else (form.cost_value(x), form.guarded_values(x))
        theta = call(sum_of_violations, g, form.guards)
        if tried.accepts(current, (theta, f), alpha, slope):
            return there or _point(form, x), alpha
        if step is d and here.theta <= theta < np.inf:  # once from rows as they are at the end of the step
            corrected = _step(form, here, W, g - here.J @ d, here.x)
            step = None if corrected is None else corrected[0]
            if step is not None:
                continue
        bend = f - here.f - alpha * slope  # of a parabola through the costs, which the next part is the least of
        part = -0.5 * alpha * slope / bend if here.theta <= _FEASIBLE and 0.0 < bend < np.inf else 0.5
        step, alpha = None, min(max(part, 0.1), 0.5) * alpha
    return None, alpha


def _updated(B: Array, s: Array, change: Array) -> Array:
    """B with the curvature along a step s, at least a fifth of what B says (Powell).

    B - B s s'B / s'B s + y y' / s'y,   y a mean of the change and B s                                            (3)
    """
    Bs = B @ s
    expected, found = float(s @ Bs), float(s @ change)
    if not expected > 1e-300 or not np.isfinite(change).all():
        return B
    part = 1.0 if found >= 0.2 * expected else 0.8 * expected / (expected - found)
    y = part * change + (1.0 - part) * Bs
    return B - Bs[:, np.newaxis] * (Bs / expected) + y[:, np.newaxis] * (y / float(s @ y))
