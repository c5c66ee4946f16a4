"""Momenta, velocities and contact forces as constraints of programs: see README.md."""

from merganser.multibody.optimization.spatial_velocity import (
    CentroidalMomentumConstraint,
    QuaternionEulerIntegrationConstraint,
    SpatialVelocityConstraint,
)
from merganser.multibody.optimization.static_equilibrium_problem import (
    ContactWrench,
    ContactWrenchFromForceInWorldFrameEvaluator,
    StaticEquilibriumProblem,
)

__all__ = [
    "CentroidalMomentumConstraint",
    "ContactWrench",
    "ContactWrenchFromForceInWorldFrameEvaluator",
    "QuaternionEulerIntegrationConstraint",
    "SpatialVelocityConstraint",
    "StaticEquilibriumProblem",
]
