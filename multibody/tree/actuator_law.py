"""Laws of actuators that are more than a force or a PD controller: activation, gain and bias, muscles and motors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.multibody.kernels import laws
from merganser.multibody.kernels.laws import dc_motor, records

_DYNAMICS = {
    "none": records.NO_DYNAMICS, "integrator": records.INTEGRATOR, "filter": records.FILTER,
    "filterexact": records.EXACT_FILTER, "muscle": records.MUSCLE_DYNAMICS,
}  # fmt: skip
_MAX_DELAYED = 10_000  # time steps
_INPUTS = {
    None: dc_motor.NO_INPUT, "voltage": dc_motor.VOLTAGE, "pos": dc_motor.LENGTH, "vel": dc_motor.SPEED,
    "ff": dc_motor.TORQUE,
}  # fmt: skip


@dataclass(frozen=True)
class LawForm:
    """What a kind of actuator law needs, of this package or of your own.

    Attributes:
        kind: one function, see multibody/kernels/laws/kind.py.
        constants: up to 24 numbers.
        num_states: of it, in place of what `dynamics` of the ActuatorLaw says.
    """

    kind: laws.ActuatorLawKind
    constants: tuple[float, ...] = ()
    num_states: int = 0


@dataclass(frozen=True)
class MuscleCurves:
    """The force of a muscle by its length and speed, see kernels/laws/muscle.py.

    Attributes:
        peak_force: F, of the muscle at its optimal length, not negative [N]; None for `scale` over the norm of the
            generalized accelerations that a force of 1 gives in the default configuration.
        length_range: the lowest and highest length of the transmission, times the gear [m]; None for those that it has
            where all joints are within their limits.
        operating_range: those lengths over the optimal one.
        l_min, l_max: lengths over the optimal one beyond which it has no active force; l_min < 1 < l_max.
        v_max: speed of shortening, in optimal lengths a second, at which it has no active force.
        fp_max: passive force at l_max, over the peak force.
        fv_max: active force when it lengthens fast, over the peak force; 1 or more.
        scale: for the peak force [m/s^2].
    """

    peak_force: float | None = None
    length_range: tuple[float, float] | None = None
    operating_range: tuple[float, float] = (0.75, 1.05)
    l_min: float = 0.5
    l_max: float = 1.6
    v_max: float = 1.5
    fp_max: float = 1.3
    fv_max: float = 1.2
    scale: float = 200.0

    def __post_init__(self) -> None:
        """Refuses numbers that are no muscle."""
        lengths, force = self.length_range or (0.0, 1.0), 0.0 if self.peak_force is None else self.peak_force
        ranges = *lengths, *self.operating_range, force, self.fp_max, self.v_max, self.scale
        is_valid = np.isfinite(ranges).all() and lengths[0] < lengths[1] and self.scale >= 0.0
        is_valid = is_valid and self.operating_range[0] < self.operating_range[1] and self.l_min < 1.0 < self.l_max
        if not (is_valid and force >= 0.0 and self.v_max > 0.0 and 1.0 <= self.fv_max < math.inf):
            raise ValueError(
                f"{self} is no muscle: ranges must be in order, l_min < 1 < l_max, v_max positive, fv_max 1 or "
                "more, and the peak force not negative."
            )

    def form(self) -> LawForm:
        """Its kind and constants; the peak force is negative, and lengths are NaN, until Finalize() finds them."""
        peak = -self.scale if self.peak_force is None else self.peak_force
        lengths = self.length_range or (math.nan, math.nan)
        curves = self.l_min, self.l_max, self.v_max, self.fp_max, self.fv_max
        return LawForm(laws.MUSCLE, (peak, *lengths, *self.operating_range, *curves))


@dataclass(frozen=True)
class DcMotor:
    """A brushed motor, see kernels/laws/dc_motor.py; numbers that are 0 leave out what they are of.

    Attributes:
        constant: torque by current, and voltage by speed [N m/A or V s/rad].
        resistance: of the windings [Ohm].
        torque_limit: of current times constant [N m].
        electrical_time: inductance over resistance [s].
        current_rate_limit: [A/s], where there is an inductance.
        heat_resistance, heat_capacity: of the windings to what is around them [K/W, J/K].
        heat_coefficient: by which the resistance grows [1/K].
        ambient_offset: the ambient temperature less that at which the motor has its resistance [K].
        cogging: amplitude [N m], periods in a turn, and phase [rad].
        friction: of the bearing: stiffness [N m/rad] and damping [N m s/rad] of its bristles, Coulomb and static
            friction [N m], and the speed between both [rad/s].
        gains: proportional, integral and derivative ones of the controller, in torques.
        setpoint_rate_limit, integral_limit, voltage_limit: of the controller.
        control: what is given: "voltage", a setpoint "pos", "vel" or "ff" (torque) of the controller, or None.
    """

    constant: float
    resistance: float
    torque_limit: float = math.inf
    electrical_time: float = 0.0
    current_rate_limit: float = 0.0
    heat_resistance: float = 0.0
    heat_capacity: float = 0.0
    heat_coefficient: float = 0.0
    ambient_offset: float = 0.0
    cogging: tuple[float, float, float] = (0.0, 0.0, 0.0)
    friction: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    gains: tuple[float, float, float] = (0.0, 0.0, 0.0)
    setpoint_rate_limit: float = 0.0
    integral_limit: float = 0.0
    voltage_limit: float = 0.0
    control: str | None = "voltage"

    def __post_init__(self) -> None:
        """Refuses numbers that are no motor."""
        if self.control not in _INPUTS:
            raise ValueError(f"DcMotor: control must be one of {', '.join(map(str, _INPUTS))}, got {self.control!r}.")
        numbers = self.form().constants
        limits = self.setpoint_rate_limit, self.gains[1]
        positive = self.resistance, self.heat_capacity if self.heat_resistance else 1.0
        others = self.constant, self.electrical_time, self.heat_resistance, self.torque_limit, *limits
        is_valid = np.isfinite([*numbers[:2], *numbers[3:]]).all() and min(positive) > 0.0 and min(others) >= 0.0
        is_valid = is_valid and (self.constant > 0.0 or self.control is None)
        if not is_valid or math.isnan(self.torque_limit):
            raise ValueError(
                f"{self} is no motor: constant, resistance and heat capacity must be positive, times, heat resistance, "
                "limits and the integral gain not negative, and all but the torque limit finite."
            )

    def form(self) -> LawForm:
        """Its kind, constants and states."""
        heat = self.heat_resistance, self.heat_capacity, self.heat_coefficient, self.ambient_offset
        electric = self.constant, self.resistance, self.torque_limit, self.electrical_time, self.current_rate_limit
        limits = self.setpoint_rate_limit, self.integral_limit, self.voltage_limit
        mechanical = *self.cogging, *self.friction
        states = limits[0], self.gains[1], heat[0], self.friction[0], self.electrical_time
        constants = *electric, *heat, *mechanical, *self.gains, *limits, float(_INPUTS[self.control])
        return LawForm(laws.DC_MOTOR, constants, sum(number > 0.0 for number in states))


@dataclass(frozen=True)
class ServoIntegral:
    """The integral of the position error of a PD controller, and a limit of the rate of its desired position.

    Attributes:
        gain: of the integral, not negative [N m/(rad s) or N/(m s)].
        limit: of the integral [rad s or m s]; 0 for none.
        rate_limit: of the desired position [rad/s or m/s]; 0 for none.
    """

    gain: float = 0.0
    limit: float = 0.0
    rate_limit: float = 0.0

    def __post_init__(self) -> None:
        """Refuses negative numbers."""
        numbers = self.gain, self.limit, self.rate_limit
        if not (np.isfinite(numbers).all() and min(numbers) >= 0.0):
            raise ValueError(f"{self}: its numbers must be finite, and not negative.")

    def form(self) -> LawForm:
        """Its kind, constants and states."""
        return LawForm(laws.INTEGRAL, (self.gain, self.limit, self.rate_limit), (self.gain > 0) + (self.rate_limit > 0))


@dataclass(frozen=True)
class OrientationServo:
    """A servo of an orientation, see kernels/laws/orientation.py: the law of the first of three actuators.

    These follow each other, and drive the turning of a ball joint, or of a site in another one, about three axes. Their
    controls are the rotation vector that is wanted.

    Attributes:
        p: proportional gain, not negative [N m/rad].
        d: derivative gain, not negative [N m s/rad].
        torque_limit: of the three together [N m].
        bias: a constant torque about each axis [N m].
    """

    p: float
    d: float = 0.0
    torque_limit: float = math.inf
    bias: float = 0.0

    def __post_init__(self) -> None:
        """Refuses numbers that are no gains."""
        is_valid = np.isfinite([self.p, self.d, self.bias]).all() and self.torque_limit > 0.0
        if not (is_valid and self.p >= 0.0 and self.d >= 0.0):
            raise ValueError(f"{self}: gains must be finite and not negative, and the torque limit positive.")

    def form(self) -> LawForm:
        """Its kind and constants."""
        return LawForm(laws.ORIENTATION, (self.p, self.d, self.torque_limit, self.bias))


@dataclass(frozen=True)
class ControlDelay:
    """How late a control acts, in a discrete plant.

    Attributes:
        time: of the delay, positive [s].
        is_linear: whether a delay between time steps is interpolated; else it is one of the next whole step.
        num_samples: how many controls may wait at most, the oldest of which acts then.
    """

    time: float
    is_linear: bool = False
    num_samples: int | None = None

    def __post_init__(self) -> None:
        """Refuses what is no delay."""
        if not (0.0 < self.time < math.inf) or (self.num_samples is not None and self.num_samples < 1):
            raise ValueError(f"{self}: the time must be positive and finite, and num_samples 1 or more.")

    def steps(self, time_step: float) -> tuple[int, float]:
        """Returns how many controls wait, and the share of the last but one."""
        exact = self.time / time_step
        waiting = math.ceil(min(exact, _MAX_DELAYED + 1.0) - 1e-9)
        waiting = min(waiting, self.num_samples or waiting)
        if waiting > _MAX_DELAYED:
            raise RuntimeError(f"Finalize(): {self} is one of more than {_MAX_DELAYED} time steps.")
        return waiting, max(waiting - exact, 0.0) if self.is_linear else 0.0


@dataclass(frozen=True)
class ActuatorLaw:
    """How an actuator makes its force of a control, see kernels/laws.

        f = (gain[0] + gain[1] l + gain[2] ldot) a + bias[0] + bias[1] l + bias[2] ldot

    or that of another form; l and ldot are the length of what it drives times the gear, and the effort is the gear
    times f.

    Attributes:
        dynamics: "none": a is the control; "integrator", "filter", "filterexact" or "muscle": a is a state.
        time_constants: of a filter one [s]; of a muscle those of activation and deactivation [s], and the width of the
            difference of control and activation over which both blend.
        gain, bias: as above.
        muscle: in place of gain and bias.
        gear: of length and force.
        control_range: within which the control is kept.
        activation_range: within which a is kept.
        is_early: whether steps use the activation at their end.
        form: in place of gain and bias: a motor, a servo of an orientation, what a PD controller does beside, or a law
            of your own.
        delay: of the control, in a discrete plant.
    """

    dynamics: str = "none"
    time_constants: tuple[float, ...] = ()
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    muscle: MuscleCurves | None = None
    gear: float = 1.0
    control_range: tuple[float, float] = (-math.inf, math.inf)
    activation_range: tuple[float, float] = (-math.inf, math.inf)
    is_early: bool = False
    form: DcMotor | ServoIntegral | OrientationServo | LawForm | None = None
    delay: ControlDelay | None = None

    def __post_init__(self) -> None:
        """Refuses what is no law."""
        if self.dynamics not in _DYNAMICS:
            raise ValueError(f"ActuatorLaw: dynamics must be one of {', '.join(_DYNAMICS)}, got {self.dynamics!r}.")
        if not np.isfinite([*self.gain, *self.bias, self.gear, *self.time_constants]).all():
            raise ValueError(f"{self} has numbers that are not finite.")
        needed = {"filter": 1, "filterexact": 1, "muscle": 2}.get(self.dynamics, 0)
        if len(self.time_constants) < needed or not all(T > 0.0 for T in self.time_constants[:needed]):
            raise ValueError(f"{self}: dynamics {self.dynamics!r} needs {needed} positive time_constants.")
        if not all(low <= high for low, high in (self.control_range, self.activation_range)):
            raise ValueError(f"{self}: ranges must be in order.")
        has_own = self.form is not None and self.dynamics != "none"
        if has_own and not (isinstance(self.form, OrientationServo) and self.dynamics == "integrator"):
            raise ValueError(f"{self}: this form has states of its own, so that dynamics must be 'none'.")

    def num_states(self) -> int:
        """Returns the number of its states, without controls that wait."""
        if isinstance(self.form, OrientationServo):
            return 3 if self.has_activation() else 0
        return int(self.dynamics != "none") if self.form is None else self._form(False).num_states

    def num_waiting(self, time_step: float) -> int:
        """Returns the number of controls that wait.

        Raises:
            RuntimeError: there is a delay, and the plant is continuous.
        """
        if self.delay is None:
            return 0
        if time_step == 0.0:
            raise RuntimeError(f"Finalize(): {self.delay} needs a discrete plant; otherwise delay its input.")
        return self.delay.steps(time_step)[0] * (3 if isinstance(self.form, OrientationServo) else 1)

    def has_activation(self) -> bool:
        """Returns whether a, or what stands for it in its form, is a state."""
        return self.dynamics != "none" or (self.form is not None and self._form(False).num_states > 0)

    def _form(self, is_servo: bool) -> LawForm:
        if self.form is not None:
            return self.form if isinstance(self.form, LawForm) else self.form.form()
        if is_servo:
            return LawForm(laws.SERVO)
        return self.muscle.form() if self.muscle is not None else LawForm(laws.AFFINE, (*self.gain, *self.bias))

    def kind_name(self) -> str:
        """Returns a word for it: that of its dynamics, or of its form."""
        named = self.form is not None or self.muscle is not None
        plain = "delay" if self.delay is not None else "law"
        return self._form(False).kind.name if named else self.dynamics if self.has_activation() else plain

    def write(self, record: Any, is_servo: bool, time_step: float) -> None:
        """Writes a record of kernels/laws, but for places.

        Args:
            record: receives it.
            is_servo: whether the activation is a desired position.
            time_step: of the plant [s].
        """
        if self.delay is not None:
            record["num_delayed"], record["delay_share"] = self.delay.steps(time_step)
        record["is_servo"] = is_servo
        form = self._form(is_servo)
        laws.set_law_kind(record, form.kind)
        record["constants"][: len(form.constants)] = form.constants
        record["dynamics"], record["gear"], record["range"] = _DYNAMICS[self.dynamics], self.gear, self.activation_range
        record["control"], record["is_early"] = self.control_range, self.is_early
        record["time_constants"][: len(self.time_constants)] = self.time_constants
