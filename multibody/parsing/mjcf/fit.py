"""Primitives that MJCF files fit to meshes."""

from __future__ import annotations

__all__ = ["fitted_primitive"]

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.mjcf.mesh import MjcfMesh


def fitted_primitive(kind: str, mesh: MjcfMesh, by_box: bool) -> tuple[RigidTransform, list[float]]:
    """A primitive P in place of a mesh.

    Args:
        kind: sphere, capsule, cylinder, ellipsoid or box.
        mesh: in the frame G of its geometry.
        by_box: whether it fits the bounding box along the principal axes of inertia; or else the box of equal inertia.

    Returns:
        X_GP, and the sizes as MJCF has them [m].
    """
    mass = mesh.mass()
    moments, axes = np.linalg.eigh(mass.I_SScm_S)
    axes = axes[:, ::-1]  # the largest moment first
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    X_GP = RigidTransform(RotationMatrix.ProjectToRotationMatrix(axes), mass.p_SoScm_S)
    if by_box:
        points = (mesh.triangles.reshape(-1, 3) - mass.p_SoScm_S) @ axes
        low, high = points.min(axis=0), points.max(axis=0)
        X_GP = X_GP @ RigidTransform(0.5 * (low + high))
        half = 0.5 * (high - low)
    else:
        I1, I2, I3 = moments[::-1]
        squares = 6.0 * np.array([I2 + I3 - I1, I1 + I3 - I2, I1 + I2 - I3]) / mass.mass
        half = 0.5 * np.sqrt(np.maximum(squares, 0.0))
    return X_GP, _sizes(kind, half, by_box)


def _sizes(kind: str, half: np.ndarray, by_box: bool) -> list[float]:
    match kind:
        case "sphere":
            return [float(half.max() if by_box else half.mean())]
        case "box" | "ellipsoid":
            return [float(length) for length in half]
    radius = float(half[:2].max() if by_box else half[:2].mean())
    if kind == "cylinder":
        return [radius, float(half[2])]
    return [radius, max(0.0, float(half[2]) - (radius if by_box else 0.5 * radius))]
