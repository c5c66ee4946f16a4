"""Where rays hit shapes.

A ray is o + t d in the shape's frame G, t >= 0, with the unit vector d. It is in a convex shape for t_in <= t <= t_out,
and hits its surface at t_in, or at t_out if it begins inside. It hits a triangle with corners p_i, e_i = p_i - p_0, at

    o + t d = p_0 + u e_1 + v e_2,   0 <= u, v, u + v <= 1                                (1)

from either side.

Source of (1): T. Moeller, B. Trumbore, Fast, Minimum Storage Ray/Triangle Intersection (1997).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.ids import FrameId, GeometryId
from merganser.geometry.meshes import read_surface_mesh
from merganser.geometry.roles import Role
from merganser.geometry.shapes import Box, Capsule, Convex, Cylinder, Ellipsoid, HalfSpace, Mesh, Shape, Sphere

if TYPE_CHECKING:
    from merganser.geometry.inspector import SceneGraphInspector
    from merganser.geometry.query_object import QueryObject

__all__ = ["RayCaster", "distance_along_ray"]

Array = NDArray[np.float64]
Interval = tuple[float, float]
_NOWHERE: Interval = (math.inf, -math.inf)
_ROLES = (Role.kProximity, Role.kIllustration)


class RayCaster:
    """Casts rays at the geometries of a scene graph that can be touched or are drawn, but for those without opacity.

    Meshes are hit at their triangles, convex ones at their hull; cones and deformable geometries are not hit.
    """

    def __init__(self) -> None:
        self._version: Any = None
        self._solids: list[tuple[GeometryId, FrameId, Shape | Array]] = []

    def distance(self, query: QueryObject, p_WR: Array, d_W: Array, ignored: Collection[FrameId] = ()) -> float:
        """The distance to the nearest hit [m], infinite if there is none.

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
            (geometry, inspector.GetFrameId(geometry), _solid(inspector, geometry))
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


def _solid(inspector: SceneGraphInspector, geometry: GeometryId) -> Shape | Array:
    """A shape, or triangles of shape [n, 3, 3]."""
    shape = inspector.GetShape(geometry)
    if isinstance(shape, Convex) and (hull := inspector.GetConvexHull(geometry)) is not None:
        corners = [hull.vertex(i) for i in range(hull.num_vertices())]
        faces = [hull.element(i) for i in range(hull.num_elements())]
        fans = [(f.vertex(0), f.vertex(k), f.vertex(k + 1)) for f in faces for k in range(1, f.num_vertices() - 1)]
        return np.array(corners)[np.array(fans)]
    if isinstance(shape, (Mesh, Convex)):
        mesh = read_surface_mesh(shape.source())
        return np.asarray((mesh.vertex_array() * shape.scale3())[mesh.triangle_array()])
    return shape


def distance_along_ray(solid: Shape | Array, o: Array, d: Array) -> float:
    """t of the first point of a surface [m], infinite if the ray misses it.

    Args:
        solid: a shape, or triangles of shape [n, 3, 3].
        o, d: the ray in G, d of length 1, shape [3].
    """
    if isinstance(solid, np.ndarray):
        return _first_triangle(solid, o, d)
    if isinstance(solid, HalfSpace):
        if not d[2] < 0.0:
            return math.inf
        return -o[2] / d[2] if o[2] >= 0.0 else math.inf
    t_in, t_out = _inside(solid, o, d)
    if t_in > t_out or t_out < 0.0:
        return math.inf
    return t_in if t_in >= 0.0 else t_out


def _inside(shape: Shape, o: Array, d: Array) -> Interval:
    """For which t a line is in a convex shape; nowhere for shapes that are not known."""
    match shape:
        case Sphere():
            return _quadric(o, d, np.full(3, shape.radius() ** -2.0))
        case Ellipsoid():
            return _quadric(o, d, np.array([shape.a(), shape.b(), shape.c()]) ** -2.0)
        case Box():
            return _both(*(_slab(o[i], d[i], 0.5 * float(shape.size()[i])) for i in range(3)))
        case Cylinder() | Capsule():
            half, weights = 0.5 * shape.length(), np.array([1.0, 1.0, 0.0]) * shape.radius() ** -2.0
            body = _both(_quadric(o, d, weights), _slab(o[2], d[2], half))
            if isinstance(shape, Cylinder):
                return body
            ball = np.full(3, shape.radius() ** -2.0)
            parts = [body, *(_quadric(o - [0.0, 0.0, z], d, ball) for z in (-half, half))]
            return min(part[0] for part in parts), max(part[1] for part in parts)
    return _NOWHERE


def _quadric(o: Array, d: Array, weights: Array) -> Interval:
    """Where sum(weights (o + t d)^2) <= 1."""
    a, b, c = float(weights * d @ d), float(weights * o @ d), float(weights * o @ o) - 1.0
    if a <= 1e-15 * float(weights.max()):  # along a cylinder
        return (-math.inf, math.inf) if c <= 0.0 else _NOWHERE
    square = b * b - a * c
    if square < 0.0:
        return _NOWHERE
    root = math.sqrt(square)
    return (-b - root) / a, (-b + root) / a


def _slab(o: float, d: float, half: float) -> Interval:
    """Where |o + t d| <= half."""
    if d == 0.0:
        return (-math.inf, math.inf) if abs(o) <= half else _NOWHERE
    ends = (-half - o) / d, (half - o) / d
    return min(ends), max(ends)


def _both(*intervals: Interval) -> Interval:
    t_in, t_out = max(i[0] for i in intervals), min(i[1] for i in intervals)
    return (t_in, t_out) if t_in <= t_out else _NOWHERE


def _first_triangle(corners: Array, o: Array, d: Array) -> float:
    """Equation (1)."""
    e_1, e_2, p = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], o - corners[:, 0]
    normal = np.cross(d, e_2)
    with np.errstate(all="ignore"):
        inverse = 1.0 / np.einsum("ni,ni->n", normal, e_1)
        across = np.cross(p, e_1)
        u, v = inverse * np.einsum("ni,ni->n", normal, p), inverse * (across @ d)
        t = inverse * np.einsum("ni,ni->n", across, e_2)
        hits = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0) & np.isfinite(t)
    return float(t[hits].min()) if hits.any() else math.inf
