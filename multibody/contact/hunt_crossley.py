"""The laws of Hunt and Crossley with regularized friction: Similar, Lagged, and the one that TAMSI solves.

The normal impulse of a step h, of stiffness k, dissipation d and the elastic force f_0 at the start of the step, is

    n(v) = (a - b v)_+ (1 - d v)_+,    a = h f_0,  b = h^2 k                              (1)

which vanishes from v^ = min(a / b, 1 / d) on. N(v) is its antiderivative up to v^, constant from there:

    N(v) = a v - (b + a d) v^2 / 2 + b d v^3 / 3                                          (2)

With s = sqrt(|v_t|^2 + eps^2) and t = v_t / s, friction opposes t. The two convex potentials, and the law without one:

    Similar  l_c = -N(z), z = v_n - mu (s - eps)     gamma_n = n(z),    gamma_t = -mu n(z) t       (3)
    Lagged   l_c = -N(v_n) + mu n_0 (s - eps)        gamma_n = n(v_n),  gamma_t = -mu n_0 t        (4)
    TAMSI    -                                       gamma_n = n(v_n),  gamma_t = -m n(v_n) v_t    (5)

n_0 is the normal impulse at the velocities before the step. m = mu / |v_t| where the contact slides, and
mu (2 - |v_t| / v_s) / v_s in the band |v_t| < v_s, where friction rises as a parabola.

Sources: K. Hunt and F. Crossley, J. Applied Mechanics (1975); A. Castro, X. Han, J. Masterjohn, A Theory of
Irrotational Contact Fields (2023), sections IV and V; A. Castro, A. Qu, N. Kuppuswamy, A. Alspach, M. Sherman,
A Transition-Aware Method for the Simulation of Compliant Contact with Regularized Friction (2020) for (5).
"""

from __future__ import annotations

import math

import numpy as np

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.by_value import larger, select
from merganser.framework.native.memory.hinted_types import Floats
from merganser.framework.native.memory.simd import either
from merganser.multibody.contact.friction_cone import Slope
from merganser.multibody.contact.law_kind import LawKind
from merganser.multibody.contact.layout import SIMILAR, Law, Settings
from merganser.multibody.linear.records import Constraint

# -dn/dv at v = 0 is at most so many times the rigid gain 1 / w: what is steeper gives way by less than 1e-8 of its
# velocity, but the rounding of velocities would cause impulses above the tolerance of the solver.
_STEEPEST = 1e8


@device
def set_implicit_law(settings: Settings, constraint: Constraint, velocity_in: Floats, law: Law) -> None:
    """The numbers of (1) and (5)."""
    mu, w, h, d = constraint["friction"], law["compliance"], law["time_step"], constraint["damping"]
    elastic, gain = h * constraint["elastic_force"], h * h * constraint["stiffness"]
    lagged = larger(0.0, elastic) * larger(0.0, 1.0 - d * velocity_in[2])
    rigid_gain = 1.0 / w if w.real > 0.0 else math.inf
    steepness = gain + d * elastic
    if steepness.real > _STEEPEST * rigid_gain.real:
        scale = _STEEPEST * rigid_gain / steepness
        gain, elastic = scale * gain, scale * elastic
    law["friction"] = mu
    law["elastic"] = elastic
    law["gain"] = gain
    law["dissipation"] = d
    law["softness"] = settings["stiction_tolerance"]
    law["lagged"] = lagged
    law["true_elastic"] = elastic
    law["true_gain"] = gain
    law["rigid_gain"] = rigid_gain


@device
def set_convex_law(settings: Settings, constraint: Constraint, velocity_in: Floats, law: Law) -> None:
    """The numbers of (1), (3) and (4), no less soft than SAP is."""
    set_implicit_law(settings, constraint, velocity_in, law)
    resistance = law["friction"] * (settings["sigma"] * law["compliance"])
    law["softness"] = larger(settings["stiction_tolerance"], resistance * law["lagged"])


@device
def soften(law: Law, bound: float) -> float:
    """Lowers the gain to `bound` times the rigid one, where impulses vanish at the same velocity as before.

    Returns:
        How many times the rigid gain the true one is.
    """
    gain = min(law["true_gain"], bound * law["rigid_gain"])
    law["gain"] = gain
    law["elastic"] = law["true_elastic"]
    if gain < law["true_gain"]:
        law["elastic"] *= gain / law["true_gain"]
    return law["true_gain"] / law["rigid_gain"]


@device
def normal_impulse(elastic: float, gain: float, dissipation: float, v: float) -> tuple[float, float]:
    """n(v) and -dn/dv, equation (1)."""
    spring = elastic - gain * v
    damper = 1.0 - dissipation * v
    is_open = either(spring.real <= 0.0, damper.real <= 0.0)
    return select(is_open, 0.0, spring * damper), select(is_open, 0.0, gain * damper + dissipation * spring)


@device
def set_similar_impulse(law: Law, velocity_in: Floats, impulse_out: Floats, hessian_out: Floats) -> None:
    """Impulse and Hessian at a velocity v_c, equation (3)."""
    mu, eps = law["friction"], law["softness"]
    s = np.sqrt(velocity_in[0] * velocity_in[0] + velocity_in[1] * velocity_in[1] + eps * eps)
    z = velocity_in[2] - mu * (s - eps)
    n, slope = normal_impulse(law["elastic"], law["gain"], law["dissipation"], z)
    _set_impulse(velocity_in, s, n, slope, mu * n, mu * mu * slope, -mu * slope, impulse_out, hessian_out)


@device
def set_lagged_impulse(law: Law, velocity_in: Floats, impulse_out: Floats, hessian_out: Floats) -> None:
    """The same of equation (4)."""
    eps = law["softness"]
    s = np.sqrt(velocity_in[0] * velocity_in[0] + velocity_in[1] * velocity_in[1] + eps * eps)
    n, slope = normal_impulse(law["elastic"], law["gain"], law["dissipation"], velocity_in[2])
    _set_impulse(velocity_in, s, n, slope, law["friction"] * law["lagged"], 0.0, 0.0, impulse_out, hessian_out)


@inlined
def _set_impulse(
    velocity: Floats, s: float, n: float, slope: float, friction: float, turning: float, coupling: float,
    impulse_out: Floats, hessian_out: Floats,
) -> None:  # fmt: skip
    """-friction t and n, where friction changes by `turning` along the slip, and by `coupling` with v_n."""
    inverse, G = 1.0 / s, hessian_out
    t_1, t_2 = velocity[0] * inverse, velocity[1] * inverse
    impulse_out[0], impulse_out[1], impulse_out[2] = -friction * t_1, -friction * t_2, n
    G[0] = friction * inverse * (1.0 - t_1 * t_1) + turning * t_1 * t_1
    G[1] = (turning - friction * inverse) * t_1 * t_2
    G[2] = friction * inverse * (1.0 - t_2 * t_2) + turning * t_2 * t_2
    G[3], G[4], G[5] = coupling * t_1, coupling * t_2, slope


@inlined
def hunt_crossley_slope(
    law: Law, v_1: float, v_2: float, v_n: float, d_1: float, d_2: float, d_n: float
) -> Slope:
    """gamma_i d_i and d^T G d at a velocity v_c: what a line search along d takes of the functions above."""
    mu, eps = law["friction"], law["softness"]
    s = np.sqrt(v_1 * v_1 + v_2 * v_2 + eps * eps)
    inverse = 1.0 / s
    t_1, t_2 = v_1 * inverse, v_2 * inverse
    along, square = t_1 * d_1 + t_2 * d_2, d_1 * d_1 + d_2 * d_2
    if law["approximation"] == SIMILAR:
        n, slope = normal_impulse(law["elastic"], law["gain"], law["dissipation"], v_n - mu * (s - eps))
        friction, approach = mu * n, d_n - mu * along
    else:
        n, slope = normal_impulse(law["elastic"], law["gain"], law["dissipation"], v_n)
        friction, approach = mu * law["lagged"], d_n
    curvature = friction * inverse * (square - along * along) + slope * approach * approach
    return -friction * t_1 * d_1, -friction * t_2 * d_2, n * d_n, curvature


@device
def set_hunt_crossley_slip(law: Law, velocity_in: Floats, slip_out: Floats) -> None:
    """s, and that it grows with the slip velocity."""
    v_1, v_2, eps = velocity_in[0], velocity_in[1], law["softness"]
    slip_out[0], slip_out[1] = np.sqrt(v_1 * v_1 + v_2 * v_2 + eps * eps), 1.0


@device
def set_implicit_impulse(law: Law, velocity_in: Floats, impulse_out: Floats, hessian_out: Floats) -> None:
    """Impulse of equation (5) and -dgamma/dv_c, whose last row is [0, 0, nn] as normal impulses ignore slip."""
    mu, v_s, v_1, v_2, G = law["friction"], law["softness"], velocity_in[0], velocity_in[1], hessian_out
    v_r = np.sqrt(v_1 * v_1 + v_2 * v_2)
    if v_r.real < v_s.real:
        scale, along = mu * (2.0 - v_r / v_s) / v_s, 2.0 * mu * (1.0 - v_r / v_s) / v_s
    else:
        scale, along = mu / v_r, 0.0
    t_1, t_2 = (v_1 / v_r, v_2 / v_r) if v_r.real > 0.0 else (0.0, 0.0)
    n, slope = normal_impulse(law["elastic"], law["gain"], law["dissipation"], velocity_in[2])
    impulse_out[0], impulse_out[1], impulse_out[2] = -scale * n * v_1, -scale * n * v_2, n
    G[0], G[2] = n * (scale + (along - scale) * t_1 * t_1), n * (scale + (along - scale) * t_2 * t_2)
    G[1] = n * (along - scale) * t_1 * t_2
    G[3], G[4], G[5] = -scale * slope * v_1, -scale * slope * v_2, slope


SIMILAR_KIND = LawKind("similar", set_convex_law, set_similar_impulse, set_hunt_crossley_slip, is_softened=True)
LAGGED_KIND = LawKind("lagged", set_convex_law, set_lagged_impulse, set_hunt_crossley_slip, is_softened=True)
# Where TAMSI gives up, what it solves instead is of lagged friction.
TAMSI_KIND = LawKind("tamsi", set_implicit_law, set_lagged_impulse, set_hunt_crossley_slip, is_softened=True)
