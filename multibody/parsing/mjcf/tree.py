"""The tree of bodies of an MJCF file: frames, replicas and attached models resolved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.errors import ParsingError
from merganser.multibody.parsing.mjcf.names import Copies, MjcfNames, Spot
from merganser.multibody.parsing.mjcf.pose import euler_rotation, read_pose
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_MAX_COPIED = 20000  # elements made by <replicate> and <attach>
_NOT_MODELLED = {
    "composite": "left out; MuJoCo has given it up, too",
    "flexcomp": "left out; deformable bodies of MJCF are not modelled",
    "plugin": "left out; plugins of MuJoCo are not run",
}


@dataclass(frozen=True, eq=False)
class MjcfPart:
    """A joint, geometry, site, camera, light or <inertial> E of a body B.

    Attributes:
        node: the element, with the attributes of its class.
        source: the file that it is from.
        name: in the whole model; empty for none.
        X_BF: pose of the <frame> elements around it in the body.
        spot: how names change where it is.
    """

    node: XmlNode
    source: MjcfSource
    name: str
    X_BF: RigidTransform
    spot: Spot = field(default_factory=Spot)

    @property
    def settings(self) -> MjcfSettings:
        """The settings for reading its numbers."""
        return self.source.settings

    def pose(self) -> RigidTransform:
        """X_BE, from the attributes of the element."""
        return self.X_BF @ read_pose(self.node, self.settings)


@dataclass(eq=False)
class MjcfBody:
    """A body B of the tree; the world is the one without a parent.

    Attributes:
        node: the <body> or <worldbody>.
        source: the file that it is from.
        name: in the whole model; empty for none until all names are known.
        parent: the body around it.
        X_PB: pose in the parent where the file puts it.
    """

    node: XmlNode
    source: MjcfSource
    name: str
    parent: MjcfBody | None
    X_PB: RigidTransform
    joints: list[MjcfPart] = field(default_factory=list)
    geoms: list[MjcfPart] = field(default_factory=list)
    sites: list[MjcfPart] = field(default_factory=list)
    cameras: list[MjcfPart] = field(default_factory=list)
    lights: list[MjcfPart] = field(default_factory=list)
    inertial: MjcfPart | None = None
    children: list[MjcfBody] = field(default_factory=list)

    def with_descendants(self) -> list[MjcfBody]:
        """This body and all below it, depth first."""
        bodies, waiting = [], [self]
        while waiting:
            body = waiting.pop()
            bodies.append(body)
            waiting += reversed(body.children)
        return bodies

    def pose_in_world(self) -> RigidTransform:
        """X_WB where the file puts the body."""
        X_WB, body = RigidTransform(), self
        while body.parent is not None:
            X_WB, body = body.X_PB @ X_WB, body.parent
        return X_WB


@dataclass
class Placement:
    """A file, or part of it, at one spot of the tree, with its name scope there."""

    source: MjcfSource
    names: MjcfNames


@dataclass
class MjcfTree:
    """All bodies of a model.

    Attributes:
        world: the root of the tree.
        placements: the main file, then everything that is attached.
    """

    world: MjcfBody
    placements: list[Placement]


def read_tree(source: MjcfSource, report: MjcfReport) -> MjcfTree:
    """Reads <worldbody>.

    Args:
        source: the main file.
        report: receives what is left out.

    Raises:
        ParsingError: an element is misplaced, names something that is not there, or has wrong numbers.
    """
    return _TreeReader(report).read(source)


@dataclass(frozen=True)
class _Inside:
    """The settings for the elements inside of another one.

    Attributes:
        placement: the file.
        spot: how names change.
        body: the body that they are on.
        X_BF: pose of the frames around them in the body.
        childclass: class of those that name none.
    """

    placement: Placement
    spot: Spot
    body: MjcfBody
    X_BF: RigidTransform
    childclass: str

    @property
    def source(self) -> MjcfSource:
        return self.placement.source

    @property
    def copies(self) -> Copies:
        return self.spot.copies


class _TreeReader:
    """Walks the elements below <worldbody>."""

    def __init__(self, report: MjcfReport):
        self._report = report
        self._placements: list[Placement] = []
        self._num_replications = 0
        self._num_copied = 0
        self._attached: list[XmlNode] = []  # the <attach> elements that are being read

    def read(self, source: MjcfSource) -> MjcfTree:
        root = source.root
        world = MjcfBody(root, source, "world", None, RigidTransform())
        inside = self._placed(source, Spot(), world, RigidTransform(), is_complete=True)
        inside.placement.names.add("body", "world", (), world, root)
        for node in root.find_all("worldbody", "body"):
            if node.tag == "worldbody":
                self._read_children(node, inside)
            else:  # in parts of models that others include
                self._read_body(node, inside)
        return MjcfTree(world, self._placements)

    def _placed(
        self, source: MjcfSource, spot: Spot, body: MjcfBody, X_BF: RigidTransform, is_complete: bool
    ) -> _Inside:
        of_model = self._placements[0].names.of_model if self._placements else {}
        placement = Placement(source, MjcfNames(spot, is_complete, of_model))
        self._placements.append(placement)
        return _Inside(placement, spot, body, X_BF, "")

    def _read_children(self, node: XmlNode, inside: _Inside) -> None:
        for child in node.children:
            if child.tag != "replicate":
                self._count(child, inside)
            match child.tag:
                case "body":
                    self._read_body(child, inside)
                case "joint" | "freejoint":
                    self._add_part("joint", child, inside, inside.body.joints)
                case "geom":
                    self._add_part("geom", child, inside, inside.body.geoms)
                case "site":
                    self._add_part("site", child, inside, inside.body.sites)
                case "camera":
                    self._add_part("camera", child, inside, inside.body.cameras)
                case "light":
                    self._add_part("light", child, inside, inside.body.lights)
                case "inertial":
                    self._read_inertial(child, inside)
                case "frame":
                    self._read_frame(child, inside)
                case "replicate":
                    self._read_replicate(child, inside)
                case "attach":
                    self._read_attach(child, inside)
                case tag if tag in _NOT_MODELLED:
                    self._report.add(child.location, f"<{tag}> is {_NOT_MODELLED[tag]}")
                case tag:
                    self._report.add(child.location, f"<{tag}> is unknown in <{node.tag}>; left out")

    def _read_body(self, node: XmlNode, inside: _Inside) -> None:
        own_name = node.attributes.get("name", "")
        if own_name == "world" and not inside.spot.prefix:
            raise node.error("a <body> cannot be named 'world', which is the name of the world body.")
        X_PB = inside.X_BF @ read_pose(node, inside.source.settings)
        body = MjcfBody(node, inside.source, inside.spot.full(own_name), inside.body, X_PB)
        inside.body.children.append(body)
        inside.placement.names.add("body", own_name, inside.copies, body, node)
        childclass = inside.source.defaults.check(node, node.attributes.get("childclass", "")) or inside.childclass
        self._read_children(node, _Inside(inside.placement, inside.spot, body, RigidTransform(), childclass))

    def _add_part(self, kind: str, node: XmlNode, inside: _Inside, parts: list[MjcfPart]) -> None:
        body = inside.body
        if kind == "joint" and body.parent is None:
            raise node.error(f"{node.describe()} is in <worldbody>, but the world does not move. Put it into a <body>.")
        filled = node if node.tag == "freejoint" else inside.source.defaults.filled(node, inside.childclass)
        own_name = node.attributes.get("name", "")
        part = MjcfPart(filled, inside.source, inside.spot.full(own_name), inside.X_BF, inside.spot)
        parts.append(part)
        inside.placement.names.add(kind, own_name, inside.copies, (body, part), node)

    def _read_inertial(self, node: XmlNode, inside: _Inside) -> None:
        body = inside.body
        if body.parent is None:
            raise node.error("<inertial> is in <worldbody>, but the world has no mass.")
        if body.inertial is not None:
            raise node.error(f"{body.node.describe()} has a second <inertial>; remove one of them.")
        body.inertial = MjcfPart(node, inside.source, "", inside.X_BF)

    def _read_frame(self, node: XmlNode, inside: _Inside) -> None:
        for name in ("scale", "massscale"):
            if name in node.attributes:
                raise node.error(f"attribute '{name}' of {node.describe()} is not supported; write the sizes out.")
        X_BF = inside.X_BF @ read_pose(node, inside.source.settings)
        childclass = inside.source.defaults.check(node, node.attributes.get("childclass", "")) or inside.childclass
        self._read_children(node, _Inside(inside.placement, inside.spot, inside.body, X_BF, childclass))

    def _read_replicate(self, node: XmlNode, inside: _Inside) -> None:
        """Each replica is `offset` further along the axes of the one before it, and turned by `euler` against it."""
        count, num_made = _read_count(node), _num_elements(node)
        if num_made > _MAX_COPIED:
            raise _too_many(node)
        if num_made == 0:
            return
        self._num_replications += 1
        serial = self._num_replications
        offset = node.vector_attribute("offset", 3, [0.0, 0.0, 0.0])
        settings = inside.source.settings
        angles = node.vector_attribute("euler", 3, [0.0, 0.0, 0.0]) * settings.unit_angle
        separator, width = node.attributes.get("sep", ""), len(str(count - 1))
        p = np.zeros(3)
        for i in range(count):
            R = euler_rotation(i * angles, settings.euler_axes) if angles.any() else RotationMatrix()
            X_BF = inside.X_BF @ RigidTransform(R, p)
            spot = inside.spot.replica(serial, i, f"{separator}{i:0{width}d}")
            self._read_children(node, _Inside(inside.placement, spot, inside.body, X_BF, inside.childclass))
            p = p + R.matrix() @ offset

    def _read_attach(self, node: XmlNode, inside: _Inside) -> None:
        """A body, a frame or everything of another model, or a body or frame of this one."""
        source = inside.source.model(node) if node.attributes.get("model") else inside.source
        if node in self._attached:
            raise node.error(f"{node.describe()} attaches itself.")
        spot = inside.spot.attached(node.attributes.get("prefix", ""))
        new = self._placed(source, spot, inside.body, inside.X_BF, is_complete=False)
        self._attached.append(node)
        body, frame = (node.attributes.get(name, "") for name in ("body", "frame"))
        if body:
            self._read_body(_named(source, node, "body", body), new)
        elif frame:
            self._read_frame(_named(source, node, "frame", frame), new)
        elif source is inside.source:
            raise node.error(f"{node.describe()} needs an attribute 'model', 'body' or 'frame'.")
        else:
            for world in source.root.find_all("worldbody"):
                self._read_children(world, new)
        self._attached.pop()

    def _count(self, node: XmlNode, inside: _Inside) -> None:
        """Refuses nested replicas and attachments that would fill the memory."""
        if inside.copies or self._attached:
            self._num_copied += 1
            if self._num_copied > _MAX_COPIED:
                raise _too_many(node)


def _read_count(node: XmlNode) -> int:
    count = node.float_attribute("count")
    if count != int(count) or not 0 < count <= _MAX_COPIED:
        raise node.error(f"attribute 'count' of <replicate> is {count:g}, expected 1 to {_MAX_COPIED}.")
    return int(count)


def _too_many(node: XmlNode) -> ParsingError:
    return node.error(f"<replicate> and <attach> make more than {_MAX_COPIED} elements.")


def _num_elements(node: XmlNode) -> int:
    """How many elements a <replicate> makes, but for what is attached in it; other elements count with all in them."""
    inside = sum(map(_num_elements, node.children))
    return _read_count(node) * inside if node.tag == "replicate" else 1 + inside


def _named(source: MjcfSource, attach: XmlNode, tag: str, name: str) -> XmlNode:
    """The <body> or <frame> of a name."""
    waiting = list(source.root.find_all("worldbody"))
    while waiting:
        node = waiting.pop()
        if node.tag == tag and node.attributes.get("name") == name:
            return node
        waiting += reversed(node.children)
    raise attach.error(f"{attach.describe()} attaches the {tag} '{name}', which is not in '{source.files[-1]}'.")
