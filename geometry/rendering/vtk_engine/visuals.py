"""Visuals: what an engine knows about a geometry, from its shape and properties, without VTK."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework.common.source_location import warn_of_file
from merganser.geometry.properties import PerceptionProperties
from merganser.geometry.render_label import RenderLabel
from merganser.geometry.rendering.mesh_parts import (
    Material,
    Part,
    Surface,
    convex_parts,
    mesh_parts,
    picture_pixels,
)
from merganser.geometry.rgba import Rgba
from merganser.geometry.shapes import Convex, Mesh, Shape

__all__ = ["Visual", "VisualPart", "make_visual"]

_logger = logging.getLogger("merganser.geometry")


@dataclass(frozen=True, eq=False)
class VisualPart:
    """A surface and what it looks like; without a surface, the geometry's shape itself."""

    surface: Surface | None
    material: Material


@dataclass(frozen=True, eq=False)
class Visual:
    """What is to be drawn for one geometry; nothing of it changes."""

    shape: Shape
    label: RenderLabel
    parts: tuple[VisualPart, ...]

    def is_physical(self) -> bool:
        """Whether it has a material of glTF."""
        return any(part.material.is_physical for part in self.parts)


def make_visual(
    name: str, shape: Shape, properties: PerceptionProperties, label: RenderLabel, default_color: Any
) -> Visual:
    """What is to be drawn for a geometry.

    A mesh looks as its own materials say. Where it has none, the properties say it: a texture
    `('phong', 'diffuse_map')`, or the picture beside the mesh file that has its name and the extension .png, and a
    color `('phong', 'diffuse')`.

    Args:
        name: what messages call the geometry.
        shape: its shape.
        properties: its looks.
        label: its label.
        default_color: red, green, blue and opacity if there is neither color nor texture.

    Raises:
        TypeError, ValueError: a property has the wrong type.
        RuntimeError: a mesh cannot be read.
    """
    parts: list[Part | None] = [None]
    if isinstance(shape, Mesh):
        parts = [*mesh_parts(shape)]
    elif isinstance(shape, Convex):
        parts = [*convex_parts(shape)]
    given = _given_material(name, shape, properties, default_color)
    visual_parts = [
        VisualPart(None if part is None else part.surface, (part and part.material) or given) for part in parts
    ]
    ignored = [f"('phong', '{key}')" for key in ("diffuse", "diffuse_map") if properties.HasProperty("phong", key)]
    if ignored and all(part and part.material for part in parts):
        warn_of_file(_logger, f"{name}: the mesh has materials of its own; {' and '.join(ignored)} is not used.")
    return Visual(shape, label, tuple(visual_parts))


def _given_material(name: str, shape: Shape, properties: PerceptionProperties, default_color: Any) -> Material:
    """The material that properties describe."""
    texture = _texture(name, properties.GetPropertyOrDefault("phong", "diffuse_map", ""))
    if texture is None and isinstance(shape, Mesh) and shape.source().is_path():
        beside = shape.source().path().with_suffix(".png")
        texture = _texture(name, beside) if beside.is_file() else None
    usual = default_color if texture is None else Rgba()
    return Material(_color(name, properties.GetPropertyOrDefault("phong", "diffuse", usual)), texture)


def _color(name: str, value: Any) -> tuple[float, float, float, float]:
    color = Rgba()
    try:
        color.set(value.rgba if isinstance(value, Rgba) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise type(error)(f"{name}: the property ('phong', 'diffuse') is no color. {error}") from error
    return color.r(), color.g(), color.b(), color.a()


def _texture(name: str, path: Any) -> np.ndarray | None:
    """The picture in a file; None if there is none, with a warning if there should be."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name}: the property ('phong', 'diffuse_map') must be the name of a file; given {path!r}.")
    if not os.fspath(path):
        return None
    from PIL import Image as pillow

    try:
        with pillow.open(Path(path)) as picture:
            return picture_pixels(picture)
    except (OSError, RuntimeError, pillow.DecompressionBombError) as error:
        warn_of_file(_logger, f"{name}: the texture '{path}' could not be read, and is not used: {error}")
        return None
