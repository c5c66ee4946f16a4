"""Shapes that are round about Gz: a cylinder, a capsule with a half ball on each end, and a cone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.shape import Core, Interval, Primitive, ShapeKind, both, nowhere, quadric, slab
from merganser.geometry.shapes.surfaces import (
    STEPS,
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


# ---------------------------------------------------------------------- capsule

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


# ---------------------------------------------------------------------- cone

# In these coordinates the cone is x^2 + y^2 <= z^2, 0 <= z <= 1, with its tip at the origin. The box has its center
# half-way up.
_CONE_RAY_CODE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  vec3 size = vec3(half_size.xy, 2.0 * half_size.z);
  vec3 u = vec3(o.xy, o.z + half_size.z) / size, v = d / size;
  vec2 inside = vec2(-1e30, 1e30);
  cut_slab(inside, u.z - 0.5, v.z, 0.5);
  if (inside.x > inside.y) return inside;
  // The ray is followed from where it is nearest to the tip.
  float t0 = -dot(u, v) / dot(v, v);
  vec3 p = u + t0 * v;
  float a = dot(v.xy, v.xy) - v.z * v.z;
  float b = dot(p.xy, v.xy) - p.z * v.z;
  float c = dot(p.xy, p.xy) - p.z * p.z;
  float room = b * b - a * c;
  if (room < 0.0) return a < 0.0 ? inside : vec2(1.0, -1.0);
  float q = -(b + (b < 0.0 ? -1.0 : 1.0) * sqrt(room));
  float t_a = a != 0.0 ? q / a : (b < 0.0 ? -1e30 : 1e30), t_b = q == 0.0 ? 0.0 : c / q;
  float t_1 = t0 + min(t_a, t_b), t_2 = t0 + max(t_a, t_b);
  if (a > 0.0) {
    cut(inside, t_1, t_2);
    return inside;
  }
  // Steeper than the side: inside of the double cone before t_1 and after t_2, of which one is in the slab.
  vec2 before = vec2(inside.x, min(inside.y, t_1));
  vec2 after = vec2(max(inside.x, t_2), inside.y);
  return before.x <= before.y ? before : after;
}
"""


def _cone_core(shape: MeshcatCone) -> Core:
    a, b, h = shape.a(), shape.b(), shape.height()
    return Core("cone", (a, b, h / 2.0), (a, b, h), (0.0, 0.0, h / 2.0))


def _outline(shape: MeshcatCone) -> NDArray[np.float64]:
    rim = circle() * [shape.a(), shape.b(), 1.0] + [0.0, 0.0, shape.height()]
    return np.concatenate([np.zeros((1, 3)), rim])


def _cone_surface(shape: MeshcatCone) -> DrawnSurface:
    """The side is x²/a² + y²/b² = z²/h²; its normal is the gradient, also at the tip, which is many vertices."""
    a, b, h = shape.a(), shape.b(), shape.height()
    longitude = np.linspace(0.0, 2.0 * np.pi, STEPS + 1)
    cos, sin = np.cos(longitude), np.sin(longitude)
    rim = np.column_stack([a * cos, b * sin, np.full_like(cos, h)])
    normals = np.column_stack([cos / a, sin / b, np.full_like(cos, -1.0 / h)])
    u = longitude / (2.0 * np.pi)
    uvs = np.stack([np.column_stack([u, np.full_like(u, v)]) for v in (0.0, 1.0)])
    side = grid(np.stack([np.zeros_like(rim), rim]), np.stack([normals, normals]), uvs)
    return joined([side, disk(a, b, h, 1.0)])


def _cone_three(shape: MeshcatCone) -> ThreeShape:
    matrix = np.diag([shape.a(), shape.b(), 1.0, 1.0]) @ turned()
    matrix[2, 3] = shape.height() / 2
    return ThreeShape(tube_geometry(0.0, 1.0, shape.height()), matrix)


class MeshcatCone(Primitive):
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
    kind = ShapeKind(
        core=_cone_core,
        volume=lambda shape: math.pi * shape.a() * shape.b() * shape.height() / 3,
        interval=nowhere,
        outline=_outline,
        surface=_cone_surface,
        three=_cone_three,
        ray_code=_CONE_RAY_CODE,
    )

    def __init__(
        self, height: ArrayLike | None = None, a: float | None = None, b: float | None = None, *,
        measures: ArrayLike | None = None,
    ) -> None:  # fmt: skip
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
