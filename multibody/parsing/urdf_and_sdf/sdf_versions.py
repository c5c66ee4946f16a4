"""Older versions of SDFormat, written as the newer ones say the same.

Flattened models of SDFormat up to 1.7, as the nested models that they were.

Before 1.8, an element inside of a nested model could be written in the model around it, under a scoped name: a link
`arm::hand` of model `cart` is link `hand` of model `arm` in `cart`. Gazebo classic and `gz sdf -p` print files so.
"""

from __future__ import annotations

from dataclasses import replace

from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import MODEL_FRAME
from merganser.multibody.parsing.xml_reader import XmlNode

_NAMED = ("link", "joint", "frame", "model", "gripper")
_REFERENCES = ("relative_to", "attached_to", "expressed_in", "canonical_link", "placement_frame")
_TEXTS = ("parent", "child", "drake:parent", "drake:child", "gripper_link", "palm_link")  # that are names


def unflattened(node: XmlNode) -> XmlNode:
    """A <world> or <model> with nested models in place of all elements of models with scoped names.

    A frame `arm::__model__` says where the nested model `arm` is, and by what it is attached to, which of its links is
    the canonical one; without it, the nested model is where the one around it is.
    """
    if node.tag != "model":
        children = [unflattened(child) if child.tag == "model" else child for child in node.children]
        return replace(node, children=children)
    kept: list[XmlNode] = []
    nested: dict[str, list[XmlNode]] = {}
    for child in node.children:
        scope, _, name = child.attributes.get("name", "").partition("::")
        if child.tag in _NAMED and scope and name:
            nested.setdefault(scope, []).append(child)
        else:
            kept.append(unflattened(child) if child.tag == "model" else child)
    return replace(node, children=kept + [_nested(scope, elements) for scope, elements in nested.items()])


def _nested(name: str, elements: list[XmlNode]) -> XmlNode:
    """The nested model of some elements whose names start with its own."""
    attributes = {"name": name}
    children: list[XmlNode] = []
    for element in elements:
        if element.tag == "frame" and element.attributes["name"] == f"{name}::{MODEL_FRAME}":
            canonical = element.attributes.get("attached_to", "").removeprefix(f"{name}::")
            attributes |= {"canonical_link": canonical} if canonical else {}
            children += element.find_all("pose")
        else:
            children.append(_inside(element, f"{name}::"))
    return unflattened(XmlNode("model", elements[0].location, attributes, children=children))


def _inside(node: XmlNode, scope: str) -> XmlNode:
    """A copy of an element with the names that it, and all in it, has inside of a scope `name::`."""
    attributes = {
        key: value.removeprefix(scope) if key == "name" or key in _REFERENCES else value
        for key, value in node.attributes.items()
    }
    text = node.text.removeprefix(scope) if node.tag in _TEXTS else node.text
    return replace(node, attributes=attributes, text=text, children=[_inside(child, scope) for child in node.children])


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
