"""The feature of a core that looks in a direction: where its points may slide, and how they turn with the direction.

The points of a core that are farthest along n are a vertex, an edge or a face. Along the *flat directions* u of an edge
or a face these points may slide while n stands still, and n follows the body as long as they do; across them a point of
a curved side moves by M dn as n turns by dn, with M = grad grad s the radii of curvature (supports.py):

    core         n along              flat directions             M
    segment      across it            its axis                    0
    box          across i of 3 axes   these axes                  0
    cylinder     its axis             across the axis             0
                 across it            its axis                    of the rim
                 elsewhere            none                        of the rim
    ellipsoid    anywhere             none                        its own
    cone         its axis             across the axis             0
                 across its side      the line from tip to rim    of the rim, times the height over that of the rim
    hull         on an edge or face   between its vertices        0
    half space   its axis             across the axis             0
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.proximity.layout import BOX, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL, SEGMENT, Hulls
from merganser.geometry.proximity.supports import curvatures, piece_point
from merganser.geometry.proximity.vectors import Vector3, tangents

__all__ = ["SupportFeature", "reach_along", "support_feature"]

Array = NDArray[Any]

# Normals stand across flat features to rounding, which is 1e-15 of the size of a pair over that of the feature; bodies
# that lean on each other by less than this angle [rad] are taken to be aligned.
_ALIGNED = 1e-9


class SupportFeature(NamedTuple):
    """What there is of a core around one of its points that are farthest along a direction, in the frame of the core.

    Attributes:
        flat: orthonormal directions in which the point may slide, shape [0 to 2, 3].
        radii: radii of curvature M there [m], shape [3, 3].
    """

    flat: Array
    radii: Array


def support_feature(g: Any, hulls: Hulls, n: Vector3, p: Vector3) -> SupportFeature:
    """Returns the feature of a core in the direction n.

    Args:
        g: the geometry, a record of geometry_dtype.
        hulls: vertices of hulls.
        n: unit vector.
        p: a point of the core that is as far along n as any [m].
    """
    kind, axes = g.kind, np.eye(3)
    is_across = np.abs(n) < _ALIGNED
    if kind == SEGMENT:
        return _straight(axes[2:] if is_across[2] else axes[:0])
    if kind == BOX:
        return _straight(axes[is_across])
    if kind == HALF_SPACE or (kind in (CYLINDER, CONE) and is_across[:2].all() and (kind == CYLINDER or n[2] > 0.0)):
        return _straight(axes[:2])
    if kind == CYLINDER:
        return SupportFeature(axes[2:] if is_across[2] else axes[:0], _radii(g, 1, n))
    if kind == ELLIPSOID:
        return SupportFeature(axes[:0], _radii(g, 0, n))
    if kind == CONE:
        return _of_cone(g, hulls, n, p)
    if kind == HULL:
        return _straight(_flat_directions(hulls.vertices[g.first_vertex : g.first_vertex + g.num_vertices], n))
    return _straight(axes[:0])


def _straight(flat: Array) -> SupportFeature:
    return SupportFeature(flat, np.zeros((3, 3)))


def _radii(g: Any, piece: int, n: Vector3) -> Array:
    """M of a piece of a core."""
    E = np.array(tangents(n))
    uu, uv, vv = curvatures(g, piece, n, tuple(E[0].tolist()), tuple(E[1].tolist()))
    radii: Array = E.T @ np.array([[uu, uv], [uv, vv]]) @ E
    return radii


def _of_cone(g: Any, hulls: Hulls, n: Vector3, p: Vector3) -> SupportFeature:
    """The side, the rim or the tip of a cone, whose base looks elsewhere."""
    rim = np.array(piece_point(g, hulls, 1, n))
    above_tip = float(rim @ np.array(n)) / float(np.linalg.norm(rim))
    if abs(above_tip) < _ALIGNED:
        return SupportFeature((rim / np.linalg.norm(rim))[np.newaxis], p[2] / g.size_2 * _radii(g, 1, n))
    return SupportFeature(np.zeros((0, 3)), _radii(g, 1, n) if above_tip > 0.0 else np.zeros((3, 3)))


def _flat_directions(vertices: Array, n: Vector3) -> Array:
    """Orthonormal directions between those vertices that are farthest along n."""
    height = vertices @ np.array(n)
    top = int(height.argmax())
    sides = vertices - vertices[top]
    lengths = np.sqrt(np.einsum("ij,ij->i", sides, sides))
    sides = sides[(height[top] - height <= _ALIGNED * lengths) & (lengths > 0.0)]
    if not len(sides):
        return np.zeros((0, 3))
    sides /= lengths.max()
    _, sizes, directions = np.linalg.svd(sides, full_matrices=False)
    flat: Array = directions[:2][sizes[:2] > _ALIGNED * math.sqrt(len(sides))]
    return flat


def reach_along(g: Any, hulls: Hulls, p: Array, u: Array) -> tuple[float, float]:
    """How far a core goes on from one of its points, against a flat direction and along it.

    Args:
        g: the geometry, a record of geometry_dtype.
        hulls: vertices of hulls.
        p: the point [m].
        u: unit vector, flat at the point.

    Returns:
        Both lengths [m], the first not positive, the second not negative but for rounding.
    """
    if g.kind == HALF_SPACE:
        return -math.inf, math.inf
    if g.kind == HULL:
        planes = hulls.planes[g.first_face : g.first_face + g.num_faces]
        rises, heights = planes[:, :3] @ u, planes[:, 3] - planes[:, :3] @ p
        ahead, behind = rises > _ALIGNED, rises < -_ALIGNED
        return float((heights[behind] / rises[behind]).max()), float((heights[ahead] / rises[ahead]).min())
    low, high = -math.inf, math.inf
    if g.kind == CONE and abs(u[2]) > _ALIGNED:  # from the tip to the rim
        low, high = sorted((-p[2] / u[2], (g.size_2 - p[2]) / u[2]))
    elif g.kind in (CYLINDER, CONE) and abs(u[2]) <= _ALIGNED:  # across an ellipse
        axes = np.array([g.size_0, g.size_0 if g.kind == CYLINDER else g.size_1])
        x, d = p[:2] / axes, u[:2] / axes
        foot, half = -(x @ d) / (d @ d), math.sqrt(max(0.0, (1.0 - x @ x) * (d @ d) + (x @ d) ** 2)) / (d @ d)
        low, high = foot - half, foot + half
    else:
        for i, half in enumerate((g.size_0, g.size_1, g.size_2)):
            if abs(u[i]) > _ALIGNED:
                ends = sorted(((-half - p[i]) / u[i], (half - p[i]) / u[i]))
                low, high = max(low, ends[0]), min(high, ends[1])
    return float(low), float(high)
