"""Actuators of MJCF files on joints, tendons, sites and slider-cranks.

The force on a joint, or along a tendon, is gear (gain u + bias), with the bias b0 + b1 gear q + b2 gear v. Without bias
it is a motor: the actuation of the plant is the force itself. With b1, b2 <= 0 it is a PD controller of the plant, with
the gains -b1 gear^2 and -b2 gear^2, and the constant effort gear b0. With b1 < 0, its desired position is u / gear,
which is cut off at ctrlrange, times gain / -b1; along a tendon the desired state has that length itself. With
b1 = 0 < -b2, its desired velocity is gain u / (-b2 gear), which has no limits. A `<pid>` is such a controller, too, and
a `<dcmotor>` whose control is the voltage u a law, with the motor constant K and the resistance R:

    force = gear K / R (u - K gear v)

The force of an actuator of an MJCF file, from its class and its element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, pi, sqrt
from typing import Any

import numpy as np

from merganser.multibody.parsing.description import ActuatorDescription, ModelDescription
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.mjcf.bodies import MjcfModel, ReferenceMass
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.names import Copies, unique_name
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.mjcf.source import ACTUATOR_TAGS
from merganser.multibody.parsing.mjcf.tendon import FixedTendon, MjcfTransmission, make_transmission
from merganser.multibody.parsing.mjcf.tree import MjcfTree, Placement
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import ActuatorLaw, MuscleCurves

_GAINS = ("fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user")
_BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
_DYNAMICS = ("none", "integrator", "filter", "filterexact", "pid", "dcmotor", "muscle", "user")
_MAX_PARAMETERS = 10


@dataclass(frozen=True)
class MjcfLaw:
    """The force gain u + b0 + b1 length + b2 speed by the control u, or that of a muscle.

    Attributes:
        gain_type, bias_type, dynamics: as MJCF calls them.
        gain: of the control, and what length and speed add to it; of a muscle range, force, scale, lmin, lmax, vmax,
            fpmax and fvmax.
        bias: b0, b1, b2.
        dynamics_parameters: time constants.
        damping_ratio: from which b2 follows, if positive.
    """

    gain_type: str = "fixed"
    bias_type: str = "none"
    dynamics: str = "none"
    gain: tuple[float, ...] = (1.0, *[0.0] * 9)
    bias: tuple[float, ...] = (0.0,) * 10
    dynamics_parameters: tuple[float, ...] = (1.0, *[0.0] * 9)
    damping_ratio: float = 0.0

    @property
    def is_affine(self) -> bool:
        """Whether gain and bias have constant coefficients."""
        has_constant_gain = self.gain_type == "fixed" or (self.gain_type == "affine" and not any(self.gain[1:3]))
        return has_constant_gain and self.bias_type in ("none", "affine")

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """b0, b1, b2."""
        b_0, b_1, b_2 = self.bias[:3] if self.bias_type == "affine" else (0.0, 0.0, 0.0)
        return b_0, b_1, b_2

    @property
    def is_motor(self) -> bool:
        """Whether the force is that of the control alone."""
        has_bias = any(self.coefficients) or (self.bias_type == "affine" and self.damping_ratio)
        return self.is_affine and self.dynamics == "none" and not has_bias

    @property
    def is_servo(self) -> bool:
        """Whether it is a PD controller, which does not push away from where it is to be."""
        _, b_1, b_2 = self.coefficients
        return self.is_affine and b_1 <= 0.0 and b_2 <= 0.0 and bool(b_1 or b_2)

    @property
    def is_position_servo(self) -> bool:
        """Whether it drives the length to the control."""
        return self.gain_type == "fixed" and self.bias_type == "affine" and self.gain[0] == -self.bias[1] != 0.0

    @property
    def is_velocity_servo(self) -> bool:
        """Whether it drives the speed to the control."""
        return (
            self.gain_type == "fixed"
            and self.bias_type == "affine"
            and self.bias[1] == 0.0
            and self.gain[0] == -self.bias[2] != 0.0
        )


def read_law(steps: Iterable[XmlNode]) -> MjcfLaw:
    """The law after the actuator elements of a class and the element itself, each of which changes it.

    Raises:
        ParsingError: a type or number is wrong.
    """
    law = MjcfLaw()
    for node in steps:
        law = _READERS[node.tag](node, law) if node.tag in _READERS else MjcfLaw()
    return law


def _general(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    return replace(
        law,
        gain_type=_type(node, "gaintype", law.gain_type, _GAINS),
        bias_type=_type(node, "biastype", law.bias_type, _BIASES),
        dynamics=_type(node, "dyntype", law.dynamics, _DYNAMICS),
        gain=_parameters(node, "gainprm", law.gain),
        bias=_parameters(node, "biasprm", law.bias),
        dynamics_parameters=_parameters(node, "dynprm", law.dynamics_parameters),
        damping_ratio=0.0 if "biasprm" in node.attributes else law.damping_ratio,
    )


def _position(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A servo of stiffness kp, and of damping kv, or of a damping ratio."""
    if not law.is_position_servo:
        law = MjcfLaw("fixed", "affine", gain=_padded(1.0), bias=_padded(0.0, -1.0))
    kp = node.float_attribute("kp", law.gain[0])
    kv, ratio = -law.bias[2], law.damping_ratio
    if "kv" in node.attributes and "dampratio" in node.attributes:
        raise node.error(f"{node.describe()} has both 'kv' and 'dampratio'; expected one of them.")
    if "kv" in node.attributes:
        kv, ratio = node.float_attribute("kv"), 0.0
    elif "dampratio" in node.attributes:
        kv, ratio = 0.0, node.float_attribute("dampratio")
    _check_positive(node, kp=kp, kv=kv, dampratio=ratio)
    time = node.float_attribute("timeconst", 0.0)
    dynamics, parameters = ("filterexact", _padded(time)) if time > 0.0 else (law.dynamics, law.dynamics_parameters)
    return MjcfLaw("fixed", "affine", dynamics, _padded(kp), _padded(0.0, -kp, -kv), parameters, ratio)


def _integrated_velocity(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A position servo of the integral of the control."""
    return replace(_position(node, law), dynamics="integrator")


def _velocity(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A servo of damping kv."""
    kv = node.float_attribute("kv", law.gain[0] if law.is_velocity_servo else 1.0)
    _check_positive(node, kv=kv)
    return MjcfLaw("fixed", "affine", gain=_padded(kv), bias=_padded(0.0, 0.0, -kv))


def _damper(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A damper of kv times the control."""
    kv = node.float_attribute("kv", -law.gain[2] if law.gain_type == "affine" else 1.0)
    _check_positive(node, kv=kv)
    return MjcfLaw("affine", gain=_padded(0.0, 0.0, -kv))


def _cylinder(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A cylinder whose pressure follows the control."""
    area, time = node.float_attribute("area", 1.0), node.float_attribute("timeconst", 1.0)
    if "diameter" in node.attributes:
        area = 0.25 * pi * node.float_attribute("diameter") ** 2
    bias = node.vector_attribute("bias", 3, [0.0, 0.0, 0.0])
    return MjcfLaw("fixed", "affine", "filter", _padded(area), _padded(*bias), _padded(time))


def _muscle(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A muscle; what a class says of one stays."""
    before = law.gain[:9] if law.gain_type == "muscle" else _MUSCLE
    times = law.dynamics_parameters[:3] if law.gain_type == "muscle" else (0.01, 0.04, 0.0)
    low, high = node.vector_attribute("range", 2, list(before[:2]))
    others = [node.float_attribute(name, value) for name, value in zip(_OF_MUSCLE, before[2:])]
    rise, fall = node.vector_attribute("timeconst", 2, list(times[:2]))
    dynamics = _padded(rise, fall, node.float_attribute("tausmooth", times[2]))
    gain = _padded(low, high, *others)
    return MjcfLaw("muscle", "muscle", "muscle", gain, gain, dynamics)


_OF_MUSCLE = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
_MUSCLE = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
_READERS: dict[str, Callable[[XmlNode, MjcfLaw], MjcfLaw]] = {
    "general": _general, "position": _position, "intvelocity": _integrated_velocity, "velocity": _velocity,
    "damper": _damper, "cylinder": _cylinder, "muscle": _muscle, "pid": _position,
}  # fmt: skip
_VOLTAGE = "voltage"  # the gain of a DC motor; no file can name it
_WITHOUT_COUNTERPART = {  # numbers that are zero where there is one
    "pid": ("ki", "slewmax"), "dcmotor": ("inductance", "cogging", "lugre", "thermal", "controller"),
}  # fmt: skip


def _dc_motor(node: XmlNode) -> MjcfLaw:
    """The law of a motor that is driven by a voltage, from its constant and resistance or its nominal numbers.

    Raises:
        ParsingError: one of these is missing or not positive.
    """
    volts, stall_torque, free_speed = node.vector_attribute("nominal", 3, [0.0] * 3).tolist()
    constants = node.vector_attribute("motorconst", (1, 2), [volts / free_speed if free_speed else 0.0])
    K = sqrt(max(float(constants[0] * constants[-1]), 0.0))  # of torque and of voltage, in this order
    R = node.float_attribute("resistance", K * volts / stall_torque if stall_torque else 0.0)
    if not (K > 0.0 and R > 0.0):
        found = f"the motor constant {K:g} and resistance {R:g}"
        raise node.error(f"{node.describe()} has {found}; expected positive ones.")
    return MjcfLaw(_VOLTAGE, "affine", gain=_padded(K / R), bias=_padded(0.0, 0.0, -K * K / R))


def _force_range(actuator: MjcfActuator) -> tuple[float, float] | None:
    """The range of the force; of a DC motor that of its torque, or of its current."""
    node = actuator.node
    if node.tag != "dcmotor":
        return read_range(node, "forcerange", "forcelimited", actuator.settings)
    torque, current, _ = (*node.vector_attribute("saturation", (1, 2, 3), [0.0]), 0.0, 0.0)[:3]
    limit = float(torque or current * -actuator.law.bias[2] / actuator.law.gain[0])  # K, see above
    return (-limit, limit) if limit > 0.0 else None


def _check_positive(node: XmlNode, **numbers: float) -> None:
    for name, value in numbers.items():
        if value < 0.0:
            raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}; it cannot be negative.")


def _padded(*numbers: float) -> tuple[float, ...]:
    return (*map(float, numbers), *[0.0] * _MAX_PARAMETERS)[:_MAX_PARAMETERS]


def _type(node: XmlNode, name: str, default: str, known: tuple[str, ...]) -> str:
    return node.expect_one_of(node.attributes.get(name, default), known, f"value of attribute '{name}'")


def _parameters(node: XmlNode, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Up to ten parameters; those that are not there keep their values."""
    if name not in node.attributes:
        return default
    given = node.vector_attribute(name, tuple(range(1, _MAX_PARAMETERS + 1)))
    return (*map(float, given), *default[len(given) :])


_SUPPORTED = ("motor", "dcmotor", *_READERS)
_TRANSMISSIONS = ("joint", "jointinparent", "tendon", "cranksite", "site")
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
    """

    node: XmlNode
    settings: MjcfSettings
    name: str
    drive: MjcfJoint | MjcfTransmission
    law: MjcfLaw
    gear: float
    rotor_inertia: float
    control_range: tuple[float, float] | None = None

    @property
    def has_law(self) -> bool:
        """Whether it is more than a motor or a PD controller: with dynamics, or another gain or bias."""
        return self.law.dynamics != "none" or not (self.law.is_motor or self.law.is_servo or self.law.damping_ratio)

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
        actuator.control_range = _control_range(actuator) if options.allows("clampctrl") else None
        squared = actuator.gear**2
        damping = _damping(actuator.node, report)
        if isinstance(actuator.drive, MjcfJoint):
            actuator.drive.rotors += squared * actuator.rotor_inertia
            actuator.drive.damping += squared * damping
            continue
        if actuator.rotor_inertia:
            what = f"<{actuator.node.tag}> armature has no effect: transmissions have no inertia of their own"
            report.add(actuator.node.location, what)
        springs = actuator.drive.springs
        springs["damping"] = springs.get("damping", 0.0) + squared * damping
    return actuators


def _read(element: XmlNode, placement: Placement, model: MjcfModel, report: MjcfReport) -> list[MjcfActuator]:
    defaults, names = placement.source.defaults, placement.names
    node = defaults.filled_actuator(element)
    what = f"<{element.tag}>"
    named = [name for name in _WITHOUT_COUNTERPART.get(element.tag, ()) if node.attributes.get(name, "").strip("0. ")]
    if element.tag not in _SUPPORTED or named:
        which = f"{what} with {', '.join(named)}" if named else what
        report.add(element.location, f"{which} is left out: it has no counterpart")
        return []
    found = [name for name in _TRANSMISSIONS if name in node.attributes]
    if not found:
        if "body" in node.attributes:
            report.add(element.location, f"{what} of a body is left out: there is no adhesion")
            return []
        raise element.error(f"{element.describe()} names no joint, tendon, site or slider-crank that it drives.")
    of_sites = {"site": ("refsite",), "cranksite": ("slidersite", "cranklength")}.get(found[0], ())
    others = [name for name in ("body", "refsite", "slidersite", *found[1:]) if name not in of_sites]
    others = [name for name in others if name in node.attributes]
    if others:
        report.add(element.location, f"{what} {', '.join(others)}: no effect, as it acts on a {found[0]}")
    law = _dc_motor(node) if node.tag == "dcmotor" else read_law((*defaults.actuators(element), element))
    gear = np.array([*node.vector_attribute("gear", tuple(range(1, 7)), [1.0]), *[0.0] * 5])[:6]
    rotor_inertia = node.float_attribute("armature", 0.0)
    if rotor_inertia < 0.0:
        raise element.error(f"{element.describe()} has the armature {rotor_inertia:g}; it cannot be negative.")
    actuators = []
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


_GEARED = ("fixed", "spatial")  # transmissions that actuators share; the others have the gear of theirs


def _drives(
    node: XmlNode, attribute: str, placement: Placement, model: MjcfModel, gear: np.ndarray
) -> list[tuple[Copies, MjcfJoint | MjcfTransmission]]:
    """What an actuator acts on, for each of its replicas."""
    if attribute in ("site", "cranksite"):
        return [*make_transmission(node, "site" if attribute == "site" else "slider-crank", placement, gear)]
    kind = "tendon" if attribute == "tendon" else "joint"
    found: list[tuple[Copies, MjcfJoint | MjcfTransmission]] = []
    for copies, [thing] in placement.names.combinations(node, [(kind, node.attributes[attribute])]):
        drive = thing if kind == "tendon" else model.joint_of[thing[1]]
        if isinstance(drive, MjcfJoint) and drive.type == "ball":
            constants = float(attribute == "jointinparent"), *map(float, gear[:3])
            drive = FixedTendon(node, "", "ball", constants, coefficients={drive: 1.0})
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
    if isinstance(drive, MjcfJoint) and not drive.is_scalar:
        return f"of a {drive.type} joint is left out: actuators act on hinges, slides and balls"
    is_muscle = law.gain_type == "muscle" and law.bias_type in ("muscle", "none")
    is_known = is_muscle or (law.gain_type in ("fixed", "affine", _VOLTAGE) and law.bias_type in ("none", "affine"))
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
    reference = ReferenceMass(model)
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
    if law.is_servo:  # whose desired position is limited and scaled already
        given = {}
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
