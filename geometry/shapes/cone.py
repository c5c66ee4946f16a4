"""A cone, which is drawn and touched, but no body."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.lines import nowhere
from merganser.geometry.shapes.shape import Core, Primitive, ShapeKind
from merganser.geometry.shapes.surfaces import (
    STEPS,
    DrawnSurface,
    ThreeShape,
    circle,
    disk,
    grid,
    joined,
    tube_geometry,
    turned,
)

# In these coordinates the cone is x^2 + y^2 <= z^2, 0 <= z <= 1, with its tip at the origin. The box has its center
# half-way up.
_RAY_CODE = """
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


def _core(shape: MeshcatCone) -> Core:
    a, b, h = shape.a(), shape.b(), shape.height()
    return Core("cone", (a, b, h / 2.0), (a, b, h), (0.0, 0.0, h / 2.0))


def _outline(shape: MeshcatCone) -> NDArray[np.float64]:
    rim = circle() * [shape.a(), shape.b(), 1.0] + [0.0, 0.0, shape.height()]
    return np.concatenate([np.zeros((1, 3)), rim])


def _surface(shape: MeshcatCone) -> DrawnSurface:
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


def _three(shape: MeshcatCone) -> ThreeShape:
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
        core=_core,
        volume=lambda shape: math.pi * shape.a() * shape.b() * shape.height() / 3,
        interval=nowhere,
        outline=_outline,
        surface=_surface,
        three=_three,
        ray_code=_RAY_CODE,
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
