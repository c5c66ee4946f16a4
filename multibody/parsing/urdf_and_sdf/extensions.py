"""Constraints of URDF and SDF files: <mimic>, <drake:ball_constraint> and <drake:tendon_constraint>.

Force elements of URDF and SDF files: <drake:linear_bushing_rpy> and <drake:linear_spring_damper>.

Deformable links of SDF files: <drake:deformable_properties> and <drake:wall_boundary_condition>.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, isfinite
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.geometry import GeometryInstance, IllustrationProperties
from merganser.multibody.fem.config import DeformableBodyConfig, MaterialModel
from merganser.multibody.kernels.constraints.tendon import MOST_JOINTS
from merganser.multibody.parsing.build_geometry import make_proximity_properties, make_shape, make_visual
from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    BodyReference,
    BushingDescription,
    CouplerDescription,
    DeformableDescription,
    FrameReference,
    GeometryDescription,
    JointDescription,
    LinkDescription,
    SpringDamperDescription,
    TendonDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.urdf_and_sdf.geometry import drake_value
from merganser.multibody.parsing.xml_reader import XmlNode


def read_mimic(
    node: XmlNode, model: str, joint: str, multiplier: float | None = None, offset: float | None = None
) -> CouplerDescription:
    """Describes how a joint mimics another.

    Args:
        node: the element, with attributes joint, multiplier and offset.
        model: name of the model of both joints.
        joint: name of the joint that mimics.
        multiplier, offset: defaults of these attributes; None if they must be there.

    Raises:
        ParsingError: an attribute is missing or no number, or the joint mimics itself.
    """
    other = node.require_attribute("joint")
    if other == joint:
        raise node.error(f"joint '{joint}' mimics itself; name another joint.")
    ratio, shift = node.float_attribute("multiplier", multiplier), node.float_attribute("offset", offset)
    return CouplerDescription(model, joint, other, ratio, shift, node.location)


def read_sdf_mimic(node: XmlNode, model: str, joint: str) -> CouplerDescription:
    """Describes how the axis of a joint mimics another, as SDFormat says it: q = multiplier (q' - reference) + offset.

    Args:
        node: the <mimic> element, with attribute joint and children multiplier, offset and reference.
        model: name of the model of both joints.
        joint: name of the joint that mimics.

    Raises:
        ParsingError: a number is wrong, or the joint mimics itself.
    """
    other = node.require_attribute("joint")
    if other == joint:
        raise node.error(f"joint '{joint}' mimics itself; name another joint.")
    multiplier = node.float_child("multiplier", 1.0)
    offset = node.float_child("offset", 0.0) - multiplier * node.float_child("reference", 0.0)
    return CouplerDescription(model, joint, other, multiplier, offset, node.location)


def usable_couplers(
    couplers: Iterable[CouplerDescription], joints: Iterable[JointDescription], diagnostics: Diagnostics
) -> list[CouplerDescription]:
    """Couplers of joints with one degree of freedom each; a warning names the others.

    Args:
        couplers: of one model; a joint that mimics but is not among `joints` is floating.
        joints: of that model.
        diagnostics: receives the warnings.
    """
    kinds = {joint.name: joint.type for joint in joints}
    able = {joint.name for joint in joints if joint.has_one_degree_of_freedom}
    usable = []
    for coupler in couplers:
        # A second joint that does not exist is an error, found later.
        both = [coupler.joint0, coupler.joint1] if coupler.joint1 in kinds else [coupler.joint0]
        unable = next((name for name in both if name not in able), None)
        if unable is None:
            usable.append(coupler)
            continue
        diagnostics.warn(
            coupler.location,
            f"joint '{coupler.joint0}' does not mimic joint '{coupler.joint1}': '{unable}' is "
            f"{kinds.get(unable, 'floating')}, and only joints with one degree of freedom can be coupled.",
        )
    return usable


def read_ball_constraint(
    node: XmlNode, body_of: Callable[[XmlNode], BodyReference], vector_of: Callable[[XmlNode], np.ndarray]
) -> BallConstraintDescription:
    """Describes a ball constraint.

    Args:
        node: the element.
        body_of: gives the body that a child element names.
        vector_of: gives the three numbers of a child element.

    Raises:
        ParsingError: a child element is missing, or both bodies are the same.
    """
    A, P, B, Q = (node.require(f"drake:ball_constraint_{part}") for part in ("body_A", "p_AP", "body_B", "p_BQ"))
    body_A, body_B = body_of(A), body_of(B)
    if body_A == body_B:
        raise node.error(f"a ball constraint keeps body '{body_A}' at itself; it needs two bodies.")
    return BallConstraintDescription(body_A, vector_of(P), body_B, vector_of(Q), node.location)


def read_tendons(
    model: XmlNode, joints: Iterable[JointDescription], diagnostics: Diagnostics
) -> list[TendonDescription]:
    """Describes each <drake:tendon_constraint> of a model.

    Args:
        model: the element.
        joints: of that model.
        diagnostics: warned of tendons along more than five joints, which have no effect.

    Raises:
        ParsingError: a number is missing or out of range, or a joint is not there or has not one degree of freedom.
    """
    known = {joint.name: joint for joint in joints}
    tendons = []
    for node in model.find_all("drake:tendon_constraint"):
        named = list(node.find_all("drake:tendon_constraint_joint"))
        if not named:
            raise node.error("a tendon is along joints: give it a <drake:tendon_constraint_joint>.")
        names = [child.require_attribute("name") for child in named]
        for child, name in zip(named, names):
            if name not in known or not known[name].has_one_degree_of_freedom:
                kind = f"is {known[name].type}" if name in known else "is not there"
                raise child.error(f"a tendon is along joints with one degree of freedom, but '{name}' {kind}.")
        coefficients = [child.float_attribute("a") for child in named]
        tendon = _tendon(node, tuple(names), tuple(coefficients))
        if len(set(names)) != len(names) or len(names) > MOST_JOINTS:
            diagnostics.warn(
                node.location,
                f"the tendon along {', '.join(names)} has no effect; tendons are along up to five joints here.",
            )
        else:
            tendons.append(tendon)
    return tendons


def _tendon(node: XmlNode, joints: tuple[str, ...], coefficients: tuple[float, ...]) -> TendonDescription:
    defaults = {"offset": 0.0, "lower_limit": -inf, "upper_limit": inf, "stiffness": inf, "damping": 0.0}
    values: dict[str, float] = {}
    for name, default in defaults.items():
        child = node.find(f"drake:tendon_constraint_{name}")
        values[name] = default if child is None else drake_value(child, allow_infinite=True)
    if not (isfinite(values["offset"]) and 0.0 <= values["damping"] < inf and values["stiffness"] > 0.0):
        raise node.error(
            f"the tendon has offset {values['offset']:g}, stiffness {values['stiffness']:g} and damping "
            f"{values['damping']:g}; expected a finite offset, a positive stiffness and a damping that is not negative."
        )
    lower, upper = values["lower_limit"], values["upper_limit"]
    if not lower <= upper or lower == inf or upper == -inf:
        raise node.error(f"the tendon has the limits {lower:g} and {upper:g}; the lower one must be the smaller one.")
    return TendonDescription(
        joints, coefficients, node.location, values["offset"], lower, upper, values["stiffness"], values["damping"]
    )


_CONSTANTS = ("torque_stiffness", "torque_damping", "force_stiffness", "force_damping")


def read_bushing(
    node: XmlNode, frame_of: Callable[[XmlNode], FrameReference], vector_of: Callable[[XmlNode], np.ndarray]
) -> BushingDescription:
    """Describes a bushing.

    Args:
        node: the element.
        frame_of: gives the frame that a child element names.
        vector_of: gives the three numbers of a child element.

    Raises:
        ParsingError: a child element is missing, or a constant is negative.
    """
    constants = {}
    for name in _CONSTANTS:
        child = node.require(f"drake:bushing_{name}")
        constants[name] = vector_of(child)
        if not (constants[name] >= 0.0).all():
            raise child.error(f"the constants of a bushing must not be negative, but are {constants[name].tolist()}.")
    return BushingDescription(
        frame_of(node.require("drake:bushing_frameA")),
        frame_of(node.require("drake:bushing_frameC")),
        node.location,
        **constants,
    )


def read_spring_damper(
    node: XmlNode, body_of: Callable[[XmlNode], BodyReference], vector_of: Callable[[XmlNode], np.ndarray]
) -> SpringDamperDescription:
    """Describes a spring and damper between two points.

    Args:
        node: the element.
        body_of: gives the body that a child element names.
        vector_of: gives the three numbers of a child element.

    Raises:
        ParsingError: a child element is missing, a constant is negative, or the free length is not positive.
    """

    def part(name: str) -> XmlNode:
        return node.require(f"drake:linear_spring_damper_{name}")

    constants = {name: drake_value(part(name)) for name in ("free_length", "stiffness", "damping")}
    for name, value in constants.items():
        if value < 0.0:
            raise part(name).error(f"the {name} of a spring and damper is {value:g}; it must not be negative.")
    if constants["free_length"] == 0.0:
        raise part("free_length").error("the free_length of a spring and damper is 0; it must be positive.")
    return SpringDamperDescription(
        body_of(part("body_A")),
        vector_of(part("p_AP")),
        body_of(part("body_B")),
        vector_of(part("p_BQ")),
        node.location,
        **constants,
    )


_PROPERTIES = "drake:deformable_properties"
_NUMBERS = {
    "drake:youngs_modulus": "set_youngs_modulus",
    "drake:poissons_ratio": "set_poissons_ratio",
    "drake:mass_damping": "set_mass_damping_coefficient",
    "drake:stiffness_damping": "set_stiffness_damping_coefficient",
    "drake:mass_density": "set_mass_density",
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
        from merganser.multibody.fem.materials.table import MATERIALS

        names = tuple(kind.name for kind in MATERIALS)
        number = names.index(model.expect_one_of(model.text.strip(), names, "material model"))
        config.set_material_model(MaterialModel(number) if number < len(MaterialModel) else MATERIALS[number])
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
