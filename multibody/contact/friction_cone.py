"""The law of SAP: impulses of a linear spring and damper, projected on the friction cone.

With y = R^-1 (v^ - v_c), R = diag(R_t, R_t, R_n) and v^ = [0, 0, v^_n], the impulse is the projection P(y) on the cone
|gamma_t| <= mu gamma_n in the norm of R. With y_r = |y_t|, mu^ = mu R_t / R_n and f = 1 / (1 + mu mu^):

    stiction     y_r <= mu y_n          gamma = y                                                          (1)
    sliding      -mu^ y_r < y_n         gamma_n = f (y_n + mu^ y_r),  gamma_t = mu gamma_n y_t / y_r       (2)
    no contact   else                   gamma = 0                                                          (3)

l_c = 1/2 gamma^T R gamma is convex in v_c, with gradient -gamma and Hessian G = dP/dy R^-1.

Source: A. Castro, F. Permenter, X. Han, An Unconstrained Convex Formulation of Compliant Contact, IEEE T-RO (2022),
section IV and appendix.
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import select, smaller
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.simd import Mask, all_of, both, either
from merganser.multibody.contact.bounded import stiffest_gain
from merganser.multibody.contact.law_kind import LawKind
from merganser.multibody.contact.layout import Law, Settings
from merganser.multibody.linear.records import Constraint

# Impulse times a direction, by component, and the curvature along it.
Slope = tuple[float, float, float, float]


@device
def set_cone_law(settings: Settings, constraint: Constraint, velocity_in: Floats, law: Law) -> None:
    """R and v^, equations (2) and (3) of regularization.py."""
    mu, k, w = constraint["friction"], constraint["stiffness"], law["compliance"]
    h, tangent_resistance = law["time_step"], settings["sigma"] * w
    reach = h + constraint["relaxation_time"]
    gain = stiffest_gain(constraint["beta"] if k.real < math.inf else 1.0, w)
    if k.real < math.inf:
        gain = smaller(h * k * reach, gain)
    if w.real == 0.0:  # nothing that this contact could move
        gain = 0.0
    tangent_gain = 1.0 / tangent_resistance if tangent_resistance.real > 0.0 else 0.0
    law["friction"] = mu
    law["tangent_gain"] = tangent_gain
    law["gain"] = gain
    law["normal_target"] = -law["gap"] / reach
    law["cone_scale"] = mu * gain / tangent_gain if tangent_gain.real > 0.0 else 0.0
    law["factor"] = 1.0 / (1.0 + mu * law["cone_scale"])


@inlined
def _is_open(law: Law, square: float, y_n: float) -> Mask:
    """Whether (3) holds, from y_r^2: roots are drawn of contacts that slide only."""
    return both(y_n.real <= 0.0, (y_n * y_n).real >= (law["cone_scale"] * law["cone_scale"] * square).real)


@inlined
def _sticks(law: Law, square: float, y_n: float) -> Mask:
    """Whether (1) holds, from y_r^2."""
    return both(y_n.real >= 0.0, square.real <= (law["friction"] * law["friction"] * y_n * y_n).real)


@device
def set_cone_impulse(law: Law, velocity_in: Floats, impulse_out: Floats, hessian_out: Floats) -> None:
    """Impulse and Hessian at a velocity v_c, equations (1) to (3)."""
    mu, gain_t, gain_n, G = law["friction"], law["tangent_gain"], law["gain"], hessian_out
    y_1, y_2, y_n = -gain_t * velocity_in[0], -gain_t * velocity_in[1], gain_n * (law["normal_target"] - velocity_in[2])
    square = y_1 * y_1 + y_2 * y_2
    is_open, sticks = either(gain_n.real == 0.0, _is_open(law, square, y_n)), _sticks(law, square, y_n)
    impulse_out[0], impulse_out[1] = select(is_open, 0.0, y_1), select(is_open, 0.0, y_2)
    impulse_out[2] = select(is_open, 0.0, y_n)
    G[0], G[1], G[2] = select(is_open, 0.0, gain_t), 0.0, select(is_open, 0.0, gain_t)
    G[3], G[4], G[5] = 0.0, 0.0, select(is_open, 0.0, gain_n)
    is_done = either(is_open, sticks)
    if all_of(is_done):
        return
    y_r = np.sqrt(square)  # positive: if it were 0, the contact would be open or stick
    inverse = 1.0 / y_r
    t_1, t_2 = y_1 * inverse, y_2 * inverse
    f = law["factor"]
    gamma_n = f * (y_n + law["cone_scale"] * y_r)
    along = mu * law["cone_scale"] * f * gain_t  # along the slip
    across = mu * gamma_n * inverse * gain_t
    coupling = mu * f * gain_n
    impulse_out[0] = select(is_done, impulse_out[0], mu * gamma_n * t_1)
    impulse_out[1] = select(is_done, impulse_out[1], mu * gamma_n * t_2)
    impulse_out[2] = select(is_done, impulse_out[2], gamma_n)
    G[0] = select(is_done, G[0], along * t_1 * t_1 + across * t_2 * t_2)
    G[1] = select(is_done, G[1], (along - across) * t_1 * t_2)
    G[2] = select(is_done, G[2], along * t_2 * t_2 + across * t_1 * t_1)
    G[3], G[4] = select(is_done, G[3], coupling * t_1), select(is_done, G[4], coupling * t_2)
    G[5] = select(is_done, G[5], f * gain_n)


@inlined
def cone_slope(law: Law, v_1: float, v_2: float, v_n: float, d_1: float, d_2: float, d_n: float) -> Slope:
    """gamma_i d_i and d^T G d at a velocity v_c: what a line search along d takes of `set_cone_impulse`."""
    mu, gain_t, gain_n = law["friction"], law["tangent_gain"], law["gain"]
    y_1, y_2, y_n = -gain_t * v_1, -gain_t * v_2, gain_n * (law["normal_target"] - v_n)
    square = y_1 * y_1 + y_2 * y_2
    is_open, sticks = either(gain_n.real == 0.0, _is_open(law, square, y_n)), _sticks(law, square, y_n)
    if all_of(is_open):
        return 0.0 * y_n, 0.0 * y_n, 0.0 * y_n, 0.0 * y_n
    bend = gain_t * (d_1 * d_1 + d_2 * d_2) + gain_n * d_n * d_n
    slope_1, slope_2 = select(is_open, 0.0, y_1 * d_1), select(is_open, 0.0, y_2 * d_2)
    slope_n = select(is_open, 0.0, y_n * d_n)
    bend, is_done = select(is_open, 0.0, bend), either(is_open, sticks)
    if all_of(is_done):
        return slope_1, slope_2, slope_n, bend
    y_r = math.sqrt(square)
    inverse, f = 1.0 / y_r, law["factor"]
    gamma_n = f * (y_n + law["cone_scale"] * y_r)
    t_1, t_2 = y_1 * inverse, y_2 * inverse
    along, across = t_1 * d_1 + t_2 * d_2, t_1 * d_2 - t_2 * d_1
    curvature = mu * gain_t * (law["cone_scale"] * f * along * along + gamma_n * inverse * across * across)
    curvature += f * gain_n * d_n * (2.0 * mu * along + d_n)
    slope_1 = select(is_done, slope_1, mu * gamma_n * t_1 * d_1)
    slope_2 = select(is_done, slope_2, mu * gamma_n * t_2 * d_2)
    return slope_1, slope_2, select(is_done, slope_n, gamma_n * d_n), select(is_done, bend, curvature)


@device
def set_cone_slip(law: Law, velocity_in: Floats, slip_out: Floats) -> None:
    """How fast a contact slips, at least so fast that it slides, and whether it slides; nothing if it is open."""
    gain_t, gain_n = law["tangent_gain"], law["gain"]
    y_n = gain_n * (law["normal_target"] - velocity_in[2])
    square = velocity_in[0] * velocity_in[0] + velocity_in[1] * velocity_in[1]
    if gain_n.real == 0.0:
        return
    is_open, sticks = _is_open(law, gain_t * gain_t * square, y_n), _sticks(law, gain_t * gain_t * square, y_n)
    slip = select(sticks, law["friction"] * y_n / gain_t, np.sqrt(square))
    slip_out[0], slip_out[1] = select(is_open, 0.0, slip), select(either(is_open, sticks), 0.0, 1.0)


KIND = LawKind("sap", set_cone_law, set_cone_impulse, set_cone_slip)
