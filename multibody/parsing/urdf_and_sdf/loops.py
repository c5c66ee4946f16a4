"""Joints of a document that close loops of others: they become loop joints, since a plant is made of trees."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import inf

import numpy as np

from merganser.multibody.parsing.description import (
    BodyReference,
    DocumentDescription,
    JointDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics

_ABOUT_A_POINT = ("ball", "ball_rpy", "universal")
_TYPES = ("fixed", "revolute", "prismatic", "ball", "ball_rpy", "universal", "planar")  # that may be loop joints


def open_loops(document: DocumentDescription, diagnostics: Diagnostics) -> None:
    """Makes loop joints of those joints that close loops.

    Of each loop that is the last joint in the document, or the last one about a point, which has no actuator or limits
    to lose. A loop joint has no coordinates: damping, springs, limits, actuators, couplers and tendons of it are left
    out with a warning. Loops of welds alone, or of two joints, and those that a screw or curvilinear
    joint closes, stay, to be refused.

    Args:
        document: is changed.
        diagnostics: receives the warnings.
    """
    neighbours: dict[BodyReference, list[tuple[BodyReference, JointDescription]]] = {}
    owners: list[ModelDescription | DocumentDescription] = [*document.all_models(), document]
    joints = [(owner, joint) for owner in owners for joint in owner.joints]
    for owner, joint in sorted(joints, key=lambda pair: pair[1].type in _ABOUT_A_POINT):
        loop = _path(joint.child, joint.parent, neighbours)  # ends at once for a child that is new
        may_close = joint.type in _TYPES and any(other.type != "fixed" for other in [joint, *(loop or ())])
        if loop is None or len(loop) < 2 or not may_close:
            neighbours.setdefault(joint.parent, []).append((joint.child, joint))
            neighbours.setdefault(joint.child, []).append((joint.parent, joint))
            continue
        owner.joints[:] = [other for other in owner.joints if other is not joint]
        owner.loop_joints.append(_without_coordinates(joint))
        lost = _lost(joint, document)
        others = f"; its {', '.join(lost)} {'have' if len(lost) > 1 else 'has'} no effect" if lost else ""
        diagnostics.warn(joint.location, f"joint '{joint.name}' closes a loop: it is a loop joint{others}.")


def _path(
    start: BodyReference,
    end: BodyReference,
    neighbours: dict[BodyReference, list[tuple[BodyReference, JointDescription]]],
) -> list[JointDescription] | None:
    """The joints on the path from one body to another; None without a path."""
    came_by: dict[BodyReference, tuple[BodyReference, JointDescription] | None] = {start: None}
    waiting = deque([start])
    while waiting and end not in came_by:
        body = waiting.popleft()
        for other, joint in neighbours.get(body, []):
            if other not in came_by:
                came_by[other] = (body, joint)
                waiting.append(other)
    if end not in came_by:
        return None
    joints = []
    step = came_by[end]
    while step is not None:
        joints.append(step[1])
        step = came_by[step[0]]
    return joints


def _without_coordinates(joint: JointDescription) -> JointDescription:
    damping = np.zeros(3) if joint.type == "planar" else 0.0
    return replace(
        joint, damping=damping, friction=0.0, position_limits=(-inf, inf), velocity_limit=inf, acceleration_limit=inf,
        spring_stiffness=0.0, armature=0.0, default_positions=None,
    )  # fmt: skip


def _lost(joint: JointDescription, document: DocumentDescription) -> list[str]:
    """Removes from the document, and names, what a joint had and a loop joint cannot have."""
    lost = ["damping"] if np.any(joint.damping) else []
    lost += ["friction"] if np.any(joint.friction) else []
    lost += ["spring"] if joint.spring_stiffness else []
    lost += ["limits"] if np.isfinite(np.hstack(joint.position_limits)).any() else []
    model, name = joint.child.model, joint.name
    owners: list[ModelDescription | DocumentDescription] = [document, *document.all_models()]
    for owner in owners:
        driven = [a for a in owner.actuators if (a.joint_model, a.joint) == (model, name)]
        lost += ["actuator"] if driven else []
        owner.actuators[:] = [a for a in owner.actuators if a not in driven]
    for owner_model in document.all_models():
        couplers = [c for c in owner_model.couplers if c.model == model and name in (c.joint0, c.joint1)]
        tendons = [t for t in owner_model.tendons if owner_model.name == model and name in t.joints]
        lost += ["coupling"] if couplers else []
        lost += ["tendon"] if tendons else []
        owner_model.couplers[:] = [c for c in owner_model.couplers if c not in couplers]
        owner_model.tendons[:] = [t for t in owner_model.tendons if t not in tendons]
    return lost
