"""What all shapes have in common, what a kind of shape is (one record of functions of the shape), and lines in shapes.

A shape never changes once it is made, so that it may be shared; it equals any shape of the same type with the
same measures. Primitives are centered on Go unless their description says otherwise.

A line o + t d is in a convex body in an interval of t, empty where its end is before its start. A ray, of t >= 0, hits
a triangle with corners p_i, e_i = p_i - p_0, from either side at

    o + t d = p_0 + u e_1 + v e_2,   0 <= u, v, u + v <= 1                                (1)

Source: T. Moeller, B. Trumbore, Fast, Minimum Storage Ray/Triangle Intersection (1997).
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
from merganser.geometry.shapes.surfaces import DrawnSurface, ThreeShape
from merganser.geometry.shapes.tetrahedra import MedialMesh

Array = NDArray[np.float64]
_ORIGIN = (0.0, 0.0, 0.0)
Interval = tuple[float, float]
NOWHERE: Interval = (math.inf, -math.inf)


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


def nowhere(shape: object, o: Array, d: Array) -> Interval:
    """Of what lines do not hit."""
    return NOWHERE


def quadric(o: Array, d: Array, weights: Array) -> Interval:
    """Where sum(weights (o + t d)^2) <= 1."""
    a, b, c = float(weights * d @ d), float(weights * o @ d), float(weights * o @ o) - 1.0
    if a <= 1e-15 * float(weights.max()):  # along a cylinder
        return (-math.inf, math.inf) if c <= 0.0 else NOWHERE
    square = b * b - a * c
    if square < 0.0:
        return NOWHERE
    root = math.sqrt(square)
    return (-b - root) / a, (-b + root) / a


def slab(o: float, d: float, half: float) -> Interval:
    """Where |o + t d| <= half."""
    if d == 0.0:
        return (-math.inf, math.inf) if abs(o) <= half else NOWHERE
    ends = (-half - o) / d, (half - o) / d
    return min(ends), max(ends)


def both(*intervals: Interval) -> Interval:
    """Where all of them are."""
    t_in, t_out = max(i[0] for i in intervals), min(i[1] for i in intervals)
    return (t_in, t_out) if t_in <= t_out else NOWHERE


def first_triangle(corners: Array, o: Array, d: Array, margin: float = 0.0) -> float:
    """t of the first triangle that a ray hits by equation (1), with u and v within a margin; infinite if it misses.

    Args:
        corners: of the triangles, shape [n, 3, 3].
        o, d: the ray, shape [3].
        margin: by which u, v and u + v may be out of bounds; more than 0 where no ray is to pass between neighbours.
    """
    e_1, e_2, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], o - corners[:, 0]
    normal = np.cross(d, e_2)
    with np.errstate(all="ignore"):
        inverse = 1.0 / np.einsum("ni,ni->n", normal, e_1)
        across = np.cross(p, e_1)
        u, v = inverse * np.einsum("ni,ni->n", normal, p), inverse * (across @ d)
        t = inverse * np.einsum("ni,ni->n", across, e_2)
        hits = (u >= -margin) & (v >= -margin) & (u + v <= 1.0 + margin) & (t >= 0.0) & np.isfinite(t)
    return float(t[hits].min()) if hits.any() else math.inf


def first_hit(points: Array, bottom: float, o: Array, d: Array) -> float:
    """t of the first point o + t d, t >= 0, on the surface of what is under a grid [m]; infinite if it misses.

    The ray is cut where it passes from cell to cell. In each piece that comes between the heights of its cell, both
    triangles are tried.

    Args:
        points: of the grid, shape [rows, columns, 3].
        bottom: z below which nothing is.
        o, d: the ray, d of length 1, shape [3].
    """
    low, high = points[0, 0], points[-1, -1]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    top = float(points[:, :, 2].max())
    middle_z, half_z = 0.5 * (top + bottom), 0.5 * (top - bottom)
    across = (slab(o[i] - middle[i], d[i], half[i]) for i in range(2))
    box = both(*across, slab(o[2] - middle_z, d[2], half_z))
    if box[1] < 0.0 or box[0] > box[1]:
        return math.inf
    cuts = [np.array([max(box[0], 0.0), box[1]])]
    with np.errstate(all="ignore"):
        for lines, i in ((points[0, :, 0], 0), (points[:, 0, 1], 1)):
            if d[i] != 0.0:
                cuts.append((lines - o[i]) / d[i])
    t = np.unique(np.clip(np.concatenate(cuts), max(box[0], 0.0), box[1]))
    t = t if len(t) > 1 else np.repeat(t, 2)
    x, y = (o[i] + 0.5 * (t[:-1] + t[1:]) * d[i] for i in range(2))
    columns = np.clip(np.searchsorted(points[0, :, 0], x, side="right") - 1, 0, points.shape[1] - 2)
    rows = np.clip(np.searchsorted(points[:, 0, 1], y, side="right") - 1, 0, points.shape[0] - 2)
    corners = np.stack([points[rows + i, columns + j] for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))], axis=1)
    z = np.sort(o[2] + np.stack([t[:-1], t[1:]]) * d[2], axis=0)
    is_near = (z[0] <= corners[:, :, 2].max(axis=1) + 1e-9) & (z[1] >= corners[:, :, 2].min(axis=1) - 1e-9)
    triangles = corners[is_near][:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)
    return min(_through_sides(points, bottom, o, d, box), first_triangle(triangles, o, d, 1e-12))


def _through_sides(points: Array, bottom: float, o: Array, d: Array, box: tuple[float, float]) -> float:
    """t of the first point on an upright side or the bottom."""
    low, high = points[0, 0], points[-1, -1]
    for t in sorted(t for t in box if t >= 0.0):
        p = o + t * d
        gaps = abs(np.array([p[0] - low[0], p[0] - high[0], p[1] - low[1], p[1] - high[1], p[2] - bottom]))
        nearest = int(gaps.argmin())
        if gaps[nearest] > 1e-9 * (1.0 + abs(p).max()):
            continue  # through the plane of the highest point
        if nearest == 4:
            return t
        border = (points[:, 0], points[:, -1], points[0], points[-1])[nearest]
        along = 1 if nearest < 2 else 0
        if p[2] <= np.interp(p[along], border[:, along], border[:, 2]):
            return t
    return math.inf
