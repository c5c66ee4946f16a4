"""SDF joints and their actuators."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isinf
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import (
    ActuatorDescription,
    BodyReference,
    FrameReference,
    JointDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.urdf_and_sdf.joints import (
    check_joint_type,
    check_limits,
    check_nonnegative,
    read_controller_gains,
    read_path,
    read_rotor,
    unit_axis,
)
from merganser.multibody.parsing.urdf_and_sdf.sdf_scope import SdfScope
from merganser.multibody.parsing.xml_reader import XmlNode

_JOINT_TYPES = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed",
    "ball": "ball", "universal": "universal", "screw": "screw",
}  # fmt: skip
_TYPES_WITH_SPRING = ("revolute", "continuous", "prismatic")
_DRAKE_TYPES = ("planar", "curvilinear", "ball_rpy")  # these belong in a <drake:joint>
_DEFAULT_SCREW_PITCH = 1.0  # of SDFormat [m for each turn]
_ORTHOGONALITY = 1e-12  # largest cosine between the axes of a universal joint


def read_joint(node: XmlNode, scope: SdfScope, diagnostics: Diagnostics) -> JointDescription:
    """Describes a <joint> (or <drake:joint>) of a model or world.

    The joint frame J is given in the child; its pose in the parent follows from where the file puts both
    bodies, which is the configuration that the joint calls zero.

    Raises:
        ParsingError: unsupported type, unknown bodies, no axis, or inadmissible numbers or axes.
    """
    name = node.require_attribute("name")
    type_name = node.require_attribute("type")
    check_joint_type(node, name, type_name, tuple(_JOINT_TYPES), _DRAKE_TYPES)
    if node.tag == "drake:joint":
        return _read_drake_joint(node, name, type_name, scope)
    parent = _body(node, "parent", scope)
    child = _body(node, "child", scope)
    if child == BodyReference.world():
        raise node.error(f"joint '{name}' has the world as its child; make it the parent.")
    X_MJ = scope.X_MF(name, node)
    X_PJ = scope.X_MB(parent, node).inverse() @ X_MJ
    X_CJ = scope.X_MB(child, node).inverse() @ X_MJ
    frames: dict[str, Any] = {"X_PJ": None if X_PJ.IsExactlyIdentity() else X_PJ, "X_CJ": X_CJ}
    if type_name == "fixed":
        return JointDescription(name, "fixed", parent, child, node.location, **frames)
    if type_name in ("ball", "universal"):
        bare = JointDescription(name, type_name, parent, child, node.location, **frames)
        return _read_joint_about_a_point(node, bare, scope, diagnostics)

    axis = node.require("axis")
    dynamics = axis.find_or_empty("dynamics")
    _check_unsupported(node, axis, dynamics, name, diagnostics)
    lower, upper, velocity, acceleration = _read_limits(axis, name)
    damping, friction = (dynamics.float_child(what, 0.0) for what in ("damping", "friction"))
    spring_stiffness = 0.0 if type_name == "screw" else dynamics.float_child("spring_stiffness", 0.0)
    rates = {"damping": damping, "friction": friction}
    check_nonnegative(dynamics, name, {**rates, "spring stiffness": spring_stiffness})
    return JointDescription(
        name,
        _JOINT_TYPES[type_name],
        parent,
        child,
        node.location,
        **frames,
        axis_J=_read_axis(axis, node, scope),
        position_limits=(-inf, inf) if type_name == "continuous" else (lower, upper),
        velocity_limit=velocity,
        acceleration_limit=acceleration,
        damping=damping,
        friction=friction,
        spring_stiffness=spring_stiffness,
        spring_reference=dynamics.float_child("spring_reference", 0.0),
        screw_pitch=_read_screw_pitch(node),
    )


def _read_limits(axis: XmlNode, joint: str) -> tuple[float, float, float, float]:
    """Lower and upper limit of the position about an axis, and limits of velocity and acceleration."""
    limit = axis.find_or_empty("limit")
    lower, upper = limit.float_child("lower", -inf, True), limit.float_child("upper", inf, True)
    check_limits(limit, joint, (lower, upper))
    acceleration = limit.float_child("drake:acceleration", inf, True)
    check_nonnegative(limit, joint, {"acceleration limit": acceleration})
    return lower, upper, _negative_is_infinite(limit.float_child("velocity", inf, True)), acceleration


def _read_screw_pitch(node: XmlNode) -> float:
    """The displacement for each turn [m]; the old <thread_pitch> is left-handed, in radians for each metre."""
    if node.find("screw_thread_pitch") is None and node.find("thread_pitch") is not None:
        thread_pitch = node.require("thread_pitch").float_text()
        if thread_pitch == 0.0:
            raise node.require("thread_pitch").error("<thread_pitch> is 0; write <screw_thread_pitch> in metres.")
        return -2.0 * np.pi / thread_pitch
    return node.float_child("screw_thread_pitch", _DEFAULT_SCREW_PITCH)


def _read_joint_about_a_point(
    node: XmlNode, joint: JointDescription, scope: SdfScope, diagnostics: Diagnostics
) -> JointDescription:
    """Completes a ball joint, or a universal joint, of which the frame is turned so that its axes are Jx and Jy."""
    name, is_universal = joint.name, joint.type == "universal"
    axis = node.require("axis") if is_universal else node.find_or_empty("axis")
    dynamics = axis.find_or_empty("dynamics")
    _check_unsupported(node, axis, dynamics, name, diagnostics)
    damping, friction = (dynamics.float_child(what, 0.0) for what in ("damping", "friction"))
    frictions = np.array([friction] * (2 if is_universal else 3))
    X_PJ, X_CJ = joint.X_PJ, joint.X_CJ
    limits: dict[str, Any] = {}
    if is_universal:
        axis_2 = node.require("axis2")
        dynamics_2 = axis_2.find_or_empty("dynamics")
        _check_unsupported(node, axis_2, dynamics_2, name, diagnostics)
        other, frictions[1] = dynamics_2.float_child("damping", 0.0), dynamics_2.float_child("friction", 0.0)
        if other != damping:
            diagnostics.warn(
                axis_2.location,
                f"joint '{name}' has damping {damping:g} about its first axis and {other:g} about the second; both get "
                "the first.",
            )
        x_J, y_J = _read_axis(axis, node, scope), _read_axis(axis_2, node, scope)
        if abs(x_J @ y_J) > _ORTHOGONALITY:
            raise axis_2.error(f"joint '{name}' has axes {x_J.tolist()} and {y_J.tolist()}, not at a right angle.")
        R_JI = RotationMatrix(np.column_stack([x_J, y_J, np.cross(x_J, y_J)]))
        X_JI = RigidTransform(R_JI, np.zeros(3))
        X_PJ = X_JI if X_PJ is None else X_PJ @ X_JI
        X_CJ = X_JI if X_CJ is None else X_CJ @ X_JI
        lower, upper, velocity, acceleration = np.column_stack([_read_limits(each, name) for each in (axis, axis_2)])
        limits = {"position_limits": (lower, upper), "velocity_limit": velocity, "acceleration_limit": acceleration}
    elif not all(map(isinf, _read_limits(axis, name))):
        diagnostics.warn(axis.location, f"limits of ball joint '{name}' have no effect.")
    check_nonnegative(dynamics, name, {"damping": damping, "friction": float(frictions.min())})
    return replace(joint, X_PJ=X_PJ, X_CJ=X_CJ, damping=damping, friction=frictions, **limits)


def _read_drake_joint(node: XmlNode, name: str, type_name: str, scope: SdfScope) -> JointDescription:
    """A joint between two frames that the file defines elsewhere."""
    if node.find("pose") is not None:
        raise node.error("a <drake:joint> has no <pose>; its parent and child are frames, which have poses.")
    parent_frame, child_frame = (node.require(f"drake:{role}").text for role in ("parent", "child"))
    damping: Any = 0.0
    if type_name == "planar":
        damping = node.require("drake:damping").vector_text(3)
    elif node.find("drake:damping") is not None:
        damping = node.require("drake:damping").float_text()
    check_nonnegative(node, name, {"damping": float(np.min(damping))})
    return JointDescription(
        name,
        type_name,
        scope.body_of(parent_frame, node),
        scope.body_of(child_frame, node),
        node.location,
        damping=damping,
        path=read_path(node, _child_number, prefix="drake:") if type_name == "curvilinear" else None,
        frames=(frame_reference(parent_frame, scope), frame_reference(child_frame, scope)),
    )


def _child_number(node: XmlNode, tag: str) -> float:
    return node.float_child(tag)


def frame_reference(name: str, scope: SdfScope) -> FrameReference:
    """A frame by the name that it has in a scope, which may be scoped by nested models."""
    nested, _, frame = name.rpartition("::")
    return FrameReference(f"{scope.name}::{nested}" if nested else scope.name, frame)


def read_actuator(
    node: XmlNode, joint: JointDescription, diagnostics: Diagnostics
) -> ActuatorDescription | None:
    """The actuator of a joint: every one with one degree of freedom has one, unless its effort limit is zero."""
    axis = node.find("axis")
    if joint.type == "fixed" or axis is None:
        return None
    limit = axis.find_or_empty("limit")
    effort_limit = _negative_is_infinite(limit.float_child("effort", inf, True))
    if effort_limit == 0:
        return None
    if joint.type in ("ball", "universal"):
        diagnostics.warn(
            node.location,
            f"no actuator: {joint.type} joint '{joint.name}' has more than one degree of freedom. An effort limit of 0 "
            "silences this.",
        )
        return None
    rotor_inertia, gear_ratio = read_rotor(node, joint.name)
    return ActuatorDescription(
        name=joint.name,
        joint_model=joint.child.model,
        joint=joint.name,
        location=node.location,
        effort_limit=effort_limit,
        rotor_inertia=rotor_inertia,
        gear_ratio=gear_ratio,
        controller_gains=read_controller_gains(node, joint.name),
    )


def _body(node: XmlNode, role: str, scope: SdfScope) -> BodyReference:
    """The parent or child body; the name `world` is known in every scope."""
    name_node = node.require(role)
    if not name_node.text:
        raise name_node.error(f"{node.describe()} has an empty <{role}>.")
    return BodyReference.world() if name_node.text == "world" else scope.body_of(name_node.text, node)


def _read_axis(axis: XmlNode, node: XmlNode, scope: SdfScope) -> np.ndarray:
    """The unit axis in the joint frame; the file may express it in another frame E."""
    xyz = axis.find_or_empty("xyz")
    joint = node.require_attribute("name")
    axis_E = xyz.vector_text(3) if xyz.text else np.array([0.0, 0.0, 1.0])
    expressed_in = xyz.attributes.get("expressed_in", "")
    if axis.bool_child("use_parent_model_frame", False):
        expressed_in = scope.root_frame
    if not expressed_in:
        return unit_axis(xyz, joint, axis_E)
    R_MJ = scope.X_MF(joint, node).rotation().matrix()
    R_ME = scope.X_MF(expressed_in, xyz).rotation().matrix()
    return unit_axis(xyz, joint, R_MJ.T @ R_ME @ axis_E)


def _negative_is_infinite(limit: float) -> float:
    """SDF writes `no limit` as a negative number."""
    return inf if limit < 0 else limit


def _check_unsupported(
    node: XmlNode, axis: XmlNode, dynamics: XmlNode, joint: str, diagnostics: Diagnostics
) -> None:
    """Warns about springs and second axes of some joints, which have no effect."""
    type_name = node.require_attribute("type")
    if type_name != "universal" and (axis_2 := node.find("axis2")) is not None:
        diagnostics.warn(axis_2.location, f"<axis2> of {type_name} joint '{joint}' has no effect.")
    if type_name not in _TYPES_WITH_SPRING and dynamics.float_child("spring_stiffness", 0.0):
        diagnostics.warn(dynamics.location, f"{type_name} joint '{joint}' has a spring; it has no effect.")
