"""What surfaces of shapes are made of: triangles with normals and texture coordinates, for color images.

The texture goes around spheres and ellipsoids by longitude, from Gx on, and around the sides of cylinders and capsules
from +Gy both ways to -Gy; its upper edge is at the top. Every face of a box has the whole of it, and so has a half
space, with its upper edge towards -Gx.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Floats = NDArray[np.float32]

STEPS = 50  # around a round shape
STEPS_UP = 50  # from pole to pole


class DrawnSurface(NamedTuple):
    """Triangles of a shape in G.

    Attributes:
        vertices: positions [m], shape [n, 3].
        triangles: vertices of each, counter-clockwise seen from outside, shape [m, 3].
        normals: at the vertices, of unit length, shape [n, 3]; None for flat triangles.
        uvs: texture coordinates, from the lower left corner of a picture, shape [n, 2]; None without texture.
    """

    vertices: Floats
    triangles: NDArray[np.int64]
    normals: Floats | None = None
    uvs: Floats | None = None


def ellipsoid_surface(a: float, b: float, c: float) -> DrawnSurface:
    """An ellipsoid of these semi-axes [m]."""
    longitude, latitude = np.linspace(0.0, 2.0 * np.pi, STEPS + 1), np.linspace(-0.5 * np.pi, 0.5 * np.pi, STEPS_UP)
    cos, sin = np.cos(latitude)[:, None], np.sin(latitude)[:, None]
    unit = np.stack([cos * np.cos(longitude), cos * np.sin(longitude), sin + 0.0 * longitude], axis=2)
    uvs = np.stack(np.meshgrid(longitude / (2.0 * np.pi), latitude / np.pi + 0.5), axis=2)
    return grid(unit * [a, b, c], unit / [a, b, c], uvs)


def around() -> tuple[Array, Array]:
    """Longitudes around a side, from -Gy to +Gy and on to -Gy, and texture coordinates there."""
    angle = np.linspace(-np.pi, np.pi, STEPS + 1)
    return 0.5 * np.pi + angle, np.abs(angle) / np.pi


def direction(name: str) -> Array:
    return np.eye(3)["xyz".index(name[-1])] * (-1.0 if name[0] == "-" else 1.0)


def grid(vertices: Array, normals: Array, uvs: Array) -> DrawnSurface:
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
    return DrawnSurface(
        vertices.reshape(-1, 3).astype(np.float32),
        triangles,
        (normals / lengths).reshape(-1, 3).astype(np.float32),
        uvs.reshape(-1, 2).astype(np.float32),
    )


def disk(a: float, b: float, z: float, up: Any) -> DrawnSurface:
    """An ellipse across Gz, with its normal along +Gz or -Gz, as `up` is 1 or -1."""
    angle = up * np.linspace(0.0, 2.0 * np.pi, STEPS + 1)
    unit = np.concatenate([[[0.0, 0.0]], np.column_stack([np.cos(angle), np.sin(angle)])])
    i = np.arange(1, STEPS + 1)
    vertices = np.column_stack([unit * [a, b], np.full(len(unit), z)])
    return DrawnSurface(
        vertices.astype(np.float32),
        np.column_stack([np.zeros_like(i), i, i + 1]),
        np.tile([0.0, 0.0, up], (len(unit), 1)).astype(np.float32),
        (0.5 + 0.5 * unit * [1.0, up]).astype(np.float32),
    )


def joined(parts: list[DrawnSurface]) -> DrawnSurface:
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return DrawnSurface(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts)]),
        np.concatenate([part.normals for part in parts if part.normals is not None]),
        np.concatenate([part.uvs for part in parts if part.uvs is not None]),
    )
