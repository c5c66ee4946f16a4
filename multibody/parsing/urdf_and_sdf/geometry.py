"""Elements of geometry common to URDF and SDF: shapes, mesh files and Drake's contact properties.

Meshes that URDF and SDF files name: files, parts of files, convex hulls and convex pieces.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import HalfSpace, InMemoryMesh, MemoryFile, Mesh, MeshSource
from merganser.geometry.meshes import (
    TriangleSurfaceMesh,
    convex_pieces,
    read_named_surface_mesh,
    read_surface_mesh,
    wavefront_text,
)
from merganser.multibody.parsing.description import (
    FrictionDescription,
    GeometryDescription,
    ShapeDescription,
    terrain_of,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, located
from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.parsing.xml_reader import XmlNode

# Tag below <drake:proximity_properties> -> (group, name) of the proximity property.
_CONTACT_NUMBERS = {
    "drake:point_contact_stiffness": ("material", "point_contact_stiffness"),
    "drake:hunt_crossley_dissipation": ("material", "hunt_crossley_dissipation"),
    "drake:relaxation_time": ("material", "relaxation_time"),
    "drake:hydroelastic_modulus": ("hydroelastic", "hydroelastic_modulus"),
    "drake:mesh_resolution_hint": ("hydroelastic", "resolution_hint"),
    "drake:hydroelastic_margin": ("hydroelastic", "margin"),
}
_MAY_BE_ZERO = {"drake:hunt_crossley_dissipation", "drake:relaxation_time", "drake:hydroelastic_margin"}


def positive(node: XmlNode, shape: str, dimensions: dict[str, float]) -> tuple[float, ...]:
    """The dimensions of a shape, all of them positive."""
    for name, value in dimensions.items():
        if not value > 0:
            raise node.error(f"the {shape} has {name} {value:g}; it has to be positive.")
    return tuple(float(value) for value in dimensions.values())


def round_shape(node: XmlNode, kind: str, dimensions: dict[str, float]) -> ShapeDescription:
    """A shape with radii and lengths, all of them positive.

    A sphere without radius is a point, and a capsule without length is a sphere.
    """
    if kind == "Sphere" and dimensions["radius"] == 0.0:
        return ShapeDescription(kind, (0.0,))
    if kind == "Capsule" and dimensions["length"] == 0.0:
        return round_shape(node, "Sphere", {"radius": dimensions["radius"]})
    return ShapeDescription(kind, positive(node, kind.lower(), dimensions))


def half_space_pose(node: XmlNode, normal: np.ndarray) -> RigidTransform:
    """Pose of a half space whose outward z axis is a plane's normal, shape [3]."""
    if not np.any(normal):
        raise node.error("the plane has normal 0 0 0; it needs a direction.")
    return HalfSpace.MakePose(normal / np.abs(normal).max(), np.zeros(3))


def in_pieces(collision: GeometryDescription, shapes: list[ShapeDescription]) -> list[GeometryDescription]:
    """A geometry for each of the shapes in place of one; those after the first one get numbers."""
    names = [collision.name, *(f"{collision.name}_{i}" for i in range(1, len(shapes)))]
    return [replace(collision, name=name, shape=shape) for name, shape in zip(names, shapes)]


def read_roles(visual: XmlNode, diagnostics: Diagnostics) -> dict[str, Any]:
    """The roles of a <visual>: arguments `is_illustrated`, `is_perceived` and `renderers` of GeometryDescription."""
    enabled = []
    for role in ("illustration", "perception"):
        properties = visual.find_or_empty(f"drake:{role}_properties")
        enabled.append(properties.parse_bool(properties.attributes.get("enabled", "true")))
    if not any(enabled) and visual.tag == "visual":  # a <drake:visual> is for merganser and Drake alone
        diagnostics.warn(visual.location, f"{visual.describe()} is neither for people nor for cameras: it is left out.")
    renderers = set()
    for node in visual.find_all("drake:accepting_renderer"):
        name = node.attributes.get("name") or node.text
        if not name:
            raise node.error("<drake:accepting_renderer> names no renderer.")
        if enabled[1]:
            renderers.add(name)
        else:
            diagnostics.warn(node.location, f"<{node.tag}> has no effect: cameras do not see {visual.describe()}.")
    return {"is_illustrated": enabled[0], "is_perceived": enabled[1], "renderers": frozenset(renderers)}


def read_texture(node: XmlNode, what: str, uri: str, package_map: PackageMap, diagnostics: Diagnostics) -> str:
    """The path of a texture; empty, with a warning, if there is no such file."""
    try:
        path = resolve_uri(uri, package_map, node.location)
        problem = "" if path.is_file() else f" '{uri}' means '{path}', which is not a file."
    except ParsingError as error:
        problem = f" {error}"
    if problem:
        diagnostics.warn(node.location, f"the texture of {what} is not used.{problem}")
        return ""
    return os.path.realpath(path)


def drake_value(node: XmlNode, allow_infinite: bool = False) -> float:
    """The number of a `drake:` element: in attribute `value` (URDF) or as text (SDF)."""
    if "value" not in node.attributes:
        return node.float_text(allow_infinite)
    what = f"Attribute 'value' of {node.describe()}"
    return float(node.numbers(node.attributes["value"], 1, what, allow_infinite)[0])


def read_contact(
    collision: XmlNode, diagnostics: Diagnostics, read_other_friction: Callable[[XmlNode], FrictionDescription | None]
) -> dict[str, Any]:
    """Arguments `friction`, `contact` and `compliance` of GeometryDescription.

    Args:
        collision: the <collision>.
        diagnostics: gets warnings.
        read_other_friction: reads the coefficients of a <collision> that has none among Drake's properties.
    """
    properties = collision.find_or_empty("drake:proximity_properties")
    return {
        "friction": read_friction(properties, "drake:mu_static", "drake:mu_dynamic")
        or read_other_friction(collision)
        or FrictionDescription(),
        "contact": _read_contact_numbers(properties, diagnostics),
        "compliance": _read_compliance(properties),
    }


def _read_contact_numbers(properties: XmlNode, diagnostics: Diagnostics) -> dict[tuple[str, str], float]:
    """The numbers below <drake:proximity_properties>, by (group, name); a rigid geometry has no modulus."""
    numbers: dict[tuple[str, str], float] = {}
    is_rigid = properties.find("drake:rigid_hydroelastic") is not None
    for child in properties.children:
        if child.tag in _CONTACT_NUMBERS:
            value = drake_value(child)
            if value < 0 or (value == 0 and child.tag not in _MAY_BE_ZERO):
                raise child.error(f"<{child.tag}> is {value:g}; it has to be positive.")
            if is_rigid and child.tag == "drake:hydroelastic_modulus":
                diagnostics.warn(child.location, f"<{child.tag}> has no effect: the geometry is rigid.")
                continue
            numbers[_CONTACT_NUMBERS[child.tag]] = value
    return numbers


def _read_compliance(properties: XmlNode) -> str | None:
    """ "rigid", "compliant" or None for hydroelastic contact."""
    rigid, compliant = (properties.find(f"drake:{kind}_hydroelastic") for kind in ("rigid", "compliant"))
    if rigid is not None and compliant is not None:
        raise compliant.error("the geometry is declared both rigid and compliant; keep one of the two.")
    return "rigid" if rigid is not None else "compliant" if compliant is not None else None


def read_friction(node: XmlNode, static: str, dynamic: str) -> FrictionDescription | None:
    """Coulomb coefficients in children of these tags; if one is missing, the other is used for both."""
    children = (node.find(static), node.find(dynamic))
    given = [drake_value(child) for child in children if child is not None]
    return make_friction(node, given[0], given[-1]) if given else None


def make_friction(node: XmlNode, mu_static: float, mu_dynamic: float) -> FrictionDescription:
    """Coulomb coefficients.

    Raises:
        ParsingError: a coefficient is negative, or dynamic friction exceeds static friction.
    """
    if mu_dynamic < 0 or mu_static < mu_dynamic:
        raise node.error(
            f"friction is {mu_static:g} (static) and {mu_dynamic:g} (dynamic); expected static >= dynamic >= 0."
        )
    return FrictionDescription(mu_static, mu_dynamic)


_LARGEST_SCALE = 1e30
_NUM_PIECES = 16  # of a convex decomposition, by default of SDFormat


@dataclass
class MeshReader:
    """Reads the <mesh> elements of a document.

    Attributes:
        package_map: resolves addresses of files.
        has_viewers: whether geometry is used; otherwise visuals and collisions are passed over.
        has_read_files: whether what is in files has become part of the description.
    """

    package_map: PackageMap
    has_viewers: bool = True
    has_read_files: bool = False

    def read(self, node: XmlNode, uri: str, scale: np.ndarray) -> ShapeDescription:
        """A Mesh whose file exists, or a Convex or TerrainMesh if the document asks for one.

        Args:
            node: <mesh>, perhaps with <submesh>, <drake:declare_convex>, <merganser:declare_terrain>, or an
                `optimization` of SDFormat.
            uri: address of the file.
            scale: one or three factors.

        Raises:
            ParsingError: the file is not there or has no such part, a scale factor is zero, too small or too large, or
                the mesh is declared both convex and terrain.
        """
        if not uri:
            raise node.error("the mesh names no file.")
        factors = tuple(scale.tolist() * (3 // len(scale)))
        if not all(factors):
            raise node.error(f"the mesh has scale {scale.tolist()}; factors cannot be zero.")
        path = resolve_uri(uri, self.package_map, node.location)
        if not path.is_file():
            raise node.error(f"the mesh '{uri}' means '{path}', which is not a file.")
        if max(map(abs, factors)) > _LARGEST_SCALE:
            raise node.error(f"the mesh has scale {scale.tolist()}, which is too large to compute with.")
        with located(node.location):
            Mesh(path, scale3=factors)  # refuses factors that are too small
        wants_hull = node.find("drake:declare_convex") is not None or _optimization(node) == "convex_hull"
        is_terrain = node.find("merganser:declare_terrain") is not None
        if is_terrain and (wants_hull or node.attributes.get("decompose") or _optimization(node)):
            raise node.error("the mesh is declared both convex and terrain; keep one of the two.")
        shape = ShapeDescription("Convex" if wants_hull else "Mesh", factors, os.path.realpath(path))
        submesh = node.find("submesh")
        shape = shape if submesh is None else self._part(submesh, shape, path)
        self.has_read_files |= is_terrain
        return terrain_of(shape, node.location) if is_terrain else shape

    def pieces(self, node: XmlNode, shape: ShapeDescription) -> list[ShapeDescription]:
        """The collision shapes of a mesh: itself, or convex pieces if the file asks for them.

        Args:
            node: <mesh>, perhaps with `decompose="convex"` or SDFormat's `optimization="convex_decomposition"`.
            shape: what read() made of it.

        Raises:
            ParsingError: the mesh cannot be read, or has no volume.
        """
        decompose = node.attributes.get("decompose", "")
        if decompose:
            node.expect_one_of(decompose, ("convex",), "value of attribute 'decompose'")
        if not decompose and _optimization(node) != "convex_decomposition":
            return [shape]
        settings = node.find_or_empty("convex_decomposition")
        num_pieces = settings.float_child("max_convex_hulls", 0 if decompose else _NUM_PIECES)
        if num_pieces != int(num_pieces) or num_pieces < 0:
            raise settings.error(f"<max_convex_hulls> is {num_pieces:g}; expected a whole number.")
        self.has_read_files = True
        with located(node.location):
            mesh = read_surface_mesh(MeshSource(shape.mesh or shape.file))
            pieces = convex_pieces(mesh, int(num_pieces))
        return [_in_memory(replace(shape, kind="Convex"), piece, Path(shape.file)) for piece in pieces]

    def _part(self, node: XmlNode, shape: ShapeDescription, path: Path) -> ShapeDescription:
        """One named part of a file; with <center>, the middle of its bounding box is at the origin."""
        name = node.require("name").text
        self.has_read_files = True
        with located(node.location):
            mesh = read_named_surface_mesh(MeshSource(path), name)
        if node.bool_child("center", False):
            vertices = mesh.vertex_array()
            middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
            mesh = TriangleSurfaceMesh(mesh.triangle_array(), vertices - middle)
        return _in_memory(shape, mesh, path)


def _optimization(node: XmlNode) -> str:
    return node.attributes.get("optimization", "")


def _in_memory(shape: ShapeDescription, mesh: TriangleSurfaceMesh, path: Path) -> ShapeDescription:
    """A shape with another mesh in place of its file."""
    text = wavefront_text(mesh.vertex_array(), mesh.triangle_array())
    return replace(shape, file="", mesh=InMemoryMesh(mesh_file=MemoryFile(text, ".obj", str(path))))
