"""Where a line o + t d is in a convex body: the interval of t, empty where its end is before its start; and where rays
hit the surface of a grid of heights.

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


def first_hit(points: Array, bottom: float, o: Array, d: Array) -> float:
    """t of the first point o + t d, t >= 0, on the surface of what is under a grid [m]; infinite if it misses.

    The ray is cut where it passes from cell to cell. In each piece that comes between the heights of its cell, both
    triangles are tried.

    Args:
        points: of the grid, shape [rows, columns, 3].
        bottom: z below which nothing is.
        o, d: the ray, d of length 1, shape [3].
    """
    low, high = points[0, 0], points[-1, -1]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    top = float(points[:, :, 2].max())
    middle_z, half_z = 0.5 * (top + bottom), 0.5 * (top - bottom)
    across = (slab(o[i] - middle[i], d[i], half[i]) for i in range(2))
    box = both(*across, slab(o[2] - middle_z, d[2], half_z))
    if box[1] < 0.0 or box[0] > box[1]:
        return math.inf
    cuts = [np.array([max(box[0], 0.0), box[1]])]
    with np.errstate(all="ignore"):
        for lines, i in ((points[0, :, 0], 0), (points[:, 0, 1], 1)):
            if d[i] != 0.0:
                cuts.append((lines - o[i]) / d[i])
    t = np.unique(np.clip(np.concatenate(cuts), max(box[0], 0.0), box[1]))
    t = t if len(t) > 1 else np.repeat(t, 2)
    x, y = (o[i] + 0.5 * (t[:-1] + t[1:]) * d[i] for i in range(2))
    columns = np.clip(np.searchsorted(points[0, :, 0], x, side="right") - 1, 0, points.shape[1] - 2)
    rows = np.clip(np.searchsorted(points[:, 0, 1], y, side="right") - 1, 0, points.shape[0] - 2)
    corners = np.stack([points[rows + i, columns + j] for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))], axis=1)
    z = np.sort(o[2] + np.stack([t[:-1], t[1:]]) * d[2], axis=0)
    is_near = (z[0] <= corners[:, :, 2].max(axis=1) + 1e-9) & (z[1] >= corners[:, :, 2].min(axis=1) - 1e-9)
    triangles = corners[is_near][:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)
    return min(_through_sides(points, bottom, o, d, box), first_triangle(triangles, o, d, 1e-12))


def _through_sides(points: Array, bottom: float, o: Array, d: Array, box: tuple[float, float]) -> float:
    """t of the first point on an upright side or the bottom."""
    low, high = points[0, 0], points[-1, -1]
    for t in sorted(t for t in box if t >= 0.0):
        p = o + t * d
        gaps = abs(np.array([p[0] - low[0], p[0] - high[0], p[1] - low[1], p[1] - high[1], p[2] - bottom]))
        nearest = int(gaps.argmin())
        if gaps[nearest] > 1e-9 * (1.0 + abs(p).max()):
            continue  # through the plane of the highest point
        if nearest == 4:
            return t
        border = (points[:, 0], points[:, -1], points[0], points[-1])[nearest]
        along = 1 if nearest < 2 else 0
        if p[2] <= np.interp(p[along], border[:, along], border[:, 2]):
            return t
    return math.inf
