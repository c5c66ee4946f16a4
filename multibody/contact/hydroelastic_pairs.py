"""Contact pairs of hydroelastic contact surfaces: one for each face at its centroid, or several for a triangle.

A face of area A and pressure p presses with f_0 = A p. If the bodies move towards each other by x along its normal n,
each gives way like a spring of which the pressure grows by g, the gradient of its pressure along n:

    g_M = n . grad e_M,   g_N = -n . grad e_N,   1 / g = 1 / g_M + 1 / g_N                                        (1)
    f(x) = A (p + g x):   f_0 = A p,   k = A g,   phi = -p / g                                                   (2)

where a rigid body has no gradient, and 1 / g_M = 0. A face whose pressure does not grow along n on both sides has no
such spring and is no pair of a discrete step. In continuous time forces are functions of the pressure alone, and all
faces act.

Where faces are triangles, a polygon with the corners P_i and the centroid C is taken as the triangles (P_i, P_i+1, C).
In continuous time a triangle has three points, each for a third of its area, with which quadratic functions are
integrated exactly:

    P_k = (4 V_k + V_l + V_m) / 6    for the vertices V_k, V_l, V_m                                               (3)

Materials combine as those of points do, equation (1) of contact_pairs.py, with moduli in place of stiffnesses.

Sources: R. Elandt, E. Drumwright, M. Sherman, A. Ruina (2019), A pressure field model for fast, robust approximation of
net contact force and moment between nominally rigid objects, section III; J. Masterjohn, D. Guoy, J. Shepherd, A.
Castro (2022), Velocity level approximation of pressure field contact patches, section IV, for (1) and (2).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers, IntegerTable, Poses
from merganser.geometry.hydroelastic.face_columns import AREA, CENTROID, GRAD_M, GRAD_N, NORMAL, PRESSURE
from merganser.multibody.contact.contact_pairs import (
    LEAST_AREA,
    LEAST_GRADIENT,
    OF_FACE,
    ContactPairs,
    Materials,
    combine_dissipation,
    combine_materials,
    set_surface_velocity,
)
from merganser.multibody.contact.layout import Count
from merganser.multibody.kernels.spatial import Vector3, add, cross, dot, scaled, set_vector, subtract, vector

# At which points there are pairs: of a discrete step at centroids, of faces that are springs; in continuous time at
# the centroids of all polygons, or at three points of all triangles.
SPRINGS_OF_POLYGONS, SPRINGS_OF_TRIANGLES, POLYGONS, TRIANGLES = range(4)


@device
def calc_make_hydroelastic_pairs(
    # Model:
    materials: Materials,  # of the geometries, of material_dtype; their stiffness is not looked at
    tree_of_mobod: Integers,  # -1 of what cannot move
    points: int,  # one of the above
    # In:
    X_WG_in: Poses,  # poses of the geometries, shape [n, 4, 4]
    candidates_in: IntegerTable,  # pairs of geometries M, N; shape [num_candidates, 2]
    corners_in: Poses,  # of each face positions in W and pressures, shape [num_faces, .., 4]
    faces_in: FloatTable,  # numbers of the faces, see geometry/hydroelastic/face_columns.py, shape [num_faces, ..]
    owners_in: IntegerTable,  # row of the pair, number of corners; shape [num_faces, ..]
    first: int,  # where the first pair stands
    # Out:
    contact_pairs_out: ContactPairs,  # of contact_pair_dtype
) -> Count:
    """Writes the contact pairs, A is M and B is N; returns how many there are, with those before the first one.

    Their source is the row of the face. Two bodies of which neither can move are none. If there are more than the
    output has places for, only as many as fit are written.
    """
    count = first
    for i in range(faces_in.shape[0]):
        m, n = candidates_in[owners_in[i, 0], 0], candidates_in[owners_in[i, 0], 1]
        M, N, face = materials[m], materials[n], faces_in[i]
        if tree_of_mobod[M["mobod"]] < 0 and tree_of_mobod[N["mobod"]] < 0:
            continue
        g = _gradient(face, M["modulus"] == math.inf, N["modulus"] == math.inf)
        if points in (SPRINGS_OF_POLYGONS, SPRINGS_OF_TRIANGLES) and not g.real > 0.0:
            continue
        begin = count
        if points in (SPRINGS_OF_POLYGONS, POLYGONS):
            count = _add_point(vector(face[CENTROID:]), face[AREA], face[PRESSURE], face, g, count, contact_pairs_out)
        else:
            for k in range(owners_in[i, 1]):
                after = corners_in[i, (k + 1) % owners_in[i, 1]]
                count = _add_triangle(corners_in[i, k], after, face, g, points, count, contact_pairs_out)
        for c in range(begin, min(count, contact_pairs_out.shape[0])):
            pair = contact_pairs_out[c]
            combine_materials(M, N, pair)
            set_surface_velocity(M, N, X_WG_in[m], X_WG_in[n], pair)
            pair["dissipation"] = combine_dissipation(M["modulus"], M["dissipation"], N["modulus"], N["dissipation"])
            pair["source"], pair["origin"] = i, OF_FACE
    return count


@device
def _add_triangle(P: Floats, Q: Floats, face: Floats, g: float, points: int, count: int, pairs: ContactPairs) -> int:
    """The pairs of the triangle of two corners and the centroid of a face."""
    p, q, c, n = vector(P), vector(Q), vector(face[CENTROID:]), vector(face[NORMAL:])
    area = 0.5 * dot(cross(subtract(q, p), subtract(c, p)), n)
    a, b, e = P[3], Q[3], face[PRESSURE]
    if points == SPRINGS_OF_TRIANGLES:
        return _add_point(scaled(1.0 / 3.0, add(add(p, q), c)), area, (a + b + e) / 3.0, face, g, count, pairs)
    for k in range(3):  # (3)
        v, pressure = (p, a) if k == 0 else (q, b) if k == 1 else (c, e)
        point = scaled(1.0 / 6.0, add(add(add(p, q), c), scaled(3.0, v)))
        count = _add_point(point, area / 3.0, (a + b + e + 3.0 * pressure) / 6.0, face, g, count, pairs)
    return count


@device
def _add_point(
    p_WC: Vector3, area: float, pressure: float, face: Floats, g: float, count: int, pairs: ContactPairs
) -> int:
    """One pair, unless it stands for next to no area, equations (2)."""
    if not area.real > LEAST_AREA:
        return count
    if count < pairs.shape[0]:
        pair = pairs[count]
        set_vector(pair["p_WC"], p_WC)
        set_vector(pair["nhat_BA_W"], vector(face[NORMAL:]))
        pair["stiffness"], pair["elastic_force"] = area * g, area * pressure
        pair["phi"] = -pressure / g if g.real > 0.0 else 0.0 * pressure
    return count + 1


@device
def _gradient(face: Floats, M_is_rigid: bool, N_is_rigid: bool) -> float:
    """g of equation (1); zero if the pressure of either does not grow along the normal."""
    n = vector(face[NORMAL:])
    g_M, g_N = dot(n, vector(face[GRAD_M:])), -dot(n, vector(face[GRAD_N:]))
    if M_is_rigid:
        return g_N if g_N.real > LEAST_GRADIENT else 0.0 * g_N
    if N_is_rigid:
        return g_M if g_M.real > LEAST_GRADIENT else 0.0 * g_M
    if g_M.real > LEAST_GRADIENT and g_N.real > LEAST_GRADIENT:
        return g_M * g_N / (g_M + g_N)
    return 0.0 * g_M


make_hydroelastic_pairs = kernel(calc_make_hydroelastic_pairs)
