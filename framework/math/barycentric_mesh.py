"""BarycentricMesh: functions of several variables, interpolated between the points of a grid.

R. Munos and A. Moore, 1998, "Barycentric Interpolators for Continuous Space and Time Reinforcement Learning", NIPS 11:
each cell of the grid is cut into simplices by the order of the relative coordinates in it, and a function is linear on
each simplex.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math._scalars import Array


class BarycentricMesh:
    """A grid in n dimensions, whose points are numbered with the first coordinate running fastest.

    Args:
        input_grid: for each dimension, the coordinates of the grid, at least one.

    Raises:
        ValueError: there is no dimension, or one without coordinates.
    """

    def __init__(self, input_grid: Sequence[Iterable[float]]) -> None:
        self._grid = [np.array(sorted({float(value) for value in axis})) for axis in input_grid]
        if not self._grid or any(axis.size == 0 or np.isnan(axis).any() for axis in self._grid):
            raise ValueError("BarycentricMesh: input_grid needs at least one dimension, and numbers in each.")
        self._strides = np.cumprod([1, *(axis.size for axis in self._grid)])
        ends: list[int] = np.cumsum([axis.size for axis in self._grid]).tolist()
        self._axes = [x for axis in self._grid for x in axis.tolist()], ends, self._strides[:-1].tolist()

    def get_input_grid(self) -> list[set[float]]:
        """The coordinates of the grid, for each dimension."""
        return [set(axis.tolist()) for axis in self._grid]

    def get_input_size(self) -> int:
        """Number of dimensions n."""
        return len(self._grid)

    def axes(self) -> tuple[list[float], list[int], list[int]]:
        """The coordinates of all dimensions, where those of each end, and how far apart points along each are."""
        return self._axes

    def get_num_mesh_points(self) -> int:
        """Number of points of the grid."""
        return int(self._strides[-1])

    def get_num_interpolants(self) -> int:
        """Number of points that each interpolation uses: one, and one for each dimension with several coordinates."""
        return 1 + sum(axis.size > 1 for axis in self._grid)

    def get_mesh_point(self, index: int) -> Array:
        """The coordinates of a point of the grid, shape [n].

        Raises:
            IndexError: there is no such point.
        """
        if not 0 <= index < self.get_num_mesh_points():
            raise IndexError(f"BarycentricMesh: there is no point {index}: there are {self.get_num_mesh_points()}.")
        return np.array([axis[index // stride % axis.size] for axis, stride in zip(self._grid, self._strides)])

    def get_all_mesh_points(self) -> Array:
        """The coordinates of all points, shape [n, number of points]."""
        return np.array([self.get_mesh_point(index) for index in range(self.get_num_mesh_points())]).T

    def EvalBarycentricWeights(self, input: npt.ArrayLike) -> tuple[Array, Array]:
        """The points that surround `input`, shape [n], and the weight of each; weights add up to one.

        An input outside of the grid counts as the nearest one on its boundary.

        Returns:
            Numbers of points and weights, both of shape [number of interpolants].

        Raises:
            ValueError: `input` has another size.
        """
        point = np.asarray(input, dtype=np.float64).reshape(-1)
        if point.size != len(self._grid):
            raise ValueError(f"BarycentricMesh: expected an input of {len(self._grid)} elements, got {point.size}.")
        found = [0.0] * (2 * self.get_num_interpolants())
        find_points(point.tolist(), *self._axes, found)
        indices, weights = np.array(found).reshape(2, -1)
        return indices.astype(np.int32), weights

    def Eval(self, mesh_values: npt.ArrayLike, input: npt.ArrayLike) -> Array:
        """The interpolated value at `input`, shape [m].

        Args:
            mesh_values: values at all points of the grid, shape [m, number of points].
            input: shape [n].

        Raises:
            ValueError: there is not one column for each point, or `input` has another size.
        """
        values = np.asarray(mesh_values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.get_num_mesh_points():
            raise ValueError(
                f"BarycentricMesh.Eval: expected mesh_values with {self.get_num_mesh_points()} columns, got shape "
                f"{values.shape}."
            )
        indices, weights = self.EvalBarycentricWeights(input)
        # Summed from left to right, as compiled code does it.
        return np.add.accumulate(values[:, indices] * weights, axis=1)[:, -1]

    def MeshValuesFrom(self, vector_func: Callable[[Array], npt.ArrayLike]) -> Array:
        """The values of a function at all points, shape [m, number of points], as `Eval` takes them."""
        values = [np.reshape(vector_func(point), -1) for point in self.get_all_mesh_points().T]
        return np.array(values, dtype=np.float64).T


def find_points(x: Any, coordinates: Any, ends: Any, strides: Any, found: Any) -> None:
    """Finds the points of a grid that surround a point, and their weights, which add up to one.

    Complex numbers (derivatives by the complex step) are compared by their real parts.

    Args:
        x: the point, shape [n].
        coordinates: the coordinates of the grid in each dimension, one dimension after the other, each ascending.
        ends: where in them those of each dimension end, shape [n].
        strides: how far apart points along each dimension are numbered, shape [n].
        found: filled with the numbers of the points, then with their weights, shape [2 k].
    """
    k, corner, num_steps, start = len(found) // 2, 0, 0, 0
    for d in range(len(x)):
        end, stride = ends[d], strides[d]
        upper = first_not_below(x[d].real, coordinates, start, end)
        fraction, step = 1.0, 0
        if start < upper < end:
            low, high = coordinates[upper - 1], coordinates[upper]
            fraction, step = (x[d] - low) / (high - low), stride
        elif upper == end:
            upper = end - 1
        corner += (upper - start) * stride
        if end - start > 1:  # sorted in, after those that are equal
            at = num_steps
            while at > 0 and found[k + at - 1].real > fraction.real:
                found[at], found[k + at] = found[at - 1], found[k + at - 1]
                at -= 1
            found[at], found[k + at] = step, fraction
            num_steps += 1
        start = end
    # From the upper corner of the cell to the lower one, first along the coordinate that is nearest to its lower end;
    # each step takes its share of the weight.
    before = 0.0
    for i in range(k):
        is_last = i == num_steps
        step, until = 0 if is_last else int(found[i].real), 1.0 if is_last else found[k + i]
        found[i], found[k + i] = corner, until - before
        corner, before = corner - step, until


def first_not_below(x: float, coordinates: Any, low: int, high: int) -> int:
    """The first of the coordinates from `low` to `high` that is not less than x; `high` if x is not a number."""
    while low < high:
        middle = (low + high) // 2
        if coordinates[middle] >= x:
            high = middle
        else:
            low = middle + 1
    return low
