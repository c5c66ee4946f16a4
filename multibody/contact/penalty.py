"""Contact and joint limits of continuous plants: springs with the damping of Hunt and Crossley, regularized friction.

With the elastic force f_0 and the dissipation d of a contact pair (contact_pairs.py), and the rate xdot of its depth,

    f_n = f_0 (1 + d xdot)_+                                                              (1)
    f_t = -mu(s) f_n v_t / |v_t|,   s = |v_t| / v_s                                       (2)

where mu(s) rises as a quintic to the static coefficient at s = 1 and falls to the dynamic one at s = 3; v_s is the
stiction tolerance. At faces of contact surfaces mu(s) = 2 / pi arctan(s) mu, with the dynamic one (3). A joint beyond a
limit by x feels (1) with f_0 = k x, and its own k and d.

Sources: K. Hunt and F. Crossley (1975); M. Sherman, A. Seth, S. Delp, Simbody (2011), for the shape of mu(s).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.by_value import larger
from merganser.multibody.contact.layout import Array, Count
from merganser.multibody.contact.plant_forces import push, velocity_of_point
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP
from merganser.multibody.kernels.scalars import arctangent
from merganser.multibody.kernels.spatial import add, dot, scaled, set_vector, subtract, vector

__all__ = ["limit_forces", "penalty_forces"]


@device
def _rise(x: float) -> float:
    """A quintic from 0 at 0 to 1 at 1, with derivatives of zero there."""
    return x * x * x * (10.0 + x * (6.0 * x - 15.0))


@device
def friction_coefficient(s: float, static: float, dynamic: float) -> float:
    """mu(s) of equation (2)."""
    if s.real >= 3.0:
        return dynamic
    if s.real >= 1.0:
        return static - (static - dynamic) * _rise(0.5 * (s - 1.0))
    return static * _rise(s)


@device
def calc_penalty_forces(
    stiction_tolerance: float,
    position_in: Array,
    velocity_in: Array,
    contact_pairs_in: Array,  # of contact_pair_dtype
    F_Bo_W_io: Array,  # forces of contacts are added, shape [num_mobods, 6]
    forces_out: Array,  # of each contact, see plant_layout.py
) -> None:
    """Computes the forces of contacts, equations (1) and (2)."""
    for i in range(contact_pairs_in.shape[0]):
        pair = contact_pairs_in[i]
        A, B, zero = pair["mobod_A"], pair["mobod_B"], (0.0, 0.0, 0.0)
        n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
        v = subtract(
            velocity_of_point(position_in, velocity_in, A, p_WC), velocity_of_point(position_in, velocity_in, B, p_WC)
        )
        v_n = dot(v, n)
        slide = add(v, vector(pair["v_SbSa_W"]))
        v_t = subtract(slide, scaled(dot(slide, n), n))
        slip = np.sqrt(dot(v_t, v_t))
        f_n = larger(0.0, pair["elastic_force"]) * larger(0.0, 1.0 - pair["dissipation"] * v_n)  # (1)
        f = scaled(f_n, n)
        if slip.real > 0.0:
            s = slip / stiction_tolerance
            if pair["is_face"] != 0:
                mu = pair["dynamic_friction"] * (2.0 / np.pi) * arctangent(s, 1.0 + 0.0 * s)  # (3)
            else:
                mu = friction_coefficient(s, pair["static_friction"], pair["dynamic_friction"])
            f = add(f, scaled(-mu * f_n / slip, v_t))  # (2)
        push(position_in, F_Bo_W_io, A, p_WC, zero, f)
        push(position_in, F_Bo_W_io, B, p_WC, zero, scaled(-1.0, f))
        out = forces_out[i]
        set_vector(out, f)
        out[APPROACH], out[SLIP] = -v_n, slip
        set_vector(out[POINT:], p_WC)


penalty_forces = kernel(calc_penalty_forces)


@device
def calc_limit_forces(
    limits: Array,  # of limit_dtype
    stiffness: Array,  # of each limit, shape [num_limits]
    dissipation: Array,
    q_in: Array,
    v_in: Array,
    tau_io: Array,  # forces of limits are added, shape [num_v]
) -> Count:
    """Computes the forces of joint limits, equation (1); returns how many joints are beyond one."""
    count = 0
    for i in range(limits.shape[0]):
        limit = limits[i]
        q, v = q_in[limit["q"]], v_in[limit["v"]]
        if q.real < limit["lower"]:
            x, rate, sign = limit["lower"] - q, -v, 1.0
        elif q.real > limit["upper"]:
            x, rate, sign = q - limit["upper"], v, -1.0
        else:
            continue
        count += 1
        tau_io[limit["v"]] += sign * stiffness[i] * x * larger(0.0, 1.0 + dissipation[i] * rate)
    return count


limit_forces = kernel(calc_limit_forces)
