"""Primitive shapes as three.js makes them; its cylinders are along y, and ours along z."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
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
