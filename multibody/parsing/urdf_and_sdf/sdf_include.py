"""Replaces the <include> elements of an SDF document by the models they name.

Flattened models of SDFormat up to 1.7 are written as the nested models that they were: before 1.8, an element inside of
a nested model could be written in the model around it, under a scoped name: a link `arm::hand` of model `cart` is link
`hand` of model `arm` in `cart`. Gazebo classic and `gz sdf -p` print files so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.parsing.urdf_and_sdf.sdf_merge import (
    MERGED_ROBOT,
    IncludedRobot,
    included_robot,
    merged_elements,
)
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import MODEL_FRAME, WORLD_FRAME
from merganser.multibody.parsing.xml_reader import XmlNode, read_xml

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
