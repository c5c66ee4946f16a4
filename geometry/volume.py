"""Volumes of shapes."""

from __future__ import annotations

import math
from functools import singledispatch

from merganser.geometry.shapes import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    Shape,
    Sphere,
)

__all__ = ["CalcVolume"]


@singledispatch
def CalcVolume(shape: Shape) -> float:
    """Returns the volume of a shape [m³]; that of a half space is infinite.

    Raises:
        TypeError: `shape` is not a Shape.
        RuntimeError: `shape` comes from a mesh file, which is not read here.
    """
    raise TypeError(f"CalcVolume() takes a Shape; given {shape!r}.")


@CalcVolume.register
def _(shape: Sphere) -> float:
    return 4 / 3 * math.pi * shape.radius() ** 3


@CalcVolume.register
def _(shape: Box) -> float:
    return shape.width() * shape.depth() * shape.height()


@CalcVolume.register
def _(shape: Cylinder) -> float:
    return math.pi * shape.radius() ** 2 * shape.length()


@CalcVolume.register
def _(shape: Capsule) -> float:
    return math.pi * shape.radius() ** 2 * (shape.length() + 4 / 3 * shape.radius())


@CalcVolume.register
def _(shape: Ellipsoid) -> float:
    return 4 / 3 * math.pi * shape.a() * shape.b() * shape.c()


@CalcVolume.register
def _(shape: HalfSpace) -> float:
    return math.inf


@CalcVolume.register
def _(shape: MeshcatCone) -> float:
    return math.pi * shape.a() * shape.b() * shape.height() / 3


@CalcVolume.register(Mesh)
@CalcVolume.register(Convex)
def _(shape: Mesh | Convex) -> float:
    raise RuntimeError(
        f"CalcVolume() knows the volumes of primitives only; {shape!r} comes from a mesh file, which is not "
        "read."
    )
