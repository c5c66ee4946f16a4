"""Activations: states that follow a control c, within their range.

    integrator    adot = c                                                                (1)
    filter        adot = (c - a) / T
    exact filter  the same; discrete steps solve it exactly for constant c
    muscle        adot = (c - a) / T(c, a),  T = T_1 (0.5 + 1.5 a) if c > a, else T_2 / (0.5 + 1.5 a)     (2)

where a muscle's c and a count as within [0, 1], and its two time constants may blend over a width of c - a (3). An
integral of an error, within limits, stops where it would leave them; a setpoint follows at a limited rate:

    zdot = e, but 0 where |z| = z_max and e z > 0                                         (4)
    sdot = max(-r, min(r, (c - s) / h))                                                   (5)

with the step h, or 1 ms in continuous time.

Source of (2): M. Millard, T. Uchida, A. Seth, S. Delp, Flexing Computational Muscle (2013).
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.laws.records import EXACT_FILTER, INTEGRATOR, MUSCLE_DYNAMICS, Law
from merganser.multibody.kernels.scalars import clamped, real_part

_SETPOINT_TIME = 1e-3  # with which a setpoint of limited rate follows in continuous time [s]


@device
def within(limits: Any, value: Any) -> Any:
    """A value, or the limit that it is beyond."""
    if limits[1] < math.inf and real_part(value) > limits[1]:
        return limits[1] + 0.0 * value
    return limits[0] + 0.0 * value if limits[0] > -math.inf and real_part(value) < limits[0] else value


@device
def activate(law: Law, h: float, control: Any, states_in: Any, states_out: Any) -> Any:
    """The activation that counts: the control where there is no state; writes it after the step, or its rate."""
    place = law["activation"]
    if place < 0:
        return control
    a = states_in[place]
    states_out[place] = _next_activation(law, h, a, control)
    return states_out[place] if h > 0.0 and law["is_early"] else a


@device
def _next_activation(law: Law, h: float, a: Any, control: Any) -> Any:
    """The activation after a step, within its range; or its rate, which does not lead out of that."""
    T = law["time_constants"][0]
    if law["dynamics"] == INTEGRATOR:
        rate = control + 0.0 * a
    elif law["dynamics"] == MUSCLE_DYNAMICS:
        rate = _muscle_rate(law, a, control)
    else:
        rate = (control - a) / T
    if h > 0.0:
        share = T * (1.0 - math.exp(-h / T)) if law["dynamics"] == EXACT_FILTER else h
        return within(law["range"], a + share * rate)
    return _stopped(law["range"][0], law["range"][1], a, rate)


@device
def _stopped(low: float, high: float, a: Any, rate: Any) -> Any:
    """A rate, or 0 where it would lead out of a range."""
    if high < math.inf and real_part(a) >= high and real_part(rate) > 0.0:
        return 0.0 * rate
    return 0.0 * rate if low > -math.inf and real_part(a) <= low and real_part(rate) < 0.0 else rate


@device
def _muscle_rate(law: Law, a: Any, control: Any) -> Any:
    """Equations (2) and (3)."""
    T = law["time_constants"]
    limits = (0.0, 1.0)
    inside, difference = within(limits, a), within(limits, control) - a
    rising, falling = T[0] * (0.5 + 1.5 * inside), T[1] / (0.5 + 1.5 * inside)
    if T[2] > 0.0:  # a quintic between both
        x = within(limits, difference / T[2] + 0.5)
        constant = falling + (rising - falling) * x * x * x * (10.0 + x * (6.0 * x - 15.0))
    else:
        constant = rising if real_part(difference) > 0.0 else falling + 0.0 * difference
    return difference / constant


@device
def integrate_error(h: float, limit: float, error: Any, z: Any) -> Any:
    """The integral (4) after a step, or its rate; a limit of 0 is none."""
    bound = limit if limit > 0.0 else math.inf
    rate = _stopped(-bound, bound, z, error + 0.0 * z)
    return z + h * rate if h > 0.0 else rate


@device
def follow_setpoint(h: float, rate_limit: float, control: Any, s: Any) -> Any:
    """The rate of a setpoint (5)."""
    return clamped((control - s) / (h if h > 0.0 else _SETPOINT_TIME), rate_limit)
