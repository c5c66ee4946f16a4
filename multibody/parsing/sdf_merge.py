"""Merges an included SDF model into the model that includes it.

Merging (<include merge="true">) puts the links, joints, frames and nested models of a model L beside those of the
model M around it. The frame of L stays, as a frame named `_merged__L__model__`, and takes the place of `__model__`
wherever the elements of L refer to it, in words or by leaving out a name.
"""

from __future__ import annotations

__all__ = ["merged_elements"]

from dataclasses import replace

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.sdf_scope import MODEL_FRAME, SdfScope, build_scope, read_pose
from merganser.multibody.parsing.xml_reader import XmlNode

_REFERENCES = ("relative_to", "attached_to", "expressed_in")
# These say something about the model as a whole, which is no more.
_OF_THE_MODEL = ("pose", "static", "self_collide", "allow_auto_disable", "enable_wind")


def merged_elements(model: XmlNode, parent_frame: str) -> list[XmlNode]:
    """The elements that stand for a model in the model around it, the frame of the model first.

    Args:
        model: <model> with name, <pose> and placement as the include wants them, itself without includes.
        parent_frame: name of the frame of the model around.

    Raises:
        ParsingError: the model has no link, or its placement frame does not exist.
    """
    name = model.require_attribute("name")
    frame = f"_merged__{name}__model__"
    scope = build_scope(model, name, SdfScope("", model))
    pose = model.find("pose")
    relative_to = (pose.attributes.get("relative_to") if pose is not None else "") or parent_frame
    placement = model.attributes.get("placement_frame") or MODEL_FRAME
    X_RL = read_pose(pose) @ scope.X_MF(placement, model).inverse()  # read_pose() gives X_RP of placement frame P
    attached_to = str(scope.body_of(MODEL_FRAME, model)).removeprefix(f"{name}::")
    frame_node = XmlNode(
        "frame",
        model.location,
        {"name": frame, "attached_to": attached_to},
        children=[_pose_node(X_RL, relative_to, model)],
    )
    kept = [child for child in model.children if child.tag not in _OF_THE_MODEL]
    return [frame_node, *(_with_frame(child, frame) for child in kept)]


def _pose_node(X_RF: RigidTransform, relative_to: str, node: XmlNode) -> XmlNode:
    w, x, y, z = (float(number) for number in X_RF.rotation().ToQuaternion().wxyz())
    numbers = [*(float(number) for number in X_RF.translation()), x, y, z, w]
    attributes = {"relative_to": relative_to, "rotation_format": "quat_xyzw"}
    return XmlNode("pose", node.location, attributes, " ".join(map(repr, numbers)))


def _with_frame(node: XmlNode, frame: str) -> XmlNode:
    """A copy of an element of the merged model, which refers to the frame of that model by its new name."""
    node = _renamed(node, frame)
    if node.tag in ("link", "model"):
        pose = node.find("pose") or XmlNode("pose", node.location)
        if not pose.attributes.get("relative_to"):
            pose = replace(pose, attributes={**pose.attributes, "relative_to": frame})
        return replace(node, children=[pose, *(child for child in node.children if child.tag != "pose")])
    if node.tag == "frame" and not node.attributes.get("attached_to"):
        return replace(node, attributes={**node.attributes, "attached_to": frame})
    return node


def _renamed(node: XmlNode, frame: str) -> XmlNode:
    """A copy of an element with the new name of the frame; what is inside a nested model refers to that model's own."""
    attributes = {
        name: frame if name in _REFERENCES and value == MODEL_FRAME else value
        for name, value in node.attributes.items()
    }
    is_model = node.tag == "model"
    children = [child if is_model and child.tag != "pose" else _renamed(child, frame) for child in node.children]
    if any(child.tag == "use_parent_model_frame" and child.text and child.parse_bool(child.text) for child in children):
        children = [
            replace(child, attributes={**child.attributes, "expressed_in": frame}) if child.tag == "xyz" else child
            for child in children
            if child.tag != "use_parent_model_frame"
        ]
    text = frame if node.text == MODEL_FRAME else node.text
    return replace(node, attributes=attributes, children=children, text=text)
