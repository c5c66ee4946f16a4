"""Mass properties of a URDF or SDFormat file computed from its geometry, written into its text.

    text --Parser--> plant, scene graph --> mass properties of each body
         --expat--> where each <inertial> is in the text  --> text with other mass properties

All else in the text stays as it is, spaces and comments included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from merganser.framework import DiagramBuilder
from merganser.framework.common.source_location import decode
from merganser.geometry import Role, SceneGraphInspector
from merganser.multibody.parsing.errors import ParsingError, SourceLocation
from merganser.multibody.parsing.inertia import central_moments
from merganser.multibody.parsing.parser import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import CalcSpatialInertia, RigidBody, SpatialInertia

_ROLES = {
    "proximity": Role.kProximity, "illustration": Role.kIllustration, "perception": Role.kPerception
}  # fmt: skip
# Where URDF and SDFormat name files, each before the name of one.
_NAMES_FILE = re.compile(
    r"""(<(?:mesh|texture)\b[^<>]*?\bfilename\s*=\s*["']\s*|<(?:uri|albedo_map|drake:diffuse_map)\s*>\s*)([^<>"']+)"""
)
_MODELS = {"robot": "robot", "sdf": "model"}  # tag of what has links, by the tag of the root


def fix_inertia(path: Path, roles: Sequence[str] = tuple(_ROLES)) -> str:
    """Returns the text of a model file with mass properties that follow from its geometry.

    Args:
        path: a URDF or SDFormat file.
        roles: "proximity", "illustration" and "perception", in the order in which a body's geometries are looked for.

    Raises:
        ParsingError: the file is not a valid model.
        RuntimeError: the mass properties of a shape cannot be computed.
    """
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    parser = Parser(plant)
    parser.package_map().PopulateFromRosPackagePath()
    parser.AddModels(path)
    text = decode(path.read_bytes())
    inspector = scene_graph.model_inspector()
    pieces, end = [], 0
    for link, name in _links(_read(text, path)):
        body = _body(plant, *name)
        if body is None or not link.children:
            continue
        M_BBo_B = _from_geometry(body, plant, inspector, [_ROLES[role] for role in roles])
        if M_BBo_B is not None:
            is_urdf = name[0] == ""
            start, stop, replacement = _replacement(text, link, M_BBo_B, _urdf_parts if is_urdf else _sdf_parts)
            pieces += [text[end:start], replacement]
            end = stop
    return "".join([*pieces, text[end:]])


def with_paths_from(folder: Path, text: str, old_folder: Path) -> str:
    """Returns the text of a model file that moves to another folder: relative paths of files go on naming these."""

    def moved(match: re.Match[str]) -> str:
        before, path = match.groups()
        name = path.rstrip()
        if "://" in name or Path(name).is_absolute() or not (old_folder / name).exists():
            return match.group()
        new = Path(os.path.relpath((old_folder / name).resolve(), folder.resolve())).as_posix()
        return f"{before}{new}{path[len(name) :]}"

    return text if folder.resolve() == old_folder.resolve() else _NAMES_FILE.sub(moved, text)


def _from_geometry(
    body: RigidBody, plant: MultibodyPlant, inspector: SceneGraphInspector, roles: list[Role]
) -> SpatialInertia | None:
    """M_BBo_B of a body's mass spread over the shapes of the first role that has some; None without shapes."""
    frame = plant.GetBodyFrameIdOrThrow(body.index())
    shapes = next((found for role in roles if (found := inspector.GetGeometries(frame, role))), [])
    if not shapes:
        return None
    M_BBo_B = SpatialInertia.Zero()  # of density 1
    for geometry in shapes:
        X_BG = inspector.GetPoseInFrame(geometry)
        try:
            M_GGo_G = CalcSpatialInertia(inspector.GetShape(geometry), 1.0)
        except (RuntimeError, ValueError) as cause:
            raise RuntimeError(f"Link '{body.name()}', geometry '{inspector.GetName(geometry)}': {cause}") from cause
        M_BBo_B += M_GGo_G.ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
    return SpatialInertia(
        body.default_spatial_inertia().get_mass(), M_BBo_B.get_com(), M_BBo_B.get_unit_inertia()
    )


# ---------------------------------------------------------------------- the text


@dataclass
class _Element:
    """An element and where it is in the text, by index; `end` is behind its closing tag."""

    tag: str
    attributes: dict[str, str]
    depth: int
    start: int
    end: int = 0
    parent: _Element | None = None
    children: list[_Element] = field(default_factory=list)

    def find(self, tag: str) -> _Element | None:
        return next((child for child in self.children if child.tag == tag), None)


def _read(text: str, path: Path) -> _Element:
    """The root element."""
    parser = expat.ParserCreate("utf-8")
    data = text.encode()
    root = _Element("", {}, -1, 0)
    open_elements = [root]

    num_bytes = num_characters = 0  # up to the last tag

    def index() -> int:
        nonlocal num_bytes, num_characters
        num_characters += len(data[num_bytes : parser.CurrentByteIndex].decode())
        num_bytes = parser.CurrentByteIndex
        return num_characters

    def enter(tag: str, attributes: dict[str, str]) -> None:
        parent = open_elements[-1]
        element = _Element(tag, attributes, parent.depth + 1, index(), parent=parent)
        parent.children.append(element)
        open_elements.append(element)

    def leave(tag: str) -> None:
        element, position = open_elements.pop(), index()
        # Behind <tag/> already, but before </tag>; what follows <tag/> may be the end of the element around it.
        is_empty = not element.children and text.endswith("/>", element.start, position)
        element.end = position if is_empty else text.index(">", position) + 1

    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if root.children and len(open_elements) == 1:  # behind the end of the root element, where it does no harm
            return _checked_root(root, path)
        raise ParsingError(SourceLocation(str(path), error.lineno), f"not well-formed XML: {error}") from error
    return _checked_root(root, path)


def _checked_root(root: _Element, path: Path) -> _Element:
    """The root element, which must be that of a model file."""
    document = root.children[0]
    if document.tag not in _MODELS:
        raise ParsingError(SourceLocation(str(path)), f"a <{document.tag}> is neither URDF nor SDFormat.")
    return document


def _links(root: _Element) -> Iterator[tuple[_Element, tuple[str, str]]]:
    """Links, with the scoped name of their models, empty in URDF, and their own names."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        waiting += reversed(element.children)
        if element.tag == "link" and element.parent is not None and element.parent.tag == _MODELS.get(root.tag):
            yield element, ("" if root.tag == "robot" else _scope(element.parent), element.attributes.get("name", ""))


def _scope(model: _Element | None) -> str:
    """The scoped name of a model."""
    names = []
    while model is not None and model.tag == "model":
        names.append(model.attributes.get("name", ""))
        model = model.parent
    return "::".join(reversed(names))


def _body(plant: MultibodyPlant, model: str, name: str) -> RigidBody | None:
    """A body that the file describes; None for the world, and for links that are not read."""
    if model and not plant.HasModelInstanceNamed(model):
        return None
    instances = [plant.GetModelInstanceByName(model)] if model else list(range(2, plant.num_model_instances()))
    return next((plant.GetBodyByName(name, i) for i in instances if plant.HasBodyNamed(name, i)), None)


_Part = tuple[str, list[str]]  # tag, and lines of the element, indented relative to the first one


def _urdf_parts(mass: str, center: str, moments: dict[str, str]) -> list[_Part]:
    inertia = " ".join(f'{name}="{value}"' for name, value in moments.items())
    return [
        ("inertia", [f"<inertia {inertia}/>"]),
        ("mass", [f'<mass value="{mass}"/>']),
        ("origin", [f'<origin rpy="0 0 0" xyz="{center}"/>']),
    ]


def _sdf_parts(mass: str, center: str, moments: dict[str, str]) -> list[_Part]:
    lines = ["<inertia>", *(f"\t<{name}>{value}</{name}>" for name, value in moments.items()), "</inertia>"]
    return [
        ("inertia", lines),
        ("mass", [f"<mass>{mass}</mass>"]),
        ("pose", [f"<pose>{center} 0 0 0</pose>"]),
    ]


def _replacement(text: str, link: _Element, M_BBo_B: SpatialInertia, parts_of: Any) -> tuple[int, int, str]:
    """A replacement of a part of the text, from one index to another."""
    parts = parts_of(
        _rounded(M_BBo_B.get_mass()),
        " ".join(map(_rounded, M_BBo_B.get_com())),
        {name: _rounded(value) for name, value in central_moments(M_BBo_B).items()},
    )
    inertial = link.find("inertial")
    if inertial is not None and inertial.children:
        return inertial.start, inertial.end, _with_parts(text, inertial, parts)
    place = link.children[0] if inertial is None else inertial
    lead, step = _indentation(text, place)
    inside = [f"\t{line}" for _, lines in parts for line in lines]
    whole = f"\n{lead}".join(line.replace("\t", step) for line in ("<inertial>", *inside, "</inertial>"))
    if inertial is None:
        return place.start, place.start, f"{whole}\n{lead}"
    return inertial.start, inertial.end, whole


def _with_parts(text: str, inertial: _Element, parts: list[_Part]) -> str:
    """An <inertial> with parts replaced; missing parts are added first."""
    first = inertial.children[0]
    lead, step = _indentation(text, first)
    written = {tag: f"\n{lead}".join(line.replace("\t", step) for line in lines) for tag, lines in parts}
    missing = "".join(f"{written[tag]}\n{lead}" for tag, _ in parts if inertial.find(tag) is None)
    pieces, end = [text[inertial.start : first.start], missing], first.start
    for child in inertial.children:
        pieces += [text[end : child.start], written.get(child.tag, text[child.start : child.end])]
        end = child.end
    return "".join([*pieces, text[end : inertial.end]])


def _indentation(text: str, element: _Element) -> tuple[str, str]:
    """The space before an element in its line, and that of one level."""
    line = text[text.rfind("\n", 0, element.start) + 1 : element.start]
    lead = line[: len(line) - len(line.lstrip())]
    return lead, lead[: len(lead) // max(element.depth, 1)]


def _rounded(value: float) -> str:
    """Five digits: what is left of a file should not depend on the machine."""
    return f"{float(value):.5g}"
