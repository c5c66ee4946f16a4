"""The least of the minima of h where an ellipsoid overlaps an ellipsoid or a segment.

refine.py goes down to minima from directions spread over the sphere: from those that are lower than all their
neighbors, and from where h may fall below the least minimum so far. As h is the support function of A - B,
w = grad h(n) bounds it from below everywhere,

    h(m) >= m . w >= h(n) cos(angle) - |w - h(n) n| sin(angle)                               (1)

so that the latter is known. A second minimum may lie so close to a known one that no direction tells of it: around
known minima, refine.py starts from directions whose way down leads elsewhere, too. That no minimum lies hidden from all
this is not proven; it has not happened in trials with random poses (tests/geometry/proximity/trial.py).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device
from merganser.geometry.proximity.layout import ELLIPSOID, INEXACT, MAX_STARTS, NUM_DIRECTIONS, SOLVED, Hulls
from merganser.geometry.proximity.refine import refine, set_solution
from merganser.geometry.proximity.shared_code import shared
from merganser.geometry.proximity.supports import support_of_pair
from merganser.geometry.proximity.vectors import Array, Vector3, dot, norm, subtract, sum_scaled

__all__ = ["deepest_of_smooth"]

_NEAR = 0.85  # cosine of the angle to a known minimum
_HEADING = 0.25  # squared cosine of the angle between the way down and that to a minimum


def _directions() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Directions spread over the sphere, and the nearest six of each.

    They are the corners of an icosahedron whose sides are cut in four twice; a direction and its negative are half of
    them apart.
    """
    golden = (1.0 + 5.0**0.5) / 2.0
    corners = np.array([[0.0, s, t * golden] for s in (-1.0, 1.0) for t in (-1.0, 1.0)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    points /= np.linalg.norm(points, axis=1)[:, None]
    while len(points) < NUM_DIRECTIONS:
        cosine = np.triu(points @ points.T, 1)
        i, j = np.nonzero(cosine > np.cos(1.35 * np.arccos(cosine.max())))
        middles = points[i] + points[j]
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1)[:, None]])
    is_upper = points @ [0.9, 0.33, 0.1] > 0.0
    points = np.concatenate([points[is_upper], -points[is_upper]])
    neighbors = np.argsort(-(points @ points.T), axis=1)[:, 1:7]
    return points, np.ascontiguousarray(neighbors)


_DIRECTIONS, _NEIGHBORS = _directions()
_CELL = 0.19  # [rad], the greatest angle to the next direction
_HALF = NUM_DIRECTIONS // 2
_X, _Y, _Z = (np.ascontiguousarray(_DIRECTIONS[:_HALF, i]) for i in range(3))
_COSINE, _SINE = math.cos(_CELL), math.sin(_CELL)


@shared(int)
def deepest_of_smooth(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Finds the least h and writes the solution into `work`; returns a status. If h < 0 somewhere, it stops early.

    Args:
        a: geometry A.
        b: geometry B.
        hulls: vertices of hulls.
        work: X_AB is given.
    """
    work.num_minima = 0
    work.num_starts = 0
    work.value = math.inf
    _sample(a, b, work)
    status = SOLVED
    row = 0
    while True:
        n, row = _next_start(a, b, hulls, work, row)
        if row > NUM_DIRECTIONS:
            return status
        best = work.value
        p_A = (work.p_ACa[0], work.p_ACa[1], work.p_ACa[2])
        p_B = (work.p_ACb[0], work.p_ACb[1], work.p_ACb[2])
        normal = (work.normal[0], work.normal[1], work.normal[2])
        solved = refine(a, b, hulls, work, n)
        _note_minimum(work)
        if work.value < best:
            status = SOLVED if solved else INEXACT
            if work.value < 0.0:
                return status
        else:
            set_solution(work, normal, best, p_A, p_B)


@device
def _next_start(a: Array, b: Array, hulls: Hulls, work: Array, row: int) -> tuple[Vector3, int]:
    """The lowest start that is left; after these, directions from where one goes down to no known minimum.

    Args:
        row: how many directions have been looked at.

    Returns:
        The direction, and how many have been looked at; more than there are if none is left.
    """
    while True:
        lowest = -1
        for k in range(work.num_starts):
            if work.start_value[k] < math.inf and (lowest < 0 or work.start_value[k] < work.start_value[lowest]):
                lowest = k
        if lowest < 0:
            break
        n = (work.start[lowest, 0], work.start[lowest, 1], work.start[lowest, 2])
        value = work.start_value[lowest]
        work.start_value[lowest] = math.inf
        if value < work.value:
            return n, row
        bound, _ = _lower_bound(a, b, hulls, work.X_AB, n, value)
        if bound < work.value:
            return n, row
    size = a.bound + b.bound
    while row < NUM_DIRECTIONS:
        value = work.sample[row]
        side, k = (1.0, row) if row < _HALF else (-1.0, row - _HALF)
        row += 1
        if value * _COSINE - size * _SINE >= work.value:
            continue
        n = (side * _X[k], side * _Y[k], side * _Z[k])
        if not _is_near_known(work, n):
            continue
        bound, slope = _lower_bound(a, b, hulls, work.X_AB, n, value)
        if bound < work.value and not _leads_to_known(work, n, slope):
            return n, row
    return (0.0, 0.0, 1.0), NUM_DIRECTIONS + 1


@device
def _is_near_known(work: Array, n: Vector3) -> bool:
    """Whether a direction is so close to a known minimum that this may hide another one."""
    for k in range(work.num_minima):
        if work.minimum[k, 0] * n[0] + work.minimum[k, 1] * n[1] + work.minimum[k, 2] * n[2] > _NEAR:
            return True
    return False


@device
def _leads_to_known(work: Array, n: Vector3, slope: Vector3) -> bool:
    """Whether the way down from a direction leads to a known minimum."""
    for k in range(work.num_minima):
        way = subtract((work.minimum[k, 0], work.minimum[k, 1], work.minimum[k, 2]), n)
        along = -dot(way, slope)
        if along > 0.0 and along * along > _HEADING * dot(way, way) * dot(slope, slope):
            return True
    return False


@device
def _note_minimum(work: Array) -> None:
    """Keeps the normal of the solution."""
    if work.num_minima < MAX_STARTS:
        for i in range(3):
            work.minimum[work.num_minima, i] = work.normal[i]
        work.num_minima += 1


@device
def _lower_bound(a: Array, b: Array, hulls: Hulls, X_AB: Array, n: Vector3, value: float) -> tuple[float, Vector3]:
    """(1) for the directions around n that are nearer to it than to others, and w - h(n) n."""
    _, _, p_A, p_B = support_of_pair(a, b, hulls, X_AB, n)
    slope = sum_scaled(subtract(p_A, p_B), n, -value)
    return value * _COSINE - norm(slope) * _SINE, slope


@device
def _add_start(work: Array, n: Vector3, value: float) -> None:
    """Keeps a direction from which to go down; if there is no room, in place of the highest."""
    place = work.num_starts
    if place == MAX_STARTS:
        place = 0
        for k in range(1, MAX_STARTS):
            if work.start_value[k] > work.start_value[place]:
                place = k
        if work.start_value[place] <= value:
            return
    else:
        work.num_starts += 1
    work.start_value[place] = value
    for i in range(3):
        work.start[place, i] = n[i]


@device
def _sample(a: Array, b: Array, work: Array) -> None:
    """Adds to the starts all directions that are lower than their neighbors."""
    X = work.X_AB
    x, y, z = X[9], X[10], X[11]
    samples = work.sample
    for i in range(_HALF):
        along = _X[i] * x + _Y[i] * y + _Z[i] * z
        samples[i], samples[_HALF + i] = -along, along
    # h_B(-n): B sees the direction -R^T n, whose parts along x, y and z of A are the negative rows of R.
    _add_reach(a, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), work)
    _add_reach(b, (-X[0], -X[1], -X[2]), (-X[3], -X[4], -X[5]), (-X[6], -X[7], -X[8]), work)
    for i in range(NUM_DIRECTIONS):
        value = samples[i]
        is_lowest = True
        for k in range(6):
            if samples[_NEIGHBORS[i, k]] < value:
                is_lowest = False
                break
        if is_lowest:
            side, row = (1.0, i) if i < _HALF else (-1.0, i - _HALF)
            _add_start(work, (side * _X[row], side * _Y[row], side * _Z[row]), value)


@device
def _add_reach(g: Array, u: Vector3, v: Vector3, w: Vector3, work: Array) -> None:
    """Adds h of one core in all directions x u + y v + z w; loops without branches, for vectors of four."""
    samples, s0, s1, s2 = work.sample, g.size_0, g.size_1, g.size_2
    kind = g.kind
    if kind == ELLIPSOID:
        for i in range(_HALF):
            x = s0 * (_X[i] * u[0] + _Y[i] * v[0] + _Z[i] * w[0])
            y = s1 * (_X[i] * u[1] + _Y[i] * v[1] + _Z[i] * w[1])
            z = s2 * (_X[i] * u[2] + _Y[i] * v[2] + _Z[i] * w[2])
            h = math.sqrt(x * x + y * y + z * z)
            samples[i] += h
            samples[_HALF + i] += h
    else:
        for i in range(_HALF):
            h = s2 * abs(_X[i] * u[2] + _Y[i] * v[2] + _Z[i] * w[2])
            samples[i] += h
            samples[_HALF + i] += h
