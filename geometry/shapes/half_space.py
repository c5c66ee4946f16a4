"""A half space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.shapes.lines import NOWHERE
from merganser.geometry.shapes.shape import Core, Shape, ShapeKind
from merganser.geometry.shapes.surfaces import DrawnSurface, ThreeShape, corners, grid

_MIN_NORMAL_LENGTH = 1e-10
_SIZE = 100.0  # of the square that images show for it [m]
_DRAWN = 50.0  # of the one that browsers show [m]


def _surface() -> DrawnSurface:
    half = 0.5 * _SIZE
    square = np.array([[[x, y, 0.0] for x in (-half, half)] for y in (-half, half)])
    uvs = np.array([[[u, v] for v in (1.0, 0.0)] for u in (0.0, 1.0)])
    return grid(square, np.broadcast_to([0.0, 0.0, 1.0], square.shape), uvs)


def _three() -> ThreeShape:
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}  # the grid lies in it
    return ThreeShape({"type": "PlaneGeometry", "width": _DRAWN, "height": _DRAWN}, None, behind)


class HalfSpace(Shape):
    """Everything below the plane z = 0 of G; the surface normal is Gz."""

    __slots__ = ()
    kind = ShapeKind(
        core=lambda shape: Core("half space", bound=math.inf),
        volume=lambda shape: math.inf,
        interval=lambda shape, o, d: (-o[2] / d[2], math.inf) if d[2] < 0.0 else NOWHERE,
        outline=lambda shape: corners(100.0, 100.0, 1.0) - [0.0, 0.0, 0.5],
        surface=lambda shape: _surface(),
        three=lambda shape: _three(),
    )

    @staticmethod
    def MakePose(Hz_dir_F: ArrayLike, p_FB: ArrayLike) -> RigidTransform:
        """Returns the pose X_FH of a half space H, given its surface normal and a point B on its surface.

        Ho is the point of the surface that is nearest to Fo; Hx and Hy are any two directions in the plane.

        Args:
            Hz_dir_F: direction of the surface normal, in F, of any length; shape [3].
            p_FB: position of any point of the surface, in F [m]; shape [3].

        Raises:
            RuntimeError: the normal is shorter than 1e-10.
        """
        normal = np.asarray(Hz_dir_F, dtype=np.float64).reshape(3)
        length = float(np.linalg.norm(normal))
        if not length >= _MIN_NORMAL_LENGTH:
            message = f"a surface normal of length {_MIN_NORMAL_LENGTH} or more; given {normal.tolist()}"
            raise RuntimeError(f"HalfSpace.MakePose() needs {message}.")
        Hz_F = normal / length
        p_FHo = (Hz_F @ np.asarray(p_FB, dtype=np.float64).reshape(3)) * Hz_F
        half_turn = RotationMatrix(np.diag([-1.0, -1.0, 1.0]))  # Hx as Drake chooses it
        return RigidTransform(RotationMatrix.MakeFromOneVector(Hz_F, 2) @ half_turn, p_FHo)

    def _arguments(self) -> dict[str, Any]:
        return {}
