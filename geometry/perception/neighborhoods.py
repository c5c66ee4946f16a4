"""Points that are near each other: means over the cells of a grid, and planes through neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_CHUNK = 1 << 16  # points whose neighbors are gathered at a time: some 30 MB for 20 neighbors


class Cells:
    """The cells of a grid in which points lie; each cell [i, i + 1) x [j, j + 1) x [k, k + 1) times its size.

    Args:
        points: positions, shape [n, 3]; those that are not finite lie in no cell.
        size: length of the edges of a cell.
    """

    def __init__(self, points: Array, size: float) -> None:
        self._inside = np.flatnonzero(np.isfinite(points).all(axis=1))
        cells = np.floor(points[self._inside].astype(np.float64) / size)
        occupied, cell = np.unique(cells, axis=0, return_inverse=True)
        self._cell = cell.reshape(-1)
        self._num_cells = len(occupied)

    def mean(self, values: Array) -> Array:
        """The mean of the finite values in each cell; NaN in cells without any.

        Args:
            values: one row for each point, shape [n, 3].

        Returns:
            One row for each cell that has a point, in the order of i, j, k, shape [num_cells, 3].
        """
        rows = values[self._inside].astype(np.float64)
        finite = np.isfinite(rows).all(axis=1)
        cell, rows = self._cell[finite], rows[finite]
        sums = [np.bincount(cell, rows[:, axis], minlength=self._num_cells) for axis in range(rows.shape[1])]
        counts = np.bincount(cell, minlength=self._num_cells)
        with np.errstate(invalid="ignore"):
            return np.stack(sums, axis=1) / counts[:, None]


def normals_of_neighbors(points: Array, radius: float, num_closest: int) -> tuple[Array, Array]:
    """Fits a plane to each point Q and its nearest neighbors.

    The normal is the direction in which the neighbors scatter least: the eigenvector of the least eigenvalue of

        sum of (p_MQ)(p_MQ)^T over neighbors Q, with M their mean.                              (1)

    Args:
        points: positions, shape [n, 3]; those that are not finite have no neighbors.
        radius: neighbors are not farther away than this.
        num_closest: how many neighbors count, at most, the point itself among them.

    Returns:
        The normals, shape [n, 3], of any sign, NaN where there are fewer than two neighbors; and how many neighbors
        there are, shape [n].
    """
    from scipy.spatial import cKDTree

    normals, counts = np.full(points.shape, np.nan), np.zeros(len(points), dtype=np.int64)
    finite = np.flatnonzero(np.isfinite(points).all(axis=1))
    if finite.size == 0:
        return normals, counts
    known = points[finite].astype(np.float64)
    tree = cKDTree(known)
    for start in range(0, len(known), _CHUNK):
        rows = finite[start : start + _CHUNK]
        _, neighbors = tree.query(
            known[start : start + _CHUNK],
            k=min(num_closest, len(known)),
            distance_upper_bound=np.nextafter(radius, np.inf),  # it is less than that
        )
        neighbors = neighbors.reshape(len(rows), -1)
        is_neighbor = neighbors < len(known)
        counts[rows] = is_neighbor.sum(axis=1)
        p_Q = known[np.where(is_neighbor, neighbors, 0)]
        weight = is_neighbor[:, :, None]
        p_MQ = np.where(weight, p_Q - (p_Q * weight).sum(axis=1, keepdims=True) / counts[rows][:, None, None], 0.0)
        _, directions = np.linalg.eigh(np.swapaxes(p_MQ, 1, 2) @ p_MQ)  # (1)
        normals[rows] = np.where(counts[rows][:, None] < 2, np.nan, directions[:, :, 0])
    return normals, counts
