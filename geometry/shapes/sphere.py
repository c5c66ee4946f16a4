"""A ball."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.geometry.shapes.ellipsoid import RAY_CODE
from merganser.geometry.shapes.kind import Core, ShapeKind
from merganser.geometry.shapes.lines import quadric
from merganser.geometry.shapes.shape import Shape, length_of
from merganser.geometry.shapes.surfaces import ThreeShape, ball, ball_geometry, ellipsoid_surface
from merganser.geometry.shapes.tetrahedra import MedialMesh, filled_ball, sphere_mesh


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
        ray_code=RAY_CODE,
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
