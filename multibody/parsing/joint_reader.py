"""What URDF and SDF share about joints: admissible numbers, and Drake's extensions."""

from __future__ import annotations

__all__ = [
    "check_joint_type",
    "check_limits",
    "check_nonnegative",
    "read_filter_group",
    "unit_axis",
]

import numpy as np

from merganser.multibody.parsing.description import CollisionFilterGroupDescription
from merganser.multibody.parsing.xml_reader import XmlNode


def check_joint_type(node: XmlNode, joint: str, type_name: str, supported: tuple[str, ...]) -> None:
    """Refuses joint types that cannot be modelled."""
    if type_name not in supported or node.tag != "joint":
        raise node.error(
            f"joint '{joint}' has the unsupported type '{type_name}'"
            + ("" if node.tag == "joint" else f" in a <{node.tag}> element")
            + f"; supported in <joint>: {', '.join(supported)}."
        )


def unit_axis(node: XmlNode, joint: str, axis: np.ndarray) -> np.ndarray:
    """The direction of a joint axis, shape [3]; the zero vector has none."""
    largest = float(np.abs(axis).max())
    if largest < 1e-12:
        raise node.error(f"joint '{joint}' has axis {axis.tolist()}; it needs a direction, such as 0 0 1.")
    scaled = axis / largest  # so that squaring huge components does not overflow
    return scaled / np.linalg.norm(scaled)


def check_limits(node: XmlNode, joint: str, limits: tuple[float, float]) -> None:
    """Refuses position limits that leave no position."""
    if limits[0] > limits[1]:
        raise node.error(f"joint '{joint}' has lower limit {limits[0]:g} above upper limit {limits[1]:g}.")


def check_nonnegative(node: XmlNode, joint: str, quantities: dict[str, float]) -> None:
    """Refuses negative values of quantities that have no sign."""
    for name, value in quantities.items():
        if value < 0:
            raise node.error(f"joint '{joint}' has {name} {value:g}; it cannot be negative.")


def read_filter_group(node: XmlNode, read: str) -> CollisionFilterGroupDescription:
    """A <drake:collision_filter_group>; member and group names are in attribute `read`, or the text."""
    members = tuple(_name_in(child, read) for child in node.find_all("drake:member"))
    ignored = tuple(
        _name_in(child, "name") for child in node.find_all("drake:ignored_collision_filter_group")
    )
    return CollisionFilterGroupDescription(node.require_attribute("name"), members, ignored, node.location)


def _name_in(node: XmlNode, attribute: str) -> str:
    return node.text or node.require_attribute(attribute)
