"""Kinematics as polynomials and rational functions: see README.md."""

from merganser.multibody.rational.pose import RationalForwardKinematicsPose, RationalForwardKinematicsPose_
from merganser.multibody.rational.rational_forward_kinematics import RationalForwardKinematics

__all__ = ["RationalForwardKinematics", "RationalForwardKinematicsPose", "RationalForwardKinematicsPose_"]
