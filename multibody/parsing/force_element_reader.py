"""Force elements of URDF and SDF files: <drake:linear_bushing_rpy> and <drake:linear_spring_damper>."""

from __future__ import annotations

__all__ = ["read_bushing", "read_spring_damper"]

from collections.abc import Callable

import numpy as np

from merganser.multibody.parsing.description import (
    BodyReference,
    BushingDescription,
    FrameReference,
    SpringDamperDescription,
)
from merganser.multibody.parsing.geometry_reader import drake_value
from merganser.multibody.parsing.xml_reader import XmlNode

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
