"""A box."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.shape import Core, Primitive, ShapeKind, both, slab
from merganser.geometry.shapes.surfaces import DrawnSurface, ThreeShape, corners, direction, grid, joined
from merganser.geometry.shapes.tetrahedra import box_mesh, filled_box


def _surface(shape: Box) -> DrawnSurface:
    half = 0.5 * shape.size()
    parts = []
    # Outward normal, and the directions in which u and v grow.
    faces = (("x", "y", "z"), ("-x", "-y", "z"), ("y", "-x", "z"), ("-y", "x", "z"), ("z", "x", "y"), ("-z", "x", "-y"))
    for face in faces:
        normal, right, up = (direction(name) for name in face)
        square = np.array([[s * right + t * up + normal for s in (-1.0, 1.0)] for t in (-1.0, 1.0)]) * half
        uvs = np.array([[[u, v] for u in (0.0, 1.0)] for v in (0.0, 1.0)])
        parts.append(grid(square, np.broadcast_to(normal, square.shape), uvs))
    return joined(parts)


def _three(shape: Box) -> ThreeShape:
    sizes = {"width": shape.width(), "height": shape.depth(), "depth": shape.height()}
    return ThreeShape({"type": "BoxGeometry", **sizes})


class Box(Primitive):
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
    kind = ShapeKind(
        core=lambda shape: Core("box", shape.size() / 2.0, shape.size() / 2.0),
        volume=lambda shape: shape.width() * shape.depth() * shape.height(),
        interval=lambda shape, o, d: both(*(slab(o[i], d[i], 0.5 * float(shape.size()[i])) for i in range(3))),
        outline=lambda shape: corners(shape.width(), shape.depth(), shape.height()),
        viewer_sizes=lambda shape: ("BOX", (shape.width(), shape.depth(), shape.height())),
        medial=lambda shape, hint, m: (box_mesh(shape.size() + 2.0 * m), -m / (float(shape.size().min()) / 2.0)),
        half_lengths=lambda shape: (shape.size() / 2.0).tolist(),
        tetrahedra=lambda shape, hint: filled_box(shape.size(), hint),
        surface=_surface,
        three=_three,
    )

    def __init__(
        self, width: ArrayLike | None = None, depth: float | None = None, height: float | None = None, *,
        measures: ArrayLike | None = None,
    ) -> None:  # fmt: skip
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
