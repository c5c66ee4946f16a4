"""Links, joints and frames of a plant from the bodies of an MJCF file.

A body with several joints has massless bodies between them, called after it: joint j1 moves `arm0` in the parent of
`arm`, joint j2 moves `arm1` in `arm0`, and the last one `arm` itself. Each of them has the frame of `arm` at the
joints' zero. A body without joints is welded to its parent.

Bodies without joints become part of their parents, where a file asks for that (compiler fusestatic).
"""

from __future__ import annotations

from dataclasses import replace

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import (
    BodyReference,
    FrameDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
)
from merganser.multibody.parsing.instrument_description import CameraDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.camera import read_cameras
from merganser.multibody.parsing.mjcf.geometry import MjcfGeometry
from merganser.multibody.parsing.mjcf.joint import MjcfJoint
from merganser.multibody.parsing.mjcf.mass import to_spatial_inertia, total_mass
from merganser.multibody.parsing.mjcf.names import unique_name
from merganser.multibody.parsing.mjcf.settings import MjcfOptions
from merganser.multibody.parsing.mjcf.tree import MjcfPart, MjcfTree
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.tree import SpatialInertia

_TYPES = {"hinge": "revolute", "slide": "prismatic", "ball": "ball"}


def add_links(
    model: MjcfModel,
    options: MjcfOptions,
    description: ModelDescription,
    touching: set[MjcfGeometry],
    report: MjcfReport,
) -> None:
    """Adds all bodies with their geometries, joints, and sites and cameras as frames.

    Args:
        model: what was read.
        options: of the main file.
        description: receives them.
        touching: geometries that have the proximity role.
        report: receives what has no counterpart.
    """
    _LinkWriter(model, options, description, touching, report).write()


class _LinkWriter:
    """Keeps the names that are taken."""

    def __init__(
        self,
        model: MjcfModel,
        options: MjcfOptions,
        description: ModelDescription,
        touching: set[MjcfGeometry],
        report: MjcfReport,
    ):
        self._model, self._description, self._compensates = model, description, options.has_passive_forces()
        self._touching, self._report = touching, report
        self._body_names = {link.name for link in model.links}
        self._joint_names = {joint.part.name for joint in model.joints() if joint.part.name}

    def write(self) -> None:
        for link in self._model.links:
            visuals = [g.visual for g in link.geometries if g.is_visible]
            collisions = [g.description for g in link.geometries if g in self._touching]
            hidden = [g for g in link.geometries if not g.is_visible and g not in self._touching]
            for geometry in hidden:
                self._report.add(
                    geometry.description.location, "<geom> neither touches anything nor is drawn (group 3 or higher)"
                )
            if link.is_world:
                self._description.world_visuals += visuals
                self._description.world_collisions += collisions
                continue
            node = link.body.node
            added = LinkDescription(
                link.name, to_spatial_inertia(link.mass, node), node.location, visuals, collisions,
                gravity_compensation=node.float_attribute("gravcomp", 0.0) if self._compensates else 0.0,
            )  # fmt: skip
            self._description.links.append(added)
            self._add_joints(link, added)
        self._add_frames()

    def _add_joints(self, link: MjcfLink, added: LinkDescription) -> None:
        assert link.parent is not None
        parent, child = self._model.reference(link.parent), self._model.reference(link)
        if not link.joints:
            self._add_weld(link, parent, child)
            return
        X_PB = link.X_PB
        for number, joint in enumerate(link.joints):
            is_last = number == len(link.joints) - 1
            outboard = child if is_last else self._add_between(link, number)
            if joint.type == "free":  # Finalize() adds the joint, under the name of the body
                joint.name, added.X_WB = link.name, link.X_PB
                added.floating_damping, added.floating_armature = joint.damping, joint.armature
                added.floating_joint = joint.part.name
            else:
                self._add_joint(joint, parent, outboard, X_PB)
            parent, X_PB = outboard, RigidTransform()

    def _add_between(self, link: MjcfLink, number: int) -> BodyReference:
        """A massless body between two joints of a body."""
        name = unique_name(f"{link.name}{number}", self._body_names)
        self._description.links.append(LinkDescription(name, SpatialInertia.Zero(), link.body.node.location))
        return BodyReference(self._model.name, name)

    def _add_weld(self, link: MjcfLink, parent: BodyReference, child: BodyReference) -> None:
        name = unique_name(f"{parent.body}_welds_to_{child.body}", self._joint_names)
        location = link.body.node.location
        if link.body.node.attributes.get("mocap") == "true":
            self._report.add(location, "<body mocap=\"true\"> is welded to the world; nothing moves it")
        self._description.joints.append(JointDescription(name, "fixed", parent, child, location, X_FM=link.X_PB))

    def _add_joint(self, joint: MjcfJoint, parent: BodyReference, child: BodyReference, X_PB: RigidTransform) -> None:
        joint.name = joint.part.name or unique_name(f"{parent.body}-{child.body}", self._joint_names)
        self._description.joints.append(
            JointDescription(
                joint.name,
                _TYPES[joint.type],
                parent,
                child,
                joint.part.node.location,
                X_PJ=X_PB @ RigidTransform(joint.p_BoJo_B),
                X_CJ=joint.child_pose(),
                axis_J=joint.axis_B,
                position_limits=joint.limits,
                damping=joint.damping,
                friction=joint.friction,
                spring_stiffness=joint.stiffness,
                higher_stiffness=joint.higher_stiffness,
                higher_damping=joint.higher_damping,
                spring_reference=joint.spring_reference,
                armature=joint.armature,
                default_positions=(joint.reference,) if joint.reference else None,
            )
        )

    def _add_frames(self) -> None:
        """Sites with names, and cameras, become frames; a name that another frame of the model has gets a number."""
        taken = {link.name for link in self._description.links}
        taken |= {f"{joint.name}_{side}" for joint in self._description.joints for side in ("parent", "child")}
        for link in self._model.links:
            for part, X_BS in link.sites:
                if part.name:
                    self._add_frame(part, part.name, link, X_BS, taken)
        for camera in read_cameras(self._model, self._report):
            name, image = "", camera.image
            if camera.motion is None:
                name = self._add_frame(camera.part, camera.name, camera.link, camera.X_BC, taken)
            self._description.cameras.append(
                CameraDescription(
                    camera.name, name, image.width, image.height, image.focal, image.fov_y, camera.motion, image.center
                )
            )

    def _add_frame(self, part: MjcfPart, wanted: str, link: MjcfLink, X_BF: RigidTransform, taken: set[str]) -> str:
        """Adds a frame and returns its name."""
        name, location = unique_name(wanted, taken), part.node.location
        if name != wanted:
            what = f"<{part.node.tag}> has the name of another frame: a number is added to its own"
            self._report.add(location, what)
        self._description.frames.append(
            FrameDescription(name, self._model.reference(link), X_BF, location, self._model.name)
        )
        return name


_SECTIONS = ("contact", "equality", "tendon", "actuator", "sensor", "custom", "deformable")
_BODY_ATTRIBUTES = ("body", "body1", "body2", "objname", "refname")


def fuse_static_bodies(model: MjcfModel, tree: MjcfTree) -> None:
    """Puts geometries, sites, masses and children of static bodies into their parents.

    Bodies that something refers to by name stay, as do those that the file wants to keep.

    Args:
        model: its bodies are changed.
        tree: has the sections that may refer to bodies.
    """
    named = _bodies_by_reference(tree)
    children: dict[MjcfLink, list[MjcfLink]] = {link: [] for link in model.links}
    for link in model.links[1:]:
        assert link.parent is not None
        children[link.parent].append(link)
    for link in reversed(model.links[1:]):
        attributes = link.body.node.attributes
        keeps = attributes.get("fuse") == "false" or attributes.get("mocap") == "true"
        keeps = keeps or "sleep" in attributes or "gravcomp" in attributes
        if link.joints or keeps or link.body.name in named:
            continue
        _fuse(link, children[link], model)
        assert link.parent is not None
        children[link.parent] += children[link]
        model.links.remove(link)


def _fuse(link: MjcfLink, children: list[MjcfLink], model: MjcfModel) -> None:
    parent = link.parent
    assert parent is not None
    X_PB = link.X_PB
    if not parent.is_world:
        parent.mass = total_mass([parent.mass, link.mass.at(X_PB)])
    taken = {geometry.description.name for geometry in parent.geometries}
    for geometry in link.geometries:
        old = geometry.description
        geometry.description = replace(old, name=unique_name(old.name, taken), X_BG=X_PB @ old.X_BG)
        parent.geometries.append(geometry)
    parent.sites += [(part, X_PB @ X_BS) for part, X_BS in link.sites]
    parent.cameras += [(part, X_PB @ X_BC) for part, X_BC in link.cameras]
    parent.lights += [(part, X_PB @ X_BF) for part, X_BF in link.lights]
    for child in children:
        child.parent, child.X_PB = parent, X_PB @ child.X_PB
    for body in [body for body, found in model.link_of.items() if found is link]:
        model.link_of[body] = parent


def _bodies_by_reference(tree: MjcfTree) -> set[str]:
    """Names of bodies in sections other than that of the bodies."""
    names = set()
    for placement in tree.placements:
        for section in _SECTIONS:
            for node in placement.source.section(section):
                for attribute in _BODY_ATTRIBUTES:
                    if attribute in node.attributes:
                        names.add(placement.names.spot.full(node.attributes[attribute]))
    return names
