"""URDF geometry: <visual>, <collision> and <material> elements."""

from __future__ import annotations

__all__ = ["UrdfGeometryReader", "read_origin"]

from dataclasses import dataclass, field

import numpy as np

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.parsing.description import FrictionDescription, GeometryDescription, ShapeDescription
from merganser.multibody.parsing.errors import Diagnostics, SourceLocation
from merganser.multibody.parsing.geometry_reader import (
    mesh_shape,
    positive,
    read_compliance,
    read_contact_numbers,
    read_friction,
    read_roles,
    read_texture,
    round_shape,
)
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.xml_reader import XmlNode


def read_origin(node: XmlNode | None) -> RigidTransform:
    """The pose in attributes `xyz` [m] and `rpy` [rad]; identity for what is missing."""
    if node is None:
        return RigidTransform()
    rpy = node.vector_attribute("rpy", 3, [0.0, 0.0, 0.0])
    return RigidTransform(RollPitchYaw(rpy), node.vector_attribute("xyz", 3, [0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class _Material:
    """A diffuse colour [r, g, b, a], None if there is none, and the path of a texture, empty if there is none."""

    rgba: np.ndarray | None
    texture: str
    location: SourceLocation

    def is_like(self, other: _Material) -> bool:
        return np.array_equal(self.rgba, other.rgba) and self.texture == other.texture  # type: ignore[arg-type]


@dataclass
class UrdfGeometryReader:
    """Reads the geometries of one <robot>; named materials live as long as it does."""

    package_map: PackageMap
    diagnostics: Diagnostics
    materials: dict[str, _Material] = field(default_factory=dict)

    def read_material(self, node: XmlNode) -> _Material:
        """The look that a <material> stands for, which it defines if it has a name.

        Raises:
            ParsingError: a name without a colour or texture, here or earlier; another colour earlier; or values outside
                [0, 1].
        """
        name = node.attributes.get("name", "")
        color, texture = node.find("color"), node.find("texture")
        if color is None and texture is None:
            if name and name not in self.materials:
                raise node.error(
                    f"material '{name}' has no <color>, and no material of that name was defined before."
                )
            return self.materials[name] if name else _Material(None, "", node.location)
        path = ""
        if texture is not None:
            uri = texture.require_attribute("filename")
            path = read_texture(texture, f"material '{name}'", uri, self.package_map, self.diagnostics)
        new = _Material(None if color is None else color.vector_attribute("rgba", 4), path, node.location)
        if color is not None and new.rgba is not None and (new.rgba.min() < 0 or new.rgba.max() > 1):
            raise color.error(f"the colour is {new.rgba.tolist()}; each value has to be in [0, 1].")
        earlier = self.materials.setdefault(name, new) if name else new
        if not earlier.is_like(new):
            raise node.error(f"material '{name}' was given another colour or texture at {earlier.location}.")
        return new

    def read_visuals(self, link: XmlNode) -> list[GeometryDescription]:
        """The <visual> elements of a link."""
        visuals = []
        for node, name, shape in self._named_shapes(link, "visual"):
            material = node.find("material")
            look = _Material(None, "", node.location) if material is None else self.read_material(material)
            X_BG = read_origin(node.find("origin"))
            roles = read_roles(node, self.diagnostics)
            if roles["is_illustrated"] or roles["is_perceived"]:
                visuals.append(
                    GeometryDescription(
                        name, X_BG, shape, node.location, rgba=look.rgba, diffuse_map=look.texture, **roles
                    )
                )
        return visuals

    def read_collisions(self, link: XmlNode) -> list[GeometryDescription]:
        """The <collision> elements of a link."""
        collisions = []
        for node, name, shape in self._named_shapes(link, "collision"):
            properties = node.find_or_empty("drake:proximity_properties")
            collisions.append(
                GeometryDescription(
                    name,
                    read_origin(node.find("origin")),
                    shape,
                    node.location,
                    friction=read_friction(properties) or FrictionDescription(),
                    contact=read_contact_numbers(properties),
                    compliance=read_compliance(properties),
                )
            )
        return collisions

    def _named_shapes(self, link: XmlNode, role: str) -> list[tuple[XmlNode, str, ShapeDescription]]:
        """Elements of a role with unique names; a nameless geometry is called after its shape."""
        taken: set[str] = set()
        found = []
        for node in link.find_all(role):
            shape = self._read_shape(node.require("geometry"))
            wanted = node.attributes.get("name") or shape.kind
            name, count = wanted, 0
            while name in taken:
                count += 1
                name = f"{wanted}_{count}"
            if count and "name" in node.attributes:
                self.diagnostics.warn(
                    node.location, f"{role} name '{wanted}' is taken in {link.describe()}; using '{name}'."
                )
            taken.add(name)
            found.append((node, name, shape))
        return found

    def _read_shape(self, geometry: XmlNode) -> ShapeDescription:
        """The one shape inside <geometry>."""
        for node in geometry.children:
            match node.tag.removeprefix("drake:"):
                case "box":
                    size = node.vector_attribute("size", 3)
                    return ShapeDescription("Box", positive(node, "box", dict(zip("xyz", size))))
                case "sphere":
                    return self._round(node, "Sphere", "radius")
                case "cylinder":
                    return self._round(node, "Cylinder", "radius", "length")
                case "capsule":
                    return self._round(node, "Capsule", "radius", "length")
                case "ellipsoid":
                    return self._round(node, "Ellipsoid", "a", "b", "c")
                case "mesh":
                    scale = node.vector_attribute("scale", (1, 3), [1.0])
                    return mesh_shape(node, node.require_attribute("filename"), scale, self.package_map)
        found = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
        raise geometry.error(
            f"<geometry> holds {found}; expected one of box, sphere, cylinder, mesh, drake:capsule, "
            "drake:ellipsoid."
        )

    def _round(self, node: XmlNode, kind: str, *names: str) -> ShapeDescription:
        dimensions = {name: node.float_attribute(name) for name in names}
        return round_shape(node, kind, dimensions)
