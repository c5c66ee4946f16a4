"""A ball, and an ellipsoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.shapes.shape import Core, Primitive, Shape, ShapeKind, length_of, quadric
from merganser.geometry.shapes.surfaces import ThreeShape, ball, ball_geometry, ellipsoid_surface
from merganser.geometry.shapes.tetrahedra import MedialMesh, ellipsoid_mesh, filled_ball, filled_ellipsoid, sphere_mesh

_RAY_CODE = """
vec2 shape_interval(vec3 o, vec3 d)
{
  return unit_sphere(o / half_size, d / half_size);
}
"""


def _core(shape: Ellipsoid) -> Core:
    axes = (shape.a(), shape.b(), shape.c())
    return Core("ellipsoid", axes, axes, bound=max(axes))


def _ellipsoid_medial(shape: Ellipsoid, hint: float, margin: float) -> tuple[MedialMesh, NDArray[np.float64]]:
    axes = np.array([shape.a(), shape.b(), shape.c()])
    mesh = ellipsoid_mesh(axes + margin, hint)
    if not margin:
        return mesh, np.zeros(len(mesh.is_inner))
    return mesh, 1.0 - np.linalg.norm(mesh.mesh.vertex_array() / axes, axis=1)


class Ellipsoid(Primitive):
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
    kind = ShapeKind(
        core=_core,
        volume=lambda shape: 4 / 3 * math.pi * shape.a() * shape.b() * shape.c(),
        interval=lambda shape, o, d: quadric(o, d, np.array([shape.a(), shape.b(), shape.c()]) ** -2.0),
        outline=lambda shape: ball() * [shape.a(), shape.b(), shape.c()],
        viewer_sizes=lambda shape: ("ELLIPSOID", (shape.a(), shape.b(), shape.c())),
        medial=_ellipsoid_medial,
        half_lengths=lambda shape: [shape.a(), shape.b(), shape.c()],
        tetrahedra=lambda shape, hint: filled_ellipsoid(np.array([shape.a(), shape.b(), shape.c()]), hint),
        surface=lambda shape: ellipsoid_surface(shape.a(), shape.b(), shape.c()),
        three=lambda shape: ThreeShape(ball_geometry(1.0), np.diag([shape.a(), shape.b(), shape.c(), 1.0])),
        ray_code=_RAY_CODE,
    )

    def __init__(
        self, a: ArrayLike | None = None, b: float | None = None, c: float | None = None, *,
        measures: ArrayLike | None = None,
    ) -> None:  # fmt: skip
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


def _medial(shape: Sphere, hint: float, margin: float) -> tuple[MedialMesh, float]:
    if shape.radius() == 0.0:
        raise RuntimeError("its radius is zero. Give it a radius, or leave its hydroelastic properties away")
    return sphere_mesh(shape.radius() + margin, hint), -margin / shape.radius()


class Sphere(Shape):
    """A ball.

    Raises:
        RuntimeError: `radius` is negative or not finite. Zero is allowed: a point.
    """

    __slots__ = ("_radius",)
    kind = ShapeKind(
        core=lambda shape: Core("point", radius=shape.radius()),
        volume=lambda shape: 4 / 3 * math.pi * shape.radius() ** 3,
        interval=lambda shape, o, d: quadric(o, d, np.full(3, shape.radius() ** -2.0)),
        outline=lambda shape: ball() * shape.radius() if shape.radius() > 0 else np.empty((0, 3)),
        viewer_sizes=lambda shape: ("SPHERE", (shape.radius(),)),
        medial=_medial,
        half_lengths=lambda shape: [shape.radius()],
        tetrahedra=lambda shape, hint: filled_ball(shape.radius(), hint),
        surface=lambda shape: ellipsoid_surface(shape.radius(), shape.radius(), shape.radius()),
        three=lambda shape: ThreeShape(ball_geometry(shape.radius())),
        ray_code=_RAY_CODE,
    )

    def __init__(self, radius: float) -> None:
        self._radius = length_of("Sphere", "radius", radius)
        if not (math.isfinite(self._radius) and self._radius >= 0):
            raise RuntimeError(f"The radius of a Sphere must be finite and not negative; given {self._radius}.")

    def radius(self) -> float:
        """The radius [m]."""
        return self._radius

    def _arguments(self) -> dict[str, Any]:
        return {"radius": self._radius}
