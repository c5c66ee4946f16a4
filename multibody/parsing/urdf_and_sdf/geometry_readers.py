"""Geometry of links in SDF and URDF: <visual> and <collision> elements, and materials of URDF."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import HeightField
from merganser.multibody.parsing.build_geometry import read_brightness
from merganser.multibody.parsing.description import (
    BodyReference,
    FrictionDescription,
    GeometryDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, SourceLocation, located
from merganser.multibody.parsing.package_map import resolve_uri
from merganser.multibody.parsing.urdf_and_sdf.geometry import (
    MeshReader,
    half_space_pose,
    in_pieces,
    make_friction,
    positive,
    read_contact,
    read_friction,
    read_roles,
    read_texture,
    round_shape,
)
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import SdfScope, read_pose
from merganser.multibody.parsing.xml_reader import XmlNode

_SHAPE_TAGS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh", "heightmap", "empty")
_WITHOUT_COUNTERPART = ("cone", "polyline", "image")
_MAX_PIXELS = 16_000_000  # of a heightmap
# SDF's default size of a shape [m].
_DEFAULT_SIZES = {
    "sphere": {"radius": 1.0}, "cylinder": {"radius": 1.0, "length": 1.0}, "capsule": {"radius": 0.5, "length": 1.0}
}  # fmt: skip
_COLORS = ("ambient", "specular", "emissive")
# Elements that are called so in a <visual>, too.
_KEEP_THEIR_PREFIX = (
    "drake:perception_properties", "drake:illustration_properties", "drake:accepting_renderer", "drake:diffuse_map",
    "drake:declare_convex",
)  # fmt: skip


@dataclass
class SdfGeometryReader:
    """Reads the geometries of the links of one SDF document."""

    meshes: MeshReader
    diagnostics: Diagnostics

    def read_visuals(self, link: XmlNode, scope: SdfScope) -> list[GeometryDescription]:
        """The non-empty <visual> and <drake:visual> elements of a link, if a SceneGraph will take them."""
        visuals: list[GeometryDescription] = []
        if not self.meshes.has_viewers:
            return visuals
        for node, name in _named(link, (*link.find_all("visual"), *map(_as_visual, link.find_all("drake:visual")))):
            shape, X_SG = self.read_shape(node.require("geometry"))
            if shape is None:
                continue
            roles = read_roles(node, self.diagnostics)
            X_BG = link_pose(node, link, scope) @ X_SG
            look = self._read_look(node.find_or_empty("material"), name)
            if roles["is_illustrated"] or roles["is_perceived"]:
                visuals.append(GeometryDescription(name, X_BG, shape, node.location, **look, **roles))
        return visuals

    def read_collisions(self, link: XmlNode, scope: SdfScope) -> list[GeometryDescription]:
        """The <collision> elements of a link but for empty ones, if a SceneGraph will take them."""
        collisions: list[GeometryDescription] = []
        if not self.meshes.has_viewers:
            return collisions
        for node, name in _named(link, link.find_all("collision")):
            shape, X_SG = self.read_shape(node.require("geometry"))
            if shape is None:
                continue
            contact = read_contact(node, self.diagnostics, lambda each: _read_ode_friction(each, self.diagnostics))
            X_LG = link_pose(node, link, scope) @ X_SG
            collision = GeometryDescription(name, X_LG, shape, node.location, **contact)
            mesh = node.require("geometry").find("mesh")
            collisions += in_pieces(collision, [shape] if mesh is None else self.meshes.pieces(mesh, shape))
        return collisions

    def _read_look(self, material: XmlNode, visual: str) -> dict[str, Any]:
        """Arguments `rgba`, `other_colors` and `diffuse_map` of GeometryDescription."""
        texture = material.find("drake:diffuse_map") or _albedo_map(material)
        path = ""
        if texture is not None and texture.text:
            path = read_texture(texture, f"visual '{visual}'", texture.text, self.meshes.package_map, self.diagnostics)
        others = {name: color for name in _COLORS if (color := _read_color(material, name)) is not None}
        return {"rgba": _read_color(material, "diffuse"), "other_colors": others, "diffuse_map": path}

    def read_shape(self, geometry: XmlNode) -> tuple[ShapeDescription | None, RigidTransform]:
        """The shape inside <geometry>, if it has a counterpart, and the pose of its frame in the element's."""
        node = next((n for n in geometry.children if n.tag.removeprefix("drake:") in _SHAPE_TAGS), None)
        if node is None:
            self._report_unknown_shape(geometry)
            return None, RigidTransform()
        identity = RigidTransform()
        match node.tag.removeprefix("drake:"):
            case "box":
                size = node.find_or_empty("size")
                sides = size.vector_text(3) if size.text else np.ones(3)
                return ShapeDescription("Box", positive(node, "box", dict(zip("xyz", sides)))), identity
            case "sphere" | "cylinder" | "capsule" as tag:
                sizes = {name: node.float_child(name, default) for name, default in _DEFAULT_SIZES[tag].items()}
                return round_shape(node, tag.capitalize(), sizes), identity
            case "ellipsoid":
                return _ellipsoid(node), identity
            case "plane":
                normal = node.find_or_empty("normal")
                direction = normal.vector_text(3) if normal.text else np.array([0.0, 0.0, 1.0])
                return ShapeDescription("HalfSpace"), half_space_pose(node, direction)
            case "mesh":
                scale = node.find_or_empty("scale")
                factors = scale.vector_text(3) if scale.text else np.ones(3)
                return self.meshes.read(node, node.require("uri").text, factors), identity
            case "heightmap":
                return self._read_heights(node)
        return None, identity

    def _read_heights(self, node: XmlNode) -> tuple[ShapeDescription, RigidTransform]:
        """A picture of heights: its brightest pixel has that of <size>, black is 0, its upper edge is at +y."""
        pos, size = node.find_or_empty("pos"), node.find_or_empty("size")
        extent = size.vector_text(3) if size.text else np.ones(3)
        width, depth, height = positive(node, "heightmap", dict(zip("xyz", extent)))
        uri = node.require("uri")
        path = resolve_uri(uri.text, self.meshes.package_map, uri.location)
        if path.suffix.lower() != ".png" or not path.is_file():
            raise uri.error(f"the heightmap '{uri.text}' means '{path}', expected a PNG file.")
        with located(uri.location):
            heights = read_brightness(path, _MAX_PIXELS)
            field = HeightField(height * heights / max(heights.max(), 1.0), width, depth)
        X_SG = RigidTransform(pos.vector_text(3) if pos.text else np.zeros(3))
        return ShapeDescription("HeightField", terrain=field), X_SG

    def _report_unknown_shape(self, geometry: XmlNode) -> None:
        """Warns of, or refuses, a <geometry> without a known shape."""
        found = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
        if not any(child.tag in _WITHOUT_COUNTERPART for child in geometry.children):
            raise geometry.error(f"<geometry> holds {found}; expected one of {', '.join(_SHAPE_TAGS)}.")
        self.diagnostics.warn(geometry.location, f"a geometry of {found} is left out; it has no counterpart.")


def link_pose(node: XmlNode, link: XmlNode, scope: SdfScope) -> RigidTransform:
    """Pose in the link of a geometry or inertial frame, whose <pose> may be relative to any frame."""
    pose = node.find("pose")
    relative_to = pose.attributes.get("relative_to") if pose is not None else None
    if not relative_to:
        return read_pose(pose)
    X_ML = scope.X_MB(BodyReference(scope.name, link.require_attribute("name")), node)
    return X_ML.inverse() @ scope.X_MF(relative_to, node) @ read_pose(pose)


def _as_visual(node: XmlNode) -> XmlNode:
    """A <drake:visual>, which only Drake reads, as a <visual>; its tag stays."""

    def without_prefix(node: XmlNode) -> XmlNode:
        tag = node.tag if node.tag in _KEEP_THEIR_PREFIX else node.tag.removeprefix("drake:")
        return replace(node, tag=tag, children=list(map(without_prefix, node.children)))

    return replace(without_prefix(node), tag=node.tag)


def _named(link: XmlNode, nodes: Iterable[XmlNode]) -> list[tuple[XmlNode, str]]:
    """Elements and their names, which are unique in the link."""
    found: dict[str, XmlNode] = {}
    for node in nodes:
        name = node.require_attribute("name")
        if name in found:
            raise node.error(f"{link.describe()} already has a {node.tag} '{name}' at {found[name].location}.")
        found[name] = node
    return [(node, name) for name, node in found.items()]


def _ellipsoid(node: XmlNode) -> ShapeDescription:
    """The radii are in <radii> (SDF) or in <a>, <b>, <c> (Drake)."""
    radii = node.find_or_empty("radii")
    values = radii.vector_text(3) if radii.text else [node.float_child(name, 1.0) for name in "abc"]
    return ShapeDescription("Ellipsoid", positive(node, "ellipsoid", dict(zip("abc", values))))


def _read_color(material: XmlNode, name: str) -> np.ndarray | None:
    """A colour [r, g, b, a] of a <material>, or None if it does not give it."""
    node = material.find(name)
    if node is None:
        return None
    if not node.text:
        return np.array([0.0, 0.0, 0.0, 1.0])  # the default of SDF
    rgba = np.append(node.vector_text((3, 4)), 1.0)[:4]
    if rgba.min() < 0 or rgba.max() > 1:
        raise node.error(f"the {name} colour is {rgba.tolist()}; each value has to be in [0, 1].")
    return rgba


def _albedo_map(material: XmlNode) -> XmlNode | None:
    """The texture of a physical material."""
    pbr = material.find_or_empty("pbr")
    workflows = (pbr.find_or_empty(kind) for kind in ("metal", "specular"))
    return next((found for flow in workflows if (found := flow.find("albedo_map")) is not None), None)


def _read_ode_friction(collision: XmlNode, diagnostics: Diagnostics) -> FrictionDescription:
    """Coefficients in <surface><friction><ode>: mu is the static one, mu2 the dynamic one; each 1 by default."""
    ode = collision
    for tag in ("surface", "friction", "ode"):
        ode = ode.find_or_empty(tag)
    default = FrictionDescription()
    mu, mu2 = ode.find("mu"), ode.find("mu2")
    static = default.static if mu is None else mu.float_text()
    dynamic = default.dynamic if mu2 is None else mu2.float_text()
    if mu is not None and mu2 is not None and 0.0 <= static < dynamic:  # other programs: of two directions
        diagnostics.warn(
            ode.location,
            f"<mu> is {static:g} and <mu2> {dynamic:g}, but static friction, <mu>, is not less than dynamic friction, "
            f"<mu2>; both are {static:g}.",
        )
        dynamic = static
    return make_friction(ode, static, dynamic)


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
