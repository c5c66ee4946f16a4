"""Volumes of shapes."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.meshes import read_surface_mesh, read_volume_mesh
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

__all__ = ["CalcVolume", "enclosed_volume"]


@singledispatch
def CalcVolume(shape: Shape) -> float:
    """Returns the volume of a shape [m³]; that of a half space is infinite, that of an open mesh meaningless.

    Raises:
        TypeError: `shape` is not a Shape.
        RuntimeError: its mesh file cannot be read.
        ImportError: the format of its mesh file needs trimesh, which is missing.
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


@CalcVolume.register
def _(shape: Mesh) -> float:
    scale = float(shape.scale3().prod())
    if shape.extension() == ".vtk":
        return read_volume_mesh(shape.source()).CalcVolume() * abs(scale)
    mesh = read_surface_mesh(shape.source())
    return enclosed_volume(mesh.vertex_array(), mesh.triangle_array()) * abs(scale)


@CalcVolume.register
def _(shape: Convex) -> float:
    hull = shape.GetConvexHull()
    return enclosed_volume(hull.vertex_array(), hull.triangle_array())


def enclosed_volume(vertices: NDArray[np.float64], triangles: NDArray[np.int64]) -> float:
    """Returns the volume within a closed surface [m³], by the divergence theorem.

    Args:
        vertices: shape [n, 3] [m].
        triangles: vertices by index, counter-clockwise seen from outside, shape [m, 3].
    """
    return float(np.linalg.det(vertices[triangles]).sum() / 6.0)
