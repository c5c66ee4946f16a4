"""Numerical integrators; import them from `merganser.analysis`."""

from merganser.analysis.integrators.base import IntegratorBase, StepResult
from merganser.analysis.integrators.explicit_runge_kutta import RungeKutta3Integrator

__all__ = ["IntegratorBase", "RungeKutta3Integrator", "StepResult"]
