"""Trajectory optimization for any System: the names of pydrake.planning."""

from merganser.analysis.trajectory_optimization.direct_collocation import (
    AddDirectCollocationConstraint,
    DirectCollocation,
    DirectCollocationConstraint,
)
from merganser.analysis.trajectory_optimization.direct_transcription import DirectTranscription
from merganser.analysis.trajectory_optimization.multiple_shooting import MultipleShooting
from merganser.analysis.trajectory_optimization.zmp_planner import ZmpPlanner

__all__ = [
    "AddDirectCollocationConstraint",
    "DirectCollocation",
    "DirectCollocationConstraint",
    "DirectTranscription",
    "MultipleShooting",
    "ZmpPlanner",
]
