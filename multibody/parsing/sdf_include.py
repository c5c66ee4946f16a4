"""Replaces the <include> elements of an SDF document by the models they name."""

from __future__ import annotations

__all__ = ["expand_includes", "root_element"]

from dataclasses import replace
from pathlib import Path

from merganser.multibody.parsing.package_map import PackageMap, resolve_uri
from merganser.multibody.parsing.xml_reader import XmlNode, read_xml


def root_element(root: XmlNode) -> XmlNode:
    """The one <model> or <world> of an SDF document.

    Raises:
        ParsingError: not an SDF 1.x document, or none or several of them in it.
    """
    if root.tag != "sdf":
        raise root.error(f"an SDF document starts with <sdf>, not with <{root.tag}>.")
    version = root.require_attribute("version")
    if version.split(".")[0] != "1":
        raise root.error(f"SDF version '{version}' is not supported, expected 1.x.")
    elements = list(root.find_all("model", "world"))
    if len(elements) != 1:
        raise root.error(
            f"<sdf> holds {len(elements)} models or worlds, expected one. Put several models into a <world>."
        )
    return elements[0]


def expand_includes(node: XmlNode, package_map: PackageMap, files: tuple[Path, ...]) -> XmlNode:
    """A copy of a <model> or <world> with included models in place of <include> elements.

    Args:
        node: the element.
        package_map: resolves package:// and model:// addresses.
        files: the files being read, outermost first.

    Raises:
        ParsingError: an included file is missing, is not one SDF model, or includes itself.
    """
    children = []
    for child in node.children:
        if child.tag == "include":
            children.append(_included_model(child, package_map, files))
        elif child.tag == "model":
            children.append(expand_includes(child, package_map, files))
        else:
            children.append(child)
    return replace(node, children=children)


def _included_model(include: XmlNode, package_map: PackageMap, files: tuple[Path, ...]) -> XmlNode:
    """The model an <include> names, with the name, pose and placement that the include gives it."""
    if include.parse_bool(include.attributes.get("merge", "false")):
        raise include.error("merging an included model into this one is not supported; leave out merge.")
    uri = include.require("uri").text
    path = resolve_uri(uri, package_map, include.location)
    path = (path / "model.sdf" if path.is_dir() else path).resolve()
    if path.suffix.lower() != ".sdf" or not path.is_file():
        raise include.error(f"'{uri}' means '{path}'; only SDF files can be included.")
    if path in files:
        raise include.error("files include each other: " + " -> ".join(str(f) for f in (*files, path)))
    model = root_element(read_xml(path.read_bytes(), str(path)))
    if model.tag != "model":
        raise include.error(f"'{path}' holds a <{model.tag}>; only a <model> can be included.")
    model = expand_includes(model, package_map, (*files, path))
    return _with_overrides(model, include)


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
