"""A height field: terrain given by its heights on a grid."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.kind import Core, ShapeKind
from merganser.geometry.shapes.lines import NOWHERE, Interval
from merganser.geometry.shapes.shape import Shape, length_of
from merganser.geometry.shapes.surfaces import DrawnSurface

Array = NDArray[np.float64]


class HeightField(Shape):
    """Terrain: solid below heights on a grid, which need not be convex, down to a flat bottom.

    The grid lies in the xy plane of G, centered on Go, and heights are along Gz. Each cell is two triangles, which its
    diagonal from the corner of least x and y divides. Bodies touch the true surface: its triangles, ridges and peaks.
    All contact is with what is outside, so that a body that was put below the surface is pushed up.

    Args:
        heights: z of the grid's points [m], shape [rows, columns], two of each at least; rows are along Gy, columns
            along Gx, and heights[0, 0] is at the least x and y. Copied.
        width: extent along Gx [m], from the first column to the last one.
        depth: extent along Gy [m], from the first row to the last one.
        base: how far the solid goes down below its lowest point [m].

    Raises:
        ValueError: the heights are no table of two rows and two columns or more, or one is not finite.
        TypeError: a length is not a number.
        RuntimeError: a length is not finite and positive.
    """

    __slots__ = ("_heights", "_measures")
    _heights: Array
    _measures: tuple[float, float, float]

    def __init__(self, heights: ArrayLike, width: float, depth: float, base: float = 1.0) -> None:
        table = np.array(heights, dtype=np.float64)
        if table.ndim != 2 or min(table.shape) < 2:
            raise ValueError(
                f"The heights of a HeightField must have shape [rows, columns], two of each or more; given shape "
                f"{list(table.shape)}."
            )
        if not np.isfinite(table).all():
            row, column = np.argwhere(~np.isfinite(table))[0].tolist()
            raise ValueError(
                f"The heights of a HeightField must be finite; that in row {row}, column {column} is "
                f"{table[row, column]}."
            )
        table.setflags(write=False)
        self._heights = table
        lengths = [length_of("HeightField", *named) for named in (("width", width), ("depth", depth), ("base", base))]
        for name, length in zip(("width", "depth", "base"), lengths):
            if not (math.isfinite(length) and length > 0.0):
                raise RuntimeError(f"The {name} of a HeightField must be finite and positive; given {length}.")
        self._measures = lengths[0], lengths[1], lengths[2]

    def heights(self) -> Array:
        """Heights of the grid's points [m], shape [rows, columns], for reading only."""
        return self._heights

    def width(self) -> float:
        """Extent along Gx [m]."""
        return self._measures[0]

    def depth(self) -> float:
        """Extent along Gy [m]."""
        return self._measures[1]

    def base(self) -> float:
        """How far the solid goes down below its lowest point [m]."""
        return self._measures[2]

    def bottom(self) -> float:
        """z of the bottom [m]."""
        return float(self._heights.min()) - self.base()

    def spacing(self) -> tuple[float, float]:
        """Extent of a cell along Gx and Gy [m]."""
        rows, columns = self._heights.shape
        return self.width() / (columns - 1), self.depth() / (rows - 1)

    def CalcHeight(self, x: float, y: float) -> float:
        """Returns z of the surface at a place in G [m].

        Raises:
            ValueError: the place is not on the field.
        """
        (dx, dy), (rows, columns) = self.spacing(), self._heights.shape
        u, v = (x + 0.5 * self.width()) / dx, (y + 0.5 * self.depth()) / dy
        if not (0.0 <= u <= columns - 1 and 0.0 <= v <= rows - 1):
            raise ValueError(f"CalcHeight(): ({x}, {y}) is not on a field of {self.width()} m by {self.depth()} m.")
        i, j = min(int(v), rows - 2), min(int(u), columns - 2)
        u, v = u - j, v - i
        (a, b), (d, c) = self._heights[i : i + 2, j : j + 2].tolist()
        return float(a + u * (b - a) + v * (c - b) if u >= v else a + v * (d - a) + u * (c - d))

    def _arguments(self) -> dict[str, Any]:
        width, depth, base = self._measures
        return {"heights": self._heights, "width": width, "depth": depth, "base": base}

    def _digest(self) -> bytes:
        return self._remember("digest", lambda: hashlib.sha256(self._heights.tobytes()).digest())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self._measures, self._heights.shape, self._digest()) == (
            other._measures, other._heights.shape, other._digest(),
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((type(self), self._measures, self._heights.shape, self._digest()))

    def __repr__(self) -> str:
        rows, columns = self._heights.shape
        lengths = ", ".join(f"{name}={value}" for name, value in zip(("width", "depth", "base"), self._measures))
        return f"HeightField(heights=<{rows} x {columns}>, {lengths})"

    def _core(self) -> Core:
        low, high = self.bottom(), float(self._heights.max())
        half = np.array([0.5 * self.width(), 0.5 * self.depth(), 0.5 * (high - low)])
        size = (*self.spacing(), low)
        return Core("height field", half, size, (0.0, 0.0, 0.5 * (low + high)), table=self._heights)

    def _volume(self) -> float:
        """A prism under each triangle has the mean of the heights of its corners."""
        h, (dx, dy) = self._heights - self.bottom(), self.spacing()
        corners = h[:-1, :-1] + h[1:, 1:]  # of both triangles
        return float(dx * dy / 6.0 * (2.0 * corners + h[:-1, 1:] + h[1:, :-1]).sum())

    def _points(self) -> Array:
        """Those of the grid, shape [rows, columns, 3]."""
        (rows, columns), (dx, dy) = self._heights.shape, self.spacing()
        x, y = dx * np.arange(columns) - 0.5 * self.width(), dy * np.arange(rows) - 0.5 * self.depth()
        return np.stack([*np.broadcast_arrays(x[None, :], y[:, None]), self._heights], axis=2)

    def _closed_surface(self) -> tuple[Array, NDArray[np.int64]]:
        """Top, sides and bottom: vertices, and triangles by index."""
        (rows, columns), points = self._heights.shape, self._points().reshape(-1, 3)
        index = np.arange(rows * columns).reshape(rows, columns)
        # Around the edge, counter-clockwise from above, with a point on the bottom below each.
        rim = np.concatenate([index[0, :-1], index[:-1, -1], index[-1, :0:-1], index[:0:-1, 0]])
        below = points[rim] * [1.0, 1.0, 0.0] + [0.0, 0.0, self.bottom()]
        lower = rows * columns + np.arange(len(rim))
        upper_next, lower_next = np.roll(rim, -1), np.roll(lower, -1)
        middle = np.full(len(rim), lower[-1] + 1)  # of the bottom
        faces = [
            _top(index), np.column_stack([rim, lower, lower_next]), np.column_stack([rim, lower_next, upper_next]),
            np.column_stack([middle, lower_next, lower]),
        ]  # fmt: skip
        return np.vstack([points, below, [[0.0, 0.0, self.bottom()]]]), np.vstack(faces)

    def _known_surface(self) -> tuple[Array, NDArray[np.int64]]:
        return self._remember("triangles", self._closed_surface)

    def _drawn(self) -> DrawnSurface:
        """Flat triangles, as contact has them."""
        vertices, triangles = self._known_surface()
        return DrawnSurface(vertices.astype(np.float32), triangles)

    def _first_hit(self, o: Array, d: Array) -> Interval:
        """Where a ray hits the surface first: of the cells that it passes, those whose heights it comes between."""
        from merganser.geometry.shapes.lines import first_hit

        t = first_hit(self._points(), self.bottom(), o, d)
        return (t, t) if t < math.inf else NOWHERE

    kind = ShapeKind(
        core=lambda shape: shape._core(),
        triangles=lambda shape: shape._known_surface(),
        volume=lambda shape: shape._volume(),
        interval=lambda shape, o, d: shape._first_hit(o, d),
        surface=lambda shape: shape._drawn(),
    )


def _top(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """The triangles of the cells, two after each other, counter-clockwise from above."""
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    return np.stack([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)], axis=2).reshape(-1, 3)
