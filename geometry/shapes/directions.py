"""Directions all around."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@functools.cache
def unit_sphere(level: int) -> tuple[Array, NDArray[np.int64]]:
    """Points on a sphere of radius 1 and triangles, counter-clockwise seen from outside."""
    if level == 0:
        points = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
        around = [(i, (i + 1) % 4) for i in range(4)]
        return points, np.array([(i, j, 4) for i, j in around] + [(j, i, 5) for i, j in around])
    points, triangles = unit_sphere(level - 1)
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    middles = points[edges].sum(axis=1)
    middles /= np.linalg.norm(middles, axis=1)[:, None]
    ab, bc, ca = (which.reshape(-1, 3) + len(points)).T
    a, b, c = triangles.T
    corners = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1)
    return np.vstack([points, middles]), corners.reshape(-1, 3)
