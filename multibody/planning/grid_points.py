"""Grid points along a path, dense where the path is curved."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.trajectories import Trajectory
from merganser.multibody.planning.limits import positive_number

__all__ = ["CalcGridPointsOptions", "calc_grid_points"]

Array = NDArray[np.float64]


@settings
@dataclasses.dataclass(kw_only=True)
class CalcGridPointsOptions:
    """How dense grid points are.

    Attributes:
        max_err: greatest error that interpolation between grid points may have, in units of positions.
        max_iter: how often segments are halved, at most, for the sake of max_err and max_seg_length.
        max_seg_length: greatest distance of grid points, in units of the path parameter.
        min_points: least number of grid points.
    """

    max_err: float = 1e-3
    max_iter: int = 100
    max_seg_length: float = 0.05
    min_points: int = 100


def calc_grid_points(path: Trajectory, options: CalcGridPointsOptions) -> Array:
    """Halves the path until all segments of length D, with middle m, are short and nearly straight:

        D <= max_seg_length   and   max_j |q_j''(m)| D^2 / 2 <= max_err                               (1)

    and then halves all of them until there are min_points points. Curves between two middles that are straight are not
    seen: max_seg_length is to be less than they are long.

    Returns:
        The points in ascending order, from the start to the end of the path, shape [n].

    Raises:
        ValueError: a length or an error is not positive, or a count is negative.
    """
    caller = "Toppra.CalcGridPoints()"
    max_err = positive_number(options.max_err, f"{caller}: max_err")
    max_length = positive_number(options.max_seg_length, f"{caller}: max_seg_length")
    min_points = checked_size(options.min_points, f"{caller}: min_points")
    points = np.array([path.start_time(), path.end_time()], float)
    is_new = np.ones(1, bool)  # for each segment; those that have been left as they are need no second look
    for _ in range(checked_size(options.max_iter, f"{caller}: max_iter")):
        length, middle = np.diff(points), 0.5 * (points[:-1] + points[1:])
        is_coarse = is_new & (length > max_length)
        for i in np.flatnonzero(is_new & ~is_coarse):
            is_coarse[i] = 0.5 * np.abs(path.EvalDerivative(float(middle[i]), 2)).max() * length[i] ** 2 > max_err
        if not is_coarse.any():
            break
        points = np.insert(points, np.flatnonzero(is_coarse) + 1, middle[is_coarse])
        is_new = np.repeat(is_coarse, np.where(is_coarse, 2, 1))
    while len(points) < min_points:
        points = np.insert(points, np.arange(1, len(points)), 0.5 * (points[:-1] + points[1:]))
    return points
