"""Deformable links of SDF files: <drake:deformable_properties> and <drake:wall_boundary_condition>."""

from __future__ import annotations

__all__ = ["add_deformable", "is_deformable", "read_deformable"]

from typing import Any

from merganser.framework.math import RigidTransform
from merganser.geometry import GeometryInstance, IllustrationProperties
from merganser.multibody.fem.config import DeformableBodyConfig, MaterialModel
from merganser.multibody.parsing.build_geometry import make_proximity_properties, make_shape, make_visual
from merganser.multibody.parsing.description import DeformableDescription, GeometryDescription, LinkDescription
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.xml_reader import XmlNode

_PROPERTIES = "drake:deformable_properties"
_NUMBERS = {
    "drake:youngs_modulus": "set_youngs_modulus",
    "drake:poissons_ratio": "set_poissons_ratio",
    "drake:mass_damping": "set_mass_damping_coefficient",
    "drake:stiffness_damping": "set_stiffness_damping_coefficient",
    "drake:mass_density": "set_mass_density",
}
_MATERIALS = {
    "linear": MaterialModel.kLinear,
    "linear_corotated": MaterialModel.kLinearCorotated,
    "neohookean": MaterialModel.kNeoHookean,
    "corotated": MaterialModel.kCorotated,
}
_HINT = 1.0  # of shapes that say none, as in pydrake [m]


def is_deformable(link: XmlNode) -> bool:
    """Whether a <link> is a deformable body."""
    return link.find(_PROPERTIES) is not None


def read_deformable(node: XmlNode, link: LinkDescription, diagnostics: Diagnostics) -> DeformableDescription:
    """Describes a deformable body.

    Args:
        node: the <link>.
        link: the same as a rigid body, of which the geometries and the pose count.
        diagnostics: receives what is not honoured.

    Raises:
        ParsingError: the link has not exactly one <collision>, or more than one <visual>; or a number is out of range.
    """
    if len(link.collisions) != 1 or len(link.visuals) > 1:
        raise node.error(
            f"the deformable link '{link.name}' must have one <collision>, whose tetrahedra it is made of, and at most "
            f"one <visual>; it has {len(link.collisions)} and {len(link.visuals)}."
        )
    for collision in link.collisions:
        if not collision.X_BG.IsExactlyIdentity():
            diagnostics.warn(collision.location, "<pose> of the <collision> of a deformable link has no effect.")
    if node.find("inertial") is not None:
        diagnostics.warn(node.location, f"<inertial> of the deformable link '{link.name}' has no effect.")
    walls = []
    for wall in node.find_all("drake:wall_boundary_condition"):
        point, normal = (wall.require(f"drake:{name}") for name in ("point_on_plane", "outward_normal"))
        walls.append((point.vector_text(3), normal.vector_text(3)))
    config = _read_config(node.require(_PROPERTIES), link.name)
    return DeformableDescription(link.name, link, config, walls, node.location)


def _read_config(node: XmlNode, name: str) -> DeformableBodyConfig:
    config = DeformableBodyConfig()
    for tag, setter in _NUMBERS.items():
        child = node.find(tag)
        if child is not None:
            try:
                getattr(config, setter)(child.float_text())
            except (RuntimeError, ValueError) as error:
                raise child.error(f"of the deformable link '{name}': {error}") from error
    model = node.find("drake:material_model")
    if model is not None:
        kind = model.expect_one_of(model.text.strip(), tuple(_MATERIALS), "material model")
        config.set_material_model(_MATERIALS[kind])
    return config


def add_deformable(plant: Any, model_instance: int, body: DeformableDescription) -> None:
    """Adds a deformable body to a plant that has a SceneGraph."""
    collision: GeometryDescription = body.link.collisions[0]
    X_WD = RigidTransform() if body.link.X_WB is None else body.link.X_WB
    geometry = GeometryInstance(X_WD, make_shape(collision.shape), body.name)
    properties = make_proximity_properties(collision)
    geometry.set_proximity_properties(properties)
    look = [make_visual(visual).illustration_properties() for visual in body.link.visuals]
    geometry.set_illustration_properties(look[0] if look and look[0] is not None else IllustrationProperties())
    hint = properties.GetPropertyOrDefault("hydroelastic", "resolution_hint", _HINT)
    model = plant.mutable_deformable_model()
    id = model.RegisterDeformableBody(geometry, model_instance, body.config, hint)
    for p_WQ, n_W in body.walls:
        model.SetWallBoundaryCondition(id, p_WQ, n_W)
