"""Servos of an orientation: three actuators that turn a body to a rotation vector along one axis.

Of three lengths theta, the rotation vector of R, and the controls theta_d of R_d, the efforts are

    tau = min(1, tau_max / |tau|) (K_p log(R^-1 R_d) + b - K_v w),                        (1)

components along the axes of the transmissions, which turn with R.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.laws.activation import within
from merganser.multibody.kernels.laws.kind import ActuatorLawKind
from merganser.multibody.kernels.laws.records import INTEGRATOR, Law
from merganser.multibody.kernels.scalars import arctangent, exceeds
from merganser.multibody.kernels.spatial import Vector3, add, cross, dot, scaled


@device
def _quaternion(theta: Vector3) -> tuple[Any, Vector3]:
    square = dot(theta, theta)
    if not exceeds(square, 0.0):
        return 1.0 + 0.0 * square, scaled(0.5, theta)
    angle = np.sqrt(square)
    return np.cos(0.5 * angle), scaled(np.sin(0.5 * angle) / angle, theta)


@device
def _turn_between(theta: Vector3, desired: Vector3) -> Vector3:
    """log(R^-1 R_d), the shorter way."""
    w, e = _quaternion(theta)
    w_d, e_d = _quaternion(desired)
    w_r = w * w_d + dot(e, e_d)
    e_r = add(add(scaled(w, e_d), scaled(-w_d, e)), scaled(-1.0, cross(e, e_d)))
    square = dot(e_r, e_r)
    if not exceeds(square, 0.0):
        return scaled(2.0, e_r)
    sine = np.sqrt(square)
    angle = 2.0 * (arctangent(sine, w_r) if exceeds(w_r, 0.0) else -arctangent(sine, -w_r))
    return scaled(angle / sine, e_r)


@device
def set_efforts(
    law: Law, step_in: Floats, lengths_in: Floats, rates_in: Floats, states_in: Floats, controls_in: Floats,
    desired_io: FloatTable, efforts_out: Floats, states_out: Floats,
) -> None:  # fmt: skip
    """Equation (1); constants are K_p, K_v, tau_max and b. With an integrator, states are the desired rotation."""
    u, q, v, c, n = law["actuators"], law["positions"], law["velocities"], law["constants"], law["activation"]
    limits = law["control"]
    d = (within(limits, controls_in[u[0]]), within(limits, controls_in[u[1]]), within(limits, controls_in[u[2]]))
    if law["dynamics"] == INTEGRATOR:
        rates, h, bounds = d, step_in[0].real, law["range"]
        d = (states_in[n], states_in[n + 1], states_in[n + 2])
        for k in range(3):
            states_out[n + k] = within(bounds, d[k] + h * rates[k]) if h > 0.0 else rates[k] + 0.0 * d[k]
        if h > 0.0:
            if law["is_early"]:
                d = (states_out[n], states_out[n + 1], states_out[n + 2])
            square = 0.0 * states_out[n]
            for k in range(3):
                square += states_out[n + k] * states_out[n + k]
            if exceeds(square, math.pi * math.pi):  # the same orientation, by the shorter way
                turns = math.floor(0.5 + math.sqrt(square.real) / (2.0 * math.pi))
                share = 1.0 - 2.0 * math.pi * turns / np.sqrt(square)
                for k in range(3):
                    states_out[n + k] *= share
    error = _turn_between((lengths_in[q[0]], lengths_in[q[1]], lengths_in[q[2]]), d)
    tau = add(scaled(c[0], error), scaled(-c[1], (rates_in[v[0]], rates_in[v[1]], rates_in[v[2]])))
    tau = (tau[0] + c[3], tau[1] + c[3], tau[2] + c[3])
    square = dot(tau, tau)
    if c[2] < math.inf and exceeds(square, c[2] * c[2]):
        tau = scaled(c[2] / np.sqrt(square), tau)
    for k in range(3):
        efforts_out[u[k]] = tau[k]


ORIENTATION = ActuatorLawKind("orientation servo", set_efforts)
