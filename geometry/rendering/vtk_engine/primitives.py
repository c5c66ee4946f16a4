"""Shapes as triangles, with normals and texture coordinates, for color images.

The texture goes around spheres and ellipsoids by longitude, from Gx on, and around the sides of cylinders and capsules
from +Gy both ways to -Gy; its upper edge is at the top. Every face of a box has the whole of it, and so has a half
space, with its upper edge towards -Gx.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.rendering.mesh_parts import Surface
from merganser.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Shape, Sphere

__all__ = ["primitive"]

_HALF_SPACE_SIZE = 100.0  # of the square that stands for a half space [m]
_STEPS = 50  # around a round shape
_STEPS_UP = 50  # from pole to pole

Array = NDArray[np.float64]


@lru_cache(maxsize=256)
def primitive(shape: Shape) -> Surface:
    """The triangles of a shape that is no mesh.

    Raises:
        TypeError: it is one.
    """
    match shape:
        case Sphere():
            return _ellipsoid(shape.radius(), shape.radius(), shape.radius())
        case Ellipsoid():
            return _ellipsoid(shape.a(), shape.b(), shape.c())
        case Box():
            return _box(shape)
        case Cylinder():
            return _cylinder(shape)
        case Capsule():
            return _capsule(shape)
        case MeshcatCone():
            return _cone(shape)
        case HalfSpace():
            return _half_space()
    raise TypeError(f"{shape!r} is no primitive shape.")


def _ellipsoid(a: float, b: float, c: float) -> Surface:
    longitude, latitude = np.linspace(0.0, 2.0 * np.pi, _STEPS + 1), np.linspace(-0.5 * np.pi, 0.5 * np.pi, _STEPS_UP)
    cos, sin = np.cos(latitude)[:, None], np.sin(latitude)[:, None]
    unit = np.stack([cos * np.cos(longitude), cos * np.sin(longitude), sin + 0.0 * longitude], axis=2)
    uvs = np.stack(np.meshgrid(longitude / (2.0 * np.pi), latitude / np.pi + 0.5), axis=2)
    return _grid(unit * [a, b, c], unit / [a, b, c], uvs)


def _capsule(shape: Capsule) -> Surface:
    r, half_length = shape.radius(), 0.5 * shape.length()
    quarter = np.linspace(0.0, 0.5 * np.pi, _STEPS_UP // 2)
    latitude = np.concatenate([quarter - 0.5 * np.pi, quarter])
    longitude, u = _around()
    cos, sin = np.cos(latitude)[:, None], np.sin(latitude)[:, None]
    unit = np.stack([cos * np.cos(longitude), cos * np.sin(longitude), sin + 0.0 * longitude], axis=2)
    vertices = r * unit
    vertices[: len(quarter), :, 2] -= half_length
    vertices[len(quarter) :, :, 2] += half_length
    v = 0.5 + 0.5 * vertices[:, :1, 2] / (half_length + r)
    return _grid(vertices, unit, np.stack([u + 0.0 * v, v + 0.0 * u], axis=2))


def _cylinder(shape: Cylinder) -> Surface:
    r, half_length = shape.radius(), 0.5 * shape.length()
    longitude, u = _around()
    circle = np.column_stack([np.cos(longitude), np.sin(longitude), np.zeros_like(longitude)])
    heights = np.array([-half_length, half_length])
    side = np.stack([r * circle + [0.0, 0.0, z] for z in heights])
    uvs = np.stack([np.column_stack([u, np.full_like(u, v)]) for v in (0.0, 1.0)])
    parts = [_grid(side, np.stack([circle, circle]), uvs)]
    return _joined([*parts, *(_disk(r, r, z, np.sign(z)) for z in heights)])


def _cone(shape: MeshcatCone) -> Surface:
    """The side is x²/a² + y²/b² = z²/h²; its normal is the gradient, also at the tip, which is many vertices."""
    a, b, h = shape.a(), shape.b(), shape.height()
    longitude = np.linspace(0.0, 2.0 * np.pi, _STEPS + 1)
    cos, sin = np.cos(longitude), np.sin(longitude)
    rim = np.column_stack([a * cos, b * sin, np.full_like(cos, h)])
    normals = np.column_stack([cos / a, sin / b, np.full_like(cos, -1.0 / h)])
    u = longitude / (2.0 * np.pi)
    uvs = np.stack([np.column_stack([u, np.full_like(u, v)]) for v in (0.0, 1.0)])
    side = _grid(np.stack([np.zeros_like(rim), rim]), np.stack([normals, normals]), uvs)
    return _joined([side, _disk(a, b, h, 1.0)])


def _box(shape: Box) -> Surface:
    half = 0.5 * shape.size()
    parts = []
    # Outward normal, and the directions in which u and v grow.
    faces = (("x", "y", "z"), ("-x", "-y", "z"), ("y", "-x", "z"), ("-y", "x", "z"), ("z", "x", "y"), ("-z", "x", "-y"))
    for face in faces:
        normal, right, up = (_direction(name) for name in face)
        square = np.array([[s * right + t * up + normal for s in (-1.0, 1.0)] for t in (-1.0, 1.0)]) * half
        uvs = np.array([[[u, v] for u in (0.0, 1.0)] for v in (0.0, 1.0)])
        parts.append(_grid(square, np.broadcast_to(normal, square.shape), uvs))
    return _joined(parts)


def _half_space() -> Surface:
    half = 0.5 * _HALF_SPACE_SIZE
    square = np.array([[[x, y, 0.0] for x in (-half, half)] for y in (-half, half)])
    uvs = np.array([[[u, v] for v in (1.0, 0.0)] for u in (0.0, 1.0)])
    return _grid(square, np.broadcast_to([0.0, 0.0, 1.0], square.shape), uvs)


# ---------------------------------------------------------------------- pieces


def _around() -> tuple[Array, Array]:
    """Longitudes around a side, from -Gy to +Gy and on to -Gy, and texture coordinates there."""
    angle = np.linspace(-np.pi, np.pi, _STEPS + 1)
    return 0.5 * np.pi + angle, np.abs(angle) / np.pi


def _direction(name: str) -> Array:
    return np.eye(3)["xyz".index(name[-1])] * (-1.0 if name[0] == "-" else 1.0)


def _grid(vertices: Array, normals: Array, uvs: Array) -> Surface:
    """A surface of rows of vertices, shape [rows, columns, 3]: counter-clockwise from outside if rows go up and columns
    to the right."""
    rows, columns, _ = vertices.shape
    number = np.arange(rows * columns).reshape(rows, columns)
    lower_left, lower_right = number[:-1, :-1].ravel(), number[:-1, 1:].ravel()
    upper_left, upper_right = number[1:, :-1].ravel(), number[1:, 1:].ravel()
    triangles = np.concatenate([
        np.column_stack([lower_left, lower_right, upper_right]),
        np.column_stack([lower_left, upper_right, upper_left]),
    ])  # fmt: skip
    lengths = np.linalg.norm(normals, axis=2, keepdims=True)
    return Surface(
        vertices.reshape(-1, 3).astype(np.float32),
        triangles,
        (normals / lengths).reshape(-1, 3).astype(np.float32),
        uvs.reshape(-1, 2).astype(np.float32),
    )


def _disk(a: float, b: float, z: float, up: Any) -> Surface:
    """An ellipse across Gz, with its normal along +Gz or -Gz, as `up` is 1 or -1."""
    angle = up * np.linspace(0.0, 2.0 * np.pi, _STEPS + 1)
    unit = np.concatenate([[[0.0, 0.0]], np.column_stack([np.cos(angle), np.sin(angle)])])
    i = np.arange(1, _STEPS + 1)
    vertices = np.column_stack([unit * [a, b], np.full(len(unit), z)])
    return Surface(
        vertices.astype(np.float32),
        np.column_stack([np.zeros_like(i), i, i + 1]),
        np.tile([0.0, 0.0, up], (len(unit), 1)).astype(np.float32),
        (0.5 + 0.5 * unit * [1.0, up]).astype(np.float32),
    )


def _joined(parts: list[Surface]) -> Surface:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Surface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts)]),
        np.concatenate([part.normals for part in parts if part.normals is not None]),
        np.concatenate([part.uvs for part in parts if part.uvs is not None]),
    )
