"""Desired positions of PD controllers that have dynamics, and the integral of their error.

The activation is the desired position in place of the one that is given (1). Or that one follows what is given at a
limited rate, and with the error e = q_d - q the integral of it gives an effort of its own, both see activation.py:

    zdot = e,   u_ff grows by K_i z                                                       (2)

A desired position that is NaN says that none is given.
"""

from __future__ import annotations

import math

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.activation import activate, follow_setpoint, integrate_error, within
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import Law
from merganser.multibody.kernels.scalars import exceeds


@device
def set_desired_position(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equation (1)."""
    k = law["actuators"][0]
    given = desired_io[0, k]
    control = within(law["control"], given if exceeds(given, -math.inf) else 0.0 * lengths_in[law["positions"][0]])
    desired_io[0, k] = activate(law, step_in[0].real, control, states_in, states_out)


@device
def set_integral(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equation (2); constants are K_i, z_max and the limit of the rate, and where it or K_i is 0, there is no state."""
    k, n, c, h = law["actuators"][0], law["activation"], law["constants"], step_in[0].real
    if not exceeds(desired_io[0, k], -math.inf):  # nothing comes, and the controller is disarmed
        for i in range(n, n + int(c[2] > 0.0) + int(c[0] > 0.0)):
            states_out[i] = states_in[i] if h > 0.0 else 0.0 * states_in[i]
        return
    if c[2] > 0.0:
        rate = follow_setpoint(h, c[2], desired_io[0, k], states_in[n])
        desired_io[0, k] = states_in[n] + h * rate
        states_out[n] = desired_io[0, k] if h > 0.0 else rate
        n += 1
    if c[0] > 0.0:
        error = desired_io[0, k] - lengths_in[law["positions"][0]]
        states_out[n] = integrate_error(h, c[1], error, states_in[n])
        efforts_out[k] += c[0] * states_in[n]


SERVO = ActuatorLawKind("servo", set_desired_position)
INTEGRAL = ActuatorLawKind("integral of a servo", set_integral)
