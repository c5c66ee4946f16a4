"""Simulation and analysis of Systems: the names of pydrake.systems.analysis."""

from merganser.analysis.discrete_time_approximation import DiscreteTimeApproximation
from merganser.analysis.integration_schemes import GetIntegrationSchemes, ResetIntegratorFromFlags
from merganser.analysis.integrators import (
    BogackiShampine3Integrator,
    DenseOutput,
    ExplicitEulerIntegrator,
    ImplicitEulerIntegrator,
    ImplicitIntegrator,
    IntegratorBase,
    JacobianComputationScheme,
    Radau1Integrator,
    Radau3Integrator,
    RadauIntegrator,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    SemiExplicitEulerIntegrator,
    StepResult,
    VelocityImplicitEulerIntegrator,
)
from merganser.analysis.scalar_templates import (
    IntegratorBase_,
    RungeKutta2Integrator_,
    RungeKutta3Integrator_,
    Simulator_,
)
from merganser.analysis.simulator import InitializeParams, Simulator
from merganser.analysis.simulator_config import ApplySimulatorConfig, ExtractSimulatorConfig, SimulatorConfig
from merganser.analysis.simulator_statistics import PrintSimulatorStatistics
from merganser.analysis.simulator_status import SimulatorStatus

__all__ = [
    "ApplySimulatorConfig",
    "BogackiShampine3Integrator",
    "DenseOutput",
    "DiscreteTimeApproximation",
    "ExplicitEulerIntegrator",
    "ExtractSimulatorConfig",
    "GetIntegrationSchemes",
    "ImplicitEulerIntegrator",
    "ImplicitIntegrator",
    "InitializeParams",
    "IntegratorBase",
    "IntegratorBase_",
    "JacobianComputationScheme",
    "PrintSimulatorStatistics",
    "Radau1Integrator",
    "Radau3Integrator",
    "RadauIntegrator",
    "ResetIntegratorFromFlags",
    "RungeKutta2Integrator",
    "RungeKutta2Integrator_",
    "RungeKutta3Integrator",
    "RungeKutta3Integrator_",
    "RungeKutta5Integrator",
    "SemiExplicitEulerIntegrator",
    "Simulator",
    "SimulatorConfig",
    "SimulatorStatus",
    "Simulator_",
    "StepResult",
    "VelocityImplicitEulerIntegrator",
]
