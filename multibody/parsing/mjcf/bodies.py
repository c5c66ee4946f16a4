"""Bodies of MJCF files with all that is on them, under their names in the plant.

Damping ratios take their meaning from the mass matrix of the model as the file puts it,

    M = sum_B J_B^T M_B J_B + diag(armature)

with the Jacobian J_B of the motion of the mass centre of B (rotational, then translational) by the velocities of
all joints between B and the world.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

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


class ReferenceMass:
    """Computes the mass matrix when it is first asked for.

    Args:
        model: all bodies and joints; the inertia of rotors is known.
    """

    def __init__(self, model: MjcfModel):
        self._model = model

    def effective(self, joint: MjcfJoint) -> float:
        """The inertia against its force with all other joints free: one over the inverse's diagonal [kg m^2 or kg].

        Of a ball one over the mean of its three velocities. NaN, if the masses are too large to compute with.
        """
        if not np.isfinite(self._M).all():
            return float("nan")
        places = slice(self._starts[joint], self._starts[joint] + joint.num_velocities)
        units = np.eye(len(self._M))[:, places]
        inverse = float(np.linalg.lstsq(self._M, units, rcond=None)[0][places].diagonal().mean())
        return 1.0 / inverse if inverse > 0.0 else 0.0

    def effective_along(self, coefficients: dict[MjcfJoint, float]) -> float:
        """The same against a force along a sum of multiples of positions of joints with one velocity."""
        if not np.isfinite(self._M).all():
            return float("nan")
        arms = np.zeros(len(self._M))
        for joint, coefficient in coefficients.items():
            arms[self._starts[joint]] += coefficient
        mobility = float(arms @ np.linalg.lstsq(self._M, arms, rcond=None)[0])
        return 1.0 / mobility if mobility > 0.0 else 0.0

    @functools.cached_property
    def _starts(self) -> dict[MjcfJoint, int]:
        starts, size = {}, 0
        for joint in self._model.joints():
            starts[joint] = size
            size += joint.num_velocities
        return starts

    @functools.cached_property
    def _M(self) -> np.ndarray:
        size = sum(joint.num_velocities for joint in self._model.joints())
        M = np.zeros((size, size))
        motions = {joint: _motions(joint, link) for link in self._model.links for joint in link.joints}
        for link in self._model.links[1:]:
            X_WB = link.pose_in_world()
            mass = link.mass.at(X_WB)
            J = np.zeros((6, size))
            outer: MjcfLink | None = link
            while outer is not None:
                for joint in outer.joints:
                    start = self._starts[joint]
                    for k, (w, v, p) in enumerate(motions[joint]):
                        J[:3, start + k] = w
                        J[3:, start + k] = v + np.cross(w, mass.p_SoScm_S - p)
                outer = outer.parent
            M += J[:3].T @ mass.I_SScm_S @ J[:3] + mass.mass * J[3:].T @ J[3:]
        for joint, start in self._starts.items():
            for k in range(joint.num_velocities):
                M[start + k, start + k] += joint.armature + joint.rotors
        return M


def _motions(joint: MjcfJoint, link: MjcfLink) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each velocity of a joint of a body: angular velocity, velocity of a point, and the point, in the world."""
    X_WB = link.pose_in_world()
    p = X_WB @ joint.p_BoJo_B
    none = np.zeros(3)
    match joint.type:
        case "hinge":
            return [(X_WB.rotation() @ joint.axis_B, none, p)]
        case "slide":
            return [(none, X_WB.rotation() @ joint.axis_B, p)]
    turns = [(axis, none, p) for axis in np.eye(3)]
    return turns if joint.type == "ball" else [*turns, *((none, axis, p) for axis in np.eye(3))]
