"""Controllers that need no multibody plant: the names of pydrake.systems.controllers."""

from merganser.analysis.controllers.dynamic_programming import (
    DynamicProgrammingOptions,
    FittedValueIteration,
    LinearProgrammingApproximateDynamicProgramming,
    PeriodicBoundaryCondition,
)
from merganser.analysis.controllers.finite_horizon_linear_quadratic_regulator import (
    FiniteHorizonLinearQuadraticRegulator,
    FiniteHorizonLinearQuadraticRegulatorOptions,
    FiniteHorizonLinearQuadraticRegulatorResult,
    MakeFiniteHorizonLinearQuadraticRegulator,
)
from merganser.analysis.controllers.linear_model_predictive_controller import LinearModelPredictiveController
from merganser.analysis.controllers.linear_quadratic_regulator import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearQuadraticRegulator,
)
from merganser.analysis.controllers.onnx_policy import OnnxPolicy
from merganser.analysis.controllers.pid_controlled_system import PidControlledSystem
from merganser.analysis.controllers.pid_controller import PidController

__all__ = [
    "DiscreteTimeLinearQuadraticRegulator",
    "DynamicProgrammingOptions",
    "FiniteHorizonLinearQuadraticRegulator",
    "FiniteHorizonLinearQuadraticRegulatorOptions",
    "FiniteHorizonLinearQuadraticRegulatorResult",
    "FittedValueIteration",
    "LinearModelPredictiveController",
    "LinearProgrammingApproximateDynamicProgramming",
    "LinearQuadraticRegulator",
    "MakeFiniteHorizonLinearQuadraticRegulator",
    "OnnxPolicy",
    "PeriodicBoundaryCondition",
    "PidControlledSystem",
    "PidController",
]
