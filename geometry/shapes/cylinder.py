"""A cylinder, and a capsule: a cylinder with a half ball on each end."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.lines import Interval, both, quadric, slab
from merganser.geometry.shapes.shape import Core, Primitive, ShapeKind
from merganser.geometry.shapes.surfaces import (
    STEPS_UP,
    DrawnSurface,
    ThreeShape,
    around,
    ball,
    circle,
    disk,
    ends,
    grid,
    joined,
    tube_geometry,
    turned,
)
from merganser.geometry.shapes.tetrahedra import (
    MedialMesh,
    capsule_mesh,
    cylinder_mesh,
    filled_capsule,
    filled_cylinder,
)

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


# Half of its length is that of the cylinder and the radius.
_CAPSULE_RAY_CODE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  float r = half_size.x;
  vec3 half_axis = vec3(0.0, 0.0, half_size.z - r);
  vec2 inside = unit_circle(o.xy / r, d.xy / r);
  cut_slab(inside, o.z, d.z, half_axis.z);
  vec2 top = unit_sphere((o - half_axis) / r, d / r);
  vec2 bottom = unit_sphere((o + half_axis) / r, d / r);
  vec2 all_of_it = vec2(1e30, -1e30);
  if (inside.x <= inside.y) all_of_it = inside;
  if (top.x <= top.y) all_of_it = vec2(min(all_of_it.x, top.x), max(all_of_it.y, top.y));
  if (bottom.x <= bottom.y) all_of_it = vec2(min(all_of_it.x, bottom.x), max(all_of_it.y, bottom.y));
  return all_of_it;
}
"""


def _capsule_core(shape: Capsule) -> Core:
    half = (0.0, 0.0, shape.length() / 2.0)
    return Core("segment", half, half, radius=shape.radius())


def _interval(shape: Capsule, o: Array, d: Array) -> Interval:
    half, ball_weights = 0.5 * shape.length(), np.full(3, shape.radius() ** -2.0)
    caps = (quadric(o - [0.0, 0.0, z], d, ball_weights) for z in (-half, half))
    parts = [inside_cylinder(shape, o, d), *caps]
    return min(part[0] for part in parts), max(part[1] for part in parts)


def _capsule_surface(shape: Capsule) -> DrawnSurface:
    r, half_length = shape.radius(), 0.5 * shape.length()
    quarter = np.linspace(0.0, 0.5 * np.pi, STEPS_UP // 2)
    latitude = np.concatenate([quarter - 0.5 * np.pi, quarter])
    longitude, u = around()
    cos, sin = np.cos(latitude)[:, None], np.sin(latitude)[:, None]
    unit = np.stack([cos * np.cos(longitude), cos * np.sin(longitude), sin + 0.0 * longitude], axis=2)
    vertices = r * unit
    vertices[: len(quarter), :, 2] -= half_length
    vertices[len(quarter) :, :, 2] += half_length
    v = 0.5 + 0.5 * vertices[:, :1, 2] / (half_length + r)
    return grid(vertices, unit, np.stack([u + 0.0 * v, v + 0.0 * u], axis=2))


def _three(shape: Capsule) -> ThreeShape:
    half, radius = shape.length() / 2, shape.radius()
    outline = []  # from the lower pole to the upper one
    for i in range(-10, 11):
        angle = i * math.pi / 20
        ends = [-half, half] if i == 0 else [math.copysign(half, i)]
        outline += [{"x": radius * math.cos(angle), "y": end + radius * math.sin(angle)} for end in ends]
    return ThreeShape({"type": "LatheGeometry", "points": outline, "segments": 32}, turned())


class Capsule(Round):
    """A cylinder along Gz with a half ball on each end.

    Args:
        radius: radius of the cylinder and of the caps.
        length: extent of the cylinder along Gz, without the caps.
        measures: radius and length as a vector.

    Raises:
        RuntimeError: a measure is not positive and finite.
    """

    __slots__ = ()
    kind = ShapeKind(
        core=_capsule_core,
        volume=lambda shape: math.pi * shape.radius() ** 2 * (shape.length() + 4 / 3 * shape.radius()),
        interval=_interval,
        outline=lambda shape: ends(ball() * shape.radius(), shape.length()),
        viewer_sizes=lambda shape: ("CAPSULE", (shape.radius(), shape.length())),
        medial=lambda shape, hint, m: (capsule_mesh(shape.radius() + m, shape.length(), hint), -m / shape.radius()),
        half_lengths=lambda shape: [shape.radius()],
        tetrahedra=lambda shape, hint: filled_capsule(shape.radius(), shape.length(), hint),
        surface=_capsule_surface,
        three=_three,
        ray_code=_CAPSULE_RAY_CODE,
    )
