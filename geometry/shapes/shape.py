"""What all shapes have in common, and what a kind of shape is: one record of functions of the shape.

A shape never changes once it is made, so that it may be shared; it equals any shape of the same type with the
same measures. Primitives are centered on Go unless their description says otherwise.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars.scalars import number_text
from merganser.framework.core.values.plain_values import declare_plain
from merganser.geometry.meshes import PolygonSurfaceMesh, VolumeMesh
from merganser.geometry.shapes.lines import Interval
from merganser.geometry.shapes.surfaces import DrawnSurface, ThreeShape
from merganser.geometry.shapes.tetrahedra import MedialMesh

Array = NDArray[np.float64]
_ORIGIN = (0.0, 0.0, 0.0)


class Core(NamedTuple):
    """What the proximity engine takes of a shape: a body, convex but for two kinds, and a radius that rounds it.

    Attributes:
        kind: which body it is: "point"; "segment" along Gz, of half length size[2]; "box" of half extents; "cylinder"
            of radius size[0] and half length size[2]; "ellipsoid" of semi-axes; "cone" with its tip at Go and semi-axes
            size[0] and size[1] at height size[2]; "half space" below z = 0; "height field" above z = size[2], of cells
            of size[0] by size[1], and "terrain mesh", which are not convex.
        half: half extents of the box around the body along the axes of G [m], shape [3].
        size: measures of the body [m], shape [3].
        center: of that box, in G [m], shape [3].
        radius: of the rounding [m].
        bound: radius of a ball around the center that contains the body [m]; by default that around the box.
        table: heights of a height field [m], shape [rows, columns].
        mesh: of a terrain mesh: vertices [m], shape [n, 3], and triangles, shape [m, 3].
    """

    kind: str
    half: Sequence[float] | Array = _ORIGIN
    size: Sequence[float] | Array = _ORIGIN
    center: Sequence[float] | Array = _ORIGIN
    radius: float = 0.0
    bound: float | None = None
    table: Array | None = None
    mesh: tuple[Array, NDArray[np.int64]] | None = None


@dataclass(frozen=True, eq=False)
class ShapeKind:
    """One kind of shape: what queries, contact, mass and pictures need of it.

    All functions take the shape first; lengths are in its frame G [m]. A kind needs `core` or `support` or `hull`: the
    others follow from these, where nothing better is known.

    Attributes:
        core: () is what the proximity engine takes, exactly. None if that is the convex hull.
        support: (n) are points of the shape that are farthest along directions n, both of shape [k, 3]. Their hull
            stands for the shape, by a tolerance of a thousandth of its size.
        hull: () is its convex hull; by default that of the points of `support`.
        triangles: () is its closed surface for masses and rays: vertices, shape [n, 3], and triangles by index,
            counter-clockwise seen from outside, shape [m, 3]; by default that of the hull.
        volume: () is its volume [m^3]; by default that in its triangles.
        interval: (o, d) are the t between which a line o + t d is in it; of what is not convex twice the first t >= 0
            where it meets the surface; by default rays hit its triangles.
        outline: () are points of which it is the convex hull, or nearly so, for pictures in a plane, shape [n, 3].
        viewer_sizes: () is the name and the sizes by which messages to Drake's viewers know it; by default triangles.
        medial: (hint, margin) are tetrahedra for hydroelastic contact, of edges as long as a hint, of the shape
            inflated by a margin; and the extent on their surface, a number or one for each vertex (see
            hydroelastic/representation.py); by default those of the hull.
        half_lengths: () are the lengths that bound its depths, such as radii [m]; has to be there if `medial` is.
        tetrahedra: (hint) are those of a deformable body at rest; by default its triangles are filled.
        surface: () are triangles for pictures, with normals and texture coordinates; by default points of `support`,
            or `triangles`.
        three: () is how three.js makes it; by default its surface is sent.
        ray_code: a function shape_interval(o, d) of GLSL for depths that are exact, see
            rendering/vtk_engine/measured_stage.py; by default its surface is drawn.
    """

    core: Callable[[Any], Core] | None = None
    support: Callable[[Any, Array], Array] | None = None
    hull: Callable[[Any], PolygonSurfaceMesh] | None = None
    triangles: Callable[[Any], tuple[Array, NDArray[np.int64]]] | None = None
    volume: Callable[[Any], float] | None = None
    interval: Callable[[Any, Array, Array], Interval] | None = None
    outline: Callable[[Any], Array] | None = None
    viewer_sizes: Callable[[Any], tuple[str, tuple[float, ...]]] | None = None
    medial: Callable[[Any, float, float], tuple[MedialMesh, Any]] | None = None
    half_lengths: Callable[[Any], Sequence[float]] | None = None
    tetrahedra: Callable[[Any, float], VolumeMesh] | None = None
    surface: Callable[[Any], DrawnSurface] | None = None
    three: Callable[[Any], ThreeShape] | None = None
    ray_code: str = ""


Result = TypeVar("Result")


class Shape(abc.ABC):
    """Base of all shapes."""

    _never_changes = True  # copies of a system share it
    kind: ClassVar[ShapeKind] = ShapeKind()

    __slots__ = ("_known",)
    _known: dict[str, Any]  # what has been computed of the shape

    def Clone(self) -> Self:
        """Returns a shape like this one."""
        other = object.__new__(type(self))
        for name in (name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        if hasattr(self, "__dict__"):  # of classes of users, which seldom have slots
            vars(other).update(vars(self))
        return other

    def _remember(self, what: str, calc: Callable[[], Result]) -> Result:
        """Returns what `calc` computes, once for all."""
        if not hasattr(self, "_known"):
            self._known = {}
        if what not in self._known:
            self._known[what] = calc()
        known: Result = self._known[what]
        return known

    @abc.abstractmethod
    def _arguments(self) -> dict[str, Any]:
        """The constructor arguments, by name, that make an equal shape; all values are hashable."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Files of contexts know a class with a kind by its name, and a shape by the arguments that make it."""
        super().__init_subclass__(**arguments)
        if "kind" in vars(cls):
            if not isinstance(cls.kind, ShapeKind):
                raise TypeError(f"{cls.__name__}.kind must be a ShapeKind, not {cls.kind!r}.")
            declare_plain(cls, lambda shape: [shape._arguments()], lambda arguments: cls(**arguments))

    __copy__ = Clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.Clone()

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


class Primitive(Shape):
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


def length_of(shape: str, name: str, value: Any) -> float:
    """Converts to float; says which argument of which shape is no number."""
    if value is None:
        raise TypeError(f"{shape} needs a value for '{name}'.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"The {name} of a {shape} must be a number; given {value!r}.") from None


def _positive(shape: str, name: str, value: Any) -> float:
    length = length_of(shape, name, value)
    if not (math.isfinite(length) and length > 0):
        raise RuntimeError(f"The {name} of a {shape} must be finite and positive; given {length}.")
    return length
