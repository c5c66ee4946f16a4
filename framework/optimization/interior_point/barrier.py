"""The primal-dual barrier method with a filter line search.

For a weight mu that goes to zero, Newton's method finds a point of

    grad f + J^T y - z_l + z_u = 0,   c(z) = 0,   z_l (z - lower) = mu,   z_u (upper - z) = mu    (1)

with the multipliers of bounds eliminated from the linear systems (kkt.py):

    Sigma = z_l / (z - lower) + z_u / (upper - z)                                                (2)

Source: A. Waechter, L. Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming, Math. Program. 106 (2006); the numbers of equations in comments are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from merganser.framework.optimization.interior_point.filter import ROUNDING, Filter
from merganser.framework.optimization.interior_point.form import StandardForm
from merganser.framework.optimization.interior_point.kkt import Form, KktSystem
from merganser.framework.optimization.interior_point.problem import Array, Progress, Settings, Status
from merganser.framework.optimization.interior_point.quasi_newton import LimitedMemory
from merganser.framework.optimization.interior_point.restoration import RestorationForm

_KAPPA_EPSILON, _KAPPA_MU, _THETA_MU, _TAU = 10.0, 0.2, 1.5, 0.99
_KAPPA_SIGMA, _KAPPA_D, S_MAX = 1e10, 1e-5, 100.0
_KAPPA_SOC, _MAX_CORRECTIONS = 0.99, 4
_MOST_MULTIPLIER = 1e3
_KAPPA_RESTORED = 0.9
_LEAST_MEMORY = 6  # pairs of few variables; more of them depend on each other
_EPSILON = float(np.finfo(float).eps)


class Errors(NamedTuple):
    """How far a point is from (1): the scaled residual, and the largest elements of the unscaled ones."""

    scaled: float
    dual: float
    violation: float
    complementarity: float


class Step(NamedTuple):
    """Directions of the variables, and of the multipliers of constraints and bounds."""

    z: Array
    y: Array
    z_l: Array
    z_u: Array


class Monitor:
    """Counts iterations, those of restoration included, and calls the callback."""

    def __init__(self, settings: Settings, callback: Callable[[Progress], bool | None] | None) -> None:
        self._settings, self._callback = settings, callback
        self.iterations = 0

    def look(self, progress: Progress) -> Status | None:
        """Why the solve has to end, if it does."""
        if self._settings.print_level >= 5:
            if progress.iteration % 10 == 0:
                print("iteration          cost   violation        dual          mu")
            print(
                f"{progress.iteration:8d}{'r' if progress.is_restoration else ' '} {progress.cost:13.6e} "
                f"{progress.violation:11.3e} {progress.dual_residual:11.3e} {progress.mu:11.3e}"
            )
        if self._callback is not None and self._callback(progress) is False:
            return Status.STOPPED
        if self.iterations >= self._settings.max_iter:
            return Status.ITERATION_LIMIT
        return None


class BarrierMethod:
    """The state of a solve, and what moves it.

    Args:
        form: what to solve.
        settings: of the solve.
        monitor: called at each iteration.
        start: where to start, inside the bounds.
        mu: the first weight of the barrier.
        may_end: of a restoration, whether a point will do.
    """

    def __init__(
        self,
        form: Form,
        settings: Settings,
        monitor: Monitor,
        start: Array,
        mu: float,
        may_end: Callable[[Array], bool] | None = None,
    ) -> None:
        self._form, self._settings, self._monitor, self._may_end = form, settings, monitor, may_end
        self._lower, self._upper = form.lower.copy(), form.upper.copy()
        self._has_lower, self._has_upper = np.isfinite(self._lower), np.isfinite(self._upper)
        self._damping = _KAPPA_D * (1.0 * (self._has_lower & ~self._has_upper) - (self._has_upper & ~self._has_lower))
        self.mu, self.z, self._start = mu, start, start
        self._has_diverged = False
        self._least_mu = min(settings.tol, settings.compl_inf_tol) / (_KAPPA_EPSILON + 1.0)
        self.z_l, self.z_u = 1.0 * self._has_lower, 1.0 * self._has_upper
        self.y = np.zeros(form.num_constraints)
        self._kkt = KktSystem(form)
        pairs = min(settings.limited_memory_max_history, max(_LEAST_MEMORY, form.num_x // 5))
        self._memory = None if form.has_hessian else LimitedMemory(form.num_x, pairs)
        self._num_acceptable = self._num_tiny = 0

    # ------------------------------------------------------------------ the iteration

    def run(self, estimate_multipliers: bool = True) -> Status:
        """Iterates until the problem is solved or fails; returns the status."""
        self.cost, self.c = self._form.cost(self.z), self._form.constraints(self.z)
        self._keep_distance()
        self._differentiate()
        if not self._is_finite():
            return Status.NOT_FINITE
        if estimate_multipliers:
            self._estimate_multipliers()
        self._filter = Filter(self._violation(self.c))
        while True:
            status = self._status()
            if status == Status.UNBOUNDED and self._may_be_infeasible():
                status = self._begin_feasible()
            if status is not None:
                return status
            self._decrease_mu()
            status = self._advance()
            if status is not None:
                return status
            self._monitor.iterations += 1

    def _advance(self) -> Status | None:
        """Takes a step, or restores feasibility; why the solve has to end, if it has."""
        step = self._find_step()
        if step is None or not self._search(step):
            return self._restore()
        return None if self._is_finite() else Status.NOT_FINITE

    def _is_finite(self) -> bool:
        total = self.cost + np.sum(self.c) + np.sum(self.gradient) + np.sum(self._jacobian)
        return bool(np.isfinite(total))

    def _status(self) -> Status | None:
        errors, settings = self.errors(0.0), self._settings
        progress = Progress(
            self._monitor.iterations, self.cost / self._form.cost_scale, errors.violation, errors.dual, self.mu,
            self._may_end is not None,
        )  # fmt: skip
        asked = self._monitor.look(progress)
        within = errors.dual <= settings.dual_inf_tol and errors.violation <= settings.constr_viol_tol
        if errors.scaled <= settings.tol and within and errors.complementarity <= settings.compl_inf_tol:
            return Status.SOLVED
        if self._is_all_done(errors):
            return Status.SOLVED
        self._num_acceptable = self._num_acceptable + 1 if errors.scaled <= settings.acceptable_tol else 0
        if self._num_acceptable >= settings.acceptable_iter > 0:
            return Status.ACCEPTABLE
        if np.abs(self.z).max(initial=0.0) > settings.diverging_iterates_tol:
            return Status.UNBOUNDED
        if self._may_end is not None and self._may_end(self.z):
            return Status.STOPPED
        return asked

    def _is_all_done(self, errors: Errors) -> bool:
        """Whether nothing is to be minimized and the constraints hold: then multipliers of zero fulfil (1)."""
        settings = self._settings
        if self._form.has_cost or np.abs(self.c).max(initial=0.0) > settings.tol:
            return False
        if errors.violation > settings.constr_viol_tol:
            return False
        self.y, self.z_l, self.z_u = 0.0 * self.y, 0.0 * self.z_l, 0.0 * self.z_u
        return True

    def errors(self, mu: float) -> Errors:
        """Residuals of (1), equation (5)."""
        below, above = self._distances()
        low, high = self._has_lower, self._has_upper
        dual = np.abs(self.gradient + self._times_transpose(self.y) - self.z_l + self.z_u).max(initial=0.0)
        violation = np.abs(self.c).max(initial=0.0)
        gaps = np.concatenate([below[low] * self.z_l[low], above[high] * self.z_u[high]])
        gap = np.abs(gaps - mu).max(initial=0.0)
        bounds = np.sum(self.z_l) + np.sum(self.z_u)
        s_d = max(S_MAX, (np.abs(self.y).sum() + bounds) / max(len(self.y) + len(gaps), 1)) / S_MAX
        s_c = max(S_MAX, bounds / max(len(gaps), 1)) / S_MAX
        unscaled = np.max(np.abs(self.c) / self._form.row_scale, initial=0.0)
        cost_scale = self._form.cost_scale
        return Errors(
            float(max(dual / s_d, violation, gap / s_c)), float(dual / cost_scale), float(unscaled),
            float(np.max(gaps, initial=0.0) / cost_scale),
        )  # fmt: skip

    def _decrease_mu(self) -> None:
        """Equation (7), as often as the barrier problem is solved well enough."""
        while self.mu > self._least_mu and (
            self._num_tiny > 1 or self.errors(self.mu).scaled <= _KAPPA_EPSILON * self.mu
        ):
            self.mu = max(self._least_mu, min(_KAPPA_MU * self.mu, self.mu**_THETA_MU))
            self._filter.clear()
            self._num_tiny = 0

    # ------------------------------------------------------------------ derivatives and distances

    def _distances(self) -> tuple[Array, Array]:
        return self.z - self._lower, self._upper - self.z

    def _keep_distance(self) -> None:
        """Moves a bound away from a point that rounding has put on it (section 3.5)."""
        below, above = self._distances()
        least = _EPSILON * self.mu
        moved = _EPSILON**0.75
        low, high = below < least, above < least
        if low.any() or high.any():
            self._lower = np.where(low, self._lower - moved * np.maximum(1.0, np.abs(self._lower)), self._lower)
            self._upper = np.where(high, self._upper + moved * np.maximum(1.0, np.abs(self._upper)), self._upper)

    def _differentiate(self) -> None:
        self.gradient, self._jacobian = self._form.gradient(self.z), self._form.jacobian(self.z)
        terms = np.abs(self._jacobian * self.z[self._form.columns])
        self._noise = ROUNDING * np.maximum(1.0, np.bincount(self._form.rows, terms, self._form.num_constraints))

    def _times_transpose(self, y: Array) -> Array:
        """J^T y."""
        form = self._form
        return np.bincount(form.columns, self._jacobian * y[form.rows], form.num_variables)

    def _beyond_rounding(self, c: Array) -> Array:
        """c, less what rounding of z, or of terms of size 1, makes of it.

        A filter that took rounding for violation would let the cost rise where rounding happens to be less, and
        refuse to let it fall again where rounding is more; a step that corrected it would not descend.
        """
        beyond: Array = np.sign(c) * np.maximum(np.abs(c) - self._noise, 0.0)
        return beyond

    def _violation(self, c: Array) -> float:
        return float(np.abs(self._beyond_rounding(c)).sum())

    def _barrier(self, z: Array) -> float:
        """The barrier terms of the cost, with the damping of variables that have one bound (section 3.7)."""
        below, above = (z - self._lower)[self._has_lower], (self._upper - z)[self._has_upper]
        one_sided = np.where(self._damping > 0.0, z - self._lower, 0.0) + np.where(
            self._damping < 0.0, self._upper - z, 0.0
        )
        damped = float(np.abs(self._damping) @ one_sided)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.mu * (damped - float(np.sum(np.log(below)) + np.sum(np.log(above))))

    def _barrier_gradient(self) -> Array:
        below, above = self._distances()
        return self.gradient + self.mu * (1.0 / above - 1.0 / below + self._damping)

    def _estimate_multipliers(self) -> None:
        """The y for which the gradient of the Lagrangian is least, equation (36)."""
        n = self._form.num_variables
        right = np.concatenate([-(self.gradient - self.z_l + self.z_u), np.zeros(len(self.y))])
        W = np.zeros(len(self._form.hessian_rows))
        if len(self.y) and self._kkt.factor(W, np.ones(n), self._jacobian, right):
            y = self._kkt.solution[n:]
            if np.max(np.abs(y)) <= _MOST_MULTIPLIER:
                self.y = y

    # ------------------------------------------------------------------ steps

    def _find_step(self) -> Step | None:
        """Newton's step for (1), equations (11) to (13)."""
        n = self._form.num_variables
        below, above = self._distances()
        sigma = self.z_l / below + self.z_u / above
        W = self._memory or self._form.hessian(self.z, 1.0, self.y)
        self._dual_residual = self._barrier_gradient() + self._times_transpose(self.y)
        right = -np.concatenate([self._dual_residual, self._beyond_rounding(self.c)])
        if not isinstance(W, LimitedMemory) and not np.all(np.isfinite(W)):
            return None
        if not self._kkt.factor(W, sigma, self._jacobian, right):
            return None
        if self._kkt.unsolved() > _KAPPA_RESTORED * self._violation(self.c) and self._is_infeasible():
            return None  # linearized constraints contradict each other
        dz, dy = self._kkt.solution[:n], self._kkt.solution[n:]
        dz_l = np.where(self._has_lower, self.mu / below - self.z_l - self.z_l / below * dz, 0.0)
        dz_u = np.where(self._has_upper, self.mu / above - self.z_u + self.z_u / above * dz, 0.0)
        return Step(dz, dy, dz_l, dz_u)

    def _longest(self, dz: Array) -> float:
        """The longest part of a step that stays inside the bounds, equation (15a)."""
        tau = max(_TAU, 1.0 - self.mu)
        below, above = self._distances()
        return min(_part(below, dz, tau), _part(above, -dz, tau))

    def _search(self, step: Step) -> bool:
        """Takes the longest part of a step that the filter accepts; returns whether there was one."""
        longest = alpha = self._longest(step.z)
        slope = float(self._barrier_gradient() @ step.z)
        current = self._violation(self.c), self.cost + self._barrier(self.z)
        is_tiny = np.max(np.abs(step.z) / (1.0 + np.abs(self.z)), initial=0.0) < 10.0 * _EPSILON
        if is_tiny and current[0] <= self._settings.constr_viol_tol:
            self._num_tiny += 1
            return self._go(step, self.z + alpha * step.z, alpha, *self._evaluate(self.z + alpha * step.z))
        self._num_tiny = 0
        least = self._filter.least_step(current[0], slope)
        while alpha >= least and alpha > _EPSILON:
            z = self.z + alpha * step.z
            cost, c = self._evaluate(z)
            trial = self._violation(c), cost + self._barrier(z)
            if self._filter.accepts(current, trial, alpha, slope):
                self._kkt.adapt(alpha / longest)
                return self._go(step, z, alpha, cost, c)
            if alpha == longest and trial[0] >= current[0] and self._correct(step, current, c, alpha, slope):
                return True
            if alpha == longest and self._memory is None and self._look_ahead(step, current, z, cost, c, alpha, slope):
                return True
            alpha *= 0.5
        return False

    def _look_ahead(
        self, step: Step, current: tuple[float, float], z: Array, cost: float, c: Array, alpha: float, slope: float
    ) -> bool:
        """Goes to a point that the filter refused, and on from there, if it accepts the point that this leads to.

        Where constraints curve, steps that are right along them leave them at first, and cost more (Maratos effect).
        """
        if not (math.isfinite(cost) and np.all(np.isfinite(c))):
            return False
        names = "z", "y", "z_l", "z_u", "cost", "c", "gradient", "_jacobian", "_lower", "_upper"
        before = {name: getattr(self, name) for name in names}
        self._go(step, z, alpha, cost, c)
        following = self._find_step() if self._is_finite() else None
        if following is not None:
            part = self._longest(following.z)
            z = self.z + part * following.z
            cost, c = self._evaluate(z)
            if self._filter.accepts(current, (self._violation(c), cost + self._barrier(z)), alpha, slope):
                self._kkt.adapt(1.0)
                self._monitor.iterations += 1
                return self._go(following, z, part, cost, c)
        for name, value in before.items():
            setattr(self, name, value)
        return False

    def _evaluate(self, z: Array) -> tuple[float, Array]:
        with np.errstate(all="ignore"):
            return self._form.cost(z), self._form.constraints(z)

    def _correct(self, step: Step, current: tuple[float, float], c: Array, alpha: float, slope: float) -> bool:
        """Second-order corrections: steps that also take away the violation a trial point was found to have."""
        n, theta = self._form.num_variables, self._violation(c)
        correction = self._beyond_rounding(self.c)
        part = alpha
        for _ in range(_MAX_CORRECTIONS):
            correction = part * correction + self._beyond_rounding(c)
            if not np.all(np.isfinite(correction)):
                return False
            dz = self._kkt.solve(-np.concatenate([self._dual_residual, correction]))[:n]
            part = self._longest(dz)
            z = self.z + part * dz
            cost, c = self._evaluate(z)
            trial = self._violation(c), cost + self._barrier(z)
            if self._filter.accepts(current, trial, alpha, slope):
                self._kkt.adapt(1.0)
                return self._go(step, z, part, cost, c)
            if not trial[0] <= _KAPPA_SOC * theta:
                return False
            theta = trial[0]
        return False

    def _go(self, step: Step, z: Array, alpha: float, cost: float, c: Array) -> bool:
        """Goes to a point, with its multipliers."""
        tau = max(_TAU, 1.0 - self.mu)
        dual = min(_part(self.z_l, step.z_l, tau), _part(self.z_u, step.z_u, tau))
        before, moved = self.z, z - self.z
        self.y = self.y + alpha * step.y
        old = self.gradient + self._times_transpose(self.y)
        self.z, self.cost, self.c = z, cost, c
        self.z_l, self.z_u = self.z_l + dual * step.z_l, self.z_u + dual * step.z_u
        self._keep_distance()
        self._limit_multipliers()
        self._differentiate()
        if self._memory is not None and np.any(self.z != before):
            x = self._form.num_x
            self._memory.add(moved[:x], (self.gradient + self._times_transpose(self.y) - old)[:x])
        return True

    def _limit_multipliers(self) -> None:
        """Keeps Sigma within a large factor of mu / distance^2, equation (16)."""
        below, above = self._distances()
        self.z_l = np.clip(self.z_l, self.mu / _KAPPA_SIGMA / below, _KAPPA_SIGMA * self.mu / below)
        self.z_u = np.clip(self.z_u, self.mu / _KAPPA_SIGMA / above, _KAPPA_SIGMA * self.mu / above)

    # ------------------------------------------------------------------ restoration

    def _may_be_infeasible(self) -> bool:
        """Whether an unbounded direction may be due to infeasibility; far out, rounding hides violations."""
        return isinstance(self._form, StandardForm) and len(self.c) > 0 and not self._has_diverged

    def _is_infeasible(self) -> bool:
        violation = np.abs(self.c).max(initial=0.0)
        return isinstance(self._form, StandardForm) and bool(violation > self._settings.constr_viol_tol)

    def _begin_feasible(self) -> Status | None:
        """After a divergence: starts again, with a search for a feasible point."""
        self._has_diverged = True
        self.z, self.y = self._start, np.zeros_like(self.y)
        self.z_l, self.z_u = 1.0 * self._has_lower, 1.0 * self._has_upper
        self.mu = self._settings.mu_init
        self.cost, self.c = self._form.cost(self.z), self._form.constraints(self.z)
        self._differentiate()
        self._filter = Filter(self._violation(self.c))
        return self._restore() if self._is_infeasible() else None

    def _restore(self) -> Status | None:
        """Goes to a point with less violation that the filter accepts; returns why the solve has to end, if it has."""
        settings, errors = self._settings, self.errors(0.0)
        if errors.scaled <= settings.acceptable_tol:
            return Status.ACCEPTABLE
        if not isinstance(self._form, StandardForm) or errors.violation <= settings.tol:
            return self._forget_curvature()
        theta = self._violation(self.c)
        self._filter.add(theta, self.cost + self._barrier(self.z))
        mu = max(self.mu, float(np.max(np.abs(self.c))))
        form, n = RestorationForm(self._form, self.z, mu), self._form.num_variables
        form.lower[:n], form.upper[:n] = self._lower, self._upper
        start = form.with_violations(self.z, mu)

        enough = settings.tol if self._has_diverged else _KAPPA_RESTORED * theta

        def may_end(at: Array) -> bool:
            cost, c = self._evaluate(at[:n])
            less = self._violation(c)
            return less <= enough and self._filter.lets_through(less, cost + self._barrier(at[:n]))

        inner = BarrierMethod(form, settings, self._monitor, start, mu, may_end)
        inner.z_l[:n], inner.z_u[:n] = np.minimum(1e3, self.z_l), np.minimum(1e3, self.z_u)
        inner.z_l[n:] = mu / start[n:]
        status = inner.run(estimate_multipliers=False)
        return self._continue_from(inner, status)

    def _forget_curvature(self) -> Status | None:
        """Begins a quasi-Newton approximation again, where it is what keeps steps from making progress."""
        if self._memory is None or not len(self._memory.M):
            return Status.NO_PROGRESS
        self._memory = LimitedMemory(self._form.num_x, self._settings.limited_memory_max_history)
        return None

    def _continue_from(self, inner: BarrierMethod, status: Status) -> Status | None:
        n = self._form.num_variables
        self.z = inner.z[:n]
        self.cost, self.c = self._evaluate(self.z)
        self._differentiate()
        self.z_l, self.z_u = inner.z_l[:n], inner.z_u[:n]
        if max(np.max(self.z_l, initial=0.0), np.max(self.z_u, initial=0.0)) > _MOST_MULTIPLIER:
            self.z_l, self.z_u = 1.0 * self._has_lower, 1.0 * self._has_upper
        self.y = np.zeros(len(self.y))
        self._estimate_multipliers()
        self._limit_multipliers()
        if status == Status.STOPPED and inner._may_end is not None and inner._may_end(inner.z):
            return None
        if status in (Status.SOLVED, Status.ACCEPTABLE):
            if self._is_infeasible():
                return Status.INFEASIBLE
            self._filter = Filter(self._violation(self.c))  # a feasible point, if not one that the filter lets through
            return None
        return status


def _part(distance: Array, step: Array, tau: float) -> float:
    """The largest part of a step, at most 1, that leaves 1 - tau of each distance."""
    shrinking = step < 0.0
    return min(1.0, float(np.min(-tau * distance[shrinking] / step[shrinking], initial=1.0)))
