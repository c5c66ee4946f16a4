"""What does not touch yet at the start of a step, but will before its end.

The laws of contact are those of the end of the step, where the gap is phi + h v_n. So a contact need not have begun at
the start: where phi > 0, the elastic force of a step

    k (-phi - h v_n)_+                                                                    (1)

acts only if the bodies would overlap at the end. Without such contacts, rounding decides for bodies that are put
exactly onto each other, and of a cylinder on its side one end has contact in the first step, the other in the second.

A body that falls from rest comes down by g h^2 in a step. So far apart points of geometries are looked at,

    margin = |g| h^2 + a picometre,                                                       (2)

and of these the points count that would overlap if nothing were in the way, with v* the velocities of the step
without constraints,

    phi + h n . (v*_Ca - v*_Cb) <= 0.                                                     (3)

What moves along a surface, or past it, meets none of this. (SAP damps the approach, with its relaxation time tau: what
falls onto a surface is slowed down within the margin already. Its force k (-phi - (h + tau) v_n)_+ is continuous in
phi, as it must be if rounding is not to decide.) What comes faster than g h is met a step later, if it was
farther away than the margin when the step began: as in Drake, which has no margin. Long steps of an integrator with
error control would let it come deep into the other body before that, so they look ahead by the way of the fastest body,
h |v|, too.
"""

from __future__ import annotations

import math

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats
from merganser.multibody.contact.contact_pairs import ContactPairs
from merganser.multibody.contact.layout import Count
from merganser.multibody.kernels.frames import arm_to, velocity_of
from merganser.multibody.kernels.layout import Positions, Topology, Velocities
from merganser.multibody.kernels.spatial import Vector3, dot, vector

# Poses in a scene a kilometre wide are rounded by less: so near, bodies touch, be there gravity or not [m].
_TOUCH = 1e-12


@device
def margin_of_step(gravity: Floats, time_step: float) -> float:
    """Up to which distance points of geometries may touch within a step, equation (2) [m]; 0 in continuous time."""
    if time_step == 0.0:
        return 0.0
    g = math.sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2])
    return g * time_step * time_step + _TOUCH


@device
def largest_speed(velocity: Velocities) -> float:
    """That of the origin of any body, shape [num_mobods] [m/s]."""
    largest = 0.0
    for i in range(velocity.shape[0]):
        V = velocity[i]["V_WB_W"]
        largest = max(largest, V[3] * V[3] + V[4] * V[4] + V[5] * V[5])
    return math.sqrt(largest)


@kernel
def drop_distant_pairs(
    # Model:
    topology: Topology,  # shape [num_mobods], see kernels/layout.py
    time_step: float,
    num_q: int,
    # In:
    x_star_in: Floats,  # the next state without constraints
    position_in: Positions,
    # In and out:
    contact_pairs_io: ContactPairs,  # of contact_pair_dtype; those that count move to the front, in their order
) -> Count:
    """Leaves out the contact pairs that do not touch within a step, equation (3); returns how many are left."""
    count = 0
    for i in range(contact_pairs_io.shape[0]):
        pair = contact_pairs_io[i]
        gap = pair["phi"]
        if gap > _TOUCH:
            n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
            v_A = _velocity_along(topology, position_in, num_q, x_star_in, pair["mobod_A"], p_WC, n)
            v_B = _velocity_along(topology, position_in, num_q, x_star_in, pair["mobod_B"], p_WC, n)
            gap += time_step * (v_A - v_B)
        if gap <= _TOUCH:
            if count < i:
                contact_pairs_io[count] = contact_pairs_io[i]
            count += 1
    return count


@device
def _velocity_along(
    topology: Topology, position: Positions, num_q: int, x: Floats, mobod: int, p_WC: Vector3, n: Vector3
) -> float:
    """n . v_WC of the point C of a body."""
    total, a = 0.0, mobod
    while a > 0:
        node, body = topology[a], position[a]
        arm = arm_to(body, p_WC)
        for k in range(node["num_v"]):
            total += dot(n, velocity_of(body["H_PB_W"][k], arm)) * x[num_q + node["v_start"] + k]
        a = node["parent"]
    return total
