"""Simulation and analysis of Systems: the names of pydrake.systems.analysis."""

from merganser.analysis.integrators import IntegratorBase, RungeKutta3Integrator, StepResult
from merganser.analysis.simulator import InitializeParams, Simulator
from merganser.analysis.simulator_status import SimulatorStatus

__all__ = [
    "InitializeParams",
    "IntegratorBase",
    "RungeKutta3Integrator",
    "Simulator",
    "SimulatorStatus",
    "StepResult",
]
