"""Reads a URDF document into a description.

URDF is a tree of links and joints: a joint's frame sits at <origin> in the parent link and coincides with
the child link's frame, so poses need no resolving. The link name `world` means the world body.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework.common.errors import nearest_names
from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import (
    ActuatorDescription,
    BodyReference,
    DocumentDescription,
    FrameDescription,
    FrameReference,
    JointDescription,
    LinkDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics
from merganser.multibody.parsing.inertia import make_inertia
from merganser.multibody.parsing.package_map import PackageMap
from merganser.multibody.parsing.urdf_and_sdf.extensions import (
    read_ball_constraint,
    read_bushing,
    read_mimic,
    read_spring_damper,
    read_tendons,
    usable_couplers,
)
from merganser.multibody.parsing.urdf_and_sdf.geometry import MeshReader
from merganser.multibody.parsing.urdf_and_sdf.geometry_readers import UrdfGeometryReader, read_origin
from merganser.multibody.parsing.urdf_and_sdf.joints import (
    check_joint_type,
    check_limits,
    check_nonnegative,
    nearest_rotation_with_z,
    read_controller_gains,
    read_filter_groups,
    read_path,
    read_rotor,
    unit_axis,
)
from merganser.multibody.parsing.urdf_and_sdf.vocabulary import report_unused
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import SpatialInertia

_STANDARD_TYPES = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
# These belong in a <drake:joint>, planar in either.
_DRAKE_TYPES = {"ball": "ball_rpy", "universal": "universal", "screw": "screw", "curvilinear": "curvilinear"}
_NO_LIMITS = {"position_limits": (-inf, inf), "velocity_limit": inf, "acceleration_limit": inf}
_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_LOOP_TYPES = {**_STANDARD_TYPES, "ball": "ball_rpy", "universal": "universal"}


def read_urdf(
    root: XmlNode, package_map: PackageMap, diagnostics: Diagnostics, with_geometry: bool = True
) -> DocumentDescription:
    """Describes the <robot> of a URDF document.

    Args:
        root: the document's root element.
        package_map: resolves addresses of mesh files.
        diagnostics: receives what is read but not honoured.
        with_geometry: whether visuals and collisions are read; a plant without SceneGraph has no use for them.

    Raises:
        ParsingError: the document is not a valid URDF model.
    """
    if root.tag != "robot":
        raise root.error(f"a URDF document starts with <robot>, not with <{root.tag}>.")
    meshes = MeshReader(package_map, with_geometry)
    model = read_robot(root, _name_of(root, diagnostics), meshes, diagnostics)
    report_unused(root, diagnostics)
    return DocumentDescription(root.location, [model], depends_on_files=meshes.has_read_files)


def read_robot(robot: XmlNode, name: str, meshes: MeshReader, diagnostics: Diagnostics) -> ModelDescription:
    """Describes a <robot> under another, perhaps scoped, name; raises as read_urdf() does."""
    return _RobotReader(name, meshes, diagnostics).read(without_ignored(robot))


def without_ignored(robot: XmlNode) -> XmlNode:
    """A <robot> without the elements that Drake is to ignore."""
    return replace(robot, children=[c for c in robot.children if c.attributes.get("drake_ignore") != "true"])


def _name_of(robot: XmlNode, diagnostics: Diagnostics) -> str:
    """The name of a robot; if it has none, that of its file."""
    if robot.attributes.get("name", "").strip() or robot.location.folder is None:
        return robot.require_attribute("name")
    name = Path(robot.location.file).stem
    diagnostics.warn(robot.location, f"the robot has no name; it is called '{name}', after its file.")
    return name


class _RobotReader:
    """Reads the elements of one <robot> in file order."""

    def __init__(self, name: str, meshes: MeshReader, diagnostics: Diagnostics):
        self._name = name
        self._geometry = UrdfGeometryReader(meshes, diagnostics)
        self._diagnostics = diagnostics

    def read(self, robot: XmlNode) -> ModelDescription:
        model = ModelDescription(self._name, robot.location)
        for material in robot.find_all("material") if self._geometry.meshes.has_viewers else ():
            material.require_attribute("name")
            self._geometry.read_material(material)
        for link in robot.find_all("link"):
            self._read_link(link, model)
        joint_nodes = list(robot.find_all("joint", "drake:joint"))
        model.joints = [joint for node in joint_nodes if (joint := self._read_joint(node)) is not None]
        nodes_by_name = {node.attributes["name"]: node for node in joint_nodes}
        for node in robot.find_all("transmission"):
            actuator = self._read_transmission(node, nodes_by_name)
            model.actuators += [] if actuator is None else [actuator]
        model.frames = [self._read_frame(node) for node in robot.find_all("frame")]
        model.bushings = [
            read_bushing(node, self._frame_reference, lambda child: child.vector_attribute("value", 3))
            for node in robot.find_all("drake:linear_bushing_rpy")
        ]
        model.spring_dampers = [
            read_spring_damper(node, self._named_body, lambda child: child.vector_attribute("value", 3))
            for node in robot.find_all("drake:linear_spring_damper")
        ]
        couplers = (
            read_mimic(mimic, self._name, node.attributes["name"], multiplier=1.0, offset=0.0)
            for node in joint_nodes
            for mimic in node.find_all("mimic")
        )
        model.couplers = usable_couplers(couplers, model.joints, self._diagnostics)
        model.ball_constraints = [
            read_ball_constraint(node, self._named_body, lambda child: child.vector_attribute("value", 3))
            for node in robot.find_all("drake:ball_constraint")
        ]
        model.tendons = read_tendons(robot, model.joints, self._diagnostics)
        model.loop_joints = [self._read_loop_joint(node) for node in robot.find_all("loop_joint")]
        model.filter_groups = read_filter_groups(robot)
        return model

    def _frame_reference(self, node: XmlNode) -> FrameReference:
        return FrameReference(self._name, node.require_attribute("name"))

    def _named_body(self, node: XmlNode) -> BodyReference:
        return self._body(node.require_attribute("name"))

    def _body(self, name: str) -> BodyReference:
        return BodyReference.world() if name == "world" else BodyReference(self._name, name)

    def _read_link(self, node: XmlNode, model: ModelDescription) -> None:
        name = node.require_attribute("name")
        visuals, collisions = self._geometry.read_visuals(node), self._geometry.read_collisions(node)
        inertial = node.find("inertial")
        if name == "world":
            if inertial is not None:
                self._diagnostics.warn(inertial.location, "the world has no mass: <inertial> has no effect.")
            model.world_visuals += visuals
            model.world_collisions += collisions
            return
        M_BBo_B = SpatialInertia.Zero() if inertial is None else self._read_inertial(inertial, name)
        model.links.append(LinkDescription(name, M_BBo_B, node.location, visuals, collisions))

    def _read_inertial(self, node: XmlNode, link: str) -> SpatialInertia:
        mass, moments = node.find_or_empty("mass"), node.find_or_empty("inertia")
        return make_inertia(
            node,
            link,
            mass.float_attribute("value", 0.0),
            read_origin(node.find("origin")),
            {name: moments.float_attribute(name, 0.0) for name in _MOMENTS},
            self._diagnostics,
        )

    def _read_joint(self, node: XmlNode) -> JointDescription | None:
        """The joint, or None for a floating joint, which leaves its child free."""
        name, type_name = node.require_attribute("name"), node.require_attribute("type")
        child = self._body(node.require("child").require_attribute("link"))
        parent = self._body(node.require("parent").require_attribute("link"))
        if type_name == "floating":
            self._diagnostics.warn(
                node.location,
                f"joint '{name}' is floating: '{child.body}' stays free and <origin> is not used.",
            )
            return None
        check_joint_type(node, name, type_name, (*_STANDARD_TYPES, "floating", "planar"), (*_DRAKE_TYPES, "planar"))
        if type_name == "fixed":
            X_PJ = read_origin(node.find("origin"))
            return JointDescription(name, "fixed", parent, child, node.location, X_PJ=X_PJ)
        if type_name not in _STANDARD_TYPES:
            return self._read_rarer_joint(node, name, type_name, parent, child)
        axis, dynamics = node.find_or_empty("axis"), node.find_or_empty("dynamics")
        damping, friction = (dynamics.float_attribute(what, 0.0) for what in ("damping", "friction"))
        check_nonnegative(dynamics, name, {"damping": damping, "friction": friction})
        return JointDescription(
            name=name,
            type=_STANDARD_TYPES[type_name],
            parent=parent,
            child=child,
            location=node.location,
            X_PJ=read_origin(node.find("origin")),
            axis_J=unit_axis(axis, name, axis.vector_attribute("xyz", 3, [1.0, 0.0, 0.0])),
            damping=damping,
            friction=friction,
            **_read_limits(node.find_or_empty("limit"), name),
        )

    def _read_rarer_joint(
        self, node: XmlNode, name: str, type_name: str, parent: BodyReference, child: BodyReference
    ) -> JointDescription:
        """In a planar joint, J is turned, as little as can be, so that its axis is Jz; limits are for one axis."""
        dynamics = node.find_or_empty("dynamics")
        damping: Any = 0.0
        if type_name == "planar":
            damping = dynamics.vector_attribute("damping", 3, [0.0, 0.0, 0.0])
        else:
            damping = dynamics.float_attribute("damping", 0.0)
        friction = dynamics.vector_attribute("friction", (1, 3) if type_name == "planar" else 1, [0.0])
        check_nonnegative(
            dynamics, name, {"damping": float(np.min(damping)), "friction": float(np.min(friction))}
        )
        X_PJ, X_CJ = read_origin(node.find("origin")), None
        axis_J = np.array([1.0, 0.0, 0.0])
        if type_name in ("screw", "planar"):
            axis = node.find_or_empty("axis")
            axis_J = unit_axis(axis, name, axis.vector_attribute("xyz", 3, [1.0, 0.0, 0.0]))
        if type_name == "planar":
            X_CJ = RigidTransform(nearest_rotation_with_z(axis_J), np.zeros(3))
            X_PJ = X_PJ @ X_CJ
        pitch = node.require("drake:screw_thread_pitch").float_attribute("value") if type_name == "screw" else 0.0
        limits = _read_limits(node.find_or_empty("limit"), name)
        if type_name not in ("screw", "curvilinear") and limits != _NO_LIMITS:
            self._diagnostics.warn(node.location, f"limits of {type_name} joint '{name}' have no effect.")
            limits = _NO_LIMITS
        return JointDescription(
            name=name,
            type=_DRAKE_TYPES.get(type_name, type_name),
            parent=parent,
            child=child,
            location=node.location,
            X_PJ=X_PJ,
            X_CJ=X_CJ,
            axis_J=axis_J,
            damping=damping,
            friction=friction,
            screw_pitch=pitch,
            path=read_path(node, _attribute_number) if type_name == "curvilinear" else None,
            **limits,
        )

    def _read_loop_joint(self, node: XmlNode) -> JointDescription:
        """A joint that closes a loop: its frames have poses in <link1>, the parent, and <link2>."""
        name, kind = node.require_attribute("name"), node.require_attribute("type")
        node.expect_one_of(kind, tuple(_LOOP_TYPES), "type of a <loop_joint>")
        first, second = node.require("link1"), node.require("link2")
        axis = node.find_or_empty("axis")
        axis_J = np.array([1.0, 0.0, 0.0])
        if _LOOP_TYPES[kind] in ("revolute", "prismatic"):
            axis_J = unit_axis(axis, name, axis.vector_attribute("xyz", 3, [1.0, 0.0, 0.0]))
        parent, child = (self._body(end.require_attribute("link")) for end in (first, second))
        return JointDescription(
            name, _LOOP_TYPES[kind], parent, child, node.location,
            X_PJ=read_origin(first), X_CJ=read_origin(second), axis_J=axis_J,
        )  # fmt: skip

    def _read_transmission(self, node: XmlNode, joints: dict[str, XmlNode]) -> ActuatorDescription | None:
        """The actuator of a simple transmission, or None if it drives nothing."""
        type_node = node.find("type")
        type_name = type_node.text if type_node is not None else node.attributes.get("type", "")
        if not type_name:
            raise node.error("the transmission has no <type>; expected SimpleTransmission.")
        if "SimpleTransmission" not in type_name:
            self._diagnostics.warn(node.location, f"transmission type '{type_name}' is ignored.")
            return None
        joint_name = node.require("joint").require_attribute("name")
        if joint_name not in joints:
            self._diagnostics.warn(
                node.location, f"no actuator: there is no joint '{joint_name}'. {nearest_names(joint_name, joints)}"
            )
            return None
        joint = joints[joint_name]
        actuator = node.require("actuator")
        limit = joint.find_or_empty("limit")
        # Drake reads limits of standard joints only.
        effort_limit = limit.float_attribute("effort", inf) if joint.attributes["type"] in _STANDARD_TYPES else inf
        if effort_limit < 0:
            raise limit.error(
                f"joint '{joint_name}' has effort limit {effort_limit:g}; it cannot be negative."
            )
        kind = joint.attributes["type"]
        idle_type = kind in ("fixed", "floating")
        if kind in ("ball", "universal", "planar"):
            raise node.error(
                f"the transmission drives joint '{joint_name}', which is {kind}; only joints with one degree of "
                "freedom can have an actuator."
            )
        if idle_type or effort_limit == 0:
            reason = f"is {kind}" if idle_type else "has effort limit 0"
            self._diagnostics.warn(node.location, f"no actuator: joint '{joint_name}' {reason}.")
            return None
        return self._read_actuator(node, actuator, joint_name, effort_limit)

    def _read_actuator(
        self, transmission: XmlNode, node: XmlNode, joint_name: str, effort_limit: float
    ) -> ActuatorDescription:
        for reduction in (*transmission.find_all("mechanicalReduction"), *node.find_all("mechanicalReduction")):
            if reduction.text and not _is_one(reduction.text):
                self._diagnostics.warn(
                    reduction.location,
                    f"<mechanicalReduction> {reduction.text} has no effect; use <drake:gear_ratio>.",
                )
        rotor_inertia, gear_ratio = read_rotor(node, joint_name)
        return ActuatorDescription(
            name=node.require_attribute("name"),
            joint_model=self._name,
            joint=joint_name,
            location=node.location,
            effort_limit=effort_limit,
            rotor_inertia=rotor_inertia,
            gear_ratio=gear_ratio,
            controller_gains=read_controller_gains(node, joint_name),
        )

    def _read_frame(self, node: XmlNode) -> FrameDescription:
        return FrameDescription(
            node.require_attribute("name"),
            self._body(node.require_attribute("link")),
            read_origin(node),
            node.location,
        )


def _is_one(text: str) -> bool:
    try:
        return float(text) == 1.0
    except ValueError:
        return False


def _read_limits(limit: XmlNode, joint: str) -> dict[str, Any]:
    """Limits of the position, velocity and acceleration of a joint along or about one axis."""
    positions = (limit.float_attribute("lower", -inf), limit.float_attribute("upper", inf))
    velocity, acceleration = (limit.float_attribute(name, inf) for name in ("velocity", "drake:acceleration"))
    check_limits(limit, joint, positions)
    check_nonnegative(limit, joint, {"velocity limit": velocity, "acceleration limit": acceleration})
    return {"position_limits": positions, "velocity_limit": velocity, "acceleration_limit": acceleration}


def _attribute_number(node: XmlNode, name: str) -> float:
    return node.float_attribute(name)
