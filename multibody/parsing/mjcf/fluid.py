"""The fluid around the bodies of an MJCF file: on each a box of its inertia, or the ellipsoids of its geometries."""

from __future__ import annotations

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import FluidDescription, ModelDescription, ShapeDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.geometry import MjcfGeometry
from merganser.multibody.parsing.mjcf.settings import MjcfOptions
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport

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
