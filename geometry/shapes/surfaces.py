"""What shapes are drawn from: triangles with normals and texture coordinates for color images, points of round shapes
and boxes for drawings in a plane, and primitive shapes as three.js makes them.

The texture goes around spheres and ellipsoids by longitude, from Gx on, and around the sides of cylinders and capsules
from +Gy both ways to -Gy; its upper edge is at the top. Every face of a box has the whole of it, and so has a half
space, with its upper edge towards -Gx.
"""

from __future__ import annotations

import functools
import math
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


_NUM_AROUND, _NUM_ALONG = 32, 13  # points on a circle, and circles on a ball


def corners(width: float, depth: float, height: float) -> Array:
    """Of a box, shape [8, 3]."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return signs * [width / 2, depth / 2, height / 2]


def circle() -> Array:
    """On the unit circle around z, shape [n, 3]."""
    angles = np.arange(_NUM_AROUND) * (2 * math.pi / _NUM_AROUND)
    return np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_NUM_AROUND)])


def ball() -> Array:
    """On the unit ball, shape [n, 3]."""
    latitudes = np.linspace(-math.pi / 2, math.pi / 2, _NUM_ALONG)
    return np.concatenate([circle() * math.cos(each) + [0.0, 0.0, math.sin(each)] for each in latitudes])


def ends(points: Array, length: float) -> Array:
    """Points moved by half a length along z, up and down."""
    shift = np.array([0.0, 0.0, length / 2])
    return np.concatenate([points - shift, points + shift])


@functools.cache
def unit_sphere(level: int) -> tuple[Array, NDArray[np.int64]]:
    """Points on a sphere of radius 1 and triangles, counter-clockwise seen from outside."""
    if level == 0:
        points = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float64)
        around = [(i, (i + 1) % 4) for i in range(4)]
        return points, np.array([(i, j, 4) for i, j in around] + [(j, i, 5) for i, j in around])
    points, triangles = unit_sphere(level - 1)
    ends = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    middles = points[edges].sum(axis=1)
    middles /= np.linalg.norm(middles, axis=1)[:, None]
    ab, bc, ca = (which.reshape(-1, 3) + len(points)).T
    a, b, c = triangles.T
    corners = np.stack([a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca], axis=1)
    return np.vstack([points, middles]), corners.reshape(-1, 3)


Json = dict[str, Any]

_Y_TO_Z = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


class ThreeShape(NamedTuple):
    """A geometry of three.js.

    Attributes:
        geometry: in its JSON format.
        matrix: of the geometry in G, shape [4, 4]; None if it is there as it is.
        material: what its material has beside colors.
    """

    geometry: Json
    matrix: Array | None = None
    material: Json | None = None


def ball_geometry(radius: float) -> Json:
    """A ball."""
    return {"type": "SphereGeometry", "radius": radius, "widthSegments": 32, "heightSegments": 16}


def tube_geometry(bottom: float, top: float, height: float) -> Json:
    """A cylinder or a cone along y, with these radii."""
    return {
        "type": "CylinderGeometry", "radiusBottom": bottom, "radiusTop": top, "height": height, "radialSegments": 48,
    }  # fmt: skip


def turned() -> Array:
    """From a frame with its axis along y to one with its axis along z."""
    matrix = np.eye(4)
    matrix[:3, :3] = _Y_TO_Z
    return matrix
