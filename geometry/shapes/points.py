"""Points of round shapes and of boxes, by which they are drawn in a plane."""

from __future__ import annotations

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
