"""Where a line o + t d is in a convex body: the interval of t, empty where its end is before its start."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Interval = tuple[float, float]
NOWHERE: Interval = (math.inf, -math.inf)


def nowhere(shape: object, o: Array, d: Array) -> Interval:
    """Of what lines do not hit."""
    return NOWHERE


def quadric(o: Array, d: Array, weights: Array) -> Interval:
    """Where sum(weights (o + t d)^2) <= 1."""
    a, b, c = float(weights * d @ d), float(weights * o @ d), float(weights * o @ o) - 1.0
    if a <= 1e-15 * float(weights.max()):  # along a cylinder
        return (-math.inf, math.inf) if c <= 0.0 else NOWHERE
    square = b * b - a * c
    if square < 0.0:
        return NOWHERE
    root = math.sqrt(square)
    return (-b - root) / a, (-b + root) / a


def slab(o: float, d: float, half: float) -> Interval:
    """Where |o + t d| <= half."""
    if d == 0.0:
        return (-math.inf, math.inf) if abs(o) <= half else NOWHERE
    ends = (-half - o) / d, (half - o) / d
    return min(ends), max(ends)


def both(*intervals: Interval) -> Interval:
    """Where all of them are."""
    t_in, t_out = max(i[0] for i in intervals), min(i[1] for i in intervals)
    return (t_in, t_out) if t_in <= t_out else NOWHERE
