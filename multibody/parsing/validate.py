"""Checks a whole document before any of it is added to a plant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from merganser.framework.common.errors import nearest_names
from merganser.multibody.parsing.description import (
    BallConstraintDescription,
    BodyReference,
    CollisionFilterGroupDescription,
    DocumentDescription,
    JointDescription,
    ModelDescription,
    SpringDamperDescription,
)
from merganser.multibody.parsing.errors import ParsingError, SourceLocation


def check_document(document: DocumentDescription) -> None:
    """Checks that names are unique and that all references exist.

    Raises:
        ParsingError: two things of one kind share a name, or a body or joint is unknown.
    """
    models = document.all_models()
    _check_unique("model", ((model.name, model.location) for model in models))
    bodies = {BodyReference.world()}
    for model in models:
        links = [(link.name, link.location) for link in model.links]
        _check_unique(f"link of model '{model.name}'", links)
        bodies |= {BodyReference(model.name, name) for name, _ in links}

    joints = document.joints + [joint for model in models for joint in model.joints]
    actuators = document.actuators + [actuator for model in models for actuator in model.actuators]
    frames = document.frames + [frame for model in models for frame in model.frames]
    all_joints = joints + document.loop_joints + [joint for model in models for joint in model.loop_joints]
    for joint in all_joints:
        _check_joint_bodies(joint, bodies)
    _check_unique("joint", ((f"{joint.child.model}::{joint.name}", joint.location) for joint in all_joints))
    _check_pairs(joints)
    _check_unique("actuator", ((f"{a.joint_model}::{a.name}", a.location) for a in actuators))
    for frame in frames:
        _check_body(frame.body, bodies, f"frame '{frame.name}' is on", frame.location)
    link_frames = [(f"{m.name}::{link.name}", link.location) for m in models for link in m.links]
    joint_frames = [
        (f"{joint.child.model}::{joint.name}_{side}", joint.location)
        for joint in all_joints
        for side, X_BJ in (("parent", joint.X_PJ), ("child", joint.X_CJ))
        if X_BJ is not None
    ]
    own_frames = [(f"{frame.model}::{frame.name}", frame.location) for frame in frames]
    _check_unique("frame", link_frames + joint_frames + own_frames)
    joint_names = {f"{joint.child.model}::{joint.name}" for joint in joints}
    for model in models:
        _check_constraints(model, joint_names, bodies)
    known_frames = {name for name, _ in link_frames + joint_frames + own_frames}
    groups = {f"{model.name}::{group.name}" for model in models for group in model.filter_groups}
    for model in models:
        _check_filter_groups(model, bodies, groups)
        _check_bushings(model, known_frames)


def _check_joint_bodies(joint: JointDescription, bodies: set[BodyReference]) -> None:
    for role, body in (("parent", joint.parent), ("child", joint.child)):
        _check_body(body, bodies, f"joint '{joint.name}' has as {role}", joint.location)
    if joint.parent == joint.child:
        raise ParsingError(joint.location, f"joint '{joint.name}' joins link '{joint.child}' to itself.")
    if joint.child == BodyReference.world():
        raise ParsingError(
            joint.location, f"joint '{joint.name}' has the world as its child; make it the parent."
        )


def _check_pairs(joints: list[JointDescription]) -> None:
    """Refuses two joints between the same bodies."""
    between: dict[frozenset[BodyReference], JointDescription] = {}
    for joint in joints:
        other = between.setdefault(frozenset((joint.parent, joint.child)), joint)
        if other is not joint:
            raise ParsingError(
                joint.location,
                f"joint '{joint.name}' connects links '{joint.parent}' and '{joint.child}', as joint '{other.name}' at "
                f"{other.location} does. Remove one of them.",
            )


def _check_body(body: BodyReference, bodies: set[BodyReference], what: str, location: SourceLocation) -> None:
    if body not in bodies:
        known = [other.body for other in bodies if other.model in ("", body.model)]
        raise ParsingError(
            location, f"{what} link '{body.body}', which does not exist. {nearest_names(body.body, known)}"
        )


def _check_constraints(
    model: ModelDescription, joints: set[str], bodies: set[BodyReference]
) -> None:
    for coupler in model.couplers:
        for name in (coupler.joint0, coupler.joint1):
            if f"{coupler.model}::{name}" not in joints:
                scope = f"{coupler.model}::"
                names = [known.removeprefix(scope) for known in joints if known.startswith(scope)]
                raise ParsingError(
                    coupler.location,
                    f"joint '{coupler.joint0}' mimics joint '{coupler.joint1}', but '{name}' is not a joint of model "
                    f"'{coupler.model}' that moves. {nearest_names(name, names)}",
                )
    for what, pairs in (
        ("ball constraint", model.ball_constraints),
        ("weld constraint", model.weld_constraints),
        ("spring and damper", model.spring_dampers),
    ):
        for pair in cast("list[BallConstraintDescription | SpringDamperDescription]", pairs):
            for body in (pair.body_A, pair.body_B):
                _check_body(body, bodies, f"a {what} is on", pair.location)


def _check_bushings(model: ModelDescription, known_frames: set[str]) -> None:
    for bushing in model.bushings:
        for role, frame in (("A", bushing.frameA), ("C", bushing.frameC)):
            if f"{frame.model}::{frame.frame}" not in known_frames:
                names = [name.removeprefix(f"{frame.model}::") for name in known_frames if name.startswith(frame.model)]
                raise ParsingError(
                    bushing.location,
                    f"a bushing has as frame{role} '{frame.frame}', which does not exist in model '{frame.model}'. "
                    f"{nearest_names(frame.frame, names)}",
                )


def _check_filter_groups(model: ModelDescription, bodies: set[BodyReference], groups: set[str]) -> None:
    _check_unique(
        f"collision filter group of '{model.name}'", ((g.name, g.location) for g in model.filter_groups)
    )
    for group in model.filter_groups:
        for verb, others in (("has as member", group.member_groups), ("ignores", group.ignored_groups)):
            for other in others:
                if f"{model.name}::{other}" not in groups:
                    names = [name.removeprefix(f"{model.name}::") for name in groups]
                    raise ParsingError(
                        group.location,
                        f"collision filter group '{group.name}' {verb} the unknown group '{other}'. "
                        f"{nearest_names(other, names)}",
                    )
        for member in group_members(model, group):
            _check_body(
                member, bodies, f"collision filter group '{group.name}' has as member", group.location
            )


def group_members(model: ModelDescription, group: CollisionFilterGroupDescription) -> list[BodyReference]:
    """The bodies of a group; a member's name may be scoped by nested models."""
    members = []
    for member in group.members:
        nested, _, body = member.rpartition("::")
        members.append(BodyReference(f"{model.name}::{nested}" if nested else model.name, body))
    return members


def _check_unique(kind: str, named: Iterable[tuple[str, SourceLocation]]) -> None:
    seen: dict[str, SourceLocation] = {}
    for name, location in named:
        if name in seen:
            raise ParsingError(
                location,
                f"a second {kind} is named '{name.removeprefix('::')}'; the first is at {seen[name]}. "
                "Rename one of them.",
            )
        seen[name] = location
