"""The operations of LinearTransformDensity: random numbers transformed, and the probability density of the result."""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native.compile import device
from merganser.framework.native.tape import integers_at

__all__ = ["transform", "transformed_density"]

_UNIFORM, _GAUSSIAN = 0, 1  # values of RandomDistribution; else exponential
_ROOT_OF_TWO_PI = math.sqrt(2.0 * math.pi)
_SURELY_INVERTIBLE = 2.0**50  # bound of the condition number; the block refuses 2^52


def transform(values: Any, numbers: Any, integers: Any) -> None:
    """y = A w + b; integers: rows and columns of A, w, A (by columns), y, whether there is a b, its place."""
    rows, columns, w, A, y = integers[0], integers[1], integers[2], integers[3], integers[4]
    has_b, b = integers[5], integers[6]
    for i in range(rows):
        total = values[A + i] * values[w] if columns > 0 else 0.0
        for j in range(1, columns):
            total += values[A + i + rows * j] * values[w + j]
        values[y + i] = total + (values[b + i] if has_b else 0.0)


@device
def _determinant(numbers: Any, A: int, n: int) -> float:
    """Of the matrix that stands by rows at numbers[A:], by elimination with row pivots; the matrix is overwritten."""
    determinant = 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(numbers[A + n * i + k]) > abs(numbers[A + n * best + k]):
                best = i
        if best != k:
            determinant = -determinant
            for j in range(k, n):
                kept = numbers[A + n * k + j]
                numbers[A + n * k + j] = numbers[A + n * best + j]
                numbers[A + n * best + j] = kept
        pivot = numbers[A + n * k + k]
        determinant = determinant * pivot
        if pivot == 0.0:
            return 0.0
        for i in range(k + 1, n):
            factor = numbers[A + n * i + k] / pivot
            for j in range(k + 1, n):
                numbers[A + n * i + j] -= factor * numbers[A + n * k + j]
    return determinant


@device
def _density(distribution: int, w: float) -> float:
    """Of one random number."""
    if distribution == _GAUSSIAN:
        return math.exp(-0.5 * w * w) / _ROOT_OF_TWO_PI
    if distribution == _UNIFORM:
        return 1.0 if 0.0 <= w < 1.0 else 0.0
    return math.exp(-w) if w >= 0.0 else 0.0


def transformed_density(values: Any, numbers: Any, integers: Any) -> None:
    """p(w) / |det A|; integers: failure, distribution, rows of A, w, A (by columns), result, room for A.

    Fails unless A surely has an inverse: its condition number is at most 2 (|A|_F / sqrt n)^n / |det A|
    (Guggenheimer, Edelman, Johnson 1995). Python looks at it more closely.
    """
    distribution, n, w, A, result, room = (
        integers[1], integers[2], integers[3], integers[4], integers[5], integers[6],
    )  # fmt: skip
    squares = 0.0
    for i in range(n):
        for j in range(n):
            element = values[A + i + n * j]
            numbers[room + n * i + j] = element
            squares += element * element
    size = abs(_determinant(numbers, room, n))
    bound = math.inf
    if size > 0.0:
        bound = 2.0 / size
        for _ in range(n):
            bound *= math.sqrt(squares / n)
    if not bound <= _SURELY_INVERTIBLE:
        integers_at(integers[0])[0] = 1
        return
    density = 1.0
    for i in range(n):
        density = density * _density(distribution, values[w + i])
    values[result] = density / size
