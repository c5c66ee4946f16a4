"""What force an actuator of an MJCF file makes, from its class and its element."""

from __future__ import annotations

__all__ = ["ActuatorLaw", "read_law"]

from collections.abc import Iterable
from dataclasses import dataclass, replace

from merganser.multibody.parsing.xml_reader import XmlNode

_GAINS = ("fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user")
_BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
_DYNAMICS = ("none", "integrator", "filter", "filterexact", "pid", "dcmotor", "muscle", "user")
_MAX_PARAMETERS = 10


@dataclass(frozen=True)
class ActuatorLaw:
    """The force gain u + b0 + b1 length + b2 speed by the control u.

    Attributes:
        gain_type, bias_type, dynamics: as MJCF calls them.
        gain: of the control, and what length and speed add to it.
        bias: b0, b1, b2.
        damping_ratio: from which b2 follows, if positive.
    """

    gain_type: str = "fixed"
    bias_type: str = "none"
    dynamics: str = "none"
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    damping_ratio: float = 0.0

    @property
    def is_affine(self) -> bool:
        """Whether gain and bias have constant coefficients."""
        has_constant_gain = self.gain_type == "fixed" or (self.gain_type == "affine" and not any(self.gain[1:]))
        return has_constant_gain and self.bias_type in ("none", "affine")

    @property
    def is_motor(self) -> bool:
        """Whether the force is that of the control alone."""
        return self.bias_type == "none" or not (any(self.bias) or self.damping_ratio)

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


def read_law(steps: Iterable[XmlNode]) -> ActuatorLaw:
    """The law after the actuator elements of a class and the element itself, each of which changes it.

    Raises:
        ParsingError: a type or number is wrong.
    """
    law = ActuatorLaw()
    for node in steps:
        match node.tag:
            case "general":
                law = _general(node, law)
            case "position":
                law = _position(node, law)
            case "velocity":
                law = _velocity(node, law)
            case _:
                law = ActuatorLaw()
    return law


def _general(node: XmlNode, law: ActuatorLaw) -> ActuatorLaw:
    gain, bias = _parameters(node, "gainprm", law.gain), _parameters(node, "biasprm", law.bias)
    return replace(
        law,
        gain_type=_type(node, "gaintype", law.gain_type, _GAINS),
        bias_type=_type(node, "biastype", law.bias_type, _BIASES),
        dynamics=_type(node, "dyntype", law.dynamics, _DYNAMICS),
        gain=gain,
        bias=bias,
        damping_ratio=0.0 if "biasprm" in node.attributes else law.damping_ratio,
    )


def _position(node: XmlNode, law: ActuatorLaw) -> ActuatorLaw:
    """A servo of stiffness kp, and of damping kv, or of a damping ratio."""
    if not law.is_position_servo:
        law = ActuatorLaw("fixed", "affine", gain=(1.0, 0.0, 0.0), bias=(0.0, -1.0, 0.0))
    kp = node.float_attribute("kp", law.gain[0])
    kv, ratio = -law.bias[2], law.damping_ratio
    if "kv" in node.attributes and "dampratio" in node.attributes:
        raise node.error(f"{node.describe()} has both 'kv' and 'dampratio'; expected one of them.")
    if "kv" in node.attributes:
        kv, ratio = node.float_attribute("kv"), 0.0
    elif "dampratio" in node.attributes:
        kv, ratio = 0.0, node.float_attribute("dampratio")
    for name, value in (("kp", kp), ("kv", kv), ("dampratio", ratio)):
        if value < 0.0:
            raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}; it cannot be negative.")
    has_filter = node.float_attribute("timeconst", 0.0) > 0.0
    dynamics = "filterexact" if has_filter else law.dynamics
    return ActuatorLaw("fixed", "affine", dynamics, (kp, 0.0, 0.0), (0.0, -kp, -kv), ratio)


def _velocity(node: XmlNode, law: ActuatorLaw) -> ActuatorLaw:
    """A servo of damping kv."""
    kv = node.float_attribute("kv", law.gain[0] if law.is_velocity_servo else 1.0)
    if kv < 0.0:
        raise node.error(f"attribute 'kv' of {node.describe()} is {kv:g}; it cannot be negative.")
    return ActuatorLaw("fixed", "affine", gain=(kv, 0.0, 0.0), bias=(0.0, 0.0, -kv))


def _type(node: XmlNode, name: str, default: str, known: tuple[str, ...]) -> str:
    return node.expect_one_of(node.attributes.get(name, default), known, f"value of attribute '{name}'")


def _parameters(node: XmlNode, name: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
    """The first three of up to ten parameters; those that are not there keep their values."""
    if name not in node.attributes:
        return default
    given = node.vector_attribute(name, tuple(range(1, _MAX_PARAMETERS + 1)))[:3]
    first, second, third = (*map(float, given), *default[len(given) :])
    return first, second, third
