"""Contact, limits and friction of joints of continuous plants: springs and dampers, and regularized friction.

With the elastic force f_0 and the dissipation d of a contact pair (contact_pairs.py), and the rate xdot of its depth,

    f_n = f_0 (1 + d xdot)_+                                                              (1)
    f_t = -mu(s) f_n v_t / |v_t|,   s = |v_t| / v_s                                       (2)

where mu(s) rises as a quintic to the static coefficient at s = 1 and falls to the dynamic one at s = 3; v_s is the
stiction tolerance. At faces of contact surfaces mu(s) = 2 / pi arctan(s) mu, with the dynamic one (3). A joint beyond a
limit (plant_problem.py) by x feels (1) with f_0 = k x, and its own k and d. Dry friction of a joint of rate v is

    tau = -f v / sqrt(v^2 + v_s^2)                                                        (4)

which is f / v_s steep at rest, so that a joint on which less than f acts creeps by less than v_s, and within 0.5 % of f
from 10 v_s on.

Sources: K. Hunt and F. Crossley (1975); M. Sherman, A. Seth, S. Delp, Simbody (2011), for the shape of mu(s).
"""

from __future__ import annotations

import numpy as np

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.by_value import larger, select
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.framework.native.memory.simd import any_of
from merganser.multibody.contact.contact_pairs import OF_FACE, ContactPairs
from merganser.multibody.contact.layout import Count
from merganser.multibody.contact.plant_forces import push, velocity_of_point
from merganser.multibody.contact.plant_layout import APPROACH, POINT, SLIP, Frictions, Limits
from merganser.multibody.contact.plant_problem import limited_position, limited_rate
from merganser.multibody.kernels.layout import Parameters, Positions, Velocities
from merganser.multibody.kernels.scalars import arctangent
from merganser.multibody.kernels.spatial import add, dot, scaled, set_vector, subtract, vector


@device
def _rise_over(x: float) -> float:
    """Over x, a quintic from 0 at 0 to 1 at 1, with derivatives of zero there."""
    return x * x * (10.0 + x * (6.0 * x - 15.0))


@device
def friction_over(s: float, static: float, dynamic: float) -> float:
    """mu(s) / s of equation (2), which has a limit at s = 0."""
    if s.real >= 3.0:
        return dynamic / s
    if s.real >= 1.0:
        x = 0.5 * (s - 1.0)
        return (static - (static - dynamic) * x * _rise_over(x)) / s
    return static * _rise_over(s)


@device
def arctangent_over(s: float) -> float:
    """arctan(s) / s for s >= 0, which is 1 at s = 0."""
    if s.real > 0.0:
        return arctangent(s, 1.0 + 0.0 * s) / s
    return 1.0 + 0.0 * s


@device
def calc_penalty_forces(
    stiction_tolerance: float,
    position_in: Positions,
    velocity_in: Velocities,
    contact_pairs_in: ContactPairs,  # of contact_pair_dtype
    F_Bo_W_io: FloatTable,  # forces of contacts are added, shape [num_mobods, 6]
    forces_out: FloatTable,  # of each contact, see plant_layout.py
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
        s = slip / stiction_tolerance
        if pair["origin"] == OF_FACE:
            mu_s = pair["dynamic_friction"] * (2.0 / np.pi) * arctangent_over(s)  # (3)
        else:
            mu_s = friction_over(s, pair["static_friction"], pair["dynamic_friction"])
        f = add(f, scaled(-mu_s * f_n / stiction_tolerance, v_t))  # (2)
        push(position_in, F_Bo_W_io, A, p_WC, zero, f)
        push(position_in, F_Bo_W_io, B, p_WC, zero, scaled(-1.0, f))
        out = forces_out[i]
        set_vector(out, f)
        out[APPROACH], out[SLIP] = -v_n, slip
        set_vector(out[POINT:], p_WC)


penalty_forces = kernel(calc_penalty_forces)


@device
def calc_limit_forces(
    limits: Limits,  # of limit_dtype
    stiffness: Floats,  # of each limit, shape [num_limits]
    dissipation: Floats,
    q_in: Floats,
    v_in: Floats,
    tau_io: Floats,  # forces of limits are added, shape [num_v]
) -> Count:
    """Computes the forces of joint limits, equation (1); returns how many joints are beyond one, in any lane."""
    count = 0
    for i in range(limits.shape[0]):
        limit = limits[i]
        position, slopes = limited_position(limit, q_in)
        rate = limited_rate(limit, slopes, v_in)
        is_below = position.real < limit["lower"]
        x = select(is_below, limit["lower"] - position, position - limit["upper"])
        if not any_of(x.real > 0.0):
            continue
        count += 1
        stretch = stiffness[i] * x * larger(0.0, 1.0 + dissipation[i] * select(is_below, -rate, rate))
        force = select(x.real > 0.0, select(is_below, stretch, -stretch), 0.0 * rate)
        for k in range(limit["num_v"]):
            tau_io[limit["v"] + k] += slopes[k] * force
    return count


limit_forces = kernel(calc_limit_forces)


@kernel
def friction_forces(
    # Model:
    frictions: Frictions,  # of friction_dtype
    parameters: Parameters,
    stiction_velocity: float,  # v_s [rad/s or m/s]
    # In:
    v_in: Floats,
    tau_io: Floats,  # friction of joints is added, shape [num_v]
) -> None:
    """Computes the dry friction of joints, equation (4)."""
    for i in range(frictions.shape[0]):
        friction = frictions[i]
        v = v_in[friction["v"]]
        most = parameters[friction["mobod"]]["friction"][friction["place"]]
        tau_io[friction["v"]] -= most * v * (v * v + stiction_velocity * stiction_velocity) ** -0.5
