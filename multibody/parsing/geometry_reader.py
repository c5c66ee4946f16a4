"""What URDF and SDF share about geometry: shapes, mesh files and Drake's contact properties."""

from __future__ import annotations

__all__ = [
    "drake_value",
    "make_friction",
    "mesh_shape",
    "positive",
    "read_compliance",
    "read_contact_numbers",
    "read_friction",
    "read_roles",
    "read_texture",
    "round_shape",
]

import os
from typing import Any

import numpy as np

from merganser.geometry import Mesh
from merganser.multibody.parsing.description import FrictionDescription, ShapeDescription
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
_LARGEST_SCALE = 1e30
_MAY_BE_ZERO = {"drake:hunt_crossley_dissipation", "drake:relaxation_time", "drake:hydroelastic_margin"}


def mesh_shape(node: XmlNode, uri: str, scale: np.ndarray, package_map: PackageMap) -> ShapeDescription:
    """A mesh whose file exists; scale of one or three factors.

    Raises:
        ParsingError: the file is not there, or a scale factor is zero, too small or too large.
    """
    if not uri:
        raise node.error("the mesh names no file.")
    factors = tuple(scale.tolist() * (3 // len(scale)))
    if not all(factors):
        raise node.error(f"the mesh has scale {scale.tolist()}; factors cannot be zero.")
    path = resolve_uri(uri, package_map, node.location)
    if not path.is_file():
        raise node.error(f"the mesh '{uri}' means '{path}', which is not a file.")
    kind = "Convex" if node.find("drake:declare_convex") is not None else "Mesh"
    if max(map(abs, factors)) > _LARGEST_SCALE:
        raise node.error(f"the mesh has scale {scale.tolist()}, which is too large to compute with.")
    with located(node.location):
        Mesh(path, scale3=factors)  # refuses factors that are too small
    return ShapeDescription(kind, factors, os.path.realpath(path))


def positive(node: XmlNode, shape: str, dimensions: dict[str, float]) -> tuple[float, ...]:
    """The dimensions of a shape, all of them positive."""
    for name, value in dimensions.items():
        if not value > 0:
            raise node.error(f"the {shape} has {name} {value:g}; it has to be positive.")
    return tuple(float(value) for value in dimensions.values())


def round_shape(node: XmlNode, kind: str, dimensions: dict[str, float]) -> ShapeDescription:
    """A shape with radii and lengths, all of them positive; a sphere without radius is a point."""
    if kind == "Sphere" and dimensions["radius"] == 0.0:
        return ShapeDescription(kind, (0.0,))
    return ShapeDescription(kind, positive(node, kind.lower(), dimensions))


def read_roles(visual: XmlNode, diagnostics: Diagnostics) -> dict[str, Any]:
    """Who sees a <visual>: arguments `is_illustrated`, `is_perceived` and `renderers` of GeometryDescription."""
    enabled = []
    for role in ("illustration", "perception"):
        properties = visual.find_or_empty(f"drake:{role}_properties")
        enabled.append(properties.parse_bool(properties.attributes.get("enabled", "true")))
    if not any(enabled):
        diagnostics.warn(visual.location, f"{visual.describe()} is neither for people nor for cameras: it is left out.")
    renderers = set()
    for node in visual.find_all("drake:accepting_renderer"):
        name = node.attributes.get("name") or node.text
        if not name:
            raise node.error("<drake:accepting_renderer> names no renderer.")
        renderers.add(name)
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


def drake_value(node: XmlNode) -> float:
    """The number of a `drake:` element: in attribute `value` (URDF) or as text (SDF)."""
    return node.float_attribute("value") if "value" in node.attributes else node.float_text()


def read_contact_numbers(properties: XmlNode) -> dict[tuple[str, str], float]:
    """The numbers below <drake:proximity_properties>, by (group, name)."""
    numbers: dict[tuple[str, str], float] = {}
    for child in properties.children:
        if child.tag in _CONTACT_NUMBERS:
            value = drake_value(child)
            if value < 0 or (value == 0 and child.tag not in _MAY_BE_ZERO):
                raise child.error(f"<{child.tag}> is {value:g}; it has to be positive.")
            numbers[_CONTACT_NUMBERS[child.tag]] = value
    return numbers


def read_compliance(properties: XmlNode) -> str | None:
    """ "rigid", "compliant" or None for hydroelastic contact."""
    rigid, compliant = (properties.find(f"drake:{kind}_hydroelastic") for kind in ("rigid", "compliant"))
    if rigid is not None and compliant is not None:
        raise compliant.error("the geometry is declared both rigid and compliant; keep one of the two.")
    return "rigid" if rigid is not None else "compliant" if compliant is not None else None


def read_friction(properties: XmlNode) -> FrictionDescription | None:
    """Coulomb coefficients below <drake:proximity_properties>; one of them stands for both."""
    static, dynamic = (properties.find(f"drake:mu_{kind}") for kind in ("static", "dynamic"))
    given = [drake_value(node) for node in (static, dynamic) if node is not None]
    return make_friction(properties, given[0], given[-1]) if given else None


def make_friction(node: XmlNode, mu_static: float, mu_dynamic: float) -> FrictionDescription:
    """Coulomb coefficients.

    Raises:
        ParsingError: a coefficient is negative, or dynamic friction exceeds static friction.
    """
    if mu_dynamic < 0 or mu_static < mu_dynamic:
        raise node.error(
            f"friction is {mu_static:g} (static) and {mu_dynamic:g} (dynamic); expected "
            "static >= dynamic >= 0."
        )
    return FrictionDescription(mu_static, mu_dynamic)
