"""Inverse kinematics by velocities: see README.md."""

from merganser.multibody.inverse_kinematics.differential import DoDifferentialInverseKinematics
from merganser.multibody.inverse_kinematics.differential_integrator import DifferentialInverseKinematicsIntegrator
from merganser.multibody.inverse_kinematics.differential_parameters import (
    DifferentialInverseKinematicsParameters,
    DifferentialInverseKinematicsResult,
    DifferentialInverseKinematicsStatus,
)

__all__ = [
    "DifferentialInverseKinematicsIntegrator",
    "DifferentialInverseKinematicsParameters",
    "DifferentialInverseKinematicsResult",
    "DifferentialInverseKinematicsStatus",
    "DoDifferentialInverseKinematics",
]
