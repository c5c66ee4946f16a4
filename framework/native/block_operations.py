"""Operations of single blocks: sparse products, switches, networks and grids."""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native.compile import device
from merganser.framework.native.tape import integers_at

__all__ = ["interpolate", "perceptron", "sparse_product", "switch"]

_IDENTITY, _RELU, _TANH = 0, 1, 2  # PerceptronActivationType


def sparse_product(values: Any, numbers: Any, integers: Any) -> None:
    """y = D u; integers: rows and columns of D, its entries, u, y, then where columns start, then rows of the entries.

    Entries are summed column by column.
    """
    num_rows, num_columns, entries = integers[0], integers[1], integers[2]
    u, y, starts = integers[3], integers[4], 5
    rows = starts + num_columns + 1
    for i in range(num_rows):
        values[y + i] = 0.0
    for j in range(num_columns):
        for k in range(integers[starts + j], integers[starts + j + 1]):
            values[y + integers[rows + k]] += numbers[entries + k] * values[u + j]


def switch(values: Any, numbers: Any, integers: Any) -> None:
    """y = u of the selected port; integers: failure, n, its number's place, y, number of ports, then each and its u."""
    n, selected, y = integers[1], int(values[integers[2]]), integers[3]
    for k in range(integers[4]):
        if integers[5 + 2 * k] == selected:
            for i in range(n):
                values[y + i] = values[integers[6 + 2 * k] + i]
            return
    integers_at(integers[0])[0] = 1


@device
def _layer(values: Any, numbers: Any, weights: int, rows: int, columns: int, x: int, y: int, activation: int) -> None:
    """numbers[y:] = s(W x + b), W standing column by column, then b."""
    bias = weights + rows * columns
    for i in range(rows):
        total = values[weights + i] * numbers[x]
        for j in range(1, columns):
            total += values[weights + i + rows * j] * numbers[x + j]
        total = total + values[bias + i]
        if activation == _TANH:
            total = math.tanh(total)
        elif activation == _RELU and total < 0.0:
            total = 0.0
        numbers[y + i] = total


def perceptron(values: Any, numbers: Any, integers: Any) -> None:
    """Layers of a network.

    Integers: number of inputs, u, y, parameters, number of layers after the input, room for two layers and the size of
    one; for each input whether it is an angle; size of the first layer; for each further layer its size and activation.
    """
    num_inputs, u, y, weights, num_layers = integers[0], integers[1], integers[2], integers[3], integers[4]
    x, room = integers[5], integers[6]
    after = x + room
    place = x
    for i in range(num_inputs):
        if integers[7 + i]:
            numbers[place] = math.sin(values[u + i])
            numbers[place + 1] = math.cos(values[u + i])
            place += 2
        else:
            numbers[place] = values[u + i]
            place += 1
    columns, at = integers[7 + num_inputs], 8 + num_inputs
    for _ in range(num_layers):
        rows = integers[at]
        _layer(values, numbers, weights, rows, columns, x, after, integers[at + 1])
        weights += rows * (columns + 1)
        x, after, columns, at = after, x, rows, at + 2
    for i in range(columns):
        values[y + i] = numbers[x + i]


@device
def _first_not_below(numbers: Any, axis: int, size: int, x: float) -> int:
    """The number of coordinates of an axis that are less than x; all if x is not a number."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if not numbers[axis + middle] >= x:
            low = middle + 1
        else:
            high = middle
    return low


def interpolate(values: Any, numbers: Any, integers: Any) -> None:
    """Values at the points of a grid, interpolated, see BarycentricMesh.

    Integers: number of dimensions, u, y, number of outputs, number of points, table [output, point], room for twice as
    many numbers as dimensions and one more, then for each dimension its number of coordinates, their place and the
    distance of points along it.
    """
    num_dimensions, u, y, num_outputs = integers[0], integers[1], integers[2], integers[3]
    num_points, table, fractions = integers[4], integers[5], integers[6]
    strides = fractions + num_dimensions
    corner, num_steps = 0, 0
    for d in range(num_dimensions):
        size, axis, stride = integers[7 + 3 * d], integers[8 + 3 * d], integers[9 + 3 * d]
        x = values[u + d]
        upper = _first_not_below(numbers, axis, size, x)
        fraction, step = 1.0, 0
        if 0 < upper < size:
            low, high = numbers[axis + upper - 1], numbers[axis + upper]
            fraction, step = (x - low) / (high - low), stride
        elif upper == size:
            upper = size - 1
        corner += upper * stride
        if size > 1:  # sorted in, after those that are equal
            k = num_steps
            while k > 0 and numbers[fractions + k - 1] > fraction:
                numbers[fractions + k] = numbers[fractions + k - 1]
                numbers[strides + k] = numbers[strides + k - 1]
                k -= 1
            numbers[fractions + k] = fraction
            numbers[strides + k] = step
            num_steps += 1
    for i in range(num_outputs):
        point, before, total = corner, 0.0, 0.0
        for k in range(num_steps + 1):
            until = numbers[fractions + k] if k < num_steps else 1.0
            total += numbers[table + num_points * i + point] * (until - before)
            if k < num_steps:
                point -= int(numbers[strides + k])
                before = until
        values[y + i] = total
