"""Where rays hit shapes.

A ray is o + t d in the shape's frame G, t >= 0, with the unit vector d. It is in a convex shape for t_in <= t <= t_out,
and hits its surface at t_in, or at t_out if it begins inside. How it hits triangles is in shapes/lines.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.registration.ids import FrameId, GeometryId
from merganser.geometry.registration.roles import Role
from merganser.geometry.shapes.lines import first_triangle
from merganser.geometry.shapes.measures import triangles_of
from merganser.geometry.shapes.shape import Shape

if TYPE_CHECKING:
    from merganser.geometry.scene.inspector import SceneGraphInspector
    from merganser.geometry.scene.query_object import QueryObject

Array = NDArray[np.float64]
_ROLES = (Role.kProximity, Role.kIllustration)


class RayCaster:
    """Casts rays at the geometries of a scene graph that can be touched or are drawn, but for those without opacity.

    Shapes whose kind has no `interval` are hit at their triangles; cones and deformable geometries are not hit.
    """

    def __init__(self) -> None:
        self._version: Any = None
        self._solids: list[tuple[GeometryId, FrameId, Shape | Array]] = []

    def distance(self, query: QueryObject, p_WR: Array, d_W: Array, ignored: Collection[FrameId] = ()) -> float:
        """The distance to the nearest hit [m], infinite if nothing is hit.

        Args:
            query: of the scene graph.
            p_WR: where the ray begins [m], shape [3].
            d_W: in which direction it goes, a unit vector of shape [3].
            ignored: frames whose geometries it passes.

        Raises:
            RuntimeError: the query object belongs to no Context; or a mesh cannot be read.
        """
        self._look_at(query.inspector())
        nearest = math.inf
        for geometry, frame, solid in self._solids:
            if frame not in ignored:
                X_GW = query.GetPoseInWorld(geometry).inverse()
                hit = distance_along_ray(solid, X_GW @ p_WR, X_GW.rotation() @ d_W)
                nearest = min(nearest, hit)
        return nearest

    def _look_at(self, inspector: SceneGraphInspector) -> None:
        """Finds the geometries, if they are not those of the last time."""
        version = inspector.geometry_version()
        if self._version is not None and all(version.IsSameAs(self._version, role) for role in _ROLES):
            return
        found = dict.fromkeys(geometry for role in _ROLES for geometry in inspector.GetAllGeometryIds(role))
        self._solids = [
            (geometry, inspector.GetFrameId(geometry), solid_of(inspector.GetShape(geometry)))
            for geometry in found
            if _is_seen(inspector, geometry)
        ]
        self._version = type(version)(version)


def _is_seen(inspector: SceneGraphInspector, geometry: GeometryId) -> bool:
    """Whether a geometry touches others, or is drawn and not transparent."""
    look = inspector.GetIllustrationProperties(geometry)
    if look is None or inspector.GetProximityProperties(geometry) is not None:
        return not inspector.IsDeformableGeometry(geometry)
    return not (look.HasProperty("phong", "diffuse") and look.GetProperty("phong", "diffuse").a() == 0.0)


def solid_of(shape: Shape) -> Shape | Array:
    """A shape, or triangles of shape [n, 3, 3]."""
    if shape.kind.interval is not None:
        return shape
    vertices, triangles = triangles_of(shape)
    return np.asarray(vertices[triangles])


def distance_along_ray(solid: Shape | Array, o: Array, d: Array) -> float:
    """t of the first point of a surface [m], infinite if the ray misses it.

    Args:
        solid: a shape, or triangles of shape [n, 3, 3].
        o, d: the ray in G, d of length 1, shape [3].
    """
    if isinstance(solid, np.ndarray):
        return first_triangle(solid, o, d)
    assert solid.kind.interval is not None
    t_in, t_out = solid.kind.interval(solid, o, d)
    if t_in > t_out or t_out < 0.0:
        return math.inf
    return t_in if t_in >= 0.0 else t_out
