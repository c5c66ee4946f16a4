"""Actuators of MJCF files on joints, tendons, sites and slider-cranks.

The force on a joint, or along a tendon, is gear (gain u + bias), with the bias b0 + b1 gear q + b2 gear v. Without bias
it is a motor: the actuation of the plant is the force itself. With b1, b2 <= 0 it is a PD controller of the plant, with
the gains -b1 gear^2 and -b2 gear^2, and the constant effort gear b0. With b1 < 0, its desired position is u / gear,
which is cut off at ctrlrange, times gain / -b1; along a tendon the desired state has that length itself. With
b1 = 0 < -b2, its desired velocity is gain u / (-b2 gear), which has no limits. A `<pid>` is such a controller, too,
with an integral; a `<dcmotor>` and an `<orientation>` are laws of their own (multibody/kernels/laws), the latter of
three actuators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np

from merganser.multibody.parsing.description import ActuatorDescription, ModelDescription
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.mjcf.actuator_force import (
    LAW_READERS,
    MAX_SAMPLES,
    MjcfLaw,
    read_dc_motor,
    read_law,
    word_of,
)
from merganser.multibody.parsing.mjcf.bodies import MjcfModel, ReferenceMass
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.names import Copies, unique_name
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.mjcf.source import ACTUATOR_TAGS
from merganser.multibody.parsing.mjcf.tendon import (
    FixedTendon,
    MjcfTransmission,
    PathTendon,
    make_free_force,
    make_transmission,
)
from merganser.multibody.parsing.mjcf.tree import MjcfTree, Placement
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import (
    ActuatorLaw,
    ControlDelay,
    MuscleCurves,
    OrientationServo,
    ServoIntegral,
)


def _force_range(actuator: MjcfActuator) -> tuple[float, float] | None:
    """The range of the force; of a motor that of its torque, if nothing comes on top of it."""
    law, node = actuator.law, actuator.node
    if law.motor is not None:
        limit = law.motor.torque_limit
        return (-limit, limit) if isfinite(limit) and not (law.motor.cogging[0] or law.motor.friction[0]) else None
    if node.tag == "orientation" or law.gain_type == "so3":
        return None
    return read_range(node, "forcerange", "forcelimited", actuator.settings)


_SUPPORTED = ("motor", "dcmotor", *LAW_READERS)
_INPUTS = {"pid": ("pos", "vel", "ff"), "dcmotor": ("none", "voltage", "pos", "vel", "ff")}
_TRANSMISSIONS = ("joint", "jointinparent", "tendon", "cranksite", "site", "body")
_OF_LAWS = ("none", "integrator", "filter", "filterexact", "muscle")  # dynamics that have a counterpart


@dataclass(eq=False)
class MjcfActuator:
    """An actuator that has a counterpart.

    Attributes:
        node: the element, with the attributes of its class.
        settings: how its numbers are to be read.
        name: in the whole model; empty for none.
        drive: the hinge or slide on which it acts, or what else it acts along.
        law: what force it makes.
        gear: of the force, and of position and velocity.
        rotor_inertia: of its own [kg m^2 or kg].
        control_range: within which the control is kept; None if it is not.
        axis: which one of the three of an orientation; the first one has the law.
    """

    node: XmlNode
    settings: MjcfSettings
    name: str
    drive: MjcfJoint | MjcfTransmission
    law: MjcfLaw
    gear: float
    rotor_inertia: float
    control_range: tuple[float, float] | None = None
    axis: int | None = None

    @property
    def has_law(self) -> bool:
        """Whether it is more than a motor or a PD controller: with dynamics or delay, or another gain or bias."""
        if self.axis:
            return False
        if self.law.integral is not None or self.delay() is not None or self.is_early():
            return True
        return self.law.dynamics != "none" or not (self.law.is_motor or self.law.is_servo or self.law.damping_ratio)

    def delay(self) -> ControlDelay | None:
        """How late its control acts."""
        node = self.node
        time, num_samples = node.float_attribute("delay", 0.0), node.float_attribute("nsample", 0.0)
        interpolation = word_of(node, "interp", "zoh", ("zoh", "linear", "cubic"))
        if not time:
            return None
        if time < 0.0 or not 1.0 <= num_samples <= MAX_SAMPLES or num_samples % 1.0:
            raise node.error(
                f"{node.describe()} has the delay {time:g} and nsample {num_samples:g}; expected a positive delay, and "
                f"a whole number of samples from 1 to {MAX_SAMPLES}."
            )
        return ControlDelay(time, interpolation != "zoh", int(num_samples))

    def is_early(self) -> bool:
        """Whether steps use the activation at their end."""
        return word_of(self.node, "actearly", "false", ("false", "true")) == "true"

    @property
    def group(self) -> int:
        """The group whose actuators are switched off together."""
        return int(self.node.float_attribute("group", 0.0))


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
        if actuator.delay() is not None and actuator.node.attributes.get("interp") == "cubic":
            report.add(actuator.node.location, f"<{actuator.node.tag}> interp cubic is linear here")
        if options.allows("clampctrl") and not actuator.axis:
            actuator.control_range = _control_range(actuator)
        squared = actuator.gear**2
        damping = _damping(actuator.node, report)
        if isinstance(actuator.drive, MjcfJoint):
            actuator.drive.rotors += squared * actuator.rotor_inertia
            actuator.drive.damping += squared * damping
            continue
        springs = actuator.drive.springs
        if actuator.rotor_inertia and actuator.drive.kind in _GEARED:
            springs["armature"] = springs.get("armature", 0.0) + squared * actuator.rotor_inertia
        elif actuator.rotor_inertia:
            what = f"<{actuator.node.tag}> armature has no effect: it needs a joint of one velocity or a tendon"
            report.add(actuator.node.location, what)
        springs["damping"] = springs.get("damping", 0.0) + squared * damping
    return actuators


def _read(element: XmlNode, placement: Placement, model: MjcfModel, report: MjcfReport) -> list[MjcfActuator]:
    defaults, names = placement.source.defaults, placement.names
    node = defaults.filled_actuator(element)
    what = f"<{element.tag}>"
    if element.tag not in _SUPPORTED:
        report.add(element.location, f"{what} is left out: it has no counterpart")
        return []
    words = node.attributes.get("input", "").split()
    if any(word not in _INPUTS[element.tag] for word in words) if element.tag in _INPUTS else False:
        raise element.error(f"{what} has the input {' '.join(words)!r}; known are {', '.join(_INPUTS[element.tag])}.")
    if element.tag == "dcmotor" and len(words) > 1:
        report.add(element.location, f"{what} with several inputs is left out: its control here is one of them")
        return []
    found = [name for name in _TRANSMISSIONS if name in node.attributes]
    if not found:
        raise element.error(f"{element.describe()} names no joint, tendon, site, slider-crank or body that it drives.")
    of_sites = {"site": ("refsite",), "cranksite": ("slidersite", "cranklength")}.get(found[0], ())
    others = [name for name in ("refsite", "slidersite", *found[1:]) if name not in of_sites]
    others = [name for name in others if name in node.attributes]
    if others:
        report.add(element.location, f"{what} {', '.join(others)}: no effect, as it acts on a {found[0]}")
    law = read_dc_motor(node) if node.tag == "dcmotor" else read_law((*defaults.actuators(element), element))
    gear = np.array([*node.vector_attribute("gear", tuple(range(1, 7)), [1.0]), *[0.0] * 5])[:6]
    rotor_inertia = node.float_attribute("armature", 0.0)
    if rotor_inertia < 0.0:
        raise element.error(f"{element.describe()} has the armature {rotor_inertia:g}; it cannot be negative.")
    actuators = []
    if law.gain_type == "so3":
        return _orientation_axes(node, found[0], placement, model, law, report)
    for copies, drive in _drives(node, found[0], placement, model, gear):
        name = names.spot.full(node.attributes.get("name", ""), copies)
        is_scaled = drive.kind in _GEARED if isinstance(drive, MjcfTransmission) else drive.is_scalar
        why = _unsupported(law, drive)
        if why:
            report.add(element.location, f"{what} {why}")
            continue
        if isinstance(drive, MjcfTransmission):
            drive.is_used = True
        own_gear = float(gear[0]) if is_scaled else 1.0
        actuators.append(MjcfActuator(node, placement.source.settings, name, drive, law, own_gear, rotor_inertia))
    return actuators


def _orientation_axes(
    node: XmlNode, attribute: str, placement: Placement, model: MjcfModel, law: MjcfLaw, report: MjcfReport
) -> list[MjcfActuator]:
    """The three actuators of each replica of a servo of an orientation."""
    what, is_site = f"<{node.tag}>", attribute == "site" and "refsite" in node.attributes
    if node.attributes.get("input", "expmap") != "expmap":
        report.add(node.location, f"{what} input {node.attributes['input']}: its control here is a rotation vector")
    if law.dynamics not in ("none", "integrator") or law.bias_type != "so3" or node.attributes.get("dampratio"):
        why = f"gaintype so3, biastype {law.bias_type}, dyntype {law.dynamics}"
        why = "a damping ratio; give it kv" if node.attributes.get("dampratio") else why
        report.add(node.location, f"{what} is left out: it has {why}")
        return []
    by_axis: list[list[tuple[Copies, MjcfJoint | MjcfTransmission]]] = []
    for k in range(3):
        gear = np.eye(6)[3 + k] if is_site else np.eye(6)[k]
        by_axis.append(_drives(node, attribute, placement, model, gear))
    actuators = []
    for drives in zip(*by_axis):
        for k, (copies, drive) in enumerate(drives):
            is_ball = attribute == "joint" and isinstance(drive, MjcfTransmission) and drive.kind == "ball"
            if not (is_ball or is_site) or isinstance(drive, MjcfJoint):
                raise node.error(f"{node.describe()} is of no ball joint, and of no site with a refsite.")
            drive.constants = (*drive.constants, 1.0) if is_site else drive.constants
            drive.is_used = True
            name = node.attributes.get("name", "")
            name = placement.names.spot.full(f"{name}_{'xyz'[k]}" if name else "", copies)
            of_axis = law if k == 0 else MjcfLaw()
            actuators.append(MjcfActuator(node, placement.source.settings, name, drive, of_axis, 1.0, 0.0, axis=k))
    return actuators


_PATHS = {"site": "site", "cranksite": "slider-crank", "body": "adhesion"}
_GEARED = ("fixed", "spatial")  # transmissions that actuators share; the others have the gear of theirs


def _drives(
    node: XmlNode, attribute: str, placement: Placement, model: MjcfModel, gear: np.ndarray
) -> list[tuple[Copies, MjcfJoint | MjcfTransmission]]:
    """What an actuator acts on, for each of its replicas."""
    if attribute in _PATHS:
        return [*make_transmission(node, _PATHS[attribute], placement, gear)]
    kind = "tendon" if attribute == "tendon" else "joint"
    found: list[tuple[Copies, MjcfJoint | MjcfTransmission]] = []
    for copies, [thing] in placement.names.combinations(node, [(kind, node.attributes[attribute])]):
        drive = thing if kind == "tendon" else model.joint_of[thing[1]]
        if isinstance(drive, MjcfJoint) and drive.type == "ball":
            constants = float(attribute == "jointinparent"), *map(float, gear[:3])
            drive = FixedTendon(node, "", "ball", constants, coefficients={drive: 1.0})
        elif isinstance(drive, MjcfJoint) and drive.type == "free":
            drive = make_free_force(node, drive.body, gear, attribute == "jointinparent")
        found.append((copies, drive))
    return found


def _control_range(actuator: MjcfActuator) -> tuple[float, float] | None:
    """The least and the largest control: the range of its own, or a share of that of the joint."""
    node, (low, high) = actuator.node, actuator.drive.limits
    share, bounds = node.float_attribute("inheritrange", 0.0), "posrange" if node.tag == "pid" else "ctrlrange"
    if share == 0.0:
        return read_range(node, bounds, "ctrllimited", actuator.settings)
    if share < 0.0 or bounds in node.attributes or not isfinite(high - low):
        raise node.error(
            f"{node.describe()} has inheritrange {share:g}, which must be positive, without a {bounds}, and for a "
            "joint or tendon with a range."
        )
    return 0.5 * (low + high - share * (high - low)), 0.5 * (low + high + share * (high - low))


def _unsupported(law: MjcfLaw, drive: MjcfJoint | MjcfTransmission) -> str:
    """The reason why an actuator is left out; empty if supported."""
    is_muscle = law.gain_type == "muscle" and law.bias_type in ("muscle", "none")
    is_known = is_muscle or (law.gain_type in ("fixed", "affine") and law.bias_type in ("none", "affine"))
    if law.integral is not None and not law.is_servo and not law.damping_ratio:
        return "is left out: it has no gain kp or kv"
    if is_muscle and not isinstance(drive, MjcfJoint) and drive.kind == "adhesion":
        return "of a body is left out: adhesion has no length"
    needs_length = is_muscle or law.gain[1] != 0.0 or law.bias[1] != 0.0
    if needs_length and isinstance(drive, PathTendon) and drive.is_of_free_joint():
        return "of a free joint is left out: it has no length, which the law of the actuator needs"
    if not is_known or law.dynamics not in _OF_LAWS:
        return f"with gaintype {law.gain_type}, biastype {law.bias_type}, dyntype {law.dynamics} is left out"
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
    reference, drives = ReferenceMass(model), [actuator.drive for actuator in actuators]
    for k, drive in enumerate(drives):
        if isfinite(min(map(abs, drive.effort_range))) and drive in drives[:k] and drive not in drives[k + 1 :]:
            node = drive.part.node if isinstance(drive, MjcfJoint) else drive.node
            report.add(node.location, f"<{node.tag}> actuatorfrcrange bounds each of its actuators, not their sum")
    taken = {actuator.name for actuator in actuators if actuator.name}
    places = {(joint.child.model, joint.name): i for i, joint in enumerate(description.joints)}
    ranks = {"motor": 0, "position": 1}
    for actuator in sorted(actuators, key=lambda each: ranks.get(each.node.tag, 2)):
        low, high = _effort_range(actuator)
        limit = max(-low, high)
        if limit == 0.0 or low == high:
            what = "without force" if limit == 0.0 else "with a force that never changes"
            report.add(actuator.node.location, f"<{actuator.node.tag}> {what} is left out")
            continue
        name = actuator.name or unique_name(f"motor{len(description.actuators)}", taken)
        is_joint = isinstance(actuator.drive, MjcfJoint)
        rotor = actuator.rotor_inertia if is_joint else 0.0
        if actuator.gear and is_joint:
            place = places[model.name, actuator.drive.name]
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
                actuator.drive.name,
                actuator.node.location,
                effort_limit=limit,
                effort_range=None if -low == high else (low, high),
                desired_position=None if gains is None else _desired_position(actuator, report),
                rotor_inertia=rotor,
                gear_ratio=actuator.gear or 1.0,
                controller_gains=gains,
                is_along_transmission=not is_joint,
                law=_law(actuator) if actuator.has_law else None,
            )
        )


def _gains(actuator: MjcfActuator, reference: ReferenceMass, report: MjcfReport) -> tuple[float, float] | None:
    """p and d of the PD controller; None for a motor."""
    law = actuator.law
    if not law.is_servo and not (law.is_affine and law.damping_ratio):
        return None
    stiffness, damping = abs(law.bias[1]), abs(law.bias[2])  # neither is positive
    if law.damping_ratio > 0.0 and actuator.gear:
        mass = _effective_mass(actuator, reference, report) / actuator.gear**2
        damping = 2.0 * law.damping_ratio * sqrt(stiffness * mass)
    return stiffness * actuator.gear**2, damping * actuator.gear**2


def _law(actuator: MjcfActuator) -> ActuatorLaw:
    """The law of an actuator of the plant."""
    law, node, inf_range = actuator.law, actuator.node, (-inf, inf)
    muscle = _muscle_curves(actuator) if law.gain_type == "muscle" else None
    given: dict[str, Any] = {"control_range": actuator.control_range or inf_range, "gear": actuator.gear}
    if law.is_servo or law.damping_ratio:  # whose desired position is limited and scaled already
        given = {}
    given |= {"delay": actuator.delay(), "is_early": actuator.is_early()}
    if law.integral is not None and actuator.gear:
        of, gear = law.integral, abs(actuator.gear)
        given["form"] = ServoIntegral(of.gain * gear**2, of.limit / gear, of.rate_limit / gear)
    elif law.motor is not None:
        given["form"] = law.motor
    elif law.gain_type == "so3":
        high = (read_range(node, "forcerange", "forcelimited", actuator.settings) or (0.0, inf))[1]
        if not high > 0.0:
            raise node.error(f"{node.describe()} has the largest torque {high:g}; it must be positive.")
        given["form"] = OrientationServo(law.gain[0], -law.bias[2], high, law.bias[0])
    limits = read_range(node, "actrange", "actlimited", actuator.settings)
    scale = law.gain[0] / -law.bias[1] if law.is_servo and law.bias[1] else 1.0
    times = law.dynamics_parameters[:3] if law.dynamics == "muscle" else law.dynamics_parameters[:1]
    if law.dynamics in ("none", "integrator"):
        times = ()
    elif not all(time > 0.0 for time in times[:2]):
        named = ", ".join(f"{time:g}" for time in times)
        raise node.error(f"{node.describe()} has the time constants {named}; expected positive ones.")
    gain: Any = law.gain[:3] if law.gain_type == "affine" else (law.gain[0], 0.0, 0.0)
    lowest, highest = inf_range if limits is None else sorted(scale * bound for bound in limits)
    return ActuatorLaw(law.dynamics, times, gain, law.coefficients, muscle, activation_range=(lowest, highest), **given)


def _muscle_curves(actuator: MjcfActuator) -> MuscleCurves:
    """The curves of a muscle; what the file leaves open, the plant computes."""
    law, node = actuator.law, actuator.node
    low, high, force, scale, l_min, l_max, v_max, fp_max, fv_max = law.gain[:9]
    lengths = node.vector_attribute("lengthrange", 2, [0.0, 0.0]).tolist()
    given = (lengths[0], lengths[1]) if lengths[0] < lengths[1] else None
    passive = fp_max if law.bias_type == "muscle" else 0.0
    of_curves = (low, high), l_min, l_max, v_max, passive, fv_max, scale
    with located(node.location):
        return MuscleCurves(None if force < 0.0 else force, given, *of_curves)


def _effective_mass(actuator: MjcfActuator, reference: ReferenceMass, report: MjcfReport) -> float:
    """What an actuator moves in the configuration of the file [kg m^2 or kg]."""
    if isinstance(actuator.drive, FixedTendon) and actuator.drive.kind == "fixed":
        return reference.effective_along(actuator.drive.coefficients)
    if isinstance(actuator.drive, MjcfJoint):
        return reference.effective(actuator.drive)
    what = f"<{actuator.node.tag}> dampratio has no effect: it is of joints and fixed tendons"
    report.add(actuator.node.location, what)
    return 0.0


def _desired_position(actuator: MjcfActuator, report: MjcfReport) -> tuple[float, float, float, float] | None:
    """The input map of a PD controller's desired position, see JointActuator; None without one."""
    law, gear, node = actuator.law, actuator.gear, actuator.node
    if actuator.has_law and not law.is_servo:
        return None
    stiffness, control = -law.bias[1], actuator.control_range
    if stiffness == 0.0 or gear == 0.0:
        if not law.is_velocity_servo:
            report.add(node.location, f"<{node.tag}> is a controller whose desired speed is for its user to compute")
        elif control:
            report.add(node.location, f"<{node.tag}> ctrlrange: the desired speed of a controller is not clamped")
        return (-inf, inf, 1.0, gear * law.bias[0]) if law.bias[0] and gear else None
    low, high = sorted(bound / gear for bound in control) if control else (-inf, inf)
    scale = law.gain[0] / stiffness
    if scale and isinstance(actuator.drive, MjcfTransmission):
        low, high, scale = *sorted((scale * low, scale * high)), 1.0
    found = low, high, scale, gear * law.bias[0]
    return None if found == (-inf, inf, 1.0, 0.0) else found


def _effort_range(actuator: MjcfActuator) -> tuple[float, float]:
    """The lowest and the highest force on the joint, of the ranges of control and force, and of forces on the joint."""
    ranges = [actuator.drive.effort_range]
    force = _force_range(actuator)
    control = actuator.control_range if actuator.law.is_motor else None
    for factor, given in ((actuator.gear, force), (actuator.gear * actuator.law.gain[0], control)):
        if given:
            low, high = sorted(factor * bound for bound in given) if factor else (0.0, 0.0)
            ranges.append((low, high))
    # If ranges do not overlap, the last one counts.
    low, high = -inf, inf
    for first, last in reversed(ranges):
        low, high = min(max(low, first), last), max(min(high, last), first)
    return low, high
