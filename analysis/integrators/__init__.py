"""Numerical integrators; import them from `merganser.analysis`."""

from merganser.analysis.integrators.base import IntegratorBase, StepResult
from merganser.analysis.integrators.dense_output import DenseOutput
from merganser.analysis.integrators.explicit_runge_kutta import (
    BogackiShampine3Integrator,
    ExplicitEulerIntegrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
)
from merganser.analysis.integrators.semi_explicit_euler import SemiExplicitEulerIntegrator

__all__ = [
    "BogackiShampine3Integrator",
    "DenseOutput",
    "ExplicitEulerIntegrator",
    "IntegratorBase",
    "RungeKutta2Integrator",
    "RungeKutta3Integrator",
    "RungeKutta5Integrator",
    "SemiExplicitEulerIntegrator",
    "StepResult",
]
