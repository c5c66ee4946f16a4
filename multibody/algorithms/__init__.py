"""The algorithms of RigidBodyDynamics.jl under their names; functions that end in `!` there take `out=` here."""

from merganser.multibody.algorithms.derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from merganser.multibody.algorithms.dynamics import (
    DynamicsResult,
    PDGains,
    SE3PDGains,
    default_constraint_stabilization_gains,
    dynamics,
    dynamics_bias,
    inverse_dynamics,
    mass_matrix,
)
from merganser.multibody.algorithms.state import (
    MechanismState,
    TreePath,
    center_of_mass,
    geometric_jacobian,
    mass,
    momentum_matrix,
    path,
    point_jacobian,
    subtree_mass,
)

__all__ = [
    "DynamicsResult",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "MechanismState",
    "PDGains",
    "SE3PDGains",
    "TreePath",
    "center_of_mass",
    "default_constraint_stabilization_gains",
    "dynamics",
    "dynamics_bias",
    "forward_dynamics_derivatives",
    "geometric_jacobian",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "mass",
    "mass_matrix",
    "momentum_matrix",
    "path",
    "point_jacobian",
    "subtree_mass",
]
