"""Momenta, velocities and contact forces as constraints of programs: see README.md."""

from merganser.multibody.optimization.contact_wrenches import (
    ContactWrench,
    ContactWrenchFromForceInWorldFrameEvaluator,
)
from merganser.multibody.optimization.quaternion_integration import QuaternionEulerIntegrationConstraint
from merganser.multibody.optimization.spatial_velocity import CentroidalMomentumConstraint, SpatialVelocityConstraint
from merganser.multibody.optimization.static_equilibrium_problem import StaticEquilibriumProblem

__all__ = [
    "CentroidalMomentumConstraint",
    "ContactWrench",
    "ContactWrenchFromForceInWorldFrameEvaluator",
    "QuaternionEulerIntegrationConstraint",
    "SpatialVelocityConstraint",
    "StaticEquilibriumProblem",
]
