"""Multibody algorithms as kernels over the record arrays of layout.py, one algorithm a file.

Each name below is a compiled kernel; `name.interpreted` is the same function as plain Python, for records of
objects. The functions named `calc_...` in the files are what kernels call of each other.
"""

from merganser.multibody.kernels.accelerations import spatial_accelerations
from merganser.multibody.kernels.coordinates import qdot_to_velocity, velocity_to_qdot
from merganser.multibody.kernels.energy import energies
from merganser.multibody.kernels.forward_dynamics import forward_dynamics
from merganser.multibody.kernels.gravity import gravity_forces
from merganser.multibody.kernels.inverse_dynamics import inverse_dynamics
from merganser.multibody.kernels.jacobians import center_of_mass_jacobian, jacobian, qdot_jacobian
from merganser.multibody.kernels.kinematics import kinematics
from merganser.multibody.kernels.mass_matrix import mass_matrix
from merganser.multibody.kernels.momentum import momentum, total_inertia
from merganser.multibody.kernels.position import position_kinematics
from merganser.multibody.kernels.relative_motion import (
    center_of_mass_acceleration,
    point_accelerations,
    point_velocities,
)
from merganser.multibody.kernels.step import discrete_step, state_derivatives, state_inverse_dynamics
from merganser.multibody.kernels.velocity import velocity_kinematics

__all__ = [
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "discrete_step",
    "energies",
    "forward_dynamics",
    "gravity_forces",
    "inverse_dynamics",
    "jacobian",
    "kinematics",
    "mass_matrix",
    "momentum",
    "point_accelerations",
    "point_velocities",
    "position_kinematics",
    "qdot_jacobian",
    "qdot_to_velocity",
    "spatial_accelerations",
    "state_derivatives",
    "state_inverse_dynamics",
    "total_inertia",
    "velocity_kinematics",
    "velocity_to_qdot",
]
