"""A cylinder, and what it has in common with a capsule."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.kind import Core, ShapeKind
from merganser.geometry.shapes.lines import Interval, both, quadric, slab
from merganser.geometry.shapes.shape import Primitive
from merganser.geometry.shapes.surfaces import (
    DrawnSurface,
    ThreeShape,
    around,
    circle,
    disk,
    ends,
    grid,
    joined,
    tube_geometry,
    turned,
)
from merganser.geometry.shapes.tetrahedra import MedialMesh, cylinder_mesh, filled_cylinder

Array = NDArray[np.float64]

_RAY_CODE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  vec2 inside = unit_circle(o.xy / half_size.x, d.xy / half_size.x);
  cut_slab(inside, o.z, d.z, half_size.z);
  return inside;
}
"""


class Round(Primitive):
    """What Cylinder and Capsule have in common: a radius, and a length along Gz."""

    __slots__ = ()
    _names = ("radius", "length")

    def __init__(
        self, radius: ArrayLike | None = None, length: float | None = None, *, measures: ArrayLike | None = None
    ) -> None:
        self._read((radius, length), measures)

    def radius(self) -> float:
        """The radius [m]."""
        return self._measures[0]

    def length(self) -> float:
        """Extent along Gz [m]; that of a capsule does not count its caps."""
        return self._measures[1]


def inside_cylinder(shape: Round, o: Array, d: Array) -> Interval:
    """Where a line is in the cylinder of a shape."""
    weights = np.array([1.0, 1.0, 0.0]) * shape.radius() ** -2.0
    return both(quadric(o, d, weights), slab(o[2], d[2], 0.5 * shape.length()))


def _core(shape: Cylinder) -> Core:
    r, h = shape.radius(), shape.length() / 2.0
    return Core("cylinder", (r, r, h), (r, 0.0, h), bound=np.hypot(r, h))


def _medial(shape: Cylinder, hint: float, margin: float) -> tuple[MedialMesh, float]:
    mesh = cylinder_mesh(shape.radius() + margin, shape.length() + 2.0 * margin, hint)
    return mesh, -margin / min(shape.radius(), shape.length() / 2.0)


def _surface(shape: Cylinder) -> DrawnSurface:
    r, half_length = shape.radius(), 0.5 * shape.length()
    longitude, u = around()
    circle = np.column_stack([np.cos(longitude), np.sin(longitude), np.zeros_like(longitude)])
    heights = np.array([-half_length, half_length])
    side = np.stack([r * circle + [0.0, 0.0, z] for z in heights])
    uvs = np.stack([np.column_stack([u, np.full_like(u, v)]) for v in (0.0, 1.0)])
    parts = [grid(side, np.stack([circle, circle]), uvs)]
    return joined([*parts, *(disk(r, r, z, np.sign(z)) for z in heights)])


class Cylinder(Round):
    """A cylinder whose axis is Gz.

    Args:
        radius: radius.
        length: extent along Gz.
        measures: radius and length as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()
    kind = ShapeKind(
        core=_core,
        volume=lambda shape: math.pi * shape.radius() ** 2 * shape.length(),
        interval=inside_cylinder,
        outline=lambda shape: ends(circle() * shape.radius(), shape.length()),
        viewer_sizes=lambda shape: ("CYLINDER", (shape.radius(), shape.length())),
        medial=_medial,
        half_lengths=lambda shape: [shape.radius(), shape.length() / 2.0],
        tetrahedra=lambda shape, hint: filled_cylinder(shape.radius(), shape.length(), hint),
        surface=_surface,
        three=lambda shape: ThreeShape(tube_geometry(shape.radius(), shape.radius(), shape.length()), turned()),
        ray_code=_RAY_CODE,
    )
