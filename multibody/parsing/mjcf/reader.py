"""Reads an MJCF document, MuJoCo's format, into a description.

The work is done in this order: included files are put in place (source.py), frames, replicas and attached
models are resolved into a tree of bodies (tree.py), bodies are read with all that is on them (bodies.py),
and what refers to them is added: actuators, constraints, which geometries touch, and the home position. What has no
counterpart is gathered in one report (report.py).

References: the XML reference of MuJoCo 4, and what its compiler makes of a file where that is silent.
"""

from __future__ import annotations

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import (
    DocumentDescription,
    FluidDescription,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.mjcf.actuator import add_actuators, read_actuators
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel, ReferenceMass, name_links, read_bodies
from merganser.multibody.parsing.mjcf.camera import read_lights
from merganser.multibody.parsing.mjcf.collision import add_exclusions, read_pairs, touching_geometries
from merganser.multibody.parsing.mjcf.equality import add_equalities
from merganser.multibody.parsing.mjcf.geometry import MjcfGeometry, MjcfGeometryReader
from merganser.multibody.parsing.mjcf.joint import read_spring_dampers, switch_off
from merganser.multibody.parsing.mjcf.keyframes import apply_home, read_keyframes
from merganser.multibody.parsing.mjcf.links import add_links, fuse_static_bodies
from merganser.multibody.parsing.mjcf.sensor import add_sensors
from merganser.multibody.parsing.mjcf.settings import MjcfOptions
from merganser.multibody.parsing.mjcf.source import read_source
from merganser.multibody.parsing.mjcf.tendon import MjcfTransmission, add_transmissions, read_tendons
from merganser.multibody.parsing.mjcf.texture import sky_colors
from merganser.multibody.parsing.mjcf.tree import MjcfTree, read_tree
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport, report_unused
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.xml_reader import XmlNode


def read_mjcf(
    root: XmlNode, package_map: PackageMap, diagnostics: Diagnostics, with_geometry: bool = True
) -> DocumentDescription:
    """Describes the model of an MJCF document.

    Args:
        root: the document's root element.
        package_map: resolves addresses of meshes and other files.
        diagnostics: receives one warning, of all that is left out or approximated.
        with_geometry: whether files of meshes, height fields and pictures are opened that only can be seen or touched;
            a plant without SceneGraph has no use for them.

    Raises:
        ParsingError: the document is not a valid MJCF model.
    """
    with np.errstate(all="ignore"):  # what is too large is found where it is used
        return _read(root, package_map, diagnostics, with_geometry)


def _read(root: XmlNode, package_map: PackageMap, diagnostics: Diagnostics, with_geometry: bool) -> DocumentDescription:
    report = MjcfReport()
    source = read_source(root, package_map)
    tree = read_tree(source, report)
    for placed in {placement.source: None for placement in tree.placements}:
        report_unused(placed, report)
    model = read_bodies(source.name, tree, MjcfGeometryReader(report, with_geometry), report)
    if source.settings.fuses_static_bodies:
        fuse_static_bodies(model, tree)
    name_links(model)
    description = ModelDescription(source.name, root.location)
    _describe(tree, model, description, report)
    description.lights = read_lights(source, model, report)
    description.gravity = source.options.gravity
    description.sky = sky_colors([source.defaults.filled(n) for n in source.section("asset") if n.tag == "texture"])
    report.warn(root.location, diagnostics)
    return DocumentDescription(root.location, [description])


def _describe(tree: MjcfTree, model: MjcfModel, description: ModelDescription, report: MjcfReport) -> None:
    """Describes bodies, and the elements that refer to them."""
    options = tree.world.source.options
    tendons = read_tendons(tree, model, report)
    actuators = read_actuators(tree, model, report)
    read_spring_dampers(model.joints(), ReferenceMass(model).effective)
    switch_off(model.joints(), options)
    pairs = read_pairs(tree, model, report)
    touching = touching_geometries(model, pairs) if options.allows("contact") else set()
    add_links(model, options, description, touching, report)
    along = [a.drive for a in actuators if isinstance(a.drive, MjcfTransmission) and a.drive not in tendons]
    add_transmissions([*tendons, *along], model, description, report)
    add_actuators(actuators, model, description, report)
    if options.allows("equality"):
        add_equalities(tree, model, description, report)
    add_sensors(tree, model, description, report)
    add_fluid(model, options, description, report)
    add_exclusions(tree, model, touching, pairs, description, report)
    description.keyframes = read_keyframes(tree.world.source, model, report)
    apply_home(description)


_COEFFICIENTS = [0.5, 0.25, 1.5, 1.0, 1.0]
_SMALLEST = 1e-15  # of masses [kg] and of differences of moments of inertia [kg m^2]


def add_fluid(model: MjcfModel, options: MjcfOptions, description: ModelDescription, report: MjcfReport) -> None:
    """Adds what the fluid exerts on every body that moves, if there is one.

    Args:
        model: has the bodies, under their names.
        options: of the main file.
        description: receives the forces.
        report: receives what has no counterpart.

    Raises:
        ParsingError: coefficients of a geometry are wrong.
    """
    if not (options.density > 0.0 or options.viscosity > 0.0) or not options.has_passive_forces():
        return
    for link in model.links:
        if link.weld_root().is_world or link.mass.mass < _SMALLEST:
            continue
        wet = [geometry for geometry in link.geometries if _is_ellipsoid(geometry)]
        found = [_on_geometry(link, geometry, options, report) for geometry in wet] or [_on_box(link, options)]
        description.fluids += [fluid for fluid in found if fluid is not None]


def _is_ellipsoid(geometry: MjcfGeometry) -> bool:
    node = geometry.part.node
    word = node.attributes.get("fluidshape", "none")
    return node.expect_one_of(word, ("none", "ellipsoid"), "value of attribute 'fluidshape' of <geom>") == "ellipsoid"


def _on_geometry(
    link: MjcfLink, geometry: MjcfGeometry, options: MjcfOptions, report: MjcfReport
) -> FluidDescription | None:
    node, size = geometry.part.node, _semi_axes(geometry.description.shape)
    if size is None:
        report.add(node.location, "<geom> fluidshape of a mesh, plane or height field: no forces of the fluid")
        return None
    given = node.vector_attribute("fluidcoef", (1, 2, 3, 4, 5), _COEFFICIENTS)
    coefficients = np.array([*given, *_COEFFICIENTS[len(given) :]])
    fluid = options.density, options.viscosity, options.wind
    return FluidDescription(link.name, geometry.description.X_BG, node.location, size, *fluid, coefficients)


def _semi_axes(shape: ShapeDescription) -> np.ndarray | None:
    """Semi-axes of the ellipsoid that replaces a shape [m], shape [3]."""
    d = shape.dimensions
    match shape.kind:
        case "Sphere":
            return np.full(3, d[0])
        case "Ellipsoid":
            return np.array(d)
        case "Box":
            return 0.5 * np.array(d)
        case "Cylinder" | "Capsule":
            return np.array([d[0], d[0], 0.5 * d[1] + (d[0] if shape.kind == "Capsule" else 0.0)])
    return None


def _on_box(link: MjcfLink, options: MjcfOptions) -> FluidDescription | None:
    """The force on the box of the body's mass and inertia; None if the box has no extent."""
    moments, axes = link.mass.principal()
    squares = np.maximum(_SMALLEST, moments.sum() - 2.0 * moments) / link.mass.mass * 6.0
    if not np.isfinite(squares).all():
        return None
    if np.linalg.det(axes) < 0.0:
        axes = -axes
    X_BG = RigidTransform(RotationMatrix.ProjectToRotationMatrix(axes), link.mass.p_SoScm_S)
    fluid = options.density, options.viscosity, options.wind
    return FluidDescription(link.name, X_BG, link.body.node.location, np.sqrt(squares), *fluid)
