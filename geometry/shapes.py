"""Shapes: what a geometry looks like in its own frame G. All lengths in meters.

A shape never changes once it is made, so that it may be shared; it equals any shape of the same type with the
same measures. Primitives are centered on Go unless their description says otherwise.
"""

from __future__ import annotations

import abc
import functools
import math
import os
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars.scalars import number_text
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.memory_file import MemoryFile
from merganser.geometry.mesh_source import InMemoryMesh, MeshSource
from merganser.geometry.meshes import PolygonSurfaceMesh, convex_hull, read_vertices

__all__ = [
    "Box",
    "Capsule",
    "Convex",
    "Cylinder",
    "Ellipsoid",
    "HalfSpace",
    "Mesh",
    "MeshcatCone",
    "Shape",
    "Sphere",
]

Result = TypeVar("Result")

_MIN_MESH_SCALE = 1e-8
_MOST_HULLS = 256  # that are kept
_MIN_NORMAL_LENGTH = 1e-10


class Shape(abc.ABC):
    """Base of all shapes."""

    _never_changes = True  # copies of a system share it

    __slots__ = ()

    def Clone(self) -> Self:
        """Returns a shape like this one: itself, since shapes do not change."""
        return self

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """The constructor arguments, by name, that make an equal shape; all values are hashable."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash((type(self), *self._arguments().values()))

    def __repr__(self) -> str:
        arguments = (f"{name}={_text(value)}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({', '.join(arguments)})"


def _text(argument: Any) -> str:
    return number_text(argument) if isinstance(argument, float) else repr(argument)


class _Primitive(Shape):
    """A shape described by a few lengths, given one by one or as one vector."""

    __slots__ = ("_measures",)
    _names: ClassVar[tuple[str, ...]]
    _measures: tuple[float, ...]

    def _read(self, given: tuple[Any, ...], measures: ArrayLike | None) -> None:
        """Takes the lengths from the arguments given one by one or from a vector of all of them.

        Raises:
            TypeError: an argument is missing, or not a number.
            ValueError: the vector has the wrong size.
            RuntimeError: a length is not positive and finite.
        """
        shape, names = type(self).__name__, self._names
        if measures is None and np.ndim(given[0]) > 0 and all(value is None for value in given[1:]):
            measures = given[0]
        if measures is not None:
            vector = np.asarray(measures, dtype=np.float64).ravel()
            if vector.size != len(names):
                expected = f"{len(names)} elements ({', '.join(names)})"
                raise ValueError(f"{shape} takes a vector of {expected}; this one has {vector.size}.")
            given = tuple(vector)
        self._measures = tuple(_positive(shape, name, value) for name, value in zip(names, given))

    def _arguments(self) -> dict[str, Any]:
        return dict(zip(self._names, self._measures))


class Sphere(Shape):
    """A ball.

    Raises:
        RuntimeError: `radius` is negative or not finite. Zero is allowed: a point.
    """

    __slots__ = ("_radius",)

    def __init__(self, radius: float) -> None:
        self._radius = _length("Sphere", "radius", radius)
        if not (math.isfinite(self._radius) and self._radius >= 0):
            raise RuntimeError(f"The radius of a Sphere must be finite and not negative; given {self._radius}.")

    def radius(self) -> float:
        """The radius [m]."""
        return self._radius

    def _arguments(self) -> dict[str, Any]:
        return {"radius": self._radius}


class Box(_Primitive):
    """A box with its sides along the axes of G.

    Args:
        width: extent along Gx.
        depth: extent along Gy.
        height: extent along Gz.
        measures: the three of them as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()
    _names = ("width", "depth", "height")

    def __init__(
        self,
        width: ArrayLike | None = None,
        depth: float | None = None,
        height: float | None = None,
        *,
        measures: ArrayLike | None = None,
    ) -> None:
        self._read((width, depth, height), measures)

    def width(self) -> float:
        """Extent along Gx [m]."""
        return self._measures[0]

    def depth(self) -> float:
        """Extent along Gy [m]."""
        return self._measures[1]

    def height(self) -> float:
        """Extent along Gz [m]."""
        return self._measures[2]

    def size(self) -> NDArray[np.float64]:
        """Width, depth and height [m], shape [3]."""
        return np.array(self._measures)


class _Round(_Primitive):
    """What Cylinder and Capsule have in common: a radius, and a length along Gz."""

    __slots__ = ()
    _names = ("radius", "length")

    def __init__(
        self,
        radius: ArrayLike | None = None,
        length: float | None = None,
        *,
        measures: ArrayLike | None = None,
    ) -> None:
        self._read((radius, length), measures)

    def radius(self) -> float:
        """The radius [m]."""
        return self._measures[0]

    def length(self) -> float:
        """Extent along Gz [m]; that of a capsule does not count its caps."""
        return self._measures[1]


class Cylinder(_Round):
    """A cylinder whose axis is Gz.

    Args:
        radius: radius.
        length: extent along Gz.
        measures: radius and length as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()


class Capsule(_Round):
    """A cylinder along Gz with a half ball on each end.

    Args:
        radius: radius of the cylinder and of the caps.
        length: extent of the cylinder along Gz, without the caps.
        measures: radius and length as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()


class Ellipsoid(_Primitive):
    """The ellipsoid x²/a² + y²/b² + z²/c² <= 1.

    Args:
        a: semi-axis along Gx.
        b: semi-axis along Gy.
        c: semi-axis along Gz.
        measures: the three of them as a vector.

    Raises:
        RuntimeError: a semi-axis is not positive and finite.
    """

    __slots__ = ()
    _names = ("a", "b", "c")

    def __init__(
        self,
        a: ArrayLike | None = None,
        b: float | None = None,
        c: float | None = None,
        *,
        measures: ArrayLike | None = None,
    ) -> None:
        self._read((a, b, c), measures)

    def a(self) -> float:
        """Semi-axis along Gx [m]."""
        return self._measures[0]

    def b(self) -> float:
        """Semi-axis along Gy [m]."""
        return self._measures[1]

    def c(self) -> float:
        """Semi-axis along Gz [m]."""
        return self._measures[2]


class HalfSpace(Shape):
    """Everything below the plane z = 0 of G; the surface normal is Gz."""

    __slots__ = ()

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


class MeshcatCone(_Primitive):
    """A cone with its tip at Go that opens along +Gz: sqrt(x²/a² + y²/b²) <= z / height, 0 <= z <= height.

    Args:
        height: extent along Gz.
        a: semi-axis along Gx of the base, at z = height.
        b: semi-axis along Gy of the base.
        measures: the three of them as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()
    _names = ("height", "a", "b")

    def __init__(
        self,
        height: ArrayLike | None = None,
        a: float | None = None,
        b: float | None = None,
        *,
        measures: ArrayLike | None = None,
    ) -> None:
        if measures is None and np.ndim(height) == 0:  # type: ignore[arg-type]
            a, b = 1.0 if a is None else a, 1.0 if b is None else b
        self._read((height, a, b), measures)

    def height(self) -> float:
        """Extent along Gz [m]."""
        return self._measures[0]

    def a(self) -> float:
        """Semi-axis of the base along Gx [m]."""
        return self._measures[1]

    def b(self) -> float:
        """Semi-axis of the base along Gy [m]."""
        return self._measures[2]


def _hull_of_file(source: MeshSource, scale3: tuple[float, ...], stamp: Any) -> PolygonSurfaceMesh:
    """The hull of what is in a file; kept for other shapes where a stamp tells its contents from earlier ones."""
    if stamp is not None:
        return _kept_hull(source, scale3, stamp)
    return convex_hull(read_vertices(source) * scale3, source.description())


@functools.lru_cache(maxsize=_MOST_HULLS)
def _kept_hull(source: MeshSource, scale3: tuple[float, ...], stamp: Any) -> PolygonSurfaceMesh:
    return _hull_of_file(source, scale3, None)


class _FromFile(Shape):
    """What Mesh and Convex have in common: a file, on disk or in memory, and a scale along each axis."""

    __slots__ = ("_known", "_scale3", "_source")

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

    def _remember(self, what: str, calc: Callable[[], Result]) -> Result:
        """Returns what `calc` computes, once for all."""
        if what not in self._known:
            self._known[what] = calc()
        known: Result = self._known[what]
        return known

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


class Mesh(_FromFile):
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


class Convex(_FromFile):
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


def _length(shape: str, name: str, value: Any) -> float:
    """Converts to float; says which argument of which shape is no number."""
    if value is None:
        raise TypeError(f"{shape} needs a value for '{name}'.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"The {name} of a {shape} must be a number; given {value!r}.") from None


def _positive(shape: str, name: str, value: Any) -> float:
    length = _length(shape, name, value)
    if not (math.isfinite(length) and length > 0):
        raise RuntimeError(f"The {name} of a {shape} must be finite and positive; given {length}.")
    return length


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
