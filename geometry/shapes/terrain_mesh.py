"""A mesh as terrain: its triangles, which need not be convex."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes.mesh_source import InMemoryMesh
from merganser.geometry.shapes.from_file import Mesh
from merganser.geometry.shapes.kind import Core, ShapeKind
from merganser.geometry.shapes.shape import Shape
from merganser.geometry.shapes.surfaces import DrawnSurface

Array = NDArray[np.float64]


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
