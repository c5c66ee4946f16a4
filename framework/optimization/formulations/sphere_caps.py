"""Where axis-aligned boxes meet the unit sphere: the smallest cap of the sphere that has all of it.

In the orthant of positive numbers a box [low, high] meets the sphere if |low| <= 1 <= |high|. For an axis n in this
orthant n'v is least at a point where an edge of the box meets the sphere: along a side it is a concave function, and in
between it has no minimum. So the cap is the smallest one that has these points; it touches two or three of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from merganser.framework.optimization.arrays import Array

_ROUNDING = 1e-12


@dataclass
class Cap:
    """A cap of the sphere about the part of it that is in a box.

    Attributes:
        index: which interval of each axis the box has.
        axis: the middle of the cap, shape [3]; None if the box does not meet the sphere.
        least: the least product of the axis and a vector in the cap.
    """

    index: tuple[int, int, int]
    axis: Array | None
    least: float


def caps_of_boxes(phi: Array) -> list[Cap]:
    """The caps of all boxes of the intervals between phi, which has 0 and is symmetric to it."""
    caps = []
    cached: dict[tuple[float, ...], tuple[Array | None, float]] = {}
    count = range(phi.size - 1)
    for index in product(count, count, count):
        ends = np.array([(phi[i], phi[i + 1]) for i in index])
        sign = np.where(ends.sum(axis=1) < 0.0, -1.0, 1.0)
        low, high = np.sort(np.abs(ends), axis=1).T
        key = (*low, *high)
        if key not in cached:
            cached[key] = _cap(low, high)
        axis, least = cached[key]
        caps.append(Cap(index, None if axis is None else sign * axis, least))
    return caps


def _cap(low: Array, high: Array) -> tuple[Array | None, float]:
    points = _crossings(low, high)
    if not len(points):
        return None, 0.0
    axes = list(points) if len(points) == 1 else []
    axes += [a + b for a, b in combinations(points, 2)]
    axes += [np.cross(b - a, c - a) for a, b, c in combinations(points, 3)]
    best, most = points[0], -1.0
    for axis in axes:
        length = float(np.linalg.norm(axis))
        if length < 1e-9:
            continue
        unit = axis / length if axis @ points[0] > 0.0 else -axis / length
        least = float((points @ unit).min())
        if least > most and (unit >= -_ROUNDING).all():
            best, most = unit, least
    return best, most


def _crossings(low: Array, high: Array) -> Array:
    """Points of the edges of a box in the positive orthant at which the length is 1, shape [count, 3]."""
    points: dict[tuple[float, ...], Array] = {}
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        for a, b in product((low[i], high[i]), (low[j], high[j])):
            rest = 1.0 - a * a - b * b
            value = np.sqrt(max(rest, 0.0))
            if rest < -_ROUNDING or not low[axis] - _ROUNDING <= value <= high[axis] + _ROUNDING:
                continue
            point = np.zeros(3)
            point[[axis, i, j]] = value, a, b
            points[tuple(np.round(point, 9))] = point / np.linalg.norm(point)
    return np.array(list(points.values())).reshape(-1, 3)
