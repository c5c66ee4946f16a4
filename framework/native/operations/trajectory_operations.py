"""Trajectories as operations: a short program of steps that evaluate and combine their pieces.

The numbers of a program, constants and results, are in one pool; the offsets in its steps are relative to that.
Each step is its code, then what it needs. A time is a number in the pool, the current time being the first one there.
The steps compute to the last bit what the classes in framework/trajectories compute.
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native.compiler.kernels import device

GUARD = 0  # time, limits, steps to leave out [integers]: unless low <= time < high
CLAMP = 1  # time, limits, result: the time within the limits
POLYNOMIAL = 2  # time, result, n, segments, powers, breaks, coefficients [segment, element, falling power]
SPLINE = 3  # time, result, n, order, end of the search, limits, knots, points, work: (1) of bspline_trajectory.py
BERNSTEIN = 4  # time, result, n, order, limits, binomials, points: (1) of bezier_curve.py
SLERP = 5  # time, result, segments, breaks, quaternions, angles (-1: almost parallel)
COMPOSE = 6  # result, n, order, derivatives of the path, rates, work, binomials: (1) of composed_trajectories
ZERO_BEYOND = 7  # time, limits, result, n: zeros if the time is beyond the limits
RESULT = 8  # n, result: copied to the output


@device
def _clamped(time: float, low: float, high: float) -> float:
    return low if time < low else high if time > high else time


@device
def _segment(numbers: Any, breaks: int, num_segments: int, time: float) -> int:
    """The number of the segment with the time, the nearest one beyond the ends."""
    low, high = 0, num_segments  # break `low` is not after the time, break `high` is, or they are the ends
    while high - low > 1:
        middle = (low + high) // 2
        if numbers[breaks + middle] <= time:
            low = middle
        else:
            high = middle
    return low


@device
def _polynomial(numbers: Any, pool: int, step: Any, at: int) -> None:
    y, n, num_segments, powers = pool + step[at + 2], step[at + 3], step[at + 4], step[at + 5]
    breaks, coefficients = pool + step[at + 6], pool + step[at + 7]
    time = _clamped(numbers[pool + step[at + 1]], numbers[breaks], numbers[breaks + num_segments])
    segment = _segment(numbers, breaks, num_segments, time)
    s = time - numbers[breaks + segment]
    for i in range(n):
        offset = coefficients + powers * (n * segment + i)
        value = numbers[offset]
        for k in range(1, powers):
            value = value * s + numbers[offset + k]
        numbers[y + i] = value


@device
def _spline(numbers: Any, pool: int, step: Any, at: int) -> None:
    y, n, order, search_end = pool + step[at + 2], step[at + 3], step[at + 4], step[at + 5]
    limits, knots = pool + step[at + 6], pool + step[at + 7]
    points, weights = pool + step[at + 8], pool + step[at + 9]
    time = _clamped(numbers[pool + step[at + 1]], numbers[limits], numbers[limits + 1])
    interval = _segment(numbers, knots, search_end, time)
    numbers[weights] = 1.0
    for degree in range(1, order):  # algorithm A2.2, see BsplineBasis
        carried = 0.0
        for r in range(degree):
            left = time - numbers[knots + interval - (degree - 1 - r)]
            right = numbers[knots + interval + 1 + r] - time
            share = numbers[weights + r] / (right + left)
            numbers[weights + r] = carried + right * share
            carried = left * share
        numbers[weights + degree] = carried
    first = points + n * (interval - order + 1)
    for i in range(n):
        total = numbers[weights] * numbers[first + i]
        for k in range(1, order):
            total += numbers[weights + k] * numbers[first + n * k + i]
        numbers[y + i] = total


@device
def _bernstein(numbers: Any, pool: int, step: Any, at: int) -> None:
    y, n, order = pool + step[at + 2], step[at + 3], step[at + 4]
    limits, binomials, points = pool + step[at + 5], pool + step[at + 6], pool + step[at + 7]
    start, end = numbers[limits], numbers[limits + 1]
    s = (_clamped(numbers[pool + step[at + 1]], start, end) - start) / (end - start)
    for i in range(n):
        numbers[y + i] = 0.0
    for k in range(order + 1):
        weight = numbers[binomials + k]
        for _ in range(k):
            weight = weight * s
        for _ in range(order - k):
            weight = weight * (1.0 - s)
        for i in range(n):
            numbers[y + i] += numbers[points + n * k + i] * weight


@device
def _slerp(numbers: Any, pool: int, step: Any, at: int) -> None:
    y, num_segments, breaks = pool + step[at + 2], step[at + 3], pool + step[at + 4]
    time = _clamped(numbers[pool + step[at + 1]], numbers[breaks], numbers[breaks + num_segments])
    segment = _segment(numbers, breaks, num_segments, time)
    start = numbers[breaks + segment]
    s = (time - start) / (numbers[breaks + segment + 1] - start)
    angle, q = numbers[pool + step[at + 6] + segment], pool + step[at + 5] + 4 * segment
    before, after = 1.0 - s, s
    if angle >= 0.0:
        before, after = math.sin((1.0 - s) * angle), math.sin(s * angle)
    square = 0.0
    for i in range(4):
        value = numbers[q + i] * before + numbers[q + 4 + i] * after
        square = square + value * value
        numbers[y + i] = value
    norm = math.sqrt(square)
    for i in range(4):
        numbers[y + i] /= norm


@device
def _compose(numbers: Any, pool: int, step: Any, at: int) -> None:
    y, n, order = pool + step[at + 1], step[at + 2], step[at + 3]
    slopes, rates = pool + step[at + 4], pool + step[at + 5]
    bell, binomials = pool + step[at + 6], pool + step[at + 7]
    columns = order + 1
    for m in range(columns):
        for k in range(columns):
            total = 1.0 if m == 0 and k == 0 else 0.0
            if m > 0 and k > 0:
                for i in range(1, m - k + 2):
                    term = numbers[binomials + columns * (m - 1) + i - 1] * numbers[rates + i - 1]
                    total = total + term * numbers[bell + columns * (m - i) + k - 1]
            numbers[bell + columns * m + k] = total
    for i in range(n):
        total = numbers[slopes + i] * numbers[bell + columns * order + 1]
        for k in range(2, columns):
            total = total + numbers[slopes + n * (k - 1) + i] * numbers[bell + columns * order + k]
        numbers[y + i] = total


@device
def _is_beyond(numbers: Any, time: int, limits: int) -> Any:
    return numbers[time] < numbers[limits] or numbers[time] > numbers[limits + 1]


def trajectory(values: Any, numbers: Any, integers: Any) -> None:
    """A program; integers: offsets of time, pool and output, number of integers in all steps, the steps."""
    pool, y, end = integers[1], integers[2], 4 + integers[3]
    numbers[pool] = values[integers[0]]
    at = 4
    while at < end:
        code = integers[at]
        if code == POLYNOMIAL:
            _polynomial(numbers, pool, integers, at)
            at += 8
        elif code == GUARD:
            time, limits = numbers[pool + integers[at + 1]], pool + integers[at + 2]
            at += 4 + (0 if numbers[limits] <= time < numbers[limits + 1] else integers[at + 3])
        elif code == CLAMP:
            limits = pool + integers[at + 2]
            time = _clamped(numbers[pool + integers[at + 1]], numbers[limits], numbers[limits + 1])
            numbers[pool + integers[at + 3]] = time
            at += 4
        elif code == SPLINE:
            _spline(numbers, pool, integers, at)
            at += 10
        elif code == BERNSTEIN:
            _bernstein(numbers, pool, integers, at)
            at += 8
        elif code == SLERP:
            _slerp(numbers, pool, integers, at)
            at += 7
        elif code == COMPOSE:
            _compose(numbers, pool, integers, at)
            at += 8
        elif code == ZERO_BEYOND:
            if _is_beyond(numbers, pool + integers[at + 1], pool + integers[at + 2]):
                for i in range(integers[at + 4]):
                    numbers[pool + integers[at + 3] + i] = 0.0
            at += 5
        else:  # RESULT
            for i in range(integers[at + 1]):
                values[y + i] = numbers[pool + integers[at + 2] + i]
            at += 3
