"""Joints of MJCF files; several on a body become a chain of massless bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.mjcf.settings import MjcfOptions, MjcfSettings
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfPart
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.urdf_and_sdf.joints import check_limits, check_nonnegative, unit_axis
from merganser.multibody.parsing.xml_reader import XmlNode

_TYPES = ("free", "ball", "slide", "hinge")


@dataclass(eq=False)
class MjcfJoint:
    """A joint J of a body B, as MuJoCo has it.

    Attributes:
        part: the element.
        body: the body.
        type: free, ball, slide or hinge.
        p_BoJo_B: point of the axis at the zero of the file [m], shape [3].
        axis_B: unit vector, shape [3].
        reference: value of a hinge or slide in the configuration of the file [rad or m].
        limits: of a hinge or slide [rad or m], or of the angle of rotation of a ball [rad].
        effort_range: of the sum of the forces of actuators [N m or N].
        damping: [N m s or N s/m].
        friction: dry [N m or N].
        stiffness: of its spring [N m/rad or N/m].
        higher_stiffness, higher_damping: coefficients of the second and third power of a hinge or slide.
        spring_reference: value without force of the spring [rad or m].
        armature: inertia that moves with it [kg m^2 or kg].
        rotors: the same, of the rotors of its actuators.
        time_constant, damping_ratio: from which stiffness and damping follow, if both are positive [s, 1].
        name: in the plant; set when all are known.
    """

    part: MjcfPart
    body: MjcfBody
    type: str
    p_BoJo_B: np.ndarray
    axis_B: np.ndarray
    reference: float = 0.0
    limits: tuple[float, float] = (-inf, inf)
    effort_range: tuple[float, float] = (-inf, inf)
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    higher_stiffness: tuple[float, float] = (0.0, 0.0)
    higher_damping: tuple[float, float] = (0.0, 0.0)
    spring_reference: float = 0.0
    armature: float = 0.0
    rotors: float = 0.0
    time_constant: float = 0.0
    damping_ratio: float = 0.0
    name: str = ""

    @property
    def is_scalar(self) -> bool:
        """Whether one number is its value."""
        return self.type in ("hinge", "slide")

    @property
    def num_positions(self) -> int:
        """The number of its positions in MuJoCo."""
        return {"free": 7, "ball": 4}.get(self.type, 1)

    @property
    def num_velocities(self) -> int:
        """The number of its velocities."""
        return {"free": 6, "ball": 3}.get(self.type, 1)

    def child_pose(self) -> RigidTransform:
        """X_BM of its frame in the child; at the value `reference`, the joint is as the file puts it."""
        R_JM = RotationMatrix()
        p_BoMo_B = self.p_BoJo_B
        if self.type == "hinge" and self.reference:
            R_JM = _rotation_about(self.axis_B, self.reference)
        elif self.type == "slide":
            p_BoMo_B = p_BoMo_B + self.reference * self.axis_B
        return RigidTransform(R_JM, p_BoMo_B)


def read_joint(part: MjcfPart, body: MjcfBody, report: MjcfReport) -> MjcfJoint:
    """Reads a <joint> or <freejoint>.

    Args:
        part: the element.
        body: the body that it moves.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a number is wrong, or a free joint is not the only one of a body in the world.
    """
    node, settings = part.node, part.settings
    default = "free" if node.tag == "freejoint" else "hinge"
    kind = node.expect_one_of(node.attributes.get("type", default), _TYPES, f"type of {node.describe()}")
    p_BoJo_B = part.X_BF @ node.vector_attribute("pos", 3, [0.0, 0.0, 0.0])
    axis_B = np.array([0.0, 0.0, 1.0])
    unit = settings.unit_angle if kind in ("hinge", "ball") else 1.0
    if kind in ("hinge", "slide"):
        axis = unit_axis(node, _name(node), node.vector_attribute("axis", 3, [0.0, 0.0, 1.0]))
        axis_B = part.X_BF.rotation() @ axis
    joint = MjcfJoint(part, body, kind, p_BoJo_B, axis_B)
    (damping, joint.higher_damping), (stiffness, joint.higher_stiffness) = (
        _coefficients(node, name, joint.is_scalar, report) for name in ("damping", "stiffness")
    )
    joint.armature = node.float_attribute("armature", 0.0)
    joint.damping = damping
    joint.friction = node.float_attribute("frictionloss", 0.0)
    numbers = {"damping": damping, "armature": joint.armature, "frictionloss": joint.friction}
    check_nonnegative(node, _name(node), numbers)
    if kind == "free":
        _check_free_joint(joint)
        _report_unusual(joint, stiffness, report)
        return joint
    if stiffness < 0.0:
        report.add(node.location, "<joint> stiffness below 0: the spring is left out")
    joint.stiffness = max(0.0, stiffness)
    joint.time_constant, joint.damping_ratio = node.vector_attribute("springdamper", 2, [0.0, 0.0]).tolist()
    limits = read_range(node, "range", "limited", settings)
    if limits is not None:
        joint.limits = (unit * limits[0], unit * limits[1])
        check_limits(node, _name(node), joint.limits)
    if joint.is_scalar:
        joint.reference = unit * node.float_attribute("ref", 0.0)
        joint.spring_reference = unit * node.float_attribute("springref", 0.0)
        joint.effort_range = read_range(node, "actuatorfrcrange", "actuatorfrclimited", settings) or (-inf, inf)
    elif limits is not None:
        _check_range_of_ball(joint, report)
    return joint


def _check_range_of_ball(joint: MjcfJoint, report: MjcfReport) -> None:
    """Of the angle of a rotation, which has no sign and is at most pi, the range begins at zero."""
    node = joint.part.node
    if joint.limits[0] != 0.0:
        text = node.attributes.get("range", "")
        raise node.error(f"the range of {node.describe()}, which is a ball, is '{text}', but has to begin with 0.")
    if not joint.limits[1] > 0.0:
        report.add(node.location, "<joint type=\"ball\"> range of no extent: it has no effect")
        joint.limits = (-inf, inf)


def _report_unusual(joint: MjcfJoint, stiffness: float, report: MjcfReport) -> None:
    """Names what free joints have in MuJoCo, but not here."""
    node = joint.part.node
    if stiffness:
        report.add(node.location, "<joint type=\"free\"> stiffness: the spring is left out")
    if joint.friction:
        report.add(node.location, "<joint type=\"free\"> frictionloss: what floats has no friction here")


def _check_free_joint(joint: MjcfJoint) -> None:
    node, body = joint.part.node, joint.body
    if body.parent is None or body.parent.parent is not None:
        raise node.error(f"{node.describe()} is free, which only bodies in <worldbody> may be.")
    if len(body.joints) > 1:
        raise node.error(f"{node.describe()} is free, but {body.node.describe()} has other joints, too.")


def read_spring_dampers(joints: Iterable[MjcfJoint], inertia_of: Callable[[MjcfJoint], float]) -> None:
    """Computes stiffness and damping of joints given by a time constant and a damping ratio.

    Args:
        joints: all joints.
        inertia_of: returns the inertia that a joint moves in the configuration of the file [kg m^2 or kg].
    """
    for joint in joints:
        T, ratio = joint.time_constant, joint.damping_ratio
        if T > 0.0 and ratio > 0.0:
            inertia = inertia_of(joint)
            joint.stiffness, joint.damping = inertia / (T * ratio) ** 2, 2.0 * inertia / T
            if not np.isfinite([joint.stiffness, joint.damping]).all():
                node = joint.part.node
                raise node.error(f"{node.describe()} has a springdamper too large or small to compute with.")


def switch_off(joints: Iterable[MjcfJoint], options: MjcfOptions) -> None:
    """Removes limits, springs or dampers of joints that a flag of the main file switches off."""
    for joint in joints:
        if not options.allows("limit"):
            joint.limits = (-inf, inf)
        if not options.allows("spring"):
            joint.stiffness, joint.higher_stiffness = 0.0, (0.0, 0.0)
        if not options.allows("damper"):
            joint.damping, joint.higher_damping = 0.0, (0.0, 0.0)


def read_range(node: XmlNode, name: str, switch: str, settings: MjcfSettings) -> tuple[float, float] | None:
    """The limits of an element, if it has them and they are on or automatic.

    Args:
        node: the element.
        name: of the attribute with the numbers.
        switch: of the attribute that says whether they count.
        settings: say whether limits are automatic.
    """
    word = node.expect_one_of(
        node.attributes.get(switch, "auto"), ("false", "true", "auto"), f"value of attribute '{switch}'"
    )
    if word == "false" or (word == "auto" and not (settings.auto_limits and name in node.attributes)):
        return None
    low, high = node.vector_attribute(name, 2, [0.0, 0.0]).tolist()
    if not low <= high:
        raise node.error(f"attribute '{name}' of {node.describe()} is {low:g} {high:g}; the lower one comes first.")
    return low, high


def _coefficients(
    node: XmlNode, name: str, is_scalar: bool, report: MjcfReport
) -> tuple[float, tuple[float, float]]:
    """The first of up to three coefficients of a polynomial, and the others."""
    first, *others = (*node.vector_attribute(name, (1, 2, 3), [0.0]).tolist(), 0.0, 0.0)[:3]
    if any(others) and not is_scalar:
        what = f"<joint type=\"{node.attributes.get('type', 'free')}\"> {name} with several coefficients"
        report.add(node.location, f"{what}: only the linear one is used")
        others = [0.0, 0.0]
    return first, (others[0], others[1])


def _name(node: XmlNode) -> str:
    return node.attributes.get("name", "")


def _rotation_about(axis: np.ndarray, angle: float) -> RotationMatrix:
    """Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return RotationMatrix.ProjectToRotationMatrix(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))
