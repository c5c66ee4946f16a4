"""What follows from the kind of a shape: its hull, its triangles, its volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import PolygonSurfaceMesh, convex_hull
from merganser.geometry.shapes.from_file import FromFile
from merganser.geometry.shapes.shape import Shape, ShapeKind
from merganser.geometry.shapes.surfaces import DrawnSurface, unit_sphere

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_DIVISIONS = 5  # of the octahedron along whose corners support functions are asked for points
_TOLERANCE = 1e-3  # how far a shape may reach out of its hull, by its size
_MOST_VERTICES = 1000


def CalcVolume(shape: Shape) -> float:
    """Returns the volume of a shape [m³]; that of a half space is infinite, that of an open mesh meaningless.

    Raises:
        TypeError: `shape` is not a Shape.
        RuntimeError: its mesh file cannot be read.
        ImportError: the format of its mesh file needs trimesh, which is missing.
    """
    if not isinstance(shape, Shape):
        raise TypeError(f"CalcVolume() takes a Shape; given {shape!r}.")
    return enclosed_volume(*triangles_of(shape)) if shape.kind.volume is None else shape.kind.volume(shape)


def enclosed_volume(vertices: Array, triangles: Integers) -> float:
    """Returns the volume within a closed surface [m³], by the divergence theorem.

    Args:
        vertices: shape [n, 3] [m].
        triangles: vertices by index, counter-clockwise seen from outside, shape [m, 3].
    """
    return float(np.linalg.det(vertices[triangles]).sum() / 6.0)


def has_hull(shape: Shape) -> bool:
    """Whether the proximity engine takes a shape for its convex hull."""
    kind = getattr(shape, "kind", None)
    return isinstance(kind, ShapeKind) and kind.core is None and not (kind.hull is None and kind.support is None)


def is_surface_known(shape: Shape) -> bool:
    """Whether a shape has triangles: its own or those of its hull."""
    kind = shape.kind
    return not (kind.triangles is None and kind.hull is None and kind.support is None)


def hull_of(shape: Shape) -> PolygonSurfaceMesh:
    """The convex hull of a shape, in G.

    Raises:
        TypeError: its kind says neither its hull nor its support function.
        RuntimeError: the hull is that of a file that cannot be read, or of points on a line.
    """
    kind = shape.kind
    if kind.hull is not None:
        return kind.hull(shape)
    hull: PolygonSurfaceMesh = shape._remember("hull", lambda: _hull_of_support(shape))
    return hull


def _hull_of_support(shape: Shape) -> PolygonSurfaceMesh:
    """The hull of points of a shape: one after the other the one that reaches farthest out of those before it."""
    n, _ = unit_sphere(_DIVISIONS)
    points = farthest_points(shape, n)
    reach, tolerance = np.einsum("ij,ij->i", points, n), _TOLERANCE * np.ptp(points, axis=0).max()
    chosen = list(range(6))  # along the axes
    missing = reach - (n @ points[chosen].T).max(axis=1)
    while len(chosen) < _MOST_VERTICES and missing.max() > tolerance:
        chosen.append(int(missing.argmax()))
        missing = np.minimum(missing, reach - n @ points[chosen[-1]])
    return convex_hull(points[chosen], name_of(shape))


def farthest_points(shape: Shape, n: Array) -> Array:
    """Points of a shape that are farthest along directions, both of shape [n, 3]; checked.

    Raises:
        TypeError: the kind of the shape has no support function.
        RuntimeError: the function gives something else.
    """
    if shape.kind.support is None:
        raise TypeError(
            f"Of a {type(shape).__name__} nothing is known but its core: give its ShapeKind a `support` or `hull`."
        )
    points = np.asarray(shape.kind.support(shape, n), np.float64)
    if points.shape != n.shape or not np.isfinite(points).all():
        raise RuntimeError(
            f"The support function of {shape!r} must give {len(n)} finite points, shape {n.shape}, for as many "
            f"directions; it gave {points.shape}."
        )
    return points


def name_of(shape: Shape) -> str:
    """What messages call a shape: its file, or what makes it."""
    return shape.source().description() if isinstance(shape, FromFile) else repr(shape)


def triangles_of(shape: Shape) -> tuple[Array, Integers]:
    """The closed surface of a shape: vertices in G, shape [n, 3], and triangles by index, shape [m, 3]."""
    if shape.kind.triangles is not None:
        return shape.kind.triangles(shape)
    hull = hull_of(shape)
    return hull.vertex_array(), hull.triangle_array()


def outline_of(shape: Shape) -> Array:
    """Points of which a shape is the convex hull, or nearly so, shape [n, 3]."""
    return triangles_of(shape)[0] if shape.kind.outline is None else shape.kind.outline(shape)


def drawn_surface(shape: Shape) -> DrawnSurface:
    """Triangles of a shape for pictures.

    A shape with a support function is drawn by its points along all directions, which are normals there.
    """
    if shape.kind.surface is not None:
        return shape.kind.surface(shape)
    if shape.kind.support is None or shape.kind.triangles is not None:
        vertices, triangles = triangles_of(shape)
        return DrawnSurface(vertices.astype(np.float32), triangles)
    n, triangles = unit_sphere(_DIVISIONS)
    return DrawnSurface(farthest_points(shape, n).astype(np.float32), triangles, n.astype(np.float32))
