"""Mass properties of SDF links: as numbers, or computed from what a link touches others with."""

from __future__ import annotations

from math import pi

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import Convex, Mesh
from merganser.multibody.parsing.build_geometry import make_shape
from merganser.multibody.parsing.errors import Diagnostics, located
from merganser.multibody.parsing.inertia import make_inertia
from merganser.multibody.parsing.urdf_and_sdf.sdf_geometry import SdfGeometryReader, link_pose
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import SdfScope
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import CalcSpatialInertia, RotationalInertia, SpatialInertia

# SDF gives a link without numbers the mass of 1 kg and unit moments of inertia.
_DEFAULT_MASS = 1.0
_DEFAULT_MOMENTS = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
_DENSITY = 1000.0  # of water [kg/m^3], the default of SDF


def read_inertial(
    link: XmlNode, name: str, scope: SdfScope, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> SpatialInertia:
    """Spatial inertia M_BBo_B of a link.

    Args:
        link: the element, with an <inertial> or none.
        name: of the link.
        scope: of its model.
        geometries: reads the <collision> elements, if the file wants the inertia computed.
        diagnostics: receives warnings.

    Raises:
        ParsingError: a number is wrong, or there is nothing to compute from.
    """
    node = link.find_or_empty("inertial")
    if node.parse_bool(node.attributes.get("auto") or "false"):
        with located(node.location), np.errstate(all="ignore"):  # what is too large is found below
            return _computed(node, link, name, scope, geometries, diagnostics)
    inertia = node.find_or_empty("inertia")
    mass = node.float_child("mass", _DEFAULT_MASS)
    moments = {key: inertia.float_child(key, default) for key, default in _DEFAULT_MOMENTS.items()}
    return make_inertia(node, name, mass, link_pose(node, link, scope), moments, diagnostics)


def _computed(
    node: XmlNode, link: XmlNode, name: str, scope: SdfScope, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> SpatialInertia:
    """The sum over all collisions, filled with what has a density; a <mass> scales the whole."""
    if any(node.find(tag) is not None for tag in ("pose", "inertia")):
        diagnostics.warn(node.location, f"link '{name}' has inertia=auto: <pose> and <inertia> have no effect.")
    geometries.meshes.has_read_files = True
    density = _density(node, _DENSITY)
    M_BBo_B = SpatialInertia.Zero()
    collisions = list(link.find_all("collision"))
    for collision in collisions:
        M_GGo_G, X_SG = _solid(collision.require("geometry"), _density(collision, density), geometries, diagnostics)
        X_BG = link_pose(collision, link, scope) @ X_SG
        M_BBo_B += M_GGo_G.ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
    if not M_BBo_B.get_mass() > 0.0:
        found = "their volume is zero" if collisions else "it has none"
        raise node.error(f"the inertia of link '{name}' is to be computed from its <collision> elements, but {found}.")
    mass = node.float_child("mass", M_BBo_B.get_mass())
    if not mass > 0.0:
        raise node.error(f"link '{name}' has mass {mass:g}; it has to be positive.")
    M_BBo_B = SpatialInertia(mass, M_BBo_B.get_com(), M_BBo_B.get_unit_inertia())
    if not np.isfinite(M_BBo_B.CopyToFullMatrix6()).all():
        raise node.error(f"link '{name}' has mass properties too large to compute with.")
    return M_BBo_B


def _density(node: XmlNode, default: float) -> float:
    """The number in <density> [kg/m^3]."""
    density = node.float_child("density", default)
    if not density > 0.0:
        raise node.require("density").error(f"<density> is {density:g}; it has to be positive.")
    return density


def _solid(
    geometry: XmlNode, density: float, geometries: SdfGeometryReader, diagnostics: Diagnostics
) -> tuple[SpatialInertia, RigidTransform]:
    """M_GGo_G of a shape of one density, and the pose X_SG of its frame in the element's frame."""
    cone = geometry.find("cone")
    if cone is not None:
        return _cone(cone.float_child("radius", 0.5), cone.float_child("length", 1.0), density), RigidTransform()
    description, X_SG = geometries.read_shape(geometry)
    if description is None or description.kind == "HalfSpace":
        found = ", ".join(f"<{child.tag}>" for child in geometry.children)
        raise geometry.error(f"an inertia can only be computed from shapes with a volume, but not from {found}.")
    shape = make_shape(description)
    try:
        return CalcSpatialInertia(shape, density), X_SG
    except (RuntimeError, ValueError) as cause:
        if not isinstance(shape, Mesh):
            raise
        diagnostics.warn(geometry.location, f"the mass is that of the convex hull of a mesh: {cause}")
        return CalcSpatialInertia(Convex(shape.source(), scale3=shape.scale3()), density), X_SG


def _cone(radius: float, length: float, density: float) -> SpatialInertia:
    """A cone with its tip upwards, and with the middle of its axis at the origin."""
    mass = density * pi * radius**2 * length / 3.0
    across, along = mass * (0.15 * radius**2 + 0.0375 * length**2), 0.3 * mass * radius**2
    return SpatialInertia.MakeFromCentralInertia(
        mass, np.array([0.0, 0.0, -length / 4.0]), RotationalInertia(across, across, along)
    )
