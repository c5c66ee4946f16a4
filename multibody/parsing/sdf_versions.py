"""Older versions of SDFormat, written as the newer ones say the same."""

from __future__ import annotations

__all__ = ["modernized"]

from dataclasses import replace

from merganser.multibody.parsing.sdf_flattened import unflattened
from merganser.multibody.parsing.xml_reader import XmlNode

_AXES_IN_JOINT_FRAMES = 5  # the minor version since which <xyz> of an axis is in the frame of the joint
_RELATIVE_POSES = 7  # since which <pose> has `relative_to` in place of `frame`
_OWN_NAMES = 8  # since which names have no scope


def modernized(element: XmlNode, version: str) -> XmlNode:
    """An element of a version 1.x as version 1.8 and later write it.

    Before 1.5, joint axes are expressed in the frame of the model; before 1.7, poses name a `frame`; before 1.8, names
    in nested models may be those that they have in the model around.
    """
    digits = version.partition(".")[2]
    minor = int(digits) if digits.isdecimal() else _OWN_NAMES
    if minor < _RELATIVE_POSES:
        element = _modernized(element, minor)
    return element if minor >= _OWN_NAMES else unflattened(element)


def _modernized(node: XmlNode, minor: int) -> XmlNode:
    children = [_modernized(child, minor) for child in node.children]
    attributes = dict(node.attributes)
    if node.tag == "pose" and "frame" in attributes:
        frame = attributes.pop("frame")
        attributes.update({"relative_to": frame} if frame else {})
    is_axis = node.tag in ("axis", "axis2") and minor < _AXES_IN_JOINT_FRAMES
    if is_axis and node.find("use_parent_model_frame") is None:
        children.append(XmlNode("use_parent_model_frame", node.location, text="true"))
    return replace(node, attributes=attributes, children=children)
