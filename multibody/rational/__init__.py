"""Kinematics as polynomials and rational functions: see README.md."""

from merganser.multibody.rational.rational_forward_kinematics import (
    RationalForwardKinematics,
    RationalForwardKinematicsPose,
    RationalForwardKinematicsPose_,
)

__all__ = ["RationalForwardKinematics", "RationalForwardKinematicsPose", "RationalForwardKinematicsPose_"]
