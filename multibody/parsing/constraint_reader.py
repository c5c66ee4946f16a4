"""Constraints of URDF and SDF files: <mimic>, <drake:ball_constraint> and <drake:tendon_constraint>."""

from __future__ import annotations

__all__ = ["read_ball_constraint", "read_mimic", "read_sdf_mimic", "read_tendons", "usable_couplers"]

from collections.abc import Callable, Iterable
from math import inf, isfinite

import numpy as np

from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    BodyReference,
    CouplerDescription,
    JointDescription,
    TendonDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.geometry_reader import drake_value
from merganser.multibody.parsing.xml_reader import XmlNode

_MOST_JOINTS = 2  # of a tendon


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
    """Couplers of joints with one degree of freedom each; a warning tells of the others.

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
        diagnostics: warned of tendons along more than two joints, which have no effect.

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
        if len(set(names)) != len(names) or len(names) > _MOST_JOINTS:
            diagnostics.warn(
                node.location,
                f"the tendon along {', '.join(names)} has no effect; tendons are along one or two joints here.",
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
