"""What SDF and URDF files say alike about actuators."""

from __future__ import annotations

__all__ = ["read_controller_gains"]

from merganser.multibody.parsing.joint_reader import check_nonnegative
from merganser.multibody.parsing.xml_reader import XmlNode


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
