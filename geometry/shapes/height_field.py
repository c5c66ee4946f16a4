"""Ground: a half space, and terrain, which need not be convex, as heights on a grid and as triangles."""

from __future__ import annotations

import hashlib
import math
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.meshes.mesh_source import InMemoryMesh
from merganser.geometry.shapes.from_file import Mesh
from merganser.geometry.shapes.shape import NOWHERE, Core, Interval, Shape, ShapeKind, length_of
from merganser.geometry.shapes.surfaces import DrawnSurface, ThreeShape, corners, grid

Array = NDArray[np.float64]
_MIN_NORMAL_LENGTH = 1e-10
_SIZE = 100.0  # of the square that images show for it [m]
_DRAWN = 50.0  # of the one that browsers show [m]


def _surface() -> DrawnSurface:
    half = 0.5 * _SIZE
    square = np.array([[[x, y, 0.0] for x in (-half, half)] for y in (-half, half)])
    uvs = np.array([[[u, v] for v in (1.0, 0.0)] for u in (0.0, 1.0)])
    return grid(square, np.broadcast_to([0.0, 0.0, 1.0], square.shape), uvs)


def _three() -> ThreeShape:
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}  # the grid lies in it
    return ThreeShape({"type": "PlaneGeometry", "width": _DRAWN, "height": _DRAWN}, None, behind)


class HalfSpace(Shape):
    """Everything below the plane z = 0 of G; the surface normal is Gz."""

    __slots__ = ()
    kind = ShapeKind(
        core=lambda shape: Core("half space", bound=math.inf),
        volume=lambda shape: math.inf,
        interval=lambda shape, o, d: (-o[2] / d[2], math.inf) if d[2] < 0.0 else NOWHERE,
        outline=lambda shape: corners(100.0, 100.0, 1.0) - [0.0, 0.0, 0.5],
        surface=lambda shape: _surface(),
        three=lambda shape: _three(),
    )

    @staticmethod
    def MakePose(Hz_dir_F: ArrayLike, p_FB: ArrayLike) -> RigidTransform:
        """Returns the pose X_FH of a half space H, given its surface normal and a point B on its surface.

        Ho is the point of the surface that is nearest to Fo; Hx and Hy are any two directions in the plane.

        Args:
            Hz_dir_F: direction of the surface normal, in F, of any length; shape [3].
            p_FB: position of any point of the surface, in F [m]; shape [3].

        Raises:
            RuntimeError: the normal is shorter than 1e-10.
        """
        normal = np.asarray(Hz_dir_F, dtype=np.float64).reshape(3)
        length = float(np.linalg.norm(normal))
        if not length >= _MIN_NORMAL_LENGTH:
            message = f"a surface normal of length {_MIN_NORMAL_LENGTH} or more; given {normal.tolist()}"
            raise RuntimeError(f"HalfSpace.MakePose() needs {message}.")
        Hz_F = normal / length
        p_FHo = (Hz_F @ np.asarray(p_FB, dtype=np.float64).reshape(3)) * Hz_F
        half_turn = RotationMatrix(np.diag([-1.0, -1.0, 1.0]))  # Hx as Drake chooses it
        return RigidTransform(RotationMatrix.MakeFromOneVector(Hz_F, 2) @ half_turn, p_FHo)

    def _arguments(self) -> dict[str, Any]:
        return {}


# ---------------------------------------------------------------------- heights on a grid


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
        from merganser.geometry.shapes.shape import first_hit

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


# ---------------------------------------------------------------------- triangles of a mesh


class TerrainMesh(Shape):
    """Terrain: the triangles of a mesh, such as stairs, rubble or a room, which need not be convex.

    Bodies touch the true surface, its triangles, convex edges and peaks, where a `Mesh` is touched at its convex hull.
    Edges between triangles in one plane are not felt. Of a closed mesh the inside is solid. One that is not closed is a
    sheet, whose front is where its triangles are counter-clockwise; it pushes what crosses it to the front, and does
    not hold bodies that have passed it as a whole between two steps.

    Args:
        vertices: positions in G [m], shape [num_vertices, 3]. Copied.
        triangles: vertices of each triangle, counter-clockwise seen from outside, shape [num_triangles, 3]. Copied.

    Raises:
        ValueError: arrays have other shapes, a coordinate is not finite, a vertex is missing, or no triangle has an
            area.
    """

    __slots__ = ("_triangles", "_vertices")
    _vertices: Array
    _triangles: NDArray[np.int64]

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike) -> None:
        points, corners = np.array(vertices, np.float64), np.array(triangles, np.int64)
        for name, table in (("vertices", points), ("triangles", corners)):
            if table.ndim != 2 or table.shape[1] != 3:
                found = list(table.shape)
                raise ValueError(f"The {name} of a TerrainMesh must have shape [n, 3]; given shape {found}.")
        if not np.isfinite(points).all():
            row = int(np.argmin(np.isfinite(points).all(axis=1)))
            raise ValueError(f"The vertices of a TerrainMesh must be finite; vertex {row} is {points[row].tolist()}.")
        if corners.size and not 0 <= corners.min() <= corners.max() < len(points):
            row = int(np.argmax(((corners < 0) | (corners >= len(points))).any(axis=1)))
            raise ValueError(
                f"Triangle {row} of a TerrainMesh has the vertices {corners[row].tolist()}, but there are "
                f"{len(points)}."
            )
        a, b, c = (points[corners[:, k]] for k in range(3))
        if not np.any(np.cross(b - a, c - a)):
            raise ValueError(f"None of the {len(corners)} triangles of a TerrainMesh has an area.")
        for table in (points, corners):
            table.setflags(write=False)
        self._vertices, self._triangles = points, corners

    @classmethod
    def FromFile(cls, filename: str | os.PathLike[str] | InMemoryMesh, scale: ArrayLike = 1.0) -> TerrainMesh:
        """Returns the terrain of a mesh file.

        Args:
            filename: of a format that `Mesh` reads; or an InMemoryMesh.
            scale: one number, or one along each axis. Factors below zero mirror the mesh; its outside stays outside.

        Raises:
            RuntimeError: the file cannot be read.
            ValueError: as for the constructor.
        """
        factors = np.broadcast_to(np.asarray(scale, float), 3)
        mesh = Mesh(filename, scale3=factors)
        assert Mesh.kind.triangles is not None
        vertices, triangles = Mesh.kind.triangles(mesh)
        return cls(vertices, triangles[:, ::-1] if factors.prod() < 0.0 else triangles)

    def vertices(self) -> Array:
        """Positions of the vertices [m], shape [num_vertices, 3], for reading only."""
        return self._vertices

    def triangles(self) -> NDArray[np.int64]:
        """Vertices of each triangle, shape [num_triangles, 3], for reading only."""
        return self._triangles

    def _arguments(self) -> dict[str, Any]:
        return {"vertices": self._vertices, "triangles": self._triangles}

    def _digest(self) -> bytes:
        def calc() -> bytes:
            return hashlib.sha256(self._vertices.tobytes() + self._triangles.tobytes()).digest()

        return self._remember("digest", calc)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._vertices.shape == other._vertices.shape and self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash((type(self), self._vertices.shape, self._digest()))

    def __repr__(self) -> str:
        return f"TerrainMesh(<{len(self._vertices)} vertices>, <{len(self._triangles)} triangles>)"

    def _core(self) -> Core:
        low, high = self._vertices.min(axis=0), self._vertices.max(axis=0)
        return Core("terrain mesh", 0.5 * (high - low), center=0.5 * (low + high), mesh=self._known_surface())

    def _known_surface(self) -> tuple[Array, NDArray[np.int64]]:
        return self._vertices, self._triangles

    def _drawn(self) -> DrawnSurface:
        """Flat triangles, as contact has them."""
        return DrawnSurface(self._vertices.astype(np.float32), self._triangles)

    kind = ShapeKind(
        core=lambda shape: shape._core(),
        triangles=lambda shape: shape._known_surface(),
        surface=lambda shape: shape._drawn(),
    )
