"""Differential equations as systems, with their solutions, for tests of integrators."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import merganser.framework
from merganser.analysis.integrators.stepping import begin_step

Array = np.ndarray


@dataclasses.dataclass(frozen=True)
class Problem:
    """dx/dt = function(t, x), x(0) = x0; the first num_q variables are positions, as many after them velocities."""

    function: Callable[[float, Any], Any]
    x0: tuple[float, ...]
    num_q: int
    end: float  # [s]

    @functools.cached_property
    def solution(self) -> Array:
        """x(end), by SciPy at a tight tolerance."""
        found = solve_ivp(self.function, (0.0, self.end), self.x0, method="DOP853", rtol=1e-12, atol=1e-13)
        return found.y[:, -1]


def pendulum(t: float, x: Array) -> list[Any]:
    return [x[1], -9.81 * np.sin(x[0])]


def forced_pendulum(t: float, x: Array) -> list[Any]:
    return [x[1], -9.81 * np.sin(x[0]) - 0.2 * x[1] + 3.0 * math.sin(3.0 * t)]


def van_der_pol(mu: float) -> Callable[[float, Array], list[Any]]:
    return lambda t, x: [x[1], mu * (1.0 - x[0] * x[0]) * x[1] - x[0]]


PROBLEMS = {
    "pendulum": Problem(pendulum, (1.0, 0.0), 1, 3.0),
    "forced pendulum": Problem(forced_pendulum, (1.0, 0.0), 1, 2.0),
    "van der Pol": Problem(van_der_pol(1.0), (2.0, 0.0), 1, 8.0),
    "of time and state": Problem(lambda t, x: [-2.0 * t * x[0], x[0] * math.cos(t)], (1.0, 0.0), 0, 1.5),
}


def make_system(problem: Problem, framework: Any = merganser.framework) -> Any:
    """A system of merganser or pydrake that counts its evaluations."""

    class Ode(framework.LeafSystem):
        def __init__(self) -> None:
            framework.LeafSystem.__init__(self)
            self.evaluations = 0
            self.DeclareContinuousState(problem.num_q, problem.num_q, len(problem.x0) - 2 * problem.num_q)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            self.evaluations += 1
            x = context.get_continuous_state_vector().CopyToVector()
            derivatives.get_mutable_vector().SetFromVector(problem.function(context.get_time(), x))

    return Ode()


def state(integrator: Any) -> Array:
    return integrator.get_context().get_continuous_state_vector().CopyToVector()


def make_integrator(make: Callable[..., Any], problem: Problem, dtype: Any = np.float64) -> Any:
    """An integrator in the initial state of the problem; `make` takes a system and a context."""
    system = make_system(problem)
    context = system._make_context(dtype)
    context.SetContinuousState(problem.x0)
    return make(system, context)


def solve_with_steps(make: Callable[..., Any], problem: Problem, h: float) -> Any:
    """The integrator at the end, after steps of size h."""
    integrator = make_integrator(make, problem)
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(h)
    integrator.IntegrateWithMultipleStepsToTime(problem.end)
    return integrator


def solve_with_accuracy(make: Callable[..., Any], problem: Problem, accuracy: float) -> Any:
    """The integrator at the end, under error control."""
    integrator = make_integrator(make, problem)
    integrator.set_maximum_step_size(problem.end)
    integrator.request_initial_step_size_target(1e-3 * problem.end)
    integrator.set_target_accuracy(accuracy)
    integrator.IntegrateWithMultipleStepsToTime(problem.end)
    return integrator


def error_at_end(integrator: Any, problem: Problem) -> float:
    return float(np.abs(state(integrator) - problem.solution).max())


def observed_order(make: Callable[..., Any], problem: Problem, steps: list[float]) -> float:
    """The slope of log error against log step."""
    errors = [error_at_end(solve_with_steps(make, problem, h), problem) for h in steps]
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def observed_order_of_estimate(make: Callable[..., Any], problem: Problem, steps: list[float]) -> float:
    """The slope of log error estimate of the first step against log step."""
    estimates = []
    for h in steps:
        integrator = make_integrator(make, problem)
        integrator.set_target_accuracy(1e-12)  # so that iterations do not disturb
        integrator.Initialize()
        begin_step(integrator, 1.0)
        integrator._step.h = h
        integrator._attempt_step()
        estimates.append(integrator._step.error)
    return float(np.polyfit(np.log(steps), np.log(estimates), 1)[0])
