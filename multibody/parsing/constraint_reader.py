"""Constraints of URDF and SDF files: <mimic> and <drake:ball_constraint>."""

from __future__ import annotations

__all__ = ["read_ball_constraint", "read_mimic", "usable_couplers"]

from collections.abc import Callable, Iterable

import numpy as np

from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    BodyReference,
    CouplerDescription,
    JointDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
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
