"""Lengths, rates and moment arms of all transmissions, and the generalized forces of what acts along them.

Transmissions come behind the coordinates of a plant, as if they had coordinates of their own:

    lengths = [q; l(q)],   rates = [v; J v; Jdot v],   forces = [tau; f]                  (1)
    tau_total = tau + J^T f                                                               (2)

with Jdot v of tendons with armature a alone (armature.py), whose products -a Jdot v are forces along them. So an
actuator acts on an entry of these, be it a joint or a transmission. A tendon has forces of its own, as for limits,
friction and springs of joints (../../contact/penalty.py):

    f = -k (l - l_0) - d ldot    with the nearest l_0 of its resting range                (3)
"""

from __future__ import annotations

import math
from typing import Any

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.layout import Positions, Scratch, Topology, Velocities
from merganser.multibody.kernels.scalars import real_part
from merganser.multibody.kernels.transmissions.armature import has_armature, rate_products, set_bias_accelerations
from merganser.multibody.kernels.transmissions.records import Nodes, Transmission, Transmissions
from merganser.multibody.kernels.transmissions.table import set_length


@kernel
def transmission_motion(
    # Model:
    topology: Topology,
    transmissions: Transmissions,  # shape [num_transmissions]
    nodes: Nodes,  # of all of them
    # In:
    q_in: Floats,
    v_in: Floats,
    position_in: Positions,  # shape [num_mobods]
    velocity_in: Velocities,  # the same, which armature alone needs
    # Work:
    scratch_work: Scratch,  # the same
    # Out:
    lengths_out: Floats,  # (1), shape [num_q + num_transmissions]
    rates_out: Floats,  # (1), shape [num_v + 2 num_transmissions]
    arms_out: FloatTable,  # J, shape [num_transmissions, num_v]
) -> None:
    """Computes (1)."""
    num_q, num_v = q_in.shape[0], v_in.shape[0]
    for k in range(num_q):
        lengths_out[k] = q_in[k]
    for k in range(num_v):
        rates_out[k] = v_in[k]
    if has_armature(transmissions):
        set_bias_accelerations(topology, position_in, velocity_in, scratch_work)
    for i in range(transmissions.shape[0]):
        length, arms = lengths_out[num_q + i : num_q + i + 1], arms_out[i]
        length[0] = 0.0
        for k in range(num_v):
            arms[k] = 0.0
        set_length(transmissions[i], nodes, topology, q_in, position_in, length, arms)
        rates_out[num_v + i] = 0.0
        for k in range(num_v):
            rates_out[num_v + i] += arms[k] * v_in[k]
        products = num_v + transmissions.shape[0] + i
        rates_out[products] = 0.0
        if transmissions[i]["armature"] > 0.0:
            rates_out[products] = rate_products(transmissions[i], nodes, position_in, velocity_in, scratch_work)


@kernel
def transmission_forces(
    # Model:
    transmissions: Transmissions,  # shape [num_transmissions]
    is_continuous: int,  # whether forces of springs and limits are to be added; discrete steps solve for these
    stiction_velocity: float,  # of dry friction, v_s [m/s]
    # In:
    lengths_in: Floats,  # as above
    rates_in: Floats,
    arms_in: FloatTable,
    forces_in: Floats,  # forces of actuators and inputs, shape [num_v + num_transmissions]
    # Out:
    tau_out: Floats,  # (2), shape [num_v]
) -> None:
    """Computes the generalized forces (2)."""
    num_v, num_q = tau_out.shape[0], lengths_in.shape[0] - transmissions.shape[0]
    for k in range(num_v):
        tau_out[k] = forces_in[k]
    for i in range(transmissions.shape[0]):
        f = forces_in[num_v + i]
        if transmissions[i]["armature"] > 0.0:
            f -= transmissions[i]["armature"] * rates_in[num_v + transmissions.shape[0] + i]
        if is_continuous:
            f += tendon_force(transmissions[i], stiction_velocity, lengths_in[num_q + i], rates_in[num_v + i])
        for k in range(num_v):
            tau_out[k] += arms_in[i, k] * f


@device
def tendon_force(tendon: Transmission, stiction_velocity: float, length: Any, rate: Any) -> Any:
    """The force of the springs, limits and friction of a tendon in continuous time, (3)."""
    f = -tendon["stiffness"] * stretch_of(tendon, length) - tendon["damping"] * rate
    if tendon["friction"] > 0.0:
        f -= tendon["friction"] * rate * (rate * rate + stiction_velocity * stiction_velocity) ** -0.5
    if tendon["lower"] > -math.inf and real_part(length) < tendon["lower"]:
        f += _push(tendon, tendon["lower"] - length, -rate)
    elif tendon["upper"] < math.inf and real_part(length) > tendon["upper"]:
        f -= _push(tendon, length - tendon["upper"], rate)
    return f


@device
def _push(tendon: Transmission, depth: Any, rate: Any) -> Any:
    """The force of a limit beyond which a tendon is."""
    damped = 1.0 + tendon["limit_dissipation"] * rate
    return tendon["limit_stiffness"] * depth * damped if real_part(damped) > 0.0 else 0.0 * depth


@device
def stretch_of(tendon: Transmission, length: Any) -> Any:
    """By how much a tendon is longer than its resting range, or shorter: then negative [m]."""
    if tendon["rest_lower"] == tendon["rest_upper"]:
        return length - tendon["rest_lower"]
    if real_part(length) > tendon["rest_upper"]:
        return length - tendon["rest_upper"]
    if real_part(length) < tendon["rest_lower"]:
        return length - tendon["rest_lower"]
    return 0.0 * length
