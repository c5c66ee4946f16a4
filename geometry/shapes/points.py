"""Points of round shapes and of boxes, by which they are drawn in a plane; directions all around."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NUM_AROUND, _NUM_ALONG = 32, 13  # points on a circle, and circles on a ball


def corners(width: float, depth: float, height: float) -> Array:
    """Of a box, shape [8, 3]."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * [width / 2, depth / 2, height / 2]


def circle() -> Array:
    """On the unit circle around z, shape [n, 3]."""
    angles = np.arange(_NUM_AROUND) * (2 * math.pi / _NUM_AROUND)
    return np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_NUM_AROUND)])


def ball() -> Array:
    """On the unit ball, shape [n, 3]."""
    latitudes = np.linspace(-math.pi / 2, math.pi / 2, _NUM_ALONG)
    return np.concatenate([circle() * math.cos(each) + [0.0, 0.0, math.sin(each)] for each in latitudes])


def ends(points: Array, length: float) -> Array:
    """Points moved by half a length along z, up and down."""
    shift = np.array([0.0, 0.0, length / 2])
    return np.concatenate([points - shift, points + shift])


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
