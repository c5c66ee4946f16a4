"""Controllers that need no multibody plant: the names of pydrake.systems.controllers."""

from merganser.analysis.controllers.linear_quadratic_regulator import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearQuadraticRegulator,
)
from merganser.analysis.controllers.pid_controlled_system import PidControlledSystem
from merganser.analysis.controllers.pid_controller import PidController

__all__ = [
    "DiscreteTimeLinearQuadraticRegulator",
    "LinearQuadraticRegulator",
    "PidControlledSystem",
    "PidController",
]
