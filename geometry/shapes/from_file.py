"""Shapes whose vertices are in files, or given as points: Mesh and Convex."""

from __future__ import annotations

import functools
import math
import os
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.meshes import (
    PolygonSurfaceMesh,
    convex_hull,
    kept_hull,
    read_surface_mesh,
    read_vertices,
    read_volume_mesh,
)
from merganser.geometry.meshes.mesh_source import InMemoryMesh, MemoryFile, MeshSource
from merganser.geometry.shapes.shape import Shape, ShapeKind

_MIN_MESH_SCALE = 1e-8
_MOST_HULLS = 256  # that are kept


def _hull_of_file(source: MeshSource, scale3: tuple[float, ...], stamp: Any) -> PolygonSurfaceMesh:
    """The hull of what is in a file; shared by other shapes while the file's stamp is the same."""
    if stamp is not None:
        return _kept_hull(source, scale3, stamp)

    def vertices() -> NDArray[Any]:
        return read_vertices(source) * scale3

    if source.extension() != ".obj":  # which is alone with its vertices; others may be in several files
        return convex_hull(vertices(), source.description())
    contents = repr(scale3).encode() + source.read()
    return kept_hull(contents, lambda: convex_hull(vertices(), source.description()))


@functools.lru_cache(maxsize=_MOST_HULLS)
def _kept_hull(source: MeshSource, scale3: tuple[float, ...], stamp: Any) -> PolygonSurfaceMesh:
    return _hull_of_file(source, scale3, None)


class FromFile(Shape):
    """What Mesh and Convex have in common: a file, on disk or in memory, and a scale along each axis."""

    __slots__ = ("_scale3", "_source")

    def __init__(
        self,
        filename: str | os.PathLike[str] | MeshSource | InMemoryMesh | None = None,
        scale: ArrayLike = 1.0,
        *,
        scale3: ArrayLike | None = None,
        source: MeshSource | None = None,
        mesh_data: InMemoryMesh | None = None,
    ) -> None:
        shape = type(self).__name__
        given = [where for where in (filename, source, mesh_data) if where is not None]
        if len(given) != 1 or not isinstance(given[0], (str, os.PathLike, MeshSource, InMemoryMesh)):
            raise TypeError(f"{shape} takes a file name, an InMemoryMesh or a MeshSource; given {given}.")
        self._source = MeshSource(given[0])
        self._scale3 = _mesh_scale(shape, self._source, scale if scale3 is None else scale3)
        self._known: dict[str, Any] = {}

    def GetConvexHull(self) -> PolygonSurfaceMesh:
        """Returns the convex hull of all vertices in the file, scaled, in G; computed when it is first asked for.

        If all vertices lie in a plane, it is a pyramid without volume.

        Raises:
            RuntimeError: the file cannot be read, or has fewer than three vertices, or all lie on a line.
            ImportError: its format needs trimesh, which is missing.
        """
        return self._remember("hull", lambda: _hull_of_file(self._source, self._scale3, self._source.stamp()))

    def source(self) -> MeshSource:
        """Where the mesh comes from."""
        return self._source

    def extension(self) -> str:
        """The file's extension in lower case, with its dot: '.obj'."""
        return self._source.extension()

    def scale3(self) -> NDArray[np.float64]:
        """The scale along Gx, Gy and Gz, shape [3]."""
        return np.array(self._scale3)

    def scale(self) -> float:
        """The scale along all axes.

        Raises:
            RuntimeError: the scale is not the same along all axes.
        """
        if len(set(self._scale3)) > 1:
            shape = type(self).__name__
            given = f"this one has {list(self._scale3)}"
            raise RuntimeError(f"{shape}.scale() is for one scale along all axes; {given}. Use scale3() instead.")
        return self._scale3[0]

    def _arguments(self) -> dict[str, Any]:
        if self._source.is_path():
            return {"filename": str(self._source.path()), "scale3": list(self._scale3)}
        return {"mesh_data": self._source.in_memory(), "scale3": list(self._scale3)}

    def __hash__(self) -> int:
        return hash((type(self), self._source, self._scale3))


def _triangles(shape: Mesh) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    mesh = read_surface_mesh(shape.source())
    return mesh.vertex_array() * shape.scale3(), mesh.triangle_array()


def _volume(shape: Mesh) -> float:
    scale = float(shape.scale3().prod())
    if shape.extension() == ".vtk":
        return read_volume_mesh(shape.source()).CalcVolume() * abs(scale)
    mesh = read_surface_mesh(shape.source())
    return float(np.linalg.det(mesh.vertex_array()[mesh.triangle_array()]).sum() / 6.0) * abs(scale)


class Mesh(FromFile):
    """The surface in a mesh file, scaled about the origin of the file's frame, which becomes Go.

    Args:
        filename: file name; made absolute now. The file is not opened here. Or an InMemoryMesh, or a MeshSource.
        scale: scale along all axes; may be negative, which mirrors.
        scale3: scale along each axis instead, shape [3].
        source: a MeshSource, by name.
        mesh_data: an InMemoryMesh, by name.

    Raises:
        RuntimeError: a scale is not finite, or smaller in size than 1e-8; the file name is empty.
    """

    __slots__ = ()
    kind = ShapeKind(hull=lambda shape: shape.GetConvexHull(), triangles=_triangles, volume=_volume)


class Convex(FromFile):
    """The convex hull of the vertices in a mesh file or of points, scaled about the origin of their frame.

    Args:
        filename: file name; made absolute now. The file is not opened here. Or an InMemoryMesh, or a MeshSource. Or
            points, and then the label stands second: `Convex(points, label, scale)`.
        scale: scale along all axes; may be negative, which mirrors.
        scale3: scale along each axis instead, shape [3].
        source: a MeshSource, by name.
        mesh_data: an InMemoryMesh, by name.
        points: positions of points in G [m], shape [3, n].
        label: what messages call the points; one line.

    Raises:
        RuntimeError: a scale is not finite, or smaller in size than 1e-8; the file name is empty; the label has
            several lines.
        ValueError: the points have another shape.
    """

    __slots__ = ()
    kind = ShapeKind(hull=lambda shape: shape.GetConvexHull())

    @overload
    def __init__(
        self, filename: str | os.PathLike[str] | MeshSource | InMemoryMesh, scale: ArrayLike = 1.0
    ) -> None: ...
    @overload
    def __init__(self, filename: str | os.PathLike[str] | MeshSource | InMemoryMesh, *, scale3: ArrayLike) -> None: ...
    @overload
    def __init__(self, points: NDArray[np.float64], label: str, scale: ArrayLike = 1.0) -> None: ...
    @overload
    def __init__(self, *, mesh_data: InMemoryMesh, scale: ArrayLike = 1.0, scale3: ArrayLike | None = None) -> None: ...
    @overload
    def __init__(self, *, source: MeshSource, scale: ArrayLike = 1.0, scale3: ArrayLike | None = None) -> None: ...
    @overload
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "points" not in kwargs and not isinstance(args[0] if args else None, (np.ndarray, list, tuple)):
            super().__init__(*args, **kwargs)
        else:
            self._init_from_points(*args, **kwargs)

    def _init_from_points(
        self, points: ArrayLike, label: str, scale: ArrayLike = 1.0, *, scale3: ArrayLike | None = None
    ) -> None:
        p_GP = np.array(points, dtype=np.float64)
        if p_GP.ndim != 2 or p_GP.shape[0] != 3:
            raise ValueError(f"The points of Convex '{label}' must have shape [3, n]; given {p_GP.shape}.")
        lines = "".join("v {!r} {!r} {!r}\n".format(*p) for p in p_GP.T.tolist())
        super().__init__(InMemoryMesh(mesh_file=MemoryFile(lines, ".obj", label)), scale, scale3=scale3)


def _mesh_scale(shape: str, source: MeshSource, scale: Any) -> tuple[float, ...]:
    """The scale along each axis, given one number for all or a vector of three."""
    values = np.asarray(scale, dtype=np.float64)
    if values.ndim and values.size != 3:
        raise ValueError(f"{shape} takes one scale or three; given {values.size} for '{source.description()}'.")
    scale3 = tuple(float(s) for s in np.broadcast_to(values.ravel(), 3))
    if not all(math.isfinite(s) and abs(s) >= _MIN_MESH_SCALE for s in scale3):
        bounds = f"finite and at least {_MIN_MESH_SCALE} in size along each axis"
        raise RuntimeError(f"The scale of {shape} '{source.description()}' must be {bounds}; given {list(scale3)}.")
    return scale3
