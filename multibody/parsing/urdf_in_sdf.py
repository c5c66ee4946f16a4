"""URDF robots included in SDF documents: which frames they have there, and where their links are."""

from __future__ import annotations

__all__ = [
    "MERGED_ROBOT",
    "IncludedRobot",
    "IncludedRobotPart",
    "included_robot",
    "read_included_robot",
    "read_merged_robot",
]

from dataclasses import dataclass, field, fields

from merganser.multibody.parsing.description import FrameDescription, ModelDescription
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.mesh_reader import MeshReader
from merganser.multibody.parsing.sdf_scope import SdfScope
from merganser.multibody.parsing.urdf import read_robot, without_ignored
from merganser.multibody.parsing.xml_reader import XmlNode

MERGED_ROBOT = "merged robot"  # tag of a robot in the model into which it is merged


@dataclass(frozen=True)
class IncludedRobotPart(XmlNode):
    """A link, joint or frame of a robot, for its name and place; all else about it is in the <robot>."""


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
    """The <pose> that says what the attributes of an <origin> say."""
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
    """Puts what a robot has before what a model has so far, into which it is merged.

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
