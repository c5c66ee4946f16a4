"""Controllers that need no multibody plant: the names of pydrake.systems.controllers."""

from merganser.analysis.controllers.linear_quadratic_regulator import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearQuadraticRegulator,
)

__all__ = ["DiscreteTimeLinearQuadraticRegulator", "LinearQuadraticRegulator"]
