"""Trajectories: functions of a parameter, the names of pydrake.trajectories."""

from merganser.framework.trajectories.piecewise_constant_curvature_trajectory import (
    PiecewiseConstantCurvatureTrajectory,
)

__all__ = ["PiecewiseConstantCurvatureTrajectory"]
