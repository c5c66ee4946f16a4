"""URDF geometry: <visual>, <collision> and <material> elements."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.parsing.description import FrictionDescription, GeometryDescription, ShapeDescription
from merganser.multibody.parsing.errors import Diagnostics, SourceLocation
from merganser.multibody.parsing.urdf_and_sdf.geometry import (
    MeshReader,
    half_space_pose,
    in_pieces,
    positive,
    read_contact,
    read_friction,
    read_roles,
    read_texture,
    round_shape,
)
from merganser.multibody.parsing.xml_reader import XmlNode


def read_origin(node: XmlNode | None) -> RigidTransform:
    """The pose in attributes `xyz` [m] and `rpy` [rad]; identity for what is missing."""
    if node is None:
        return RigidTransform()
    rpy = node.vector_attribute("rpy", 3, [0.0, 0.0, 0.0])
    return RigidTransform(RollPitchYaw(rpy), node.vector_attribute("xyz", 3, [0.0, 0.0, 0.0]))


_UNSEEN = np.zeros(4)  # the colour of a named material that has a texture only, as in Drake


@dataclass(frozen=True)
class _Material:
    """A diffuse colour [r, g, b, a], None if not given, and the path of a texture, empty if not given."""

    rgba: np.ndarray | None
    texture: str
    location: SourceLocation

    def is_like(self, other: _Material) -> bool:
        return np.array_equal(self.rgba, other.rgba) and self.texture == other.texture  # type: ignore[arg-type]


@dataclass
class UrdfGeometryReader:
    """Reads the geometries of one <robot>; named materials live as long as it does."""

    meshes: MeshReader
    diagnostics: Diagnostics
    materials: dict[str, _Material] = field(default_factory=dict)

    def read_material(self, node: XmlNode) -> _Material:
        """The material of a <material> element, defined under its name if it has one.

        A warning names a material that is redefined differently, or is unknown.

        Raises:
            ParsingError: values of a colour are outside [0, 1].
        """
        name = node.attributes.get("name", "")
        color = node.find("color")
        path = self._read_texture(node, name)
        if color is None and not path:
            return self._known_material(node, name)
        rgba = None if color is None else color.vector_attribute("rgba", 4)
        if color is not None and rgba is not None and (rgba.min() < 0 or rgba.max() > 1):
            raise color.error(f"the colour is {rgba.tolist()}; each value has to be in [0, 1].")
        new = _Material(_UNSEEN if name and rgba is None else rgba, path, node.location)
        earlier = self.materials.setdefault(name, new) if name else new
        if not earlier.is_like(new):
            self.diagnostics.warn(
                node.location,
                f"material '{name}' had another colour or texture at {earlier.location}; here it has its own.",
            )
        return new

    def _read_texture(self, node: XmlNode, name: str) -> str:
        """The path of a texture; empty without one."""
        texture = node.find("texture")
        uri = "" if texture is None else texture.attributes.get("filename", "").strip()
        if texture is None or not uri:
            return ""
        return read_texture(texture, f"material '{name}'", uri, self.meshes.package_map, self.diagnostics)

    def _known_material(self, node: XmlNode, name: str) -> _Material:
        """The material of this name."""
        if name and name not in self.materials:
            self.diagnostics.warn(
                node.location,
                f"material '{name}' has no <color>, and no material of that name was defined before: the viewer "
                "chooses one.",
            )
        return self.materials.get(name, _Material(None, "", node.location))

    def read_visuals(self, link: XmlNode) -> list[GeometryDescription]:
        """The <visual> elements of a link, if a SceneGraph will take them."""
        visuals = []
        for node, name, shape, X_SG in self._named_shapes(link, "visual"):
            material = node.find("material")
            look = _Material(None, "", node.location) if material is None else self.read_material(material)
            X_BG = read_origin(node.find("origin")) @ X_SG
            roles = read_roles(node, self.diagnostics)
            if roles["is_illustrated"] or roles["is_perceived"]:
                visuals.append(
                    GeometryDescription(
                        name, X_BG, shape, node.location, rgba=look.rgba, diffuse_map=look.texture, **roles
                    )
                )
        return visuals

    def read_collisions(self, link: XmlNode) -> list[GeometryDescription]:
        """The <collision> elements of a link, if a SceneGraph will take them."""
        collisions = []
        for node, name, shape, X_SG in self._named_shapes(link, "collision"):
            contact = read_contact(node, self.diagnostics, _read_old_friction)
            X_LG = read_origin(node.find("origin")) @ X_SG
            collision = GeometryDescription(name, X_LG, shape, node.location, **contact)
            mesh = node.require("geometry").find("mesh")
            collisions += in_pieces(collision, [shape] if mesh is None else self.meshes.pieces(mesh, shape))
        return collisions

    def _named_shapes(
        self, link: XmlNode, role: str
    ) -> list[tuple[XmlNode, str, ShapeDescription, RigidTransform]]:
        """Elements of a role with unique names, and poses of shapes; a nameless geometry is called after its shape."""
        taken: set[str] = set()
        found = []
        for node in link.find_all(role) if self.meshes.has_viewers else ():
            shape, X_SG = self._read_shape(node.require("geometry"))
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
            found.append((node, name, shape, X_SG))
        return found

    def _read_shape(self, geometry: XmlNode) -> tuple[ShapeDescription, RigidTransform]:
        """The one shape inside <geometry>, and the pose of its own frame in the element's frame."""
        identity = RigidTransform()
        for node in geometry.children:
            match node.tag.removeprefix("drake:"):
                case "box":
                    size = node.vector_attribute("size", 3)
                    return ShapeDescription("Box", positive(node, "box", dict(zip("xyz", size)))), identity
                case "sphere":
                    return self._round(node, "Sphere", "radius"), identity
                case "cylinder":
                    return self._round(node, "Cylinder", "radius", "length"), identity
                case "capsule":
                    return self._round(node, "Capsule", "radius", "length"), identity
                case "ellipsoid":
                    return self._round(node, "Ellipsoid", "a", "b", "c"), identity
                case "plane":  # not by the book, but read by Bullet
                    normal = node.vector_attribute("normal", 3, [0.0, 0.0, 1.0])
                    return ShapeDescription("HalfSpace"), half_space_pose(node, normal)
                case "mesh":
                    scale = node.vector_attribute("scale", (1, 3), [1.0])
                    return self.meshes.read(node, node.require_attribute("filename"), scale), identity
        found = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
        raise geometry.error(
            f"<geometry> holds {found}; expected one of box, sphere, cylinder, mesh, plane, drake:capsule, "
            "drake:ellipsoid."
        )

    def _round(self, node: XmlNode, kind: str, *names: str) -> ShapeDescription:
        dimensions = {name: node.float_attribute(name) for name in names}
        return round_shape(node, kind, dimensions)


def _read_old_friction(collision: XmlNode) -> FrictionDescription | None:
    """Coefficients in <drake_compliance>, as old files of Drake have them."""
    node = collision.find_or_empty("drake_compliance")
    return read_friction(node, "static_friction", "dynamic_friction")
