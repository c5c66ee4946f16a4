"""Merges an included SDF model into the model that includes it.

Merging (<include merge="true">) puts the links, joints, frames and nested models of a model L beside those of the
model M around it. The frame of L stays, as a frame named `_merged__L__model__`, and takes the place of `__model__`
wherever the elements of L refer to it, in words or by leaving out a name.

URDF robots included in SDF documents: which frames they have there, and where their links are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import FrameDescription, ModelDescription
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.urdf_and_sdf.geometry import MeshReader
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import MODEL_FRAME, SdfScope, build_scope, read_pose
from merganser.multibody.parsing.urdf_and_sdf.urdf import read_robot, without_ignored
from merganser.multibody.parsing.xml_reader import XmlNode

_REFERENCES = ("relative_to", "attached_to", "expressed_in")
# These say something about the model as a whole, which is no more.
_OF_THE_MODEL = ("pose", "static", "self_collide", "allow_auto_disable", "enable_wind")


def merged_elements(model: XmlNode, parent_frame: str) -> list[XmlNode]:
    """The elements that replace a merged model in the model around it, the frame of the model first.

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


MERGED_ROBOT = "merged robot"  # tag of a robot in the model into which it is merged


@dataclass(frozen=True)
class IncludedRobotPart(XmlNode):
    """The name and pose of a link, joint or frame of a robot; all else is in the <robot>."""


@dataclass(frozen=True)
class IncludedRobot(XmlNode):
    """A <robot> as the SDF <model> that has links, joints and frames with its names in its places.

    Attributes:
        robot: the <robot> itself, which says all else.
    """

    robot: XmlNode = field(kw_only=True)


def included_robot(robot: XmlNode, include: XmlNode) -> IncludedRobot:
    """A robot with all joints at zero, and its links without parent at the origin of the model.

    Raises:
        ParsingError: the file holds no robot, or the include makes it static.
    """
    if robot.tag != "robot":
        raise robot.error(f"a URDF document starts with <robot>, not with <{robot.tag}>.")
    if include.bool_child("static", False):
        raise include.error("a URDF model cannot be made static; include it as it is, and weld its base.")
    robot = without_ignored(robot)
    placed: dict[str, XmlNode] = {}
    children: list[XmlNode] = []
    for joint in robot.find_all("joint", "drake:joint"):
        parent, child = (joint.require(role).require_attribute("link") for role in ("parent", "child"))
        if parent != "world" and joint.attributes.get("type") != "floating":
            placed[child] = _pose(joint.find("origin"), parent, joint)
        attributes = {"name": joint.require_attribute("name")}
        named = XmlNode("child", joint.location, text=child)
        children.append(IncludedRobotPart("joint", joint.location, attributes, children=[named]))
    for link in robot.find_all("link"):
        name = link.require_attribute("name")
        if name != "world":
            pose = [placed[name]] if name in placed else []
            children.append(IncludedRobotPart("link", link.location, {"name": name}, children=pose))
    for frame in robot.find_all("frame"):
        name, link_name = (frame.require_attribute(key) for key in ("name", "link"))
        attributes = {"name": name, "attached_to": link_name}
        children.append(
            IncludedRobotPart("frame", frame.location, attributes, children=[_pose(frame, link_name, frame)])
        )
    attributes = {"name": robot.require_attribute("name")}
    return IncludedRobot("model", robot.location, attributes, children=children, robot=robot)


def _pose(origin: XmlNode | None, relative_to: str, node: XmlNode) -> XmlNode:
    """The <pose> with the same pose as an <origin>."""
    attributes = {} if origin is None else origin.attributes
    text = f"{attributes.get('xyz', '0 0 0')} {attributes.get('rpy', '0 0 0')}"
    return XmlNode("pose", node.location, {"relative_to": relative_to}, text)


def read_included_robot(scope: SdfScope, meshes: MeshReader, diagnostics: Diagnostics) -> ModelDescription:
    """Describes an included robot, placed by its scope.

    Raises:
        ParsingError: the robot is not a valid URDF model.
    """
    node = scope.node
    assert isinstance(node, IncludedRobot)
    model = read_robot(node.robot, scope.name, meshes, diagnostics)
    model.is_added_first = True
    for link in model.links:
        link.X_WB = scope.X_WM() @ scope.X_MF(link.name, node)
    canonical = scope.body_of(scope.root_frame, node)
    X_BM = scope.X_MB(canonical, node).inverse()
    model.frames.insert(0, FrameDescription(scope.root_frame, canonical, X_BM, node.location))
    return model


def read_merged_robot(
    node: IncludedRobot, scope: SdfScope, model: ModelDescription, meshes: MeshReader, diagnostics: Diagnostics
) -> None:
    """Merges a robot into a model, before the elements that the model has so far.

    Raises:
        ParsingError: the robot is not a valid URDF model.
    """
    robot = read_robot(node.robot, scope.name, meshes, diagnostics)
    for link in robot.links:
        link.X_WB = scope.X_WM() @ scope.X_MF(link.name, node)
    for of_kind in fields(ModelDescription):
        own = getattr(model, of_kind.name)
        if isinstance(own, list):
            own[:0] = getattr(robot, of_kind.name)
