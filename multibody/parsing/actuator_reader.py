"""What SDF and URDF files say alike about actuators."""

from __future__ import annotations

__all__ = ["read_controller_gains", "read_rotor"]

from math import isfinite

from merganser.multibody.parsing.geometry_reader import drake_value
from merganser.multibody.parsing.joint_reader import check_nonnegative
from merganser.multibody.parsing.xml_reader import XmlNode


def read_rotor(node: XmlNode, joint_name: str) -> tuple[float, float]:
    """The inertia [kg m^2 or kg] of a rotor, <drake:rotor_inertia>, and its <drake:gear_ratio>.

    Args:
        node: the element that may hold them.
        joint_name: of the joint that the actuator drives, for messages.

    Raises:
        ParsingError: the inertia is negative, or that at the joint too large to compute with.
    """
    inertia_node, ratio_node = node.find("drake:rotor_inertia"), node.find("drake:gear_ratio")
    inertia = 0.0 if inertia_node is None else drake_value(inertia_node)
    ratio = 1.0 if ratio_node is None else drake_value(ratio_node)
    check_nonnegative(node, joint_name, {"rotor inertia": inertia})
    if not isfinite(ratio * ratio * max(inertia, 1.0)):
        raise node.error(f"joint '{joint_name}' has rotor inertia {inertia:g} and gear ratio {ratio:g}: too large.")
    return inertia, ratio


def read_controller_gains(node: XmlNode, joint_name: str) -> tuple[float, float] | None:
    """The gains p [N m/rad or N/m] and d [N m s/rad or N s/m] of <drake:controller_gains>; None if there is none.

    Args:
        node: the element that may hold it.
        joint_name: of the joint that the actuator drives, for messages.

    Raises:
        ParsingError: an attribute is missing or no number, or a gain is negative.
    """
    gains = node.find("drake:controller_gains")
    if gains is None:
        return None
    p, d = gains.float_attribute("p"), gains.float_attribute("d")
    check_nonnegative(gains, joint_name, {"proportional gain": p, "derivative gain": d})
    return p, d
