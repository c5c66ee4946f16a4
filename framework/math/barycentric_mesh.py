"""BarycentricMesh: functions of several variables, interpolated between the points of a grid.

R. Munos and A. Moore, 1998, "Barycentric Interpolators for Continuous Space and Time Reinforcement Learning", NIPS 11:
each cell of the grid is cut into simplices by the order of the relative coordinates in it, and a function is linear on
each simplex.
"""

from __future__ import annotations

__all__ = ["BarycentricMesh"]

from collections.abc import Callable, Iterable, Sequence

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

    def get_input_grid(self) -> list[set[float]]:
        """The coordinates of the grid, for each dimension."""
        return [set(axis.tolist()) for axis in self._grid]

    def get_input_size(self) -> int:
        """Number of dimensions n."""
        return len(self._grid)

    def _axes(self) -> list[tuple[Array, int]]:
        """For each dimension, its coordinates in ascending order and how far apart points along it are numbered."""
        return [(axis, int(stride)) for axis, stride in zip(self._grid, self._strides)]

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
        corner, steps = 0, []
        for axis, stride, x in zip(self._grid, self._strides, point):
            upper, fraction, has_lower = _place_on_axis(axis, x)
            corner += upper * int(stride)
            if axis.size > 1:
                steps.append((fraction, int(stride) if has_lower else 0))
        # From the upper corner of the cell to the lower one, first along the coordinate that is nearest to its lower
        # end; each step takes its share of the weight.
        steps.sort(key=lambda step: step[0])
        indices = corner - np.cumsum([0, *(stride for _, stride in steps)])
        weights = np.diff([0.0, *(fraction for fraction, _ in steps), 1.0])
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


def _place_on_axis(axis: Array, x: float) -> tuple[int, float, bool]:
    """The upper end of the interval around x, where x is in it (0 ... 1), and whether there is a lower end."""
    upper = int(np.searchsorted(axis, x))
    if upper in (0, axis.size):
        return min(upper, axis.size - 1), 1.0, False
    low, high = axis[upper - 1], axis[upper]
    return upper, float((x - low) / (high - low)), True
