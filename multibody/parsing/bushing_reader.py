"""Bushings of URDF and SDF files: <drake:linear_bushing_rpy>."""

from __future__ import annotations

__all__ = ["read_bushing"]

from collections.abc import Callable

import numpy as np

from merganser.multibody.parsing.description import BushingDescription, FrameReference
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
