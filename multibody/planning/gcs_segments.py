"""Segments of trajectories through regions: with equal durations, and without jumps by multiples of 2 pi."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.trajectories import BezierCurve, CompositeTrajectory
from merganser.geometry.optimization.convexity_radius import checked_joints

__all__ = ["normalized", "unwrapped"]

_TWO_PI = 2.0 * np.pi


def _curves(trajectory: CompositeTrajectory, where: str) -> list[BezierCurve]:
    curves = []
    for i in range(trajectory.get_number_of_segments()):
        segment = trajectory.segment(i)
        if not isinstance(segment, BezierCurve):
            raise ValueError(f"{where}: expected segments that are BezierCurves, got {type(segment).__name__} at {i}.")
        curves.append(segment)
    return curves


def normalized(trajectory: CompositeTrajectory) -> CompositeTrajectory:
    """The same curves, each one second long."""
    curves = _curves(trajectory, "GcsTrajectoryOptimization.NormalizeSegmentTimes")
    if not curves:
        return CompositeTrajectory([])
    start = float(trajectory.start_time())
    return CompositeTrajectory(
        [BezierCurve(start + i, start + i + 1.0, curve.control_points()) for i, curve in enumerate(curves)]
    )


def unwrapped(
    trajectory: CompositeTrajectory, joints: Sequence[int], starting_rounds: Sequence[int] | None, tol: float
) -> CompositeTrajectory:
    """The same curves, moved by multiples of 2 pi in some angles so that they are continuous."""
    where = "GcsTrajectoryOptimization.UnwrapToContinuousTrajectory"
    curves = _curves(trajectory, where)
    if not curves:
        return CompositeTrajectory([])
    places = checked_joints(joints, trajectory.rows(), where)
    move: NDArray[Any] = np.zeros(trajectory.rows())
    if starting_rounds is not None:
        if len(starting_rounds) != len(places):
            raise ValueError(f"{where}: expected {len(places)} values in starting_rounds, got {len(starting_rounds)}.")
        first = curves[0].control_points()[places, 0]
        move[places] = _TWO_PI * (np.array(starting_rounds) - np.floor(first / _TWO_PI))
    moved: list[BezierCurve] = []
    for i, curve in enumerate(curves):
        points = curve.control_points()
        if moved:
            move = moved[-1].control_points()[:, -1] - points[:, 0]
            rounds = np.zeros(move.size)
            rounds[places] = np.round(move[places] / _TWO_PI)
            off = np.abs(move - _TWO_PI * rounds)
            if off.max() > tol:
                raise RuntimeError(
                    f"{where}: position {int(off.argmax())} jumps by {-move[off.argmax()]:.6g} before segment {i}, "
                    f"which is no multiple of 2 pi of an angle in {places}, within tol = {tol}."
                )
            move = _TWO_PI * rounds
        moved.append(BezierCurve(curve.start_time(), curve.end_time(), points + move[:, np.newaxis]))
    return CompositeTrajectory(moved)
