"""Actuators of MJCF files on hinges and slides.

The force on the joint is gear (gain u + bias), with the bias b0 + b1 gear q + b2 gear v. Without bias it is a motor:
the actuation of the plant is the force itself. With b1, b2 <= 0 it is a PD controller of the plant, with the gains
-b1 gear^2 and -b2 gear^2, and the desired position (gain u + b0) / (-b1 gear): u / gear for a position servo.
"""

from __future__ import annotations

__all__ = ["MjcfActuator", "add_actuators", "read_actuators"]

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt

import numpy as np

from merganser.multibody.parsing.description import ActuatorDescription, ModelDescription
from merganser.multibody.parsing.mjcf.actuator_law import ActuatorLaw, read_law
from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.defaults import ACTUATOR_TAGS
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.names import unique_name
from merganser.multibody.parsing.mjcf.reference_mass import ReferenceMass
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.mjcf.tree import MjcfTree, Placement
from merganser.multibody.parsing.xml_reader import XmlNode

_SUPPORTED = ("motor", "position", "velocity", "general")
_OTHER_TRANSMISSIONS = ("tendon", "site", "body", "slidersite", "cranksite")
_FILTERS = ("filter", "filterexact")


@dataclass(eq=False)
class MjcfActuator:
    """An actuator that has a counterpart.

    Attributes:
        node: the element, with the attributes of its class.
        settings: how its numbers are to be read.
        name: in the whole model; empty for none.
        joint: the hinge or slide on which it acts.
        law: what force it makes.
        gear: of the force, and of position and velocity.
        rotor_inertia: of its own [kg m^2 or kg].
        clamps_control: whether the control is kept within `ctrlrange`.
    """

    node: XmlNode
    settings: MjcfSettings
    name: str
    joint: MjcfJoint
    law: ActuatorLaw
    gear: float
    rotor_inertia: float
    clamps_control: bool = True

    @property
    def group(self) -> int:
        """By which actuators are switched off together."""
        return int(self.node.float_attribute("group", 0.0))

    def control_range(self) -> tuple[float, float] | None:
        """The least and the largest control; None if there are none."""
        return read_range(self.node, "ctrlrange", "ctrllimited", self.settings) if self.clamps_control else None


def read_actuators(tree: MjcfTree, model: MjcfModel, report: MjcfReport) -> list[MjcfActuator]:
    """Reads all actuators, replicas and attached models included, in the order of the files.

    What they add to the inertia and damping of their joints is added there.

    Args:
        tree: has the sections of all files.
        model: has the joints.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a name or number is wrong.
    """
    actuators: list[MjcfActuator] = []
    options = tree.world.source.options
    for placement in tree.placements if options.allows("actuation") else ():
        for element in placement.source.section("actuator"):
            if element.tag not in ACTUATOR_TAGS:
                report.add(element.location, f"<{element.tag}> is unknown in <actuator>; left out")
            else:
                actuators += _read(element, placement, model, report)
    actuators = [a for a in actuators if a.group not in options.disabled_actuator_groups]
    for actuator in actuators:
        actuator.clamps_control = options.allows("clampctrl")
        squared = actuator.gear**2
        actuator.joint.rotors += squared * actuator.rotor_inertia
        actuator.joint.damping += squared * _damping(actuator.node, report)
    return actuators


def _read(element: XmlNode, placement: Placement, model: MjcfModel, report: MjcfReport) -> list[MjcfActuator]:
    defaults, names = placement.source.defaults, placement.names
    node = defaults.filled_actuator(element)
    what = f"<{element.tag}>"
    if element.tag not in _SUPPORTED:
        report.add(element.location, f"{what} is left out: there are motors, servos and affine actuators")
        return []
    attribute = next((name for name in ("joint", "jointinparent") if name in node.attributes), "")
    if not attribute:
        others = [name for name in _OTHER_TRANSMISSIONS if name in node.attributes]
        if not others:
            raise element.error(f"{element.describe()} needs an attribute 'joint' that names what it drives.")
        report.add(element.location, f"{what} of a {others[0]} is left out: actuators act on joints")
        return []
    law = read_law((*defaults.actuators(element), element))
    gear = float(node.vector_attribute("gear", tuple(range(1, 7)), [1.0])[0])
    rotor_inertia = node.float_attribute("armature", 0.0)
    if rotor_inertia < 0.0:
        raise element.error(f"{element.describe()} has the armature {rotor_inertia:g}; it cannot be negative.")
    actuators = []
    for copies, [(_, part)] in names.combinations(element, [("joint", node.require_attribute(attribute))]):
        joint = model.joint_of[part]
        name = names.spot.full(node.attributes.get("name", ""), copies)
        why = _unsupported(law, joint)
        if why:
            report.add(element.location, f"{what} {why}")
        else:
            actuators.append(MjcfActuator(node, placement.source.settings, name, joint, law, gear, rotor_inertia))
    return actuators


def _unsupported(law: ActuatorLaw, joint: MjcfJoint) -> str:
    """Why an actuator is left out; empty if it is not."""
    if not joint.is_scalar:
        return f"of a {joint.type} joint is left out: actuators act on hinges and slides"
    if not law.is_affine or law.dynamics not in ("none", *_FILTERS):
        return f"with gaintype {law.gain_type}, biastype {law.bias_type}, dyntype {law.dynamics} is left out"
    if law.bias_type == "affine" and max(law.bias[1:]) > 0.0:
        return "that pushes away from its set point is left out"
    return ""


def _damping(node: XmlNode, report: MjcfReport) -> float:
    values = node.vector_attribute("damping", (1, 2, 3), [0.0])
    if values[1:].any():
        report.add(node.location, "<actuator> damping with several coefficients: only the linear one is used")
    if values[0] < 0.0:
        raise node.error(f"{node.describe()} has the damping {values[0]:g}; it cannot be negative.")
    return float(values[0])


def add_actuators(
    actuators: Sequence[MjcfActuator], model: MjcfModel, description: ModelDescription, report: MjcfReport
) -> None:
    """Adds actuators in pydrake's order: motors, then position servos, then the others.

    The armature of a joint goes to the rotor of its first actuator.

    Args:
        actuators: all of them; their joints have their names.
        model: has the joints.
        description: has the joints, and receives the actuators.
        report: receives what has no counterpart.
    """
    reference = ReferenceMass(model)
    taken = {actuator.name for actuator in actuators if actuator.name}
    places = {(joint.child.model, joint.name): i for i, joint in enumerate(description.joints)}
    ranks = {"motor": 0, "position": 1}
    for actuator in sorted(actuators, key=lambda each: ranks.get(each.node.tag, 2)):
        limit = _effort_limit(actuator, report)
        if limit == 0.0:
            report.add(actuator.node.location, f"<{actuator.node.tag}> without force is left out")
            continue
        name = actuator.name or unique_name(f"motor{len(description.actuators)}", taken)
        place = places[model.name, actuator.joint.name]
        rotor = actuator.rotor_inertia
        if actuator.gear:
            joint = description.joints[place]
            rotor += joint.armature / actuator.gear**2
            description.joints[place] = replace(joint, armature=0.0)
        gains = _gains(actuator, reference, report)
        if not np.isfinite([rotor, rotor * actuator.gear**2, *(gains or ())]).all():
            node = actuator.node
            raise node.error(f"{node.describe()} has a gear, gain or armature too large or small to compute with.")
        description.actuators.append(
            ActuatorDescription(
                name,
                model.name,
                actuator.joint.name,
                actuator.node.location,
                effort_limit=limit,
                rotor_inertia=rotor,
                gear_ratio=actuator.gear or 1.0,
                controller_gains=gains,
            )
        )


def _gains(actuator: MjcfActuator, reference: ReferenceMass, report: MjcfReport) -> tuple[float, float] | None:
    """p and d of the PD controller; None for a motor."""
    law, location = actuator.law, actuator.node.location
    if law.dynamics != "none":
        report.add(location, f"<{actuator.node.tag}> dyntype {law.dynamics}: its control is not filtered")
    if law.is_motor:
        return None
    stiffness, damping = abs(law.bias[1]), abs(law.bias[2])  # neither is positive
    if law.damping_ratio > 0.0 and actuator.gear:
        mass = reference.effective(actuator.joint) / actuator.gear**2
        damping = 2.0 * law.damping_ratio * sqrt(stiffness * mass)
    if not (law.is_position_servo or law.is_velocity_servo):
        report.add(
            location,
            f"<{actuator.node.tag}> is a PD controller: the desired position or speed, and what is left of its force, "
            "are for its user to compute",
        )
    elif actuator.control_range() or "inheritrange" in actuator.node.attributes:
        report.add(location, f"<{actuator.node.tag}> ctrlrange: the desired state of a PD controller is not clamped")
    return stiffness * actuator.gear**2, damping * actuator.gear**2


def _effort_limit(actuator: MjcfActuator, report: MjcfReport) -> float:
    """The largest force on the joint, of the ranges of control and force, and of all forces on the joint."""
    node, gear = actuator.node, abs(actuator.gear)
    ranges = [(1.0, "actuatorfrcrange of its joint", actuator.joint.effort_range)]
    force = read_range(node, "forcerange", "forcelimited", actuator.settings)
    ranges += [(gear, "forcerange", force)] if force else []
    control = actuator.control_range()
    ranges += [(gear * abs(actuator.law.gain[0]), "ctrlrange", control)] if control and actuator.law.is_motor else []
    limits = [inf]
    for factor, name, (low, high) in ranges:
        limits.append(factor * max(high, -low) if not isinf(high) else inf)
        if -low != high:
            report.add(node.location, f"<{node.tag}> {name} is not symmetric: the larger bound holds both ways")
    return max(0.0, min(limits))
