"""Simulation and analysis of Systems: the names of pydrake.systems.analysis."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.analysis.simulation.simulator import InitializeParams, Simulator
from merganser.analysis.simulation.simulator_status import SimulatorStatus
from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.analysis.batches.batch import (
        BatchEvalTimeDerivatives,
        BatchEvalUniquePeriodicDiscreteUpdate,
    )
    from merganser.analysis.batches.batch_simulation import BatchResult, BatchSimulator, batch_simulate
    from merganser.analysis.batches.monte_carlo import (
        FailedRun,
        MonteCarloSimulation,
        RandomSimulation,
        RandomSimulationResult,
    )
    from merganser.analysis.batches.worlds import Worlds
    from merganser.analysis.discrete_time_approximation import DiscreteTimeApproximation
    from merganser.analysis.fixed_points import (
        FindFixedPoint,
        FixedPoint,
        RegionOfAttraction,
        RegionOfAttractionOptions,
    )
    from merganser.analysis.integrators import (
        BogackiShampine3Integrator,
        ButcherTableau,
        DenseOutput,
        EulerMaruyamaIntegrator,
        ExplicitEulerIntegrator,
        ExplicitRungeKutta,
        ImplicitEulerIntegrator,
        ImplicitIntegrator,
        IntegratorBase,
        JacobianComputationScheme,
        MilsteinIntegrator,
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
    from merganser.analysis.plots import (
        log_labels,
        log_to_pandas,
        plot_log,
        plot_sublevelset_expression,
        plot_sublevelset_quadratic,
        plot_trajectory,
        save_logs,
    )
    from merganser.analysis.simulation.simulator_config import (
        ApplySimulatorConfig,
        ExtractSimulatorConfig,
        GetIntegrationSchemes,
        ResetIntegratorFromFlags,
        SimulatorConfig,
    )
    from merganser.analysis.simulation.simulator_status import PrintSimulatorStatistics
    from merganser.analysis.state_machine_plots import plot_state_machine, plot_state_trace
    from merganser.framework.core.scalars.scalars import numeric_scalars as _numeric_scalars
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate

    IntegratorBase_ = _ValueTemplate(IntegratorBase)  # type: ignore[type-abstract]
    RungeKutta2Integrator_ = _ValueTemplate(RungeKutta2Integrator)
    RungeKutta3Integrator_ = _ValueTemplate(RungeKutta3Integrator, _numeric_scalars)
    Simulator_ = _ValueTemplate(Simulator, _numeric_scalars)
else:
    __getattr__, __dir__ = _lazy_names(__name__, "controllers", "estimators", "trajectory_optimization")

__all__ = [
    "ApplySimulatorConfig",
    "BatchEvalTimeDerivatives",
    "BatchEvalUniquePeriodicDiscreteUpdate",
    "BatchResult",
    "BatchSimulator",
    "BogackiShampine3Integrator",
    "ButcherTableau",
    "DenseOutput",
    "DiscreteTimeApproximation",
    "EulerMaruyamaIntegrator",
    "ExplicitEulerIntegrator",
    "ExplicitRungeKutta",
    "ExtractSimulatorConfig",
    "FailedRun",
    "FindFixedPoint",
    "FixedPoint",
    "GetIntegrationSchemes",
    "ImplicitEulerIntegrator",
    "ImplicitIntegrator",
    "InitializeParams",
    "IntegratorBase",
    "IntegratorBase_",
    "JacobianComputationScheme",
    "MilsteinIntegrator",
    "MonteCarloSimulation",
    "PrintSimulatorStatistics",
    "Radau1Integrator",
    "Radau3Integrator",
    "RadauIntegrator",
    "RandomSimulation",
    "RandomSimulationResult",
    "RegionOfAttraction",
    "RegionOfAttractionOptions",
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
    "Worlds",
    "batch_simulate",
    "log_labels",
    "log_to_pandas",
    "plot_log",
    "plot_state_machine",
    "plot_state_trace",
    "plot_sublevelset_expression",
    "plot_sublevelset_quadratic",
    "plot_trajectory",
    "save_logs",
]
