"""Where a line o + t d is in a convex body: the interval of t, empty where its end is before its start.

A ray, of t >= 0, hits a triangle with corners p_i, e_i = p_i - p_0, from either side at

    o + t d = p_0 + u e_1 + v e_2,   0 <= u, v, u + v <= 1                                (1)

Source: T. Moeller, B. Trumbore, Fast, Minimum Storage Ray/Triangle Intersection (1997).
"""

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


def first_triangle(corners: Array, o: Array, d: Array, margin: float = 0.0) -> float:
    """t of the first triangle that a ray hits by equation (1), with u and v within a margin; infinite if it misses.

    Args:
        corners: of the triangles, shape [n, 3, 3].
        o, d: the ray, shape [3].
        margin: by which u, v and u + v may be out of bounds; more than 0 where no ray is to pass between neighbours.
    """
    e_1, e_2, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], o - corners[:, 0]
    normal = np.cross(d, e_2)
    with np.errstate(all="ignore"):
        inverse = 1.0 / np.einsum("ni,ni->n", normal, e_1)
        across = np.cross(p, e_1)
        u, v = inverse * np.einsum("ni,ni->n", normal, p), inverse * (across @ d)
        t = inverse * np.einsum("ni,ni->n", across, e_2)
        hits = (u >= -margin) & (v >= -margin) & (u + v <= 1.0 + margin) & (t >= 0.0) & np.isfinite(t)
    return float(t[hits].min()) if hits.any() else math.inf
