"""A brushed motor that is driven by a voltage: current, heat, cogging, friction of its bearings, and a controller.

With the voltage V, the constant K, the resistance R, length l and rate ldot times a gear,

    f = K i,   i = (V - K ldot) / R,   or T_e didt = (V - K ldot) / R - i, |didt| <= r    (1)

with the electrical time constant T_e = L / R. The temperature T of the windings, over the ambient one, changes R:

    R = R_0 (1 + alpha (T + T_a - T_0)),   C dT/dt = R_0' i^2 - T / R_T                   (2)

A torque limit cuts off f; cogging and the friction of the bearing, with a deflection z of its bristles, come on top:

    A sin(N l + phi) - s_0 z - s_1 dz/dt,   dz/dt = ldot - s_0 |ldot| / g(ldot) z,        (3)
    g = F_c + (F_s - F_c) exp(-(ldot / v_s)^2)

The control is V itself; or the setpoint u of length, of speed or of torque of a controller,

    V = R_0 / K (K_p (u_l - l) + K_i z_I + K_d (u_v - ldot) + u_f) + K ldot, |V| <= V_max (4)

whose setpoint may be limited in its rate. Steps solve (1) and z exactly for constant voltage and speed, and use the
current at their end.

Sources: (3) is C. Canudas de Wit et al., A New Model for Control of Systems with Friction, IEEE TAC 40 (1995); MuJoCo's
documentation of its DC motor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.activation import follow_setpoint, integrate_error, within
from merganser.multibody.kernels.laws.affine import motion_of
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import Law
from merganser.multibody.kernels.scalars import clamped, exceeds

# Places of constants.
(
    CONSTANT, RESISTANCE, TORQUE_LIMIT, ELECTRICAL_TIME, CURRENT_RATE, HEAT_RESISTANCE, HEAT_CAPACITY, HEAT_COEFFICIENT,
    HEAT_OFFSET, COGGING, COGGING_NUMBER, COGGING_PHASE, BRISTLE_STIFFNESS, BRISTLE_DAMPING, COULOMB, STATIC, STRIBECK,
    K_P, K_I, K_D, SETPOINT_RATE, INTEGRAL_LIMIT, VOLTAGE_LIMIT, INPUT,
) = range(24)  # fmt: skip
NO_INPUT, VOLTAGE, LENGTH, SPEED, TORQUE = range(5)


@device
def set_effort(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equations (1) to (4); states are the setpoint, z_I, T, z and i, as far as there are such."""
    k, n, c, h = law["actuators"][0], law["activation"], law["constants"], step_in[0].real
    length, rate = motion_of(law, lengths_in, rates_in)
    u, K, R = within(law["control"], controls_in[k]), c[CONSTANT], c[RESISTANCE] + 0.0 * rate
    if c[SETPOINT_RATE] > 0.0:
        setpoint_rate = follow_setpoint(h, c[SETPOINT_RATE], u, states_in[n])
        u = states_in[n] + h * setpoint_rate
        states_out[n] = u if h > 0.0 else setpoint_rate
        n += 1
    integral = 0.0 * rate
    if c[K_I] > 0.0:
        integral = states_in[n]
        states_out[n] = integrate_error(h, c[INTEGRAL_LIMIT], u - length, integral)
        if h > 0.0 and c[INTEGRAL_LIMIT] > 0.0:
            states_out[n] = clamped(states_out[n], c[INTEGRAL_LIMIT])
        n += 1
    V = _voltage(c, u, integral, length, rate)
    hot = n
    if c[HEAT_RESISTANCE] > 0.0:
        R = R * (1.0 + c[HEAT_COEFFICIENT] * (states_in[n] + c[HEAT_OFFSET]))
        n += 1
    bearing = 0.0 * rate
    if c[BRISTLE_STIFFNESS] > 0.0:
        bearing = _deflect(c, h, rate, n, states_in, states_out)
        n += 1
    driven = (V - K * rate) / R
    i = driven
    if c[ELECTRICAL_TIME] > 0.0:
        T_e, i = c[ELECTRICAL_TIME], states_in[n]
        didt = (driven - i) / T_e
        if c[CURRENT_RATE] > 0.0:
            didt = clamped(didt, c[CURRENT_RATE])
        states_out[n] = i + T_e * (1.0 - math.exp(-h / T_e)) * didt if h > 0.0 else didt
    if c[HEAT_RESISTANCE] > 0.0:
        T = states_in[hot]
        heating = (R * i * i - T / c[HEAT_RESISTANCE]) / c[HEAT_CAPACITY]
        states_out[hot] = T + h * heating if h > 0.0 else heating
    if c[ELECTRICAL_TIME] > 0.0 and h > 0.0:
        i = states_out[n]
    f = clamped(K * i, c[TORQUE_LIMIT]) + bearing
    if c[COGGING] != 0.0:
        f += c[COGGING] * np.sin(c[COGGING_NUMBER] * length + c[COGGING_PHASE])
    efforts_out[k] = law["gear"] * f


@device
def _voltage(c: Any, u: Any, integral: Any, length: Any, rate: Any) -> Any:
    """Equation (4)."""
    kind = int(c[INPUT])
    if kind == NO_INPUT:
        return 0.0 * rate
    if kind == VOLTAGE:
        return u + 0.0 * rate
    u_l, u_v, u_f = 0.0 * u, 0.0 * u, 0.0 * u
    if kind == LENGTH:
        u_l = u
    elif kind == SPEED:
        u_v = u
    else:
        u_f = u
    torque = c[K_P] * (u_l - length) + c[K_I] * integral + c[K_D] * (u_v - rate) + u_f
    V = c[RESISTANCE] / c[CONSTANT] * torque + c[CONSTANT] * rate
    return clamped(V, c[VOLTAGE_LIMIT]) if c[VOLTAGE_LIMIT] > 0.0 else V


@device
def _deflect(c: Any, h: float, rate: Any, n: int, states_in: Floats, states_out: Floats) -> Any:
    """The friction of the bearing (3); writes the deflection after the step, or its rate."""
    z, s_0 = states_in[n], c[BRISTLE_STIFFNESS]
    ratio = rate / max(c[STRIBECK], 1e-15)
    g = c[COULOMB] + (c[STATIC] - c[COULOMB]) * np.exp(-ratio * ratio)
    speed = rate if exceeds(rate, 0.0) else -rate
    decay = s_0 * speed / (g if exceeds(g, 1e-15) else 1e-15 + 0.0 * g)
    zdot = rate - decay * z
    states_out[n] = zdot
    if h > 0.0:
        remains = np.exp(-decay * h)
        states_out[n] = remains * z + ((1.0 - remains) / decay if exceeds(decay, 1e-15) else h + 0.0 * decay) * rate
    return -s_0 * z - c[BRISTLE_DAMPING] * zdot


DC_MOTOR = ActuatorLawKind("DC motor", set_effort)
