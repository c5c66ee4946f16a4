"""Bodies of MJCF files with all that is on them, under their names in the plant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import BodyReference
from merganser.multibody.parsing.mjcf.geometry import MjcfGeometry, MjcfGeometryReader
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_joint
from merganser.multibody.parsing.mjcf.mass import MassProperties, body_mass, scaled_to_total, uses_geometries
from merganser.multibody.parsing.mjcf.names import unique_name
from merganser.multibody.parsing.mjcf.pose import segment_pose
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfPart, MjcfTree
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport


@dataclass(eq=False)
class MjcfLink:
    """A body B that is read.

    Attributes:
        body: its elements.
        parent: the body around it; None for the world.
        X_PB: pose in the parent where the file puts it.
        joints: in their order.
        geometries: all that are supported.
        sites, cameras: frames on it, with their poses in it.
        lights: with the poses of the frames in it in which they are described.
        mass: in B.
        name: in the plant; set when all are known.
    """

    body: MjcfBody
    parent: MjcfLink | None
    X_PB: RigidTransform
    joints: list[MjcfJoint] = field(default_factory=list)
    geometries: list[MjcfGeometry] = field(default_factory=list)
    sites: list[tuple[MjcfPart, RigidTransform]] = field(default_factory=list)
    cameras: list[tuple[MjcfPart, RigidTransform]] = field(default_factory=list)
    lights: list[tuple[MjcfPart, RigidTransform]] = field(default_factory=list)
    mass: MassProperties = field(default_factory=MassProperties)
    name: str = ""

    @property
    def is_world(self) -> bool:
        """Whether it is the world."""
        return self.parent is None

    def pose_in_world(self) -> RigidTransform:
        """X_WB in the configuration of the file."""
        X_WB, link = RigidTransform(), self
        while link.parent is not None:
            X_WB, link = link.X_PB @ X_WB, link.parent
        return X_WB

    def weld_root(self) -> MjcfLink:
        """The outermost body to which it is welded, perhaps itself."""
        link = self
        while link.parent is not None and not link.joints:
            link = link.parent
        return link


@dataclass
class MjcfModel:
    """All bodies of a model.

    Attributes:
        name: of the model.
        links: the world, then the others depth first.
        link_of: by the elements that describe them.
        joint_of, geometry_of: by their elements.
    """

    name: str
    links: list[MjcfLink]
    link_of: dict[MjcfBody, MjcfLink]
    joint_of: dict[MjcfPart, MjcfJoint] = field(default_factory=dict)
    geometry_of: dict[MjcfPart, MjcfGeometry] = field(default_factory=dict)

    def reference(self, link: MjcfLink) -> BodyReference:
        """The name of a body in a description."""
        return BodyReference.world() if link.is_world else BodyReference(self.name, link.name)

    def subtree(self, link: MjcfLink) -> list[MjcfLink]:
        """A body and all bodies inside it, without the world."""
        inside = {link}
        for other in self.links:  # parents come before their children
            if other.parent in inside:
                inside.add(other)
        return [other for other in self.links if other in inside and not other.is_world]

    def joints(self) -> Iterator[MjcfJoint]:
        """All joints, in MuJoCo's order of coordinates."""
        return (joint for link in self.links for joint in link.joints)


def read_bodies(name: str, tree: MjcfTree, reader: MjcfGeometryReader, report: MjcfReport) -> MjcfModel:
    """Reads joints, geometries, sites and masses of all bodies.

    Args:
        name: of the model.
        tree: its bodies.
        reader: reads geometries.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a number or name is wrong.
    """
    model = MjcfModel(name, [], {})
    for body in tree.world.with_descendants():
        link = MjcfLink(body, model.link_of[body.parent] if body.parent else None, body.X_PB)
        model.links.append(link)
        model.link_of[body] = link
        _read_geometries(link, reader, model)
        link.sites = [(part, _site_pose(part)) for part in body.sites]
        link.cameras = [(part, part.pose()) for part in body.cameras]
        link.lights = [(part, part.X_BF) for part in body.lights]
        for part in body.joints:
            joint = read_joint(part, body, report)
            link.joints.append(joint)
            model.joint_of[part] = joint
        if not link.is_world:
            link.mass = body_mass(body, [geometry.mass for geometry in link.geometries], report)
    moving = model.links[1:]
    masses = scaled_to_total([link.mass for link in moving], tree.world.source.settings.total_mass)
    for link, mass in zip(moving, masses):
        link.mass = mass
    return model


def _read_geometries(link: MjcfLink, reader: MjcfGeometryReader, model: MjcfModel) -> None:
    """Reads geometries; those without a name are named by their number on the body."""
    body = link.body
    needs_mass = not link.is_world and uses_geometries(body)
    taken = {part.name for part in body.geoms if part.name}
    for part in body.geoms:
        name = part.name or unique_name(f"geom{len(link.geometries)}", taken)
        geometry = reader.read(part, name, needs_mass)
        if geometry is not None:
            link.geometries.append(geometry)
            model.geometry_of[part] = geometry


def _site_pose(part: MjcfPart) -> RigidTransform:
    if "fromto" in part.node.attributes:
        return part.X_BF @ segment_pose(part.node)[0]
    return part.pose()


def name_links(model: MjcfModel) -> None:
    """Gives bodies and joints without a name one, as pydrake does: after the number of bodies, and by their bodies.

    Bodies between the joints of a body are counted, see links.py.
    """
    model.links[0].name = "world"
    taken = {link.body.name for link in model.links if link.body.name}
    num_bodies = 1
    for link in model.links[1:]:
        link.name = link.body.name or unique_name(f"body{num_bodies}", taken)
        num_bodies += max(1, len(link.joints))
