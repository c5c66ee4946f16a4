"""One step of hit and run for many points; see hit_and_run.py. With numpy it takes 20 times as long."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import kernel

__all__ = ["step_all"]

Array = NDArray[np.float64]


@kernel
def step_all(
    # Model:
    A_columns: Array,  # A of A x <= b, transposed, shape [n, m]
    # In:
    directions_in: Array,  # shape [n, N]
    shares_in: Array,  # where on the chord, 0 to 1, shape [N]
    # Work:
    slopes_work: Array,  # shape [m]
    # Out:
    points_io: Array,  # shape [N, n]
    room_io: Array,  # b - A x of each, shape [N, m]
) -> None:
    for i in range(points_io.shape[0]):
        # slopes = A d, the t with t slopes <= room are the chord
        for j in range(slopes_work.shape[0]):
            slopes_work[j] = 0.0
        for k in range(A_columns.shape[0]):
            d = directions_in[k, i]
            for j in range(slopes_work.shape[0]):
                slopes_work[j] += A_columns[k, j] * d
        low, high = -math.inf, math.inf
        for j in range(slopes_work.shape[0]):
            slope = slopes_work[j]
            if slope > 0.0:
                high = min(high, room_io[i, j] / slope)
            elif slope < 0.0:
                low = max(low, room_io[i, j] / slope)
        t = low + shares_in[i] * (high - low)
        for k in range(A_columns.shape[0]):
            points_io[i, k] += t * directions_in[k, i]
        for j in range(slopes_work.shape[0]):
            room_io[i, j] = max(room_io[i, j] - t * slopes_work[j], 0.0)
