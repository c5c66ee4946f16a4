"""SDF geometry: <visual> and <collision> elements."""

from __future__ import annotations

__all__ = ["SdfGeometryReader"]

from dataclasses import dataclass

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import HalfSpace
from merganser.multibody.parsing.description import (
    BodyReference,
    FrictionDescription,
    GeometryDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.geometry_reader import (
    make_friction,
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
from merganser.multibody.parsing.sdf_scope import SdfScope, read_pose
from merganser.multibody.parsing.xml_reader import XmlNode

_SHAPE_TAGS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "plane", "mesh", "empty")


@dataclass
class SdfGeometryReader:
    """Reads the geometries of the links of one SDF document."""

    package_map: PackageMap
    diagnostics: Diagnostics

    def read_visuals(self, link: XmlNode, scope: SdfScope) -> list[GeometryDescription]:
        """The <visual> elements of a link, without those of empty geometry."""
        visuals = []
        for node, name in _named(link, "visual"):
            shape, X_SG = self._read_shape(node.require("geometry"))
            if shape is None:
                continue
            roles = read_roles(node, self.diagnostics)
            X_BG = link_pose(node, link, scope) @ X_SG
            rgba, texture = _read_diffuse(node.find("material")), self._read_texture(node, name)
            if roles["is_illustrated"] or roles["is_perceived"]:
                visuals.append(
                    GeometryDescription(name, X_BG, shape, node.location, rgba=rgba, diffuse_map=texture, **roles)
                )
        return visuals

    def read_collisions(self, link: XmlNode, scope: SdfScope) -> list[GeometryDescription]:
        """The <collision> elements of a link, without those of empty geometry."""
        collisions = []
        for node, name in _named(link, "collision"):
            shape, X_SG = self._read_shape(node.require("geometry"))
            if shape is None:
                continue
            properties = node.find_or_empty("drake:proximity_properties")
            collisions.append(
                GeometryDescription(
                    name,
                    link_pose(node, link, scope) @ X_SG,
                    shape,
                    node.location,
                    friction=read_friction(properties) or _read_ode_friction(node),
                    contact=read_contact_numbers(properties),
                    compliance=read_compliance(properties),
                )
            )
        return collisions

    def _read_texture(self, visual: XmlNode, name: str) -> str:
        """The path of a <drake:diffuse_map>; empty if there is none."""
        node = visual.find_or_empty("material").find("drake:diffuse_map")
        if node is None:
            return ""
        return read_texture(node, f"visual '{name}'", node.text, self.package_map, self.diagnostics)

    def _read_shape(self, geometry: XmlNode) -> tuple[ShapeDescription | None, RigidTransform]:
        """The shape inside <geometry>, and the pose of its own frame in the element's frame."""
        node = next((n for n in geometry.children if n.tag.removeprefix("drake:") in _SHAPE_TAGS), None)
        if node is None:
            found = ", ".join(f"<{child.tag}>" for child in geometry.children) or "nothing"
            raise geometry.error(f"<geometry> holds {found}; expected one of {', '.join(_SHAPE_TAGS)}.")
        identity = RigidTransform()
        match node.tag.removeprefix("drake:"):
            case "box":
                size = node.require("size").vector_text(3)
                return ShapeDescription("Box", positive(node, "box", dict(zip("xyz", size)))), identity
            case "sphere":
                return _round(node, "Sphere", "radius"), identity
            case "cylinder":
                return _round(node, "Cylinder", "radius", "length"), identity
            case "capsule":
                return _round(node, "Capsule", "radius", "length"), identity
            case "ellipsoid":
                return _ellipsoid(node), identity
            case "plane":
                return ShapeDescription("HalfSpace"), _plane_pose(node)
            case "mesh":
                return self._mesh(node), identity
        return None, identity

    def _mesh(self, node: XmlNode) -> ShapeDescription:
        for submesh in node.find_all("submesh"):
            self.diagnostics.warn(submesh.location, "<submesh> is not supported: the whole mesh is used.")
        scale = node.find("scale")
        factors = np.ones(3) if scale is None else scale.vector_text(3)
        return mesh_shape(node, node.require("uri").text, factors, self.package_map)


def link_pose(node: XmlNode, link: XmlNode, scope: SdfScope) -> RigidTransform:
    """Pose in the link of a geometry or inertial frame, whose <pose> may be relative to any frame."""
    pose = node.find("pose")
    relative_to = pose.attributes.get("relative_to") if pose is not None else None
    if not relative_to:
        return read_pose(pose)
    X_ML = scope.X_MB(BodyReference(scope.name, link.require_attribute("name")), node)
    return X_ML.inverse() @ scope.X_MF(relative_to, node) @ read_pose(pose)


def _named(link: XmlNode, role: str) -> list[tuple[XmlNode, str]]:
    """Elements of a role and their names, which are unique in the link."""
    found: dict[str, XmlNode] = {}
    for node in link.find_all(role):
        name = node.require_attribute("name")
        if name in found:
            raise node.error(f"{link.describe()} already has a {role} '{name}' at {found[name].location}.")
        found[name] = node
    return [(node, name) for name, node in found.items()]


def _round(node: XmlNode, kind: str, *names: str) -> ShapeDescription:
    dimensions = {name: node.float_child(name) for name in names}
    return round_shape(node, kind, dimensions)


def _ellipsoid(node: XmlNode) -> ShapeDescription:
    """The radii are in <radii> (SDF) or in <a>, <b>, <c> (Drake)."""
    radii = node.find("radii")
    values = radii.vector_text(3) if radii is not None else [node.float_child(name) for name in "abc"]
    return ShapeDescription("Ellipsoid", positive(node, "ellipsoid", dict(zip("abc", values))))


def _plane_pose(node: XmlNode) -> RigidTransform:
    """Pose of a half space whose outward z axis is the plane's normal."""
    normal = node.find("normal")
    direction = np.array([0.0, 0.0, 1.0]) if normal is None else normal.vector_text(3)
    if not np.any(direction):
        raise node.error("the plane has normal 0 0 0; it needs a direction.")
    return HalfSpace.MakePose(direction, np.zeros(3))


def _read_diffuse(material: XmlNode | None) -> np.ndarray | None:
    """The diffuse colour [r, g, b, a] of a <material>, or None if it gives none."""
    diffuse = None if material is None else material.find("diffuse")
    if diffuse is None:
        return None
    if not diffuse.text:
        return np.array([0.0, 0.0, 0.0, 1.0])  # the default of SDF
    values = diffuse.vector_text((3, 4))
    rgba = np.append(values, 1.0)[:4]
    if rgba.min() < 0 or rgba.max() > 1:
        raise diffuse.error(f"the diffuse colour is {rgba.tolist()}; each value has to be in [0, 1].")
    return rgba


def _read_ode_friction(collision: XmlNode) -> FrictionDescription:
    """Coefficients in <surface><friction><ode>: mu is the static one, mu2 the dynamic one; each 1 by default."""
    ode = collision
    for tag in ("surface", "friction", "ode"):
        ode = ode.find_or_empty(tag)
    default = FrictionDescription()
    mu, mu2 = ode.find("mu"), ode.find("mu2")
    return make_friction(
        ode, default.static if mu is None else mu.float_text(), default.dynamic if mu2 is None else mu2.float_text()
    )
