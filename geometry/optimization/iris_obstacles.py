"""Geometries of a SceneGraph as obstacles."""

from __future__ import annotations

__all__ = ["MakeIrisObstacles"]

from typing import TYPE_CHECKING, Any

from merganser.geometry.optimization.cartesian_product import CartesianProduct
from merganser.geometry.optimization.convex_set import ConvexSet
from merganser.geometry.optimization.hpolyhedron import HPolyhedron
from merganser.geometry.optimization.hyperellipsoid import Hyperellipsoid
from merganser.geometry.optimization.minkowski_sum import MinkowskiSum
from merganser.geometry.optimization.point import Point
from merganser.geometry.optimization.vpolytope import VPolytope
from merganser.geometry.roles import Role

if TYPE_CHECKING:
    from merganser.geometry.ids import FrameId
    from merganser.geometry.query_object import QueryObject

_SETS: dict[str, Any] = {
    "Box": HPolyhedron,
    "Capsule": MinkowskiSum,
    "Convex": VPolytope,
    "Cylinder": CartesianProduct,
    "Ellipsoid": Hyperellipsoid,
    "HalfSpace": HPolyhedron,
    "Mesh": VPolytope,
    "Sphere": Hyperellipsoid,
}


def MakeIrisObstacles(query_object: QueryObject, reference_frame: FrameId | None = None) -> list[ConvexSet]:
    """All geometries with the proximity role as sets, where they are now; meshes as their convex hulls.

    Args:
        query_object: of the SceneGraph.
        reference_frame: in which the sets are; by default the world.

    Returns:
        A set of dimension 3 for each geometry, in the order of their ids.

    Raises:
        RuntimeError: there is no set for a shape; the message names its geometry.
    """
    inspector = query_object.inspector()
    obstacles: list[ConvexSet] = []
    for id in sorted(inspector.GetAllGeometryIds(Role.kProximity), key=lambda each: each.get_value()):
        shape: Any = inspector.GetShape(id)
        kind = type(shape).__name__
        if kind not in _SETS:
            raise RuntimeError(
                f"MakeIrisObstacles: geometry '{inspector.GetName(id)}' is a {kind}; there are sets for "
                f"{', '.join(_SETS)}. Remove its proximity role, or give it another shape."
            )
        make = Point if kind == "Sphere" and shape.radius() == 0.0 else _SETS[kind]
        obstacles.append(make(query_object, id, reference_frame))
    return obstacles
