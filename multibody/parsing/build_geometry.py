"""Geometries of descriptions as the plant registers them, and pictures whose brightness is a height."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from merganser import geometry
from merganser.geometry import (
    AddContactMaterial,
    GeometryInstance,
    IllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Rgba,
)
from merganser.multibody.parsing.description import GeometryDescription, ShapeDescription
from merganser.multibody.plant import CoulombFriction


def make_shape(shape: ShapeDescription) -> geometry.Shape:
    """The shape that a description describes."""
    if shape.terrain is not None:
        return shape.terrain
    shape_class = getattr(geometry, shape.kind)
    if shape.file or shape.mesh is not None:
        return shape_class(shape.mesh or shape.file, scale3=np.array(shape.dimensions))
    return shape_class(*shape.dimensions)


def make_visual(visual: GeometryDescription) -> GeometryInstance:
    """A geometry with its illustration and perception roles."""
    instance = GeometryInstance(visual.X_BG, make_shape(visual.shape), visual.name)
    look = PerceptionProperties()
    if visual.rgba is not None:
        look.AddProperty("phong", "diffuse", Rgba(*visual.rgba))
    for name, color in visual.other_colors.items():
        look.AddProperty("phong", name, Rgba(*color))
    if visual.diffuse_map:
        look.AddProperty("phong", "diffuse_map", visual.diffuse_map)
    if visual.is_illustrated:
        instance.set_illustration_properties(IllustrationProperties(look))
    if visual.is_perceived:
        if visual.renderers:
            look.AddProperty("renderer", "accepting", tuple(sorted(visual.renderers)))
        instance.set_perception_properties(look)
    return instance


def make_proximity_properties(collision: GeometryDescription) -> ProximityProperties:
    """Proximity properties: friction, and other contact properties of a file."""
    properties = ProximityProperties()
    if collision.friction is not None:
        friction = CoulombFriction(collision.friction.static, collision.friction.dynamic)
        AddContactMaterial(properties, friction=friction)
    for (group, name), value in collision.contact.items():
        properties.AddProperty(group, name, value)
    if collision.compliance is not None:
        properties.AddProperty("hydroelastic", "compliance_type", collision.compliance)
    return properties


def read_brightness(path: Path, most: int) -> np.ndarray:
    """The brightness of the pixels of a PNG file, 0 to 255, the lowest row first; shape [rows, columns].

    Raises:
        RuntimeError: the picture has more than `most` pixels.
    """
    from PIL import Image  # comes with matplotlib

    with Image.open(path, formats=["PNG"]) as picture:
        if picture.width * picture.height > most:
            raise RuntimeError(f"'{path}' has {picture.width} x {picture.height} pixels; {most} may be there.")
        return np.asarray(picture.convert("L"), dtype=np.float64)[::-1]
