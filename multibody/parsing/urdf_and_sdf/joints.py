"""Joints and actuators of URDF and SDF: admissible numbers, Drake's extensions, joints that close loops of others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite

import numpy as np

from merganser.framework.math import RotationMatrix
from merganser.framework.trajectories import PiecewiseConstantCurvatureTrajectory
from merganser.multibody.parsing.description import (
    BodyReference,
    CollisionFilterGroupDescription,
    DocumentDescription,
    JointDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.urdf_and_sdf.geometry import drake_value
from merganser.multibody.parsing.xml_reader import XmlNode


def check_joint_type(
    node: XmlNode, joint: str, type_name: str, in_joint: tuple[str, ...], in_drake_joint: tuple[str, ...]
) -> None:
    """Refuses joint types that cannot be modelled, or are in the wrong one of <joint> and <drake:joint>.

    Args:
        node: the element.
        joint: its name.
        type_name: its type.
        in_joint: types allowed in a <joint>.
        in_drake_joint: types allowed in a <drake:joint>.
    """
    if type_name not in (in_joint if node.tag == "joint" else in_drake_joint):
        raise node.error(
            f"joint '{joint}' has the unsupported type '{type_name}' in a <{node.tag}> element; supported in "
            f"<joint>: {', '.join(in_joint)}; in <drake:joint>: {', '.join(in_drake_joint)}."
        )


def read_path(
    node: XmlNode, number: Callable[[XmlNode, str], float], prefix: str = ""
) -> PiecewiseConstantCurvatureTrajectory:
    """The path of a curvilinear joint: <drake:curves>, directions, and whether it is periodic.

    Args:
        node: the element of the joint.
        number: reads the number called by the second argument out of a <drake:line_segment> or <drake:circular_arc>.
        prefix: of the names of these numbers.

    Raises:
        ParsingError: there is no curve, a length or radius is not positive, or the directions are not at a right angle.
    """
    curves = node.require("drake:curves")
    breaks, turning_rates = [0.0], []
    for curve in curves.children:
        if curve.tag == "drake:line_segment":
            length, rate = number(curve, f"{prefix}length"), 0.0
        elif curve.tag == "drake:circular_arc":
            radius, angle = number(curve, f"{prefix}radius"), number(curve, f"{prefix}angle")
            if radius <= 0.0 or angle == 0.0:
                raise curve.error(f"the arc has radius {radius:g} and angle {angle:g}; both must be more than nothing.")
            length, rate = abs(angle) * radius, (1.0 if angle > 0.0 else -1.0) / radius
        else:
            raise curve.error(f"<{curve.tag}> is not a curve; expected <drake:line_segment> or <drake:circular_arc>.")
        if length <= 0.0:
            raise curve.error(f"the line has length {length:g}; it must be positive.")
        breaks.append(breaks[-1] + length)
        turning_rates.append(rate)
    if not turning_rates:
        raise curves.error("<drake:curves> is empty; give it a <drake:line_segment> or <drake:circular_arc>.")
    tangent = _direction(node, "drake:initial_tangent", [1.0, 0.0, 0.0])
    normal = _direction(node, "drake:plane_normal", [0.0, 0.0, 1.0])
    is_periodic = node.find_or_empty("drake:is_periodic")
    text = is_periodic.attributes.get("value", is_periodic.text) or "false"
    try:
        return PiecewiseConstantCurvatureTrajectory(
            breaks, turning_rates, tangent, normal, np.zeros(3), is_periodic.parse_bool(text)
        )
    except ValueError as cause:
        raise node.error(f"the path of the joint is not possible: {cause}") from None


def _direction(node: XmlNode, tag: str, default: list[float]) -> np.ndarray:
    """The vector of a child <tag>, in an attribute xyz or an element <xyz>."""
    child = node.find(tag)
    if child is None:
        return np.array(default)
    xyz = child.find("xyz")
    return child.vector_attribute("xyz", 3) if xyz is None else xyz.vector_text(3)


def nearest_rotation_with_z(z_C: np.ndarray) -> RotationMatrix:
    """R_CJ with Jz along a unit vector, by the smallest turn from the identity (Rodrigues); about Cx for -z.

    Args:
        z_C: unit vector Jz expressed in C, shape [3].
    """
    x, y, z = (float(c) for c in z_C)
    if z <= -1.0 + 1e-12:
        return RotationMatrix(np.diag([1.0, -1.0, -1.0]))
    k = 1.0 / (1.0 + z)
    R = np.array([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])
    return RotationMatrix.ProjectToRotationMatrix(R)


def unit_axis(node: XmlNode, joint: str, axis: np.ndarray) -> np.ndarray:
    """The direction of a joint axis, shape [3]; the zero vector has none."""
    largest = float(np.abs(axis).max())
    if largest < 1e-12:
        raise node.error(f"joint '{joint}' has axis {axis.tolist()}; it needs a direction, such as 0 0 1.")
    scaled = axis / largest  # so that squaring huge components does not overflow
    return scaled / np.linalg.norm(scaled)


def check_limits(node: XmlNode, joint: str, limits: tuple[float, float]) -> None:
    """Refuses position limits that leave no position."""
    if limits[0] > limits[1]:
        raise node.error(f"joint '{joint}' has lower limit {limits[0]:g} above upper limit {limits[1]:g}.")


def check_nonnegative(node: XmlNode, joint: str, quantities: dict[str, float]) -> None:
    """Refuses negative values of quantities that have no sign."""
    for name, value in quantities.items():
        if value < 0:
            raise node.error(f"joint '{joint}' has {name} {value:g}; it cannot be negative.")


def read_filter_groups(model: XmlNode) -> list[CollisionFilterGroupDescription]:
    """Every <drake:collision_filter_group> of a <robot> or <model> that does not ask to be ignored."""
    nodes = model.find_all("drake:collision_filter_group")
    return [_read_filter_group(node) for node in nodes if node.attributes.get("ignore") not in ("true", "1")]


def _read_filter_group(node: XmlNode) -> CollisionFilterGroupDescription:
    """One group; names are in attributes, or the text."""
    members = tuple(_name_in(child, "link") for child in node.find_all("drake:member"))
    member_groups = tuple(_name_in(child, "name") for child in node.find_all("drake:member_group"))
    ignored = tuple(
        _name_in(child, "name") for child in node.find_all("drake:ignored_collision_filter_group")
    )
    name = node.require_attribute("name")
    return CollisionFilterGroupDescription(name, members, member_groups, ignored, node.location)


def _name_in(node: XmlNode, attribute: str) -> str:
    return node.text or node.require_attribute(attribute)


def read_rotor(node: XmlNode, joint_name: str) -> tuple[float, float]:
    """The inertia [kg m^2 or kg] of a rotor, <drake:rotor_inertia>, and its <drake:gear_ratio>.

    Args:
        node: the element that may hold them.
        joint_name: of the joint that the actuator drives, for messages.

    Raises:
        ParsingError: the inertia is negative, or that at the joint too large to compute with.
    """
    inertia_node, ratio_node = node.find("drake:rotor_inertia"), node.find("drake:gear_ratio")
    inertia = 0.0 if inertia_node is None else drake_value(inertia_node)
    ratio = 1.0 if ratio_node is None else drake_value(ratio_node)
    check_nonnegative(node, joint_name, {"rotor inertia": inertia})
    if not isfinite(ratio * ratio * max(inertia, 1.0)):
        raise node.error(f"joint '{joint_name}' has rotor inertia {inertia:g} and gear ratio {ratio:g}: too large.")
    return inertia, ratio


def read_controller_gains(node: XmlNode, joint_name: str) -> tuple[float, float] | None:
    """The gains p [N m/rad or N/m] and d [N m s/rad or N s/m] of <drake:controller_gains>; None without one.

    Args:
        node: the element that may hold it.
        joint_name: of the joint that the actuator drives, for messages.

    Raises:
        ParsingError: an attribute is missing or no number, or a gain is negative.
    """
    gains = node.find("drake:controller_gains")
    if gains is None:
        return None
    p, d = gains.float_attribute("p"), gains.float_attribute("d")
    check_nonnegative(gains, joint_name, {"proportional gain": p, "derivative gain": d})
    return p, d


# ---------------------------------------------------------------------- joints that close loops

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
