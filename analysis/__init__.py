"""Simulation and analysis of Systems: the names of pydrake.systems.analysis."""

from merganser.analysis.integrators import (
    BogackiShampine3Integrator,
    DenseOutput,
    ExplicitEulerIntegrator,
    IntegratorBase,
    RungeKutta2Integrator,
    RungeKutta3Integrator,
    RungeKutta5Integrator,
    SemiExplicitEulerIntegrator,
    StepResult,
)
from merganser.analysis.simulator import InitializeParams, Simulator
from merganser.analysis.simulator_status import SimulatorStatus

__all__ = [
    "BogackiShampine3Integrator",
    "DenseOutput",
    "ExplicitEulerIntegrator",
    "InitializeParams",
    "IntegratorBase",
    "RungeKutta2Integrator",
    "RungeKutta3Integrator",
    "RungeKutta5Integrator",
    "SemiExplicitEulerIntegrator",
    "Simulator",
    "SimulatorStatus",
    "StepResult",
]
