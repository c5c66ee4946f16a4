"""Forces of actuators of MJCF files, from their classes and their elements.

The force on a joint, or along a tendon, is gear (gain u + bias), with the bias b0 + b1 gear q + b2 gear v; that of a
muscle, of a motor that is driven by a voltage, and the torque of a servo of an orientation have kinds of their own
(multibody/kernels/laws).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf, pi, sqrt

from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import DcMotor, ServoIntegral

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
        integral: of a PD controller.
        motor: in place of gain and bias.
    """

    gain_type: str = "fixed"
    bias_type: str = "none"
    dynamics: str = "none"
    gain: tuple[float, ...] = (1.0, *[0.0] * 9)
    bias: tuple[float, ...] = (0.0,) * 10
    dynamics_parameters: tuple[float, ...] = (1.0, *[0.0] * 9)
    damping_ratio: float = 0.0
    integral: ServoIntegral | None = None
    motor: DcMotor | None = None

    @property
    def is_affine(self) -> bool:
        """Whether gain and bias have constant coefficients."""
        if self.motor is not None:
            return False
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
        law = LAW_READERS[node.tag](node, law) if node.tag in LAW_READERS else MjcfLaw()
    return law


def _general(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    return replace(
        law,
        gain_type=word_of(node, "gaintype", law.gain_type, _GAINS),
        bias_type=word_of(node, "biastype", law.bias_type, _BIASES),
        dynamics=word_of(node, "dyntype", law.dynamics, _DYNAMICS),
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


def _pid(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A position servo with an integral of its error, and a limit of the rate of its setpoint."""
    before = law.integral or ServoIntegral()
    gain = node.float_attribute("ki", before.gain)
    limit, rate = node.float_attribute("imax", before.limit), node.float_attribute("slewmax", before.rate_limit)
    _check_positive(node, ki=gain, imax=limit, slewmax=rate)
    integral = ServoIntegral(gain, limit, rate) if gain or rate else None
    return replace(_position(node, replace(law, integral=None)), integral=integral)


def _orientation(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A servo of a rotation vector."""
    before = (law.gain[0], -law.bias[2]) if law.gain_type == "so3" else (1.0, 0.0)
    kp, kv = (node.float_attribute(name, value) for name, value in zip(("kp", "kv"), before))
    _check_positive(node, kp=kp, kv=kv)
    return MjcfLaw("so3", "so3", gain=_padded(kp), bias=_padded(0.0, -kp, -kv))


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


def _adhesion(node: XmlNode, law: MjcfLaw) -> MjcfLaw:
    """A pull of a gain times the control."""
    gain = node.float_attribute("gain", law.gain[0])
    _check_positive(node, gain=gain)
    return MjcfLaw(gain=_padded(gain))


_OF_MUSCLE = ("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax")
_MUSCLE = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
LAW_READERS: dict[str, Callable[[XmlNode, MjcfLaw], MjcfLaw]] = {
    "general": _general, "position": _position, "intvelocity": _integrated_velocity, "velocity": _velocity,
    "damper": _damper, "cylinder": _cylinder, "muscle": _muscle, "pid": _pid, "orientation": _orientation,
    "adhesion": _adhesion,
}  # fmt: skip


def read_dc_motor(node: XmlNode) -> MjcfLaw:
    """The law of a motor, from its constant and resistance or its nominal numbers.

    Raises:
        ParsingError: one of these is missing or not positive, or another number is not admissible.
    """

    def numbers(name: str, count: int) -> list[float]:
        given = node.vector_attribute(name, tuple(range(1, count + 1)), [0.0])
        return [*map(float, given), *[0.0] * count][:count]

    words = node.attributes.get("input", "voltage").split()
    control = None if words == ["none"] else words[0] if words else "voltage"
    K, R = _motor_constants(node, numbers)
    if not (R > 0.0 and (K > 0.0 or (control is None and K == 0.0))):
        found = f"the motor constant {K:g} and resistance {R:g}"
        raise node.error(f"{node.describe()} has {found}; expected positive ones.")
    torque, current, current_rate = numbers("saturation", 3)
    inductance, electrical_time = numbers("inductance", 2)
    heat_resistance, capacity, heat_time, coefficient, reference, ambient = numbers("thermal", 6)
    if heat_time > 0.0 and heat_resistance > 0.0 and capacity == 0.0:
        capacity = heat_time / heat_resistance
    elif heat_time > 0.0 and capacity > 0.0 and heat_resistance == 0.0:
        heat_resistance = heat_time / capacity
    if (heat_time or capacity) and heat_resistance == 0.0:
        raise node.error(f"attribute 'thermal' of {node.describe()} has no resistance; give it two of its first three.")
    kp, ki, kd, setpoint_rate, integral_limit, voltage_limit = numbers("controller", 6)
    amplitude, periods, phase = numbers("cogging", 3)
    stiffness, damping, coulomb, static, stribeck = numbers("lugre", 5)
    with located(node.location):
        motor = DcMotor(
            K, R, torque or current * K or inf, inductance / R or electrical_time, current_rate,
            heat_resistance, capacity, coefficient, ambient - reference, (amplitude, periods, phase),
            (stiffness, damping, coulomb, static, stribeck), (kp, ki, kd), setpoint_rate, integral_limit,
            voltage_limit, control,
        )  # fmt: skip
    return MjcfLaw(motor=motor)


def _motor_constants(node: XmlNode, numbers: Callable[[str, int], list[float]]) -> tuple[float, float]:
    """The constant K and the resistance R of a motor; a nominal speed is that with its damping B."""
    (K_t, K_e), (volts, stall_torque, free_speed) = numbers("motorconst", 2), numbers("nominal", 3)
    R, B = node.float_attribute("resistance", 0.0), numbers("damping", 3)[0]
    if volts > 0.0 and K_e <= 0.0 and free_speed > 0.0:
        K_e = volts / free_speed
        square = volts**2 - 4.0 * R * B * free_speed**2
        if B > 0.0 and R > 0.0 and square > 0.0:  # free_speed K_e^2 - volts K_e + R B free_speed = 0
            K_e = (volts + sqrt(square)) / (2.0 * free_speed)
        elif B > 0.0 and R <= 0.0 and stall_torque > volts * B * free_speed / volts:
            K_e -= volts * B / stall_torque
    K = sqrt(K_t * K_e) if K_t > 0.0 and K_e > 0.0 else max(K_t, K_e)
    return K, R or (K * volts / stall_torque if stall_torque > 0.0 else 0.0)


def _check_positive(node: XmlNode, **numbers: float) -> None:
    for name, value in numbers.items():
        if value < 0.0:
            raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}; it cannot be negative.")


def _padded(*numbers: float) -> tuple[float, ...]:
    return (*map(float, numbers), *[0.0] * _MAX_PARAMETERS)[:_MAX_PARAMETERS]


MAX_SAMPLES = 10_000  # that wait in a delay


def word_of(node: XmlNode, name: str, default: str, known: tuple[str, ...]) -> str:
    return node.expect_one_of(node.attributes.get(name, default), known, f"value of attribute '{name}'")


def _parameters(node: XmlNode, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    """Up to ten parameters; those that are not there keep their values."""
    if name not in node.attributes:
        return default
    given = node.vector_attribute(name, tuple(range(1, _MAX_PARAMETERS + 1)))
    return (*map(float, given), *default[len(given) :])
