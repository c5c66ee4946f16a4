"""Inverse kinematics by velocities: see README.md."""

from merganser.multibody.inverse_kinematics.differential import DoDifferentialInverseKinematics
from merganser.multibody.inverse_kinematics.differential_controller import DifferentialInverseKinematicsController
from merganser.multibody.inverse_kinematics.differential_integrator import DifferentialInverseKinematicsIntegrator
from merganser.multibody.inverse_kinematics.differential_parameters import (
    DifferentialInverseKinematicsParameters,
    DifferentialInverseKinematicsResult,
    DifferentialInverseKinematicsStatus,
)
from merganser.multibody.inverse_kinematics.differential_system import DifferentialInverseKinematicsSystem

__all__ = [
    "DifferentialInverseKinematicsController",
    "DifferentialInverseKinematicsIntegrator",
    "DifferentialInverseKinematicsParameters",
    "DifferentialInverseKinematicsResult",
    "DifferentialInverseKinematicsStatus",
    "DifferentialInverseKinematicsSystem",
    "DoDifferentialInverseKinematics",
]
