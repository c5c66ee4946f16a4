"""Random shapes, independent support functions of them, and a slow search for the least of their sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    MeshcatCone,
    Shape,
    Sphere,
)

KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "cone", "convex")


def random_shape(kind: str, rng: np.random.Generator, folder: Path) -> Shape:
    a, b, c = rng.uniform(0.03, 0.1, 3)
    if kind == "convex":
        return Convex(write_obj(rng.uniform(-0.1, 0.1, (12, 3)), folder / f"hull_{rng.integers(1 << 30)}.obj"))
    return {
        "sphere": lambda: Sphere(a),
        "capsule": lambda: Capsule(a, 2.0 * b),
        "box": lambda: Box(2.0 * a, 2.0 * b, 2.0 * c),
        "cylinder": lambda: Cylinder(a, 2.0 * b),
        "ellipsoid": lambda: Ellipsoid(a, b, c),
        "cone": lambda: MeshcatCone(2.0 * a, b, c),
    }[kind]()


def write_obj(vertices: Any, path: Path) -> Path:
    """Writes a file of the vertices and of the triangles around them."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(vertices)
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in np.asarray(vertices)]
    for triangle, plane in zip(hull.simplices, hull.equations):
        i, j, k = triangle
        if np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i]) @ plane[:3] < 0.0:
            j, k = k, j
        lines.append(f"f {i + 1} {j + 1} {k + 1}")
    path.write_text("\n".join(lines) + "\n")
    return path


def support(shape: Shape, n: Any) -> Any:
    """h(n) = max over x in the shape of n . x, for unit vectors n in its own frame, shape [m, 3]."""
    across = np.hypot(n[:, 0], n[:, 1])
    if isinstance(shape, Sphere):
        return np.full(len(n), shape.radius())
    if isinstance(shape, Capsule):
        return shape.radius() + 0.5 * shape.length() * abs(n[:, 2])
    if isinstance(shape, Box):
        return abs(n) @ shape.size() / 2.0
    if isinstance(shape, Cylinder):
        return shape.radius() * across + 0.5 * shape.length() * abs(n[:, 2])
    if isinstance(shape, Ellipsoid):
        return np.linalg.norm(n * [shape.a(), shape.b(), shape.c()], axis=1)
    if isinstance(shape, MeshcatCone):
        return np.maximum(0.0, shape.height() * n[:, 2] + np.hypot(shape.a() * n[:, 0], shape.b() * n[:, 1]))
    return (n @ shape.GetConvexHull().vertex_array().T).max(axis=1)


def gap(shapes: Any, X_WG: Any, n_W: Any) -> Any:
    """h_A(n) + h_B(-n) of two posed shapes, for unit vectors n in W."""
    (shape_a, shape_b), (X_WA, X_WB) = shapes, X_WG
    p_AB_W = X_WB[:3, 3] - X_WA[:3, 3]
    return support(shape_a, n_W @ X_WA[:3, :3]) + support(shape_b, -n_W @ X_WB[:3, :3]) - n_W @ p_AB_W


def least_gap(shapes: Any, X_WG: Any, num_starts: int = 4) -> float:
    """The least of `gap` over the sphere, by sampling and a pattern search from the best samples; an upper bound."""
    i = np.arange(1000) + 0.5
    polar, azimuth = np.arccos(1.0 - 2.0 * i / 1000.0), np.pi * (1.0 + 5.0**0.5) * i
    samples = np.c_[np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)]
    values = gap(shapes, X_WG, samples)
    starts: list[Any] = []
    for k in values.argsort():
        if len(starts) < num_starts and all(samples[k] @ start < 0.97 for start in starts):
            starts.append(samples[k])
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    best = np.inf
    for n in starts:
        value, step = gap(shapes, X_WG, n[None])[0], 0.05
        while step > 1e-8:
            e = np.linalg.svd(n[None])[2][1:]
            around = n + step * (np.c_[np.cos(angles), np.sin(angles)] @ e)
            around /= np.linalg.norm(around, axis=1)[:, None]
            there = gap(shapes, X_WG, around)
            if there.min() < value:
                value, n = there.min(), around[there.argmin()]
            else:
                step *= 0.5
        best = min(best, value)
    return best


def random_poses(n: int, rng: np.random.Generator, spread: float) -> Any:
    """Random X_WG, shape [n, 4, 4], with positions in a cube."""
    X_WG = np.tile(np.eye(4), (n, 1, 1))
    for X in X_WG:
        Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
        Q = Q * np.sign(np.diag(R))
        X[:3, :3] = Q * np.linalg.det(Q)
        X[:3, 3] = rng.uniform(-spread, spread, 3)
    return X_WG
