"""Multibody algorithms as kernels over the record arrays of layout.py, one algorithm a file.

Each name below is a compiled kernel; `name.interpreted` is the same function as plain Python, for records of
objects. The functions named `calc_...` in the files are what kernels call of each other.
"""

from merganser.multibody.kernels.configuration_derivatives import jacobian_derivatives, mass_matrix_derivatives
from merganser.multibody.kernels.constrained_dynamics import (
    constrained_forward_dynamics,
    constrained_state_derivatives,
)
from merganser.multibody.kernels.constraints.rows import constraint_rows
from merganser.multibody.kernels.force_elements import bushing_forces, element_energies, force_elements
from merganser.multibody.kernels.forward_dynamics import forward_dynamics
from merganser.multibody.kernels.forward_dynamics_derivatives import (
    forward_dynamics_derivatives,
    state_forward_dynamics_derivatives,
)
from merganser.multibody.kernels.frames import (
    center_of_mass_acceleration,
    frame_acceleration,
    frame_velocity,
    point_accelerations,
    point_positions,
    point_velocities,
    relative_pose,
)
from merganser.multibody.kernels.inverse_dynamics import (
    generalized_forces,
    gravity_forces,
    inverse_dynamics,
    reaction_forces,
)
from merganser.multibody.kernels.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from merganser.multibody.kernels.jacobians import body_jacobians, center_of_mass_jacobian, jacobian, qdot_jacobian
from merganser.multibody.kernels.mass_matrix import mass_matrix, mass_matrix_by_columns
from merganser.multibody.kernels.momentum import center_of_mass, energies, momentum, momentum_matrix, total_inertia
from merganser.multibody.kernels.position import (
    hinges_and_inertias,
    pose_matrices,
    poses,
    position_kinematics,
    qdot_to_velocity,
    velocity_to_qdot,
)
from merganser.multibody.kernels.step import (
    discrete_step,
    next_pass,
    state_derivatives,
    state_inverse_dynamics,
    step_from_kinematics,
)
from merganser.multibody.kernels.velocity import kinematics, spatial_accelerations, velocity_kinematics
from merganser.multibody.kernels.velocity_products import mean_kinematics

__all__ = [
    "body_jacobians",
    "bushing_forces",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "constrained_forward_dynamics",
    "constrained_state_derivatives",
    "constraint_rows",
    "discrete_step",
    "element_energies",
    "energies",
    "force_elements",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_acceleration",
    "frame_velocity",
    "generalized_forces",
    "gravity_forces",
    "hinges_and_inertias",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "jacobian_derivatives",
    "kinematics",
    "mass_matrix",
    "mass_matrix_by_columns",
    "mass_matrix_derivatives",
    "mean_kinematics",
    "momentum",
    "momentum_matrix",
    "next_pass",
    "point_accelerations",
    "point_positions",
    "point_velocities",
    "pose_matrices",
    "poses",
    "position_kinematics",
    "qdot_jacobian",
    "qdot_to_velocity",
    "reaction_forces",
    "relative_pose",
    "spatial_accelerations",
    "state_derivatives",
    "state_forward_dynamics_derivatives",
    "state_inverse_dynamics",
    "step_from_kinematics",
    "total_inertia",
    "velocity_kinematics",
    "velocity_to_qdot",
]
