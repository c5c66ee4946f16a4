"""Replaces the <include> elements of an SDF document by the models they name, and merges models into those around them.

Merging (<include merge="true">) puts the links, joints, frames and nested models of a model L beside those of the
model M around it. The frame of L stays, as a frame named `_merged__L__model__`, and takes the place of `__model__`
wherever the elements of L refer to it, in words or by leaving out a name. URDF robots may be included as well: here is
which frames they have in an SDF document, and where their links are.

Flattened models of SDFormat up to 1.7 are written as the nested models that they were: before 1.8, an element inside of
a nested model could be written in the model around it, under a scoped name: a link `arm::hand` of model `cart` is link
`hand` of model `arm` in `cart`. Gazebo classic and `gz sdf -p` print files so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import FrameDescription, ModelDescription
from merganser.multibody.parsing.errors import Diagnostics, located
from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.parsing.urdf_and_sdf.geometry import MeshReader
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import (
    MODEL_FRAME,
    WORLD_FRAME,
    SdfScope,
    build_scope,
    read_pose,
)
from merganser.multibody.parsing.urdf_and_sdf.urdf import read_robot, without_ignored
from merganser.multibody.parsing.xml_reader import XmlNode, read_xml

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


# ---------------------------------------------------------------------- models that are included

_NAMED = ("link", "joint", "frame", "model", "gripper")
_SCOPED = (*_REFERENCES, "canonical_link", "placement_frame")
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
        key: value.removeprefix(scope) if key == "name" or key in _SCOPED else value
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


_CONFIG = "model.config"  # which of the files of a folder is the model, by version of SDF
_MODEL = "model.sdf"  # where the folder does not say


def root_element(root: XmlNode) -> XmlNode:
    """The one <model> or <world> of an SDF document, or a world around its one <include>.

    Raises:
        ParsingError: not an SDF 1.x document, or none or several of them in it.
    """
    if root.tag != "sdf":
        raise root.error(f"an SDF document starts with <sdf>, not with <{root.tag}>.")
    version = root.require_attribute("version")
    if version.split(".")[0] != "1":
        raise root.error(f"SDF version '{version}' is not supported, expected 1.x.")
    elements = list(root.find_all("model", "world", "include"))
    if len(elements) != 1:
        raise root.error(
            f"<sdf> holds {len(elements)} models, worlds or includes, expected one. Put several models into a <world>."
        )
    is_include = elements[0].tag == "include"  # as in a world that is otherwise empty
    element = XmlNode("world", elements[0].location, children=elements) if is_include else elements[0]
    return modernized(element, version)


def expand_includes(node: XmlNode, package_map: PackageMap, files: tuple[Path, ...]) -> XmlNode:
    """A copy of a <model> or <world> with included models in place of <include> elements.

    Args:
        node: the element.
        package_map: resolves package:// and model:// addresses.
        files: the files being read, outermost first.

    Raises:
        ParsingError: an included file is missing, is not one SDF or URDF model, or includes itself.
    """
    children, robots = [], []
    for child in node.children:
        if child.tag == "include":
            model = _included_model(child, package_map, files)
            is_merged = child.parse_bool(child.attributes.get("merge", "false"))
            frame = WORLD_FRAME if node.tag == "world" else MODEL_FRAME
            if is_merged and isinstance(model, IncludedRobot):
                robots += [*merged_elements(model, frame), replace(model, tag=MERGED_ROBOT, children=[])]
            else:
                children += merged_elements(model, frame) if is_merged else [model]
        elif child.tag == "model":
            children.append(expand_includes(child, package_map, files))
        else:
            children.append(child)
    return replace(node, children=children + robots)  # links of the model itself come first


def _included_model(include: XmlNode, package_map: PackageMap, files: tuple[Path, ...]) -> XmlNode:
    """The model an <include> names, with the name, pose and placement that the include gives it."""
    uri = include.require("uri").text
    path = _model_file(resolve_uri(uri, package_map, include.location))
    kind = path.suffix.lower()
    if kind not in (".sdf", ".urdf") or not path.is_file():
        raise include.error(f"'{uri}' means '{path}'; only SDF and URDF files can be included.")
    if path in files:
        raise include.error("files include each other: " + " -> ".join(str(f) for f in (*files, path)))
    with located(include.location):
        document = read_xml(path.read_bytes(), str(path))
    if kind == ".urdf":
        return _with_overrides(included_robot(document, include), include)
    model, is_include = root_element(document), document.find("include") is not None
    if model.tag != "model" and not is_include:
        raise include.error(f"'{path}' holds a <{model.tag}>; only a <model> can be included.")
    model = expand_includes(model, package_map, (*files, path))
    return _with_overrides(model.children[0] if is_include else model, include)


def _model_file(path: Path) -> Path:
    """The file of a model, whose address may be that of its folder."""
    config = path / _CONFIG
    if not path.is_dir() or not config.is_file():
        return (path / _MODEL if path.is_dir() else path).resolve()
    files = list(read_xml(config.read_bytes(), str(config)).find_all("sdf"))
    newest = max(files, key=_version, default=None)
    return (path / (_MODEL if newest is None else newest.text)).resolve()


def _version(node: XmlNode) -> list[int]:
    return [int(part) if part.isdecimal() else 0 for part in node.attributes.get("version", "0").split(".")]


def _with_overrides(model: XmlNode, include: XmlNode) -> XmlNode:
    attributes = dict(model.attributes)
    name, placement, pose = (include.find(tag) for tag in ("name", "placement_frame", "pose"))
    if name is not None:
        attributes["name"] = name.text
    if placement is not None:
        if pose is None:
            raise placement.error("<placement_frame> says what <pose> places: give the <include> a <pose>.")
        attributes["placement_frame"] = placement.text
    elif pose is not None:
        attributes.pop("placement_frame", None)
    overriding = [node for node in (pose, include.find("static")) if node is not None]
    overridden = {node.tag for node in overriding}
    kept = [child for child in model.children if child.tag not in overridden]
    return replace(model, attributes=attributes, children=overriding + kept)
