"""Contact pairs: the stage between geometry and mechanics, where it is decided what a contact is worth.

A pair is a point at which two bodies press on each other, with all that its force follows from (`contact_pair_dtype`):
bodies, place and normal, gap, stiffness, elastic force, dissipation, friction and relaxation time. Whatever produces
pairs knows geometry and materials; whatever consumes them (the problem of a discrete step, the penalty force in
continuous time, contact results) knows neither.

Points of geometries are one producer. Materials of A and B combine to

    k = k_A k_B / (k_A + k_B),   d = (k_B d_A + k_A d_B) / (k_A + k_B),
    tau = tau_A + tau_B,         mu = 2 mu_A mu_B / (mu_A + mu_B)                                               (1)

and C lies between the surfaces as far into each of them as two springs in series give way:

    p_WC = (k_A p_WCa + k_B p_WCb) / (k_A + k_B)                                                                (2)

with p_WCa, p_WCb the points of A and B that are deepest in the other. Where a face rests on several points, these share
k by what they stand for (geometry/proximity/shares.py), and with the depth x of each

    k_i = s_i k,   f_0 = k_i x,   phi = -x                                                                      (3)

so that a face that overlaps by x all over carries k x as a sphere does. Where a material of either geometry says so, a
pair of geometries has one point as in Drake, whose depth is the greatest and whose place is the centre of pressure:

    x = max x_i,   p_WC = sum s_i x_i p_i / sum s_i x_i                                                         (4)

Of bodies that exactly touch, or do not yet, the points that are as near as the nearest, to rounding, have the place to
which (4) tends when those sink in by the same depth:

    p_WC = sum s_i p_i / sum s_i                                                                                (5)

Polygons of hydroelastic surfaces are another one (hydroelastic_pairs.py), and kinds of contact that a program brings
(contact_kinds.py).

The laws of contact are those of the end of the step, where the gap is phi + h v_n. So a contact need not have begun at
the start: where phi > 0, the elastic force of a step

    k (-phi - h v_n)_+                                                                                          (6)

acts only if the bodies would overlap at the end. Without such contacts, rounding decides for bodies that are put
exactly onto each other, and of a cylinder on its side one end has contact in the first step, the other in the second.
A body that falls from rest comes down by g h^2 in a step. So far apart points of geometries are looked at,

    margin = |g| h^2 + a picometre,                                                                             (7)

and of these the points count that would overlap if nothing were in the way, with v* the velocities of the step
without constraints,

    phi + h n . (v*_Ca - v*_Cb) <= 0.                                                                           (8)

What moves along a surface, or past it, meets none of this. (SAP damps the approach, with its relaxation time tau: what
falls onto a surface is slowed down within the margin already. Its force k (-phi - (h + tau) v_n)_+ is continuous in
phi, as it must be if rounding is not to decide.) What comes faster than g h is met a step later, if it was
farther away than the margin when the step began: as in Drake, which has no margin. Long steps of an integrator with
error control would let it come deep into the other body before that, so they look ahead by the way of the fastest body,
h |v|, too.

Sources: K. Hunt and F. Crossley (1975), and R. Elandt et al. (2019), section III.B, for (1).
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.by_value import larger, select
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers, IntegerTable, Poses
from merganser.framework.native.memory.records_of_arrays import ArrayOf, RecordOf
from merganser.framework.native.memory.simd import any_of, varying
from merganser.geometry.proximity.layout import Contacts
from merganser.multibody.contact.layout import Count
from merganser.multibody.kernels.frames import arm_to, velocity_of
from merganser.multibody.kernels.layout import Positions, Topology, Velocities
from merganser.multibody.kernels.spatial import Vector3, add, cross, dot, scaled, set_vector, subtract, vector

_LIFT = 1e-12  # of the size of a face: by how much rounding may lift a point of it
LEAST_AREA = 1e-14  # of a face that presses [m²], as in pydrake
LEAST_GRADIENT = 1e-14  # of its pressure along its normal [Pa/m]

OF_POINT, OF_FACE, OF_KIND = range(3)  # what a pair comes from; in this order they stand
POINTS_ALONE, POINTS_FOR_OTHERS, SURFACES_ALONE = range(3)  # how geometries touch

material_dtype = np.dtype(
    [
        ("mobod", np.int64),  # to which the geometry is fixed
        ("stiffness", np.float64),  # k [N/m]
        ("dissipation", np.float64),  # d of Hunt and Crossley [s/m]
        ("relaxation_time", np.float64),  # tau of SAP [s]
        ("static_friction", np.float64),
        ("dynamic_friction", np.float64),
        ("has_one_point", np.int64),  # whether its contacts have one point, equation (4)
        ("modulus", np.float64),  # hydroelastic modulus, infinite if it is rigid [Pa]
        ("adhesion", np.float64),  # by which each of its contact points is pulled together [N]
        ("v_GS_G", np.float64, 3),  # velocity of its surface S, as that of a conveyor belt, in its frame G [m/s]
        ("belt_axis_G", np.float64, 3),  # about which its surface goes round; zero if it does not
        ("belt_speed", np.float64),  # [m/s]
    ]
)

contact_pair_dtype = np.dtype(
    [
        ("mobod_A", np.int64),
        ("mobod_B", np.int64),
        ("origin", np.int64),  # what it comes from, see above
        ("source", np.int64),  # row of the geometric contact, of several the deepest; of the face; or of all of kinds
        ("p_WC", np.float64, 3),  # where the force acts
        ("nhat_BA_W", np.float64, 3),  # from B into A
        ("phi", np.float64),  # gap [m], negative where the bodies overlap
        ("stiffness", np.float64),  # k of this point [N/m]
        ("elastic_force", np.float64),  # f_0 as it is now, without dissipation [N]
        ("dissipation", np.float64),  # d of Hunt and Crossley [s/m]
        ("relaxation_time", np.float64),  # tau of SAP [s]
        ("static_friction", np.float64),  # in continuous time; discrete steps know the dynamic one only
        ("dynamic_friction", np.float64),
        ("adhesion", np.float64),  # by which A and B are pulled together there, beside the contact force [N]
        ("v_SbSa_W", np.float64, 3),  # by which the surface of A moves on A more than that of B on B [m/s]
    ]
)
varying(contact_pair_dtype)


Material = Annotated[Any, RecordOf(material_dtype)]
Materials = Annotated[NDArray[Any], ArrayOf(material_dtype)]
ContactPair = Annotated[Any, RecordOf(contact_pair_dtype)]
ContactPairs = Annotated[NDArray[Any], ArrayOf(contact_pair_dtype)]


@device
def calc_make_contact_pairs(
    # Model:
    materials: Materials,  # of the geometries, of material_dtype
    tree_of_mobod: Integers,  # -1 of what cannot move
    # In:
    X_WG_in: Poses,  # poses of the geometries, shape [n, 4, 4]
    candidates_in: IntegerTable,  # pairs of geometries, shape [num_candidates, 2]
    contacts_in: Contacts,  # of contact_dtype of geometry/proximity, those of one pair of geometries side by side
    # Out:
    contact_pairs_out: ContactPairs,  # of contact_pair_dtype, as long as contacts_in or longer
) -> Count:
    """Writes the contact pairs; returns how many there are. Two bodies of which neither can move are none."""
    count, i, num_contacts = 0, 0, contacts_in.shape[0]
    while i < num_contacts:
        row = contacts_in[i]["pair"]
        A, B = materials[candidates_in[row, 0]], materials[candidates_in[row, 1]]
        end = i + 1
        has_one_point = A["has_one_point"] != 0 or B["has_one_point"] != 0
        if has_one_point:
            while end < num_contacts and contacts_in[end]["pair"] == row:
                end += 1
        if tree_of_mobod[A["mobod"]] >= 0 or tree_of_mobod[B["mobod"]] >= 0:
            pair = contact_pairs_out[count]
            combine_materials(A, B, pair)
            pair["origin"] = OF_POINT
            k_A, k_B = A["stiffness"], B["stiffness"]
            pair["stiffness"] = _combine_stiffness(k_A, k_B)
            pair["dissipation"] = combine_dissipation(k_A, A["dissipation"], k_B, B["dissipation"])
            _set_point(A, B, contacts_in, i, end, has_one_point, pair)
            set_surface_velocity(A, B, X_WG_in[candidates_in[row, 0]], X_WG_in[candidates_in[row, 1]], pair)
            count += 1
        i = end
    return count


make_contact_pairs = kernel(calc_make_contact_pairs)


@device
def combine_materials(A: Material, B: Material, pair: ContactPair) -> None:
    """Bodies, relaxation time, adhesion and friction, equation (1)."""
    pair["mobod_A"], pair["mobod_B"] = A["mobod"], B["mobod"]
    pair["adhesion"] = A["adhesion"] + B["adhesion"]
    pair["relaxation_time"] = A["relaxation_time"] + B["relaxation_time"]
    pair["static_friction"] = _combine_friction(A["static_friction"], B["static_friction"])
    pair["dynamic_friction"] = _combine_friction(A["dynamic_friction"], B["dynamic_friction"])


@device
def set_surface_velocity(A: Material, B: Material, X_WA: FloatTable, X_WB: FloatTable, pair: ContactPair) -> None:
    """v_SbSa_W, how the surfaces move where the bodies do not; of a pair that has its normal.

    Of a surface that goes round an axis a with the speed s, where n points out of it, v_GS = s a x n.
    """
    n = vector(pair["nhat_BA_W"])
    v_A, v_B = _velocity_of_surface(A, X_WA, scaled(-1.0, n)), _velocity_of_surface(B, X_WB, n)
    set_vector(pair["v_SbSa_W"], subtract(v_A, v_B))


@device
def _velocity_of_surface(M: Material, X_WG: FloatTable, n: Vector3) -> Vector3:
    v = _turned(X_WG, M["v_GS_G"])
    if M["belt_speed"] == 0.0:
        return v
    return add(v, scaled(M["belt_speed"], cross(_turned(X_WG, M["belt_axis_G"]), n)))


@device
def _turned(X_WG: FloatTable, v_G: Floats) -> Vector3:
    """R_WG v_G."""
    return (
        X_WG[0, 0] * v_G[0] + X_WG[0, 1] * v_G[1] + X_WG[0, 2] * v_G[2],
        X_WG[1, 0] * v_G[0] + X_WG[1, 1] * v_G[1] + X_WG[1, 2] * v_G[2],
        X_WG[2, 0] * v_G[0] + X_WG[2, 1] * v_G[1] + X_WG[2, 2] * v_G[2],
    )


@device
def _combine_stiffness(k_A: float, k_B: float) -> float:
    """k of equation (1); an infinite one leaves the other."""
    if k_A == math.inf:
        return k_B
    if k_B == math.inf:
        return k_A
    return k_A * k_B / (k_A + k_B) if k_A + k_B > 0.0 else 0.0


@device
def combine_dissipation(k_A: float, d_A: float, k_B: float, d_B: float) -> float:
    """d of equation (1)."""
    if k_A == math.inf and k_B == math.inf:
        return 0.5 * (d_A + d_B)
    if k_A == math.inf:
        return d_B
    if k_B == math.inf:
        return d_A
    return (k_B * d_A + k_A * d_B) / (k_A + k_B) if k_A + k_B > 0.0 else 0.0


@device
def _combine_friction(mu_A: float, mu_B: float) -> float:
    """mu of equation (1)."""
    return 2.0 * mu_A * mu_B / (mu_A + mu_B) if mu_A + mu_B > 0.0 else 0.0


@device
def _set_point(
    A: Material, B: Material, contacts: Contacts, first: int, end: int, has_one_point: bool, pair: ContactPair
) -> None:
    """Place, normal and elastic force of the contacts first .. end - 1: equations (2) to (5)."""
    source = first
    for i in range(first, end):
        if contacts[i]["depth"].real > contacts[source]["depth"].real:
            source = i
    contact = contacts[source]
    point = vector(contact["p_WC"])
    if end - first > 1:
        point = _centre_of_pressure(contacts, first, end, point)
    normal = vector(contact["nhat_BA_W"])
    set_vector(pair["p_WC"], _between(point, normal, contact["depth"], A["stiffness"], B["stiffness"]))
    set_vector(pair["nhat_BA_W"], normal)
    pair["source"], pair["phi"] = source, -contact["depth"]
    pair["stiffness"] *= 1.0 if has_one_point else contact["share"]
    pair["elastic_force"] = pair["stiffness"] * contact["depth"]


@device
def _centre_of_pressure(contacts: Contacts, first: int, end: int, deepest: Vector3) -> Vector3:
    """The place of equation (4), midway between the surfaces; its limit (5) if nothing presses yet.

    Which it is follows from real parts, so that derivatives in (5) are those of the points alone.
    """
    most, size_2 = contacts[first]["depth"].real, 0.0
    for i in range(first, end):
        most = max(most, contacts[i]["depth"].real)
        arm = subtract(vector(contacts[i]["p_WC"]), deepest)
        size_2 = max(size_2, dot(arm, arm).real)
    rounding = _LIFT * size_2**0.5
    presses = most > rounding
    total, moment = 0.0 * contacts[first]["depth"], scaled(0.0, deepest)
    for i in range(first, end):
        weight = contacts[i]["share"]
        if presses:
            weight = weight * larger(0.0, contacts[i]["depth"])
        elif contacts[i]["depth"].real < most - rounding:
            weight = 0.0 * weight
        total, moment = total + weight, add(moment, scaled(weight, vector(contacts[i]["p_WC"])))
    return scaled(1.0 / total, moment) if total.real > 0.0 else deepest


@device
def _between(middle: Vector3, normal: Vector3, depth: float, k_A: float, k_B: float) -> Vector3:
    """p_WC of equation (2), from the point midway between p_WCa and p_WCb, where p_WCb - p_WCa = depth nhat_BA_W."""
    lean = 0.0
    if k_A == math.inf or k_B == math.inf:
        lean = (1.0 if k_B == math.inf else 0.0) - (1.0 if k_A == math.inf else 0.0)
    elif k_A + k_B > 0.0:
        lean = (k_B - k_A) / (k_A + k_B)
    return add(middle, scaled(0.5 * depth * lean, normal))


# Poses in a scene a kilometre wide are rounded by less: so near, bodies touch, be there gravity or not [m].
NEAR = 1e-12


@device
def margin_of_step(gravity: Floats, time_step: float) -> float:
    """Up to which distance points of geometries may touch within a step, equation (7) [m]; 0 in continuous time."""
    if time_step == 0.0:
        return 0.0
    g_x, g_y, g_z = gravity[0].real, gravity[1].real, gravity[2].real
    return math.sqrt(g_x * g_x + g_y * g_y + g_z * g_z) * time_step * time_step + NEAR


@device
def largest_speed(velocity: Velocities) -> float:
    """That of the origin of any body, shape [num_mobods] [m/s]."""
    largest = 0.0
    for i in range(len(velocity)):
        V = velocity[i]["V_WB_W"]
        v_x, v_y, v_z = V[3].real, V[4].real, V[5].real
        largest = max(largest, v_x * v_x + v_y * v_y + v_z * v_z)
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
    """Leaves out the contact pairs that do not touch within a step, equation (8); returns how many are left."""
    count = 0
    for i in range(contact_pairs_io.shape[0]):
        pair = contact_pairs_io[i]
        gap = pair["phi"]
        is_apart = gap > NEAR
        if any_of(is_apart):
            n, p_WC = vector(pair["nhat_BA_W"]), vector(pair["p_WC"])
            v_A = _velocity_along(topology, position_in, num_q, x_star_in, pair["mobod_A"], p_WC, n)
            v_B = _velocity_along(topology, position_in, num_q, x_star_in, pair["mobod_B"], p_WC, n)
            gap = select(is_apart, gap + time_step * (v_A - v_B), gap)
        if gap <= NEAR:
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
