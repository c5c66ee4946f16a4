"""Numerical integrators; import them from `merganser.analysis`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.analysis.integrators.base import IntegratorBase, StepResult
    from merganser.analysis.integrators.dense_output import DenseOutput
    from merganser.analysis.integrators.explicit_runge_kutta import (
        BogackiShampine3Integrator,
        ExplicitEulerIntegrator,
        ExplicitRungeKutta,
        RungeKutta2Integrator,
        RungeKutta3Integrator,
        RungeKutta5Integrator,
    )
    from merganser.analysis.integrators.fixed_steps import SemiExplicitEulerIntegrator
    from merganser.analysis.integrators.implicit import ImplicitIntegrator
    from merganser.analysis.integrators.implicit_euler import ImplicitEulerIntegrator, VelocityImplicitEulerIntegrator
    from merganser.analysis.integrators.jacobian import JacobianComputationScheme
    from merganser.analysis.integrators.radau import Radau1Integrator, Radau3Integrator, RadauIntegrator
    from merganser.analysis.integrators.stochastic import EulerMaruyamaIntegrator, MilsteinIntegrator
    from merganser.analysis.integrators.tableaus import ButcherTableau
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "BogackiShampine3Integrator",
    "ButcherTableau",
    "DenseOutput",
    "EulerMaruyamaIntegrator",
    "ExplicitEulerIntegrator",
    "ExplicitRungeKutta",
    "ImplicitEulerIntegrator",
    "ImplicitIntegrator",
    "IntegratorBase",
    "JacobianComputationScheme",
    "MilsteinIntegrator",
    "Radau1Integrator",
    "Radau3Integrator",
    "RadauIntegrator",
    "RungeKutta2Integrator",
    "RungeKutta3Integrator",
    "RungeKutta5Integrator",
    "SemiExplicitEulerIntegrator",
    "StepResult",
    "VelocityImplicitEulerIntegrator",
]
