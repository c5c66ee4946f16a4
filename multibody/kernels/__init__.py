"""Multibody algorithms as kernels over the record arrays of layout.py, one algorithm a file.

Each name below is a compiled kernel; `name.interpreted` is the same function as plain Python, for records of
objects. The functions named `calc_...` in the files are what kernels call of each other.
"""

from merganser.multibody.kernels.accelerations import spatial_accelerations
from merganser.multibody.kernels.center_of_mass import center_of_mass
from merganser.multibody.kernels.constrained_dynamics import (
    constrained_forward_dynamics,
    constrained_state_derivatives,
)
from merganser.multibody.kernels.constraints.rows import constraint_rows
from merganser.multibody.kernels.controlled_step import controlled_step, controlled_step_from_kinematics
from merganser.multibody.kernels.coordinates import qdot_to_velocity, velocity_to_qdot
from merganser.multibody.kernels.energy import energies
from merganser.multibody.kernels.force_elements import bushing_forces, element_energies, force_elements
from merganser.multibody.kernels.forward_dynamics import forward_dynamics
from merganser.multibody.kernels.forward_dynamics_derivatives import (
    forward_dynamics_derivatives,
    state_forward_dynamics_derivatives,
)
from merganser.multibody.kernels.frame_motion import frame_acceleration, frame_velocity
from merganser.multibody.kernels.generalized_forces import generalized_forces
from merganser.multibody.kernels.gravity import gravity_forces
from merganser.multibody.kernels.inverse_dynamics import inverse_dynamics
from merganser.multibody.kernels.inverse_dynamics_derivatives import inverse_dynamics_derivatives
from merganser.multibody.kernels.jacobian_derivatives import jacobian_derivatives
from merganser.multibody.kernels.jacobians import center_of_mass_jacobian, jacobian, qdot_jacobian
from merganser.multibody.kernels.kinematics import kinematics
from merganser.multibody.kernels.mass_matrix import mass_matrix
from merganser.multibody.kernels.mass_matrix_by_columns import mass_matrix_by_columns
from merganser.multibody.kernels.mass_matrix_derivatives import mass_matrix_derivatives
from merganser.multibody.kernels.momentum import momentum, total_inertia
from merganser.multibody.kernels.momentum_matrix import momentum_matrix
from merganser.multibody.kernels.poses import poses
from merganser.multibody.kernels.position import hinges_and_inertias, position_kinematics
from merganser.multibody.kernels.reaction_forces import reaction_forces
from merganser.multibody.kernels.relative_motion import (
    center_of_mass_acceleration,
    point_accelerations,
    point_velocities,
)
from merganser.multibody.kernels.relative_pose import point_positions, relative_pose
from merganser.multibody.kernels.step import (
    discrete_step,
    kinematics_of_step,
    state_derivatives,
    state_inverse_dynamics,
    step_from_kinematics,
)
from merganser.multibody.kernels.velocity import velocity_kinematics

__all__ = [
    "bushing_forces",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "constrained_forward_dynamics",
    "constrained_state_derivatives",
    "constraint_rows",
    "controlled_step",
    "controlled_step_from_kinematics",
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
    "kinematics_of_step",
    "mass_matrix",
    "mass_matrix_by_columns",
    "mass_matrix_derivatives",
    "momentum",
    "momentum_matrix",
    "point_accelerations",
    "point_positions",
    "point_velocities",
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
