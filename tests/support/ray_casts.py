"""Images of a camera, by one ray for each pixel at shapes, in closed forms of their own.

A ray is o + t d in the shape's frame G, where d has a component of 1 along the viewing direction, so that t is the
depth. A solid is hit where the ray enters it, or where it leaves it if it enters before the near plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, MeshcatCone, Shape, Sphere
from merganser.geometry.sensors import CameraInfo

Array = np.ndarray[Any, Any]
HALF_SPACE_SIZE = 100.0


@dataclass(frozen=True)
class Solid:
    """A shape, or triangles of shape [n, 3, 3] in place of one, with a pose and a label."""

    shape: Shape | Array
    X_WG: RigidTransform
    label: int


@dataclass(frozen=True)
class Seen:
    """Depths, infinite where there is nothing, and labels, -1 there; shape [height, width]."""

    depths: Array
    labels: Array


def camera_rays(info: CameraInfo, shift: tuple[float, float] = (0.0, 0.0)) -> Array:
    """Directions of the rays through the pixels, or through points beside their centers, in the camera frame."""
    u, v = np.meshgrid(np.arange(info.width()) + shift[0], np.arange(info.height()) + shift[1])
    x, y = (u - info.center_x()) / info.focal_x(), (v - info.center_y()) / info.focal_y()
    return np.stack([x, y, np.ones_like(x)], axis=2)


def cast_rays(
    solids: list[Solid],
    info: CameraInfo,
    X_WC: RigidTransform,
    near: float,
    far: float,
    shift: tuple[float, float] = (0.0, 0.0),
) -> Seen:
    """The part of an image between two distances."""
    d_W = camera_rays(info, shift) @ X_WC.rotation().matrix().T
    seen = Seen(np.full(d_W.shape[:2], np.inf), np.full(d_W.shape[:2], -1))
    for solid in solids:
        R_WG = solid.X_WG.rotation().matrix()
        o, d = (X_WC.translation() - solid.X_WG.translation()) @ R_WG, d_W @ R_WG
        with np.errstate(all="ignore"):
            if isinstance(solid.shape, np.ndarray):
                depth = _triangles(solid.shape, o, d, near)
            else:
                t_in, t_out = _interval(solid.shape, o, d)
                depth = np.where(t_in >= near, t_in, t_out)
                depth = np.where((t_in <= t_out) & (depth >= near), depth, np.inf)
        is_nearer = (depth <= far) & (depth < seen.depths)
        seen.depths[is_nearer] = depth[is_nearer]
        seen.labels[is_nearer] = solid.label
    return seen


def _interval(shape: Shape, o: Array, d: Array) -> tuple[Array, Array]:
    """Where the ray enters and leaves a solid; the other way around if it misses it."""
    if isinstance(shape, Sphere):
        return _quadric(o, d, np.full(3, shape.radius() ** -2.0), -1.0)
    if isinstance(shape, Ellipsoid):
        return _quadric(o, d, np.array([shape.a(), shape.b(), shape.c()]) ** -2.0, -1.0)
    if isinstance(shape, Box):
        return _overlap(*(_slab(o[i], d[..., i], 0.5 * shape.size()[i]) for i in range(3)))
    if isinstance(shape, Cylinder):
        return _cylinder(shape.radius(), shape.length(), o, d)
    if isinstance(shape, Capsule):
        caps = [_interval(Sphere(shape.radius()), o - [0, 0, s * shape.length() / 2], d) for s in (-1, 1)]
        return _union(_cylinder(shape.radius(), shape.length(), o, d), *caps)
    if isinstance(shape, HalfSpace):
        t = -o[2] / d[..., 2]
        hit = o + t[..., None] * d
        t = np.where((np.abs(hit[..., :2]) <= 0.5 * HALF_SPACE_SIZE).all(axis=-1), t, np.nan)
        return t, t
    assert isinstance(shape, MeshcatCone)
    h, weights = shape.height(), np.array([shape.a() ** -2.0, shape.b() ** -2.0, -(shape.height() ** -2.0)])
    slab = _slab(o[2] - 0.5 * h, d[..., 2], 0.5 * h)
    a, b, c = (weights * d * d).sum(-1), (weights * o * d).sum(-1), (weights * o * o).sum()
    root = np.sqrt(b * b - a * c)
    t_1, t_2 = np.minimum((-b - root) / a, (-b + root) / a), np.maximum((-b - root) / a, (-b + root) / a)
    through_side = _overlap(slab, (t_1, t_2))
    before, after = _overlap(slab, (np.full_like(t_1, -np.inf), t_1)), _overlap(slab, (t_2, np.full_like(t_2, np.inf)))
    steep = _union(before, after)
    return tuple(np.where(a > 0.0, side, other) for side, other in zip(through_side, steep))  # type: ignore[return-value]


def _quadric(o: Array, d: Array, weights: Array, constant: float) -> tuple[Array, Array]:
    """Between the roots of sum(weights (o + t d)²) + constant = 0."""
    a, b, c = (weights * d * d).sum(-1), (weights * o * d).sum(-1), (weights * o * o).sum() + constant
    root = np.sqrt(b * b - a * c)
    return (-b - root) / a, (-b + root) / a


def _slab(o: float, d: Array, half: float) -> tuple[Array, Array]:
    t_a, t_b = (-half - o) / d, (half - o) / d
    return np.minimum(t_a, t_b), np.maximum(t_a, t_b)


def _cylinder(radius: float, length: float, o: Array, d: Array) -> tuple[Array, Array]:
    side = _quadric(o, d, np.array([radius**-2.0, radius**-2.0, 0.0]), -1.0)
    return _overlap(side, _slab(o[2], d[..., 2], 0.5 * length))


def _overlap(*intervals: tuple[Array, Array]) -> tuple[Array, Array]:
    t_in, t_out = np.maximum.reduce([i[0] for i in intervals]), np.minimum.reduce([i[1] for i in intervals])
    return t_in, np.where(np.isnan(t_in + t_out), -np.inf, t_out)


def _union(*intervals: tuple[Array, Array]) -> tuple[Array, Array]:
    """Of intervals that touch each other, or are empty."""
    starts = [np.where(t_in <= t_out, t_in, np.inf) for t_in, t_out in intervals]
    ends = [np.where(t_in <= t_out, t_out, -np.inf) for t_in, t_out in intervals]
    return np.minimum.reduce(starts), np.maximum.reduce(ends)


def _triangles(corners: Array, o: Array, d: Array, near: float) -> Array:
    """The nearest hit of triangles (Möller and Trumbore 1997)."""
    depth = np.full(d.shape[:2], np.inf)
    for p_0, p_1, p_2 in corners:
        e_1, e_2 = p_1 - p_0, p_2 - p_0
        cross = np.cross(d, e_2)
        determinant = cross @ e_1
        u = cross @ (o - p_0) / determinant
        q = np.cross(o - p_0, e_1)
        v, t = d @ q / determinant, e_2 @ q / determinant
        is_hit = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= near)
        depth = np.where(is_hit & (t < depth), t, depth)
    return depth
