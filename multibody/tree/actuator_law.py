"""Laws of actuators that are more than a force or a PD controller: activation, gain and bias, and muscles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from merganser.multibody.kernels import actuator_laws as kernels

_DYNAMICS = {
    "none": kernels.NO_DYNAMICS, "integrator": kernels.INTEGRATOR, "filter": kernels.FILTER,
    "filterexact": kernels.EXACT_FILTER, "muscle": kernels.MUSCLE_DYNAMICS,
}  # fmt: skip


@dataclass(frozen=True)
class MuscleCurves:
    """The force of a muscle by its length and speed, see kernels/actuator_laws.py.

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


@dataclass(frozen=True)
class ActuatorLaw:
    """How an actuator makes its force of a control, see kernels/actuator_laws.py.

        f = (gain[0] + gain[1] l + gain[2] ldot) a + bias[0] + bias[1] l + bias[2] ldot

    or that of a muscle; l and ldot are the length of what it drives times the gear, and the effort is the gear times f.

    Attributes:
        dynamics: "none": a is the control; "integrator", "filter", "filterexact" or "muscle": a is a state.
        time_constants: of a filter one [s]; of a muscle those of activation and deactivation [s], and the width of the
            difference of control and activation over which both blend.
        gain, bias: as above.
        muscle: in place of gain and bias.
        gear: of length and force.
        control_range: within which the control is kept.
        activation_range: within which a is kept.
    """

    dynamics: str = "none"
    time_constants: tuple[float, ...] = ()
    gain: tuple[float, float, float] = (1.0, 0.0, 0.0)
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    muscle: MuscleCurves | None = None
    gear: float = 1.0
    control_range: tuple[float, float] = (-math.inf, math.inf)
    activation_range: tuple[float, float] = (-math.inf, math.inf)

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

    def has_activation(self) -> bool:
        """Returns whether the activation is a state."""
        return self.dynamics != "none"

    def write(self, record: Any, is_servo: bool) -> None:
        """Writes a record of kernels/actuator_laws.py.

        Args:
            record: receives it, but for places.
            is_servo: whether the activation is a desired position.
        """
        record["dynamics"], record["gear"], record["range"] = _DYNAMICS[self.dynamics], self.gear, self.activation_range
        record["control"], record["gain"], record["bias"] = self.control_range, self.gain, self.bias
        record["time_constants"][: len(self.time_constants)] = self.time_constants
        record["force"] = kernels.SERVO if is_servo else kernels.AFFINE if self.muscle is None else kernels.MUSCLE
        if self.muscle is not None:
            m = self.muscle
            record["peak_force"] = -m.scale if m.peak_force is None else m.peak_force  # negative until Finalize()
            record["lengths"], record["operating"] = m.length_range or (math.nan, math.nan), m.operating_range
            record["curve"], record["fastest"] = (m.l_min, m.l_max), m.v_max
            record["passive"], record["lengthening"] = m.fp_max, m.fv_max
