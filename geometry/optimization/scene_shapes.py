"""Geometries of a SceneGraph, for sets that are made of them."""

from __future__ import annotations

__all__ = ["OF_SCENE", "is_query_object", "shape_in_frame"]

from typing import Any

OF_SCENE = ("query_object", "geometry_id", "reference_frame")  # of constructors; the last may be left out


def is_query_object(value: Any) -> bool:
    """Whether this asks a SceneGraph."""
    return hasattr(value, "inspector") and hasattr(value, "GetPoseInWorld")


def shape_in_frame(where: str, given: dict[str, Any], *kinds: str) -> tuple[Any, Any]:
    """The shape of a geometry G, and its pose X_EG in the reference frame E; by default E is the world.

    Args:
        where: for errors.
        given: values by the names OF_SCENE.
        kinds: names of classes of shapes that are expected.

    Raises:
        RuntimeError: the shape is another one, or an id is not registered.
    """
    query, geometry_id = given["query_object"], given["geometry_id"]
    frame = given.get("reference_frame")
    shape = query.inspector().GetShape(geometry_id)
    kind = type(shape).__name__
    if kind not in kinds:
        raise RuntimeError(
            f"{where}: geometry '{query.inspector().GetName(geometry_id)}' is a {kind}; expected {' or '.join(kinds)}."
        )
    X_WG = query.GetPoseInWorld(geometry_id)
    return shape, X_WG if frame is None else query.GetPoseInWorld(frame).inverse() @ X_WG
